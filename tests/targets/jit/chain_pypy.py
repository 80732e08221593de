# SPDX-License-Identifier: LGPL-2.1-or-later
"""A hot loop whose compiled code calls poll() through cffi: in the end without a time limit."""
import sys

import cffi

ffi = cffi.FFI()
ffi.cdef("int poll(void *fds, unsigned long n, int timeout);")
C = ffi.dlopen(None)


def inner(n):
    return C.poll(ffi.NULL, 0, n)


def middle(n):
    return inner(n) + 1


def outer(n):
    return middle(n) + 1


def main():
    total = 0
    i = 0
    while i < 100000000:
        # No branch on i: a failing guard would leave the compiled code before the call that blocks.
        total += outer(-(i // 1000000))
        i += 1
    return total


print("ready")
sys.stdout.flush()
main()
