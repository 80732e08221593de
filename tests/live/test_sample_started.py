#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 25s
"""`snapwalk sample -- PROGRAM`: the program runs as if it had been started alone, and there is a profile of it."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from harness import SNAPWALK, TARGETS, Tap, public, snapwalk, wait_until  # noqa: E402

PYTHON = sys.executable
# The surroundings that a program is given by the process that starts it.
SURROUNDINGS = """
env | sort
ulimit -n
grep -E '^(SigB|SigI|SigC|SigP|Cap|NoNewPrivs|Seccomp)' /proc/self/status
ls /proc/self/fd | wc -l
cut -d " " -f 5,6,19 /proc/self/stat
"""
BURN = """
import time
def burn(end):
    while time.process_time() < end:
        pass
burn(float({seconds}))
print("done")
"""


def sample(*words, **more):
    return snapwalk("sample", *words, **more)


def test_status(tap):
    result = sample("--", "sh", "-c", "echo out; echo err >&2; sleep 2; exit 7")
    tap.equal((result.returncode, result.stdout), (7, "out\n"), "exit status and standard output are the program's")
    tap.check(re.search(r"^err$", result.stderr, re.M) and re.search(r"^sh, pid \d+: ", result.stderr, re.M),
              "the profile is on standard error, behind what the program says there", result.stderr)
    tap.equal(sample("--", "sh", "-c", "kill -KILL $$").returncode, 137, "a program that a signal ends")
    result = sample("--", "/nonexistent/program")
    tap.check(result.returncode == 127 and "/nonexistent/program: it cannot be started: No such file" in result.stderr,
              "a program that is not there", result)
    result = sample("--", "/etc/passwd")
    tap.check(result.returncode == 126 and "it cannot be started: Permission denied" in result.stderr,
              "a file that is no program", result)
    result = sample("--", "true")
    tap.check(result.returncode == 0 and "process" not in result.stderr, "a program that ends at once", result)
    result = sample("--mode", "cpu", "-r", "1", "--", "sh", "-c", "exit 7")
    tap.equal((result.returncode, result.stderr),
              (7, "snapwalk: sh: it ended before it had used CPU time for a sample (no_samples): sample more often with "
                  "--rate, or all its time with --mode wall\n"), "a program that ends before the first sample of CPU time")
    result = sample("--mode", "cpu", "-d", "1", "--", "sh", "-c", "sleep 2; exit 7")
    tap.check(result.returncode == 7 and "--mode off says what the threads wait for" in result.stderr and
              "it ended" not in result.stderr, "a program that used no CPU time until --duration", result)


def test_setuid(tap):
    """A program that its user may not look at any more was refused: it is not said to have ended."""
    program = public(shutil.which("sleep"))
    os.chmod(program, 0o4755)
    if os.geteuid() != 0 or os.statvfs(program).f_flag & os.ST_NOSUID:
        tap.skip("setuid", "no program of another user can be started", "root, a /tmp without nosuid")
        return
    result = sample("--mode", "cpu", "-d", "1", "--", program, "2", user="nobody")
    tap.check("it ended" not in result.stderr and result.stderr.count("snapwalk: ") == 1, "a program of more rights is refused, once", result)


def test_profile(tap):
    with tempfile.TemporaryDirectory() as directory:
        for mode in ("wall", "cpu"):
            path = os.path.join(directory, f"{mode}.json")
            result = sample("--mode", mode, "-r", "50", "--max-load", "100", "-o", path, "--", PYTHON, "-c", BURN.format(seconds=2))
            tap.equal((result.returncode, result.stdout), (0, "done\n"), f"{mode}: the program is not disturbed")
            with open(path) as file:
                text = file.read()
            profile = json.loads(text)
            tap.equal(profile["mode"], mode, f"{mode}: the profile's mode")
            tap.check('"burn"' in text, f"{mode}: the function that runs is in the profile", text[:2000])
            tap.check("sw_" not in text, f"{mode}: no function of snapwalk is", text[:2000])


def test_surroundings(tap):
    environment = dict(os.environ, DEBUGINFOD_URLS="http://127.0.0.1:9/", SNAPWALK_X="1")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "p.folded")
        # As a service manager or a shell might start it.
        def prepare():
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])

        program = ["sh", "-c", SURROUNDINGS]
        run = {"capture_output": True, "text": True, "env": environment, "timeout": 120}
        alone = subprocess.run(program, preexec_fn=prepare, restore_signals=False, **run)
        sampled = subprocess.run([SNAPWALK, "sample", "-o", path, "--", *program], preexec_fn=prepare,
                                 restore_signals=False, **run)
        tap.equal(sampled.stdout, alone.stdout, "environment, limits, signals, capabilities and files are as without it")


def test_signals(tap):
    script = 'trap "echo got TERM; exit 5" TERM; trap "echo got USR1" USR1; echo ready; while :; do sleep 0.1; done'
    with subprocess.Popen([SNAPWALK, "sample", "-o", "/dev/null", "--", "sh", "-c", script], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as process:
        tap.equal(process.stdout.readline(), "ready\n", "the program runs")
        process.send_signal(signal.SIGUSR1)
        tap.equal(process.stdout.readline(), "got USR1\n", "SIGUSR1 is passed on")
        process.send_signal(signal.SIGTERM)
        tap.equal((process.stdout.read(), process.wait()), ("got TERM\n", 5), "SIGTERM is passed on, and the status kept")


def test_duration(tap):
    """The profile is there after --duration, and the program goes on until it ends by itself."""
    with tempfile.TemporaryDirectory() as directory:
        path, end = os.path.join(directory, "p.json"), os.path.join(directory, "end")
        parent = "grep PPid /proc/$$/status"
        script = f'{parent}; while [ ! -e "{end}" ]; do sleep 0.05; done; sleep 0.3; {parent}; exit 9'
        with subprocess.Popen([SNAPWALK, "sample", "-d", "1", "-o", path, "--", "sh", "-c", script],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            wait_until(lambda: os.path.exists(path), "the profile")
            tap.equal(process.poll(), None, "the program goes on behind the profile")
            with open(end, "w"):
                pass
            before, after = process.stdout.read().splitlines()
            tap.equal(after, before, "the program's parent is still there")
            tap.equal(process.wait(), 9, "the program's exit status is kept, however long it runs")


def test_killed(tap):
    """SIGKILL to snapwalk leaves the program as it is."""
    with subprocess.Popen([SNAPWALK, "sample", "-o", "/dev/null", "--", "sh", "-c", "echo $$; exec sleep 600"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()

        def tracer_and_state():
            with open(f"/proc/{pid}/status") as file:
                text = file.read()
            return re.search(r"^TracerPid:\s+(\d+)", text, re.M).group(1), re.search(r"^State:\s+(\w)", text, re.M).group(1)

        wait_until(lambda: tracer_and_state() == ("0", "S"), "the program to be as before")
        tap.check(True, "the program outlives snapwalk")
        os.kill(pid, signal.SIGKILL)


def test_no_pidfd(tap):
    """Where pidfd_open() is refused, the program's end is seen and signals are passed on all the same."""
    prefix = [os.path.join(TARGETS, "without"), "pidfd_open", "--", SNAPWALK, "sample", "-o", "/dev/null"]
    result = subprocess.run([*prefix, "--", "sh", "-c", "sleep 0.5; exit 3"], capture_output=True, text=True, timeout=20)
    tap.equal(result.returncode, 3, "without pidfd_open(): the exit status is the program's")
    script = 'trap "echo got TERM; exit 5" TERM; trap "echo got USR1" USR1; echo ready; while :; do sleep 0.1; done'
    for words, when in (([], "while it is sampled"), (["-d", "1"], "behind the profile")):
        with subprocess.Popen([*prefix, *words, "--", "sh", "-c", script], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, start_new_session=True) as process:
            try:
                tap.equal(process.stdout.readline(), "ready\n", f"without pidfd_open(), {when}: the program runs")
                if words:
                    wait_until(lambda: "sh" in names_of_children(process.pid), "the one that captures to end")
                process.send_signal(signal.SIGUSR1)
                process.send_signal(signal.SIGTERM)
                output = process.communicate(timeout=20)[0]
                tap.equal((output.splitlines()[-1:], process.returncode), (["got TERM"], 5),
                          f"without pidfd_open(), {when}: signals are passed on, and the status kept")
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def names_of_children(pid):
    return subprocess.run(["ps", "-o", "comm=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()


def test_refused(tap):
    for words, pattern in ((["--"], "no program is given"), (["1", "--", "true"], "a process and a program are given"),
                           (["--json", "--", "true"], "standard output is the program's.*give -o FILE"),
                           (["--via", "daemon", "--", "true"], "the daemon starts no programs")):
        result = sample(*words)
        tap.check(result.returncode == 2 and re.search(pattern, result.stderr), f"refused: sample {' '.join(words)}", result)
    if os.geteuid() != 0:
        tap.skip("a program that cannot be sampled is not started", "not root", tap.ROOT)
        return
    with tempfile.TemporaryDirectory() as directory:
        ran = os.path.join(directory, "ran")
        result = sample("-o", os.path.join(directory, "no", "such"), "--", "touch", ran)
        tap.check(result.returncode == 1 and not os.path.exists(ran),
                  "where the profile cannot be written, the program is not started", result)


if __name__ == "__main__":
    Tap.main(test_status, test_setuid, test_profile, test_surroundings, test_signals, test_duration, test_killed, test_no_pidfd,
             test_refused)
