# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that the benchmark and the runtime checks look at: started, settled, ended."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
JAVA_THREADS = 52
PYTHON_THREADS = 20


def wait_for(condition, what, seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise TimeoutError(f"waited {seconds} s for {what}")


def thread_ids(pid):
    return sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))


def settled(pid, rounds=10):
    """True when no thread came, went or ran for a while: what can be compared."""
    def marks():
        result = {}
        for tid in thread_ids(pid):
            try:
                with open(f"/proc/{pid}/task/{tid}/schedstat") as stat:
                    result[tid] = stat.read().split()[0]
            except OSError:
                pass
        return result
    last = marks()
    for _ in range(rounds):
        time.sleep(0.02)
        now = marks()
        if set(now) != set(last) or sum(now[t] != last[t] for t in now) > len(now) // 10:
            return False
        last = now
    return True


class Program:
    """A process that says when it is ready. Ended with all it started."""

    def __init__(self, name, command, ready="ready", errors=subprocess.DEVNULL, directory=None):
        self.name, self.command, self.ready = name, command, ready
        self.errors = errors
        self.directory = directory  # removed at the end

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, start_new_session=True)
        self.pid = self.process.pid
        for line in self.process.stdout:
            if line.startswith(self.ready):
                return self
        raise RuntimeError(f"{self.name}: ended before it was ready")

    def settle(self):
        wait_for(lambda: settled(self.pid), f"{self.name} to become quiet")
        return self

    def __exit__(self, *exc):
        # The session is its own, so that this ends what the program started and nothing else.
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)


def workload(build, threads, frames):
    return Program(f"{threads} threads", [os.path.join(build, "tests", "targets", "threads"),
                                          str(threads), str(frames)])


def busy(build, threads):
    return Program(f"{threads} busy threads", [os.path.join(build, "tests", "targets", "states"),
                                               "spin", str(threads)])


def java(build):
    classes = os.path.join(build, "tests", "bench")
    source = os.path.join(HERE, "IdleThreads.java")
    compiled = os.path.join(classes, "IdleThreads.class")
    if not os.path.exists(compiled) or os.path.getmtime(compiled) < os.path.getmtime(source):
        os.makedirs(classes, exist_ok=True)
        subprocess.run(["javac", "-d", classes, source], check=True)
    return Program("java", ["java", "-cp", classes, "IdleThreads", str(JAVA_THREADS)])


def node(_build):
    return Program("node", ["node", os.path.join(HERE, "idle_node.js")])


def python(_build):
    return Program("python3", ["/usr/bin/python3", os.path.join(HERE, "idle_threads.py"),
                               str(PYTHON_THREADS)])


def chromium(_build):
    profile = tempfile.mkdtemp(prefix="snapwalk-bench-")
    return Program("chromium", ["/usr/bin/chromium", "--headless", "--no-sandbox", "--disable-gpu",
                                "--disable-quic", "--no-first-run",
                                "--disable-background-networking", "--disable-component-update",
                                "--disable-sync", f"--user-data-dir={profile}",
                                "--remote-debugging-port=0", "about:blank"],
                   ready="DevTools listening", errors=subprocess.STDOUT, directory=profile)


REAL = {"java": (java, ("java", "javac")), "node": (node, ("node",)),
        "python3": (python, ("/usr/bin/python3",)), "chromium": (chromium, ("chromium",))}


def installed(name):
    """The first program that is missing for it, None when all are there."""
    return next((tool for tool in REAL[name][1] if shutil.which(tool) is None), None)


def start(name, build):
    """A real program, running and quiet: a context manager."""
    program = REAL[name][0](build)
    print(f"starting {name}", file=sys.stderr)
    return program
