# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds and starts the .NET programs of tests/targets/dotnet.

    missing = dotnet.missing()                     # why they cannot be built, or None
    with dotnet.Program("stacks") as target:       # a harness.Target
        truth = target.truth()                     # {tid: (name, [(MethodDesc, offset, method)])}

A build is kept in the build directory until the sources change.
"""
import os
import re
import shutil
import subprocess

from harness import BUILD, Tap, Target, tool

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "dotnet")


def missing():
    return None if tool("dotnet") else "the .NET SDK is not installed"


def run(tests):
    """Run the tests that the command line names, or all; skipped with the reason where there is no SDK."""
    tap = Tap()
    reason = missing()
    for test in tap.chosen(*tests):
        if reason:
            tap.skip(test.__name__, reason, "the .NET SDK 10 (dotnet) in PATH")
        else:
            tap.guard(test)
    tap.done()


def newest(directory, names):
    return max(os.path.getmtime(os.path.join(directory, name)) for name in names)


WINDOWS = "win-x64"


def build(framework="net10.0", *options, system="linux-x64"):
    """The directory with the program "swnet", of WINDOWS "swnet.exe"; options go to dotnet publish, if
    there are any."""
    key = "-".join([framework, *(re.sub(r"\W", "", o) for o in options)])
    if system == WINDOWS:
        key += "-" + WINDOWS
    work = os.path.abspath(os.path.join(BUILD, "tests", "dotnet", key))
    out = os.path.join(work, "out")
    program = os.path.join(out, "swnet.exe" if system == WINDOWS else "swnet")
    names = os.listdir(SOURCES)
    if os.path.exists(program) and os.path.getmtime(program) >= newest(SOURCES, names):
        return out
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(out)
    for name in names:
        shutil.copy(os.path.join(SOURCES, name), work)
    env = {**os.environ, "SwFramework": framework, "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
           "DOTNET_NOLOGO": "1", "MSBUILDDISABLENODEREUSE": "1"}
    what = ["publish", "-r", system, *options] if options else ["build"]
    # No server of the compiler stays behind.
    result = subprocess.run(["dotnet", *what, "-c", "Release", "-o", out, "--nologo",
                             "-p:UseSharedCompilation=false"], cwd=work, env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    if result.returncode != 0:
        raise RuntimeError(f"dotnet {what}: {result.stdout[-2000:]}")
    if system == WINDOWS:
        compiler = ["x86_64-w64-mingw32-gcc", "-O2", "-g", "-Wall", "-Wextra", "-shared", "-o",
                    os.path.join(out, "swnative.dll"), os.path.join(work, "native_windows.c")]
    else:
        compiler = ["gcc", "-O2", "-g", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread", "-o",
                    os.path.join(out, "libswnative.so"), os.path.join(work, "native.c")]
    subprocess.run(compiler, check=True)
    os.utime(program)
    return out


class Program(Target):
    """The program in one of its modes; directory is what build() gave."""

    def __init__(self, mode, *args, directory=None, **target):
        super().__init__(mode, mode, *args,
                         path=os.path.join(directory or build(), "swnet"), **target)

    def truth(self):
        """Returns the stacks that its threads printed, innermost first. StackTrace also shows methods that the runtime
        itself implements, without an address."""
        stacks = {}
        for line in self.lines:
            if not line.startswith("truth "):
                continue
            head, *frames = line.split(" | ")
            _, tid, name = head.split(" ")
            frames = [frame.split(" ", 2) for frame in frames]
            stacks[int(tid)] = (name, [(int(method, 16), int(offset), words)
                                       for method, offset, words in frames
                                       if int(offset) != 0])
        return stacks

    def lines_of(self):
        """{tid: (name, [(offset, IL offset, line, method, file)])}, innermost first; of "stacks" with
        "lines". line 0: the runtime does not know it."""
        stacks = {}
        for line in self.lines:
            if line.startswith("lines "):
                head, *frames = line.split(" | ")
                _, tid, name = head.split(" ")
                frames = [frame.split(" ", 4) for frame in frames]
                stacks[int(tid)] = (name, [(int(offset), int(il), int(number), method, file)
                                           for offset, il, number, method, file in frames])
        return stacks

    def methods(self):
        """{MethodDesc: name} of the storm."""
        return {int(line.split(" ")[1], 16): line.split(" ")[2]
                for line in self.lines if line.startswith("method ")}


def method_desc(frame):
    """The MethodDesc in the name of a frame, None when it has a better name."""
    found = re.match(r"\[(?:jit|r2r) 0x([0-9a-f]+)\]", frame["function"] or "")
    return int(found.group(1), 16) if found else None


def same_method(frame, method, words):
    """True when the frame is in that method: by its MethodDesc, or by its name."""
    ours = method_desc(frame)
    if frame["function"] == "[r2r]":
        return True  # of .NET 8 and 9 it is not known
    if ours is None:
        return words.rpartition(".")[2].strip() in (frame["function"] or "")
    # StackTrace knows generic methods by another MethodDesc than the one whose code runs.
    return method == 0 or ours == method or "`" in words


def compare(truth, frames):
    """None, or how the managed frames of a stack differ from what the program said. Ours may have
    more: stubs, and those of exceptions, whose frames are still on the stack."""
    ours = [f for f in frames if f["kind"] == "clr"]
    at = 0
    for i, (method, offset, words) in enumerate(truth):
        while at < len(ours):
            frame = ours[at]
            at += 1
            # The first one goes on to block; one that has called native code is noted by the
            # runtime with an address of its own choice, not with the return address.
            exact = i > 0 and frame["by"] == "clr"
            if frame["function_offset"] == offset or (not exact and
                                                      same_method(frame, method, words)):
                break
        else:
            return f"no frame for {words} + {offset}"
    return None
