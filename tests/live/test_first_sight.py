#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""The first text that a user sees fits into a terminal of 80 columns: the help of every program and of every command,
the manual pages as man and mandoc print them; text on a terminal that shows no UTF-8 is ASCII; and a list without dumps says
so.
"""
import os
import pty
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from daemon import Daemon  # noqa: E402
from harness import BUILD, SNAPWALK, TARGETS, Tap, Target, snapwalk, tool  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAMS = ("snapwalk", "snapwalkd", "snapwalk-gate")
COLUMNS = 80


def too_long(text):
    """Lines that are wider than the terminal; overstruck characters are one."""
    plain = re.sub(".\b", "", re.sub(r"\x1b\[[\d;]*m", "", text))
    return [line for line in plain.expandtabs().splitlines() if len(line) > COLUMNS]


def help_of(*command):
    result = subprocess.run([os.path.join(BUILD, "bin", command[0]), *command[1:], "--help"],
                            capture_output=True, text=True, timeout=60)
    return result.stdout if result.returncode == 0 else None


def test_help(tap):
    text = help_of("snapwalk")
    section = text.partition("Commands:\n")[2].partition("\n\n")[0]
    commands = re.findall(r"^  (\w+)", section, re.M)
    tap.check(len(commands) >= 10, "help lists commands", commands)
    for words in [(program,) for program in PROGRAMS] + [("snapwalk", c) for c in commands]:
        text = help_of(*words)
        if tap.check(text and "Usage:" in text, f"{' '.join(words)} --help", text):
            tap.equal(too_long(text), [], f"{' '.join(words)} --help: {COLUMNS} columns")


def pages():
    directory = os.path.join(ROOT, "man")
    return [os.path.join(directory, name) for name in sorted(os.listdir(directory))
            if re.search(r"\.[1-8]$", name)]


def test_pages(tap):
    tap.check(len(pages()) >= 8, "there are manual pages", pages())
    environment = dict(os.environ, MANWIDTH=str(COLUMNS), MAN_KEEP_FORMATTING="", MANROFFOPT="-c",
                       LC_ALL="C.UTF-8", MANPAGER="cat", PAGER="cat")
    printers = {"man": ["man", "-l"], "mandoc": ["mandoc", "-T", "utf8", "-O", f"width={COLUMNS}"]}
    for name, command in printers.items():
        if tool(name) is None:
            tap.skip(f"{name}: {COLUMNS} columns", f"{name} is not installed",
                     f"package {'man-db' if name == 'man' else name}")
            continue
        for page in pages():
            result = subprocess.run([*command, page], capture_output=True, timeout=60,
                                    env=environment)
            text = result.stdout.decode("utf-8", "replace")
            title = os.path.basename(page)
            tap.check(result.returncode == 0 and len(text.splitlines()) > 20, f"{name} {title}",
                      result.stderr)
            tap.equal(too_long(text), [], f"{name} {title}: {COLUMNS} columns")
            if title == "snapwalk.1":
                before = re.sub(".\b", "", text).partition("\nEXAMPLES\n")[0]
                tap.check(before.count("\n") <= 20, f"{name} {title}: examples on the first screen", before)


def on_terminal(locale, *words):
    """(status, bytes) of a command on a terminal of that locale."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(LC_ALL=locale, TERM="xterm")
        os.execv(SNAPWALK, [SNAPWALK, *map(str, words)])
    said = b""
    with open(terminal, "rb", buffering=0) as file:
        try:
            while part := file.read(65536):
                said += part
        except OSError:  # it has ended
            pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said


def test_locale(tap):
    """A terminal whose locale is not of UTF-8 is given ASCII; what is not a terminal, UTF-8."""
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "größe")
        os.symlink(os.path.join(TARGETS, "threads"), program)
        with Target("größe", "2", path=program) as target:
            for mark, word, *words in (("·", b"|", "dump", target.pid), ("·", b"|", "sample", target.pid, "-d", "1"),
                                       ("größe", b"gr??e", "top", target.pid, "--count", "1")):
                status, said = on_terminal("C.UTF-8", *words)  # 3: a sample is lost, on a machine that has much to do
                tap.check(status in (0, 3) and mark in said.decode(), f"{words[0]}, UTF-8: as it is", said)
                status, said = on_terminal("C", *words)
                tap.check(status in (0, 3) and word in said and said.isascii(), f"{words[0]}, locale C: ASCII", said)
            result = snapwalk(target.pid, env=dict(os.environ, LC_ALL="C"), encoding="utf-8")
            tap.check("·" in result.stdout, "a pipe, locale C: UTF-8", result.stdout)


def test_empty_list(tap):
    with Daemon() as daemon, Target("threads", "2") as target, Target("threads", "2") as other:
        def listed(*words):
            result = snapwalk("list", "--socket", daemon.socket_path, *words)
            return result.returncode, result.stdout, result.stderr

        where = f"; the daemon keeps them in {daemon.call('Status')['directory']}\n"
        tap.check(os.path.isdir(daemon.call("Status")["directory"]), "Status names the directory")
        tap.equal(listed(), (0, "", f"snapwalk: there is no dump that you may see{where}"),
                  "an empty list says so, and where dumps are kept")
        tap.equal(listed("--json"), (0, "", ""), "JSON: no lines")
        daemon.call("Capture", target={"pid": other.pid}, options={"store": False})
        tap.equal(listed()[:2], (0, ""), "a dump that is not kept is not listed")
        kept = daemon.call("Capture", target={"pid": target.pid})["dump"]["id"]
        said = re.findall(r"captured \d+ \(threads\): .* dump (\S+?)(, not kept)?$", daemon.log(), re.M)
        tap.equal([(id == kept, word) for id, word in said], [(False, ", not kept"), (True, "")], "the log says which dump is kept")
        status, out, err = listed()
        tap.equal((status, len(out.splitlines()), err), (0, 2, ""), "a single dump: a header, a line")
        tap.equal(listed("--comm", "nobody"),
                  (0, "", f"snapwalk: there is no such dump that you may see{where}"),
                  "none of these")


if __name__ == "__main__":
    Tap.main(test_help, test_pages, test_locale, test_empty_list)
