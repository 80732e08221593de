#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Following instructions to the return: at random instants of busy programs it says the same as call
frame information, or nothing; and it finds the callers of code that has no tables."""
import os
import re
import subprocess
import sys
import tempfile

from harness import TARGETS, Tap, dump, own_functions, stack_of, wait_blocked

BUSY = {
    "sort": ["sort", "/dev/urandom"],
    "perl": ["perl", "-e", "while(1){my %h; $h{$_ x 3}=[$_] for 1..1000; join(',',sort keys %h)=~/9+8/}"],
    "python": [sys.executable, "-c", "import json\nwhile 1: json.loads(json.dumps({str(i):[i]*5 for i in range(100)}))"],
}
MUSL = """
#include <pthread.h>
#include <unistd.h>
static void *worker(void *arg) { for (;;) pause(); return arg; }
__attribute__((noinline)) static int inner(int n, pthread_t t)
{
    void *r;
    if (n > 0) return inner(n - 1, t) + 1;
    pthread_join(t, &r);
    return 1;
}
int main(void) { pthread_t t; pthread_create(&t, 0, worker, 0); return inner(3, t); }
"""


def test_same_as_tables(tap, name):
    times = int(os.environ.get("SNAPWALK_STOPS", "100"))
    # sort writes files, which nobody would remove when it is killed.
    with tempfile.TemporaryDirectory() as scratch:
        busy = subprocess.Popen(BUSY[name], stdout=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=scratch))
        try:
            run = subprocess.run([os.path.join(TARGETS, "drive_instructions"), str(busy.pid), str(times)],
                                 capture_output=True, text=True, timeout=300)
        finally:
            busy.kill()
            busy.wait()
    counts = {k: int(v) for k, v in re.findall(r"^(same|other|declined) (\d+)$", run.stdout, re.M)}
    tap.check(run.returncode == 0 and counts.get("same", 0) > times and counts.get("other") == 0,
              f"{name}: the same caller as by tables", run.stdout + run.stderr)


def test_musl(tap):
    """A static program whose C library has no call frame information."""
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "program")
        subprocess.run(["musl-gcc", "-g", "-O2", "-fno-optimize-sibling-calls", "-static", "-x", "c",
                        "-o", program, "-"], input=MUSL, text=True, check=True)
        target = subprocess.Popen([program])
        try:
            wait_blocked(target.pid, (34, 202))
            report = dump(target.pid)
        finally:
            target.kill()
            target.wait()
    tap.equal([n for n in own_functions(report, target.pid) if n in ("inner", "main")],
              ["inner"] * 4 + ["main"], "musl: every function of the program")
    frames = stack_of(report, target.pid)["frames"]
    names = [f.get("function") for f in frames]
    guesses = [f for f in frames[:names.index("main") + 1] if f["trust"] in ("frame_pointer", "scan_verified", "scan")]
    tap.equal(guesses, [], "musl: not its frames is a guess")


JUMPS = """
#include <pthread.h>
#include <unistd.h>
static void *worker(void *arg) { for (;;) pause(); return arg; }
__attribute__((noipa)) long wait_for(pthread_t t) { void *r; pthread_join(t, &r); return (long) r; }
__attribute__((noipa)) long serve(pthread_t t) { return wait_for(t) + 1; }
int main(void) { pthread_t t; pthread_create(&t, 0, worker, 0); return (int) serve(t) + 1; }
"""


def test_musl_jumps(tap, *options):
    """pthread_join() of musl jumps to another function: what called it is told by that."""
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "program")
        subprocess.run(["musl-gcc", "-g", "-O2", "-static", "-x", "c", "-o", program, "-"],
                       input=JUMPS, text=True, check=True)
        target = subprocess.Popen([program])
        try:
            wait_blocked(target.pid, (34, 202))
            report = dump(target.pid, *options, status=(0, 3))
        finally:
            target.kill()
            target.wait()
    words = " ".join(["musl, tail jumps", *options])
    names = [f.get("function") for f in stack_of(report, target.pid)["frames"] if not f["inlined"]]
    tap.check(names[-1] == "_start" and "pthread_timedjoin_np" in names, f"{words}: to the first frame", names)
    own = own_functions(report, target.pid)
    tap.equal([n for n in own if n in ("wait_for", "serve", "main")], ["wait_for", "serve", "main"],
              f"{words}: every function of the program")
    frames = stack_of(report, target.pid)["frames"]
    upto = [f.get("function") for f in frames].index("main")
    tap.check(not any(f.get("may_miss") for f in frames[:upto + 1]), f"{words}: nothing may be missing before main",
              frames)


if __name__ == "__main__":
    Tap.main(*((test_same_as_tables, name) for name in BUSY), test_musl, test_musl_jumps, (test_musl_jumps, "--walk", "scan"))
