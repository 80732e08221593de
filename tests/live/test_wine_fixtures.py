#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Windows programs under Wine 8 and 10, recorded: they walk here, where there is no Wine, as they did
there, and as the program itself said that its stacks were. Damaged ones end, and say why."""
import os
import tarfile
import tempfile

from harness import Tap, dump, seeded, snapwalk
from test_wine32 import chains_of, check_named
from wine_threads import check_runtimes, check_threads

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "fixtures")
DAMAGED = 12


def unpack(version, directory):
    with tarfile.open(os.path.join(FIXTURES, f"wine-{version}", "recorded.tar.xz")) as tar:
        tar.extractall(directory)
    with open(os.path.join(directory, "said")) as said:
        return said.read().splitlines()


def test_walk(tap, version):
    name = f"Wine {version}, recorded"
    with tempfile.TemporaryDirectory() as directory:
        lines = unpack(version, directory)
        report = dump(["--fixture", directory], "--symbols", "names")
        check_threads(tap, name, lines, report)
        check_runtimes(tap, name, version, report)
        tap.equal(report["warnings"], [], f"{name}: no warning")
        test_damaged(tap, name, directory)


def test_i386(tap):
    """32-bit: each thread at the end of its chain, proven to its start."""
    name = "Wine 8 for i386, recorded"
    with tempfile.TemporaryDirectory() as directory:
        want = chains_of(unpack("8-i386", directory))
        report = dump(["--fixture", directory], "--symbols", "names")
        wrong = [w for tid, (thread, functions) in want.items()
                 for w in check_named(report, tid, thread, functions, "wine32_chain_O2.exe")]
        tap.check(len(want) == 12 and not wrong, f"{name}: {len(want)} threads are where they say", "\n".join(wrong))
        wine = [r for r in report["process"]["runtimes"] if r["name"] == "wine"]
        tap.check(len(wine) == 1 and wine[0]["version"].startswith("8.") and report["warnings"] == [],
                  f"{name}: Wine is recognised", [report["process"]["runtimes"], report["warnings"]])
        test_damaged(tap, name, directory)


def test_damaged(tap, name, directory):
    """Words of the copied memory changed: stacks, TEBs, frames, lists, tables, headers."""
    with open(os.path.join(directory, "memory"), "rb") as memory:
        whole = memory.read()
    silent, failed = [], []
    for number in range(DAMAGED):
        memory = bytearray(whole)
        rng = seeded(number)
        for _ in range(len(whole) // 8 // 50):
            at = rng.randrange(len(whole) // 8) * 8
            memory[at:at + 8] = rng.choice((
                whole[(o := rng.randrange(len(whole) // 8) * 8):o + 8], bytes(8), b"\xff" * 8,
                rng.randbytes(8)))
        with open(os.path.join(directory, "memory"), "wb") as file:
            file.write(memory)
        result = snapwalk("dump", "--json", "--symbols", "none", "--fixture", directory)
        if result.returncode not in (0, 3):
            failed.append((number, result.returncode, result.stderr))
            continue
        silent += [(number, s) for s in dump(["--fixture", directory], "--symbols", "none",
                                             status=(0, 3))["stacks"]
                   if s["end"] != "complete" and not s["why"]]
    tap.equal(failed, [], f"{name}: {DAMAGED} times damaged: a dump")
    tap.equal(silent[:1], [], f"{name}: every stack that is not complete says why")


def main():
    tap = Tap()
    for version in ("8", "10"):
        tap.guard(test_walk, version)
    tap.guard(test_i386)
    tap.done()


if __name__ == "__main__":
    main()
