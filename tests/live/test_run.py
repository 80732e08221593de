#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 5s
"""The results of run.py for test programs: nothing is lost, a skip says what it needs, a rerun hides nothing."""
import contextlib
import glob
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from unittest import mock

import judge
from harness import Tap

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import ledger  # noqa: E402
import run  # noqa: E402

PLAN = "1..2\n"
GOOD = "ok 1 - a\nok 2 - b\n"
# Output, status, (passed, failed, skipped), a failure's last words, {what it needs: lines}
CASES = {
    "all passed": (GOOD + PLAN, 0, (2, 0, 0), None, {}),
    "one failed": ("ok 1 - a\nnot ok 2 - b\n" + PLAN, 1, (1, 1, 0), ": b", {}),
    "a plan that is not kept": ("1..3\n" + GOOD, 0, (2, 1, 0), "after 2 results of 3", {}),
    "a program that died": (GOOD, -11, (2, 1, 0), "ended with status -11 after 2 results", {}),
    "a program without results": ("", 0, (0, 1, 0), "ended with status 0 after 0 results", {}),
    "a skip": ("ok 1 - a\nok 2 - b # SKIP no c; needs package c\n" + PLAN, 0, (1, 0, 1), None,
               {"package c": ["p: b: no c"]}),
    "two skips for one reason": (
        "ok 1 - a # SKIP no c; needs package c\nok 2 - b # SKIP no c; needs package c\n" + PLAN, 0,
        (0, 0, 2), None, {"package c": ["p: a: no c", "p: b: no c"]}),
    "a skip of cmocka": ("ok 1 - a\n# skip: not root; needs root\nnot ok 2 # SKIP b\n" + PLAN, 0,
                         (1, 0, 1), None, {"root": ["p: b: not root"]}),
    "a skip of the whole program": ("begins\nnot root; needs root\n", 77, (0, 0, 1), None,
                                    {"root": ["p: not root"]}),
    "a skip that does not say what it needs": (
        "ok 1 - a\nok 2 - b # SKIP no c\n" + PLAN, 0, (1, 1, 0),
        "b: skipped without saying what it needs: no c", {}),
    "a whole program that does not either": (
        "no\n", 77, (0, 1, 0), ": skipped without saying what it needs: no", {}),
}


def counted(tap):
    for what, (output, status, wanted, failure, skips) in CASES.items():
        totals = run.count("p", output, status)
        tap.equal((totals.passed, totals.failed, totals.skipped), wanted, f"{what}: counted")
        tap.equal([f.endswith(failure or "") for f in totals.failures],
                  [True] * (failure is not None), f"{what}: what failed")
        tap.equal(totals.skips, skips, f"{what}: the skipped files")


# A test that says what the file FOLDER/turns tells it to: the first line of the first run, and so on.
TURNS = """# tier: gate 5s
{head}
import os
path = os.path.join({folder!r}, "turn")
turn = int(open(path).read()) if os.path.exists(path) else 0
open(path, "w").write(str(turn + 1))
print({outputs!r}[min(turn, {last})])
print("1..1")
"""
OK, BAD = "ok 1 - it holds", "not ok 1 - it holds\n# it was 3"
# Output of each run, a further line of the head; status, closing line, line about what is rare
RUNS = {
    "it passes": ([OK], "", 0, "1 passed, 0 failed", None),
    "it always fails": ([BAD], "", 1, "0 passed, 1 failed", None),
    "it fails once": ([BAD, OK], "", 0, "1 passed, 0 failed", "1 rare (0 known, 1 new)"),
    "it fails three times": ([BAD, BAD, BAD, OK], "", 0, "1 passed, 0 failed", "1 rare (0 known, 1 new)"),
    "it fails four times": ([BAD, BAD, BAD, BAD, OK], "", 1, "0 passed, 1 failed", None),
    "it fails once and is strict": ([BAD, OK], "# strict", 1, "0 passed, 1 failed", None),
    "a sanitizer reports once": (["not ok 1 - it holds\n# ERROR: AddressSanitizer: overflow", OK], "", 1,
                                 "0 passed, 1 failed", None),
    "a thread was left stopped once": (["not ok 1 - a thread is left stopped", OK], "", 1, "0 passed, 1 failed", None),
    "it tells of something rare": (["# rare: p.q cut 3 of 90: end; evidence e\n" + OK], "", 0, "1 passed, 0 failed",
                                   "1 rare (0 known, 1 new)"),
}


def ran(folder, outputs, head, *more):
    path = os.path.join(folder, "test_turns.py")
    with open(path, "w") as file:
        file.write(TURNS.format(head=head, folder=folder, outputs=outputs, last=len(outputs) - 1))
    return subprocess.run([sys.executable, os.path.join(HERE, "..", "run.py"), "--build", folder, "--live", path, *more],
                          capture_output=True, text=True, timeout=600)


def again(tap):
    """The files that run again, the failures that are rare, and those that are never excused."""
    for what, (outputs, head, status, closing, rare) in RUNS.items():
        with tempfile.TemporaryDirectory() as folder:
            result = ran(folder, outputs, head)
            lines = result.stdout.splitlines()
            tap.equal((result.returncode, lines[-1:]), (status, [closing]), f"{what}: status and closing line")
            tap.check((rare or "0 rare (0 known, 0 new)") in lines, f"{what}: rare failures are counted", result.stdout)
            failures = sum(output != OK and "# rare" not in output for output in outputs[:1])
            tap.equal(os.path.isdir(os.path.join(folder, "evidence")), failures > 0, f"{what}: the output is kept")
            tap.equal(os.path.isdir(os.path.join(folder, "ledger")), rare is not None, f"{what}: an entry is drafted")
            tap.check(os.path.getsize(os.path.join(folder, "tests", "timings.tsv")), f"{what}: the time is kept")


# Two files, of which the second runs alone, and a command beside them that outlives the first.
FIRST = """# tier: gate 60s
import os, subprocess, sys, time
end = time.monotonic() + 60
while not os.path.exists({folder!r} + "/seen") and time.monotonic() < end:
    time.sleep(0.02)
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.3: pass"])
print("ok 1 - it has begun\\n1..1")
"""
ALONE = """# tier: gate 5s
# serial
import os
print("" if os.path.exists({folder!r} + "/over") else "not ", "ok 1 - it runs alone\\n1..1", sep="")
"""
BESIDE = """cd {folder}; chrt -p $$; group=/proc/$$/autogroup
for i in $(seq 100); do [ -e $group ] && ! grep -q 'nice 19' $group || break; sleep 0.1; done
cat $group; echo > seen
for i in $(seq 100); do chrt -p $$ | grep -q SCHED_OTHER && break; sleep 0.1; done
cat $group
chrt -p $$; sh -c 'chrt -p $$'; echo > over; exit 3"""


def beside(tap):
    """A command beside the files has the idle class of the scheduler until they have ended; then it has CPU time as
    others, or it would get none on a busy machine. It has ended before a file runs alone."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("test_first.py", "test_alone.py")]
        for path, text in zip(paths, (FIRST, ALONE)):
            with open(path, "w") as file:
                file.write(text.format(folder=folder))
        result = subprocess.run([sys.executable, os.path.join(HERE, "..", "run.py"), "--build", folder, "--live", *paths,
                                 "--no-rerun", "--beside", BESIDE.format(folder=folder)],
                                capture_output=True, text=True, timeout=600)
        tap.equal(result.stdout.splitlines()[-1:], ["2 passed, 0 failed"], "the files pass, whatever the command's status")
        tap.check(": status 3, waited " in result.stdout, "its status is shown", result.stdout)
        with open(os.path.join(folder, "tests", "beside.log")) as log:
            said = log.read()
        tap.equal(re.findall("SCHED_[A-Z]+", said), ["SCHED_IDLE", "SCHED_OTHER", "SCHED_OTHER"],
                  "it runs in the idle class, then as others")
        tap.equal(re.findall("nice [0-9]+", said), ["nice 19", "nice 0"] if os.path.exists("/proc/self/autogroup") else [],
                  "so does its session, where sessions share the CPUs")
        with open(os.path.join(folder, "tests", "timings.tsv")) as timings:
            cpu_s = {line.split("\t")[1]: float(line.split("\t")[4]) for line in timings}
        tap.check(0.3 <= cpu_s["test_first.py"] < 5, "the CPU time of a file has that of its children", cpu_s)
        tap.check(cpu_s["test_alone.py"] < 0.3, "and not that of another file", cpu_s)


def hung(tap):
    """A file that hangs is ended with all processes of its group."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hang")
        with open(path, "w") as file:
            file.write("#!/bin/sh\nsleep 60 &\necho begun\nexec >&-\nwait\n")
        os.chmod(path, 0o755)
        result = run.run_one(run.File(path, "unit"), os.environ, 3)
        tap.equal((result.output, result.status), ("begun\n\ntimed out after 3 s\n", -1), "the limit ends it, and is told")
        tap.check(3 <= result.seconds < 30, "it is not waited for", result.seconds)


def left_behind(tap):
    """Processes that a file leaves behind are ended, and said: their output would never end."""
    run.LEFT_S, patience = 1, run.LEFT_S
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "leaves")
        with open(path, "w") as file:
            file.write("#!/bin/sh\nsleep 600 &\necho begun\n")
        os.chmod(path, 0o755)
        result = run.run_one(run.File(path, "unit"), os.environ, 300)
    run.LEFT_S = patience
    tap.equal((result.output, result.status), ("begun\n\nleft processes behind, which had to be ended\n", -1),
              "processes that are left behind are ended")


def soaked(tap):
    """A soak shows what failed, keeps it, and is no failure."""
    with tempfile.TemporaryDirectory() as folder:
        result = ran(folder, [BAD, OK], "", "--minutes", "0.0001")
        tap.equal((result.returncode, result.stdout.splitlines()[-1]), (1, "0 passed, 1 failed"),
                  "a soak in which nothing passed is broken")
        result = ran(folder, [BAD, OK], "", "--minutes", "0.0001")
        tap.equal((result.returncode, result.stdout.splitlines()[-1]), (0, "1 passed, 0 failed"), "a soak passes")


ROWS = "# name\tkind\tbad\tlooks\tsince\tledger\na.b\tcut\t1\t90\t2026-11-01\t0001-a\na.c\tcut\t0\t5\t2026-11-02\t-\n"


def rates(tap):
    """A soak adds the rates that its files say to those that are known."""
    output = OK + "\n# rate: a.b cut 2 10\n# rate: x.y wrong 0 10"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rates.tsv")
        for words, added in (((), False), (("--minutes", "0.0001"), True)):
            with open(path, "w") as file:
                file.write(ROWS)
            result = ran(folder, [output], "", "--rates", path, *words)
            with open(path) as file:
                got = file.read()
            today = time.strftime("%F", time.gmtime())
            wanted = ROWS.replace("\t1\t90\t", "\t3\t100\t") + f"x.y\twrong\t0\t10\t{today}\t-\n" if added else ROWS
            tap.equal((result.returncode, got), (0, wanted), f"measured rates are {'added' if added else 'not added'}")
        run.add_rates(path, [("x.y", "wrong", 1, 5), ("x.y", "wrong", 0, 5)])
        tap.equal(judge.read_rates(path)["x.y", "wrong"], (1, 20), "several of one name are added up")
    told = subprocess.run(["make", "-n", "--no-print-directory", "soak-run", "SOAK_LOOKS=7"], capture_output=True, text=True).stdout
    tap.check("SNAPWALK_LOOKS_FACTOR=7" in told and "--rates tests/rates.tsv" in told,
              "make soak makes more looks, and adds its rates", told)


def seeds(tap):
    """Random numbers are the same in each run of the gate, and others with another seed."""
    head = "from harness import seeded"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "test_seed.py")
        with open(path, "w") as file:
            file.write(f"# tier: gate 5s\n{head}\nopen({folder!r} + '/said', 'a').write(str(seeded(5).random()) + ' ')\n"
                       f"print('{OK}')\n")
        for words in ((), (), ("--seed", "17"), ("--seed", "17"), ("--seed", "18"), ("--minutes", "0.0001")):
            subprocess.run([sys.executable, os.path.join(HERE, "..", "run.py"), "--build", folder, "--live", path, *words],
                           capture_output=True, text=True, timeout=600)
        with open(os.path.join(folder, "said")) as file:
            got = file.read().split()
    tap.equal(got[:2], [str(random.Random(5).random())] * 2, "without a seed: the number's own, each time")
    tap.check(got[2] == got[3] and len(set(got)) == 4, "--seed decides, and a soak draws one", got)
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        if os.path.basename(path) in ("harness.py", "test_run.py"):
            continue
        with open(path) as file:
            tap.check(not re.search(r"^(import|from) random\b", file.read(), re.M),
                      f"{os.path.basename(path)} has its random numbers from seeded()")


MAKEFILE = "all: a b c\na b c:\n\t@: -o $@ ; echo > $@\nbad: a\n\t@: -o $@ ; exit 3\n"


def progress(tap):
    """A build says how many files it has to make and how many are there."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "Makefile"), "w") as file:
            file.write(MAKEFILE)

        def built(*targets):
            result = subprocess.run([os.path.join(HERE, "..", "progress.sh"), "it", "make", "-s", "-C", folder, *targets],
                                    capture_output=True, text=True, cwd=folder, timeout=600)
            return result.returncode, result.stdout
        tap.equal(built("bad"), (2, "building it: 0 of 2 files\n"), "a build that fails: make's status")
        tap.equal(built("all"), (0, "building it: 0 of 2 files\nbuilding it: 2 of 2 files\n"), "the files to build are counted")
        tap.equal(built("all"), (0, ""), "nothing is to be built: not a word")


def budget(tap):
    file = run.File(os.path.join(HERE, "test_run.py"), "live")
    tap.equal((file.tier, file.budget_s, file.serial, file.strict), ("tools", 5, False, False), "the head of this file")
    tap.equal(run.over_budget(file, 9, 0), None, "less than twice the budget")
    tap.check(run.over_budget(file, 11, 0), "more than twice the budget")
    tap.equal((run.hangs_after(file, 1800, 0), run.hangs_after(file, 200, 0), run.hangs_after(file, 1800, 2 * os.cpu_count())),
              (300, 200, 600), "a file of the gate that hangs is ended")
    file.budget_s = 60
    tap.equal(run.hangs_after(file, 1800, 0), 600, "a longer one that hangs")
    file.budget_s = 5
    tap.equal(run.over_budget(file, 11, 4 * os.cpu_count()), None, "a machine that has four times as much to do")
    with mock.patch.dict(os.environ, SNAPWALK_LOOKS_FACTOR="3"):
        tap.equal(run.over_budget(file, 11, 0), None, "more looks than the budget is for")
        tap.equal(run.hangs_after(file, 1800, 0), 1800, "more looks have all the time")
    both = run.File(os.path.join(HERE, "test_signals.py"), "live")
    tap.equal([[one.is_of([tier]) for tier in ("gate", "soak", "runtime", "tools")] for one in (file, both)],
              [[False, False, False, True], [True, True, False, False]], "a file of the gate that is in the soak, too")
    for path in sorted(glob.glob(os.path.join(HERE, "*.py"))):
        if os.path.basename(path).startswith(("test_", "runtime_")):
            tap.check(run.File(path, "live").tier, f"{os.path.basename(path)} says its tier")


def ledgers(tap):
    """Entries are read, and find what they are about."""
    tap.check(isinstance(ledger.read(), list), "the ledger can be read")
    rare = ledger.Rare("runtime_x.py", "17 G1: 400 stacks are complete", "cut in stub 3")
    text = 'match: file ~ "^runtime_x" and check ~ "stacks are" and why ~ "stub \\d"\n' + \
        "Seen: a\nRate: b\nCause: c\nState: d\n"
    entry = ledger.parse("0001-a.md", text)
    tap.check(entry.matches(rare), "a pattern finds its failure")
    tap.check(not entry.matches(ledger.Rare("runtime_x.py", rare.check, "cut")), "and no other")
    for name, wrong in (("no match", "Seen: a\n"), ("not a condition", 'match: color ~ "x"\n'),
                        ("a bad expression", 'match: file ~ "("\n'), ("without a state", text.replace("State", "S"))):
        try:
            ledger.parse("0001-a.md", wrong)
            tap.check(False, f"{name}: refused")
        except ValueError as error:
            tap.check(str(error).startswith("0001-a.md: "), f"{name}: refused")
    with tempfile.TemporaryDirectory() as folder:
        path = ledger.draft(ledger.Rare("test_a.py", 'it "is" (3 of 5)', "why"), folder)
        os.rename(path, os.path.join(folder, "0001-a.md"))
        entries = ledger.read(folder)
        tap.check(ledger.known(entries, ledger.Rare("test_a.py", 'it "is" (4 of 17)', "other")),
                  "a draft finds the failure again, with other numbers")
        tap.equal(ledger.known(entries, ledger.Rare("test_b.py", 'it "is" (4 of 17)', "other")), None,
                  "and not in another file")


def shown(tap):
    totals = run.Totals()
    for name, needs in (("a", "x"), ("b", "y"), ("c", "x")):
        totals.skip("p", name, f"none; needs {needs}")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        run.show_skips(totals)
    tap.equal(text.getvalue(), "skipped, 2 need x:\n    p: a: none\n    p: c: none\n"
                               "skipped, 1 needs y:\n    p: b: none\n", "skips are grouped")


tap = Tap()
tap.guard(counted)
tap.guard(shown)
tap.guard(again)
tap.guard(beside)
tap.guard(hung)
tap.guard(left_behind)
tap.guard(soaked)
tap.guard(rates)
tap.guard(progress)
tap.guard(seeds)
tap.guard(budget)
tap.guard(ledgers)
tap.done()
