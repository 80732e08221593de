#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 15s
"""The greenlet that a thread runs (gevent): its own Python functions, and the end of its stack, which is where it began:
what lies above on the thread's stack is of other greenlets."""
import os
import subprocess

from harness import Tap, patient_dump, snapwalk, stack_of, wait_until
from interpreted import text_of
from judge import Judge, cut_in_stack

PYTHON = "/usr/bin/python3"
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "python", "greenlets.py")
FIRST = "greenlet::UserGreenlet::inner_bootstrap"
STOPS = int(os.environ.get("SNAPWALK_PYTHON_STOPS", "100"))


class Greenlets:
    def __init__(self, how, depth):
        self.process = subprocess.Popen([PYTHON, PROGRAM, how, str(depth)], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.pid = int(self.process.stdout.readline())
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("greenlets.py did not begin")
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def python_names(stack):
    return [f["function"] for f in stack["frames"] if f["kind"] == "cpython"]


def wrong(stack):
    """None when it is the running greenlet's, and only that."""
    names = python_names(stack)
    if cut_in_stack(stack) is not None:
        return cut_in_stack(stack)
    if names != ["inner", "middle", "outer"]:
        return f"functions {names}"
    if not (stack["frames"][-1]["function"] or "").startswith(FIRST):
        return f"it ends in {stack['frames'][-1]['function']}"
    if not {f["trust"] for f in stack["frames"]} <= {"context", "cfi", "runtime"}:
        return "a guess"
    return None


def check_blocked(tap, depth):
    with Greenlets("block", depth) as target:
        def blocked():
            report = patient_dump(target.pid, status=(0, 3))
            return "sleep" in (stack_of(report, target.pid)["frames"][0]["function"] or "")
        wait_until(blocked, "the greenlet to block")
        report = patient_dump(target.pid)
        tap.equal(wrong(stack_of(report, target.pid)), None, f"depth {depth}: blocked, with others above")
        text = snapwalk(target.pid, check=True).stdout
        tap.check("the stack is cut" not in text and "middle" in text, f"depth {depth}: text", text)


def check_busy(tap, depth):
    with Greenlets("spin", depth) as target, Judge(tap, "python.greenlets", f"depth {depth}") as judge:
        for look in judge.looks(target.pid, STOPS):
            stack = stack_of(look.report, target.pid)
            judge.verdict(look, cut_in_stack(stack), wrong(stack), text_of(stack))


def main():
    tap = Tap()
    if subprocess.run([PYTHON, "-c", "import gevent"], capture_output=True, check=False).returncode != 0:
        tap.skip("greenlets", f"{PYTHON} has no gevent", "apt install python3-gevent")
    else:
        for depth in (0, 40):
            tap.guard(check_blocked, depth)
            tap.guard(check_busy, depth)
    tap.done()


if __name__ == "__main__":
    main()
