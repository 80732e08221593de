# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls f1 ... f6 in ever changing ways, so that the callers of each are known at any instant.

The line of each call is the only one of its function that has the name of the next.
"""
import sys
import threading


class Callable:
    def __init__(self, n):
        self.n = f6(n)

    def __call__(self, n):
        return f6(n)

    def __lt__(self, other):
        return f6(self.n) < f6(other.n)


def f6(n):
    total = 0
    for i in range(n % 20):
        total += i * n % 7
    return total


def f5(n):
    if n % 5 == 0:
        return f6(n)
    if n % 5 == 1:
        return sum(map(f6, (n, n + 1)))
    if n % 5 == 2:
        return Callable(n)(n)
    if n % 5 == 3:
        return sorted([Callable(n), Callable(n + 1)])[0].n
    return max((n, n + 1), key=f6)


def f4(n):
    def inner(m):
        return f5(m + n)
    return inner(n)


def f3(n):
    for value in generate(n):
        n += value
    return n


def generate(n):
    yield f4(n)
    yield from more(n)


def more(n):
    try:
        yield f4(n + 1)
    finally:
        n += 1


def f2(n, *rest, **named):
    return f3(n) if n % 3 else [f3(m) for m in (n, n + 1)][0]


def f1(n):
    return f2(n, n, named=n) if n else f2(n)


def descend(n, depth):
    return f1(n) if depth == 0 else descend(n, depth - 1)


def run():
    n = 0
    while True:
        n += 1
        descend(n, n % 10)


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for _ in range(threads - 1):
        threading.Thread(target=run, daemon=True).start()
    print("ready", flush=True)
    run()


if __name__ == "__main__":
    main()
