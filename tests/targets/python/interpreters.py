# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads of which each runs a program in an interpreter of its own: s1 calls s2, that s3, that s4, and so on.

Before 3.12 all of them have one lock, which none gives to a thread of another interpreter unless it sleeps.
"""
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:  # before 3.13
    import _xxsubinterpreters as interpreters

PROGRAM = """import time
def s4(n):
    return sum(i * i for i in range(n))
def s3(n):
    return s4(n) + s4(n)
def s2(n):
    return [s3(n + m) for m in range(3)]
def s1():
    while True:
        s2(20)
        time.sleep(0)
s1()
"""


def run_in_another():
    interpreters.run_string(interpreters.create(), PROGRAM)


for _ in range(2):
    threading.Thread(target=run_in_another, daemon=True).start()
print("ready", flush=True)
time.sleep(1000000)
