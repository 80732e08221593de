#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 15s
"""The busy programs of test_compare_busy.py, built for i386: at random instants the program counters of
each thread equal those of eu-stack and gdb, and the functions are those of the program's own record.

SNAPWALK_STOPS=N: N stops of each build. Names of builds as arguments: of these alone.
"""

from harness import Tap
from test_compare_busy import builds, compare


def main():
    tap = Tap()
    names = builds(i386=True)
    if names:
        compare(tap, names, 40)
    else:
        tap.skip("programs for i386", "they are not built",
                 "packages gcc-multilib and g++-multilib, and make targets-soak after that")
    tap.done()


if __name__ == "__main__":
    main()
