#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""Go: goroutines in system calls against the program's own dump, and stops anywhere in busy code.

Programs with a known chain of calls are built by golang-go: plain, stripped, position-independent, with
C code, and as a library of a C program. Newer versions come as esbuild, which is stripped.
SNAPWALK_STOPS sets how many stops there are of each (60).
"""
import bisect
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

from harness import BUILD, Target, module_of, patient_dump, stack_of, wait_until
from interpreted import text_of
from judge import Judge, cut_in_stack, scaled

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "go")
DIRECTORY = os.path.join(os.path.abspath(BUILD), "tests", "go")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "60"))
ESBUILD = {"0.17.7": "1.20", "0.24.0": "1.23", "0.28.2": "1.26"}
# Where the stack of a thread ends that is Go's; in programs with C code also where C's end.
ROOTS = {"runtime.goexit", "runtime.mcall", "runtime.morestack", "runtime.mstart", "runtime.rt0_go",
         "runtime.clone"}
C_ROOTS = {"clone3", "_start", "__clone3"}
CHAIN = ["main.f6", "main.f5", "main.inlined", "main.f4", "main.f3", "main.f2", "main.f1", "main.worker",
         "runtime.goexit"]
GROW = ["main.grow"] * 51 + ["main.worker.func1", "runtime.goexit"]
# Functions that are reached by a jump from the one that is called.
JUMPS = {"runtime.morestack_noctxt": {"runtime.morestack"}, "runtime.cmpstring": {"cmpbody"},
         "internal/bytealg.IndexByteString": {"indexbytebody"}, "internal/bytealg.IndexByte": {"indexbytebody"},
         "internal/bytealg.CountString": {"countbody"}, "runtime.memequal": {"memeqbody"},
         "runtime.memhash": {"aeshashbody", "runtime.memhashFallback"},
         "runtime.strhash": {"aeshashbody", "runtime.strhashFallback"}}


def made(name):
    return os.path.join(DIRECTORY, name)


def build(name, source, *options, cgo=False):
    """A program of golang-go, without network and modules."""
    env = dict(os.environ, GO111MODULE="off", GOCACHE=made("cache"), GOFLAGS="", GOPROXY="off",
               GOTOOLCHAIN="local", CGO_ENABLED="1" if cgo else "0", CGO_CFLAGS="-O2 -g")
    subprocess.run(["go", "build", *options, "-o", made(name), os.path.join(SOURCES, source)], check=True, env=env,
                   stdout=sys.stderr)
    return made(name)


def build_all():
    os.makedirs(DIRECTORY, exist_ok=True)
    for name in ("blocked", "busy"):
        build(name, f"{name}.go")
        build(f"{name}-stripped", f"{name}.go", "-ldflags=-s -w")
    build("busy-pie", "busy.go", "-buildmode=pie")
    build("vdso", "vdso.go")
    build("cgo", "cgo.go", cgo=True)
    build("cgo-pie", "cgo.go", "-buildmode=pie", cgo=True)
    build("linked", "linked.go", "-ldflags=-s -w", cgo=True)
    build("liblibrary.so", "library.go", "-buildmode=c-shared", cgo=True)
    subprocess.run(["gcc", "-O1", "-g", "-o", made("host"), os.path.join(SOURCES, "host.c"), f"-L{DIRECTORY}", "-llibrary",
                    "-pthread", f"-Wl,-rpath,{DIRECTORY}"], check=True)


def esbuild(version):
    path = made(os.path.join("node_modules", f"esbuild-{version}", "bin", "esbuild"))
    if not os.path.exists(path):
        with open(made("package.json"), "w") as package:
            package.write('{"private": true}\n')
        subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
                        *(f"esbuild-{v}@npm:@esbuild/linux-x64@{v}" for v in ESBUILD)], cwd=DIRECTORY, check=True,
                       stdout=sys.stderr)
    return path


# ---- what must hold for every stack -------------------------------------------------------------

class Symbols:
    """Code of a file and its symbols."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        start, = struct.unpack_from("<Q", self.data, 32)
        count, = struct.unpack_from("<H", self.data, 56)
        self.segments = [struct.unpack_from("<IIQQQQ", self.data, start + 56 * i) for i in range(count)]
        out = subprocess.run(["nm", "-n", path], capture_output=True, text=True).stdout
        rows = [line.split() for line in out.splitlines()]
        self.symbols = [(int(r[0], 16), r[2]) for r in rows if len(r) >= 3 and r[1] in "tTwWi"]
        self.addresses = [a for a, _ in self.symbols]

    def bytes_at(self, svma, size):
        for kind, _, off, start, _, length in self.segments:
            if kind == 1 and start <= svma < start + length:
                return self.data[off + svma - start:off + svma - start + size]
        return b""

    def name(self, svma):
        at = bisect.bisect_right(self.addresses, svma) - 1
        return self.symbols[at][1].replace(".abi0", "") if at >= 0 else ""


class Checker:
    """Looks at stacks, and keeps the files that it has read."""

    def __init__(self, roots):
        self.roots = roots
        self.files = {}

    def symbols(self, path):
        if path not in self.files:
            self.files[path] = Symbols(path)
        return self.files[path]

    def wrong_call(self, report, frames):
        """Where a direct call comes before a return address, it leads to the frame that was called."""
        for callee, caller in zip(frames, frames[1:]):
            if caller["module"] is None or callee["module"] != caller["module"] or caller["kind"] != "go":
                continue
            file = self.symbols(module_of(report, caller))
            svma = int(caller["offset"], 16)
            code = file.bytes_at(svma - 5, 5)
            if not file.symbols or len(code) < 5 or code[0] != 0xe8 or callee["function"] == "runtime.asyncPreempt":
                continue
            called = file.name(svma + struct.unpack("<i", code[1:])[0])
            before = frames[frames.index(callee) - 1]
            exact = callee is frames[0] or before.get("signal", False) or before["function"] == "runtime.asyncPreempt"
            found = file.name(int(callee["offset"], 16) - (not exact))
            # On the system's own stack systemstack() jumps.
            # Since 1.25 C is jumped to by a function of its own.
            if found != called and called not in ("runtime.systemstack", "runtime.asmcgocall_landingpad") and found not in JUMPS.get(called, ()):
                return f"{caller['function']} calls {called}, not {found}"
        return None

    def wrong(self, report, stack):
        """None when the stack is right."""
        frames = stack["frames"]
        names = [f["function"] for f in frames]
        if cut_in_stack(stack) is not None:
            return cut_in_stack(stack)
        if names[-1] not in self.roots:
            return f"ends in {names[-1]}"
        chain = [name for name in names if name in CHAIN]
        if chain and (chain != CHAIN[-len(chain):] or names[-len(chain):] != chain) and "main.grow" not in names \
                and chain != ["runtime.goexit"]:
            return "another chain"
        depth = names.count("main.grow")
        if depth and names[-depth - 2:] != GROW[-depth - 2:]:
            return "another recursion"
        return self.wrong_call(report, [f for f in frames if not f["inlined"]])


def check_stops(tap, name, path, roots, wanted, *args):
    """wanted: functions that must have been seen, if need be in more stops; "_cgo_": any that cgo made."""
    checker, seen = Checker(roots), set()
    with Target(None, *args, path=path) as target, Judge(tap, "go.busy", name) as judge:
        for stops, look in enumerate(judge.series(target.pid, 10 * STOPS, stop="auto"), 1):
            for stack in (stack_of(look.report, thread["tid"]) for thread in look.report["threads"] if thread["captured"]):
                seen.update(re.sub(r"^(_cgo_)[0-9a-f]+_.*", r"\1", f["function"] or "") for f in stack["frames"])
                judge.verdict(look, cut_in_stack(stack), checker.wrong(look.report, stack), text_of(stack))
            if stops >= scaled(STOPS) and wanted <= seen:
                break
    tap.check(wanted <= seen, f"{name}: {len(wanted)} functions of the chain were seen", wanted - seen)


# ---- blocked goroutines -------------------------------------------------------------------------

def own_dump(process):
    """[[(function, line)]] of the goroutines, innermost first, as the runtime itself prints them; ends it."""
    process.send_signal(signal.SIGQUIT)
    text = process.stderr.read()
    found = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if not lines or not re.match(r"goroutine \d+ ", lines[0]):
            continue
        frames = []
        for call, place in zip(lines[1::2], lines[2::2]):
            line = re.search(r":(\d+)(?: \+0x[0-9a-f]+.*)?$", place)
            if line and not call.startswith("created by"):
                frames.append((re.sub(r"\([^()]*\)$", "", call), int(line.group(1))))
        found.append(frames)
    return found


def from_read(frames):
    """Without what is called by syscall.read(): the runtime notes where a system call begins, and not how it
    is made."""
    frames = list(frames)
    return frames[[f for f, _ in frames].index("syscall.read"):]


def check_blocked(tap, name):
    env = dict(os.environ, GOTRACEBACK="system")
    process = subprocess.Popen([made(name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        process.stdout.readline()

        def readers():
            nonlocal report
            report = patient_dump(process.pid)
            return [s for s in report["stacks"] if any(f["function"] == "main.outer" for f in s["frames"])]
        report = None
        wait_until(lambda: len(readers()) == 4 and all(s["frames"][1]["function"].startswith("syscall.") or
                                                       s["frames"][0]["function"].startswith("syscall.")
                                                       for s in readers()), "four goroutines in read")
        ours = sorted(from_read((f["function"], f["line"]) for f in s["frames"]) for s in readers())
        theirs = sorted(from_read(g) for g in own_dump(process) if any(f == "main.outer" for f, _ in g))
        tap.equal(ours, theirs, f"{name}: functions and lines of goroutines in system calls as it says itself")
        tap.check(all(s["end"] == "complete" for s in report["stacks"]), f"{name}: every thread is complete",
                  [s["why"] for s in report["stacks"]])
        tap.equal([w["code"] for w in report["warnings"] if w["code"] == "stack_limit"], [],
                  f"{name}: the heap is not copied as a stack")
        found = [r for r in report["process"]["runtimes"] if r["name"] == "go"]
        tap.equal([r["version"].split(".")[0] for r in found], ["1"], f"{name}: recognised once, with its version")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


# ---- versions, as esbuild ------------------------------------------------------------------------

def check_esbuild(tap, version):
    """Stripped: complete stacks with names and lines, while it works and while it waits."""
    source = made("large.js")
    with open(source, "w") as js:
        for i in range(20000):
            js.write(f"export function f{i}(a, b) {{ return a * {i} + [b, f{i // 2}].map(x => x + 1).length }}\n")
    checker, wrong, names, versions, lines, stacks = Checker(ROOTS), [], set(), set(), 0, 0
    process = None
    try:
        for _ in range(STOPS):
            if process is None or process.poll() is not None:
                process = subprocess.Popen([esbuild(version), source, "--minify", "--outfile=/dev/null",
                                            "--log-level=silent"])
            report = None
            try:
                report = patient_dump(process.pid, status=(0, 3))
            except RuntimeError:
                continue  # it is done
            versions.update(r["version"] for r in report["process"]["runtimes"] if r["name"] == "go")
            for stack in report["stacks"]:
                if any(f["module"] is None for f in stack["frames"]):
                    continue
                # A process that ends has threads whose memory is gone.
                if process.poll() is not None:
                    break
                stacks += len(stack["threads"])
                names.update(f["function"] for f in stack["frames"])
                lines += sum(f["line"] is not None for f in stack["frames"])
                what = checker.wrong(report, stack)
                if what is not None:
                    wrong.append(f"{what}: {[f['function'] for f in stack['frames']]}")
    finally:
        if process is not None:
            process.kill()
            process.wait()
    tap.check(not wrong and stacks > STOPS, f"esbuild {version}, go {ESBUILD[version]}: {stacks} stacks, all complete",
              "\n".join(wrong[:5]))
    tap.equal({".".join(v.split(".")[:2]) for v in versions}, {ESBUILD[version]}, f"esbuild {version}: Go's version")
    tap.check(any("js_parser" in str(n) for n in names) and lines > 10 * STOPS,
              f"esbuild {version}: functions and lines", sorted(map(str, names))[:20])


def main():
    from harness import Tap
    tap = Tap()
    tap.check(shutil.which("go"), "golang-go is installed")
    build_all()
    for name in ("blocked", "blocked-stripped"):
        tap.guard(check_blocked, name)
    chain = set(CHAIN)
    for name in ("busy", "busy-stripped", "busy-pie"):
        tap.guard(check_stops, name, made(name), ROOTS, chain)
    tap.guard(check_stops, "vdso", made("vdso"), ROOTS, {"time.now", "main.depth", "main.worker"})
    calls = {"main.top", "main.through_c", "c_outer", "runtime.asmcgocall", "runtime.cgocallback", "crosscall2"}
    for name in ("cgo", "cgo-pie"):
        tap.guard(check_stops, name, made(name), ROOTS | C_ROOTS, calls)
    # The functions that the C library calls for it depend on nsswitch.conf.
    lookup = {"runtime.asmcgocall", "runtime.cgocall", "os/user.Lookup", "main.look", "_cgo_"}
    tap.guard(check_stops, "linked", made("linked"), ROOTS | C_ROOTS, lookup)
    tap.guard(check_stops, "library", made("host"), ROOTS | C_ROOTS, {"main.g2", "crosscall2", "h1", "run"})
    for version in ESBUILD:
        tap.guard(check_esbuild, version)
    tap.done()


if __name__ == "__main__":
    main()
