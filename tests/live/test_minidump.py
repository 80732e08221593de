#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 4s
"""Minidumps of Windows programs: a recorded one, what is missing, and files that are damaged."""
import json
import lzma
import os
import struct
import tempfile

import jsonschema

from harness import Tap, dump, seeded, snapwalk, stack_of
from minidump_truth import Truth, check

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "fixtures", "minidump")
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "protocol", "snapwalk-dump.schema.json")
PROGRAM = "wine_minidump.exe"


def unpacked(name, *path):
    with lzma.open(os.path.join(FIXTURE, name + ".xz")) as file, open(os.path.join(*path), "wb") as to:
        data = file.read()
        to.write(data)
    return data


def dumped(path, *args):
    return dump(["--core", path, *args], status=(0, 3))


def test_recorded(tap, directory):
    path = os.path.join(directory, "crash.dmp")
    unpacked("crash.dmp", path)
    images = os.path.join(directory, "images")
    os.mkdir(images)
    program = unpacked(PROGRAM, images, PROGRAM)
    with open(os.path.join(FIXTURE, "truth"), encoding="utf-8") as file:
        truth = Truth(file.read())
    report = dumped(path, "--images", images)
    check(tap, report, truth, PROGRAM, "recorded")
    stack = stack_of(report, truth.crash[0])
    tap.equal({frame["trust"] for frame in stack["frames"][1:5]}, {"unwind_info"}, "frames are unwound by tables of the file")
    tap.equal((report["process"]["comm"], report["process"]["pid"], report["time"][:10]), (PROGRAM, 32, "2026-11-30"), "the process")
    tap.equal((report["host"], report["process"]["uid"], report["process"]["ppid"]),
              ({"name": None, "kernel": None, "machine": "x86_64"}, None, None), "what a minidump does not have is null")
    none = os.path.join(directory, "none")
    elf = os.path.join(directory, "elf")
    with open("/bin/true", "rb") as file, open(elf, "wb") as to:
        to.write(file.read())
    for words, why in (((path, "--exe", "/bin/true"), "this is a minidump, whose images are given by --images DIR"),
                       ((path, "--images", none), f"--images {none}: No such file or directory"),
                       ((path, "--images", elf), f"--images {elf}: Not a directory"),
                       ((elf, "--images", images), "this is no minidump, and --images is for minidumps")):
        got = snapwalk("dump", "--core", *words)
        tap.check(got.returncode in (1, 2) and why in got.stderr and got.stdout == "", f"refused: {why}", got)
    word = snapwalk(path, "--images", images, "--json")
    tap.check(word.returncode in (0, 3) and json.loads(word.stdout)["process"] == report["process"], "it is dumped without --core, too", word)
    word = snapwalk("sample", path)
    tap.check(word.returncode == 2 and f"it is a minidump (usage): see it with 'snapwalk dump {path[:80]}" in word.stderr,
              "sample refuses it, and says what to do", word)
    missing = [w["message"] for w in report["warnings"] if w["code"] == "module_unusable"]
    tap.check(len(missing) == 1 and "7 images" in missing[0] and "--images DIR" in missing[0], "images that are missing are said once", missing)
    text = snapwalk("dump", "--core", path, "--images", images, "--color", "never").stdout
    tap.check(f"EXCEPTION_ACCESS_VIOLATION: write to 0x28 by {PROGRAM}" in text and "write_there+0" in text, "as text", text)
    tap.check("uid" not in text and "parent" not in text and os.uname().nodename not in text, "and is not printed", text)
    kept = os.path.join(directory, "kept.json")
    with open(kept, "w", encoding="utf-8") as file:
        json.dump(report, file)
    for words in (("show",), ("diff", kept), ("merge",), ("merge", "--json")):
        got = snapwalk(*words, kept)
        tap.check(got.returncode in (0, 1, 3) and "(null)" not in got.stdout and PROGRAM in got.stdout, f"{words[0]} of it", got)
    header = struct.unpack_from("<I", program, 0x3c)[0]
    time, size = (struct.unpack_from("<I", program, header + off)[0] for off in (8, 0x50))
    tree = os.path.join(directory, "tree", PROGRAM.upper(), f"{time:08X}{size:x}")
    os.makedirs(tree)
    os.rename(os.path.join(images, PROGRAM), os.path.join(tree, PROGRAM))
    again = dumped(path, "--images", os.path.join(directory, "tree"))
    tap.equal(again["stacks"], report["stacks"], "the tree of a symbol server, whatever the case of names")
    with open(os.path.join(images, PROGRAM), "wb") as file:
        file.write(program.replace(struct.pack("<I", time), struct.pack("<I", time + 1)))
    other = dumped(path, "--images", images)
    tap.check(any("another one" in w["message"] for w in other["warnings"]) and
              all(f["function"] is None for s in other["stacks"] for f in s["frames"]), "another build of the image is not taken", other["warnings"])


def test_damaged(tap, directory):
    """Files that are cut short or changed give a dump or a reason, in time."""
    path = os.path.join(directory, "damaged.dmp")
    data = unpacked("crash.dmp", path)
    rng = seeded(36)
    with open(SCHEMA, encoding="utf-8") as file:
        valid = jsonschema.Draft202012Validator(json.load(file))
    statuses = set()
    for turn in range(24):
        changed = bytearray(data[:rng.choice((len(data), rng.randrange(4, len(data)), rng.randrange(4, 0x3000)))])
        for _ in range(rng.choice((0, 1, 8, 64))):
            changed[rng.randrange(min(len(changed), rng.choice((0x80, 0x3000, len(changed)))))] = rng.choice((0, 0xff, rng.randrange(256)))
        changed[:4] = data[:4]
        with open(path, "wb") as file:
            file.write(changed)
        got = snapwalk("dump", "--core", path, "--json", timeout=30)
        statuses.add(got.returncode)
        if got.returncode not in (0, 1, 3) or (got.returncode != 1) != bool(got.stdout):
            tap.check(False, f"turn {turn} gives a dump or a reason", got)
        if got.stdout:
            valid.validate(json.loads(got.stdout))
    tap.check(statuses <= {0, 1, 3} and 1 in statuses and 3 in statuses, "dumps and refusals", statuses)
    none = data[:8] + bytes(4) + data[12:]
    other = data[:4] + b"\x94" + data[5:]
    for content, why in ((data[:32], "is cut short or malformed: none of its threads can be read"),
                         (data[:20], "is cut short: it ends in its header"), (none, "this minidump has no threads"),
                         (other, "no minidump of a version that is known")):
        with open(path, "wb") as file:
            file.write(content)
        got = snapwalk("dump", "--core", path)
        tap.check(got.returncode == 1 and why in got.stderr, f"refused: {why}", got)


def main():
    tap = Tap()
    for test in tap.chosen(test_recorded, test_damaged):
        with tempfile.TemporaryDirectory() as directory:
            tap.guard(test, directory)
    tap.done()


main()
