#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command gives its privileges up before it reads what the target chose.

What it can still do is seen from outside: while it writes a dump that does not fit into a pipe, and by
a debug file whose name it may not open (where the kernel has Landlock), whoever reads it."""
import ctypes
import fcntl
import json
import os
import pwd
import signal
import subprocess
import tempfile

from harness import SNAPWALK, TARGETS, Tap, Target, public, tool

F_SETPIPE_SZ, PIPE_BYTES = 1031, 4096
LANDLOCK_CREATE_RULESET = 444


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
        tap.check(code in (0, 3) and json.loads(text)["stacks"], "it works", (code, error))
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
        tap.skip("files that may be opened", "no objcopy, or a kernel without Landlock")
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
        with Target(None, "plain", 1, path=path) as target:
            command = [SNAPWALK, "dump", "--max-stop", "10000", "--via", "direct", "--json", str(target.pid)]
            run = subprocess.run(command, capture_output=True, text=True)
            symbols = [m["symbols"] for m in json.loads(run.stdout)["modules"] if m["path"] == path]
            tap.equal(symbols, ["dwarf"], "another user's private directory: its debug file is read")


# What may not be done, and how it ends: killed (SIGSYS), or the error.
ATTACKS = {"read": "EACCES", "proc": "EACCES", "write": "EPERM", "exec": None, "fork": None,
           "socket": None, "ptrace": None, "kill": None}


def taken_over(tap):
    """A parser that does what a hostile file might make it do, at the first file that libdw gets."""
    with Target("named") as target, tempfile.TemporaryDirectory() as directory:
        made = os.path.join(directory, "made")

        def attack(what, *args):
            env = {**os.environ, "ATTACK": what, "ATTACK_FILE": made,
                   "LD_PRELOAD": os.path.join(TARGETS, "attack.so")}
            return subprocess.run([SNAPWALK, "dump", "--max-stop", "10000", *args, str(target.pid)],
                                  env=env, capture_output=True, text=True)
        ways = {"dump": (), "dump -o": ("-o", os.path.join(directory, "out"))}
        for name, args in ways.items():
            for what, error in ATTACKS.items():
                if error == "EACCES" and landlock_version() < 1:
                    tap.skip(f"{name}: {what}", "the kernel has no Landlock", "Linux 5.13 with Landlock")
                    continue
                run = attack(what, *args)
                if error:
                    tap.check(f"attack: {error}\n" in run.stderr and run.returncode in (0, 3),
                              f"{name}: {what}: refused, and the dump is there", run.stderr)
                else:
                    killed = run.returncode == -signal.SIGSYS or \
                        "killed by signal 31" in run.stderr and run.returncode == 1
                    tap.check(killed and "attack: done" not in run.stderr, f"{name}: {what}: killed",
                              (run.returncode, run.stderr))
        tap.check(not os.path.exists(made), "no file was made")
        for what in ATTACKS:
            run = attack(what, "--no-sandbox")
            tap.check("attack: done\n" in run.stderr, f"--no-sandbox: {what}: done", run.stderr)
        tap.check(os.path.exists(made), "--no-sandbox: a file was made")


def main():
    tap = Tap()
    tap.guard(taken_over)
    tap.guard(seen_from_outside)
    tap.guard(debug_file_elsewhere)
    tap.guard(debug_file_in_private)
    tap.done()


main()
