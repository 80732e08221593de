#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs test programs that speak TAP and counts their cases; closes with 'N passed, N failed'.

Files run in parallel, but for those that say "# serial". A live file says its tier in its first lines:

    # tier: gate 20s     deterministic; decides whether a change lands. 20 s: its budget on a quiet machine
    # tier: soak 60s     random instants, storms, load
    # tier: runtime 60s  looks at a runtime or service that must be installed
    # tier: tools 15s    deterministic; tests what checks the sources and makes releases
    # serial             measures time, or changes what all others see
    # soak too           a file of the gate that makes more looks in the soak
    # strict             no failure of this file is excused by a second run

A program that dies, hangs, prints no result or fewer results than its plan counts as failed; so does one that takes
more than twice its budget (more, by the load of the machine). Exit status 77 without a result is a skip of the whole
program. A skip says "REASON; needs WHAT": in its result, in a line "# skip: " before it (cmocka's results have no
space for it) or as the last line before status 77. One that does not is a failure.

A live file that fails runs again, alone, with the same seed, up to three times. If it passes then, its failure is
*rare*: it is matched with tests/ledger/, its output is kept below BUILD/evidence, and the run goes on to pass. Never
excused is what hurts a target or is certain to be wrong: NEVER_EXCUSED, and all that a file says that is "strict".
A test may tell of something rare itself, in a line "# rare: WHAT" (live/judge.py). A line "# rate: NAME KIND BAD LOOKS"
says how many of its random looks were bad; --rates FILE adds them to the rows of that file (tests/rates.tsv).

--beside COMMAND runs a command of the shell with the CPU time that the files leave: compiling costs them nothing then.
Files that run alone wait until it has ended.
"""
import argparse
import concurrent.futures
import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import ledger

RESULT = re.compile(r"^(not )?ok\b[ \d]*-?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)")
SKIP = re.compile(r"^(.*?)\s*# SKIP\s*(.*)$", re.I)
RATE = re.compile(r"^# rate: (\S+) (\S+) (\d+) (\d+)$")
NEEDS = re.compile(r"^(.*); needs (.+)$")
TIER = re.compile(r"^# tier: (gate|soak|runtime|tools) (\d+)s$", re.M)
HEADER_LINES = 10
FAILURES_MAX = 60
END_LINES = 20
FIXED_SEED = 0  # of a run that decides whether a change lands: random numbers are the same each time
RERUNS = 3
BUDGET_MIN_S = 5
HANG_MIN_S = 300
NEVER_EXCUSED = re.compile(
    r"AddressSanitizer|LeakSanitizer|runtime error: |definitely lost|left stopped|still traced|"
    r"signal (was |is )?lost|lost a signal|EINTR|returned -?EINTR|privilege|not valid JSON|JSONDecodeError|"
    r"status -(4|6|7|8|11)\b|returncode=-(4|6|7|8|11)\b|Segmentation fault|shown again from its snapshot")


class File:
    """A program to run, with what its first lines say."""

    def __init__(self, path, kind):
        self.path, self.kind = path, kind
        self.tier, self.budget_s, self.serial, self.strict, self.soak_too = "gate", None, False, False, False
        if kind != "live":
            return
        with open(path, errors="replace") as source:
            head = "".join(line for _, line in zip(range(HEADER_LINES), source))
        found = TIER.search(head)
        if found is None:
            raise SystemExit(f"{path}: its first lines do not say '# tier: gate|soak|runtime|tools SECONDSs'")
        self.tier, self.budget_s = found.group(1), int(found.group(2))
        lines = head.splitlines()
        self.serial, self.strict, self.soak_too = (f"# {word}" in lines for word in ("serial", "strict", "soak too"))

    def is_of(self, tiers):
        """Whether a run of these tiers has it."""
        return self.tier in tiers or (self.soak_too and "soak" in tiers)

    @property
    def name(self):
        """The name of a unit test has its folder: several have a test_space."""
        _, below, name = self.path.partition("/tests/unit/")
        return name if below else os.path.basename(self.path)

    def command(self):
        if self.path.endswith(".py"):
            return [sys.executable, self.path]
        if self.kind == "fuzz":
            return [self.path, os.path.join("tests", "fuzz", "corpus", os.path.basename(self.path)),
                    *os.environ.get("SNAPWALK_MUTATIONS", "").split()]
        return [self.path]


class Ran:
    """A run of a file. cpu_s is the CPU time of its processes that somebody has waited for."""

    def __init__(self, output, status, seconds, cpu_s):
        self.output, self.status, self.seconds, self.cpu_s = output, status, seconds, cpu_s


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.skips = {}  # what would enable them: the lines to show
        self.rare = []
        self.rates = []  # (name, kind, bad, looks)

    def skip(self, name, test, why):
        """why: "REASON; needs WHAT"."""
        found = NEEDS.match(why)
        if found is None:
            self.failures.append(f"{name}: {test}: skipped without saying what it needs: {why}")
            return False
        self.skips.setdefault(found.group(2), []).append(
            f"{name}: {test}: {found.group(1)}" if test else f"{name}: {found.group(1)}")
        return True

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.rare += other.rare
        self.rates += other.rates
        for needs, lines in other.skips.items():
            self.skips.setdefault(needs, []).extend(lines)


LEFT_S = 10  # to end, for what a program has started and not ended


def run_one(file, environment, limit):
    """The whole process group of a program that hangs is ended, and what a program leaves behind that has its output."""
    begin = time.monotonic()
    child = subprocess.Popen(file.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=environment, start_new_session=True)
    hung, left, read = threading.Event(), threading.Event(), threading.Event()

    def end_group():
        hung.set()
        os.killpg(child.pid, signal.SIGKILL)

    def end_left():
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        if not read.wait(LEFT_S):
            left.set()
            os.killpg(child.pid, signal.SIGKILL)

    timer = threading.Timer(limit, end_group)
    leftover = threading.Thread(target=end_left, daemon=True)
    timer.daemon = True
    timer.start()
    leftover.start()
    out = child.stdout.read()
    read.set()
    child.stdout.close()
    # The process stays a zombie, and its number its own, until the timer can no longer kill it.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    timer.cancel()
    timer.join()
    leftover.join()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    end, status = (f"\ntimed out after {limit} s\n", -1) if hung.is_set() else \
        ("\nleft processes behind, which had to be ended\n", -1) if left.is_set() else ("", child.returncode)
    return Ran(out.decode("utf-8", "replace") + end, status, time.monotonic() - begin, usage.ru_utime + usage.ru_stime)


def descendants(pid):
    """The process itself, its children, and theirs: those that are there now."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children") as children:
                    found += [int(child) for child in children.read().split()]
    return found


def autogroup_nice(session, nice):
    """Where the kernel shares CPUs out by sessions (sched(7), "The autogroup feature"), a policy counts within one of them
    alone: what all of it gets goes by this value."""
    with contextlib.suppress(OSError), open(f"/proc/{session}/autogroup", "w") as file:
        file.write(str(nice))


class Beside:
    """A command with its output in a file, which runs only while nobody else wants its CPU (SCHED_IDLE), until wait()."""

    def __init__(self, command, log):
        self.command, self.log = command, log
        with open(log, "w") as output:
            self.child = subprocess.Popen(["chrt", "--idle", "0", "sh", "-c", command], stdin=subprocess.DEVNULL,
                                          stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        autogroup_nice(self.child.pid, 19)

    def is_running(self):
        return self.child.poll() is None

    def end(self):
        """Ends it with its processes, if it has not ended: a session of its own is not told of Control-C."""
        if self.is_running():
            os.killpg(self.child.pid, signal.SIGTERM)
            self.child.wait()

    def wait(self):
        """Has CPU time as others from now on: on a machine that has other work it would get none. Ignores the exit
        status: what the command failed to make fails in the test that needs it."""
        begin = time.monotonic()
        autogroup_nice(self.child.pid, 0)
        while True:
            for pid in descendants(self.child.pid):
                with contextlib.suppress(OSError):
                    if os.sched_getscheduler(pid) == os.SCHED_IDLE:
                        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
            try:
                self.child.wait(timeout=1)
                break
            except subprocess.TimeoutExpired:
                pass
        print(f"beside the tests: {self.command}: status {self.child.returncode}, waited "
              f"{time.monotonic() - begin:.1f} s for its end (output: {self.log})", flush=True)


def count(name, output, status):
    """The totals of one program."""
    totals = Totals()
    planned, why = None, ""
    for line in output.splitlines():
        plan = PLAN.match(line)
        if plan:
            planned = int(plan.group(1))
        if line.startswith("# skip: "):
            why = line.removeprefix("# skip: ")
        if line.startswith("# rare: "):
            what, _, evidence = line.removeprefix("# rare: ").partition("; evidence ")
            totals.rare.append(ledger.Rare(name, "rare", what, evidence))
        rate = RATE.match(line)
        if rate:
            totals.rates.append((rate.group(1), rate.group(2), int(rate.group(3)), int(rate.group(4))))
        result = RESULT.match(line)
        if not result:
            continue
        skip = SKIP.match(result.group(2))
        if skip:
            # cmocka says "not ok N # SKIP name" of a test that calls skip().
            test, reason = (skip.group(2), why) if why else skip.groups()
            why = ""
            if totals.skip(name, test, reason):
                totals.skipped += 1
            else:
                totals.failed += 1
        elif result.group(1):
            totals.failed += 1
            totals.failures.append(f"{name}: {result.group(2)}")
        else:
            totals.passed += 1
    seen = totals.passed + totals.failed + totals.skipped
    if status == 77 and seen == 0:
        last = output.strip().splitlines()[-1] if output.strip() else ""
        totals.skipped = int(totals.skip(name, "", last))
        totals.failed = 1 - totals.skipped
    elif seen == 0 or (planned and seen < planned) or (status != 0 and totals.failed == 0):
        totals.failed += 1
        totals.failures.append(f"{name}: ended with status {status} after {seen} results"
                               f"{f' of {planned}' if planned else ''}")
    return totals


def slowed(load):
    """How many times longer something may take by the load of the machine."""
    return max(1.0, load / os.cpu_count())


def hangs_after(file, most, load):
    """After how many seconds a file is taken for one that hangs. A file of the gate or of tools that takes ten times its
    budget has failed anyhow; it must not hold up a landing for as long as the longest file of the soak may take."""
    if file.budget_s is None or file.tier not in ("gate", "tools") or os.environ.get("SNAPWALK_LOOKS_FACTOR", "1") != "1":
        return most
    return min(most, 10 * max(HANG_MIN_S // 10, file.budget_s) * slowed(load))


def over_budget(file, seconds, load):
    """Returns the complaint about a file of the gate or of tools that takes too long; None when it does not. With more
    looks it may."""
    if file.budget_s is None or file.tier not in ("gate", "tools") or os.environ.get("SNAPWALK_LOOKS_FACTOR", "1") != "1":
        return None
    most = 2 * max(BUDGET_MIN_S, file.budget_s) * slowed(load)
    if seconds <= most:
        return None
    return f"{file.name}: took {seconds:.0f} s, more than twice its budget of {file.budget_s} s (load {load:.1f})"


def details(output):
    """[(name of a failed check, what it said)]"""
    found, inside = [], False
    for line in output.splitlines():
        result = RESULT.match(line)
        if result:
            inside = bool(result.group(1)) and not SKIP.match(result.group(2))
            if inside:
                found.append((result.group(2), []))
        elif inside and line.startswith("#"):
            found[-1][1].append(line[1:].strip())
    return [(check, " ".join(said)[:2000]) for check, said in found]


def never_excused(file, output):
    """Why a failure counts though it may not come again; None when it may be rare."""
    if file.strict:
        return "no failure of this file is excused"
    found = NEVER_EXCUSED.search("\n".join(f"{check} {why}" for check, why in details(output)) or output)
    return f"never excused: {found.group(0)}" if found else None


def telling(lines):
    """Returns the telling lines of a failed program's output: what failed, with its details, first; then how it
    ended."""
    failures, inside = [], False
    for line in lines:
        inside = line.startswith("not ok") or (inside and line.startswith("#"))
        if inside:
            failures.append(line)
    return failures[:FAILURES_MAX] + ["---"] + lines[-END_LINES:]


class Runner:
    def __init__(self, args, files):
        self.args, self.files = args, files
        self.seed = args.seed if args.seed is not None else FIXED_SEED
        self.evidence = os.path.join(os.path.abspath(args.build), "evidence")
        self.environment = dict(
            os.environ, SNAPWALK_BUILD=os.path.abspath(args.build), CMOCKA_MESSAGE_OUTPUT="TAP",
            PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=os.path.abspath("tests/live"), SNAPWALK_SEED=str(self.seed),
            SNAPWALK_EVIDENCE=self.evidence)
        self.totals = Totals()
        self.again = []  # (file, its first run, folder of its output)
        self.done = 0
        self.lock = threading.Lock()
        self.beside = None
        self.timings = os.path.join(args.build, "tests", "timings.tsv")
        os.makedirs(os.path.dirname(self.timings), exist_ok=True)

    def say(self, word, file, ran):
        self.done += 1
        print(f"{word:4s} {file.name:52s} {ran.seconds:6.1f} s  ({self.done} of {len(self.files)})", flush=True)

    def keep(self, file, ran, number):
        """The output of a run that failed; the folder."""
        folder = os.path.join(self.evidence, f"{file.name.replace('/', '-')}-{self.seed}-{number}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "output"), "w") as output:
            output.write(ran.output)
        with open(os.path.join(folder, "about"), "w") as about:
            about.write(f"file {file.path}\nseed {self.seed}\nstatus {ran.status}\nseconds {ran.seconds:.1f}\n"
                        f"load {' '.join(map(str, os.getloadavg()))}\n")
        return folder

    def fail(self, ran, counted):
        lines = telling(ran.output.splitlines())
        print("".join(f"    | {line}\n" for line in lines), flush=True)
        self.totals.add(counted)

    def load(self):
        """The load of the machine. A command beside the files takes nothing from them."""
        load = os.getloadavg()[0]
        return max(0.0, load - os.cpu_count()) if self.beside and self.beside.is_running() else load

    def run_and_count(self, file):
        """Returns one run and its totals, in which too long a time is a failure."""
        load = self.load()
        ran = run_one(file, self.environment, hangs_after(file, self.args.limit, load))
        counted = count(file.name, ran.output, ran.status)
        late = over_budget(file, ran.seconds, max(load, self.load()))
        if late is not None:
            counted.failed += 1
            counted.failures.append(late)
        return ran, counted

    def run(self, file):
        load = self.load()
        ran, counted = self.run_and_count(file)
        with self.lock:
            with open(self.timings, "a") as timings:
                timings.write(f"{time.strftime('%FT%TZ', time.gmtime())}\t{file.name}\t{ran.seconds:.2f}\t{load:.2f}\t"
                              f"{ran.cpu_s:.2f}\n")
            if counted.failed == 0:
                self.say("ok", file, ran)
                self.totals.add(counted)
                return
            why = never_excused(file, ran.output) if file.kind == "live" else "only live files run again"
            self.say("FAIL" if why else "fail", file, ran)
            evidence = self.keep(file, ran, 0)
            if why or self.args.no_rerun:
                if why and file.kind == "live":
                    counted.failures.append(f"{file.name}: {why}")
                self.fail(ran, counted)
            else:
                self.again.append((file, ran, evidence))

    def run_again(self, file, first, evidence):
        """Whether the failure of a file comes again in a new process."""
        for number in range(1, RERUNS + 1):
            last, counted = self.run_and_count(file)
            if counted.failed == 0:
                print(f"rare {file.name:52s} {last.seconds:6.1f} s  (passed in run {number + 1})", flush=True)
                self.totals.add(counted)
                for check, why in details(first.output) or [("ended", f"status {first.status}, {first.seconds:.0f} s")]:
                    self.totals.rare.append(ledger.Rare(file.name, check, why, evidence))
                return
            self.keep(file, last, number)
            if never_excused(file, last.output):
                break
        print(f"FAIL {file.name:52s} {last.seconds:6.1f} s  (again)", flush=True)
        self.fail(last, counted)

    def run_all(self):
        if self.args.beside:
            self.beside = Beside(self.args.beside, os.path.join(self.args.build, "tests", "beside.log"))
        try:
            self.run_files()
        finally:
            if self.beside:
                self.beside.end()
        for again in self.again:
            self.run_again(*again)

    def run_files(self):
        # The longest first, so that none is left alone in the end.
        together = sorted((f for f in self.files if not f.serial), key=lambda f: -(f.budget_s or 0))
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            for future in [pool.submit(self.run, file) for file in together]:
                future.result()
        if self.beside:
            self.beside.wait()
        for file in self.files:
            if file.serial:
                self.run(file)


def default_jobs():
    """How many files run at a time: twice as many as there are CPUs, since most files of the gate wait for most of their
    time (test_hangs.py: 49 s, of which 7 on a CPU)."""
    return os.cpu_count() * 2


def show_skips(totals):
    """All that was skipped, by what it needs."""
    for needs, lines in sorted(totals.skips.items()):
        print(f"skipped, {len(lines)} need{'s' if len(lines) == 1 else ''} {needs}:")
        for line in lines:
            print(f"    {line}")


def show_rare(totals, entries, drafts):
    """Print the failures that passed in the end, and whether the ledger knows them."""
    n_new = 0
    for rare in totals.rare:
        entry = ledger.known(entries, rare)
        n_new += entry is None
        where = f"ledger {entry.name}" if entry else f"new, {ledger.draft(rare, drafts)}"
        print(f"rare: {rare.file}: {rare.check}: {rare.why[:200]} ({where}; evidence {rare.evidence or 'none'})")
    print(f"{len(totals.rare)} rare ({len(totals.rare) - n_new} known, {n_new} new)")


def add_rates(path, found):
    """Adds counts to the rows of a file; a name and kind that has none gets one."""
    more = {}
    for name, kind, bad, looks in found:
        before = more.get((name, kind), (0, 0))
        more[name, kind] = before[0] + bad, before[1] + looks
    with open(path) as file:
        lines = file.read().splitlines()
    for i, line in enumerate(lines):
        if line.startswith("#") or not line:
            continue
        name, kind, bad, looks, *rest = line.split("\t")
        if (name, kind) in more:
            add_bad, add_looks = more.pop((name, kind))
            lines[i] = "\t".join((name, kind, str(int(bad) + add_bad), str(int(looks) + add_looks), *rest))
    today = time.strftime("%F", time.gmtime())
    lines += ["\t".join((*key, str(bad), str(looks), today, "-")) for key, (bad, looks) in sorted(more.items())]
    with open(path, "w") as file:
        file.write("".join(f"{line}\n" for line in lines))


def soak(args, files):
    """Runs files in turn, in an order of its own each time, until the time is over. Status 0, whatever was found: it is
    shown and kept. Only a harness that breaks is a failure."""
    end = time.monotonic() + 60 * args.minutes
    all_totals, turn = Totals(), 0
    while turn == 0 or time.monotonic() < end:
        turn += 1
        args.seed = random.SystemRandom().randrange(1 << 31)
        runner = Runner(args, files)
        order = random.Random(runner.seed).sample(files, len(files))
        print(f"turn {turn}, seed {runner.seed}, {max(0, end - time.monotonic()) / 60:.0f} minutes are left", flush=True)
        for file in order:
            known = len(runner.totals.rates)
            runner.run(file)
            if args.rates and len(runner.totals.rates) > known:
                add_rates(args.rates, runner.totals.rates[known:])
            if time.monotonic() >= end:
                break
        all_totals.add(runner.totals)
    return all_totals


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--unit", nargs="*", default=[])
    parser.add_argument("--fuzz", nargs="*", default=[])
    parser.add_argument("--live", nargs="*", default=[])
    parser.add_argument("--tier", action="append", help="of live files, only those of this tier")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one program")
    parser.add_argument("--jobs", type=int, default=default_jobs(), help="programs at a time")
    parser.add_argument("--seed", type=int, help="of what is random; without it a soak draws one for each turn")
    parser.add_argument("--rates", help="a soak: the file to which it adds the rates that it has measured")
    parser.add_argument("--no-skip", action="store_true", help="a skip is a failure")
    parser.add_argument("--no-rerun", action="store_true", help="what fails once has failed")
    parser.add_argument("--beside", help="a command that runs in the CPU time which the files leave")
    parser.add_argument("--minutes", type=float, help="a soak: run the files until the time is over")
    args = parser.parse_args()

    files = [File(path, "unit") for path in args.unit] + [File(path, "fuzz") for path in args.fuzz] + \
            [File(path, "live") for path in args.live]
    if args.tier:
        files = [file for file in files if file.kind != "live" or file.is_of(args.tier)]
    entries = ledger.read()
    if args.minutes:
        args.no_rerun = True
        totals = soak(args, files)
    else:
        runner = Runner(args, files)
        print(f"{len(files)} files, {args.jobs} at a time, seed {runner.seed}", flush=True)
        runner.run_all()
        totals = runner.totals
    show_skips(totals)
    if args.no_skip and totals.skipped:
        totals.failed += totals.skipped
        totals.failures += [f"{line} (may not be skipped here)"
                            for lines in totals.skips.values() for line in lines]
        totals.skipped = 0
    for failure in totals.failures:
        print(f"failed: {failure}")
    if totals.failures:
        print(f"output of what failed: {os.path.join(os.path.abspath(args.build), 'evidence')}")
    show_rare(totals, entries, os.path.join(args.build, "ledger"))
    skipped = f", {totals.skipped} skipped" if totals.skipped else ""
    print(f"{totals.passed} passed, {totals.failed} failed{skipped}")
    if args.minutes:
        return 0 if totals.passed else 1
    return 1 if totals.failed or totals.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
