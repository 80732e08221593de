# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs of interpreters whose chain of calls is written in their source.

A line that calls something says so in a comment: "-> name name". Two neighbours of a stack fit when the
line of the outer one says that it calls the inner one.
"""
import contextlib
import os
import re
import shutil
import subprocess
import tempfile

from judge import cut_in_stack

# The root directory of another Debian, whose interpreters are looked at then: SNAPWALK_ROOT.
ROOT = os.environ.get("SNAPWALK_ROOT")
LAST = ("_start", "start_thread", "clone3")


def interpreter(*words):
    """A command of this machine, or of the other Debian."""
    return ["chroot", ROOT, *words] if ROOT else list(words)


def program(directory, name):
    """The path of a source, which may include its neighbours, for interpreter()."""
    if ROOT:
        for each in os.scandir(directory):
            if each.is_file():
                # As old as they are: what was just changed opcache does not keep, nor does the JIT compile it.
                shutil.copy2(each.path, os.path.join(ROOT, "tmp"))
        return os.path.join("/tmp", name)
    return os.path.join(directory, name)


@contextlib.contextmanager
def erlang(directory, name):
    """The path of a folder with the compiled program, for interpreter()."""
    with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, "tmp") if ROOT else None) as folder:
        shutil.copy(os.path.join(directory, name), folder)
        inside = os.path.join("/tmp", os.path.basename(folder)) if ROOT else folder
        subprocess.run(interpreter("erlc", "-o", inside, os.path.join(inside, name)), check=True)
        yield inside


class Program:
    """A program that runs until the block ends and has said that it is ready; lines: its output before that."""

    def __init__(self, *command):
        self.command = command

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.pid = self.process.pid
        self.lines = []
        for line in self.process.stdout:
            if line == "ready\n":
                return self
            self.lines.append(line.rstrip("\n"))
        raise RuntimeError(f"{self.command}: {self.lines}")

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def calls_of(path):
    """{line: {names that it calls}}"""
    found = {}
    with open(path) as source:
        for number, line in enumerate(source, 1):
            if "->" in line:
                said = re.search(r"(?://|#) -> (.*)$", line)
                if said:
                    found[number] = {name.replace("_in_", " in ") for name in said.group(1).split()}
    return found


def language_frames(stack, kind):
    return [f for f in stack["frames"] if f["kind"] == kind]


def wrong_in_stack(stack):
    """Returns what is wrong with any stack, or None."""
    if cut_in_stack(stack) is not None:
        return cut_in_stack(stack)
    last = stack["frames"][-1]["function"] or ""
    # The C library's own symbols are in a package that the other Debian does not have.
    return None if last.startswith(LAST) or (ROOT and last == "") else f"ends in {last}"


def ruby_label(label):
    """Without the class, which Ruby has in it from 3.4 on."""
    return re.sub(r"(?:[A-Z]\w*::)*[A-Z]\w*[#.]", "", label)


def as_ruby_says(frames, version):
    """[(function, file, line)] without what Ruby leaves out from 3.4 on: who is in a "rescue" or "ensure" has its line."""
    if [int(part) for part in version.split(".")[:2]] < [3, 4]:
        return frames
    found, inner = [], None
    for name, path, line in frames:
        if inner is None or name != inner:
            found.append((re.sub(r"^(rescue|ensure) in ", "", name), path, line))
        inner = re.sub(r"^(rescue|ensure) in ", "", name) if re.match(r"(rescue|ensure) in ", name) else None
    return found


def wrong_in_chain(frames, calls, outermost, native):
    """frames: those of the language; native: {function that is not in the source: {what it may call}}."""
    if not frames or frames[-1]["function"] != outermost:
        return f"the outermost is not {outermost}"
    for inner, outer in zip(frames, frames[1:]):
        wanted = native.get(outer["function"]) or calls.get(outer["line"])
        if wanted is None or inner["function"] not in wanted:
            return f"{outer['function']} at line {outer['line']} calls {inner['function']}"
    return None


def text_of(stack):
    return "\n".join([f"{stack['end']}: {stack['why']}"] + [
        f"{f['pc']} {f['function']} {f['line']} {f['kind']} {f['by']} {f['trust']}" for f in stack["frames"]])
