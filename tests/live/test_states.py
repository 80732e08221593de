#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 35s
"""Processes and threads that cannot be stopped, or change while they are: an answer, in time, with
the reason, and nothing left behind."""
import json
import os
import signal
import subprocess
import tempfile
import time

from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, errors_of, iterator_refused, seeded, stack_of, state_of,
                     wait_blocked, wait_until)
from safety import (ANSWERED, capture, functions, held, let_go, parse, run, run_time,
                    status_field, tasks, thread_of, warned)

# Far above the default --max-stop and --timeout together also on a machine that has more to do than
# it can, far below what "hangs" means.
SOON_S = 45.0


def zombie_leader(tap):
    with Target("states", "zombie_leader") as target:
        wait_until(lambda: sorted(state_of(target.pid, t) for t in tasks(target.pid))
                   == ["S", "S", "Z"], "the leader to become a zombie, the others to wait")
        report = capture(target.pid, status=(0,))
        others = [t for t in report["threads"] if t["tid"] != target.pid]
        tap.equal([t["captured"] for t in others], [True, True],
                  "zombie leader: the live threads are captured")
        for thread in others:
            tap.check("wait_forever" in functions(report, thread["tid"]),
                      "zombie leader: their functions are named", functions(report, thread["tid"]))
        tap.equal(thread_of(report, target.pid)["reason"], "zombie",
                  "zombie leader: it is listed with the reason")
        tap.check(report["process"]["exe"].endswith("/states"),
                  "zombie leader: the program is known", report["process"]["exe"])
        tap.equal(held(target.pid), [], "zombie leader: nothing held afterwards")


def zombie_process(tap):
    process = subprocess.Popen(["/bin/true"])
    wait_until(lambda: state_of(process.pid) == "Z", "the child to exit")
    code, out, err, seconds = run("dump", process.pid)
    tap.equal((code, out), (1, ""), "zombie process: exit status 1")
    tap.check("(zombie)" in err and seconds < SOON_S, "zombie process: says so", err)
    process.wait()
    code, out, err, _ = run("dump", process.pid)
    tap.equal((code, out), (1, ""), "no such process: exit status 1")
    tap.check("(no_such_process)" in err, "no such process: says so", err)


def kernel_thread(tap):
    found = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_kernel_thread(pid)]
    if not found:
        tap.skip("kernel thread", "none is visible here", tap.HOST_PIDS)
        return
    code, out, err, _ = run("dump", found[0])
    tap.equal((code, out), (1, ""), "kernel thread: exit status 1")
    tap.check("(kernel_thread)" in err, "kernel thread: says so", err)


def is_kernel_thread(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[6]) & 0x200000 != 0  # PF_KTHREAD
    except OSError:
        return False


def vfork_parent(tap):
    with Target("states", "vfork_parent") as target:
        wait_until(lambda: "D" in [state_of(target.pid, t) for t in tasks(target.pid)],
                   "the parent to wait in vfork")
        stuck = next(t for t in tasks(target.pid) if state_of(target.pid, t) == "D")
        if not iterator_refused():
            begin = time.monotonic()
            report = capture(target.pid, *PATIENT, status=(0,))
            thread = thread_of(report, stuck)
            tap.equal((thread["captured_by"], thread["state"], report["timings"]["n_stopped"]),
                      ("iterator", "D", 0), "vfork parent: captured, without a stop")
            tap.equal(stack_of(report, stuck)["end"], "complete", "vfork parent: its whole stack")
            tap.check(time.monotonic() - begin < SOON_S, "vfork parent: at once")
        code, out, err, seconds = run("dump", "--json", "--stop", "always", *PATIENT, target.pid)
        report = parse(out)
        thread = thread_of(report, stuck)
        tap.equal(code, 3, "vfork parent: exit status 3")
        tap.check(seconds < SOON_S, "vfork parent: nothing waits for it", f"{seconds:.2f} s")
        tap.equal((thread["captured"], thread["state"], thread["reason"]),
                  (False, "D", "stop_timeout"), "vfork parent: listed with state and reason")
        tap.check(thread["wchan"], "vfork parent: with what it waits in", thread)
        tap.check(any(str(stuck) in one["message"] for one in errors_of(err)),
                  "vfork parent: standard error says so", err)
        tap.equal([t["captured"] for t in report["threads"] if t["tid"] != stuck],
                  [True] * (len(report["threads"]) - 1), "vfork parent: the others are captured")
        target.send("go")
        tap.equal(target.readline(), "vfork returned", "vfork parent: it goes on afterwards")
        tap.equal(let_go(target.pid), [], "vfork parent: nothing held")
        wait_until(lambda: len(tasks(target.pid)) == 2, "the thread to end")
        tap.equal([t["captured"] for t in capture(target.pid, status=(0,))["threads"]],
                  [True] * 2, "vfork parent: captured whole when the child has gone")


TOUCHED_DUMPS = 60


def touched(tap):
    """Another process traces a thread for an instant at a time: whoever looks for it later sees none,
    and yet it is not that we may not."""
    reasons, words = [], set()
    with Target("states", "plain", 2) as target, Target("states", "touch", target.pid):
        for n in range(10 * TOUCHED_DUMPS):
            if n >= TOUCHED_DUMPS and words:
                break
            _, out, err, _ = run("dump", "--json", "--stop", "always", "--symbols", "none", *PATIENT,
                                 target.pid)
            thread = thread_of(parse(out), target.pid)
            if not thread["captured"]:
                reasons.append(thread["reason"])
                words.update(line for line in err.splitlines() if "at that instant" in line)
    tap.check("already_traced" in reasons, "traced now and then: it was met", reasons[:5])
    tap.equal(set(reasons) - {"already_traced"}, set(), "traced now and then: that is the reason")
    tap.check(words, "traced now and then: to try again is what helps", reasons[:5])


def other_tracer(tap):
    with Target("states", "plain", 2) as target, Target("states", "trace", target.pid) as tracer:
        if not iterator_refused():
            report = capture(target.pid, status=(0,))
            tap.equal({t["captured_by"] for t in report["threads"]}, {"iterator"},
                      "another tracer: all threads are captured, without a stop")
            tap.equal(stack_of(report, target.pid)["end"], "complete",
                      "another tracer: the traced thread's whole stack")
        code, out, err, seconds = run("dump", "--json", "--stop", "always", target.pid)
        thread = None
        if out:
            thread = thread_of(parse(out), target.pid)
            tap.equal((code, thread["captured"], thread["reason"]), (3, False, "already_traced"),
                      "another tracer: the traced thread is listed with the reason")
            tap.check(str(tracer.pid) in err + thread["reason_text"],
                      "another tracer: it is named by its pid", err)
        else:
            tap.check(False, "another tracer: the other threads are captured", err)
        tap.check(seconds < SOON_S, "another tracer: answered soon", f"{seconds:.2f} s")
        tap.equal(status_field(target.pid, target.pid, "TracerPid"), str(tracer.pid),
                  "another tracer: it keeps its thread")
    with Target("states", "plain", 0) as target, Target("states", "trace", target.pid) as tracer:
        code, out, err, _ = run("dump", "--json", "--stop", "always", target.pid)
        tap.check(code in (1, 3, 77) and any(
            str(tracer.pid) in one["message"] and one["code"] == "already_traced" for one in errors_of(err)),
                  "another tracer of the only thread: named, with its pid", f"{code}\n{err}")


def count_of(target):
    target.send("count")
    return int(target.readline())


CHURN_DUMPS_MAX = 2000


def churn(tap):
    with Target("states", "churn") as target:
        before = count_of(target)
        odd, cut, partial = [], [], 0
        for n in range(CHURN_DUMPS_MAX):
            if n >= 100 and count_of(target) - before > 1000:
                break
            code, out, err, seconds = run("dump", "--json", "--symbols", "none", "--timeout",
                                          60000, target.pid)
            if code not in (0, 3) or seconds > SOON_S:
                odd.append((n, code, seconds, err))
                continue
            report = parse(out)
            if not report["threads"]:
                odd.append((n, "no thread"))
            cut += [s for s in report["stacks"] if s["end"] != "complete"
                    or any(f["trust"] not in ("context", "cfi") for f in s["frames"]
                           if f["kind"] != "kernel")]
            partial += code == 3
        made = count_of(target) - before
        tap.check(made > 1000, f"churn: {made} threads were created meanwhile")
        tap.equal(odd, [], f"churn: {n} dumps end with status 0 or 3, soon")
        tap.equal(cut, [], "churn: stacks of beginning and ending threads are complete, by tables")
        tap.check(partial < n, "churn: some dumps are complete", partial)
        tap.equal(let_go(target.pid), [], "churn: no thread stayed stopped or traced")
        wait_until(lambda: count_of(target) > before + made, "more threads to be created")
        tap.check(True, "churn: the target goes on")


def replaced_program(tap):
    count = 300
    with Target("states", "exec", count) as target:
        target.send("go")
        codes, odd = [], []
        end = time.monotonic() + 400
        while time.monotonic() < end:
            code, out, err, seconds = run("dump", "--json", "--symbols", "none", target.pid)
            codes.append(code)
            if code not in ANSWERED or seconds > SOON_S or (code == 1 and "snapwalk: " not in err):
                odd.append((code, seconds, err))
            if code in (0, 3):
                parse(out)
            left = let_go(target.pid)
            if left:
                odd.append(left)
            if finished(target):
                break
        tap.equal(odd, [], f"exec: {len(codes)} dumps ended with status 0, 1 or 3, soon")
        tap.check(len(codes) > 10, "exec: there were dumps meanwhile", codes)
        tap.check(codes.count(1) <= len(codes) // 4, "exec: nearly all of them found a program that stayed",
                  codes)
        tap.equal(target.readline(), "exec done", f"exec: all {count} took place")
        tap.equal(capture(target.pid, status=(0,))["process"]["pid"], target.pid,
                  "exec: captured whole afterwards")


def finished(target):
    """True when the last program of the chain runs: it waits for nothing any more."""
    try:
        with open(f"/proc/{target.pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return True
    return words[2:3] == [b"0"]


def dying(tap, how):
    """The target ends, by SIGKILL or by itself, at any instant of a dump."""
    generator = seeded(5)
    codes, odd = [], []
    with Target("states", "plain", "8") as target:
        takes = run_time(target.pid, "--symbols", "none")
    for n in range(60):
        mode = ("plain", "8") if how == "killed" else ("brief", generator.randrange(0, 1 + int(takes * 1500)))
        with Target("states", *mode) as target:
            process = subprocess.Popen([SNAPWALK, "dump", "--json", "--symbols", "none",
                                        str(target.pid)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
            if how == "killed":
                end = time.perf_counter() + generator.uniform(0, takes * 1.2)
                while time.perf_counter() < end:
                    pass
                os.kill(target.pid, signal.SIGKILL)
            begin = time.monotonic()
            out, err = process.communicate(timeout=240)
            seconds = time.monotonic() - begin
            code, err = process.returncode, err.decode()
            codes.append(code)
            if code not in ANSWERED or seconds > SOON_S:
                odd.append((n, code, seconds, err))
            elif code == 1 and not (errors_of(err) and not out):
                odd.append((n, code, out[:80], err))
            elif code != 1:
                parse(out.decode())
            # The target's real parent learns of the end at once: nobody else may keep the zombie.
            ended = target.process.wait(60)
            if ended != (-9 if how == "killed" else 5):
                odd.append((n, "ended with", ended))
    tap.equal(odd, [], f"target {how} during 60 dumps: a clear answer, soon, and its parent "
                       "sees the end")
    tap.check(set(codes) & {0, 3}, f"target {how}: some dumps came in time", codes)


def seccomp_strict(tap):
    with Target("states", "seccomp") as target:
        wait_until(lambda: any(status_field(target.pid, t, "Seccomp") == "1"
                               and state_of(target.pid, t) == "S" for t in tasks(target.pid)),
                   "a thread in strict mode to wait")
        strict = next(t for t in tasks(target.pid)
                      if status_field(target.pid, t, "Seccomp") == "1")
        wait_until(lambda: {state_of(target.pid, t) for t in tasks(target.pid)} == {"S"},
                   "all threads to wait")
        report = capture(target.pid, status=(0,))
        tap.check("strict" in functions(report, strict), "seccomp strict: captured and named",
                  functions(report, strict))
        tap.equal((held(target.pid), len(tasks(target.pid))), ([], 2),
                  "seccomp strict: it lives on")


def io_worker(tap):
    with Target("states", "io_worker") as target:
        if any(line.startswith("unavailable") for line in target.lines):
            tap.skip("io_uring worker", "io_uring is not offered here",
                     "sysctl kernel.io_uring_disabled=0, a container that lets it through")
            return
        wait_until(lambda: len(tasks(target.pid)) > 1, "the worker thread")
        worker = next(t for t in tasks(target.pid) if t != target.pid)
        code, out, err, seconds = run("dump", "--json", *PATIENT, target.pid)
        report = parse(out)
        thread = thread_of(report, worker)
        tap.equal((code, thread["captured"], thread["reason"]), (0, False, "io_worker"),
                  "io_uring worker: listed, with the reason, and nothing is missing")
        tap.check(thread_of(report, target.pid)["captured"] and seconds < SOON_S,
                  "io_uring worker: its process is captured", err)
        tap.equal(let_go(target.pid), [], "io_uring worker: nothing held")


def hanging_memory(tap):
    """A process that reads a page of it waits for ever: the one that does so in the stop is ended."""
    with Target("hanging") as target:
        if any(line.startswith("unavailable") for line in target.lines):
            tap.skip("a page that hangs", f"userfaultfd: {target.lines[0]}",
                     "sudo, a container that lets userfaultfd through")
            return
        wait_blocked(target.pid)
        code, out, err, seconds = run("dump", "--json", "--timeout", 60000, target.pid)
        report = parse(out)
        tap.equal(let_go(target.pid), [], "a page that hangs: nothing held")
        tap.check(code == 3 and seconds < SOON_S, "a page that hangs: exit status 3, soon",
                  f"{code} {seconds:.2f} s\n{err}")
        tap.equal({w["code"] for w in report["warnings"]}, {"stop_timeout", "memory_unreadable"},
                  "a page that hangs: the limit of the stop was reached, and stacks not copied")
        thread, = (t for t in report["threads"] if t["tid"] != target.pid)
        frames = stack_of(report, thread["tid"])["frames"]
        tap.equal([f["function"] for f in frames][:3], ["block", "wait_below", "thread"],
                  "a page that hangs: what is beside it was read after the stop")
        tap.check(frames[2].get("live_read"), "a page that hangs: and says so",
                  frames)


def slow_to_stop(tap):
    """A SCHED_IDLE thread whose CPU is taken: it gets no turn to stop in, and who needs a lock that
    it holds in the kernel waits as long."""
    cpu = max(os.sched_getaffinity(0))
    with Target("states", "idle", cpu) as target:
        outcomes, odd = [], []
        for _ in range(30):
            code, out, err, seconds = run("dump", "--json", "--stop", "always", "--max-stop", "2",
                                          "--symbols", "none", target.pid)
            if code not in ANSWERED or seconds > 3 * SOON_S or (left := let_go(target.pid)):
                odd.append((code, seconds, err, left))
                continue
            report = parse(out) if out else None
            late = code == 3 and warned(report, "stop_timeout")
            if code == 3 and not late:
                odd.append((code, report["warnings"]))
            # Each of its steps may wait for a turn on a busy machine.
            if code == 3 and report["timings"]["stopped_us"] > 2000000:
                odd.append(("stopped", report["timings"]))
            outcomes.append("late" if late else code)
        tap.equal(odd, [], "slow to stop: status 0, or 3 with stop_timeout, everything released")
        if not iterator_refused():
            def whole():
                """On a busy machine there may be no time left for what it waits for."""
                code, out, _, _ = run("dump", "--json", "--max-stop", "50", "--timeout", "60000", "--symbols", "none",
                                      target.pid)
                return parse(out) if code == 0 else None
            report = wait_until(whole, "a whole dump")
            tap.check(report["timings"]["n_stopped"] <= 1, "slow to stop: it need not stop",
                      report["timings"])
        tap.check("late" in outcomes, "slow to stop: --max-stop 2 was too short at least once",
                  outcomes)


def frozen(tap):
    """A frozen cgroup (version 1: nothing in it stops; version 2: stops work)."""
    roots = {"1": "/sys/fs/cgroup/freezer", "2": "/sys/fs/cgroup/unified"}
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        roots["2"] = "/sys/fs/cgroup"
    for version, root in roots.items():
        group = os.path.join(root, f"snapwalk-test-{os.getpid()}")
        try:
            os.mkdir(group)
        except OSError as error:
            tap.skip(f"frozen cgroup, version {version}", f"{group}: {error.strerror}", tap.CGROUPS)
            continue
        try:
            with Target("states", "plain", 3) as target:
                try:
                    frozen_in(tap, version, group, target)
                finally:
                    thaw(version, group)
        finally:
            wait_until(lambda: remove_group(group), "the cgroup to be empty")


def remove_group(group):
    try:
        os.rmdir(group)
        return True
    except OSError:
        return False


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


def thaw(version, group):
    if version == "1":
        write(f"{group}/freezer.state", "THAWED")
    else:
        write(f"{group}/cgroup.freeze", "0")


def frozen_in(tap, version, group, target):
    write(f"{group}/cgroup.procs", str(target.pid))
    if version == "1":
        write(f"{group}/freezer.state", "FROZEN")
        wait_until(lambda: read(f"{group}/freezer.state") == "FROZEN\n", "the freezer")
    else:
        write(f"{group}/cgroup.freeze", "1")
        wait_until(lambda: "frozen 1" in read(f"{group}/cgroup.events"), "the freezer")
    code, out, err, seconds = run("dump", "--json", target.pid)
    name = f"frozen cgroup, version {version}"
    tap.check(code in ANSWERED and seconds < SOON_S, f"{name}: answered soon",
              f"{code} {seconds:.2f} {err}")
    if out:
        report = parse(out)
        missing = [t for t in report["threads"] if not t["captured"]]
        tap.check(all(t["reason"] == "stop_timeout" for t in missing) and bool(missing) == (
            code == 3), f"{name}: threads are captured, or have the reason", report["threads"])
    else:
        tap.check("(stop_timeout)" in err, f"{name}: says that nothing stopped", err)
    thaw(version, group)
    wait_until(lambda: {state_of(target.pid, t) for t in tasks(target.pid)} == {"S"},
               "it to go on after the thaw")
    tap.equal(let_go(target.pid), [], f"{name}: goes on after the thaw, nothing held")
    tap.equal([t["captured"] for t in capture(target.pid, status=(0,))["threads"]], [True] * 4,
              f"{name}: captured whole after the thaw")


def restarted_calls(tap):
    """A call that goes on after a stop has another number: it is still told which one it is."""
    names = {"poll(timeout)": "poll", "futex_WAIT_timeout": "futex", "nanosleep": None}
    with Target("blocking", 600000, 600000, *names) as target:
        tids = {words[2]: words[1] for words in map(str.split, target.lines)
                if words[0] == "call"}

        def numbers():
            return {read(f"/proc/{target.pid}/task/{tid}/syscall").split()[0] for tid in tids}

        wait_until(lambda: numbers() == {"7", "202", "35"}, "poll, futex and nanosleep")
        capture(target.pid, "--stop", "always", status=(0,))
        wait_until(lambda: numbers() == {"219"}, "the calls to go on after the stop")
        for how in ("auto", "always", "auto"):
            report = capture(target.pid, "--stop", how, status=(0,))
            got = {tids[str(t["tid"])]: t["syscall"] for t in report["threads"]
                   if str(t["tid"]) in tids}
            tap.equal(got, {name: call or "restart_syscall" for name, call in names.items()},
                      f"calls that go on after a stop, --stop {how}")
            wait_until(lambda: numbers() == {"219"}, "the calls to go on")
        code, out, err, _ = run("dump", target.pid)
        tap.check(code == 0 and "asleep 1" in out, "a thread that goes on sleeping is asleep", (out, err))
        for thread in report["threads"]:
            thread["wchan"] = None  # as some kernels say
            if tids.get(str(thread["tid"])) == "nanosleep":
                stack_of(report, thread["tid"])["frames"][0]["function"] = "clock_nanosleep"
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(report, file)
            file.flush()
            code, out, err, _ = run("show", file.name)
        tap.check(code == 0 and "asleep 1" in out, "the same told by the function alone", (out, err))


def of_one_instant(tap):
    """The state of a thread, and where its registers are: it may move while we look."""
    captures, odd, n = 100, [], 0
    sleeps = ("clock_nanosleep", "nanosleep", "restart_syscall")
    with Target("contended") as target:
        for options in (["auto"], []):
            run = subprocess.run([os.path.join(TARGETS, "drive_dumps"), str(target.pid), str(captures), *options],
                                 capture_output=True, text=True, check=True)
            for line in run.stdout.splitlines():
                for thread in json.loads(line)["threads"]:
                    n += thread["state"] == "S"
                    what = thread["state"], thread["syscall"], thread["wchan"], thread["captured_by"]
                    if thread["state"] == "S" and thread["syscall"] is None:
                        odd.append(what)
                    if thread["captured_by"] == "iterator" and thread["wchan"] and \
                            (thread["wchan"] == "hrtimer_nanosleep") != (thread["syscall"] in sleeps) and \
                            thread["syscall"] in (*sleeps, "futex"):
                        odd.append(what)
    tap.check(n > captures, "of one instant: threads that sleep", n)
    tap.equal(odd, [], f"of one instant: what {n} of them sleep in")


if __name__ == "__main__":
    Tap.main(zombie_leader, zombie_process, kernel_thread, vfork_parent, other_tracer, touched, churn, replaced_program,
             seccomp_strict, io_worker, hanging_memory, slow_to_stop, frozen, restarted_calls, of_one_instant,
             (dying, "killed"), (dying, "exiting"))
