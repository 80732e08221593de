# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that want the interpreter's lock: "wants TID". One of them keeps it: "holds TID"; without an
argument nobody does, and they take turns.
"""
import ctypes
import os
import sys
import threading

started = threading.Semaphore(0)


def say(line):
    os.write(1, f"{line}\n".encode())  # in one


def spin():
    say(f"wants {threading.get_native_id()}")
    started.release()
    while True:
        pass


def hold():
    say(f"holds {threading.get_native_id()}")
    say("ready")
    ctypes.PyDLL(None).pause()  # without giving the lock back


WANTING = 4
for _ in range(WANTING):
    threading.Thread(target=spin, daemon=True).start()
for _ in range(WANTING):
    started.acquire()
if len(sys.argv) > 1:
    threading.Thread(target=hold, daemon=True).start()
else:
    say("ready")
lock = threading.Lock()
lock.acquire()
lock.acquire()
