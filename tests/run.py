#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Run test programs that speak TAP and count their cases; closes with 'N passed, N failed'.

A program that dies, times out, prints no result or fewer results than its plan counts as failed.
Exit status 77 of a program without a single result is a skip of the whole program.

A skip says "REASON; needs WHAT": in its result, in a line "# skip: " before it (cmocka's results
have no space for it) or as the last line before status 77. One that does not is a failure.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import time

RESULT = re.compile(r"^(not )?ok\b[ \d]*-?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)")
SKIP = re.compile(r"^(.*?)\s*# SKIP\s*(.*)$", re.I)
NEEDS = re.compile(r"^(.*); needs (.+)$")
FAILURES_MAX = 60
END_LINES = 20


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.skips = {}  # what would enable them: the lines to show

    def skip(self, name, test, why):
        """why: "REASON; needs WHAT"."""
        found = NEEDS.match(why)
        if found is None:
            self.failures.append(f"{name}: {test}: skipped without saying what it needs: {why}")
            return False
        self.skips.setdefault(found.group(2), []).append(
            f"{name}: {test}: {found.group(1)}" if test else f"{name}: {found.group(1)}")
        return True


def command_of(path, fuzz):
    if path.endswith(".py"):
        return [sys.executable, path]
    if fuzz:
        corpus = os.path.join("tests", "fuzz", "corpus", os.path.basename(path))
        return [path, corpus]
    return [path]


def run_one(path, environment, limit, fuzz):
    """Output and status; the whole process group of a program that hangs is ended."""
    child = subprocess.Popen(command_of(path, fuzz), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=environment, start_new_session=True)
    try:
        out, _ = child.communicate(timeout=limit)
        return out.decode("utf-8", "replace"), child.returncode
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, _ = child.communicate()
        return out.decode("utf-8", "replace") + f"\ntimed out after {limit} s\n", -1


def name_of(path):
    """Of a unit test with its folder: several have a test_space."""
    _, below, name = path.partition("/tests/unit/")
    return name if below else os.path.basename(path)


def count(path, output, status, totals):
    """Adds a program's results to the totals; True when all is well."""
    name = name_of(path)
    passed = failed = skipped = 0
    planned = None
    why = ""
    for line in output.splitlines():
        plan = PLAN.match(line)
        if plan:
            planned = int(plan.group(1))
        if line.startswith("# skip: "):
            why = line.removeprefix("# skip: ")
        result = RESULT.match(line)
        if not result:
            continue
        skip = SKIP.match(result.group(2))
        if skip:
            # cmocka says "not ok N # SKIP name" of a test that calls skip().
            test, reason = (skip.group(2), why) if why else skip.groups()
            why = ""
            if totals.skip(name, test, reason):
                skipped += 1
            else:
                failed += 1
        elif result.group(1):
            failed += 1
            totals.failures.append(f"{name}: {result.group(2)}")
        else:
            passed += 1
    seen = passed + failed + skipped
    if status == 77 and seen == 0:
        last = output.strip().splitlines()[-1] if output.strip() else ""
        skipped = int(totals.skip(name, "", last))
        failed = 1 - skipped
    elif seen == 0 or (planned and seen < planned) or (status != 0 and failed == 0):
        failed += 1
        totals.failures.append(f"{name}: ended with status {status} after {seen} results"
                               f"{f' of {planned}' if planned else ''}")
    totals.passed += passed
    totals.failed += failed
    totals.skipped += skipped
    return failed == 0


def telling(lines):
    """Of a failed program's output: what failed, with its details, first; then how it ended."""
    failures, inside = [], False
    for line in lines:
        inside = line.startswith("not ok") or (inside and line.startswith("#"))
        if inside:
            failures.append(line)
    return failures[:FAILURES_MAX] + ["---"] + lines[-END_LINES:]


def show_skips(totals):
    """All that was skipped, by what it needs."""
    for needs, lines in sorted(totals.skips.items()):
        print(f"skipped, {len(lines)} need{'s' if len(lines) == 1 else ''} {needs}:")
        for line in lines:
            print(f"    {line}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--unit", nargs="*", default=[])
    parser.add_argument("--fuzz", nargs="*", default=[])
    parser.add_argument("--live", nargs="*", default=[])
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one program")
    parser.add_argument("--no-skip", action="store_true", help="a skip is a failure")
    args = parser.parse_args()

    environment = dict(os.environ, SNAPWALK_BUILD=os.path.abspath(args.build),
                       CMOCKA_MESSAGE_OUTPUT="TAP", PYTHONDONTWRITEBYTECODE="1",
                       PYTHONPATH=os.path.abspath("tests/live"))
    totals = Totals()
    for path in args.unit + args.fuzz + args.live:
        begin = time.monotonic()
        output, status = run_one(path, environment, args.limit, path in args.fuzz)
        good = count(path, output, status, totals)
        print(f"{'ok  ' if good else 'FAIL'} {name_of(path):52s} "
              f"{time.monotonic() - begin:6.1f} s", flush=True)
        if not good:
            lines = telling(output.splitlines())
            print("".join(f"    | {line}\n" for line in lines), flush=True)
    show_skips(totals)
    if args.no_skip and totals.skipped:
        totals.failed += totals.skipped
        totals.failures += [f"{line} (may not be skipped here)"
                            for lines in totals.skips.values() for line in lines]
        totals.skipped = 0
    for failure in totals.failures:
        print(f"failed: {failure}")
    skipped = f", {totals.skipped} skipped" if totals.skipped else ""
    print(f"{totals.passed} passed, {totals.failed} failed{skipped}")
    return 1 if totals.failed or totals.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
