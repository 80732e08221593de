#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Core files: gdb's and the kernel's walk to the stacks of the live process; incomplete, foreign and
malformed ones end in what can be had or in one clear line."""
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import tempfile

from harness import (SNAPWALK, TARGETS, Tap, Target, dump, expected_stacks, gcore, module_of,
                     no_kernel_core, own_functions, pcs_of, same_stacks, snapwalk, stack_of, tool, wait_blocked,
                     wait_until)

GDB_TARGETS = [("chain_pie",), ("chain_nopie",), ("chain_static",), ("chain_static_pie",),
               ("chain_stripped",), ("chain_debug_frame",), ("signals",), ("inlines",),
               ("deep", 200), ("named", 12),
               ("plugin_user", os.path.join(TARGETS, "plugin.so"))]
PT_NOTE, NT_AUXV, NT_FILE = 4, 6, 0x46494c45
KERNEL_TARGETS = ["chain_pie", "chain_static", "signals", "inlines"]


def crash(command, directory, coredump_filter=None, path=None):
    """Ends a blocked target by SIGABRT in an empty directory; (live report, its lines, core file)."""
    with Target(*command, cwd=directory, path=path) as target:
        if coredump_filter is not None:
            with open(f"/proc/{target.pid}/coredump_filter", "w") as f:
                f.write(coredump_filter)
        wait_blocked(target.pid)
        live = dump(target.pid)
        os.kill(target.pid, signal.SIGABRT)
        target.process.wait()
        cores = wait_until(lambda: os.listdir(directory), "the kernel's core file")
        return live, target.lines, os.path.join(directory, cores[0])


def test_gdb(tap):
    if not tool("gdb"):
        tap.skip("cores by gdb", "gdb is not installed", "package gdb")
        return
    for command in GDB_TARGETS:
        with tempfile.TemporaryDirectory() as directory, Target(*command) as target:
            wait_blocked(target.pid)
            live = dump(target.pid)
            path = os.path.join(directory, "core")
            gcore(target.pid, path)
            core = dump(["--core", path])
            same_stacks(tap, f"gdb's core of {command[0]}", live, core)
            tap.equal((core["process"]["pid"], core["process"]["exe"]),
                      (target.pid, live["process"]["exe"]), f"{command[0]}: pid and program")
            tap.equal(core["timings"]["stopped_us"], 0, f"{command[0]}: nothing was stopped")
            tap.equal([t["syscall"] for t in core["threads"]],
                      [t["syscall"] for t in live["threads"]], f"{command[0]}: system calls")


def test_kernel(tap):
    if no_kernel_core():
        tap.skip("cores by the kernel", *no_kernel_core())
        return
    for name in KERNEL_TARGETS:
        with tempfile.TemporaryDirectory() as directory:
            live, _, path = crash((name,), directory)
            same_stacks(tap, f"the kernel's core of {name}", live, dump(["--core", path]))
    for coredump_filter in ("0x13", "0x3"):
        with tempfile.TemporaryDirectory() as directory:
            live, _, path = crash(("chain_pie",), directory, coredump_filter)
            same_stacks(tap, f"a core with filter {coredump_filter}", live, dump(["--core", path]))


def test_overflow(tap):
    """A stack that was used up is told from other faults, with its size as the kernel had it."""
    if no_kernel_core():
        tap.skip("stacks that are used up", *no_kernel_core())
        return
    for kind in ("worker", "main", "poke"):
        with tempfile.TemporaryDirectory() as directory:
            with Target("overflow", kind, cwd=directory) as target:
                target.send("")
                target.process.wait()
            core = os.path.join(directory, *wait_until(lambda: os.listdir(directory), "the kernel's core file"))
            crash = dump(["--core", core, "--depth", "20"], status=(0, 3))["process"]["crash"]
            text = snapwalk("--core", core, "--depth", "20").stdout
        size = int(target.lines[0].split()[1])
        if kind == "main":  # it had not grown to its limit yet
            size = resource.getrlimit(resource.RLIMIT_STACK)[0]
        got = crash.get("stack_bytes", 0)
        tap.equal((crash["signal"], crash.get("stack_overflow", False)), ("SIGSEGV", kind != "poke"), f"{kind}: told")
        tap.check(kind == "poke" or size - 65536 < got <= size, f"{kind}: the core's size", (got, size))
        wanted = "SIGSEGV: write to 0x" if kind == "poke" else "SIGSEGV: stack overflow of "
        others = ("1 thread  (", " at the crash", "(at the crash)") if kind != "main" else ()
        tap.check(wanted in text and "not in the core file" not in text
                  and all(words in text for words in (")   crashed here\n  crashed", *others)), f"{kind}: in words", text[:1500])


def only_registers(tap, report, name):
    tap.check(all(len(pcs_of(report, t["tid"])) <= 1 for t in report["threads"]), name)


def test_cut_short(tap, path, live):
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        whole = f.read()
    cut = path + ".cut"
    for share in (0.99, 0.5, 0.2, 0.02):
        with open(cut, "wb") as f:
            f.write(whole[:int(size * share)])
        result = snapwalk("dump", "--json", "--core", cut)
        tap.check(result.returncode in (1, 3), f"cut to {share}: status",
                  f"{result.returncode} {result.stderr}")
        if result.returncode == 3:
            report = dump(["--core", cut], status=(3,))
            tap.check("partial_input" in [w["code"] for w in report["warnings"]],
                      f"cut to {share}: said in the dump", report["warnings"])
            for thread in report["threads"]:
                pcs = pcs_of(report, thread["tid"])
                tap.equal(pcs, pcs_of(live, thread["tid"])[:len(pcs)],
                          f"cut to {share}: no frame is invented")
        else:
            tap.check("cut short" in result.stderr and len(result.stderr.splitlines()) == 1,
                      f"cut to {share}: one clear line", result.stderr)


def test_incomplete(tap):
    if no_kernel_core() and not tool("gdb"):
        tap.skip("cores cut short", *no_kernel_core())
        return
    with tempfile.TemporaryDirectory() as directory:
        if no_kernel_core():
            path = os.path.join(directory, "core")
            with Target("chain_pie") as target:
                wait_blocked(target.pid)
                live = dump(target.pid)
                gcore(target.pid, path)
        else:
            live, _, path = crash(("chain_pie",), directory)
        test_cut_short(tap, path, live)


def test_moved_program(tap):
    """The program is not where it was: found again with --exe, refused when it is another one."""
    if not tool("gdb"):
        tap.skip("a program that has moved", "gdb is not installed", "package gdb")
        return
    with tempfile.TemporaryDirectory() as directory:
        program = shutil.copy(os.path.join(TARGETS, "chain_pie"), os.path.join(directory, "prog"))
        path = os.path.join(directory, "core")
        moved = os.path.join(directory, "moved")
        with Target("prog", path=program) as target:
            wait_blocked(target.pid)
            live = dump(target.pid)
            stacks = expected_stacks(target.lines)
            gcore(target.pid, path)
        os.rename(program, moved)
        report = dump(["--core", path, "--exe", moved])
        same_stacks(tap, "with --exe", live, report)
        for tid, functions in stacks.items():
            tap.equal(own_functions(report, tid), functions, "with --exe: functions")
        refused = snapwalk("dump", "--core", path, "--exe", "/dev/null")
        tap.check(refused.returncode == 1 and "/dev/null: not a regular file" in refused.stderr
                  and "(bad_format)" in refused.stderr, "--exe of a device: what it should be", refused)
        without = dump(["--core", path], status=(0, 3))
        for tid in stacks:
            stack = stack_of(without, tid)
            real = [f for f in stack["frames"] if not f["inlined"]]
            sure = [int(f["pc"], 16) for f in real if f["trust"] in ("context", "cfi")]
            tap.equal(sure, pcs_of(live, tid)[:len(sure)], "without it: no frame is invented")
        shutil.copy(os.path.join(TARGETS, "deep"), program)
        report = dump(["--core", path], status=(0, 3))
        said = [w["message"] for w in report["warnings"] if w["code"] == "module_unusable"]
        tap.equal(said[:1], [f"{program}: not the file that the process had mapped "
                             "(build-id differs)"], "another program under its name is refused")


def without_notes(core, *kinds):
    """Gives the notes of these kinds a number that nobody knows, in the core file itself."""
    with open(core, "r+b") as f:
        data = f.read()
        headers, = struct.unpack_from("<Q", data, 32)
        count, = struct.unpack_from("<H", data, 56)
        for i in range(count):
            kind, _, at, _, _, size = struct.unpack_from("<IIQQQQ", data, headers + 56 * i)
            end = at + size
            while kind == PT_NOTE and at < end:
                name, value, note = struct.unpack_from("<III", data, at)
                if note in kinds:
                    f.seek(at + 8)
                    f.write(struct.pack("<I", 0x11111111))
                at += 12 + (name + 3 & ~3) + (value + 3 & ~3)


def test_no_files(tap):
    """A core without the list of mapped files, which the kernel leaves out of large ones."""
    if no_kernel_core():
        tap.skip("cores without NT_FILE", *no_kernel_core())
        return
    plugin = os.path.join(TARGETS, "plugin.so")
    for kinds, command in (((NT_FILE,), ("chain_pie",)), ((NT_FILE,), ("chain_nopie",)), ((NT_FILE,), ("chain_static",)),
                           ((NT_FILE,), ("plugin_user", plugin)), ((NT_FILE, NT_AUXV), ("chain_pie",))):
        for coredump_filter in ("0x33", "0x3"):
            if coredump_filter == "0x3" and (NT_AUXV in kinds or command[0] == "chain_static"):
                continue  # without both there is nothing left that says where the program is
            with tempfile.TemporaryDirectory() as directory:
                live, _, path = crash(command, directory, coredump_filter)
                without_notes(path, *kinds)
                program = ["--exe", live["process"]["exe"]] if NT_AUXV in kinds else []
                report = dump(["--core", path, *program])
                same_stacks(tap, f"{command[0]}, filter {coredump_filter}, without {kinds}", live, report)
                tap.equal(report["warnings"], [], f"{command[0]}, filter {coredump_filter}: nothing is missing")


def test_no_files_moved(tap):
    """The program is elsewhere: as --exe says, or in a directory of build-ids."""
    if no_kernel_core():
        tap.skip("cores without NT_FILE", *no_kernel_core())
        return
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as elsewhere:
        program = shutil.copy(os.path.join(TARGETS, "chain_pie"), os.path.join(elsewhere, "prog"))
        moved = os.path.join(elsewhere, "moved")
        live, _, path = crash(("prog",), directory, path=program)
        without_notes(path, NT_FILE)
        os.rename(program, moved)
        same_stacks(tap, "without a list, with --exe", live, dump(["--core", path, "--exe", moved]))
        report = dump(["--core", path], status=(0, 3))
        tap.check([w["message"] for w in report["warnings"]
                   if w["code"] == "module_unusable" and w["message"].startswith(program)], "without --exe: said",
                  report["warnings"])
        if os.geteuid() != 0:
            tap.skip("a search by build-id", "needs a mount namespace", "root")
            return
        build_id = [m["build_id"] for m in live["modules"] if m["path"] == program][0]
        ids = os.path.join(elsewhere, "ids", ".build-id", build_id[:2])
        os.makedirs(ids)
        os.symlink(moved, os.path.join(ids, build_id[2:]))
        script = (f"mount -t overlay -o lowerdir={elsewhere}/ids:/usr/lib/debug none /usr/lib/debug && "
                  f"exec {SNAPWALK} dump --json --core {path}")
        os.makedirs("/usr/lib/debug", exist_ok=True)
        result = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
        tap.equal(result.returncode, 0, "by build-id: status")
        same_stacks(tap, "by build-id", live, json.loads(result.stdout))


def refused(tap, name, path, words, *more):
    result = snapwalk("dump", "--core", path, *more)
    tap.equal(result.returncode, 1, f"{name}: status")
    tap.check(words in result.stderr and len(result.stderr.splitlines()) == 1,
              f"{name}: one clear line", result.stderr)
    tap.check(result.stderr.startswith(f"snapwalk: {path}: ") and "/proc/self/" not in result.stderr,
              f"{name}: named as it was asked for", result.stderr)
    tap.equal(result.stdout, "", f"{name}: nothing else is printed")


def test_refused(tap):
    refused(tap, "a program", os.path.join(TARGETS, "chain_pie"),
            "a program or shared library, not a core file")
    refused(tap, "a text", __file__, "not an ELF file, thus no core file")
    refused(tap, "nothing", "/nonexistent/core", "/nonexistent/core: this core file cannot be opened: "
            "No such file or directory (io): check that the path is right")
    refused(tap, "a directory", TARGETS, "not a regular file")
    refused(tap, "a device", "/dev/zero", "not a regular file")
    header = bytearray(64)
    header[:8] = b"\x7fELF\x02\x01\x01\x00"
    header[16:20] = (4).to_bytes(2, "little") + (62).to_bytes(2, "little")
    for at, value, words in ((4, 1, "another machine"), (18, 183, "another machine"), (5, 2, "big-endian")):
        with tempfile.NamedTemporaryFile() as f:
            changed = bytearray(header)
            changed[at] = value
            f.write(changed)
            f.flush()
            refused(tap, words, f.name, words)


if __name__ == "__main__":
    Tap.main(test_gdb, test_kernel, test_overflow, test_incomplete, test_moved_program, test_no_files, test_no_files_moved,
             test_refused)
