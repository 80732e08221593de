#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 60s
"""snapwalk on func: each call of functions that programs call a known number of times, from known functions, is counted at
its stack, and no other; the target computes what it must, also when it forks, becomes another program, loads the code again, throws through
a function whose return is followed, or changes stacks; no breakpoint is left when the command ends or is killed.
"""
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from fuse import Fuse, enter_mounts
from harness import SNAPWALK, TARGETS, Tap, Target, iterator_refused, no_mounts, snapwalk, state_of, wait_until
from safety import wait_confined

ROUNDS, THREADS = 50, 2  # of tests/targets/functions.cc
N = ROUNDS * THREADS
PROGRAM = os.path.join(TARGETS, "functions")
WITHOUT_ADMIN = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")


class Run:
    """The command, from when the kernel has its breakpoints: the sandbox comes after that."""

    prefix = ()

    def __init__(self, *args):
        self.process = subprocess.Popen([*self.prefix, SNAPWALK, "on", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        wait_confined(self.process, "events begin")

    def end(self):
        """Tells it to end: (status, standard output, standard error)."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate()
        return self.process.returncode, out, err


def turn(tap, target, what="go"):
    target.send(what)
    said = []
    wait_until(lambda: said.append(target.readline()) or said[-1] in ("done", "wrong"), "the target has made its calls")
    if said[-1] != "done":
        tap.check(False, f"{what}: the target computes what it must", said)


def counted(tap, target, *args, turns=("go",)):
    run = Run(*args, "--json", target.pid)
    for what in turns:
        turn(tap, target, what)
    status, out, err = run.end()
    return status, json.loads(out) if out else {}, err


def functions(stack):
    return [frame["function"] for frame in stack.get("stack", stack)["frames"]]


def by(answer, name):
    return sum(s["count"] for s in answer["stacks"] if name in functions(s))


def code(pid, name):
    """The first bytes of a function of the program, as the process has them."""
    out = subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=True).stdout
    svma = next(int(words[0], 16) for words in map(str.split, out.splitlines()) if words[-1] == name)
    with open(f"/proc/{pid}/maps") as maps:
        base = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(PROGRAM))
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(base + svma)
        return memory.read(24)


def lacks_links(tap, name):
    """Whether the kernel puts programs into code for who has CAP_SYS_ADMIN alone: a skip."""
    lacks = tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) < (6, 10)
    if lacks:
        tap.skip(name, "the kernel puts programs into code for who has CAP_SYS_ADMIN", "Linux 6.10")
    return lacks


def exact(tap):
    """All counts are those that the program has."""
    with Target("functions") as target:
        for function, n, emulated in (("pushes", 3 * N, True), ("leaf", N, False), ("lands", N, True), ("loops", N, False),
                                      ("recurses", 4 * N, None), ("shop::basket::total", N, None),
                                      ("basket::add(int)", N, None), ("shop::basket::add(char const*)", N, None),
                                      ("basket::basket", N, None), ("_ZNK4shop6basket5totalEv", N, None)):
            status, answer, err = counted(tap, target, f"func:{function}")
            tap.equal((status, answer.get("events"), answer.get("lost")), (0, n, 0), f"{function}: all, none lost")
            tap.check(all(s["end"] == "complete" for s in answer.get("stacks", ())), f"{function}: whole stacks",
                      (answer, err))
            if emulated is not None:
                tap.equal([p["emulated"] for p in answer.get("places", ())], [emulated], f"{function}: its place")
        status, answer, err = counted(tap, target, "func:pushes")
        tap.equal((by(answer, "by_first"), by(answer, "by_second")), (N, 2 * N), "pushes: each at its stack")
        tap.equal((answer.get("function"), answer.get("module"), answer.get("changes_code")), ("pushes", "functions", True),
                  "it is said what is probed")
        status, answer, err = counted(tap, target, "func:recurses")
        depths = sorted(functions(s).count("recurses") for s in answer["stacks"])
        tap.equal(depths, [1, 2, 3, 4], "recurses: a stack of each depth")
        with Target("functions") as second:
            before = code(second.pid, "pushes")
            run = Run("func:pushes", "--json", target.pid)
            turn(tap, second)
            tap.equal(code(second.pid, "pushes"), before, "another process with the same program has no breakpoint")
            turn(tap, target)
            status, out, err = run.end()
            tap.equal(json.loads(out)["events"], 3 * N, "another process with the same program is not counted")


def destroyed(tap):
    """Destructors that call each other: as many events as objects, also where the code of one is within another one."""
    with Target("functions") as target:
        status, answer, err = counted(tap, target, "func:page::~page", turns=("destroy",))
        tap.equal((status, answer.get("events")), (0, ROUNDS), "a destructor that deletes, with the code of the other one")
        status, answer, err = counted(tap, target, "func:page::page", turns=("destroy",))
        tap.equal((status, answer.get("events")), (0, ROUNDS), "a constructor")
        turn(tap, target, "parts")
        for name, n in {"sheet": 2 * ROUNDS, "card": 2 * ROUNDS, "folder": ROUNDS}.items():
            status, answer, err = counted(tap, target, f"func:destroyed.so:{name}::~{name}", turns=("parts",))
            tap.equal((status, answer.get("events"), answer.get("lost")), (0, n, 0), f"destructors of {name}: one of each object")


def linked(tap):
    """Where the command may open no event of a probe, links of BPF put the programs into the code."""
    if lacks_links(tap, "links"):
        return
    Run.prefix = WITHOUT_ADMIN
    try:
        with Target("functions") as target:
            for function, n, *options in ("leaf", N), ("basket::add(int)", N), ("recurses", 4 * N, "--return"):
                status, answer, err = counted(tap, target, f"func:{function}", *options, turns=("fork", "vfork", "go"))
                tap.equal((status, answer.get("events"), answer.get("lost")), (0, n, 0), f"links, {function}: all, none lost")
                tap.check(all(s["end"] == "complete" for s in answer.get("stacks", ())), f"links, {function}: whole stacks", err)
    finally:
        Run.prefix = ()


def each(tap):
    """A line for each event with the registers that have the arguments; what is changed is said first."""
    with Target("functions") as target:
        os.sched_setaffinity(target.pid, {min(os.sched_getaffinity(0))})
        run = Run("func:twice", "--each", "--json", "--count", 7, target.pid)
        turn(tap, target)
        out, err = run.process.communicate()
        first, *lines = [json.loads(line) for line in out.splitlines()]
        tap.equal((first["schema"], first["pid"], first["function"], first["changes_code"], len(first["places"])),
                  ("snapwalk.probe/1", target.pid, "twice", True, 1), "--each: what is changed is said first")
        tap.equal([line["seq"] for line in lines], list(range(7)), "--each: so many, without a gap")
        tap.check(all(int(line["arguments"][1], 16) == 7 and int(line["arguments"][0], 16) < ROUNDS for line in lines),
                  "--each: arguments", lines)
        tap.check(all(functions(line)[:2] == ["twice", "by_first"] for line in lines), "--each: stacks", lines)
        run = Run("func:twice", "--each", "--args", "--count", 3, target.pid)
        turn(tap, target)
        out, err = run.process.communicate()
        tap.check(re.match(r"probes twice in functions: until this command ends the kernel has a breakpoint in the code of "
                           rf"process {target.pid}\n", out), "what is changed is said first", out)
        tap.equal(len(re.findall(r"^\d\d:\d\d:\d\d\.\d{3} \d+ twice\(0x[0-9a-f]+, 0x7, .*\)  twice functions\.cc:\d+ < "
                                 r"by_first", out, re.M)), 3, "--each --args in text")


def returns(tap):
    """When a function returns: its result and duration, and the stack of its caller; also where returns lie within one
    another."""
    with Target("functions") as target:
        run = Run("func:twice", "--return", "--each", "--json", target.pid)
        turn(tap, target)
        status, out, err = run.end()
        lines = [json.loads(line) for line in out.splitlines()][1:]
        tap.equal((status, len(lines)), (0, N), "--return: all")
        tap.check(all(int(line["result"], 16) == 7 * int(line["arguments"][0], 16) for line in lines),
                  "--return: the result belongs to the arguments", lines[:3])
        tap.check(all(functions(line)[0] == "by_first" and line["lasted_ns"] > 0 for line in lines),
                  "--return: the stack is that of the caller", lines[:3])
        status, answer, err = counted(tap, target, "func:recurses", "--return")
        depths = sorted(functions(s).count("recurses") for s in answer["stacks"])
        tap.equal((status, answer["events"], depths), (0, 4 * N, [0, 1, 2, 3]), "--return: of calls within one another")
        tap.check(all(s["end"] == "complete" and "work(void*)" in functions(s) for s in answer["stacks"]),
                  "--return: whole stacks, though the kernel has replaced addresses in them", answer["stacks"])
        status, answer, err = counted(tap, target, "func:pause_for", "--slower", "30ms", turns=("slow", "slow"))
        tap.equal((status, answer.get("events")), (0, 4), "--slower: those that last as long")
        tap.check(answer.get("longest_ns", 0) >= 60e6, "--slower: the longest", answer)
        tap.check(all(functions(s)[0] == "serve(void*)" for s in answer["stacks"]), "--slower: the caller", answer["stacks"])
        status, answer, err = counted(tap, target, "func:pause_for", "--slower", "10s", turns=("slow",))
        tap.equal((status, answer.get("events")), (0, 0), "--slower: none")
        status, answer, err = counted(tap, target, "func:pushes", "--return", turns=("fork", "go"))
        tap.equal((status, answer.get("events")), (0, 3 * N), "--return: a child that is forked is not counted")
        run = Run("func:recurses", "--return", target.pid)
        turn(tap, target)
        run.process.send_signal(signal.SIGKILL)
        run.process.communicate()
        turn(tap, target)
        run = Run("func:pause_for", "--slower", "30ms", "--each", "--count", 1, target.pid)
        turn(tap, target, "slow")
        out, err = run.process.communicate()
        tap.check(re.search(r" pause_for\(\) = 0x[0-9a-f]+ after \d\d+\.\d{3} ms  pause_for < serve\(void\*\) ", out), "--slower in text", out)
        tap.check(re.search(r"1 time pause_for\(\) of 30 ms or more, the longest \d+\.\d{3} ms", out), "--slower: the sum", out)


def left(answer):
    return answer.get("events"), answer.get("left_out"), answer.get("lost")


def unusual_returns(tap):
    """Calls that end another way than by a return of their own, on stacks that change, or deeper than 64: nothing of the target's stacks is
    changed, all is counted."""
    with Target("functions") as target:
        for function, what, wanted in (("throws_odd", "throw", (ROUNDS // 2, ROUNDS // 2 - 1, 0)),
                                       ("yields", "switch", (2 * ROUNDS, 0, 0)), ("recurses", "deep", (200, 0, 0)),
                                       ("jumps_away", "jumps", (ROUNDS, 0, 0))):
            status, answer, err = counted(tap, target, f"func:{function}", "--return", turns=(what,))
            tap.equal((status, left(answer)), (0, wanted), f"--return of {function}: events, left out, lost")
        status, answer, err = counted(tap, target, "func:recurses", "--return", "--stack-bytes", "32K", turns=("deep",))
        tap.equal(sorted(functions(s).count("recurses") for s in answer["stacks"]), list(range(200)),
                  "--return: a stack of each depth")
        for number in (signal.SIGKILL, signal.SIGINT):
            run = Run("func:lingers", "--return", target.pid)
            target.send("linger")
            wait_until(lambda: target.readline() == "in", "a call is under way")
            run.process.send_signal(number)
            run.process.communicate()
            turn(tap, target, "throw now")
            tap.equal(target.process.poll(), None, f"{number.name} during a call that then throws: the target goes on")
        run = Run("func:turns", "--return", target.pid)
        status, out, err = run.end()
        tap.check(status == 1 and "a loop comes back to its beginning" in err, "--return: a loop at the beginning", err)
        status, answer, err = counted(tap, target, "func:turns", turns=("turns",))
        tap.equal((status, answer.get("events"), [p["reentered"] for p in answer.get("places", ())]), (0, 3 * ROUNDS, [True]),
                  "a loop at the beginning is said")
        result = snapwalk("on", "func:turns", target.pid, "-d", "1")
        tap.check("turns of the loop are counted as calls" in result.stdout, "and in text", result.stdout)


def afterwards(tap):
    """The mapping of the kernel that stays keeps nobody from following the process."""
    with Target("functions") as target:
        status, answer, err = counted(tap, target, "func:leaf")
        tap.equal((status, answer.get("events")), (0, N), "a function that is stepped: all")
        with open(f"/proc/{target.pid}/maps") as maps:
            tap.check("[uprobes]" in maps.read(), "the mapping of the kernel stays")
        status, answer, err = counted(tap, target, "syscall:write")
        tap.check((status, answer.get("events")) == (0, 1) and answer["stacks"][0]["end"] == "complete",
                  "system calls are followed afterwards", (status, answer, err))
        for kind in ("fds", "threads", "maps", "timers", "shm", "epoll"):
            result = snapwalk("leaks", "--of", kind, target.pid, "-d", "1")
            tap.equal(result.returncode, 0, f"leaks --of {kind} afterwards")


def unusual_targets(tap):
    """Code that the kernel does not probe, or that it must not be asked to, and a process whose first thread has ended."""
    with Target("functions") as target:
        turn(tap, target, "writable")
        status, out, err = Run("func:pushes", target.pid).end()
        tap.check(status == 1 and "in a mapping that is writable" in err, "writable code is refused", err)
    with Target("functions") as target:
        run = Run("func:pushes", "--json", target.pid)
        turn(tap, target)
        turn(tap, target, "leave")
        out, err = run.process.communicate()
        tap.check(run.process.returncode == 3 and "there are no events after that" in err,
                  "a first thread that ends during the run is said", (run.process.returncode, err))
        tap.equal(json.loads(out)["events"], 3 * N, "and the events up to then are there")
        wait_until(lambda: state_of(target.pid) == "Z", "the first thread has ended")
        status, answer, err = counted(tap, target, "func:pushes")
        tap.check((status, answer.get("events")) == (0, 3 * N), "a process whose first thread has ended", (status, err, answer))
        target.process.stdin.close()
    why_not = no_mounts() or (None if os.path.exists("/dev/fuse") else "there is no /dev/fuse")
    if why_not:
        tap.skip("code on FUSE", why_not, f"{Tap.MOUNTS}, and /dev/fuse")
        return
    enter_mounts()
    with tempfile.TemporaryDirectory() as folder, open(PROGRAM, "rb") as file:
        with Fuse(folder, {"functions": file.read()}):
            process = subprocess.Popen([os.path.join(folder, "functions")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            process.stdout.readline()
            status, out, err = Run("func:pushes", process.pid).end()
            tap.check(status == 1 and "a file system that may not answer" in err, "code on FUSE is refused", err)
            process.stdin.close()
            process.wait()


def changes(tap):
    """The target forks, becomes another program, loads and unloads the library, and ends."""
    with Target("functions") as target:
        status, answer, err = counted(tap, target, "func:pushes", turns=("fork", "go"))
        tap.equal((status, answer.get("events")), (0, 3 * N), "a child that is forked is not counted")
        status, answer, err = counted(tap, target, "func:twice", turns=("vfork", "go"))
        tap.equal((status, answer.get("events")), (0, N), "a child that has the same memory is not counted")
        turn(tap, target, "load")
        status, answer, err = counted(tap, target, "func:called.so:library_called", turns=("load", "unload", "unload", "load"))
        tap.equal((status, answer.get("events"), answer.get("without_stack")), (0, 2 * ROUNDS, 0),
                  "a library that is unloaded and loaded again")
        turn(tap, target, "unload")
        status, out, err = Run("func:called.so:library_called", target.pid).end()
        tap.check(status == 2 and "no library called.so" in err, "a library that is not there", err)
        run = Run("func:pushes", "--json", target.pid)
        turn(tap, target)
        target.send("exec")
        wait_until(lambda: target.readline() == "ready", "it is the program again")
        turn(tap, target)
        status, out, err = run.end()
        tap.equal((status, json.loads(out or "{}").get("events")), (0, 6 * N), "a program that begins anew goes on")
        run = Run("func:pushes", "--json", target.pid)
        turn(tap, target)
        target.process.stdin.close()
        out, err = run.process.communicate()
        tap.equal((run.process.returncode, json.loads(out or "{}").get("events")), (0, 3 * N), "the command ends with it")


def killed(tap):
    """After the end, and after kill -9, the code is as it was."""
    with Target("functions") as target:
        before = {name: code(target.pid, name) for name in ("pushes", "leaf", "lands")}
        for name, at in (("pushes", 0), ("leaf", 0), ("lands", 6)):
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
                run = Run(f"func:{name}", target.pid)
                turn(tap, target)
                now = code(target.pid, name)
                tap.equal((now[at], now[:at] + now[at + 1:]), (0xcc, before[name][:at] + before[name][at + 1:]),
                          f"{name}: one breakpoint, at its place")
                run.process.send_signal(number)
                run.process.communicate()
                wait_until(lambda: code(target.pid, name) == before[name], "the code is as it was", 20)
                tap.equal(code(target.pid, name), before[name], f"{name}, {number.name}: the code is as it was")
                turn(tap, target)


def often(tap):
    """A function that is called without a pause: the command ends by itself and says so, but where it was told when."""
    for function in ("pushes", "leaf"):
        with Target("functions") as target:
            turn(tap, target, "often")
            result = snapwalk("on", f"func:{function}", target.pid, "--json")
            answer = json.loads(result.stdout)
            cost = answer["overhead"]
            tap.check(result.returncode == 3 and "more than 5 % of a CPU" in result.stderr,
                      f"{function}: too many calls end the command", (result.returncode, result.stderr))
            tap.check(cost["measured"] and cost["breakpoints"] * cost["breakpoint_ns"] > 1e8 and cost["share"] > 0.2,
                      f"{function}: what they took was measured", cost)
            result = snapwalk("on", f"func:{function}", target.pid, "-d", "2")
            tap.check("times a second" not in result.stderr and "µs longer on this machine" in result.stdout and
                      re.search(r"and \d+ breakpoints, [0-9.]+ µs each, [0-9.]+ % of the process", result.stdout),
                      f"{function}: with a duration the command goes on", (result.stdout[-200:], result.stderr))


def said(tap):
    """Messages about what cannot be, and about who may not."""
    for words, what in {("func:", "1"): "no function is named", ("func:libc:", "1"): "no function is named",
                        ("function:x", "1"): "there is no such event"}.items():
        result = snapwalk("on", *words)
        tap.check(result.returncode == 2 and what in result.stderr, f"{' '.join(words)}: {what}", result.stderr)
    for words, what in {("func:x", "--errno", "EIO"): "for system calls", ("syscall:read", "--slower", "1s"): "for functions",
                        ("func:x", "--slower", "5"): "it is 0, too large, or has no unit",
                        ("func:x", "--slower", "0ms"): "it is 0, too large, or has no unit"}.items():
        result = snapwalk("on", *words, "1")
        tap.check(result.returncode == 2 and what in result.stderr, f"{' '.join(words)}: {what}", result.stderr)
    with Target("functions") as target:
        for function, status, *whats in (
                ("twise", 2, "has no function twise (not_found): did you mean twice?"),
                ("shop::basket::totl", 2, "did you mean shop::basket::total?"),
                ("absent_function", 2, "inlined everywhere", f"(not_found): see what it has with 'nm -DC {PROGRAM}'"),
                ("add", 2, "2 functions have this name", "(invalid_argument): give one of them, as func:NAME@0xADDRESS"),
                ("functions:add", 2, "2 functions have this name", "(invalid_argument): give one of them, as func:functions:NAME@0xADDRESS"),
                ("leaf@0x1", 2, "leaf is not at 0x1: it is leaf@0x", "(not_found): give one of them, as func:NAME@0xADDRESS"),
                ("libnone:f", 2, "it has no library libnone", f"(not_found): see what it has mapped in /proc/{target.pid}/maps"),
                ("libx.so:f", 2, "it has no library libx.so", "did you mean libc.so.6, libm.so.6?"),
                ("chosen", 1, "(IFUNC) (unsupported): give the name of that code: its debug symbols have it"),
                ("picked", 1, f"(IFUNC) (unsupported): give the name of that code, as __picked_fast: 'snapwalk sample {target.pid}' "
                 "shows which runs"),
                ("__picked_fast", 0, ""),
                ("[vdso]:__vdso_time", 1, "is no ELF file")):
            result = snapwalk("on", f"func:{function}", target.pid, "-d", "1")
            tap.equal(result.returncode, status, f"func:{function}: exit status")
            for what in whats:
                tap.check(what in result.stderr, f"func:{function}: {what}", result.stderr)
        names = re.findall(r"shop::basket::add\([^)]*\)@0x[0-9a-f]+",
                           snapwalk("on", "func:add", target.pid, "-d", "1").stderr)
        tap.equal(len(names), 2, "functions of one name are listed")
        result = snapwalk("leaks", target.pid, "--of", "functions:add/twice", "-d", "1")
        tap.check(result.returncode == 2 and "(invalid_argument): give one of them, as NAME@0xADDRESS" in result.stderr,
                  "leaks of a name of several functions: pairs have no func:", result.stderr)
        for name in names + [f"functions:{names[0]}"] if names else []:
            status, answer, err = counted(tap, target, f"func:{name}")
            tap.equal((status, answer.get("events")), (0, N), f"{name.split('@')[0]}@ADDRESS is one of them")
        result = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set=-all", SNAPWALK, "on",
                                 "func:pushes", str(target.pid), "-d", "1"], capture_output=True, text=True)
        tap.check(result.returncode in (1, 77) and "not_permitted" in result.stderr, "a user without capabilities is refused",
                  (result.returncode, result.stderr))


def stopped_look_up(target, *args):
    """The command, and its process that looks the name up, which is stopped; None: that had ended already, or was not seen."""
    process = subprocess.Popen([SNAPWALK, "on", "func:pushes", str(target.pid), *args], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    child = None
    end = time.monotonic() + 5
    while child is None and process.poll() is None and time.monotonic() < end:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
            child = next(iter(children.read().split()[1:]), None)  # the first one measures breakpoints
    try:
        os.kill(int(child), signal.SIGSTOP)
        wait_until(lambda: state_of(int(child)) in "TZ", "it is stopped")
        if state_of(int(child)) == "T":
            return process, int(child)
    except (TypeError, OSError):
        pass
    process.kill()
    process.communicate()
    return None


def looked_up(tap):
    """The look-up of a name ends by Control-C, and at its deadline, also where what parses does not end."""
    with Target("functions") as target:
        for args, number, wanted in ((), signal.SIGINT, None), (("--timeout", "200"), None, "(timeout)"):
            found = next(filter(None, (stopped_look_up(target, *args) for _ in range(50))), None)
            tap.check(found, "the process that looks the name up is stopped")
            if found is None:
                continue
            process, child = found
            if number:
                process.send_signal(number)
            process.wait(timeout=30)
            try:
                os.kill(child, signal.SIGCONT)  # it may have been stopped before it asked to end with the command
            except ProcessLookupError:
                pass
            out, err = process.communicate(timeout=30)
            if wanted:
                tap.check(process.returncode == 1 and wanted in err, "the look-up has a deadline", (process.returncode, err))
            else:
                tap.check(process.returncode == -number, "the look-up ends by a signal", (process.returncode, err))


if __name__ == "__main__":
    Tap.main(exact, linked, destroyed, each, returns, unusual_returns, afterwards, unusual_targets, changes, killed, often, said,
             looked_up, skip=("functions", iterator_refused(), Tap.ROOT))
