#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""Names, files, lines and inlined calls, from every place debug information can be in."""
import contextlib
import errno
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading

from harness import (PATIENT, SNAPWALK, TARGETS, Tap, Target, dump, no_mounts, own_functions, seeded, tool,
                     wait_blocked, wait_until)

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "targets", "lib", "names.cc")
CHAIN = ["block", "inlined_inner", "inlined_middle", "templated", "method", "c_function"]
FUNCTIONS = {
    "templated": "double outer::templated<double>(double)",
    "method": "outer::(anonymous namespace)::Widget::method(char const*) const",
    "c_function": "c_function",
}


def run(*words, **how):
    subprocess.run(words, check=True, capture_output=True, **how)


def marks():
    """{("first"|"line", function): line number} of the source."""
    found = {}
    with open(SOURCE) as source:
        for number, text in enumerate(source, 1):
            for mark in re.finditer(r"/\* (first|line) (\w+) \*/", text):
                found[mark[1], mark[2]] = number
    return found


def build(directory, *flags, compiler="g++"):
    path = os.path.join(directory, "names")
    run(compiler, "-O2", "-D_GNU_SOURCE", "-w", *flags, "-o", path, SOURCE)
    return path


def frames_of(path, *args, **popen):
    """The frames of the program's main thread up to main, and its module."""
    with Target("names", path=path, **popen) as target:
        wait_blocked(target.pid, calls=(34, 29))  # pause, of i386, too
        report = dump(target.pid, "--max-stop", 5000, *args)
    frames = report["stacks"][report["threads"][0]["stack"]]["frames"]
    module = next(m for m in report["modules"] if os.path.basename(m["path"]) == "names")
    return frames, module


def plain(function):
    """The bare name: no scope, no parameters."""
    name = re.sub(r"<.*?>|\(anonymous namespace\)::", "", function or "?").split("(")[0]
    return name.split("::")[-1].split(" ")[-1]


def check_lines(tap, frames, name):
    """The chain with inlined calls, each at its line."""
    lines = marks()
    chain = frames[:len(CHAIN)]
    tap.equal([plain(f["function"]) for f in chain], CHAIN, f"{name}: functions")
    tap.equal([f["inlined"] for f in chain], [False, True, True, False, False, False],
              f"{name}: inlined")
    for frame in chain[1:]:
        function = plain(frame["function"])
        at, first = lines["line", function], lines["first", function]
        got = (os.path.basename(frame["file"] or "?"), frame["line"], frame["line_offset"])
        tap.equal(got, ("names.cc", at, at - first), f"{name}: line of {function}")
    check_names(tap, chain, name)
    # Without parameters where the compiler gave no linkage name: internal functions of gcc.
    scoped = [(f["function"] or "?").split("(")[0] for f in chain[1:3]]
    tap.equal(scoped, ["outer::inlined_inner", "outer::inlined_middle"], f"{name}: scopes")


NESTED = """
#include <unistd.h>
static volatile int released;
static inline __attribute__((always_inline)) void waits(void)
{
	while (!released)
		pause();
	released = 2;
}
static __attribute__((noipa)) int outer(int n)
{
	int sum = n;
	__attribute__((noipa, noinline)) void inner(int m)
	{
		{
			sum += m;
			waits();
			sum += released;
		}
		__asm__ volatile("" ::: "memory");
	}
	inner(n + 1);
	inner(n + 2);
	return sum;
}
int main(void)
{
	return outer(3) + released;
}
"""


def functions_of_blocked(path):
    """The program's own functions while it is blocked, as own_functions() has them."""
    with subprocess.Popen([path]) as process:
        try:
            wait_blocked(process.pid)
            return own_functions(dump(process.pid), process.pid)
        finally:
            process.kill()


def test_nested(tap):
    """A function in a function, which lies apart from it: what is inlined there."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "nested")
        run("gcc", "-O2", "-g", "-x", "c", "-o", path, "-", input=NESTED.encode())
        functions = functions_of_blocked(path)
    tap.equal([re.sub(r"\.\d+$", "", name) for name in functions],
              ["inlined:waits", "inner", "outer", "main"], "a function in a function has inlined calls")


ACTOR = """
#include <coroutine>
#include <unistd.h>
struct task {
	struct promise_type {
		task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
};
static volatile int released;
static inline __attribute__((always_inline)) void waits(int n)
{
	while (released < n)
		pause();
}
task walks(int n)
{
	co_await std::suspend_always{};
	waits(n);
}
__attribute__((noipa)) int drives(task &t)
{
	t.handle.resume();
	t.handle.resume();
	return released;
}
int main()
{
	task t = walks(3);
	return drives(t);
}
"""


def test_actor(tap):
    """A coroutine of C++: what is inlined in the function that goes on in it."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "actor")
        run("g++", "-std=c++20", "-O2", "-g", "-x", "c++", "-o", path, "-", input=ACTOR.encode())
        functions = functions_of_blocked(path)
    names = [name.partition("(")[0] for name in functions if "std::" not in name]
    tap.equal(names, ["inlined:waits", "walks", "drives", "main"], "a coroutine of C++ has inlined calls")


ADA = """
#include <unistd.h>
static volatile int released;
const char __gnat_ada_main_program_name[] = "tasks";
static inline __attribute__((always_inline)) void tasks__store__putN(void)
{
	while (!released)
		pause();
	released = 2;
}
__attribute__((noipa)) int tasks__workerTB(int n)
{
	tasks__store__putN();
	return released + n;
}
int main(void)
{
	return tasks__workerTB(3) + released;
}
"""


def test_ada(tap):
    """Names as GNAT writes them: inlined calls have theirs in DWARF alone, in a unit that is in Ada."""
    with tempfile.TemporaryDirectory() as directory:
        path, assembler = os.path.join(directory, "tasks"), os.path.join(directory, "tasks.s")
        run("gcc", "-O2", "-g", "-gdwarf-5", "-dA", "-S", "-x", "c", "-o", assembler, "-", input=ADA.encode())
        with open(assembler) as file:
            text, n = re.subn(r"\.byte\s+\S+(\s*# DW_AT_language)", r".byte 0xd\1", file.read())
        with open(assembler, "w") as file:
            file.write(text)
        run("gcc", "-o", path, assembler)
        functions = functions_of_blocked(path)
    tap.equal((n, functions), (1, ["inlined:tasks.store.put", "tasks.worker", "main"]),
              "names of a program in Ada")


def section_off(path, name):
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return int(re.search(rf"\s{re.escape(name)}\s+\S+\s+\w+ (\w+) ", out).group(1), 16)


def check_names(tap, frames, name):
    """The real functions, demangled with scope and parameters."""
    real = [f["function"] for f in frames if not f["inlined"]]
    tap.equal(real[1:4], [FUNCTIONS[f] for f in ("templated", "method", "c_function")],
              f"{name}: demangled")


def test_formats(tap):
    """DWARF versions, compression, no .debug_aranges (clang), another unit's origins (LTO)."""
    for name, compiler, flags in (
            ("dwarf 5", "g++", ["-gdwarf-5"]), ("dwarf 4", "g++", ["-gdwarf-4"]),
            ("dwarf 3", "g++", ["-gdwarf-3", "-gstrict-dwarf"]),
            ("compressed", "g++", ["-g", "-gz=zlib"]), (".zdebug", "g++", ["-g", "-gz=zlib-gnu"]), ("lto", "g++", ["-g", "-flto"]),
            ("no-pie", "g++", ["-g", "-no-pie", "-fno-pie"]),
            ("type units", "g++", ["-g", "-fdebug-types-section"]),
            ("clang", "clang++", ["-g"]), ("clang dwarf 4", "clang++", ["-gdwarf-4"])):
        with tempfile.TemporaryDirectory() as directory:
            frames, module = frames_of(build(directory, *flags, compiler=compiler))
            check_lines(tap, frames, name)
            tap.equal((module["symbols"], module.get("symbols_why")), ("dwarf", None), f"{name}: source")


def test_zstd(tap):
    with tempfile.TemporaryDirectory() as directory:
        path = build(directory, "-g")
        for word in ("zstd", "zlib-gnu"):
            run("objcopy", f"--compress-debug-sections={word}", path)
            frames, _ = frames_of(path)
            check_lines(tap, frames, f"objcopy {word}")
        run("objcopy", "--compress-debug-sections=zstd", path)
        off = section_off(path, ".debug_info")
        for at, byte, why in ((off + 40, b"\xff", "damaged"), (off, b"\x09", "in a way that is not known")):
            with open(path, "r+b") as file:
                file.seek(at)
                file.write(byte)
            frames, module = frames_of(path)
            check_names(tap, frames, f"zstd, {why}")
            tap.check(why in module.get("symbols_why", ""), f"zstd: {why}", module)


def test_options(tap):
    with tempfile.TemporaryDirectory() as directory:
        path = build(directory, "-g")
        lines = marks()
        frames, _ = frames_of(path, "--no-inlines")
        check_names(tap, frames, "--no-inlines")
        tap.check(not any(f["inlined"] for f in frames), "--no-inlines: none is inlined")
        tap.equal(frames[1]["line"], lines["line", "templated"], "--no-inlines: the call's line")
        frames, module = frames_of(path, "--symbols", "names")
        check_names(tap, frames, "--symbols names")
        tap.equal({(f["file"], f["line"]) for f in frames}, {(None, None)},
                  "--symbols names: no lines")
        tap.equal(module["symbols"], "symtab", "--symbols names: source")
        frames, module = frames_of(path, "--symbols", "none")
        tap.equal({f["function"] for f in frames}, {None}, "--symbols none: no names")


SPLIT = [(compiler, version) for compiler in ("g++", "clang++") for version in (4, 5)]


def build_split(directory, compiler, version, *flags):
    """A program in a folder of its own whose .dwo file is in another one."""
    path, objects = os.path.join(directory, "names"), os.path.join(directory, "objects")
    os.makedirs(objects, exist_ok=True)
    run(compiler, "-O2", "-D_GNU_SOURCE", "-w", f"-gdwarf-{version}", "-gsplit-dwarf", *flags, "-c", "-o", "names.o",
        SOURCE, cwd=objects)
    run(compiler, *[f for f in flags if f.startswith("-m")], "-o", path, os.path.join(objects, "names.o"))
    return path, os.path.join(objects, "names.dwo")


def test_split_dwarf(tap):
    """Inlined calls from .dwo files, where the compiler left them and beside the program."""
    for compiler, version in SPLIT:
        for flags in ((), ("-gz=zlib",), ("-fdebug-types-section",)):
            name = f"split {compiler} {version} {' '.join(flags)}"
            with tempfile.TemporaryDirectory() as directory:
                path, dwo = build_split(directory, compiler, version, *flags)
                frames, module = frames_of(path)
                check_lines(tap, frames, name)
                tap.equal(module.get("symbols_why"), None, f"{name}: nothing is missing")
                os.rename(dwo, os.path.join(directory, "names.dwo"))
                frames, module = frames_of(path, "--no-sandbox")
                check_lines(tap, frames, f"{name}, moved")


ONE_RANGE = """
#include "target.h"
static inline __attribute__((always_inline)) int inner(int *n)
{
	int before = n[0] * n[1];
	block();
	KEEP();
	return before + n[2] * n[3];
}
NOINLINE int outer(int *n)
{
	int sum = n[4];
	for (int i = 0; i < n[5]; i++)
		sum += n[6] % 7;
	n[7] += inner(n) * n[8] + sum;
	return n[9];
}
int main(void)
{
	int n[10] = {1, 2, 3, 4, 5, 6, 7};
	ready();
	return outer(n);
}
"""


def test_split_based(tap):
    """Ranges that are relative to the program's one range, whose start only the skeleton has."""
    for compiler, version in (("gcc", 4), ("gcc", 5), ("clang", 4), ("clang", 5)):
        name = f"based {compiler} {version}"
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "one.c"), "w") as file:
                file.write(ONE_RANGE)
            path = os.path.join(directory, "names")
            flags = ["-fno-reorder-functions"] if compiler == "gcc" else []
            run(compiler, "-O2", "-D_GNU_SOURCE", "-w", f"-gdwarf-{version}", "-gsplit-dwarf", *flags,
                "-I" + os.path.dirname(os.path.dirname(SOURCE)), "-c", "one.c", cwd=directory)
            run(compiler, "-o", path, os.path.join(directory, "one.o"))
            frames, _ = frames_of(path)
            tap.equal([(f["function"], f["inlined"]) for f in frames[:4]],
                      [("block", False), ("inner", True), ("outer", False), ("main", False)], name)


def test_split_damaged(tap):
    """A .dwo and a .dwp file with random bytes changed: an answer each time."""
    chance = seeded(18)
    with tempfile.TemporaryDirectory() as directory:
        path, dwo = build_split(directory, "g++", 4)
        run("dwp", "-e", path, "-o", path + ".dwp", cwd=os.path.dirname(dwo))
        with Target("names", path=path) as target:
            wait_blocked(target.pid)
            answers = 0
            for changed in (path + ".dwp", dwo):
                with open(changed, "rb") as file:
                    original = file.read()
                for _ in range(10):
                    data = bytearray(original)
                    for _ in range(chance.randrange(1, 30)):
                        at = chance.randrange(len(data))
                        data[at] = chance.choice((0, 1, 0x7f, 0xff, chance.randrange(256)))
                    with open(changed, "wb") as file:
                        file.write(data[:chance.choice((len(data), len(data), chance.randrange(1, len(data))))])
                    frames = dump(target.pid, "--max-stop", 5000)["stacks"][0]["frames"]
                    answers += "c_function" in [f["function"] for f in frames]
                os.remove(changed)
            tap.equal(answers, 20, "damaged .dwo and .dwp: an answer each time")


def test_dwp(tap):
    """Inlined calls from PROGRAM.dwp, which is beside the program. binutils 2.40 knows DWARF 4 alone; LLVM 14 does not
    read what gcc writes as version 5."""
    for compiler, version, packer in (("g++", 4, "dwp"), ("clang++", 4, "dwp"), ("g++", 4, "llvm-dwp"),
                                      ("clang++", 4, "llvm-dwp"), ("clang++", 5, "llvm-dwp")):
        name = f"{packer} {compiler} {version}"
        with tempfile.TemporaryDirectory() as directory:
            path, dwo = build_split(directory, compiler, version)
            run(packer, "-e", path, "-o", path + ".dwp", cwd=os.path.dirname(dwo))
            os.remove(dwo)
            frames, module = frames_of(path)
            check_lines(tap, frames, name)
            tap.equal(module.get("symbols_why"), None, f"{name}: nothing is missing")


def test_split_i386(tap):
    """The same of programs for i386: .dwo files where they were made, and packed."""
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "one.cc"), "w") as file:
            file.write("int main() { return 0; }")
        made = subprocess.run(["g++", "-m32", "-o", "one", "one.cc"], cwd=directory, capture_output=True, check=False)
        if made.returncode != 0:
            tap.skip("split DWARF of programs for i386", "the compiler makes none", "package g++-multilib")
            return
    for compiler, version, packer in (("g++", 4, "dwp"), ("g++", 5, None), ("clang++", 4, "llvm-dwp"),
                                      ("clang++", 5, "llvm-dwp")):
        name = f"split i386 {compiler} {version}"
        with tempfile.TemporaryDirectory() as directory:
            path, dwo = build_split(directory, compiler, version, "-m32")
            frames, module = frames_of(path)
            check_lines(tap, frames, name)
            tap.equal(module.get("symbols_why"), None, f"{name}: nothing is missing")
            if packer is not None:
                run(packer, "-e", path, "-o", path + ".dwp", cwd=os.path.dirname(dwo))
                os.remove(dwo)
                frames, module = frames_of(path)
                check_lines(tap, frames, f"{name}, {packer}")
                tap.equal(module.get("symbols_why"), None, f"{name}, {packer}: nothing is missing")


class Watched:
    """Whether somebody opens a FIFO to read: then it can be opened to write without waiting."""

    def __init__(self, path):
        self.path, self.opened, self.over = path, False, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.over.wait(0.01):
            try:
                os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))
                self.opened = True
            except OSError as e:
                if e.errno != errno.ENXIO:
                    raise

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        self.thread.join()


def test_split_missing(tap):
    """Names are left, and it is said what is missing; nothing but a regular file is opened."""
    with tempfile.TemporaryDirectory() as directory:
        path, dwo = build_split(directory, "g++", 5)
        os.remove(dwo)
        frames, module = frames_of(path)
        check_names(tap, frames, "no .dwo")
        why = "the .dwo or .dwp file with its inlined calls was not found"
        tap.equal(module.get("symbols_why"), why, "no .dwo: said why")
        os.mkfifo(dwo)
        for how in ((), ("--no-sandbox",)):
            with Watched(dwo) as fifo:
                frames, module = frames_of(path, *how)
            check_names(tap, frames, f"a FIFO as .dwo {how}")
            tap.equal(module.get("symbols_why"), why, f"a FIFO as .dwo {how}: said why")
            tap.check(not fifo.opened, f"a FIFO as .dwo {how}: nobody has opened it", fifo)
        os.remove(dwo)
        other, other_dwo = build_split(os.path.join(directory, "other"), "g++", 5, "-DOTHER=1", "-O1")
        os.rename(other_dwo, dwo)
        frames, module = frames_of(path, "--no-sandbox")
        check_names(tap, frames, "another program's .dwo")
        tap.equal(module.get("symbols_why"), why, "another program's .dwo: said why")
        with open(path + ".dwp", "wb") as file:
            file.write(b"no ELF file")
        frames, module = frames_of(path)
        check_names(tap, frames, "a broken .dwp")
        tap.equal(module.get("symbols_why"), why, "a broken .dwp: said why")


def test_stripped(tap):
    """Only what is exported has a name; the rest is offset and module."""
    with tempfile.TemporaryDirectory() as directory:
        path = build(directory, "-g")
        run("strip", path)
        frames, module = frames_of(path)
        tap.equal([f["function"] for f in frames[:4]], [None] * 4, "stripped: no names")
        tap.check(all(f["offset"] for f in frames[:4]), "stripped: offsets")
        tap.equal(module["symbols"], "none", "stripped: source")
        tap.equal(module.get("symbols_why"), "it has no debug information, and there is no debug file for it",
                  "stripped: said why")
        path = build(directory, "-g", "-rdynamic")
        run("strip", path)
        frames, module = frames_of(path)
        tap.equal(frames[3]["function"], "c_function", "exported: name")
        tap.equal(module["symbols"], "dynsym", "exported: source")


def separate(directory, path, debug):
    """Moves the debug information of path to the file debug and links them."""
    os.makedirs(os.path.dirname(debug), exist_ok=True)
    run("objcopy", "--only-keep-debug", path, debug)
    run("strip", path)
    run("objcopy", f"--add-gnu-debuglink={debug}", path)


def test_debuglink(tap):
    for where in ("", ".debug"):
        for build_id in ("none", "sha1"):
            with tempfile.TemporaryDirectory() as directory:
                path = build(directory, "-g", f"-Wl,--build-id={build_id}")
                debug = os.path.join(directory, where, "names.debug")
                separate(directory, path, debug)
                name = f"debuglink in '{where}', build-id {build_id}"
                check_lines(tap, frames_of(path)[0], name)
                frames, module = frames_of(path, "--symbols", "names")
                check_names(tap, frames, f"{name}, names only")
                tap.equal(module["symbols"], "debugfile", f"{name}: source")
                with open(debug, "ab") as damaged:  # another file by its checksum
                    damaged.write(b"\0")
                frames, module = frames_of(path, "--symbols", "names")
                found = "none" if build_id == "none" else "debugfile"
                tap.equal(module["symbols"], found, f"{name}, damaged: source")


def test_closed(tap):
    """Root parses without its right over other users' files, and says what it cannot see."""
    if os.geteuid() != 0:
        tap.skip("a debug file in a closed directory", "not root", tap.ROOT)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = build(directory, "-g")
        separate(directory, path, os.path.join(directory, "names.debug"))
        os.chmod(directory, 0o700)
        os.chown(directory, NOBODY, NOBODY)
        _, module = frames_of(path)
        tap.check("another user's directory is closed to us" in module.get("symbols_why", ""),
                  "a debug file in a closed directory: said so", module)


def no_debug_directory():
    """Why /usr/lib/debug cannot be another directory for a snapwalk alone, None when it can."""
    return no_mounts() or (None if os.path.isdir("/usr/lib/debug") else "no /usr/lib/debug")


def test_build_id(tap):
    """Below /usr/lib/debug, which is a private tmpfs for this snapwalk alone."""
    if no_debug_directory():
        tap.skip("build-id", no_debug_directory(), tap.MOUNTS)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = build(directory, "-g", "-Wl,--build-id=0xabcdef0123456789")
        debug = os.path.join(directory, "names.debug")
        run("objcopy", "--only-keep-debug", path, debug)
        run("strip", path)
        script = ("mount -t tmpfs none /usr/lib/debug && mkdir -p /usr/lib/debug/.build-id/ab && "
                  f"cp {debug} /usr/lib/debug/.build-id/ab/cdef0123456789.debug && "
                  'exec "$0" dump --max-stop 5000 --json "$1"')
        with Target("names", path=path) as target:
            wait_blocked(target.pid)
            result = subprocess.run(["unshare", "-m", "sh", "-c", script, SNAPWALK,
                                     str(target.pid)], capture_output=True, text=True)
        if not tap.equal(result.returncode, 0, "build-id: status"):
            print(f"# {result.stderr}")
            return
        report = json.loads(result.stdout)
        check_lines(tap, report["stacks"][report["threads"][0]["stack"]]["frames"], "build-id")


def test_minidebug(tap):
    """.gnu_debugdata, as Fedora's find-debuginfo makes it."""
    if not tool("xz"):
        tap.skip("minidebug", "xz is not installed", "package xz-utils")
        return
    with tempfile.TemporaryDirectory() as directory:
        path = build(directory, "-g")
        mini = os.path.join(directory, "mini")
        keep = os.path.join(directory, "keep")
        with open(keep, "w") as names:
            names.write("_ZN5outer9templatedIdEET_S1_\nc_function\n"
                        "_ZNK5outer12_GLOBAL__N_16Widget6methodEPKc\n")
        run("objcopy", "-S", "--remove-section", ".comment", f"--keep-symbols={keep}", path, mini)
        run("objcopy", "--only-keep-debug", mini)
        run("xz", mini)
        run("strip", path)
        run("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", path)
        frames, module = frames_of(path)
        check_names(tap, [{"function": "block", "inlined": False}, *frames[1:]], "minidebug")
        tap.equal(module["symbols"], "minidebug", "minidebug: source")


def test_dwz(tap):
    """Shared parts in a file of their own: origins and names are looked up there."""
    if not tool("dwz"):
        tap.skip("dwz", "dwz is not installed", "package dwz")
        return
    if no_debug_directory():
        tap.skip("dwz", no_debug_directory(), tap.MOUNTS)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = build(directory, "-gdwarf-4", "-Wl,--build-id=sha1")
        second = path + "2"
        shutil.copy(path, second)
        run("dwz", "-L", "none", "-m", os.path.join(directory, "common.debug"),
            "-M", "/usr/lib/debug/.dwz/t/common.debug", path, second)
        script = ("mount -t tmpfs none /usr/lib/debug && mkdir -p /usr/lib/debug/.dwz/t && "
                  f"cp {directory}/common.debug /usr/lib/debug/.dwz/t/ && "
                  'exec "$0" dump --max-stop 5000 --json "$1"')
        with Target("names", path=path) as target:
            wait_blocked(target.pid)
            result = subprocess.run(["unshare", "-m", "sh", "-c", script, SNAPWALK,
                                     str(target.pid)], capture_output=True, text=True)
        if not tap.equal(result.returncode, 0, "dwz: status"):
            print(f"# {result.stderr}")
            return
        report = json.loads(result.stdout)
        check_lines(tap, report["stacks"][report["threads"][0]["stack"]]["frames"], "dwz")


def test_dwz_missing(tap):
    """Without the shared file: names of symbols, and why there is no more."""
    if not tool("dwz"):
        tap.skip("dwz missing", "dwz is not installed", "package dwz")
        return
    with tempfile.TemporaryDirectory() as directory:
        path = build(directory, "-gdwarf-4", "-Wl,--build-id=sha1")
        shutil.copy(path, path + "2")
        run("dwz", "-L", "none", "-m", os.path.join(directory, "common.debug"),
            "-M", "/usr/lib/debug/.dwz/not there", path, path + "2")
        frames, module = frames_of(path)
        check_names(tap, frames, "dwz missing")
        tap.equal(module.get("symbols_why"), "the file to which dwz moved names was not found", "dwz missing: said why")


def test_dwz_elsewhere(tap):
    """A shared file that a target names is opened nowhere but below /usr/lib/debug; a user may name its directory."""
    if not tool("dwz"):
        tap.skip("dwz elsewhere", "dwz is not installed", "package dwz")
        return
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as away:
        path = build(directory, "-gdwarf-4", "-Wl,--build-id=sha1")
        shutil.copy(path, path + "2")
        common = os.path.join(directory, "common.debug")
        run("dwz", "-L", "none", "-m", common, "-M", common, path, path + "2")
        with Target("names", path=path) as target:
            wait_blocked(target.pid)
            report = dump(target.pid, "--max-stop", 5000)
            bare = dump(target.pid, "--max-stop", 5000, "--symbols", "none")
        frames = report["stacks"][report["threads"][0]["stack"]]["frames"]
        check_names(tap, frames, "dwz elsewhere")
        why = [m.get("symbols_why") for m in report["modules"] if m["path"] == path]
        tap.check(len(why) == 1 and "is not opened elsewhere" in str(why[0]), "dwz elsewhere: said why", why)
        dumped = os.path.join(directory, "dump.json")
        with open(dumped, "w", encoding="utf-8") as file:
            json.dump(bare, file)
        shutil.move(common, away)
        got = subprocess.run([SNAPWALK, "symbolize", dumped, "--json", "--from", away], capture_output=True, text=True, check=True)
        got = json.loads(got.stdout)
        check_lines(tap, got["stacks"][got["threads"][0]["stack"]]["frames"], "dwz elsewhere, --from")


LABEL = r"""
#include <unistd.h>
__asm__(".globl label\nlabel: ret");
__attribute__((noipa)) int nameless(void) { int r = pause(); return r + 1; }
int main(void) { return nameless() + 1; }
"""


def test_label(tap):
    """A symbol without a size does not name the function behind it, whose own was taken away."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "program")
        run("gcc", "-O2", "-fno-toplevel-reorder", "-x", "c", "-o", path, "-", input=LABEL.encode())
        run("objcopy", "--strip-symbol=nameless", path)
        with Target("program", path=path, ready=None) as target:
            wait_blocked(target.pid)
            report = dump(target.pid)
    frames = report["stacks"][report["threads"][0]["stack"]]["frames"]
    names = [f["function"] for f in frames if report["modules"][f["module"]]["path"] == path]
    tap.equal(names[:2], [None, "main"], "a label names nothing behind the start of another function")


def test_as_eu_addr2line(tap):
    """Second opinion: file and line of every real frame of a C target."""
    if not tool("eu-addr2line"):
        tap.skip("eu-addr2line", "elfutils is not installed", "package elfutils")
        return
    path = os.path.join(TARGETS, "inlines")
    with Target("inlines") as target:
        wait_blocked(target.pid)
        report = dump(target.pid, "--max-stop", 5000)
    frames = report["stacks"][report["threads"][0]["stack"]]["frames"]
    own = [f for f in frames if report["modules"][f["module"]]["path"].endswith("/inlines")]
    offsets = list(dict.fromkeys(int(f["offset"], 16) - (i > 0) for i, f in enumerate(own)))
    shown = subprocess.run(["eu-addr2line", "-i", "-e", path, *map(hex, offsets)],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    wanted = [":".join(line.split(":")[:2]) for line in shown]
    got = [f"{f['file']}:{f['line']}" for f in own if f["file"]]
    tap.equal([os.path.basename(g) for g in got],
              [os.path.basename(w) for w in wanted if not w.startswith("?")],
              "lines as eu-addr2line says")


PROGRAM = "/usr/bin/sleep"


def package_of(path):
    """As dpkg says; None where it does not know."""
    for name in (path, path.removeprefix("/usr")):
        said = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        if said.returncode == 0:
            return said.stdout.split(":")[0]
    return None


def hint_of(command, *args):
    """(the module's package, code of what is said of it, the text's line)"""
    with subprocess.Popen(command) as process:
        try:
            wait_blocked(process.pid, (230,))
            report = dump(process.pid, *args)
            text = subprocess.run([SNAPWALK, *PATIENT, *args, str(process.pid)], capture_output=True,
                                  text=True).stdout
        finally:
            process.kill()
    name = os.path.basename(report["process"]["exe"])
    module, = [m for m in report["modules"] if os.path.basename(m["path"]) == name]
    hints = {hint["code"]: hint["message"] for hint in report.get("hints", []) if name in hint["message"]}
    lines = text.partition("\nHints\n")[2].splitlines()
    return module, hints, [line.strip() for line in lines if name in line]


def searched(*args):
    """hint_of() the program, when dpkg's lists were searched to their end: on a slow machine the tenth of a second
    that a dump has for it is not enough each time, and not for lists that are not in memory yet."""
    found = []

    def is_whole():
        found[:] = hint_of([PROGRAM, "1000"], *args)
        return found[0].get("debug_package") and found[2] == list(found[1].values())
    with contextlib.suppress(TimeoutError):  # who called sees what is missing
        wait_until(is_whole, "a search to its end")
    return found


def test_package(tap):
    """The package that has a file's symbols is named, as dpkg knows it; not for a copy of the file."""
    if not tool("dpkg-query") or not package_of(os.path.realpath(PROGRAM)):
        tap.skip("the package with symbols", f"dpkg does not know {PROGRAM}", "Debian")
        return
    module = hint_of([PROGRAM, "1000"])[0]
    if module["symbols"] != "dynsym" and module["symbols"] != "none":
        tap.skip("the package with symbols", f"{PROGRAM} has symbols here", "no coreutils-dbgsym")
        return
    wanted = package_of(os.path.realpath(PROGRAM)) + "-dbgsym"
    module, hints, lines = searched()
    tap.equal((module.get("debug_package"), list(hints)), (wanted, ["debug_package"]), "the package with symbols")
    tap.check(wanted in hints.get("debug_package", ""), "the package is said", hints)
    tap.equal(lines, list(hints.values()), "text has the same line, once")
    for options in (("--no-sandbox",), ("--symbols", "names")):
        tap.equal(searched(*options)[0].get("debug_package"), wanted, f"the same with {options[0]}")
    tap.equal(hint_of([PROGRAM, "1000"], "--symbols", "none")[0].get("debug_package"), None, "not without names")
    with tempfile.TemporaryDirectory() as directory:
        copy = os.path.join(directory, "sleep")
        shutil.copy(PROGRAM, copy)
        module, hints, _ = hint_of([copy, "1000"])
        tap.equal((module.get("debug_package"), list(hints)), (None, ["debug_file"]), "a copy is in no package")
        tap.check(f"debuginfo {module['build_id']}'" in hints.get("debug_file", ""), "the module's build-id is said", hints)
        if no_mounts():
            tap.skip("a file of another root", no_mounts(), tap.MOUNTS)
            return
        script = f"mount --bind {copy} {PROGRAM} && exec {PROGRAM} 1000"
        module, hints, _ = hint_of(["unshare", "-m", "sh", "-c", script])
        tap.equal((module["path"], module.get("debug_package")), (PROGRAM, None), "nor is a file of another root")


NOT_FOUND = "the .dwo or .dwp file with its inlined calls was not found"
NOBODY = 65534


def check_refused(tap, name, found, why=NOT_FOUND):
    frames, module = found
    tap.equal(([f["inlined"] for f in frames[:3]], module.get("symbols_why")), ([False] * 3, why), name)


def moved_and_linked(path, directory):
    """The file is in another directory, and a link to it in its place."""
    elsewhere = os.path.join(directory, os.path.basename(path))
    os.rename(path, elsewhere)
    os.symlink(elsewhere, path)


def test_links(tap):
    """Files that the program names, or that lie beside it, are no links; on the way to a .dwo file, those of root and
    of the program's user are followed. What that user may not read is not read for it."""
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as other:
        os.chmod(directory, 0o755)
        path, dwo = build_split(directory, "g++", 4)
        objects = os.path.dirname(dwo)
        run("dwp", "-e", path, "-o", path + ".dwp", cwd=objects)
        os.rename(dwo, os.path.join(other, "dwo"))
        check_lines(tap, frames_of(path)[0], ".dwp")
        moved_and_linked(path + ".dwp", other)
        check_refused(tap, ".dwp is a link: not opened", frames_of(path))
        check_refused(tap, ".dwp is a link: not opened without the sandbox", frames_of(path, "--no-sandbox"))
        os.remove(path + ".dwp")
        os.rename(os.path.join(other, "dwo"), dwo)
        check_lines(tap, frames_of(path)[0], ".dwo")
        moved_and_linked(dwo, other)
        check_refused(tap, ".dwo is a link: not opened", frames_of(path))
        os.remove(dwo)
        os.rename(objects, objects + "-elsewhere")
        os.symlink(objects + "-elsewhere", objects)
        os.rename(os.path.join(other, "names.dwo"), dwo)
        check_lines(tap, frames_of(path)[0], "its directory is a link of ours")
        if os.geteuid() != 0:
            tap.skip("links of others", "not root", Tap.ROOT)
            return
        os.chown(objects, NOBODY, NOBODY, follow_symlinks=False)
        check_refused(tap, "its directory is a link of another user: not opened", frames_of(path))
        theirs = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        check_lines(tap, frames_of(path, **theirs)[0], "its directory is a link of the program's user")
        os.chmod(dwo, 0o600)
        check_refused(tap, ".dwo is root's alone, the program another user's: not read", frames_of(path, **theirs))
        os.chown(dwo, NOBODY, NOBODY)
        check_lines(tap, frames_of(path, **theirs)[0], ".dwo is the program's user's alone")


def test_debug_links(tap):
    """A debug file beside the program, in .debug and by another name of the same file."""
    with tempfile.TemporaryDirectory() as directory:
        other = os.path.join(directory, "other")
        os.mkdir(other)
        path = build(directory, "-g")
        debug, folder = path + ".debug", os.path.join(directory, ".debug")
        build_id = ["objcopy", "--remove-section=.note.gnu.build-id"]
        run(*build_id, "--only-keep-debug", path, debug)
        run(*build_id, "--strip-all", f"--add-gnu-debuglink={debug}", path, path + ".new")
        os.rename(path + ".new", path)
        check_lines(tap, frames_of(path)[0], "beside it")
        moved_and_linked(debug, other)
        for how in ((), ("--no-sandbox",)):
            tap.equal(frames_of(path, *how)[1]["symbols"], "none", f"a link beside it: not opened {' '.join(how)}")
        os.remove(debug)
        os.rename(other, folder)
        os.mkdir(other)
        check_lines(tap, frames_of(path)[0], "in .debug")
        os.rename(folder, os.path.join(other, "folder"))
        os.symlink(os.path.join(other, "folder"), folder)
        for how in ((), ("--no-sandbox",)):
            tap.equal(frames_of(path, *how)[1]["symbols"], "none", f".debug is a link: not opened {' '.join(how)}")


def test_debug_of_library(tap):
    """A debug file beside a library, which lies in another directory than the program and than the C library."""
    with tempfile.TemporaryDirectory() as directory:
        for name in ("lib", "bin"):
            os.mkdir(os.path.join(directory, name))
        library, path = os.path.join(directory, "lib", "libwaits.so"), os.path.join(directory, "bin", "program")
        run("gcc", "-O1", "-g", "-shared", "-fPIC", "-x", "c", "-o", library, "-",
            input=b"#include <unistd.h>\nvoid waits(void)\n{\n\tpause();\n\tpause();\n}\n")
        build_id = ["objcopy", "--remove-section=.note.gnu.build-id"]
        run(*build_id, "--only-keep-debug", library, library + ".debug")
        run(*build_id, "--strip-all", f"--add-gnu-debuglink={library}.debug", library)
        run("gcc", "-O1", "-o", path, "-x", "c", "-", "-x", "none", library, "-Wl,-rpath," + os.path.dirname(library),
            input=b"void waits(void);\nint main(void)\n{\n\twaits();\n}\n")
        with subprocess.Popen([path]) as process:
            try:
                wait_blocked(process.pid)
                frames = dump(process.pid)["stacks"][0]["frames"]
            finally:
                process.kill()
    lines = [frame.get("line") for frame in frames if frame.get("function") == "waits"]
    tap.equal(lines, [4], "a debug file beside a library in a directory of its own")


if __name__ == "__main__":
    Tap.main(test_formats, test_nested, test_actor, test_ada, test_zstd, test_options, test_split_dwarf, test_split_based,
             test_split_damaged, test_dwp, test_split_i386, test_split_missing, test_stripped, test_debuglink, test_closed, test_build_id,
             test_minidebug, test_dwz, test_dwz_missing, test_dwz_elsewhere, test_label, test_package, test_as_eu_addr2line,
             test_links, test_debug_links, test_debug_of_library)
