# SPDX-License-Identifier: LGPL-2.1-or-later
"""Calls that the interpreter's loop makes by itself; what is looked at is between two os.getppid(). In the comments: what
is on the stack then."""
import os


def leaf(number=1):
    return number


def middle():
    return leaf()


def first():
    return middle()


def second():
    os.getppid()
    leaf()
    os.getppid()


class Item:
    def __getitem__(self, key):
        return key


def item(of):
    for i in range(100):
        if i == 99:
            os.getppid()
        of[i]  # by now in a way of its own
    os.getppid()


def generate():
    os.getppid()
    leaf()
    os.getppid()
    yield


def words(code):
    return code.co_nlocals + len(code.co_cellvars) + len(code.co_freevars) + code.co_stacksize


# A frame of second() is as long as those of first() and middle() together, 9 words each besides what is counted here.
# The callee's frame is then where leaf() was called by middle(), whose frame is still in the part of the stack of second()
# that is not used.
second.__code__ = second.__code__.replace(co_stacksize=words(first.__code__) + words(middle.__code__) + 9)


def main():
    first()
    second()  # second main <module>
    item(Item())  # item main <module>
    for _ in generate():  # generate main <module>
        pass


main()
