#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 55s
# strict
"""The command gives its privileges up before it reads what the target chose.

What it can still do is seen from outside: while it writes a dump that does not fit into a pipe, and by
a debug file whose name it may not open (where the kernel has Landlock), whoever reads it."""
import contextlib
import ctypes
import fcntl
import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile

import debug_programs
from harness import SNAPWALK, TARGETS, Tap, Target, iterator_refused, no_user_namespaces, public, tool, wait_until
from roles import drive

F_SETPIPE_SZ, PIPE_BYTES = 1031, 4096
LANDLOCK_CREATE_RULESET = 444
PARTS = 20  # busy threads compute for one part in so many of the time: the commands that look at them wait a second each


def landlock_version():
    return ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)


def status_of(pid):
    with open(f"/proc/{pid}/status") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def while_it_writes(args, user=None):
    """The command's status once its first byte is there, and the rest waits for us."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, F_SETPIPE_SZ, PIPE_BYTES)
    command = SNAPWALK if user is None else public(SNAPWALK)
    run = subprocess.Popen([command, *map(str, args)], stdout=theirs, stderr=subprocess.PIPE,
                           user=user)
    os.close(theirs)
    first = os.read(ours, 1)
    status = status_of(run.pid)
    rest = b""
    while part := os.read(ours, 65536):
        rest += part
    os.close(ours)
    error = run.stderr.read().decode()
    return status, first + rest, run.wait(), error


def seen_from_outside(tap):
    with Target("named") as target:
        whole = ["dump", "--max-stop", "10000", "--json", "--depth", "200", target.pid]
        status, text, code, error = while_it_writes(whole)
        tap.check(len(text) > PIPE_BYTES + 1, "the dump does not fit into the pipe", len(text))
        tap.check(code in (0, 3) and json.loads(text)["stacks"], "confined: the command works", (code, error))
        tap.equal([status[key] for key in ("Seccomp", "NoNewPrivs", "CapEff", "CapPrm")],
                  ["2", "1", "0" * 16, "0" * 16], "confined while it writes what it read")
        status, text, _, _ = while_it_writes([*whole, "--no-sandbox"])
        tap.equal((status["Seccomp"], status["NoNewPrivs"]), ("0", "0"), "--no-sandbox: not confined")
    if os.geteuid() != 0:
        return
    nobody = pwd.getpwnam("nobody").pw_uid
    with Target("named", user=nobody) as target:
        status, text, code, error = while_it_writes(
            ["dump", "--via", "direct", "--max-stop", "10000", "--json", "--depth", "200", target.pid],
            user=nobody)
        tap.check(code in (0, 3) and json.loads(text)["stacks"], "as a user: it works", (code, error))
        tap.equal((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"), "as a user: confined")


def debug_file_elsewhere(tap):
    """A debuglink to a name that only the whole directory would have: not opened, whoever reads."""
    if not tool("objcopy") or landlock_version() < 1:
        tap.skip("files that may be opened", "no objcopy, or a kernel without Landlock",
                 "package binutils, Linux 5.13 with Landlock")
        return
    with tempfile.TemporaryDirectory() as directory:
        path, debug = os.path.join(directory, "states"), os.path.join(directory, "secret")
        build = ["objcopy", "--remove-section=.note.gnu.build-id"]
        subprocess.run([*build, "--only-keep-debug", os.path.join(TARGETS, "states"), debug], check=True)
        subprocess.run([*build, "--strip-all", f"--add-gnu-debuglink={debug}",
                        os.path.join(TARGETS, "states"), path], check=True)
        with Target(None, "plain", 1, path=path) as target, Target("named") as other:
            fixture = os.path.join(directory, "fixture")
            out = os.path.join(directory, "out")
            subprocess.run([SNAPWALK, "record", "--max-stop", "10000", "-o", fixture, str(target.pid)],
                           check=True, stdout=subprocess.DEVNULL)
            tap.check(os.path.isdir(fixture), "record writes its directory")
            tap.equal(sorted(os.listdir(directory)), ["fixture", "secret", "states"],
                      "... and nothing else")

            def symbols(*args, output=None):
                run = subprocess.run([SNAPWALK, *map(str, args), "--max-stop", "10000",
                                      "--via", "direct", "--json"], capture_output=True, text=True)
                text = run.stdout
                if output:
                    with open(output) as file:
                        text = file.read()
                    os.unlink(output)
                report = json.loads(text.splitlines()[0])
                return [m["symbols"] for m in report["modules"] if m["path"] == path]

            ways = {"dump": ((target.pid,), None),
                    "dump -o": ((target.pid, "-o", out), out),
                    "dump of two": ((target.pid, other.pid), None)}
            for name, (args, output) in ways.items():
                tap.equal(symbols("dump", *args, output=output), ["none"], f"{name}: not opened")
                tap.equal(symbols("dump", *args, "--no-sandbox", output=output), ["dwarf"],
                          f"{name} --no-sandbox: opened")


def debug_file_in_private(tap):
    """A program of another user in a directory that is closed to all others, with its debug file beside it:
    names are there, and the one capability that opens it, where Landlock says what else it opens."""
    if os.geteuid() != 0 or not tool("objcopy") or landlock_version() < 1:
        tap.skip("a private directory", "not root, no objcopy, or a kernel without Landlock", Tap.ROOT)
        return
    nobody = pwd.getpwnam("nobody").pw_uid
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "states")
        subprocess.run(["objcopy", "--only-keep-debug", os.path.join(TARGETS, "states"), path + ".debug"],
                       check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={path}.debug",
                        os.path.join(TARGETS, "states"), path], check=True)
        for name in (path, path + ".debug", directory):
            os.chown(name, nobody, nobody)
        os.chmod(directory, 0o700)
        command = ["dump", "--max-stop", "10000", "--via", "direct", "--json"]
        with Target(None, "plain", 120, path=path, user=nobody, group=nobody, extra_groups=[]) as target:
            status, text, code, error = while_it_writes([*command, target.pid])
            symbols = [m["symbols"] for m in json.loads(text)["modules"] if m["path"] == path]
            tap.equal(symbols, ["dwarf"], "another user's private directory: its debug file is read")
            without_caps(tap, status, nobody, "... with that user's permissions, and no capability")
            os.chown(path + ".debug", 0, 0)
            os.chmod(path + ".debug", 0o600)
            status, text, code, error = while_it_writes([*command, target.pid])
            symbols = [m["symbols"] for m in json.loads(text)["modules"] if m["path"] == path]
            tap.equal(symbols, ["none"], "... but not one that this user may not read")


def split_file_in_private(tap):
    """Debug files of root beside a program of another user, and a .dwo file that it names: no command reads them, also
    those that keep the capability to read all files. All do when that user may read them, and alone looks at its own."""
    if os.geteuid() != 0 or debug_programs.missing(debug_programs.FILES):
        tap.skip("private debug files", "not root, no gcc or binutils", Tap.ROOT)
        return
    user = pwd.getpwnam("daemon").pw_uid
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        debug_programs.build(directory, debug_programs.FILES)
        roots = stack.enter_context(Target("threads", 1, 5))
        pids = {name: stack.enter_context(Target(None, path=os.path.join(directory, name), user=user, group=user,
                                                 extra_groups=[])).pid for name in debug_programs.FILES}
        seconds = ("--via", "direct", "--duration", "1", "--format", "folded")
        ways = {"dump": ("dump", "--via", "direct", *pids.values()),
                "--burst": ("dump", "--via", "direct", "--burst", "2,20", *pids.values()),
                "sample": ("sample", *seconds, *pids.values()),
                "sample of two users": ("sample", *seconds, *pids.values(), roots.pid),
                "top": ("top", "--interval", "100", "--count", "2", pids["plain"])}
        if not iterator_refused():
            ways["on"] = ("on", "syscall:clock_nanosleep", "--duration", "1", pids["packed"])
        # Root without the right to take another user's permissions does not read with its own.
        without = ["setpriv", "--bounding-set", "-setuid,-setgid"]
        for way in ("dump", "sample"):
            ways[f"{way} without CAP_SETUID"] = (*without, SNAPWALK, *ways[way])
        for owner in (0, user):
            for _, debug in debug_programs.FILES.values():
                os.chown(os.path.join(directory, debug), owner, owner)
                os.chmod(os.path.join(directory, debug), 0o600)
            for way, words in ways.items():
                program = [] if words[0] == without[0] else [SNAPWALK]
                run = subprocess.run([*program, *map(str, words)], capture_output=True, text=True)
                looked = [name for name in debug_programs.FILES if pids[name] in words]
                wanted = looked if owner == user and "two" not in way and not way.endswith("CAP_SETUID") else []
                tap.equal([name for name in looked if debug_programs.FILES[name][0] in run.stdout], wanted,
                          f"{way}: debug files of {'root' if owner == 0 else 'their user'}, mode 0600")
                tap.check(run.returncode in (0, 3) and run.stdout, f"... and {way} works", (run.returncode, run.stderr))
        for words in (ways["sample"], ("dump", "--via", "direct", pids["split"])):
            _, run = drive("at", "snapwalk-files:0", f"{TRAPPED},1,1,0", command=[SNAPWALK, *words])
            tap.check(run.returncode in (0, 3) and run.stderr.count(f"{SAID_OF_CHILD} {TRAPPED} (internal): {REPORT}") == 1,
                      f"{words[0]}: the end of the child that opens them is said", (run.returncode, run.stderr))


def without_caps(tap, status, uid, what, caps=0):
    """Check a parser: whose permissions it opens files with, and its capabilities."""
    tap.equal((status["Uid"].split()[3], [int(status[key], 16) for key in ("CapEff", "CapPrm", "CapInh", "CapAmb")],
               status["Groups"].strip() if uid != 0 else ""), (str(uid), [caps, caps, 0, 0], ""), what)


def parsed_of_owner(tap):
    """Core files and fixtures of a user are parsed with the permissions of that user, those of root without
    capabilities, but for core files, whose programs may be anybody's."""
    if os.geteuid() != 0:
        tap.skip("files of others", "not root", Tap.ROOT)
        return
    nobody = pwd.getpwnam("nobody").pw_uid
    with tempfile.TemporaryDirectory() as directory, Target("states", "plain", 120) as target:
        os.chmod(directory, 0o755)
        fixture = os.path.join(directory, "fixture")
        subprocess.run([SNAPWALK, "record", "--max-stop", "10000", "-o", fixture, str(target.pid)],
                       check=True, stdout=subprocess.DEVNULL)
        saved = {"fixture": (fixture, 0)}
        if tool("gcore"):
            subprocess.run(["gcore", "-o", os.path.join(directory, "core"), str(target.pid)], check=True,
                           capture_output=True)
            saved["core"] = (os.path.join(directory, f"core.{target.pid}"), CAP_DAC_READ_SEARCH)
        else:
            tap.skip("core files", "no gcore", "package gdb")
        for kind, (path, caps) in saved.items():
            for uid in (0, nobody):
                subprocess.run(["chown", "-R", f"{uid}:{uid}", path], check=True)
                status, text, code, error = while_it_writes(["dump", f"--{kind}", path, "--json"])
                tap.check(code in (0, 3) and json.loads(text)["stacks"], f"{kind} of {uid}: it works", (code, error))
                without_caps(tap, status, uid, f"{kind} of {uid}: parsed with its owner's permissions",
                             caps if uid == 0 else 0)


# The forbidden operations, and how each ends: killed (SIGSYS), or the error.
ATTACKS = {"read": "EACCES", "proc": "EACCES", "write": "EPERM", "openat2": "EPERM", "chmod": "EPERM",
           "mem": "EPERM", "exec": None, "fork": None, "socket": None, "ptrace": None, "poke": None,
           "kill": None, "bpf": None, "userns": None, "getfd": None, "owner": None}
# Between captures: what these need is possible, and is no more than that.
BETWEEN = {**ATTACKS, "read": "done", "proc": "done", "ptrace": "done", "openat2": "ENOSYS", "bpf": "EPERM",
           "pc": None, "options": None}
CAPTURES = {"sample": ("sample", "--duration", "1", "--max-stop", "60000"),
            "sample --mode off": ("sample", "--mode", "off", "--duration", "1"),
            "sample --mode cpu": ("sample", "--mode", "cpu", "--duration", "1"),
            "burst": ("dump", "--burst", "2,50")}


def attacked(directory, what, *args, at=None):
    made, kept = os.path.join(directory, "made"), os.path.join(directory, "kept")
    with open(kept, "w") as file:
        os.fchmod(file.fileno(), 0o644)
    env = {**os.environ, "ATTACK": what, "ATTACK_FILE": made, "ATTACK_CHMOD": kept,
           "LD_PRELOAD": os.path.join(TARGETS, "attack.so"), **({"ATTACK_AT": at} if at else {})}
    for _ in range(10):
        run = subprocess.run([SNAPWALK, *map(str, args)], env=env, capture_output=True, text=True)
        # On a machine whose disk is slow, some process has a page fault for more than a second: probes wait for that.
        if "holds the lock of its memory" not in run.stderr:
            break
    return run


def refused(tap, name, what, error, run):
    if error:
        tap.check(f"attack: {error}\n" in run.stderr and run.returncode in (0, 3),
                  f"{name}: {what}: {error}, and the result is there", run.stderr)
        return
    killed = run.returncode == -signal.SIGSYS or \
        "killed by signal 31" in run.stderr and run.returncode == 1
    tap.check(killed and "attack: done" not in run.stderr, f"{name}: {what}: killed",
              (run.returncode, run.stderr))


def taken_over(tap):
    """A parser that does what a hostile file might make it do, at the first file that libdw gets."""
    with Target("named") as target, tempfile.TemporaryDirectory() as directory:
        made = os.path.join(directory, "made")
        whole = ("dump", "--max-stop", "10000", target.pid)
        ways = {"dump": whole, "dump -o": (*whole, "-o", os.path.join(directory, "out"))}
        for name, args in ways.items():
            for what, error in ATTACKS.items():
                if error == "EACCES" and landlock_version() < 1:
                    tap.skip(f"{name}: {what}", "the kernel has no Landlock", "Linux 5.13 with Landlock")
                    continue
                refused(tap, name, what, error, attacked(directory, what, *args))
        tap.check(not os.path.exists(made), "no file was made")
        for what in ATTACKS:
            if what == "userns" and no_user_namespaces():
                tap.skip(f"--no-sandbox: {what}", no_user_namespaces(), Tap.USERS)
                continue
            run = attacked(directory, what, *whole, "--no-sandbox")
            tap.check("attack: done\n" in run.stderr, f"--no-sandbox: {what}: done", run.stderr)
        tap.check(os.path.exists(made), "--no-sandbox: a file was made")


def taken_over_between(tap):
    """The same where more captures follow. Each attack by one of the commands, and all by one of them."""
    if iterator_refused():
        tap.skip("taken over between captures", iterator_refused(), Tap.ROOT)
        return
    with Target("busy", PARTS) as target, tempfile.TemporaryDirectory() as directory:
        made = os.path.join(directory, "made")
        names = list(CAPTURES)
        for i, (what, error) in enumerate(BETWEEN.items()):
            for name in {"sample", names[i % len(names)]}:
                refused(tap, name, what, error, attacked(directory, what, *CAPTURES[name], target.pid))
        tap.check(not os.path.exists(made), "no file was made between captures")
        for name, args in CAPTURES.items():
            run = attacked(directory, "write", *args, "--no-sandbox", target.pid)
            tap.check("attack: done\n" in run.stderr, f"{name} --no-sandbox: write: done", run.stderr)


TRAPPED = 41  # the number of socket(2), which "socket" asks for
SAID = f"the sandbox ended the command: it does not permit system call {TRAPPED}"
SAID_OF_CHILD = "the sandbox ended the process that opens debug files: it does not permit system call"
REPORT = "please report it with the command, its output and 'snapwalk --version'"
WITHOUT = "; until then, --no-sandbox where you trust what is read"


def said_by_itself(tap):
    """A command that is its own parser says which system call ended it, and ends by SIGSYS all the same; of a child that
    parses, the command says it."""
    with Target("named") as target, tempfile.TemporaryDirectory() as directory:
        dump, fixture = os.path.join(directory, "dump.json"), os.path.join(directory, "fixture")
        with open(dump, "w") as file:
            subprocess.run([SNAPWALK, "dump", "--json", str(target.pid)], stdout=file, check=True)
        subprocess.run([SNAPWALK, "record", "-o", fixture, str(target.pid)], check=True, stdout=subprocess.DEVNULL)
        ways = [(("dump", target.pid), WITHOUT), (("dump", "--fixture", fixture), WITHOUT),
                (("dump", "--keep", os.path.join(directory, "kept"), target.pid), WITHOUT),
                (("show", dump), ""), (("symbolize", dump), WITHOUT), (("diff", dump, dump), WITHOUT)]
        for words, more in ways:
            run = attacked(directory, "socket", *words, at="write")
            tap.equal((run.returncode, run.stderr), (-signal.SIGSYS, f"snapwalk: {SAID} (internal): {REPORT}{more}\n"),
                      f"{' '.join(map(str, words[:1 + str(words[1]).startswith('-')]))}: says what ended it")
        run = attacked(directory, "socket", "dump", "--json", target.pid)
        tap.equal((run.returncode, json.loads(run.stderr)),
                  (-signal.SIGSYS, {"about": "snapwalk", "code": "internal", "message": SAID, "remedy": REPORT + WITHOUT}),
                  "dump --json: says it as an object")
        for words in (("merge", dump, dump), ("dump", target.pid, os.getpid())):
            run = attacked(directory, "socket", *words, at="write")
            tap.check("killed by signal 31" in run.stderr and SAID not in run.stderr and run.returncode == 1,
                      f"{words[0]}: of a child the command alone says it", (run.returncode, run.stderr))
        unread(tap, target)


SAID_OF_READER = ("the process that reads the data of runtimes was ended by the sandbox, which does not permit system call "
                  f"{TRAPPED}: what it had not asked for by then is missing (capture_incomplete): {REPORT}")


def said_of_reader(tap):
    """The process that reads Python's data has no standard error: the command says which call ended it, also where both have
    a filter, and goes on. A reader is the first process called snapwalk that enters a filter, or the second one."""
    if os.geteuid() != 0:
        tap.skip("said of the reader", "not root", Tap.ROOT)
        return
    sleeps = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.01)"
    call, short = f"{TRAPPED},1,1,0", f"does not permit system call {TRAPPED}:"
    with Target(None, "-c", sleeps, path="/usr/bin/python3") as target:
        for words, place in ((("dump", "--max-stop", "10000", "-v", "--format", "folded"), 0), (("dump", "--burst", "3,20"), 1)):
            lines, run = drive("at", f"snapwalk:{place}", call, command=[SNAPWALK, *words, target.pid])
            tap.check(run.returncode in (0, 3) and f"snapwalk: {target.pid}: {SAID_OF_READER}\n" in run.stderr,
                      f"{' '.join(words[:2])}: the end of the reader is said", (run.returncode, run.stderr, lines[-1:]))
        _, run = drive("at", "snapwalk:0", call, command=[SNAPWALK, "dump", "--json", target.pid])
        tap.equal([short in warning["message"] for warning in json.loads(run.stdout)["warnings"]], [True],
                  "dump --json: it is a warning of the dump")


def said_between(tap):
    """The same by commands that parse between captures."""
    if iterator_refused():
        tap.skip("said between captures", iterator_refused(), Tap.ROOT)
        return
    ways = {**CAPTURES, "sample --all": ("sample", "--all", "--duration", "1"), "top": ("top", "--interval", "100", "--count", "2"),
            "on": ("on", "syscall:write", "--duration", "2"), "leaks": ("leaks", "--of", "fds", "--duration", "2")}
    calls = "import os\nprint('ready', flush=True)\nwhile True:\n os.close(os.dup(1))\n os.write(2, b'')"
    with Target(None, "-c", calls, path=sys.executable) as target, tempfile.TemporaryDirectory() as directory:
        for name, words in ways.items():
            run = attacked(directory, "socket", *words, *([] if name == "sample --all" else [target.pid]),
                           at="write" if name == "top" else None)  # top reads no lines of sources
            more = WITHOUT if "--no-sandbox" in subprocess.run([SNAPWALK, words[0], "--help"], capture_output=True,
                                                               text=True).stdout else ""
            tap.check(run.returncode == -signal.SIGSYS and f"snapwalk: {SAID} (internal): {REPORT}{more}\n" in run.stderr,
                      f"{name}: says what ended it", (run.returncode, run.stderr))


def unread(tap, target):
    """Nobody reads what is said: the command ends as soon."""
    env = {**os.environ, "ATTACK": "socket", "LD_PRELOAD": os.path.join(TARGETS, "attack.so")}
    for full in (True, False):
        ours, theirs = os.pipe()
        if full:
            os.set_blocking(theirs, False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(theirs, bytes(65536))
            os.set_blocking(theirs, True)
        else:
            os.close(ours)
        run = subprocess.run([SNAPWALK, "dump", str(target.pid)], env=env, stdout=subprocess.DEVNULL, stderr=theirs,
                             timeout=60)
        tap.equal(run.returncode, -signal.SIGSYS, f"a pipe that {'is full' if full else 'nobody has'}: ended by SIGSYS")
        os.close(theirs)
        if full:
            os.close(ours)


# ---- between captures, seen from outside ---------------------------------------------------------

CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE = 1 << 2, 1 << 19, 1 << 40
KEPT = CAP_DAC_READ_SEARCH | CAP_SYS_PTRACE | CAP_CHECKPOINT_RESTORE
LOCKED = ("Seccomp", "NoNewPrivs")


def taken_over_at_events(tap):
    """The same where stacks are of system calls: a parser that was taken over can load no program and change nothing."""
    if iterator_refused():
        tap.skip("taken over at events", iterator_refused(), Tap.ROOT)
        return
    calls = ("import ctypes, os, select, threading, time\nlibc = ctypes.CDLL(None)\nepoll = select.epoll()\ntimer = ctypes.c_void_p()\n"
             "print('ready', flush=True)\nwhile True:\n os.close(os.dup(1))\n time.sleep(0.002)\n"
             " thread = threading.Thread(target=int)\n thread.start()\n thread.join()\n"
             " libc.timer_create(1, None, ctypes.byref(timer))\n libc.timer_delete(timer)\n"
             " libc.shmctl(libc.shmget(0, 4096, 0o600), 0, None)\n epoll.register(1, 1)\n epoll.unregister(1)")
    with Target(None, "-c", calls, path=sys.executable) as target, \
            tempfile.TemporaryDirectory() as directory:
        made = os.path.join(directory, "made")
        ways = {"on": ("on", "syscall:close", "--duration", "1"), "leaks": ("leaks", "--of", "fds", "--duration", "1"),
                "leaks of threads": ("leaks", "--of", "threads", "--duration", "1"),
                "leaks of maps": ("leaks", "--of", "maps", "--duration", "1"),
                "leaks of timers": ("leaks", "--of", "timers", "--duration", "1"),
                "leaks of shm": ("leaks", "--of", "shm", "--duration", "1"),
                "leaks of epoll": ("leaks", "--of", "epoll", "--duration", "1")}
        for i, (what, error) in enumerate(BETWEEN.items()):
            name = list(ways)[i % len(ways)]
            refused(tap, name, what, error, attacked(directory, what, *ways[name], target.pid))
        tap.check(not os.path.exists(made), "no file was made at events")
        for name, args in ways.items():
            run = attacked(directory, "write", *args, "--no-sandbox", target.pid)
            tap.check("attack: done\n" in run.stderr, f"{name} --no-sandbox: write: done", run.stderr)


def taken_over_in_functions(tap):
    """The process that looks up functions, which reads symbols of the target's files: taken over where it writes what
    it found, it can do what a parser can, and no more."""
    if iterator_refused():
        tap.skip("taken over while functions are looked up", iterator_refused(), Tap.ROOT)
        return
    with Target("pairs") as target, tempfile.TemporaryDirectory() as directory:
        ways = {"on func": ("on", "func:libc.so.6:malloc", "--count", "1", "--duration", "1"),
                "leaks of functions": ("leaks", "--of", "libc.so.6:malloc/free", "--duration", "1")}
        for i, (what, error) in enumerate(ATTACKS.items()):
            name = list(ways)[i % len(ways)]
            if error == "EACCES" and landlock_version() < 1:
                tap.skip(f"{name}: {what}", "the kernel has no Landlock", "Linux 5.13 with Landlock")
                continue
            run = attacked(directory, what, *ways[name], target.pid, at="write")
            if error:
                tap.check(run.stderr.startswith(f"attack: {error}\n") and run.returncode in (0, 3),
                          f"{name}: {what}: {error}, and the result is there", (run.returncode, run.stderr))
            else:
                refused(tap, name, what, error, run)
        tap.check(not os.path.exists(os.path.join(directory, "made")), "no file was made while functions are looked up")


def told_to_end(run):
    run.send_signal(signal.SIGINT)
    return run.communicate()[0]


KCMP, KCMP_VM = 312, 1  # the call of x86-64, and the kernel's enum kcmp_type


def shares_memory(one, other):
    return ctypes.CDLL(None).syscall(KCMP, one, other, KCMP_VM, 0, 0) == 0


def children_of(pid):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as file:
            found += map(int, file.read().split())
    return found


def not_confined(pid):
    """Children that share the memory of a confined process, and may do more than it: whoever writes into that memory
    has them do it."""
    found = []
    whole = int(status_of(pid)["CapEff"], 16)
    for child in children_of(pid):
        with contextlib.suppress(OSError):
            status = status_of(child)
            if shares_memory(pid, child) and (status["Seccomp"] != "2" or int(status["CapEff"], 16) & ~whole):
                found.append((child, status["Seccomp"], status["CapEff"]))
    return found


def between_captures(tap):
    ours = int(status_of(os.getpid())["CapEff"], 16)
    with Target("busy", PARTS) as target:
        for name, args in {"sample": ("sample", "--duration", "2", "--format", "json"),
                           "sample --mode cpu": ("sample", "--mode", "cpu", "--duration", "1", "--format", "json"),
                           "on": ("on", "syscall:close", "--duration", "1", "--json"),
                           "leaks": ("leaks", "--of", "fds", "--duration", "2"),
                           "top": ("top", "--interval", "100")}.items():
            def run(*more):
                return subprocess.Popen([SNAPWALK, *args, *more, str(target.pid)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
            child = run()
            wait_until(lambda: status_of(child.pid)["Seccomp"] == "2", f"{name} to give up what it needs not")
            status, others = status_of(child.pid), not_confined(child.pid)
            tap.equal(others, [], f"{name}: no process that shares its memory keeps more")
            tap.equal([status["NoNewPrivs"], *(int(status[key], 16) for key in ("CapEff", "CapPrm", "CapInh"))],
                      ["1", ours & KEPT, ours & KEPT, 0], f"{name}: keeps what captures need")
            # The other ends by itself, and writes then.
            text = child.stdout.readline() + told_to_end(child) if name == "top" else child.communicate()[0]
            tap.check(child.returncode in (0, 3) and len(text) > 10, f"{name}: it works", (child.returncode, text))
        child = subprocess.Popen([SNAPWALK, "top", "--interval", "100", "--no-sandbox", str(target.pid)],
                                 stdout=subprocess.PIPE, text=True)
        child.stdout.readline()
        tap.equal([status_of(child.pid)[key] for key in (*LOCKED, "CapEff")],
                  ["0", "0", status_of(os.getpid())["CapEff"]], "top --no-sandbox: keeps all")
        told_to_end(child)


def file_in_place(tap):
    """The files of sample, --burst and diff are put in place also where only root with all capabilities may write."""
    if os.geteuid() != 0:
        tap.skip("another user's directory", "not root", Tap.ROOT)
        return
    nobody = pwd.getpwnam("nobody").pw_uid
    with Target("busy", PARTS) as target, tempfile.TemporaryDirectory() as directory:
        os.chown(directory, nobody, nobody)
        os.chmod(directory, 0o700)
        dumped = os.path.join(directory, "dump.json")
        commands = {"dump": ("dump", target.pid, "--json", "-o", dumped),
                    "sample": ("sample", target.pid, "--duration", "1", "-o", os.path.join(directory, "a")),
                    "burst": ("dump", "--burst", "2,50", target.pid, "-o", os.path.join(directory, "b")),
                    "diff": ("diff", dumped, dumped, "-o", os.path.join(directory, "c"))}
        for name, words in commands.items():
            run = subprocess.run([SNAPWALK, *map(str, words)], capture_output=True, text=True)
            tap.check(run.returncode in (0, 3) and os.path.getsize(words[-1]) > 0, f"{name}: writes its file", run)
        tap.equal(sorted(os.listdir(directory)), ["a", "b", "c", "dump.json"], "and nothing else is left")


def snapshot_in_place(tap):
    """The snapshots of record and --keep are put in place likewise: in another user's directory, with a store, by a
    parser without capabilities."""
    if os.geteuid() != 0:
        tap.skip("another user's directory for snapshots", "not root", Tap.ROOT)
        return
    nobody = pwd.getpwnam("nobody").pw_uid
    with Target("states", "plain", 120) as target, tempfile.TemporaryDirectory() as directory:
        os.chown(directory, nobody, nobody)
        os.chmod(directory, 0o700)
        kept, store = os.path.join(directory, "kept"), os.path.join(directory, "store")
        status, text, code, error = while_it_writes(
            ["dump", "--max-stop", "10000", "--json", target.pid, "--keep", kept, "--modules-store", store])
        tap.check(code in (0, 3) and json.loads(text)["stacks"], "dump --keep: it works", (code, error))
        without_caps(tap, status, 0, "dump --keep: parsed without capabilities")
        recorded = os.path.join(directory, "recorded")
        run = subprocess.run([SNAPWALK, "record", "--max-stop", "10000", str(target.pid), "-o", recorded],
                             capture_output=True, text=True)
        tap.equal((run.returncode, run.stderr), (0, ""), "record: the command works")
        run = subprocess.run([SNAPWALK, "record", "--max-stop", "10000", str(target.pid), "-o", recorded],
                             capture_output=True, text=True)
        tap.check(run.returncode == 1 and "it is there already" in run.stderr, "record: not twice", run.stderr)
        tap.equal(sorted(os.listdir(directory)), ["kept", "recorded", "store"], "... and nothing else is left")
        for path in (kept, recorded):
            run = subprocess.run([SNAPWALK, "dump", "--fixture", path, "--json"], capture_output=True, text=True)
            tap.equal(len(json.loads(run.stdout)["threads"]), 121, f"{os.path.basename(path)}: walks again")


def files_compared(tap):
    """diff: while it writes what it found."""
    with tempfile.TemporaryDirectory() as directory:
        dumps = [os.path.join(directory, name) for name in ("a.json", "b.json")]
        with Target("states", "plain", 120) as target:
            for path in dumps:
                subprocess.run([SNAPWALK, "dump", "--max-stop", "10000", "--json", "-o", path, str(target.pid)],
                               check=True)
        status, text, code, error = while_it_writes(["diff", "--json", *dumps])
        tap.check(len(text) > PIPE_BYTES + 1 and code == 0 and json.loads(text), "diff: the command works", (code, error))
        tap.equal([status[key] for key in (*LOCKED, "CapEff", "CapPrm")], ["2", "1", "0" * 16, "0" * 16],
                  "diff: confined while it writes what it found")
        status, _, _, _ = while_it_writes(["diff", "--json", "--no-sandbox", *dumps])
        tap.equal([status[key] for key in LOCKED], ["0", "0"], "diff --no-sandbox: not confined")


def by_user(tap):
    if os.geteuid() != 0:
        return
    nobody = pwd.getpwnam("nobody").pw_uid
    with Target("busy", PARTS, user=nobody) as target:
        status, text, code, error = while_it_writes(
            ["sample", "--duration", "1", "--format", "json", "--max-load", "100", target.pid], user=nobody)
        tap.check(code in (0, 3) and json.loads(text), "sample as a user: it works", (code, error))
        tap.equal([status[key] for key in LOCKED], ["2", "1"], "sample as a user: confined")


if __name__ == "__main__":
    Tap.main(taken_over, said_by_itself, said_of_reader, said_between, taken_over_between, taken_over_at_events, taken_over_in_functions, between_captures, file_in_place,
             snapshot_in_place, files_compared, by_user, seen_from_outside, debug_file_elsewhere, debug_file_in_private,
             split_file_in_private, parsed_of_owner)
