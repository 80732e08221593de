# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that are at a random depth, which their functions' names say: d7 calls d8, and below d0 is turn. At the
bottom is one of the leaves: a loop, a generator, functions that C calls, many short calls. Every fourth of the functions is a
generator.

A chain is right when the numbers follow each other down to 0.

arguments: threads, seconds (0: for ever), and "naps": each leaf waits for a moment instead; or "interpreters": each thread
but the first runs this program in an interpreter of its own
"""
import os
import random
import sys
import threading
import time

DEEPEST = 40
LEAVES = []


def leaf(function):
    LEAVES.append(function)
    return function


def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


@leaf
def loop():
    return spin(2000)


@leaf
def sorting():
    return sorted([3, 1, 2, 5, 4], key=key)


def key(n):
    return spin(300) * 0 + n


@leaf
def mapping():
    return list(map(key, range(5)))


def made():
    for i in range(5):
        yield spin(300) + i


@leaf
def generating():
    for i in made():
        pass


def nothing():
    return None


@leaf
def calling():
    for i in range(200):
        nothing()


def napping():
    time.sleep(random.random() / 50)


PLAIN = """
def d{n}(deepest):
    if deepest == {n}:
        return random.choice(LEAVES)()
    return {call}
"""
GENERATOR = """
def d{n}(deepest):
    if deepest == {n}:
        yield random.choice(LEAVES)()
        return
    yield {call}
"""
for depth in range(DEEPEST + 1):
    inner = depth + 1
    # Every fourth one is a generator: its caller runs it.
    call = f"next(d{inner}(deepest))" if inner % 4 == 3 else f"d{inner}(deepest)"
    exec(compile((GENERATOR if depth % 4 == 3 else PLAIN).format(n=depth, call=call), "depths.py", "exec"))


def turn():
    return d0(random.randrange(DEEPEST))  # noqa: F821 - made above


def work(until):
    while not until or time.monotonic() < until:
        turn()


BEGUN = os.pipe() if sys.argv[3:] == ["interpreters"] else None


def in_another(_):
    try:
        import _interpreters as interpreters
    except ImportError:  # before 3.13
        import _xxsubinterpreters as interpreters
    with open(__file__) as program:
        interpreters.run_string(interpreters.create(), f"import sys\nsys.argv = ['', '1', '0', 'inner', '{BEGUN[1]}']\n{program.read()}")


n, seconds = int(sys.argv[1]), float(sys.argv[2])
if sys.argv[3:] == ["naps"]:
    LEAVES[:] = [napping]
end = time.monotonic() + seconds if seconds else 0
target = in_another if sys.argv[3:] == ["interpreters"] else work
threads = [threading.Thread(target=target, args=(end,), daemon=True) for _ in range(n - 1)]
for thread in threads:
    thread.start()
if sys.argv[3:4] == ["inner"]:
    os.write(int(sys.argv[4]), b".")
else:
    # An interpreter that is being made has frames that are none of this program's.
    for _ in range(n - 1 if BEGUN else 0):
        os.read(BEGUN[0], 1)
    print("ready", flush=True)
work(end)
