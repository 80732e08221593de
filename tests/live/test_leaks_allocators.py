#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 120s
"""snapwalk leaks --of memory, with other allocators than the C library's: each stack has the blocks that the program wrote
down.
"""
import glob
import os
import sys

from harness import Tap, iterator_refused
from test_leaks_memory import exact

LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# Name: package of Debian, and file.
ALLOCATORS = {"jemalloc": ("libjemalloc2", "libjemalloc.so.*"),
              "tcmalloc": ("libtcmalloc-minimal4", "libtcmalloc_minimal.so.*"),
              "mimalloc": ("libmimalloc2.0", "libmimalloc.so.*")}


def one(tap, name):
    package, pattern = ALLOCATORS[name]
    found = sorted(glob.glob(os.path.join(LIBRARIES, pattern)))
    if found:
        exact(tap, name, {"LD_PRELOAD": found[0]})
    else:
        tap.skip(f"{name}: each row is what the program wrote down", "it is not installed", f"package {package}")


def main():
    tap = Tap()
    if iterator_refused():
        tap.skip("leaks --of memory", iterator_refused(), Tap.ROOT)
        tap.done()
    for name in sys.argv[1:] or ALLOCATORS:
        tap.guard(one, name)
    tap.done()


if __name__ == "__main__":
    main()
