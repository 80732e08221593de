#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""Recorded snapshots walk the same elsewhere; those in tests/fixtures walk as they always did."""
import contextlib
import os
import shutil
import sys
import tempfile

from harness import (TARGETS, Tap, Target, dump, expected_stacks, own_functions, pcs_of, snapwalk,
                     stack_of, wait_blocked)

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "fixtures")
sys.path.insert(0, FIXTURES)
import trim  # noqa: E402 - the path above
RECORDED = [("chain_pie",), ("chain_static",), ("chain_musl",), ("chain_debug_frame",),
            ("signals",), ("inlines",), ("exceptions",), ("deep", 100), ("named", 12)]


def summary(report):
    """Returns the text of tests/fixtures/*/expected: end and frames of every thread, and of the tasks that await what
    they execute."""
    lines = []
    stacks = []
    for thread in report["threads"]:
        stack = stack_of(report, thread["tid"])
        if stack is None:  # it was not asked for
            continue
        stacks.append((f"thread {thread['tid']}", stack))
    for stack in report["stacks"]:
        stacks += [(f"task {task['name']}", stack) for task in stack.get("tasks", [])]
    for name, stack in stacks:
        lines.append(f"{name} {stack['end']}")
        for frame in stack["frames"]:
            marks = [word for word in ("inlined", "signal", "may_miss", "internal") if frame.get(word)]
            if frame["kind"] in ("cpython", "v8js", "ruby", "php") and frame["file"]:
                marks.append(f"{frame['file']}:{frame['line']}")
            lines.append(" ".join(["", frame["function"] or frame["pc"], frame["trust"],
                                   frame["by"], *marks]))
    return lines


def settled(report):
    """Returns what two dumps of a blocked process have in common: not times, nor what the stop did."""
    for thread in report["threads"]:
        for key in ("stop_us", "cpu_ns", "interrupted", "captured_by", "since_ms"):
            thread.pop(key, None)
        thread.get("blocked_on", {}).pop("since_ms", None)
    for name in ("uptime_ms", "limits"):
        report["process"].pop(name, None)
    for module in report["modules"]:
        module.pop("debug_package", None)  # of files that are here
    return {key: report[key] for key in ("process", "threads", "stacks", "modules")}


def test_recorded(tap):
    for command in RECORDED:
        if not os.path.exists(os.path.join(TARGETS, command[0])):
            tap.skip(command[0], "it was not built", "make tests-build")
            continue
        with tempfile.TemporaryDirectory() as directory, Target(*command) as target:
            path = os.path.join(directory, "fixture")
            wait_blocked(target.pid)
            live = dump(target.pid, status=(0, 3))
            wait_blocked(target.pid)
            result = snapwalk("record", target.pid, "-o", path)
            tap.equal(result.returncode, 0, f"{command[0]}: recorded")
            tap.equal(sorted(os.listdir(path)), ["memory", "modules", "snapshot"],
                      f"{command[0]}: the fixture is whole")
            tap.equal(os.listdir(directory), ["fixture"], f"{command[0]}: nothing temporary stays")
            live, again = settled(live), settled(dump(["--fixture", path], status=(0, 3)))
            for key, value in live.items():
                tap.equal(again[key], value, f"{command[0]}: the same {key}")


def test_elsewhere(tap):
    """The process has ended, its program and the fixture's old place are gone."""
    with tempfile.TemporaryDirectory() as directory:
        program = shutil.copy(os.path.join(TARGETS, "inlines"), os.path.join(directory, "prog"))
        first, second = os.path.join(directory, "first"), os.path.join(directory, "second")
        with Target("prog", path=program) as target:
            wait_blocked(target.pid)
            live = dump(target.pid)
            stacks = expected_stacks(target.lines)
            snapwalk("record", target.pid, "-o", first, check=True)
        os.remove(program)
        os.rename(first, second)
        again = dump(["--fixture", second])
        for tid, functions in stacks.items():
            tap.equal(pcs_of(again, tid), pcs_of(live, tid), "elsewhere: program counters")
            tap.equal(own_functions(again, tid), functions, "elsewhere: functions")
            tap.equal([(f["file"], f["line"]) for f in stack_of(again, tid)["frames"]],
                      [(f["file"], f["line"]) for f in stack_of(live, tid)["frames"]],
                      "elsewhere: lines")


def test_deleted_program(tap):
    """Deleted while it runs: the file is copied all the same."""
    with tempfile.TemporaryDirectory() as directory:
        program = shutil.copy(os.path.join(TARGETS, "chain_pie"), os.path.join(directory, "prog"))
        path = os.path.join(directory, "fixture")
        with Target("prog", path=program) as target:
            wait_blocked(target.pid)
            os.remove(program)
            stacks = expected_stacks(target.lines)
            snapwalk("record", target.pid, "-o", path, check=True)
        again = dump(["--fixture", path])
        for tid, functions in stacks.items():
            tap.equal(own_functions(again, tid), functions, "deleted: functions")
            tap.equal(stack_of(again, tid)["end"], "complete", "deleted: end")


def test_read_later(tap):
    """Memory that a walk reads of the process after the stop is in the fixture, too."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "fixture")
        with Target("deep", 200) as target:
            wait_blocked(target.pid)
            live = dump(target.pid)
            snapwalk("record", target.pid, "-o", path, "--stack-bytes", 65536)
            pid = target.pid
        again = dump(["--fixture", path], status=(0, 3))
        tap.equal(stack_of(again, pid)["end"], "complete", "read later: end")
        tap.equal(pcs_of(again, pid), pcs_of(live, pid), "read later: program counters")


def test_missing_part(tap):
    """A stack deeper than what was copied cannot go on in a process that is not there."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "fixture")
        with Target("deep", 200) as target:
            wait_blocked(target.pid)
            live = dump(target.pid)
            snapwalk("record", target.pid, "-o", path, "--stack-bytes", 65536)
            pid = target.pid
        with open(os.path.join(path, "snapshot")) as f:
            lines = [line for line in f if not line.startswith("range ")]
        with open(os.path.join(path, "snapshot"), "w") as f:
            f.writelines(lines)
        again = dump(["--fixture", path], status=(3,))
        said = snapwalk("dump", "--fixture", path).stderr
        tap.check("(stack_limit): the file has no more of that stack\n" in said, "cut: advice that is possible", said)
        pcs = pcs_of(again, pid)
        tap.equal(stack_of(again, pid)["end"], "stack_limit", "cut: said")
        tap.check(50 < len(pcs) < 200 and pcs == pcs_of(live, pid)[:len(pcs)],
                  "cut: what is there is right", len(pcs))


def refused(tap, name, status, words, *args):
    result = snapwalk(*args)
    tap.equal(result.returncode, status, f"{name}: status")
    tap.check(words in result.stderr and len(result.stderr.splitlines()) == 1,
              f"{name}: one clear line", result.stderr)


def test_refused(tap):
    with tempfile.TemporaryDirectory() as directory, Target("chain_pie") as target:
        wait_blocked(target.pid)
        refused(tap, "it exists", 1, "it is there already", "record", target.pid, "-o", directory)
        refused(tap, "no such place", 1, "No such file or directory", "record", target.pid, "-o",
                os.path.join(directory, "no", "such"))
        tap.equal(os.listdir(directory), [], "nothing is left over")
        refused(tap, "empty", 1, "No such file or directory", "dump", "--fixture", directory)
        path = os.path.join(directory, "fixture")
        snapwalk("record", target.pid, "-o", path, check=True)
        text = os.path.join(path, "snapshot")
        with open(text) as f:
            lines = f.read().splitlines(keepends=True)
        for name, changed, words in (
                ("cut", lines[:-1], "cut short"),
                ("version", ["snapwalk-fixture 999\n", *lines[1:]], "another version"),
                ("no fixture", ["hello\n"], "not a fixture"),
                ("malformed", [*lines[:4], "thread x\n", *lines[4:]], "line 5: malformed")):
            with open(text, "w") as f:
                f.writelines(changed)
            refused(tap, name, 1, words, "dump", "--fixture", path)
        with open(text, "w") as f:
            f.writelines(lines)
        shutil.rmtree(os.path.join(path, "modules"))
        report = dump(["--fixture", path], status=(3,))
        tap.check("module_unusable" in [w["code"] for w in report["warnings"]],
                  "without its modules: said", report["warnings"])


@contextlib.contextmanager
def opened(path):
    """A fixture of the source tree as snapwalk reads it: some are packed, see fixtures/trim.py."""
    if os.path.exists(os.path.join(path, "memory")):
        yield path
        return
    with tempfile.TemporaryDirectory() as directory:
        unpacked = os.path.join(directory, "fixture")
        trim.unpack(path, unpacked)
        yield unpacked


def test_kept(tap):
    """The fixtures of the source tree: functions, end, trust and unwinder of every frame."""
    names = sorted(name for name in os.listdir(FIXTURES)
                   if os.path.exists(os.path.join(FIXTURES, name, "snapshot")))
    tap.check(len(names) >= 2, "there are fixtures", names)
    for name in names:
        path = os.path.join(FIXTURES, name)
        with open(os.path.join(path, "expected")) as f:
            expected = f.read().splitlines()
        with opened(path) as fixture:
            report = dump(["--fixture", fixture], "--timeout", 60000, status=(0, 3))
        tap.equal(summary(report), expected, f"{name}: as expected")


if __name__ == "__main__":
    Tap.main(test_recorded, test_elsewhere, test_deleted_program, test_read_later, test_missing_part, test_refused, test_kept)
