#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
"""Samples over a while: each thread counts in each sample, the shares of waits are those that the target measured
itself, nobody is stopped who need not be, threads and programs come and go. What only holds on a machine that does
nothing else is in test_sample_alone.py.

SNAPWALK_SECONDS=30 makes the runs that long; words are the functions to run.
"""
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time

from daemon import name_of
from harness import (SNAPWALK, TARGETS, Shares, Tap, Target, iterator_refused, snapwalk, state_of, stolen_s, summary_of,
                     wait_blocked, wait_until)

SECONDS = int(os.environ.get("SNAPWALK_SECONDS", "2"))
ASKED_MS = (24, 8)  # the waits of tests/targets/shares.c
PYTHON = "print('ready', flush=True)\nwhile True: pass"


def counts(text):
    """{folded stack: count}"""
    return {stack: int(n) for stack, _, n in (line.rpartition(" ") for line in text.splitlines())}


def count_of(result, function):
    return sum(n for stack, n in counts(result.stdout).items() if f";{function}" in stack)


def taken(result):
    """(samples that were taken, that were wanted)"""
    got, wanted = map(int, re.search(r"^(\d+) of (\d+) samples", result.stderr, re.M).groups())
    return got - failed(result), wanted


def sampled(target, *args, seconds=SECONDS, rate=50):
    result = snapwalk("sample", *(target if isinstance(target, list) else [target.pid]), "--rate", rate,
                      "--duration", seconds, *args)
    result.stderr = summary_of(result.stderr)
    return result


def measured(target):
    """Returns the times that the target measured."""
    target.process.stdin.close()
    return {name: int(n) for name, n in (line.split() for line in target.process.stdout)
            if name in ("wait_long", "wait_short", "work_three", "work_one")}


def share(a, b):
    return 100 * a / (a + b) if a + b else 0


def share_error(n):
    """How far a share of n samples may be from the truth: four standard deviations of a half. A loaded machine
    takes fewer samples."""
    return max(12, 200 / max(n, 1) ** 0.5)


def every_thread_counts(tap):
    """Threads that never run are counted in every sample, and the one that does where it was."""
    refused = iterator_refused()
    with Shares(100) as target:
        result = sampled(target)
        n = taken(result)[0]
        tap.equal(count_of(result, "blocked"), 100 * n, "blocked threads count in each sample")
        found = count_of(result, "wait_long"), count_of(result, "wait_short")
        # A new stack counts at once, also where its state is owed no sample yet.
        tap.check(n - n // 20 <= sum(found) <= n + 8, "so does the one that comes and goes", result)
        if refused:
            tap.skip("nothing is stopped", refused, "Linux 6.1, root")
        else:
            tap.check("nothing was stopped" in result.stderr or
                      re.search(r"; 0\.0\d threads stopped", result.stderr), "nothing is stopped", result.stderr)
        truth = measured(target)
        tap.check(abs(share(*found) - share(truth["wait_long"], truth["wait_short"])) < share_error(n),
                  "its shares are those that it measured", (found, truth))


def off_ns(profile, function):
    """Returns the time of all samples whose stack has the function."""
    has = []
    for parent, frame in profile["nodes"]:
        has.append(profile["frames"][frame]["function"] == function or (parent is not None and has[parent]))
    return sum(s["ns"] for s in profile["samples"] if has[s["node"]])


def off_cpu(tap):
    """Blocked time is measured by counters, not by samples: nearly none of them suffice for the sums."""
    refused = iterator_refused()
    for rate in (3, 200):
        with Shares(20, 2) as target:
            stolen = stolen_s()
            result = sampled(target, "--mode", "off", "--format", "json", rate=rate)
            stolen = stolen_s() - stolen
            profile = json.loads(result.stdout)
            got, wanted = taken(result)
            truth = measured(target)
            ns = {name: off_ns(profile, name) for name in ("block", "wait_long", "wait_short")}
            seconds = profile["duration_ns"] / 1e9
            tap.equal(profile["mode"], "off", f"{rate} Hz: the profile says what it is")
            # From the first sample to the last one: those at the end may be lost.
            tap.check(abs(ns["block"] / 1e9 / 20 - seconds) < 1.2 / rate + 0.15 + (wanted - got) / rate,
                      f"{rate} Hz: threads that never run are blocked all the time", (ns, result.stderr))
            if refused:
                tap.skip("blocked time by counters", refused, "Linux 6.1, root")
                continue
            tap.check("nothing was stopped" in result.stderr, f"{rate} Hz: nobody is stopped", result.stderr)
            unseen = re.search(r"and ([\d.]+) s between samples", result.stderr)
            placed = (ns["wait_long"] + ns["wait_short"]) / 1e9
            found = placed + (float(unseen.group(1)) if unseen else 0)
            # The target's own measurement has the time in which it waits for a CPU, and what is before and after. It
            # waits nearly all the time, and the clocks differ by a tick. Between samples others wait, too, as far as
            # the kernel can say: for a CPU of a virtual machine that does not run, also those that work.
            tap.check(0.3 * seconds < found < 1.2 * seconds + stolen and placed < 1.02 * seconds + 0.02,
                      f"{rate} Hz: the time in short waits is found", (ns, truth, stolen, result.stderr))
            if rate > 100:
                # Where samples are missing, long waits are seen more often than short ones: what is between samples may
                # be of either. Each wait for a CPU that it measured, too, is as long after a short one as after a long
                # one, and brings the share nearer to a half: without them it is that of the times it asked for.
                between = float(unseen.group(1)) * 1e9 if unseen else 0
                least = share(ns["wait_long"], ns["wait_short"] + between)
                most = share(ns["wait_long"] + between, ns["wait_short"])
                wanted_least, wanted_most = share(truth["wait_long"], truth["wait_short"]), share(*ASKED_MS)
                tap.check(wanted_least - share_error(got) < most and least < wanted_most + share_error(got),
                          "its shares are those that it measured", (ns, between, truth))
            tap.check(not off_ns(profile, "work_three"), f"{rate} Hz: work is not waiting", profile["samples"])
    with Shares(1) as target:
        folded = counts(sampled(target, "--mode", "off", seconds=1).stdout)
        tap.check(all(500_000 < n < 1_100_000 for stack, n in folded.items() if ";block" in stack) and folded,
                  "folded stacks are in microseconds", folded)


def cpu_time_refused(tap):
    """Whether samples of CPU time cannot be had here."""
    with Shares(1, 1) as target:
        result = sampled(target, "--mode", "cpu", seconds=0.1)
    if "perf events" not in result.stderr:
        return False
    tap.skip("samples of CPU time", result.stderr.splitlines()[0], "perf_event_paranoid below 3, no filter")
    return True


def cpu_time_of_what_comes(tap):
    """Threads and programs that begin meanwhile, programs that do nothing, and code that is not native."""
    if cpu_time_refused(tap):
        return
    with Shares(1) as target:
        run = background(target, "--mode", "cpu", "--rate", "999", n=0)  # nobody works yet
        target.send("work")
        target.readline()
        result = finished(run)
        tap.check(result.returncode in (0, 3) and count_of(result, "work_later") > 0, "cpu: a new thread is seen", result)
    with Shares(1, 1, os.path.join(TARGETS, "busy")) as target:
        run = background(target, "--mode", "cpu", "--rate", "999")
        target.send("exec")
        wait_until(lambda: name_of(target.pid) == "busy", "the other program")
        result = finished(run, 1000)  # of which a tenth is in each of its functions
        tap.check(result.returncode in (0, 3) and count_of(result, "work_three") > 0 and count_of(result, "sorting") > 0,
                  "cpu: the program before execve() is seen, and the one after it", result)
    with Target("states", "plain", 2) as target:
        wait_blocked(target.pid, (0, 34))
        result = sampled(target, "--mode", "cpu", "--format", "json", seconds=1)
        tap.check(result.returncode == 0 and json.loads(result.stdout)["mode"] == "cpu" and
                  result.stderr.startswith("0 samples") and "--mode off" in result.stderr, "cpu: who does nothing has no samples", result)
    with Target("python3", "-c", PYTHON, path="/usr/bin/python3") as target:
        result = sampled(target, "--mode", "cpu", seconds=2)
        tap.check(result.returncode == 0 and "nothing was stopped" in result.stderr and count_of(result, "<module>") > 0,
                  "cpu: Python's functions are there", result)
    with Target("jit_stress") as target:
        result = sampled(target, "--mode", "cpu", "--max-load", 100, seconds=2)
        tap.check("nothing was stopped" in result.stderr and count_of(result, "worker_run") > 0,
                  "cpu: where there is code that the program makes, nothing was stopped either", result)


def without_stops_refused(tap, what):
    """Whether threads on a CPU cannot be sampled without a stop here."""
    refused = iterator_refused()
    if refused:
        tap.skip(what, refused, "Linux 6.1, root")
        return True
    with Shares(1, 1) as target:
        result = sampled(target, seconds=0.1)
    if "threads on a CPU were stopped: perf events" not in result.stderr:
        return False
    tap.skip(what, result.stderr.splitlines()[0], "perf_event_paranoid below 3, no filter")
    return True


def without_stops_of_others(tap):
    """Programs with one thread or without their first one."""
    if without_stops_refused(tap, "wall without a stop, of other programs"):
        return
    with Target("sh", "-c", "echo ready; while :; do :; done", path="/bin/sh") as target:
        result = sampled(target)
        tap.check(result.returncode in (0, 3) and "nothing was stopped" in result.stderr and
                  0 <= sum(counts(result.stdout).values()) + unread(result) - taken(result)[0] <= 8,
                  "no stops: one that is always on a CPU is seen", result)
    with Shares(3, 2) as target:
        target.send("leave")
        wait_until(lambda: state_of(target.pid) == "Z", "its first thread ends")
        result = sampled(target)
        tap.check(result.returncode in (0, 3) and "nothing was stopped" in result.stderr and
                  count_of(result, "work_three") > 0, "no stops: nor when the first thread has ended", result)


def without_events(tap):
    """Where the kernel refuses events, threads on a CPU are stopped, which is said."""
    if without_stops_refused(tap, "wall without events"):
        return
    with Shares(3, 2) as target:
        without = os.path.join(TARGETS, "without")

        def stopping():
            """Beside others nobody of it may be met on a CPU for a while."""
            run = subprocess.run([without, "perf_event_open=EPERM", "--", SNAPWALK, "sample", str(target.pid),
                                  "--duration", str(SECONDS), "--max-load", "100"], capture_output=True, text=True,
                                 timeout=100)
            return None if "nothing was stopped" in run.stderr else run
        result = wait_until(stopping, "a run in which a thread was on a CPU")
        tap.check("threads on a CPU were stopped: perf events are refused" in result.stderr and
                  count_of(result, "work_three") > 0, "no stops: without events as ever, which is said", result)


# A runtime of which the kernel copies nothing: an image of Windows code in a program of Python.
WITH_IMAGE = """
import mmap, sys
file = open(sys.argv[1], "rb")
image = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
def spin():
    while True:
        sum(range(1000))
print("ready", flush=True)
spin()
"""


def without_frames_of_runtime(tap):
    """Frames that only a stop has are left out, which is said once, with the option that has them."""
    if without_stops_refused(tap, "wall without frames of a runtime"):
        return
    with tempfile.NamedTemporaryFile() as image:
        image.write(b"MZ" + bytes(4094))
        image.flush()
        with Target("python", "-c", WITH_IMAGE, image.name, path="/usr/bin/python3") as target:
            for mode in ("wall", "cpu"):
                result = sampled(target, "--mode", mode, rate=99)
                found = counts(result.stdout)
                native = sum(n for stack, n in found.items() if "[cut: native_only]" in stack)
                # By the clock it is also met while it waits for a CPU, and read then.
                tap.check(native > 0 and (mode == "wall" or native == sum(found.values())),
                          f"{mode}: stacks of a thread on a CPU have native frames, and say so", result)
                tap.check("nothing was stopped" in result.stderr and
                          len(re.findall(r"native frames only: process \d+ has images of Windows code; --stop auto", result.stderr)) == 1,
                          f"{mode}: nothing was stopped, and it is said what that lacks", result.stderr)
            result = wait_until(lambda: next((r for r in [sampled(target, "--stop", "auto", "--max-load", 100)]
                                              if "nothing was stopped" not in r.stderr), None), "a run that met it on a CPU")
            tap.check(count_of(result, "spin") > 0 and "native frames only" not in result.stderr,
                      "--stop auto has the functions", result)


def without_stops_of_what_comes(tap):
    """Programs and code that come while a process is sampled."""
    if without_stops_refused(tap, "wall without a stop, of what comes"):
        return
    with Shares(3, 2, "/usr/bin/python3", "-c", PYTHON) as target:
        run = background(target, "--max-load", "100", "--rate", "100")
        target.send("exec")
        tap.equal(target.readline(), "ready", "no stops: the other program runs")
        result = finished(run, 200)
        tap.check("nothing was stopped" in result.stderr and count_of(result, "work_three") > 0 and
                  count_of(result, "<module>") > 0, "no stops: Python comes", result)
    with Shares(3, 2, os.path.join(TARGETS, "jit_stress")) as target:
        run = background(target, "--max-load", "100", "--rate", "100")
        target.send("exec")
        wait_until(lambda: name_of(target.pid) == "jit_stress", "the other program")
        result = finished(run, 200)
        tap.check("nothing was stopped" in result.stderr and count_of(result, "work_three") > 0 and
                  count_of(result, "worker_run") > 0, "no stops: code comes that the program makes", result)


def code_that_comes(tap):
    """Code that is made executable changes no size of the memory: the walks that end there have the maps read again, and the
    thread, too, which runs once in 20 samples."""
    if without_stops_refused(tap, "code that is made executable"):
        return
    with Target("late_code") as target:
        found = counts(sampled(target, "--format", "folded").stdout)
    cut = sum(n for stack, n in found.items() if "[cut: " in stack)
    tap.check(len([stack for stack in found if ";late" in stack and "[cut: " not in stack]) > 1 and cut < sum(found.values()) / 4,
              "code that is made executable: it is known soon after", found)


def unread(result):
    """A thread that ran while it was to be read, and was not stopped in time: more of them on a loaded machine."""
    found = re.search(r"^(\d+) stacks? of threads that ran could not be read", result.stderr, re.M)
    return int(found.group(1)) if found else 0


def failed(result):
    found = re.search(r"^(\d+) samples? failed", result.stderr, re.M)
    return int(found.group(1)) if found else 0


def load_limit(tap):
    """The limit slows the rate: a run with all threads stopped each time goes on to its end."""
    with Shares(200) as target:
        begin = time.monotonic()
        result = sampled(target, "--stop", "always", "--max-load", 1, seconds=2, rate=200)
        elapsed = time.monotonic() - begin
        got, wanted = taken(result)
        tap.check(elapsed >= 2 and wanted == 400 and got < 200, "load limit: fewer samples, the whole time",
                  (elapsed, result))
        tap.check(result.returncode == 3 and re.search(r"\d+ samples? (was|were) left out", result.stderr),
                  "load limit: said", result)


def until_told(tap):
    """--duration 0 goes on until a signal."""
    with Shares(5) as target, tempfile.TemporaryDirectory() as directory:
        place = os.path.join(directory, "folded")
        child = subprocess.Popen([SNAPWALK, "sample", str(target.pid), "--duration", "0", "--rate", "200",
                                  "-o", place], stderr=subprocess.PIPE, text=True)
        # The sampler sleeps in sigtimedwait() between samples: seen often enough, it has taken some.
        seen = 0
        def sleeps():
            nonlocal seen
            with open(f"/proc/{child.pid}/wchan") as wchan:
                seen += "sigtimedwait" in wchan.read() or "sleep" in wchan.read()
            time.sleep(0.02)
            return seen > 5
        try:
            wait_until(sleeps, "it to take samples")
        finally:
            child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
        with open(place) as file:
            tap.check(child.returncode in (0, 3) and "blocked" in file.read(), "until Control-C", err)


def threads_and_programs(tap):
    """A thread that comes during the run, then execve(): both programs are in the profile."""
    with Shares(3) as target:
        run = background(target)
        target.send("more")
        target.readline()
        result = finished(run)
        tap.check(count_of(result, "appeared") > 0 and count_of(result, "blocked") == 3 * taken(result)[0],
                  "a new thread is seen", result)
    with Shares(3, 0, os.path.join(TARGETS, "demo")) as target:
        run = background(target)
        target.send("exec")
        wait_until(lambda: "auditor" in [name_of(tid) for tid in os.listdir(f"/proc/{target.pid}/task")],
                   "the other program")
        result = finished(run)
        tap.check(result.returncode in (0, 3) and count_of(result, "blocked") > 0 and "auditor" in result.stdout,
                  "the program after execve() is seen, and the one before it", result)


def background(target, *args, n=30):
    """A run that has taken so many samples: (process, terminal)."""
    child, terminal = on_a_terminal(target.pid, "--duration", 0, *(args or ("--rate", 100)))
    wait_for_samples(terminal, n)
    return child, terminal


def finished(run, n=50):
    """How it ends, when it has taken so many more."""
    child, terminal = run
    try:
        wait_for_samples(terminal, n)
    except OSError as error:  # the other end is closed
        raise RuntimeError(f"it has ended: returncode={child.wait(60)}") from error
    child.send_signal(signal.SIGINT)
    said = []
    reader = threading.Thread(target=lambda: said.append(rest_of(terminal)), daemon=True)
    reader.start()
    out = child.communicate(timeout=60)[0]
    reader.join(60)
    # The last of the progress is wiped out, and a terminal ends lines in its own way.
    err = said[0].rpartition("\033[K")[2].replace("\r\n", "\n")
    return subprocess.CompletedProcess(child.args, child.returncode, out, err)


def several(tap):
    """All targets in one profile; one that ends is said."""
    with Shares(7) as one, Shares(11) as other:
        result = sampled([one.pid, other.pid], seconds=1)
        tap.check(result.returncode in (0, 3) and count_of(result, "blocked") == 18 * taken(result)[0]
                  and "of 2 processes" in result.stderr, "two processes, one profile", result)
        result = sampled([one.pid, other.pid], "--by-process", seconds=1)
        roots = {pid: sum(n for stack, n in counts(result.stdout).items()
                          if stack.startswith(f"shares;shares ({pid});") and ";blocked" in stack)
                 for pid in (one.pid, other.pid)}
        tap.equal(roots, {one.pid: 7 * taken(result)[0], other.pid: 11 * taken(result)[0]},
                  "--by-process: a root for each")
    with Shares(7) as one, Shares(11) as other:
        child, terminal = on_a_terminal(one.pid, other.pid, "--duration", "0")
        wait_for_samples(terminal, 1)
        one.process.kill()
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)  # each of its threads needs a CPU to end
        wait_for_samples(terminal, 20)
        child.send_signal(signal.SIGINT)
        said = rest_of(terminal)
        out = child.communicate(timeout=60)[0]
        tap.check(child.returncode == 3 and f"{one.pid}: it ended while it was sampled (exited)" in said
                  and "blocked" in out, "one ends: the other is sampled to the end", (child.returncode, said))


def on_a_terminal(*args):
    """A run that shows its progress; (process, where to read it)."""
    ours, its = os.openpty()
    child = subprocess.Popen([SNAPWALK, "sample", *map(str, args)], stdout=subprocess.PIPE, stderr=its, text=True)
    os.close(its)
    return child, ours


def wait_for_samples(terminal, n):
    """Wait until the progress says that so many samples were taken since this was asked. Older output does not
    count."""
    while select.select([terminal], [], [], 0)[0]:
        os.read(terminal, 4096)
    text, first, end = "", None, time.monotonic() + 60
    while time.monotonic() < end and select.select([terminal], [], [], 60)[0]:
        text += os.read(terminal, 4096).decode()
        shown = [int(m) for m in re.findall(r"\r(\d+) samples,", text)]
        if shown:
            first = shown[0] if first is None else first
            if shown[-1] >= first + n:
                return
    raise RuntimeError(f"no {n} samples: {text}")


def rest_of(terminal):
    text = b""
    try:
        while part := os.read(terminal, 4096):
            text += part
    except OSError:  # EIO: the other end is closed
        pass
    os.close(terminal)
    return text.decode()


def burst(tap):
    """Several captures, one answer: who never ran, who is busy, who comes and goes."""
    refused = iterator_refused()
    if refused:
        tap.skip("burst", refused, "Linux 6.1, root")
        return
    with Shares(20, 1) as target:
        result = snapwalk(target.pid, "--burst", "6,150")
        parts = {}
        for part in result.stdout.split("\n\n")[1:]:
            title, _, rest = part.partition("\n")
            parts[re.sub(r"^\d+ ", "", title).split(",")[0].split(" (")[0]] = (int(title.split()[0]), rest)
        still = parts.get("never ran", (0, ""))
        tap.check(result.returncode == 0 and re.match(rf"pid {target.pid}: 6 captures in ", result.stdout)
                  and still[0] >= 21 and re.search(r"^  20 threads  shares  \((\d+ ){6}\+14 more\)\n    block\n    blocked\n", still[1], re.M),
                  "burst: those that never ran, with their stack", result)
        ids = {int(tid) for _, rest in parts.values() for line in re.findall(r"^  \d+ threads?  .*\(([\d ]+)", rest, re.M)
               for tid in line.split()}
        tap.check(len(ids) >= 6 and ids <= {int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")},
                  "burst: the ids of its threads", result.stdout)
        moves = parts.get("ran in between", (0, ""))
        tap.check(moves[0] == 1 and re.search(r"\n    waiting\n    start_thread\n", "\n" + moves[1]),
                  "burst: the one that comes and goes, with what its stacks have in common", result)
        busy = parts.get("busy in each capture", (0, ""))
        tap.check(busy[0] == 1 and re.search(r"\n    working\n", "\n" + busy[1]), "burst: the one that is busy",
                  result)
    for words, why in ((("--burst", "5"), "N,MS"), (("--burst", "5,100", "--json"), "text only"),
                       (("--burst", "1,100"), "2")):
        result = snapwalk(os.getppid(), *words)
        tap.check(result.returncode == 2 and why in result.stderr, f"burst: {words} is refused", result)


if __name__ == "__main__":
    Tap.main([burst, every_thread_counts, off_cpu, cpu_time_of_what_comes, without_stops_of_others, without_events, without_frames_of_runtime,
              without_stops_of_what_comes, code_that_comes, load_limit, until_told, threads_and_programs, several])
