# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that lock and unlock at random, in an order in which they cannot wait for each other. Their stacks
record who has what: whoever is in insideN() has the lock N, whoever is in lockN() alone wants it, or has it
just now or no longer. 0 to 3 are RLocks, 4 to 7 are Locks, which do not say who has them: a with statement does.
6 and 7 are sometimes taken without one, and given back in the middle of one.
"""
import random
import sys
import threading
import time

LAST = 7
locks = [threading.RLock() for _ in range(4)] + [threading.Lock() for _ in range(4)]
sys.setswitchinterval(0.0005)


def hold(last):
    """Holds what it has for a while, and takes another one sometimes."""
    if last < LAST and random.randrange(3) == 0:
        take(last + 1 + random.randrange(LAST - last))
    what = random.randrange(8)
    if what < 3:
        time.sleep(0.001)
    for _ in range(what * 50):
        pass


def take(which):
    random.choice(TAKES[which])()


BY_CALLS = """
def lock{n}():
    locks[{n}].acquire()
    inside{n}()
    locks[{n}].release()


def inside{n}():
    hold({n})
"""
BY_WITH = """
def lock{n}():
    with locks[{n}]:
        inside{n}()


def inside{n}():
    hold({n})
"""
BY_CONDITION = """
def lock{n}():
    with locks[{n}]:
        conditions[{n}].wait(0.0005)
        inside{n}()


def inside{n}():
    hold({n})
"""
conditions = [threading.Condition(lock) for lock in locks]


def takes(n):
    """The ways to take one."""
    def made(code):
        names = dict(globals())
        exec(compile(code.format(n=n), "<contended>", "exec"), names)
        return names[f"lock{n}"]
    return [made(code) for code in ([BY_CALLS] if n < 4 else [BY_WITH] if n < 6 else [BY_WITH, BY_WITH, BY_CALLS, BY_CONDITION])]


TAKES = [takes(n) for n in range(LAST + 1)]


def taker():
    while True:
        take(random.randrange(LAST + 1))


for _ in range(8):
    threading.Thread(target=taker, daemon=True).start()
print("ready", flush=True)
time.sleep(10 ** 6)
