#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 25s
"""The advice that stands behind an error or a warning, where what is complained about can be made here. Each code and advice
is a row of cli/common/remedy.c, which tests/unit/cli/common/test_remedy.c looks at as a whole."""
import contextlib
import os
import pty
import shutil
import subprocess
import tempfile

from daemon import Daemon
from harness import PATIENT, SNAPWALK, TARGETS, Tap, Target, in_first_pid_namespace, public

USER = 1234
OPENSSL = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "cli", "leaks.d", "openssl.conf")
WITHOUT = os.path.join(TARGETS, "without")  # takes system calls away


def said(tap, what, code, remedy, *words, before=(), program=SNAPWALK, **run):
    """Whether a command says this code with this advice."""
    done = subprocess.run([*before, program, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", **run)
    tap.check(any(line.startswith("snapwalk: ") and line.endswith(f" ({code}): {remedy}") for line in done.stderr.splitlines()),
              f"{what}: {code}, {remedy}", f"{done.returncode}\n{done.stderr}")
    return done


@contextlib.contextmanager
def stripped(directory):
    """A program that computes, without symbols."""
    path = shutil.copy(os.path.join(TARGETS, "busy"), os.path.join(directory, "bare"))
    subprocess.run(["objcopy", "--strip-all", path], check=True)
    with Target(None, 20, path=path) as target:
        yield target


def dumped(pid, directory, name, *words):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        run = subprocess.run([SNAPWALK, *(words or ("dump", "--json", *PATIENT)), str(pid)], stdout=file, stderr=subprocess.PIPE)
    if run.returncode not in (0, 3):
        raise RuntimeError(run.stderr.decode())
    return path


def targets(tap):
    """Processes that cannot be captured, and those that can be in part."""
    if in_first_pid_namespace():
        said(tap, "a kernel thread", "kernel_thread", "read /proc/2/stack as root", "dump", 2)
    else:
        tap.skip("a kernel thread", "none can be seen", Tap.HOST_PIDS)
    run = subprocess.run(["sh", "-c", 'exec "$0" dump $$', SNAPWALK], capture_output=True, text=True)
    tap.check("(self): give another process\n" in run.stderr, "the command itself: self, give another process", run.stderr)
    with Target("threads", 2) as target, Target("threads", 2), tempfile.TemporaryDirectory() as directory:
        pid = target.pid
        said(tap, "no time for names", "timeout", "allow more with --timeout", "dump", "--timeout", 1, pid)
        said(tap, "a thread that does not match", "not_found", "see what there is without the filter",
             "dump", "--thread", "nothing", pid)
        said(tap, "an address that is not mapped", "not_found", "give an address inside a line of /proc/PID/maps",
             "explain", pid, "0x10")
        said(tap, "a lock that nobody waits for", "not_found", "a lock for which no thread waits is not in a dump; give an "
             "address of blocked_on in its JSON", "explain", "--lock", "0x10", pid)
        said(tap, "a scan that finds no more", "scan_limit", "nothing else is known of where that stack goes on",
             "dump", "--walk", "scan", pid)
        said(tap, "a page of several", "usage", "give one target, or --format text, json or folded", "dump", "--comm", "threads",
             "-o", os.path.join(directory, "page.html"))
        for words, remedy in (
                (("sample", "--mode", "off", "--duration", 1), "all threads are stopped for each sample, and blocked time is "
                 "counted by samples"),
                (("dump", "--burst", "2,10"), "which threads never ran is not known")):
            said(tap, f"{words[0]} without the iterator", "unsupported", remedy, *words, pid, before=(WITHOUT, "bpf=EPERM", "--"))


def functions(tap):
    """Places for events that are not there."""
    with tempfile.TemporaryDirectory() as directory, Target("busy", 20) as busy, stripped(directory) as bare:
        maps = f"see what it has mapped in /proc/{busy.pid}/maps"
        said(tap, "a library that is not there", "not_found", maps, "on", "func:nosuch.so:x", busy.pid)
        said(tap, "a program without symbols", "not_found", "install its debug symbols (a package -dbgsym or -debuginfo)",
             "on", "func:main", bare.pid)
        said(tap, "a program without probes", "not_found", f"see which there are with 'snapwalk on usdt: {busy.pid}'",
             "on", "usdt:nosuch", busy.pid)
        said(tap, "pairs that are not there", "not_found", f"see in /proc/{busy.pid}/maps which libraries it has loaded",
             "leaks", "--of", OPENSSL, "--duration", 1, busy.pid)


def files(tap):
    """Core files, fixtures, dumps and profiles, and where results are written."""
    with tempfile.TemporaryDirectory() as directory, Target("busy") as busy, Target("threads", 2) as target, \
            stripped(directory) as bare:
        dump, profile = dumped(target.pid, directory, "dump"), dumped(busy.pid, directory, "profile", "sample", "--duration",
                                                                      "1", "--format", "json")
        said(tap, "a file that is none", "bad_format", "check that the file is complete and of the kind that is asked for",
             "dump", "--core", "/etc/passwd")
        said(tap, "a full disk", "io", "free some space, or give another place", "dump", "-o", "/dev/full", target.pid)
        foreign = os.path.join(directory, "foreign")
        with open(foreign, "wb") as file:  # an ELF file of a machine whose numbers begin with the upper byte
            file.write(b"\x7fELF\x02\x02\x01" + bytes(9) + b"\x00\x04" + bytes(100))
        said(tap, "another machine's core file", "unsupported_architecture", "eu-stack or gdb can show it", "dump", "--core", foreign)
        two = os.path.join(directory, "two")
        with open(dump) as file, open(two, "w") as out:
            out.write(file.read() * 2)
        said(tap, "several dumps for one", "usage", "each is a line: give a file of one", "diff", two, dump)
        said(tap, "a profile, filtered", "usage", "leave them away", "show", "--state", "R", profile)
        said(tap, "a dump as a profile", "usage", "give --format text, folded, json or html", "show", "--format", "pprof",
             "-o", os.path.join(directory, "x"), dump)
        said(tap, "a dump as a profile by its name", "usage", "give a name with .txt, .folded, .json or .html", "show",
             "-o", os.path.join(directory, "x.pb.gz"), dump)
        names_missing(tap, dumped(bare.pid, directory, "bare.json"), directory)


def names_missing(tap, dump, directory):
    """Names that are looked for later."""
    env = {name: value for name, value in os.environ.items()
           if name not in ("DEBUGINFOD_URLS", "HOME", "XDG_CACHE_HOME", "DEBUGINFOD_CACHE_PATH")}
    server, home = "--debuginfod=http://127.0.0.1:9", {"HOME": directory}
    said(tap, "no directory", "usage", "give --from a directory", "symbolize", "--from", "/etc/passwd", dump)
    said(tap, "no server", "usage", "give --debuginfod=URL, or set DEBUGINFOD_URLS", "symbolize", "--debuginfod", dump, env=env)
    said(tap, "no place for its files", "usage", "set DEBUGINFOD_CACHE_PATH", "symbolize", server, dump, env=env)
    said(tap, "no program that asks", "usage", "install debuginfod-find: 'apt install debuginfod' on Debian", "symbolize", server,
         dump, env={**env, **home, "PATH": "/nowhere"})
    asks = os.path.join(directory, "debuginfod-find")
    with open(asks, "w") as file:
        file.write("#!/bin/sh\necho Server query failed: Connection refused >&2\nexit 1\n")
    os.chmod(asks, 0o755)
    asked = {**env, **home, "PATH": f"{directory}:{os.environ['PATH']}"}
    said(tap, "a server that does not answer", "io", "check the address: --debuginfod=URL or DEBUGINFOD_URLS", "symbolize", server,
         dump, env=asked)
    said(tap, "names that no server has", "not_found", "snapwalk symbolize --from DIR", "symbolize", server, dump, env=asked)
    said(tap, "names that nobody was asked for", "not_found", "snapwalk symbolize --from DIR or --debuginfod", "symbolize", dump,
         env=env)


def by_daemon(tap):
    """Answers of the daemon, and of hooks."""
    said(tap, "a hook of no kind", "usage", "see KINDS in snapwalk-hook(1)", "hook", "nosuch")
    if os.geteuid() != 0:
        tap.skip("answers of a daemon", "not root", Tap.ROOT)
        return
    with Daemon({"MinIntervalSec": 600}) as daemon, Target("threads", 2) as target:
        socket = ("--socket", daemon.socket_path)
        said(tap, "no dump yet", "not_found", "see 'snapwalk list', or make one with 'snapwalk PID --via daemon'", "show", *socket,
             "latest")
        kept = [daemon.capture(pid)["dump"]["id"] for pid in (target.pid, os.getpid())]
        said(tap, "a word that several ids begin with", "usage", "give more of the id", "show", *socket,
             os.path.commonprefix(kept))
        said(tap, "a dump of before", "coalesced", "see MinIntervalSec= in snapwalk.conf(5), or use --via direct", "dump", "--via",
             "daemon", *socket, target.pid)
        os.chmod(daemon.socket_path, 0)
        said(tap, "a socket that is closed", "not_permitted", "see the permissions of the daemon's socket", "list", *socket,
             program=public(SNAPWALK), user=USER, group=USER, extra_groups=[])


def main():
    tap = Tap()
    for test in tap.chosen(targets, functions, files, by_daemon):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
