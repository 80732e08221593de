#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""Minidumps of Linux as Breakpad and Crashpad write them: the stacks of the live process, and the crash of the core file."""
import itertools
import json
import os
import shutil
import struct
import subprocess
import tempfile

import jsonschema

import minidump_writer
from harness import (TARGETS, Tap, Target, dump, expected_stacks, gcore, no_kernel_core, own_functions, pcs_of, same_stacks,
                     seeded, snapwalk, stack_of, tool, wait_blocked, wait_until)
from minidump_writer import Core, write

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "protocol", "snapwalk-dump.schema.json")
WRITERS = ("breakpad", "crashpad")
ANNOTATIONS = {"prod": "Beispiel", "ver": "1.2.3"}

WORDS = {"write": "SIGSEGV: write to 0x10 by ", "jump": "SIGSEGV: jump to 0x10 by ",
         "noncanonical": "SIGSEGV: write to 0xdead000000000000 by ", "abort": ": raised by the process itself"}


def text_of(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()


class Seen:
    """A blocked target: its live dump, what it says of itself, its core file, and texts of /proc."""

    def __init__(self, directory, *command, path=None):
        with Target(*command, path=path) as target:
            wait_blocked(target.pid)
            self.pid = target.pid
            self.live = dump(target.pid)
            self.stacks = expected_stacks(target.lines)
            self.maps, self.status = (text_of(target.pid, name) for name in ("maps", "status"))
            self.names = {int(tid): text_of(target.pid, f"task/{tid}/comm").rstrip("\n") for tid in os.listdir(f"/proc/{target.pid}/task")}
            path = os.path.join(directory, "core")
            gcore(target.pid, path)
        self.core = Core(path)
        self.dumps = directory

    def written(self, **how):
        path = os.path.join(self.dumps, "x.dmp")
        write(self.core, path, self.maps, status=self.status, names=self.names, annotations=ANNOTATIONS, **how)
        return path


def test_live(tap, directory):
    """The stacks are those of the live process, and own functions those that the target says."""
    for command in (("chain_pie",), ("chain_nopie",), ("inlines",)):
        seen = Seen(directory, *command)
        for by in WRITERS:
            name = f"{command[0]} by {by}"
            report = dump(["--core", seen.written(by=by)])
            same_stacks(tap, name, seen.live, report)
            for tid, functions in seen.stacks.items():
                tap.equal(own_functions(report, tid), functions, f"{name}: functions of {tid}")
            process, live = report["process"], seen.live["process"]
            known = [process[key] for key in ("pid", "comm", "exe", "ppid", "uid")]
            unknown = [live["pid"], os.path.basename(live["exe"])[:15], live["exe"], None, None]
            tap.equal(known, [live[key] for key in ("pid", "comm", "exe", "ppid", "uid")] if by == "breakpad" else unknown,
                      f"{name}: the process")
            tap.equal([t["comm"] for t in report["threads"]], [t["comm"] for t in seen.live["threads"]], f"{name}: names of threads")
            tap.equal((report["warnings"], "crash" in process, report["host"]["name"], report["time"][:16]),
                      ([], False, None, "1970-01-01T00:16"), f"{name}: nothing is missing, nor invented")


def test_cut_stack(tap, directory):
    """Breakpad keeps 32 KiB of a stack: the frames in it are there, and the dump says that it is cut."""
    seen = Seen(directory, "deep", 200)
    report = dump(["--core", seen.written()], status=(3,))
    pcs, live = pcs_of(report, seen.pid), pcs_of(seen.live, seen.pid)
    stack = stack_of(report, seen.pid)
    tap.check(20 < len(pcs) < len(live) and pcs == live[:len(pcs)], "a part of the frames", (len(pcs), len(live)))
    tap.equal(stack["end"], "stack_limit", "and why they end")
    same_stacks(tap, "the whole stack, by crashpad", seen.live, dump(["--core", seen.written(by="crashpad")]))


def test_files(tap, directory):
    """Only the file that the minidump names by its build-id is taken, wherever it is; names can be had later."""
    program = shutil.copy(os.path.join(TARGETS, "chain_pie"), os.path.join(directory, "prog"))
    moved = os.path.join(directory, "moved")
    seen = Seen(directory, "prog", path=program)
    build_id = next(m["build_id"] for m in seen.live["modules"] if m["path"] == program)
    for record in ("BpEL", "RSDS"):
        same_stacks(tap, f"identified by {record}", seen.live, dump(["--core", seen.written(record=record)]))
    # The writer has the names of files, which go away now.
    paths = {by: shutil.copy(seen.written(by=by), os.path.join(directory, by)) for by in WRITERS}
    os.rename(program, moved)
    tree = os.path.join(directory, "tree", ".build-id", build_id[:2])
    named, rooted = os.path.join(directory, "named"), os.path.join(directory, "root")
    os.makedirs(tree)
    os.mkdir(named)
    os.makedirs(rooted + directory)
    shutil.copy(moved, os.path.join(tree, build_id[2:]))
    shutil.copy(moved, os.path.join(named, "prog"))
    shutil.copy(moved, rooted + program)
    same = os.path.join(TARGETS, "deep")
    for by, path in paths.items():
        for words in (("--exe", moved), ("--images", named), ("--images", os.path.join(directory, "tree")), ("--images", rooted)):
            same_stacks(tap, f"{by}: {words[0]} {os.path.basename(words[1])}", seen.live, dump(["--core", path, *words]))
        report = dump(["--core", path], status=(3,))
        said = [w["message"] for w in report["warnings"] if w["code"] == "module_unusable"]
        tap.equal(said, ["1 image is not in the minidump, nor in a directory that was named (--images DIR): prog"],
                  f"{by}: the file that is missing is said once")
        entry = next(m for m in report["modules"] if m["path"] == program)
        tap.equal(entry["build_id"], build_id, f"{by}: its build-id is kept")
        for tid in seen.stacks:
            frame, live = (stack_of(r, tid)["frames"][0] for r in (report, seen.live))
            tap.equal((frame["offset"], frame["function"]), (live["offset"], None), f"{by}: where thread {tid} is in it")
            frames = itertools.takewhile(lambda f: f["trust"] in ("context", "cfi"), stack_of(report, tid)["frames"])
            sure = [int(f["pc"], 16) for f in frames]
            tap.equal(sure, pcs_of(seen.live, tid)[:len(sure)], f"{by}: no frame is invented")
        kept = os.path.join(directory, "kept.json")
        with open(kept, "w", encoding="utf-8") as file:
            json.dump(report, file)
        later = json.loads(snapwalk("symbolize", kept, "--json", "--from", os.path.join(directory, "tree")).stdout)
        for tid, functions in seen.stacks.items():
            tap.equal(stack_of(later, tid)["frames"][0]["function"], functions[0], f"{by}: named later")
        shutil.copy(same, program)
        report = dump(["--core", path], status=(3,))
        tap.check(any("prog (the file of that name is another one)" in w["message"] for w in report["warnings"]),
                  f"{by}: another program under its name is refused", report["warnings"])
        os.remove(program)
        report = dump(["--core", path, "--exe", same], status=(3,))
        tap.check(any("another one" in w["message"] for w in report["warnings"]), f"{by}: so it is with --exe", report["warnings"])
    refused = snapwalk("dump", "--core", path, "--exe", "/dev/null")
    tap.check(refused.returncode == 1 and "/dev/null: not a regular file, and so no program" in refused.stderr, "a device", refused)


def test_no_build_id(tap, directory):
    """A program without a build-id is known by its code."""
    plain = os.path.join(directory, "plain")
    subprocess.run(["objcopy", "--remove-section", ".note.gnu.build-id", os.path.join(TARGETS, "chain_pie"), plain], check=True)
    seen = Seen(directory, "plain", path=plain)
    same_stacks(tap, "known by its code", seen.live, dump(["--core", seen.written()]))
    with open(plain, "r+b") as file:
        file.seek(minidump_writer.text_of(file.read())[0])
        file.write(b"\xcc")
    report = dump(["--core", seen.written(ids=lambda path: b"" if path == plain else minidump_writer.id_of(path))], status=(3,))
    tap.check(any("another one" in w["message"] for w in report["warnings"]), "a file that nothing proves is not taken", report["warnings"])


def test_crashes(tap, directory):
    """The crash and its thread are those of the kernel's core file."""
    for who, how in (("thread", "write"), ("main", "jump"), ("thread", "noncanonical"), ("main", "abort")):
        with Target("crash", who, how, cwd=directory) as target:
            maps, status = (text_of(target.pid, name) for name in ("maps", "status"))
            target.send("")
            target.process.wait()
        path = os.path.join(directory, wait_until(lambda: os.listdir(directory), "the core file")[0])
        wanted = dump(["--core", path], status=(0, 3))
        core = Core(path)
        os.remove(path)
        number, _, code = struct.unpack_from("<iii", core.siginfo)
        what = struct.unpack_from("<II", core.siginfo, 16) if how == "abort" else struct.unpack_from("<Q", core.siginfo, 16)[0]
        for by in WRITERS:
            path = os.path.join(directory, "x.dmp")
            write(core, path, maps, status=status, by=by, signal=(number, code, what))
            report = dump(["--core", path], status=(0, 3))
            name = f"{who}, {how}, by {by}"
            tap.equal(report["process"].get("crash"), wanted["process"]["crash"], f"{name}: the crash")
            tid = wanted["process"]["crash"]["tid"]
            tap.equal(pcs_of(report, tid), pcs_of(wanted, tid), f"{name}: its stack")
            text = snapwalk("dump", "--core", path, "--color", "never").stdout
            tap.check(WORDS[how] in text and f"({tid})   crashed here\n" in text,
                      f"{name}: in words", text)
            os.remove(path)


def test_goes_on(tap, directory):
    """A dump that was asked for has a signal of -1, and no crash."""
    seen = Seen(directory, "chain_pie")
    for by in WRITERS:
        report = dump(["--core", seen.written(by=by, signal=(0xffffffff, 0, 0x1234))])
        tap.check("crash" not in report["process"], f"{by}: no crash", report["process"])


def test_damaged(tap, directory):
    """Files that are cut short or changed give a dump or a reason, in time."""
    seen = Seen(directory, "chain_pie")
    with open(SCHEMA, encoding="utf-8") as file:
        valid = jsonschema.Draft202012Validator(json.load(file))
    rng = seeded(37)
    statuses = set()
    for turn in range(24):
        path = seen.written(by=rng.choice(WRITERS), signal=(11, 1, 0x10))
        with open(path, "rb") as file:
            data = file.read()
        changed = bytearray(data[:rng.choice((len(data), rng.randrange(32, len(data))))])
        for _ in range(rng.choice((0, 1, 8, 64))):
            changed[rng.randrange(min(len(changed), rng.choice((0x100, len(changed)))))] = rng.choice((0, 0xff, rng.randrange(256)))
        changed[:6] = data[:6]
        with open(path, "wb") as file:
            file.write(changed)
        got = snapwalk("dump", "--core", path, "--json", timeout=60)
        statuses.add(got.returncode)
        if got.returncode not in (0, 1, 3) or (got.returncode != 1) != bool(got.stdout):
            tap.check(False, f"turn {turn} gives a dump or a reason", got)
        if got.stdout:
            valid.validate(json.loads(got.stdout))
    tap.check(statuses <= {0, 1, 3} and {1, 3} <= statuses, "dumps and refusals", statuses)


def main():
    tap = Tap()
    for test in tap.chosen(test_live, test_cut_stack, test_files, test_no_build_id, test_crashes, test_goes_on, test_damaged):
        if test is test_crashes and no_kernel_core():
            tap.skip("minidumps of crashes", *no_kernel_core())
            continue
        if test is not test_crashes and not tool("gdb"):
            tap.skip("minidumps of Linux", "gdb is not installed", "package gdb")
            continue
        with tempfile.TemporaryDirectory() as directory:
            tap.guard(test, directory)
    tap.done()


main()
