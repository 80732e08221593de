#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 30s
"""Completion in bash, zsh and fish: each shell offers the commands, options and values of snapwalk --help."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

from harness import SNAPWALK, Tap, Target, public

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
# The first zsh looks through all its functions, the next ones read what that one has found (-d).
# zsh calls compadd for each group of matches: this one writes down what fits, and comppostfuncs the end.
ZSH = r"""PS1= PS2= RPS1=
fpath=("$PLACE" $fpath)
autoload -Uz compinit && compinit -u -C -d "$PLACE/functions"
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
	local -a found
	builtin compadd -A found "$@"
	((! $#found)) || print -rl -- $IPREFIX$^found >>"$PLACE/found"
	builtin compadd "$@"
}
at_end() { print END >>"$PLACE/found" }
comppostfuncs=(at_end)
zstyle ':completion:*' menu no
LISTMAX=0
unsetopt beep
print -r READY >>"$PLACE/found"
"""


class Shell:
    """The words that a shell offers for a line, as a set."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(os.path.join(directory, "bin"))
        os.symlink(SNAPWALK, os.path.join(directory, "bin", "snapwalk"))
        self.env = {**os.environ, "PATH": f"{directory}/bin:{os.environ['PATH']}", "HOME": directory,
                    "PLACE": directory, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        self.env.pop("XDG_CONFIG_HOME", None)

    def run(self, *command):
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", env=self.env, timeout=60)
        if result.stderr:
            raise RuntimeError(result.stderr)
        return [line for line in result.stdout.split("\n") if line]


class Bash(Shell):
    name = package = "bash"

    def offer(self, line):
        words = re.findall(r"=|[^ =]+", line) + ([""] if line[-1] == " " else [])
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_snapwalk "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        head = line[line.rfind(" ") + 1:]
        head = head[:head.find("=") + 1]  # bash completes only what is behind the last "="
        return {head + word for word in self.run("bash", "-c", script, "bash", f"{ROOT}/cli/completion.bash", *words)}


class Fish(Shell):
    name = package = "fish"

    def offer(self, line):
        lines = self.run("fish", "--no-config", "-c", f"source {ROOT}/cli/completion.fish; complete -C $argv[1]", line)
        found = {word.split("\t")[0] for word in lines}
        # fish also offers words that have the letters somewhere.
        return {word for word in found if word.startswith(line.split(" ")[-1])}


class Zsh(Shell):
    name = package = "zsh"

    def __init__(self, directory):
        super().__init__(directory)
        shutil.copy(f"{ROOT}/cli/completion.zsh", f"{directory}/_snapwalk")
        with open(f"{directory}/.zshrc", "w") as file:
            file.write(ZSH)
        self.found = f"{directory}/found"

    def offer(self, line):
        """A shell of its own on a terminal, into which the line and a tab are typed."""
        if os.path.exists(self.found):
            os.unlink(self.found)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe("zsh", ["zsh", "-o", "no_global_rcs", "-i"], {**self.env, "ZDOTDIR": self.directory})
        try:
            self.wait(terminal, "READY")
            os.write(terminal, line.encode() + b"\t")
            text = self.wait(terminal, "END")
        finally:
            os.close(terminal)
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        words = {re.sub(r"\\(.)", r"\1", word) for word in text.split("\n")[1:]}
        return words - {"", "END"}

    def wait(self, terminal, word):
        said, end = b"", time.monotonic() + 60
        while time.monotonic() < end:
            text = open(self.found).read() if os.path.exists(self.found) else ""
            if word in text.split("\n"):
                return text
            ready, _, _ = select.select([terminal], [], [], 0.02)
            if ready:
                said += os.read(terminal, 65536)
                if b"(y/n)" in said or b"do you wish" in said:
                    os.write(terminal, b"y")
                    said = b""
        raise TimeoutError(f"zsh never came to {word}")


def options(command=None):
    text = subprocess.run([SNAPWALK, *([command] if command else []), "--help"], capture_output=True, text=True,
                          check=True).stdout
    found = re.findall(r"^  (?:(-\w), )?(--[a-z-]+)", text, re.M)
    return {word for pair in found for word in pair if word}


def offers(tap, shell, pid):
    name = shell.name
    text = subprocess.run([SNAPWALK, "--help"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"^  ([a-z]+)(?: |$)", text.split("Commands:")[1].split("Targets:")[0], re.M))
    tap.check(len(commands) > 10 and commands <= shell.offer("snapwalk "), f"{name}: each command")
    tap.equal(shell.offer("snapwalk do"), {"doctor"}, f"{name}: a command by its beginning")
    tap.equal(shell.offer("snapwalk dump -"), options("dump"), f"{name}: each option of dump")
    tap.equal(shell.offer("snapwalk sample --ra"), {"--rate"}, f"{name}: an option of sample")
    tap.equal(shell.offer("snapwalk dump --format "), {"text", "json", "folded", "html"}, f"{name}: values")
    tap.equal(shell.offer("snapwalk dump --format=j"), {"--format=json"}, f"{name}: a value behind =")
    tap.equal(shell.offer("snapwalk sample --format=p"), {"--format=pprof"}, f"{name}: a value behind =, by command")
    for command in ("on", "leaks", "merge"):
        tap.equal(shell.offer(f"snapwalk {command} -"), options(command), f"{name}: each option of {command}")
    tap.equal(shell.offer("snapwalk leaks 1 --of "), {"fds", "threads", "maps", "memory", "timers", "shm", "epoll"}, f"{name}: kinds of leaks")
    tap.equal(shell.offer("snapwalk on usdt"), {"usdt:"}, f"{name}: an event")
    tap.equal(shell.offer("snapwalk on death 1 --then "), {"dump"}, f"{name}: a value of on")
    tap.check(str(pid) in shell.offer("snapwalk on death "), f"{name}: a process for on")
    tap.check(str(pid) in shell.offer("snapwalk "), f"{name}: processes")
    tap.equal(shell.offer(f"snapwalk dump {pid}"), {str(pid)}, f"{name}: a process by its beginning")
    tap.equal(shell.offer("snapwalk dump --comm waits_by_na"), {"waits_by_name"}, f"{name}: names of processes")
    tap.equal(shell.offer("snapwalk dump --comm=waits_by_na"), {"--comm=waits_by_name"}, f"{name}: names behind =")
    tap.equal(shell.offer("snapwalk hook na"), {"nagios"}, f"{name}: kinds of hooks")
    with open("/proc/self/cgroup") as file:
        groups = re.findall(r"^(?:0:|\d+:name=systemd):(.*)$", file.read(), re.M)
    tap.check(set(groups) <= shell.offer("snapwalk dump --cgroup /"), f"{name}: control groups", groups)
    place = os.path.join(shell.directory, "files")
    os.makedirs(place, exist_ok=True)
    for file in ("one.json", "once", "crash.dmp", "crash.txt"):
        open(os.path.join(place, file), "w").close()
    shutil.copy("/bin/sleep", f"{place}/on-a-disk")
    open(os.path.join(place, "core.7"), "w").close()
    for line, wanted, what in ((f"{pid} -o {place}/onc", {"once"}, "files"),
                               (f"merge {place}/one", {"one.json"}, "files for merge"),
                               (f"{place}/cor", {"core.7"}, "core files"),
                               (f"explain {place}/cor", {"core.7"}, "core files for explain"),
                               (f"sample -- {place}/on-", {"on-a-disk"}, "programs"),
                               (f"sample -d 1 -- cat {place}/one", {"one.json"}, "files for a program")):
        found = {os.path.basename(word) for word in shell.offer(f"snapwalk {line}")}
        tap.equal(found, wanted, f"{name}: {what}")
    here = os.getcwd()
    os.chdir(place)
    try:
        for line in ("snapwalk cra", "snapwalk dump cra"):
            tap.equal(shell.offer(line), {"crash.dmp"}, f"{name}: minidumps, {line}")
    finally:
        os.chdir(here)


def main():
    tap = Tap()
    copy = os.path.join(os.path.dirname(public("/bin/sleep")), "waits_by_name")
    shutil.copy("/bin/sleep", copy)
    with tempfile.TemporaryDirectory() as directory, Target(None, 1000, path=copy, ready=None) as target:
        for kind in (Bash, Zsh, Fish):
            if shutil.which(kind.name) is None:
                tap.skip(f"completion in {kind.name}", "it is not installed", f"package {kind.package}")
                continue
            shell = kind(os.path.join(directory, kind.name))
            tap.guard(offers, shell, target.pid)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
