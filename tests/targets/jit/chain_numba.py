# SPDX-License-Identifier: LGPL-2.1-or-later
"""inner <- middle <- outer, compiled by numba; inner waits in the C library's pause()."""
import ctypes

import numba

pause = ctypes.CDLL(None).pause
pause.argtypes = []


@numba.njit(inline="never")
def inner(n):
    return pause() + n


@numba.njit(inline="never")
def middle(n):
    return inner(n + 1) * n


@numba.njit(inline="never")
def outer(n):
    return middle(n + 1) * n


outer.compile((numba.int64,))
print("ready", flush=True)
outer(3)
