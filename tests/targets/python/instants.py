# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each part of what is stepped (tests/fixtures/record_instants.py) is between two os.getppid(): calls and returns, by
Python and by C code, a generator that is resumed, an exception on its way. It says that it is ready and waits for a line."""
import os

ROUNDS = 20  # specialised instructions are in use by then


def leaf(number=1):
    return number


class Item:
    def __getitem__(self, key):
        return key


ITEM = Item()


def call():
    os.getppid()
    leaf()
    os.getppid()


def special():
    os.getppid()
    ITEM[1]
    os.getppid()


def by_c():
    os.getppid()
    list(map(leaf, (1,)))
    os.getppid()


def numbers():
    yield 1
    yield 2


def resume():
    generator = numbers()
    next(generator)
    os.getppid()
    for _ in generator:
        break
    os.getppid()


def thrower():
    raise KeyError


def between():
    thrower()


def throw():
    os.getppid()
    try:
        between()
    except KeyError:
        pass
    os.getppid()


def main():
    print("ready", flush=True)
    input()
    for _ in range(ROUNDS):
        for part in (call, special, by_c, resume, throw):
            part()


main()
