#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
# soak too
"""The daemon's spawner and workers, driven without a socket: captures, refusals, privileges, and
deaths at random instants that the target must not notice."""
import json
import os
import signal
import subprocess
import tempfile
import time

from harness import TARGETS, Tap, Target, dump, iterator_refused, public, seeded, state_of, tool, wait_until
from judge import scaled
from mutate import Elf, variants
from safety import held, let_go, median, run_time, status_field, tasks
from test_hostile import at_rest, code_range, special_files
from test_kill import THREADS, Storm

DRIVER = os.path.join(TARGETS, "drive_worker")
NOBODY = 65534
# CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_PERFMON (for profiles of CPU time)
CAPS_OF_SPAWNER = "0000004000080004"
PROFILES = 8  # at once with one worker each: SERIES_MAX in daemon/worker/spawner_main.c
HOSTILE_FILES, HOSTILE_BATCH = scaled(60), 12
AUTO, NEVER, ALWAYS = range(3)  # enum sw_stop_mode
# test_kill_daemon.py kills at each call of the process that stops.
KILLS, CRASHES, HANGS, SPAWNER_KILLS, LATENCY_RUNS = scaled(30), scaled(10), 3, scaled(30), 40


class Driver:
    """A drive_worker: .spawner is the spawner's pid, .error its words when it could not start."""

    def __init__(self, *options, prefix=(), **popen):
        program = public(DRIVER) if prefix or "user" in popen else DRIVER
        self.process = subprocess.Popen([*prefix, program, *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, **popen)
        self.error = None
        words = self.line()
        if words[:1] == ["spawner"]:
            self.spawner, self.sandbox = int(words[1]), int(words[3])
            self.iterator_refused = words[4].strip() if len(words) > 4 else ""
        else:
            self.error = words

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def line(self):
        return self.process.stdout.readline().split(None, 4)

    def order(self, pid, *options):
        self.process.stdin.write(" ".join(map(str, (pid, *options))) + "\n")
        self.process.stdin.flush()

    def answer(self):
        """Returns the output for one capture, by its first words; "report" is the dump."""
        result = {}
        while True:
            words = self.line()
            if not words:
                raise RuntimeError("the driver has ended")
            result[words[0]] = words[1:]
            if words[0] == "dump":
                result["report"] = json.loads(self.process.stdout.readline())
            if words[0] in ("closed", "error", "configured"):
                return result

    def capture(self, pid, *options):
        self.order(pid, *options)
        return self.answer()


def refusal(answer):
    """(code, rule) of a capture that failed, None of one that did not."""
    return tuple(answer["failed"][:2]) if "failed" in answer else None


def names_of(report):
    """{tid: function names of its stack}"""
    stacks = [[f["function"] for f in s["frames"]] for s in report["stacks"]]
    return {t["tid"]: stacks[t["stack"]] for t in report["threads"] if t["stack"] is not None}


def whole(tap, driver, pid, what):
    got = driver.capture(pid)
    if not tap.check("report" in got, f"{what}: a dump", got):
        return None
    tap.equal(got["report"]["timings"]["stopped_us"], int(got["resumed"][0]),
              f"{what}: the time stopped was said before")
    tap.equal(held(pid), [], f"{what}: nothing is held")
    return got["report"]


def same_as_direct(tap):
    with Target("states", "plain", 20) as target, Driver() as driver:
        at_rest(target)  # it says "ready" before its threads have begun
        report = whole(tap, driver, target.pid, "plain")
        tap.equal(names_of(report), names_of(dump(target.pid)), "the stacks are the command's")
        tap.equal((report["seq"], report["reason"]), (1, "driven"), "number and reason are there")
        got = driver.capture(target.pid, "symbols=2")
        tap.equal({f["function"] for s in got["report"]["stacks"] for f in s["frames"]}, {None},
                  "without names when they are not wanted")
        got = driver.capture(target.pid, "names_ms=1")
        tap.check("report" in got, "a short time limit for names gives a dump too", got)


def how_captured(report):
    return {t["captured_by"] for t in report["threads"]}


def stops(tap):
    """The options that are asked for are used: the spawner's iterator reaches the worker."""
    with Target("states", "plain", 20) as target, Driver() as driver:
        wait_until(lambda: all(state_of(target.pid, tid) == "S" for tid in tasks(target.pid)),
                   "all threads to wait")
        for stop, by, count in ((AUTO, "iterator", 0), (NEVER, "iterator", 0), (ALWAYS, "ptrace", 21)):
            if driver.iterator_refused and stop == NEVER:
                continue
            got = driver.capture(target.pid, f"stop={stop}")
            timings = got["report"]["timings"]
            if driver.iterator_refused:
                by, count = "ptrace", 21
            tap.equal((how_captured(got["report"]), timings["n_stopped"],
                       timings["stopped_us"] > 0), ({by}, count, count > 0),
                      f"stop={stop}: threads are captured by {by}")
        if os.geteuid() == 0:
            tap.equal(driver.iterator_refused, iterator_refused(), "the spawner has the iterator, or "
                      "it is refused to all")


def without_iterator(tap):
    """A start without the two capabilities, as under an older unit."""
    setpriv = tool("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        return tap.skip("without the iterator", "not root, or no setpriv",
                        "sudo, package util-linux")
    prefix = (setpriv, "--bounding-set", "-bpf,-perfmon,-sys_admin", "--inh-caps",
              "-bpf,-perfmon,-sys_admin")
    with Target("states", "plain", 20) as target, Driver(prefix=prefix) as driver:
        why = "the task iterator needs CAP_BPF and CAP_PERFMON"
        tap.check(driver.iterator_refused.startswith(why), "refused: the broker is told",
                  driver.iterator_refused)
        report = whole(tap, driver, target.pid, "refused")
        tap.equal((how_captured(report), report["timings"]["n_stopped"],
                   report["timings"]["stopped_why"]), ({"ptrace"}, 21, driver.iterator_refused),
                  "refused: all threads are stopped, and the dump says why")
        got = driver.capture(target.pid, f"stop={NEVER}")
        tap.check(refusal(got) == ("unsupported", "none") and why in " ".join(got["failed"]),
                  "refused: never stops none, and says why", got)
        tap.equal(driver.capture(target.pid, f"stop={ALWAYS}")["report"]["timings"].get("stopped_why"),
                  None, "refused: nothing is said where all were to be stopped")


def deep_stack(tap):
    """Deeper than what was copied: read from the process by a worker without privileges."""
    with Target("deep", 2000) as target, Driver() as driver:
        wait_until(lambda: state_of(target.pid) == "S", "the target to wait")
        got = driver.capture(target.pid)
        wanted = dump(target.pid, status=(0, 3))
        tap.equal(sorted((s["end"], len(s["frames"])) for s in got["report"]["stacks"]),
                  sorted((s["end"], len(s["frames"])) for s in wanted["stacks"]),
                  "deep: as far as the command")
        counts = [sum(bool(f.get("live_read")) for s in report["stacks"] for f in s["frames"])
                  for report in (wanted, got["report"])]
        tap.check(counts[0] == counts[1] > 0, "deep: frames are read from the running process alike",
                  counts)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return children.read().split()


def privileges(tap):
    root = os.geteuid() == 0
    with Target("states", "plain", 2) as target, Driver() as driver:
        spawner = driver.spawner
        tap.equal(status_field(spawner, spawner, "CapPrm"), CAPS_OF_SPAWNER if root else "0" * 16,
                  "the spawner has three capabilities, or none")
        tap.equal(status_field(spawner, spawner, "NoNewPrivs"), "1", "and can get no more")
        if root:
            tap.equal(status_field(spawner, spawner, "Uid").split(), [str(NOBODY)] * 4,
                      "and another user")
        broker = driver.process.pid
        tap.equal(status_field(broker, broker, "CapPrm"), "0" * 16, "the broker has none")
        whole(tap, driver, target.pid, "with these")
        # By then the spawner has also closed what it gave the broker, which it does after the answer.
        wait_until(lambda: not children_of(spawner), "the worker to be reaped")
        tap.equal(sorted(os.path.basename(os.readlink(f"/proc/{spawner}/fd/{fd}")).split(":")[0]
                         for fd in os.listdir(f"/proc/{spawner}/fd")) if root else [],
                  sorted(["anon_inode", "memfd", "null", "null", "null", "pipe", "socket"] +
                         ["anon_inode"] * (not driver.iterator_refused) * (2 + PROFILES)) if root else [],
                  "the spawner keeps the iterator's programs, that of replaced addresses, the turns and the pipe to the unpacker, and nothing "
                  "of workers")
    wait_until(lambda: not os.path.exists(f"/proc/{spawner}"), "the spawner to end with its broker")


def of_user(tap):
    """--user: nobody's own processes, without any capability."""
    if os.geteuid() != 0:
        return tap.skip("user mode as another user", "not root", tap.ROOT)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with Target("states", "plain", 70, **as_nobody) as own, Target("states", "plain", 2) as other, \
            Driver("user_mode=1", **as_nobody) as driver:
        whole(tap, driver, own.pid, "user mode, an own process")
        tap.equal(refusal(driver.capture(other.pid)), ("not_permitted", "kernel"),
                  "user mode, root's process: the kernel refuses")
        whole(tap, driver, own.pid, "user mode, again")


def ambient(tap):
    """As the unit starts it: a user with four ambient capabilities, two of them for the start."""
    setpriv = tool("setpriv")
    if os.geteuid() != 0 or setpriv is None:
        return tap.skip("ambient capabilities", "not root, or no setpriv",
                        "sudo, package util-linux")
    caps = "+sys_ptrace,+dac_read_search,+bpf,+perfmon"
    prefix = (setpriv, "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
              "--bounding-set", "-all," + caps, "--inh-caps", caps, "--ambient-caps", caps)
    with Target("states", "plain", 70) as target, Driver(prefix=prefix) as driver:
        if not tap.equal(driver.error, None, "ambient: the spawner starts"):
            return
        tap.equal(driver.sandbox, 0, "ambient: as it should be")
        tap.equal(status_field(driver.spawner, driver.spawner, "CapPrm"), CAPS_OF_SPAWNER,
                  "ambient: the spawner keeps three")
        tap.equal(driver.iterator_refused, iterator_refused(), "ambient: the capabilities are enough for the iterator")
        pid = driver.process.pid
        tap.equal([status_field(pid, pid, f"Cap{k}") for k in ("Prm", "Eff", "Inh", "Amb")],
                  ["0" * 16] * 4, "ambient: the broker none")
        whole(tap, driver, target.pid, "ambient, root's process")


def permission(tap):
    if os.geteuid() != 0:
        return tap.skip("permission of other users", "not root", tap.ROOT)
    owner = (f"uid={NOBODY}", f"gid={NOBODY}", "privileged=0")
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with Driver() as driver, Driver("deny=states") as denying:
        with Target("states", "plain", 5, **as_nobody) as target:
            tap.check("report" in driver.capture(target.pid, *owner), "the process's owner may")
            for other in (("uid=1", f"gid={NOBODY}", "privileged=0"),
                          (f"uid={NOBODY}", "gid=1", "privileged=0")):
                got = driver.capture(target.pid, *other)
                tap.equal((refusal(got), "resumed" in got), (("not_permitted", "owner"), False),
                          f"another may not: {' '.join(other)}")
                tap.equal(held(target.pid), [], "and nothing is held")
            tap.equal(refusal(denying.capture(target.pid)), ("not_permitted", "deny"),
                      "Deny= is for everybody")
        with Target("states", "undumpable", **as_nobody) as target:
            tap.equal(refusal(driver.capture(target.pid, *owner)), ("not_permitted", "dumpable"),
                      "one that protects itself: not by its owner")
            tap.check("report" in driver.capture(target.pid), "but by who may capture all")


def reload(tap):
    """Workers go by the configuration of the last reload."""
    with Driver("deny=states") as driver, Target("states", "plain", 1) as target:
        denied = ("not_permitted", "deny")
        tap.equal(refusal(driver.capture(target.pid)), denied, "reload: denied at first")
        tap.equal(driver.capture("config deny="), {"configured": []}, "reload: nobody is denied")
        tap.check("report" in driver.capture(target.pid), "reload: then not")
        driver.capture("config deny=" + os.path.realpath(target.command[0]))
        tap.equal(refusal(driver.capture(target.pid)), denied, "reload: by its path")
        driver.capture("config deny=another")
        tap.check("report" in driver.capture(target.pid), "reload: another one")
        driver.capture("config dump_max=1000")
        tap.equal(refusal(driver.capture(target.pid)), ("limit", "none"), "reload: DumpMax=")


def owner(tap):
    """The owner of a dump is decided by what the target was when it stood still."""
    if os.geteuid() != 0:
        return tap.skip("the owner of a dump", "not root", tap.ROOT)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    with Driver() as driver:
        for words, wanted in ((("plain", 1), [str(NOBODY), "1"]), (("undumpable",), [str(NOBODY), "0"])):
            with Target("states", *words, **as_nobody) as target:
                tap.equal(driver.capture(target.pid)["resumed"][1:], wanted,
                          f"{words[0]}: the owner of its dump, and whether it may see it")


def which_process(tap):
    with Driver() as driver, Target("states", "plain", 2) as target:
        starttime = dump(target.pid)["process"]["starttime"]
        tap.check("report" in driver.capture(target.pid, f"starttime={starttime}"),
                  "the right start time")
        tap.equal(refusal(driver.capture(target.pid, f"starttime={starttime + 1}")),
                  ("process_changed", "none"), "a wrong start time")
        for how in (1, 2):
            got = driver.capture(target.pid, f"pidfd={how}")
            tap.equal(got.get("report", {}).get("process", {}).get("pid"), target.pid,
                      f"pidfd={how}: the process of the pidfd")
        with Target("states", "plain", 0) as only, Target("states", "trace", only.pid) as tracer:
            got = driver.capture(only.pid, f"stop={ALWAYS}")
            tap.equal(got.get("failed", [])[:3], ["already_traced", "none", str(tracer.pid)],
                      "traced by another: who it is")
            if not driver.iterator_refused:
                tap.equal(how_captured(driver.capture(only.pid)["report"]), {"iterator"},
                          "traced by another: captured without a stop")
        target.process.kill()
        # The target's first thread may be one before the others have ended.
        wait_until(lambda: status_field(target.pid, target.pid, "State")[:1] == "Z"
                   and os.listdir(f"/proc/{target.pid}/task") == [str(target.pid)], "the target to be a zombie")
        tap.equal(refusal(driver.capture(target.pid, "pidfd=1")), ("zombie", "none"), "a zombie")


def limits(tap):
    with Target("states", "plain", 2) as target:
        with Driver("dump_max=1000") as driver:
            tap.equal(refusal(driver.capture(target.pid)), ("limit", "none"), "a dump too large")
        with Driver() as driver:
            got = driver.capture(target.pid, "memory_mib=1")
            tap.check(("report" in got) != ("failed" in got), "next to no memory: an answer", got)
            whole(tap, driver, target.pid, "and the next one")


def hostile_files(tap):
    """Damaged files lead into every error path: none of them may need what the sandbox forbids."""
    program = os.path.join(TARGETS, "hostile_files")
    with open(program, "rb") as file:
        data = file.read()
    keep = code_range(program)
    cases = list(variants(3, data, Elf(data).regions(), HOSTILE_FILES, keep))
    cases += special_files(data, keep)
    bad, dumps = [], 0
    with tempfile.TemporaryDirectory() as scratch, Driver() as driver:
        for begin in range(0, len(cases), HOSTILE_BATCH):
            batch = cases[begin:begin + HOSTILE_BATCH]
            paths = [os.path.join(scratch, str(n)) for n in range(len(batch))]
            for path, (_, content) in zip(paths, batch):
                with open(path, "wb") as file:
                    file.write(content)
            with Target("hostile_files", *paths) as target:
                at_rest(target)
                got = driver.capture(target.pid)
                dumps += "report" in got
                if "report" not in got and "failed" not in got:
                    bad.append((begin, [what for what, _ in batch], got))
    tap.equal(bad, [], f"{len(cases)} damaged files: no worker died")
    tap.check(dumps >= len(cases) // HOSTILE_BATCH // 2, "damaged files: most gave a dump", dumps)


def worker_of(driver):
    """The pid of the worker that was just ordered; 0 when it has ended already."""
    words = driver.line()
    if words[:1] != ["worker"]:
        raise RuntimeError(f"no worker was started: {words}")
    return max(0, int(words[1]))


def send(pid, signo):
    """False when it has ended: driver and test share no parent, so ask before."""
    if pid == 0:
        return False
    try:
        os.kill(pid, signo)
        return True
    except ProcessLookupError:
        return False


def at_random(tap, signo, times, what):
    """A signal to workers at random instants of their lives."""
    generator = seeded(signo)
    with Storm() as storm, Driver() as driver:
        beats, _ = storm.check(tap, [0] * THREADS, f"{what}: before")
        seconds = run_time(storm.pid)
        hits, stuck, bad = 0, [], []
        for n in range(10 * times):
            if n >= times and hits >= times // 3:
                break
            driver.order(storm.pid, f"stop={(AUTO, ALWAYS)[n % 2]}")
            worker = worker_of(driver)
            end = time.perf_counter() + generator.uniform(0, seconds)
            while time.perf_counter() < end:
                pass
            sent = send(worker, signo)
            got = driver.answer()
            hits += sent and "report" not in got
            if "failed" in got or "error" in got:
                bad.append((n, got))
            left = let_go(storm.pid)
            if left:
                stuck.append((n, left))
        storm.check(tap, beats, f"{what}: after {n}")
        tap.equal((stuck, bad), ([], []), f"{what}: the target is let go, the stream just ends")
        tap.check(hits >= times // 3, f"{what}: many came in time", f"{hits} of {n}")
        report = driver.capture(storm.pid).get("report", {})
        tap.equal(report.get("process", {}).get("pid"), storm.pid, f"{what}: the next one works")


def workers_killed(tap):
    at_random(tap, signal.SIGKILL, KILLS, "workers killed")


def workers_crash(tap):
    at_random(tap, signal.SIGSEGV, CRASHES, "workers that crash")


def workers_hang(tap):
    """A worker that does not go on is ended at the deadline; the target does not wait for that."""
    with Storm() as storm, Driver() as driver:
        beats, _ = storm.check(tap, [0] * THREADS, "hang: before")
        for n in range(HANGS):
            driver.order(storm.pid, "deadline_ms=1500", f"stop={(ALWAYS, AUTO)[n % 2]}")
            send(worker_of(driver), signal.SIGSTOP)
            tap.equal(let_go(storm.pid), [], f"hang {n}: the target is let go")
            got = driver.answer()
            tap.check("killed" in got or "report" in got, f"hang {n}: ended at the deadline", got)
        storm.check(tap, beats, "hang: after")
        tap.check("report" in driver.capture(storm.pid), "hang: the next one works")


def spawner_slow(tap):
    """A spawner that gets no turn for a while, as on a machine that has more to do than it can."""
    with Target("threads", 2, 5) as target, Driver() as driver:
        os.kill(driver.spawner, signal.SIGSTOP)
        driver.order(target.pid)
        time.sleep(1.5)  # longer than that must not be taken for dead
        os.kill(driver.spawner, signal.SIGCONT)
        tap.check("report" in driver.answer(), "a spawner that is slow: the dump comes")


def spawners_killed(tap):
    generator = seeded(7)
    with Storm() as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "spawner killed: before")
        seconds, stuck, bad, hits = run_time(storm.pid), [], [], 0
        for n in range(10 * SPAWNER_KILLS):
            if n >= SPAWNER_KILLS and hits >= SPAWNER_KILLS // 4:
                break
            with Driver() as driver:
                driver.order(storm.pid, f"stop={(AUTO, ALWAYS)[n % 2]}")
                end = time.perf_counter() + generator.uniform(0, seconds)
                while time.perf_counter() < end:
                    pass
                os.kill(driver.spawner, signal.SIGKILL)
                got = driver.answer()
                hits += "report" not in got
                after = driver.capture(storm.pid)
                if after.get("error", [""])[0] != "io":
                    bad.append((n, got, after))
            left = let_go(storm.pid)
            if left:
                stuck.append((n, left))
        storm.check(tap, beats, "spawner killed: after")
        tap.equal((stuck, bad), ([], []),
                  "spawner killed: its worker ends too, the target is let go, the broker is told")
        tap.check(hits >= SPAWNER_KILLS // 4, "spawner killed: captures were under way",
                  f"{hits} of {n}")


def latency(tap):
    """Order to dump, against the whole run of the command, 100 threads with names."""
    with Target("states", "plain", 99) as target, Driver() as driver:
        times, direct = [], []
        for _ in range(LATENCY_RUNS):  # in turn: the machine's other work is the same for both
            times.append(int(driver.capture(target.pid)["dump"][1]) / 1e3)
            direct.append(run_time(target.pid, times=1) * 1e3)
        print(f"# 100 threads: order to dump median {median(times):.1f} ms, slowest "
              f"{max(times):.1f} ms; the command {median(direct):.1f} ms", flush=True)
        # A worker is as fast as the command; a timer or a wait in its way would be many times that, and what the
        # machine does meanwhile, which is not the same for both, is not.
        tap.check(median(times) <= 3 * median(direct) or min(times) <= 3 * min(direct),
                  "a worker is not much slower than the command",
                  (median(times), median(direct), min(times), min(direct)))


if __name__ == "__main__":
    Tap.main(same_as_direct, stops, without_iterator, deep_stack, privileges, of_user, ambient, permission, reload, owner,
             which_process, limits, hostile_files, workers_killed, workers_crash, workers_hang, spawner_slow, spawners_killed,
             latency)
