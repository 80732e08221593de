#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 20s
"""Go: all goroutines, against the program's own dump; very many of them; others that run meanwhile.

SNAPWALK_STOPS sets how many dumps there are of a program whose goroutines run (30).
"""
import os
import re
import shutil
import signal
import subprocess

from harness import Tap, dump as dump_of, gcore, snapwalk, wait_until
from judge import GUESSES
from runtime_go import ROOTS, build, esbuild, made

STOPS = int(os.environ.get("SNAPWALK_STOPS", "30"))
CROWD = 10000
# The wait reasons of the other goroutines of parked.go, by their innermost function of it.
WAITS = {"main.receive": "chan receive", "main.send": "chan send", "main.choose": "select",
         "main.lock": "sync.Mutex.Lock", "main.sleep": "sleep", "main.accept": "IO wait", "main.wait": "sync.WaitGroup.Wait",
         "main.condition": "sync.Cond.Wait", "main.forever": "select (no cases)",
         "main.none": "chan receive (nil chan)"}
OLD = {"sync.Mutex.Lock": "semacquire", "sync.WaitGroup.Wait": "semacquire"}  # reasons of older versions
HEADER = re.compile(r"goroutine (\d+)(?: gp=\S+ m=\S+(?: mp=\S+)?)? \[([^\],]*)(?:, (?:\d+) minutes)?(?:, locked to thread)?\]:")
# The chain of those that wake each other, from the first frame that is not the runtime's on.
PING = re.compile(r"(main\.spin )?main\.ping main\.main\.(?:func[23]|gowrap[12]) runtime\.goexit$")


def start(name, *args):
    process = subprocess.Popen([made(name), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, GOTRACEBACK="system"))
    process.stdout.readline()
    return process


def end(process):
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def goroutines_of(report):
    """{id: (goroutine, stack)}; one of an id that came before fails."""
    found = {}
    for stack in report["stacks"]:
        for goroutine in stack.get("goroutines", ()):
            if goroutine["id"] in found:
                raise AssertionError(f"goroutine {goroutine['id']} twice")
            found[goroutine["id"]] = goroutine, stack
    return found


def dump(process, *options, **status):
    return dump_of(process.pid, "--goroutines", *options, **status)


def settled(process):
    """A dump in which all goroutines of the program wait."""
    report = None

    def all_wait():
        nonlocal report
        report = dump(process, status=(0, 3))  # one whose stack is being moved has none for an instant
        return report["complete"] and all(g["state"] == "waiting" for g, _ in goroutines_of(report).values())
    wait_until(all_wait, "goroutines that all wait")
    return report


def own_dump(process):
    """{id: (what it waits for, [(function, line)], created by)} as the runtime prints it; ends the program."""
    process.send_signal(signal.SIGQUIT)
    found = {}
    for block in process.stderr.read().split("\n\n"):
        lines = block.splitlines()
        header = HEADER.match(lines[0]) if lines else None
        if header is None or header.group(1) == "0":
            continue
        frames, created = [], None
        for call, place in zip(lines[1::2], lines[2::2]):
            line = re.search(r":(\d+)(?: \+0x[0-9a-f]+.*)?$", place)
            if line and call.startswith("created by "):
                created = call[len("created by "):].split(" in goroutine ")[0], int(line.group(1))
            elif line:
                frames.append((re.sub(r"\([^()]*\)$", "", call), int(line.group(1))))
        found[int(header.group(1))] = header.group(2), frames, created
    return found


def as_own(goroutine, stack):
    created = goroutine["created_by"]
    return (goroutine["wait_reason"], [(f["function"], f["line"]) for f in stack["frames"]],
            created and (created["function"], created["line"]))


def is_programs(functions):
    return any(f.startswith("main.") for f in functions)


def check_parked(tap, name):
    process = start(name, str(CROWD))
    try:
        report = settled(process)
        # The runtime's own may go on meanwhile, or begin.
        ours = {i: g for i, g in goroutines_of(report).items() if is_programs(f["function"] for f in g[1]["frames"])}
        theirs = {i: g for i, g in own_dump(process).items() if is_programs(f for f, _ in g[1])}
        tap.equal(set(ours), set(theirs), f"{name}: {len(ours)} goroutines, the same as it says itself")
        wrong = [i for i in ours if i in theirs and as_own(*ours[i]) != theirs[i]]
        tap.check(not wrong, f"{name}: each goroutine's wait, functions, lines and maker",
                  [(i, as_own(*ours[i]), theirs[i]) for i in wrong[:3]])
    finally:
        end(process)
    tap.equal(max(len(s.get("goroutines", ())) for s in report["stacks"]), CROWD,
              f"{name}: {CROWD} with the same stack are one group")
    tap.check(report["complete"] and all(s["end"] == "complete" for s in report["stacks"]),
              f"{name}: complete", report["warnings"])
    found = {s["frames"][i]["function"]: s["goroutines"][0]["wait_reason"] for s in report["stacks"]
             if s.get("goroutines") and not s["threads"]
             for i in range(len(s["frames"])) if s["frames"][i]["function"] in WAITS}
    wanted = {name: OLD[why] if why in OLD and found.get(name) == OLD[why] else why for name, why in WAITS.items()}
    tap.equal(found, wanted, f"{name}: every way to wait")
    tap.check(not any(f.get("live_read") for s in report["stacks"] for f in s["frames"]),
              f"{name}: nothing was read when it ran again")


def wrong_stack(goroutine, stack):
    """None when it is right, whatever the goroutine did."""
    names = [f["function"] for f in stack["frames"]]
    if stack["end"] != "complete":
        return f"{stack['end']}: {stack['why']}"
    if any(f["trust"] in GUESSES or f.get("live_read") for f in stack["frames"]):
        return "a guess"
    if names[-1] not in ROOTS:
        return f"ends in {names[-1]}"
    first = next((i for i, n in enumerate(names) if n.startswith("main.")), None)
    if first is None:
        return None
    rest = " ".join(names[first:])
    if "main.ping" in names and not PING.match(rest):
        return "another chain"
    return None


def check_running(tap, name):
    """Goroutines that wake each other all the time."""
    process = start(name, "200", "busy")
    wrong, states, n, in_ping, runs, unread = [], set(), 0, 0, 0, []
    try:
        for _ in range(STOPS):
            report = dump_of(process.pid, "--goroutines", status=(0, 3))
            # Where a busy machine takes more than a second, what threads wait for in the kernel is left out.
            unread += [w["message"] for w in report["warnings"] if w["code"] != "timeout"]
            found = goroutines_of(report)
            # Eight wake each other; a ninth thing may be a goroutine of the collector.
            in_ping += sum(any(f["function"] == "main.ping" for f in s["frames"]) for _, s in found.values())
            for goroutine, stack in found.values():
                n += 1
                states.add(goroutine["state"])
                runs += goroutine["tid"] is not None
                what = wrong_stack(goroutine, stack)
                if goroutine["tid"] is not None and goroutine["tid"] not in stack["threads"]:
                    what = "another thread's"
                if what is not None:
                    wrong.append((what, goroutine, [f["function"] for f in stack["frames"]]))
    finally:
        end(process)
    tap.check(not wrong, f"{name}: {STOPS} dumps, {n} goroutines, {runs} on threads: all stacks are right", wrong[:3])
    # A goroutine whose stack is being moved to a larger one has none for an instant.
    tap.check(len(unread) <= 1 + STOPS // 100, f"{name}: none is missing", unread[:5])
    tap.check({"waiting", "running"} <= states and runs > 0, f"{name}: some wait, some run", states)
    tap.check(in_ping >= 7 * STOPS, f"{name}: running goroutines are among them", in_ping)


def check_text(tap):
    process = start("parked", "50")
    try:
        settled(process)
        text = snapwalk("--goroutines", process.pid).stdout
        tap.check(re.search(r", 6\d goroutines in 1\d groups, ", text), "text: how many, in how many groups", text)
        tap.check(re.search(r"\n50 goroutines  \(\d+ \d+ \d+ \d+ \d+ \d+ \+44 more\)\n  waiting: chan receive\n"
                            r"(  #.*\n)+  created by main\.begin, parked\.go:\d+\n", text), "text: a group", text)
        tap.check("goroutines of the runtime itself (--all shows them)" in text, "text: Go's own are counted", text)
        text = snapwalk("--goroutines", "--all", process.pid).stdout
        tap.check(re.search(r"waiting for a sync\.Mutex \(s", text) and re.search(r"waiting for a sync\.WaitGroup \(s", text),
                  "text: what of sync they wait for", text)
        text = snapwalk("--goroutines", "--function", r"^main\.send$", process.pid).stdout
        tap.check("main.send" in text and "main.lock" not in text and "50 goroutines" not in text,
                  "text: a filter by function", text)
        text = snapwalk("--goroutines", "--state", "R", process.pid).stdout
        tap.check("main.send" not in text, "text: a filter by state", text)
        folded = snapwalk("--goroutines", "--format", "folded", process.pid).stdout
        tap.check(re.search(r"^goroutine;.*main\.\(\*hub\)\.serve;.* 50$", folded, re.M), "folded: all are in one line", folded)
        core = made("core.parked")
        gcore(process.pid, core)
        live = goroutines_of(dump(process))
    finally:
        end(process)
    saved = goroutines_of(dump_of(["--core", core], "--goroutines"))
    os.unlink(core)
    tap.equal({i: as_own(*g) for i, g in saved.items()}, {i: as_own(*g) for i, g in live.items()},
              "a core file has the same goroutines")


def check_versions(tap):
    """esbuild as a service, which waits for what to do: stripped, and of newer versions."""
    for version, go in (("0.17.7", "1.20"), ("0.24.0", "1.23"), ("0.28.2", "1.26")):
        process = subprocess.Popen([esbuild(version), f"--service={version}", "--ping"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        try:
            process.stdout.read(1)
            report = dump(process)
            found = goroutines_of(report)
            tap.check(report["complete"] and len(found) >= 5 and
                      all(wrong_stack(*g) is None for g in found.values()),
                      f"esbuild, go {go}: {len(found)} goroutines, all complete", report["warnings"])
            first = as_own(*found[1])
            tap.check("main.main" in [f for f, _ in first[1]] and first[2] is None, f"go {go}: the first one", first)
            made_by = {i: g["created_by"] for i, (g, _) in found.items() if i != 1}
            tap.check(all(c and c["line"] and (go == "1.20") == (c["id"] is None) for c in made_by.values()),
                      f"go {go}: who created them", made_by)
            tap.check(all(g["wait_reason"] for g, _ in found.values() if g["state"] == "waiting"),
                      f"go {go}: what they wait for", found)
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def check_hint(tap):
    """A user who did not ask for goroutines is told how."""
    process = start("parked", "3")
    try:
        for options, wanted in ((), True), (("--goroutines",), False):
            report = dump_of(process.pid, *options)
            hints = [hint["code"] for hint in report.get("hints", [])]
            tap.equal("goroutines" in hints, wanted, f"hint{' '.join(('', *options))}")
    finally:
        end(process)


def check_others(tap):
    """No Go, and options that do not go with it."""
    process = subprocess.Popen(["sleep", "1000"])
    try:
        got = snapwalk("--goroutines", "--json", str(process.pid))
        tap.check(got.returncode == 3 and "not a Go program" in got.stdout, "a program without Go says so",
                  (got.returncode, got.stdout[-300:]))
    finally:
        process.kill()
        process.wait()
    for options in (["--burst", "2,1"], ["--walk", "libunwind"], ["--walk", "scan"], ["--via", "daemon"]):
        got = snapwalk("--goroutines", *options, "1")
        tap.equal(got.returncode, 2, f"not with {' '.join(options)}")


def main():
    tap = Tap()
    tap.check(shutil.which("go"), "golang-go is installed")
    os.makedirs(made(""), exist_ok=True)
    build("parked", "parked.go")
    build("parked-stripped", "parked.go", "-ldflags=-s -w")
    build("parked-pie", "parked.go", "-buildmode=pie")
    for name in ("parked", "parked-stripped"):
        tap.guard(check_parked, name)
    for name in ("parked", "parked-pie"):
        tap.guard(check_running, name)
    tap.guard(check_text)
    tap.guard(check_versions)
    tap.guard(check_hint)
    tap.guard(check_others)
    tap.done()


if __name__ == "__main__":
    main()
