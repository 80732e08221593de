#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""Minidumps that a Windows program writes of itself under Debian's Wine: small ones with images, and full ones."""
import os
import shutil
import subprocess

from harness import TARGETS, Tap, dump, hangs_s
from minidump_truth import Truth, check
from wine import LOADER, Wine

PROGRAM = "wine_minidump.exe"
IMAGES = ("ntdll", "kernel32", "kernelbase")
SYSTEM = "prefix/drive_c/windows/system32"


def written(wine, kind, how):
    """The path of a minidump, and what its program said."""
    path = os.path.join(wine.shared, f"{kind}-{how}.dmp")
    program = shutil.copy(os.path.join(TARGETS, PROGRAM), wine.shared)
    run = subprocess.run(wine.command(LOADER, wine.inside(program), wine.inside(path), kind, how), env=wine.environment,
                         check=True, timeout=hangs_s(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return path, Truth(run.stdout)


def test_minidumps(tap, wine):
    images = os.path.join(wine.shared, "images")
    shutil.rmtree(images, ignore_errors=True)
    os.mkdir(images)
    for name in IMAGES:
        shutil.copy(os.path.join(wine.shared, SYSTEM, name + ".dll"), images)
    shutil.copy(os.path.join(TARGETS, PROGRAM), images)
    for kind in ("normal", "full"):
        for how in ("wait", "crash"):
            path, truth = written(wine, kind, how)
            report = dump(["--core", path, "--images", images], status=(0, 3))
            check(tap, report, truth, PROGRAM, f"{kind}, {how}")
            tap.equal({stack["end"] for stack in report["stacks"]}, {"complete"}, f"{kind}, {how}: each stack has its end")
            os.remove(path)


def main():
    tap = Tap()
    if not os.path.exists(LOADER) or not os.path.exists(os.path.join(TARGETS, PROGRAM)):
        tap.skip("minidumps", "Wine and its programs are not there", "make check-runtimes, as root")
    else:
        with Wine("8") as wine:
            tap.guard(test_minidumps, wine)
    tap.done()


main()
