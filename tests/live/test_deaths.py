#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 60s
"""snapwalk on death: the last stack of a process that exits, crashes, is killed or has no memory, and why it ends; nothing is
said of what kills nobody, and no code of the process is changed.
"""
import json
import os
import re
import signal
import subprocess
import time

from harness import SNAPWALK, Tap, Target, iterator_refused, snapwalk, wait_until
from safety import wait_confined

GROUPS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"))
MEMORY = 48 << 20


class Run:
    """The command, from when its programs are at the trace points and all else is open."""

    def __init__(self, *args):
        self.process = subprocess.Popen([SNAPWALK, "on", "death", *map(str, args)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        wait_confined(self.process, "events begin")

    def end(self):
        """Waits for it: (status, answer, standard error)."""
        out, err = self.process.communicate()
        return self.process.returncode, json.loads(out) if out.startswith("{") else out, err


def functions(answer):
    return [frame["function"] for frame in (answer.get("stack") or {"frames": []})["frames"]]


def dies(name, *args, how, options=("--json",)):
    """The answer for a target that dies as it is told."""
    with Target(name, *args) as target:
        run = Run(*options, target.pid)
        how(target)
        return target.pid, *run.end()


def exits(tap):
    """exit() of a thread, the return of main(), and who made them."""
    pid, status, answer, err = dies("deaths", how=lambda t: t.send("exit"))
    tap.equal((status, answer["cause"], answer.get("status")), (0, "exit", 3), "exit(): its status")
    tap.check("leave" in functions(answer) and "exits" in functions(answer) and answer["tid"] != pid,
              "exit(): the stack of the thread that made it", answer)
    tap.equal((answer.get("stack") or {}).get("end"), "complete", "exit(): the whole stack")
    pid, status, answer, err = dies("deaths", how=lambda t: t.send("return"))
    tap.equal((status, answer["cause"], answer.get("status")), (0, "exit", 4), "the return of main(): its status")
    pid, status, out, err = dies("deaths", how=lambda t: t.send("exit"), options=())
    tap.check(re.search(rf"^deaths, pid {pid}, \d+ s: exit status 3 by exit\(\) from leave deaths\.c:\d+\nthread \d+  .*leave .* < "
                        r"exits ", out, re.M), "exit() in text", out)


def crashes(tap):
    """A fault, and abort(), of the first thread and of another one."""
    for thread in ("main", "thread"):
        for how, name, address in (("write", "SIGSEGV", "0x10"), ("divide", "SIGFPE", None), ("abort", "SIGABRT", None)):
            pid, status, answer, err = dies("crash", thread, how, how=lambda t: t.send(""))
            tap.equal((status, answer["cause"], answer.get("signal")), (0, "signal", name), f"{thread} {how}: the signal")
            if address:
                tap.equal((answer.get("address"), answer.get("code")), (address, "SEGV_MAPERR"), f"{thread} {how}: its address")
            tap.check(any((f or "").startswith("fall") for f in functions(answer)) and (answer["tid"] == pid) == (thread == "main"),
                      f"{thread} {how}: the stack of the thread that had it", answer)  # abort() is in fall.cold
    pid, status, out, err = dies("crash", "main", "write", how=lambda t: t.send(""), options=())
    tap.check("killed by SIGSEGV at address 0x10 (nothing is mapped there)\n" in out, "a fault in text", out)


def kills(tap):
    """Signals of another process, and of itself."""
    me = {"pid": os.getpid(), "uid": os.getuid()}
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGQUIT, signal.SIGHUP):
        pid, status, answer, err = dies("deaths", how=lambda t, n=number: os.kill(t.pid, n))
        sender = answer.get("sender", {})
        tap.equal((status, answer["cause"], answer.get("signal"), answer.get("code")), (0, "signal", number.name, "SI_USER"),
                  f"{number.name} of another process")
        tap.equal({key: sender.get(key) for key in me}, me, f"{number.name}: who has sent it")
        tap.check(functions(answer) and (answer.get("stack") or {}).get("end") == "complete", f"{number.name}: a whole stack", answer)
    # The kernel ends all threads at once, also for a signal to one: the one that raised it is shown.
    for how, function in {"raise": "raises", "kill": "kills"}.items():
        for _ in range(5):
            pid, status, answer, err = dies("deaths", how=lambda t, how=how: t.send(how))
            tap.equal((answer.get("signal"), answer.get("sender", {}).get("pid"), (answer.get("stack") or {}).get("end")),
                      ("SIGUSR1", pid, "complete"), f"{how}: a signal to itself")
            tap.check(function in functions(answer), f"{how}: the thread that raised it", answer)
    pid, status, out, err = dies("deaths", how=lambda t: os.kill(t.pid, signal.SIGTERM), options=())
    tap.check(re.search(rf"killed by SIGTERM, sent by python3\S*, pid {os.getpid()}, uid {os.getuid()}\n", out), "kill in text", out)


def memory(tap):
    """The kernel kills it, as its control group has no memory."""
    for top, limit in GROUPS:
        path = os.path.join(top, f"snapwalk-{os.getpid()}")
        try:
            os.mkdir(path)
            with open(os.path.join(path, limit), "w") as file:
                file.write(str(MEMORY))
            break
        except OSError as error:
            why = error
            if os.path.isdir(path):
                os.rmdir(path)
    else:
        tap.skip("out of memory", str(why), "a control group for memory")
        return
    try:
        with Target("deaths") as target:
            with open(os.path.join(path, "cgroup.procs"), "w") as file:
                file.write(str(target.pid))
            run = Run("--json", target.pid)
            target.send("memory")
            status, answer, err = run.end()
            tap.equal((status, answer["cause"], answer.get("signal")), (0, "out_of_memory", "SIGKILL"), "out of memory")
            tap.check("main" in functions(answer) or answer["tid"] != target.pid, "out of memory: the stack", answer)
    finally:
        wait_until(lambda: not open(os.path.join(path, "cgroup.procs")).read(), "the group is empty")
        os.rmdir(path)


def survives(tap):
    """Signals that kill nobody are no death; afterwards the process is seen to die."""
    with Target("deaths") as target:
        run = Run("--json", target.pid)
        target.send("survive")
        wait_until(lambda: target.readline() == "done", "it has survived")
        tap.equal(run.process.poll(), None, "handlers, ignored signals, stops, ends of threads and children are no death")
        target.send("exec")
        wait_until(lambda: target.readline() == "ready", "it is the program again")
        tap.equal(run.process.poll(), None, "another program is no death")
        time.sleep(0.3)  # maps of the new one are read 20 ms after it came, at the next look
        target.send("exit")
        status, answer, err = run.end()
        tap.equal((status, answer["cause"], answer.get("status"), "leave" in functions(answer)), (0, "exit", 3, True),
                  "afterwards it is seen to exit")
    with Target("deaths") as target:
        with Target("deaths") as other:
            run = Run("--json", target.pid)
            other.send("exit")
            other.process.wait()
            tap.equal(run.process.poll(), None, "the death of another process is none of it")
            run.process.send_signal(signal.SIGINT)
            status, answer, err = run.end()
            tap.equal((status, answer["cause"]), (0, "lives"), "one that lives on")
    result = snapwalk("on", "death", "1", "--each")
    tap.check(result.returncode == 2 and "a process dies once" in result.stderr, "--each is refused", result.stderr)


if __name__ == "__main__":
    Tap.main(exits, crashes, kills, memory, survives, skip=("deaths", iterator_refused(), Tap.ROOT))
