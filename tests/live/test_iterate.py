#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""The task iterator (libwalk/iterate) against ptrace, /proc and threads that know what they wrote.

SNAPWALK_COPIES=1000000 makes the adversarial test that long; words are the functions to run.
"""
import os
import platform
import re
import signal
import subprocess
import time

from harness import TARGETS, Tap, Target, no_mounts, state_of, tool, wait_blocked, wait_until
from safety import tasks

DRIVER = os.path.join(TARGETS, "drive_iterate")
COPIES = int(os.environ.get("SNAPWALK_COPIES", "30000"))
NO_PROGRAMS = "built without the task iterator"


def drive(*args, command=(DRIVER,), status=0, limit=900):
    """The driver's lines: [(first word, {key: value})]."""
    done = subprocess.run([*command, *map(str, args)], capture_output=True, text=True,
                          timeout=limit, check=False)
    if done.returncode != status:
        raise RuntimeError(f"{args}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
    return [(line.split(" ")[0], dict(re.findall(r"(\w+)=(\S*)", line)))
            for line in done.stdout.splitlines()]


def lines(all_lines, word):
    return [fields for first, fields in all_lines if first == word]


def threads(pid, *args, **more):
    """{tid: fields} of one pass."""
    return {int(t["tid"]): t for t in lines(drive("list", pid, *args, **more), "thread")}


def refusal():
    """Why the iterator cannot be here; None: it must work."""
    said = subprocess.run([DRIVER, "list", str(os.getpid())], capture_output=True, text=True,
                          check=False).stdout
    version = tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", platform.release()).groups())
    if NO_PROGRAMS in said:
        return NO_PROGRAMS
    if version < (6, 1):
        return f"Linux {platform.release()}"
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "a kernel without BTF"
    if os.geteuid() != 0:
        return "needs root"
    return None


def proc_syscall(pid, tid):
    """(sp, pc) of a blocked thread, by the kernel's own words."""
    with open(f"/proc/{pid}/task/{tid}/syscall") as file:
        words = file.read().split()
    return (words[-2], words[-1]) if len(words) > 2 else None


def settled(pid, state="S", number=None):
    """Waits until all threads are in that state."""
    wait_until(lambda: {state_of(pid, tid) for tid in tasks(pid)} == {state} and
               (number is None or len(tasks(pid)) == number), f"all threads of {pid} in {state}")


# ---- registers ----------------------------------------------------------------------------------

def registers_as_ptrace(tap):
    for name, args in (("states", ("plain", 40)), ("blocking", (0, 0)), ("chain_pie", ()),
                       ("chain_framepointer", ()), ("chain_musl", ())):
        with Target(name, *args) as target:
            settled(target.pid)
            count = len(tasks(target.pid))
            out = drive("registers", target.pid)
            said = lines(out, "registers")[0]
            tap.equal((said["threads"], said["compared"], said["different"]),
                      (str(count), str(count), "0"), f"{name}: registers of {count} threads equal "
                      "ptrace's")
            tap.equal(lines(out, "different"), [], f"{name}: none differs")


def fields_as_proc(tap):
    with Target("states", "plain", 5) as target:
        settled(target.pid, number=6)
        for tid, thread in threads(target.pid).items():
            base = f"/proc/{target.pid}/task/{tid}"
            with open(f"{base}/stat") as file:
                stat = file.read().rsplit(")", 1)[1].split()
            with open(f"{base}/schedstat") as file:
                cpu_ns = file.read().split()[0]
            with open(f"{base}/status") as file:
                switches = re.findall(r"ctxt_switches:\s+(\d+)", file.read())
            with open(f"{base}/comm") as file:
                comm = file.read().strip()
            tap.equal({"state": thread["state"], "flags": thread["flags"],
                       "start": int(thread["start_ns"]) * os.sysconf("SC_CLK_TCK") // 10**9,
                       "cpu_ns": thread["cpu_ns"], "switches": thread["switches"],
                       "comm": thread["comm"], "last": thread["last"],
                       "code": (thread["sp"], thread["pc"])},
                      {"state": stat[0], "flags": stat[6], "start": int(stat[19]),
                       "cpu_ns": cpu_ns, "switches": ",".join(switches), "comm": comm,
                       "last": str(int(tid == tasks(target.pid)[-1])), "code": proc_syscall(target.pid, tid)},
                      f"thread {tid - target.pid}: all fields as in /proc")


def waits(tap):
    begin = time.monotonic_ns()
    with Target("states", "plain", 1) as target:
        settled(target.pid)

        def waited():
            return min(int(t["waits_ns"]) for t in threads(target.pid).values())
        wait_until(lambda: waited() > 300_000_000, "300 ms of waiting to be said")
        said, most = waited(), time.monotonic_ns() - begin
        tap.check(said <= most + 50_000_000, "waiting is not longer than the process lives",
                  f"{said} ns of {most}")


def pidfd_and_threads_that_are_gone(tap):
    with Target("states", "plain", 2) as target:
        settled(target.pid, number=3)
        tids = [int(t["tid"]) for t in lines(drive("pidfd", target.pid), "thread")]
        tap.equal(tids, tasks(target.pid), "by pidfd: the same threads in the same order")
        tap.equal(list(threads(target.pid)), tids, "by pid: the same")
        other = target.pid
    tap.equal(drive("list", other)[0], ("pass", {"threads": "0", "overflow": "0"}),
              "a process that is gone has no threads")


def overflow(tap):
    with Target("states", "plain", 200) as target:
        settled(target.pid, number=201)
        for space in (1, 92, 93, 94, 200):
            tap.equal(drive("list", target.pid, space)[-1],
                      ("pass", {"threads": str(space), "overflow": "1"}),
                      f"space for {space} of 201 threads: it is said")
        tap.equal(drive("list", target.pid, 201)[-1],
                  ("pass", {"threads": "201", "overflow": "0"}), "space for all")


# ---- states -------------------------------------------------------------------------------------

def uninterruptible(tap):
    with Target("states", "vfork_parent") as target:
        wait_until(lambda: "D" in {state_of(target.pid, tid) for tid in tasks(target.pid)},
                   "the vfork parent to wait")
        parent = [t for t in threads(target.pid).values() if t["state"] == "D"]
        tap.equal(len(parent), 1, "vfork parent: it is there, in state D")
        tap.equal((parent[0]["registers"], (parent[0]["sp"], parent[0]["pc"])),
                  ("1", proc_syscall(target.pid, parent[0]["tid"])),
                  "vfork parent: its registers")
        target.send("release")


def traced_by_another(tap):
    with Target("states", "plain", 2) as target:
        settled(target.pid, number=3)
        before = threads(target.pid)
        with Target("states", "trace", target.pid) as tracer:
            after = threads(target.pid)
            tap.equal(after[target.pid]["tracer"], str(tracer.pid), "seized: the tracer is named")
            tap.equal((after[target.pid]["pc"], after[target.pid]["sp"],
                       after[target.pid]["registers"]),
                      (before[target.pid]["pc"], before[target.pid]["sp"], "1"),
                      "seized: registers as before")
        tap.equal(threads(target.pid)[target.pid]["tracer"], "0", "let go: no tracer is named")
        if not tool("strace"):
            tap.skip("under strace: registers of all threads", "it is not installed",
                     "package strace")
            return
        with subprocess.Popen([tool("strace"), "-f", "-o", "/dev/null", "-p", str(target.pid)],
                              stderr=subprocess.DEVNULL) as strace:
            try:
                wait_until(lambda: all(t["tracer"] != "0" for t in threads(target.pid).values()),
                           "strace to hold all")
                settled(target.pid)
                now = threads(target.pid)
                tap.equal([(t["pc"], t["sp"]) for t in now.values()],
                          [proc_syscall(target.pid, tid)[::-1] for tid in now],
                          "under strace: registers of all threads")
            finally:
                strace.terminate()
                strace.wait()


def stopped_by_a_signal(tap):
    with Target("states", "plain", 2) as target:
        settled(target.pid, number=3)
        before = threads(target.pid)
        os.kill(target.pid, signal.SIGSTOP)
        settled(target.pid, "T")
        after = threads(target.pid)
        tap.equal([(t["state"], t["registers"], t["pc"], t["sp"]) for t in after.values()],
                  [("T", "1", t["pc"], t["sp"]) for t in before.values()],
                  "SIGSTOP: state T and the registers")
        tap.equal(lines(drive("registers", target.pid), "registers")[0]["different"], "0",
                  "SIGSTOP: as ptrace's")
        os.kill(target.pid, signal.SIGCONT)


def zombie_leader(tap):
    with Target("states", "zombie_leader") as target:
        # The others may not have begun to wait when the first one has ended.
        wait_until(lambda: [state_of(target.pid, tid) for tid in tasks(target.pid)] == ["Z", "S", "S"],
                   "the first thread to end, the others to wait")
        now = threads(target.pid)
        tap.equal([(t["state"], t["registers"]) for t in now.values()],
                  [("Z", "0"), ("S", "1"), ("S", "1")], "a dead first thread, and two that live")
        tap.equal([t["last"] for t in now.values()], ["0", "0", "1"], "a single thread is the last")


def io_uring_worker(tap):
    with Target("states", "io_worker") as target:
        if any(line.startswith("unavailable") for line in target.lines):
            tap.skip("io_uring worker", "io_uring is not offered here",
                     "sysctl kernel.io_uring_disabled=0, a container that lets it through")
            return
        wait_until(lambda: len(tasks(target.pid)) > 1, "the worker")
        settled(target.pid)
        now = threads(target.pid)
        tap.equal(now[target.pid]["worker"], "0", "io_uring: the program's thread is none")
        workers = [t for t in now.values() if t["worker"] == "1"]
        tap.equal([t["registers"] for t in workers], ["0"] * (len(now) - 1),
                  "io_uring: workers have no registers")


def on_a_cpu(tap):
    """More threads than CPUs that run: some are on one at times, the others have been preempted."""
    with Target("restless", os.cpu_count() + 4) as target:
        seen = set()

        def both():
            for thread in threads(target.pid).values():
                seen.add((thread["on_cpu"], thread["registers"]))
            return os.cpu_count() == 1 or ("1", "0") in seen
        wait_until(both, "a thread on a CPU")
        tap.check(("1", "1") not in seen, "no registers of a thread that is on a CPU", seen)
        tap.check(("0", "1") in seen, "registers of the others", seen)


def program_of_32_bits(tap):
    with Target("i386") as target:
        wait_until(lambda: state_of(target.pid) == "S", "it to wait")
        now = threads(target.pid)
        tap.equal([t["bits"] for t in now.values()], ["32"], "32-bit code is marked")
    with Target("states", "plain", 0) as target:
        tap.equal([t["bits"] for t in threads(target.pid).values()], ["64"], "64-bit code is not")


def after_execve(tap):
    with Target("states", "exec", 1) as target:
        target.send("go")
        wait_until(lambda: target.readline() == "exec done", "the second program")
        settled(target.pid)
        now = threads(target.pid)
        with Target("states", "plain", 0) as plain:
            settled(plain.pid)
            once = int(threads(plain.pid)[plain.pid]["exec"])
        tap.check(int(now[target.pid]["exec"]) > once, "each execve() counts",
                  f"{now[target.pid]['exec']} after {once}")
        tap.equal(now[target.pid]["in_exec"], "0", "the exec is over")


# ---- pid namespaces -----------------------------------------------------------------------------

def namespace_seen_from_outside(tap):
    with Target(None, "-p", "-f", "--kill-child", os.path.join(TARGETS, "states"), "plain", 3,
                path=tool("unshare")) as target:
        with open(f"/proc/{target.pid}/task/{target.pid}/children") as children:
            inner = int(children.read().split()[0])
        settled(inner, number=4)
        wanted = {}
        for tid in tasks(inner):
            with open(f"/proc/{inner}/task/{tid}/status") as file:
                wanted[tid] = re.search(r"NSpid:.*\s(\d+)\n", file.read()).group(1)
        for how in ("list", "pidfd"):
            seen = {int(t["tid"]): t["inner"] for t in lines(drive(how, inner), "thread")}
            tap.equal(seen, wanted, f"{how}: thread ids outside and inside of a pid namespace")


def namespace_seen_from_inside(tap):
    if no_mounts():
        tap.skip("inside a pid namespace", no_mounts(), tap.MOUNTS)
        return
    script = (f"{TARGETS}/states plain 3 <&3 >/dev/null & target=$!; "
              "until [ $(ls /proc/$target/task | wc -l) = 4 ]; do :; done; "
              f"ls /proc/$target/task; {DRIVER} list $target; {DRIVER} pidfd $target; "
              "unshare -p -f --mount-proc "
              f"sh -c '{TARGETS}/states plain 1 <&3 >/dev/null & "
              "until [ $(ls /proc/$!/task | wc -l) = 2 ]; do :; done; "
              f"ls /proc/$!/task; {DRIVER} list $!'")
    read_end, write_end = os.pipe()
    try:
        done = subprocess.run([tool("unshare"), "-p", "-f", "--kill-child", "--mount-proc", "sh",
                               "-c", f"exec 3<&{read_end}; {script}"], capture_output=True,
                              text=True, pass_fds=(read_end,), timeout=60, check=False)
    finally:
        os.close(read_end)
        os.close(write_end)
    listed = [int(tid) for tid in re.findall(r"^(\d+)$", done.stdout, re.M)]
    found = [(int(tid), int(inner)) for tid, inner in re.findall(r"tid=(\d+) inner=(\d+)", done.stdout)]
    tap.equal(len(listed), 6, "inside pid namespaces: two targets")
    # ls sorts them as words. How many processes begin before a target's threads do is not known: only
    # the target itself has the number behind its shell's.
    outer, inner = sorted(listed[:4]), sorted(listed[4:])
    tap.equal(found[:4], [(tid, tid) for tid in outer], "inside: the threads' ids, by pid")
    tap.equal(found[4:8], [(tid, tid) for tid in outer], "inside: the threads' ids, by pidfd")
    tap.equal((found[8:], inner[:1]), ([(tid, tid) for tid in inner], [2]),
              "inside of the inside: the ids there")


# ---- who may, and what is said ------------------------------------------------------------------

def without_privileges(tap):
    """A worker that was sent the link makes as many passes as it likes; one iterator is one pass."""
    with Target("states", "plain", 2) as target:
        settled(target.pid, number=3)
        out = drive("handover", target.pid, 3)
        tap.equal(lines(out, "unprivileged"), [{"load": "not_permitted"}],
                  "without capabilities nothing is loaded")
        whole, empty = ({"result": "ok", "threads": str(n), "registers": str(int(n > 0))}
                        for n in (3, 0))
        tap.equal(lines(out, "iterator"), [whole, empty], "an iterator that was sent: one pass")
        tap.equal(lines(out, "rewind"), [{"offset": "-1"}], "the iterator cannot be rewound")
        tap.equal(lines(out, "link"), [whole] * 3, "a link that was sent: one pass after another")


def refusals(tap):
    disabled = r"( \(kernel.unprivileged_bpf_disabled is set\))?"
    for how, code, message in (
            ("caps", "not_permitted", r"the task iterator needs CAP_BPF and CAP_PERFMON" + disabled),
            ("bpf", "not_permitted", r"the task iterator needs CAP_BPF" + disabled),
            ("perfmon", "not_permitted", r"the task iterator needs CAP_PERFMON" + disabled),
            ("eperm", "not_permitted", r"bpf\(\) is refused by a system call filter or .*"),
            ("enosys", "not_permitted", r"bpf\(\) is not there: a system call filter .*")):
        said = subprocess.run([DRIVER, "refuse", how], capture_output=True, text=True,
                              check=True).stdout.strip()
        tap.check(re.fullmatch(rf"load result=refused code={code} message={message}", said),
                  f"refused ({how}): the reason", said)
    tap.equal(lines(drive("refuse", "least"), "load")[0]["result"], "ok",
              "CAP_BPF and CAP_PERFMON are enough")


# ---- the proof ----------------------------------------------------------------------------------

def restless(*args):
    """A target, and what the driver must know of it."""
    symbols = dict(reversed(line.split()[::2]) for line in subprocess.run(
        [tool("nm"), os.path.join(TARGETS, "restless")], capture_output=True, text=True,
        check=True).stdout.splitlines() if len(line.split()) == 3)
    where = [symbols[f"restless_{name}"] for name in ("loop", "stored", "counted", "end", "turns")]
    return Target("restless", *args), where


def nothing_torn(tap):
    target, where = restless(64)
    with target:
        out = drive("torn", target.pid, COPIES, *where)
    copies = {key: int(value) for key, value in lines(out, "copies")[0].items()}
    tap.equal(copies["torn_accepted"], 0, f"{copies['accepted']} accepted copies: 0 torn")
    tap.check(copies["accepted"] > COPIES // 20, "many are accepted", copies)
    tap.check(copies["in_loop"] > 0 or COPIES < 10000, "some in the middle of writing", copies)
    if os.cpu_count() > 1:
        tap.check(copies["torn_rejected"] > 0,
                  f"of {copies['rejected']} that were refused {copies['torn_rejected']} are torn",
                  copies)
    print(f"# {copies}\n# {lines(out, 'windows')[0]}", flush=True)


def quiescent_is_still(tap):
    target, where = restless(4, 95)
    with target:
        out = drive("torn", target.pid, COPIES // 3, *where)
    windows = {key: int(value) for key, value in lines(out, "windows")[0].items()}
    tap.equal(windows["moved_quiescent"], 0,
              f"{windows['quiescent']} quiescent windows: nobody ran in one")
    tap.check(windows["quiescent"] > 0, "there were some", windows)
    tap.check(windows["moved_disturbed"] > 0, "in others somebody ran", windows)


def time_of_a_pass(tap):
    with Target("states", "plain", 1000) as target:
        settled(target.pid, number=1001)
        out = drive("time", target.pid, 200)
        said = lines(out, "time")[0]
        tap.equal(said["threads"], "1001", "1,001 threads in a pass")
        tap.check(float(said["best_cpu_us"]) < 5000, f"best {said['best_cpu_us']} us of CPU, mean "
                  f"{said['mean_cpu_us']}", out)
        tap.check(float(lines(out, "load")[0]["best_cpu_us"]) < 20000,
                  f"loaded in {lines(out, 'load')[0]['best_cpu_us']} us of CPU")


if __name__ == "__main__":
    Tap.main(registers_as_ptrace, fields_as_proc, waits, pidfd_and_threads_that_are_gone, overflow, uninterruptible,
             traced_by_another, stopped_by_a_signal, zombie_leader, io_uring_worker, on_a_cpu, program_of_32_bits, after_execve,
             namespace_seen_from_outside, namespace_seen_from_inside, without_privileges, refusals, nothing_torn,
             quiescent_is_still, time_of_a_pass,
             skip=("the task iterator", refusal(), "root that may load programs (CAP_BPF, CAP_PERFMON), Linux 5.8 or newer with BTF"))
