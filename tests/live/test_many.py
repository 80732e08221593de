#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Several processes by one command: each dump is what it is alone, whoever is read by the same child; and which are."""
import contextlib
import json
import os
import signal
import subprocess
import tempfile

from harness import PATIENT, SNAPWALK, TARGETS, Tap, Target, dump, hangs_s, no_mounts, no_user_namespaces, public, snapwalk, wait_blocked

NAME = "named"
HUNDRED = 100  # twice as many as a child reads together, for each of two CPUs
WAITS = (0, 35, 202, 230, 232, 281)  # read, nanosleep, futex, clock_nanosleep, epoll_wait, epoll_pwait
APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


# The command's words behind these: as if a file had other contents, in a mount namespace of its own.
UNLIKE = ("unshare", "--mount", "sh", "-ec")
YAMA = "mount -t tmpfs none /proc/sys/kernel; mkdir /proc/sys/kernel/yama; echo %d >/proc/sys/kernel/yama/ptrace_scope;"
LABEL = "mount -t tmpfs none /mnt; echo '%s' >/mnt/label; for p; do mount --bind /mnt/label /proc/$p/attr/current; done;"


def attacked(*pids, change=None):
    """Each child that reads processes ends by a signal where it makes its second report."""
    env = {**os.environ, "ATTACK": "second", "LD_PRELOAD": os.path.join(TARGETS, "attack.so")}
    words = [SNAPWALK, "dump", "--json", "--symbols", "names", *PATIENT]
    if change is not None:
        words = [*UNLIKE, f'{change} exec {" ".join(words)} "$@"', "sh"]
    run = subprocess.run([*words, *map(str, pids)], env=env, capture_output=True, text=True)
    return run, [json.loads(line) for line in run.stdout.splitlines()]


def plain(report):
    """Returns the part that does not change from one dump to the next of a process that sleeps. Its peer is this test,
    which runs."""
    kept = {key: value for key, value in report.items()
            if key not in ("id", "seq", "time", "timings", "uptime_ms", "peers")}
    kept["threads"] = [{key: value for key, value in thread.items()
                        if key not in ("cpu_ns", "since_ms", "blocked_on")} for thread in report["threads"]]
    return kept


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return int(children.read().split()[0])


def started(stack, *words):
    """Start a further process, by another program that becomes it or starts it."""
    target = stack.enter_context(Target(NAME, *words[1:], public(os.path.join(TARGETS, NAME)), path=words[0])
                                 if words else Target(public(os.path.join(TARGETS, NAME)),
                                                      path=public(os.path.join(TARGETS, NAME))))
    pid = child_of(target.pid) if words[:1] == ("unshare",) else target.pid
    wait_blocked(pid)
    return pid


def same_as_alone(tap, pids, what):
    alone = [plain(dump(pid)) for pid in pids]
    run = snapwalk("dump", "--json", *PATIENT, *pids)
    together = [json.loads(line) for line in run.stdout.splitlines()]
    tap.equal(run.returncode, 0, f"{what}: status")
    tap.equal([report["process"]["pid"] for report in together], pids, f"{what}: in the order of the words")
    tap.equal([report["seq"] for report in together], list(range(1, len(pids) + 1)), f"{what}: numbers")
    for pid, report, expected in zip(pids, together, alone):
        tap.equal(plain(report), expected, f"{what}: {pids.index(pid)}: as alone")


def a_crash_takes_no_other_along(tap, pids):
    run, reports = attacked(*pids)
    tap.equal(run.stderr.count("attack: second"), 1, "a child read several of one kind, and ended")
    tap.equal([report["process"]["pid"] for report in reports], pids, "all are there, in order")
    tap.equal(run.returncode, 0, "status")


def has_child_of_its_own(tap, pids, what, change=None):
    run, reports = attacked(*pids, change=change)
    tap.equal(run.stderr.count("attack: second"), 0, f"{what}: read by another child")
    tap.equal([report["process"]["pid"] for report in reports], pids, f"{what}: all are there")


def shares_a_child(tap, pids, what, change=None):
    run, reports = attacked(*pids, change=change)
    tap.equal(run.stderr.count("attack: second"), 1, f"{what}: read by one child")
    tap.equal([report["process"]["pid"] for report in reports], pids, f"{what}: all are there")


def who_may_not_be_read_by_its_like(tap, stack):
    """Processes with the same ids, of which one may not read the other."""
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    weak_root = ("setpriv", "--bounding-set", "-sys_ptrace")
    states = public(os.path.join(TARGETS, "states"))
    plain_ones = [started(stack, *nobody) for _ in range(2)]
    shares_a_child(tap, plain_ones, "of a user")
    for what, words in (("of a user", nobody), ("root without CAP_SYS_PTRACE", weak_root)):
        protected = [stack.enter_context(Target("setpriv", *words[1:], states, "undumpable", path="setpriv")).pid
                     for _ in range(2)]
        has_child_of_its_own(tap, protected, f"{what}: not dumpable")
    several = [started(stack, "setpriv", "--euid", "65534", "--bounding-set", "-sys_ptrace") for _ in range(2)]
    has_child_of_its_own(tap, several, "several ids")
    return plain_ones


def as_the_machine_permits(tap, roots, users):
    """The rules of Yama and labels of security modules, told by files in their place."""
    for scope, one_child in ((0, roots + users), (1, roots), (2, roots), (3, ())):
        for pids, what in ((roots, "root"), (users, "a user")):
            of_that_kind = shares_a_child if pids[0] in one_child else has_child_of_its_own
            of_that_kind(tap, pids, f"Yama {scope}: {what}", YAMA % scope)
    for label, one_child in (("unconfined", True), ("system_u:system_r:httpd_t:s0", False), ("profile (enforce)", False)):
        of_that_kind = shares_a_child if one_child else has_child_of_its_own
        of_that_kind(tap, roots, f"label {label}", LABEL % label)
    shares_a_child(tap, roots, "nothing in the place of these files")


def of_another_user_namespace(tap, stack):
    why = no_user_namespaces()
    if why is not None:
        tap.skip("another user namespace", why, Tap.USERS)
        return
    first = stack.enter_context(Target("unshare", "--user", "--map-root-user", public(os.path.join(TARGETS, NAME)),
                                       path="unshare")).pid
    second = stack.enter_context(Target("nsenter", "--user", "--target", first, public(os.path.join(TARGETS, NAME)),
                                        path="nsenter")).pid
    for pid in (first, second):
        wait_blocked(pid)
    has_child_of_its_own(tap, [first, second], "another user namespace")


def hundred(tap, stack, gone):
    """The processes are so many that several children capture them, where there are several CPUs."""
    many = [started(stack) for _ in range(HUNDRED)]
    words = [*many[:60], gone, *many[60:]]
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "out")
        run = snapwalk("dump", "--json", *PATIENT, "-o", path, *words)
        with open(path) as out:
            reports = [json.loads(line) for line in out]
    tap.equal([report["process"]["pid"] for report in reports], many, "a hundred: all are there, in order")
    seqs = [report["seq"] for report in reports]
    tap.equal(seqs[:60], list(range(1, 61)), "a hundred: numbers before the one that has ended")
    tap.check(seqs == sorted(set(seqs)) and seqs[-1] <= len(words), "a hundred: numbers behind it", seqs)
    tap.check(run.returncode != 0 and f"{gone}" in run.stderr and run.stderr.count("\n") <= 2,
              "a hundred: it is said of the one that has ended", run.stderr)
    for i in (0, 23, 24, 99):
        tap.equal(plain(reports[i]), plain(dump(many[i])), f"a hundred: {i}: as alone")
    read, write = os.pipe()
    with subprocess.Popen([SNAPWALK, "dump", "--json", *PATIENT, *map(str, many)], stdout=write,
                          stderr=subprocess.PIPE, text=True) as run:
        os.close(write)
        os.read(read, 1000)
        os.close(read)
        said = run.communicate(timeout=hangs_s())[1]
    tap.equal(said, "", "a hundred: a reader that has read enough is no error")


def some_cannot_be(tap, pids, gone):
    run = snapwalk("dump", "--json", *PATIENT, pids[0], gone, *pids[1:])
    found = [json.loads(line)["process"]["pid"] for line in run.stdout.splitlines()]
    tap.equal(found, pids, "a process that has ended: the others are there")
    tap.check(f"{gone}" in run.stderr and run.returncode != 0, "the error is about the process that is gone", run.stderr)


def denied(tap, pids):
    """As another user, who may capture its own process only."""
    with Target(NAME, user="nobody") as own:
        wait_blocked(own.pid)
        run = snapwalk("dump", "--json", "--via", "direct", *PATIENT, pids[0], own.pid, pids[1], user="nobody")
    found = [json.loads(line)["process"]["pid"] for line in run.stdout.splitlines()]
    tap.equal(found, [own.pid], "processes of others: one's own is there")
    tap.equal(run.stderr.count("not_permitted"), 2, "the error is about both processes")


def main():
    tap = Tap()
    with contextlib.ExitStack() as stack:
        pids = [started(stack) for _ in range(4)]
        tap.check(True, "started")
        same_as_alone(tap, pids, "of one kind")
        a_crash_takes_no_other_along(tap, pids[:2])
        with Target(NAME) as target:
            gone = target.pid
            target.process.send_signal(signal.SIGKILL)
            os.waitid(os.P_PID, gone, os.WEXITED | os.WNOWAIT)
            some_cannot_be(tap, pids, gone)
            with contextlib.ExitStack() as crowd:
                hundred(tap, crowd, gone)
        sandboxed = started(stack, "setpriv", "--no-new-privs")
        has_child_of_its_own(tap, [sandboxed, started(stack, "setpriv", "--no-new-privs")], "no_new_privs")
        other = stack.enter_context(Target("threads", 3, 5))
        wait_blocked(other.pid, calls=WAITS)
        same_as_alone(tap, [pids[0], other.pid, pids[1], sandboxed, pids[2]], "of several kinds")
        if os.geteuid() != 0:
            tap.skip("other users and namespaces", "not root", Tap.ROOT)
            tap.done()
        denied(tap, pids)
        fewer = started(stack, "setpriv", "--bounding-set", "-sys_admin")
        has_child_of_its_own(tap, [pids[0], fewer], "fewer capabilities")
        user = started(stack, "setpriv", "--reuid", "65534", "--clear-groups")
        has_child_of_its_own(tap, [pids[0], user], "another user")
        users = who_may_not_be_read_by_its_like(tap, stack)
        why = no_mounts()
        if why is not None:
            tap.skip("namespaces", why, Tap.MOUNTS)
            tap.done()
        as_the_machine_permits(tap, pids[:2], users)
        of_another_user_namespace(tap, stack)
        inside = started(stack, *APART)
        has_child_of_its_own(tap, [pids[0], inside], "another container")
        same_as_alone(tap, [pids[0], inside, pids[1]], "with a container's")
    tap.done()


if __name__ == "__main__":
    main()
