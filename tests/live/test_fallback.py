#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Kernels that lack a system call give the same dump (targets/without.c takes it away)."""
import os

from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, errors_of, iterator_refused, may_be_realtime, state_of,
                     wait_until)
from safety import NO_BTF, capture, frames_of, held, run, tasks, without_btf

WITHOUT = os.path.join(TARGETS, "without")
CASES = (
    ["process_vm_readv"],
    ["pidfd_open"],
    ["pidfd_send_signal"],
    ["sched_setscheduler=EPERM", "sched_setattr=EPERM"],
    ["sched_setscheduler", "sched_setattr"],
    ["openat2", "statx"],
    ["memfd_create", "close_range"],
    ["madvise", "mlock"],
    ["bpf=EPERM"],
    ["bpf"],
    ["process_vm_readv", "pidfd_open", "pidfd_send_signal", "sched_setscheduler", "openat2",
     "statx"],
)


def settled_frames(target, **more):
    """(frames, report) of a dump of threads that all wait: not of some that a stop before this one has let
    go, and that get no turn on a busy machine."""
    wait_until(lambda: {state_of(target.pid, t) for t in tasks(target.pid)} == {"S"},
               "all threads to wait")
    report = capture(target.pid, status=(0,), **more)
    return frames_of(report), report


def same_without(tap, target):
    normal, _ = settled_frames(target)
    tap.equal(len(normal), 9, "nine threads were captured")
    for calls in CASES:
        frames, _ = settled_frames(target, command=[WITHOUT, *calls, "--", SNAPWALK])
        tap.equal(frames, normal, f"same stacks without {' '.join(calls)}")
        tap.equal(held(target.pid), [], f"and nothing held without {' '.join(calls)}")


def without_iterator(tap, target):
    """bpf() is refused, as in a container: all threads are stopped, and the reason is said."""
    for how in ("bpf=EPERM", "bpf"):
        command = [WITHOUT, how, "--", SNAPWALK]
        report = capture(target.pid, status=(0,), command=command)
        tap.equal((report["timings"]["n_stopped"], {t["captured_by"] for t in report["threads"]}),
                  (9, {"ptrace"}), f"{how}: all threads are stopped")
        code, out, err, _ = run("dump", "-v", *PATIENT, target.pid, command=command)
        tap.check(code == 0 and "All threads were stopped: bpf() is" in out,
                  f"{how}: -v says why", out[:400] + err)
        code, out, err, _ = run("dump", "--json", "--stop", "never", target.pid, command=command)
        tap.check(code != 0 and out == "" and "cannot be captured without a stop: bpf() is" in err
                  and err.count("\n") == 1, f"{how}: --stop never is refused, in one line", err)
        code, out, err, _ = run("doctor", command=command)
        tap.check("bpf() is" in out, f"{how}: doctor says it", out + err)
        tap.equal(held(target.pid), [], f"{how}: nothing held")


def without_types(tap, target):
    """A kernel without BTF: the same stacks by ptrace, and all say what the iterator needs."""
    prefix = without_btf()
    if prefix is None:
        tap.skip("a kernel without BTF", "not root, or no mount namespace of its own", Tap.ROOT)
        return
    command = [*prefix, SNAPWALK]
    normal, _ = settled_frames(target)
    frames, report = settled_frames(target, command=command)
    tap.equal(frames, normal, "no BTF: same stacks")
    tap.equal((report["timings"]["n_stopped"], {t["captured_by"] for t in report["threads"]},
               report["timings"]["stopped_why"]), (9, {"ptrace"}, NO_BTF),
              "no BTF: all threads are stopped, and the dump says why")
    code, out, err, _ = run("dump", "-v", *PATIENT, target.pid, command=command)
    tap.check(code == 0 and f"All threads were stopped: {NO_BTF}" in out, "no BTF: -v says why", out[:400] + err)
    code, out, err, _ = run("dump", "--json", "--stop", "never", target.pid, command=command)
    tap.check(code != 0 and out == "" and f"cannot be captured without a stop: {NO_BTF}" in err
              and err.count("\n") == 1, "no BTF: --stop never is refused, in one line", err)
    code, out, err, _ = run("doctor", command=command)
    tap.check(NO_BTF in out, "no BTF: doctor says it", out + err)
    tap.equal(held(target.pid), [], "no BTF: nothing held")


def without_realtime(tap, target):
    """The lack of real-time priority is said, whether threads are stopped or not."""
    command = [WITHOUT, "sched_setscheduler=EPERM", "--", SNAPWALK]
    for how in ("auto", "always"):
        report = capture(target.pid, "--stop", how, status=(0,), command=command)
        tap.equal(report["timings"].get("realtime_refused"), True, f"--stop {how}, no real-time priority: it is said")
        code, out, err, _ = run("dump", "-v", "--stop", how, *PATIENT, target.pid, command=command)
        tap.check(code == 0 and out.count("  Real-time priority was refused (CAP_SYS_NICE): ") == 1,
                  f"--stop {how}: -v says it", (out, err))
    if may_be_realtime():
        tap.check("realtime_refused" not in capture(target.pid, status=(0,))["timings"], "where it is not: nothing")
    else:
        tap.skip("real-time priority that is permitted", "CAP_SYS_NICE is missing", "sudo outside of containers")


def never_without_ptrace(tap, target):
    """Nothing is stopped where nothing runs, so ptrace() is not needed."""
    report = capture(target.pid, "--stop", "never", status=(0,),
                     command=[WITHOUT, "ptrace=EPERM", "--", SNAPWALK])
    tap.equal({t["captured_by"] for t in report["threads"]}, {"iterator"},
              "--stop never: ptrace() is not called")


def without_ptrace(tap, target):
    code, out, err, _ = run("dump", "--json", "--stop", "always", target.pid,
                            command=[WITHOUT, "ptrace=EPERM", "--", SNAPWALK])
    tap.equal((code, out), (77, ""), "without ptrace: exit status 77, no output")
    tap.equal([(one["about"], one["code"]) for one in errors_of(err)], [(str(target.pid), "not_permitted")],
              "without ptrace: one clear line")


def main():
    tap = Tap()
    with Target("states", "plain", 8) as target:
        tap.guard(same_without, target)
        tap.guard(without_ptrace, target)
        tap.guard(without_realtime, target)
        if iterator_refused():
            tap.skip("the task iterator", iterator_refused())
        else:
            tap.guard(without_iterator, target)
            tap.guard(without_types, target)
            tap.guard(never_without_ptrace, target)
    tap.done()


if __name__ == "__main__":
    main()
