#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 35s
# strict
# soak too
"""Targets, core files and fixtures that somebody made to break the reader.

Whatever the bytes: exit status 0, 1 or 3, no death by a signal, an answer in time, valid JSON when
there is a dump. Also run with the sanitized build, whose reports have an exit status of their own.
"""
import os
import resource
import shutil
import struct
import subprocess
import tempfile

from harness import (SANITIZED, TARGETS, Tap, Target, dump, errors_of, stack_of, state_of, tool,
                     wait_until)
from judge import scaled
from mutate import Elf, lengths, variants
from safety import ANSWERED, held, parse, run, tasks, warned

LIMIT_S = 90 if SANITIZED else 45  # far below what hangs, far above what a busy machine takes
SANITIZER_STATUS = 99  # 1 would be taken for "nothing captured"
ENVIRONMENT = dict(os.environ,
                   ASAN_OPTIONS=f"exitcode={SANITIZER_STATUS}:allocator_may_return_null=1",
                   UBSAN_OPTIONS=f"exitcode={SANITIZER_STATUS}:print_stacktrace=1")
BATCH = 12


def cases_of(n):
    """How many of a kind: a run with sanitizers takes five times as long, and the fuzzers have tried the same parsers."""
    return scaled(max(6, n // 5 if SANITIZED else n // 2))


def fault(*words):
    """None when the answer is one of the allowed ones, else what is wrong with it."""
    try:
        code, out, err, seconds = run("dump", "--json", *words, limit=LIMIT_S * 4,
                                      env=ENVIRONMENT)
    except subprocess.TimeoutExpired:
        return f"hangs: no answer after {LIMIT_S * 4} s"
    except UnicodeDecodeError as error:
        return f"output is not UTF-8: {error}"
    if code not in ANSWERED or "Sanitizer" in err or "runtime error" in err:
        return f"status {code}\n{err[-3000:]}"
    if seconds > LIMIT_S:
        return f"took {seconds:.1f} s"
    if code == 1:
        good = out == "" and len(errors_of(err)) == 1
        return None if good else f"no clear line: {out[:100]!r} {err!r}"
    try:
        report = parse(out)
    except ValueError as error:
        return f"{error}: {out[:200]}"
    if (code == 3) != bool(report["warnings"]) and code == 3:
        return "status 3 without a warning"
    return None


def listed(faults):
    return "\n".join(f"{what}: {why}" for what, why in faults)


# ---- files that are mapped ---------------------------------------------------------------------


def code_range(program):
    """File range of the code that the threads of hostile_files execute."""
    with Target("hostile_files") as target:
        words = target.lines[0].split()
    return int(words[1]), int(words[1]) + int(words[2])


def special_files(data, keep):
    """Copies that are wrong as a whole rather than in a place."""
    whole = bytearray(len(data))
    whole[keep[0]:keep[1]] = data[keep[0]:keep[1]]
    yield "zeros", bytes(whole)
    whole[:4] = b"\x7fELF"
    yield "only the magic number", bytes(whole)
    yield "MZ", b"MZ" + bytes(whole[2:])
    for ident, what in ((4, "class"), (5, "byte order"), (6, "version")):
        copy = bytearray(data)
        copy[ident] ^= 3
        yield f"other {what}", bytes(copy)
    for field, at, width in (("e_phoff", 32, 8), ("e_shoff", 40, 8), ("e_phentsize", 54, 2),
                             ("e_phnum", 56, 2), ("e_shentsize", 58, 2), ("e_shnum", 60, 2),
                             ("e_shstrndx", 62, 2)):
        for value in (0, 1, (1 << 8 * width) - 1, len(data) - 1):
            copy = bytearray(data)
            copy[at:at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
            yield f"{field} = {value:#x}", bytes(copy)
    first = (keep[1] + 4095) // 4096 * 4096  # the executed page must exist
    for n in lengths(6, len(data), cases_of(24)):
        if n >= first:
            yield f"cut at {n}", data[:n]


def mapped_files(tap, scratch):
    program = os.path.join(TARGETS, "hostile_files")
    with open(program, "rb") as file:
        data = file.read()
    keep = code_range(program)
    cases = list(variants(1, data, Elf(data).regions(), cases_of(240), keep))
    cases += special_files(data, keep)
    faults = []
    for begin in range(0, len(cases), BATCH):
        batch = cases[begin:begin + BATCH]
        faults += batch_faults(batch, scratch)
    tap.check(not faults, f"{len(cases)} damaged files mapped by the target", listed(faults))


PE_REGIONS = {"MZ header": (0, 64), "PE header": (64, 264), "sections": (328, 80),
              "function table": (0x400, 24), "unwind information": (0x500, 32)}


def pe_file(data, keep):
    """The program's copy with the headers of a PE image: two functions, of which the first calls the
    second."""
    copy, nt = bytearray(data), bytearray(264)
    copy[:64] = b"MZ" + bytes(58) + struct.pack("<I", 64)
    struct.pack_into("<4sHHIIIHH", nt, 0, b"PE", 0x8664, 2, 0x63f14e2b, 0, 0, 240, 0x22)
    struct.pack_into("<H", nt, 24, 0x20b)
    struct.pack_into("<IIII", nt, 24 + 56, 0x8000, 0x400, 0x1234, 0)
    struct.pack_into("<I", nt, 24 + 108, 16)
    struct.pack_into("<II", nt, 24 + 112 + 3 * 8, 0x400, 24)
    copy[64:328] = nt
    start, end = keep
    for i, (name, where, flags) in enumerate(((b".text", keep, 0x60000020),
                                              (b".pdata", (0x400, 0x600), 0x40000040))):
        size = where[1] - where[0]
        struct.pack_into("<8sIIII12xI", copy, 328 + 40 * i, name, size, where[0], size, where[0],
                         flags)
    # push %rbp; mov %rsp,%rbp; call; pop %rbp; ret, and what it calls, which saves nothing
    call_end = start + 11
    struct.pack_into("<6I", copy, 0x400, start, call_end, 0x500, call_end, end, 0x510)
    copy[0x500:0x508] = bytes((1, 4, 2, 5, 4, 3, 1, 0x50))
    copy[0x510:0x514] = bytes((1, 0, 0, 0))
    return bytes(copy)


def mapped_pe_files(tap, scratch):
    """Code that an image's function table covers, in a process that runs it."""
    with open(os.path.join(TARGETS, "hostile_files"), "rb") as file:
        data = file.read()
    keep = code_range(os.path.join(TARGETS, "hostile_files"))
    data = pe_file(data, keep)
    intact = os.path.join(scratch, "intact")
    with open(intact, "wb") as file:
        file.write(data)
    with Target("hostile_files", intact) as target:
        at_rest(target)
        tid, = (tid for tid, name in named(target).items() if name == intact)
        stack = stack_of(dump(target.pid), tid)
    tap.equal([f["kind"] for f in stack["frames"]][:3], ["pe", "pe", "native"],
              "the intact image is walked by its table")
    tap.equal(stack["end"], "complete", "to the end")
    cases = list(variants(5, data, PE_REGIONS, cases_of(180), keep))
    faults = []
    for begin in range(0, len(cases), BATCH):
        faults += batch_faults(cases[begin:begin + BATCH], scratch)
    tap.check(not faults, f"{len(cases)} damaged images mapped by the target", listed(faults))


def batch_faults(batch, scratch):
    """Run one process with a thread in each of the files; on a fault, each file alone to say which."""
    paths = []
    for n, (_, data) in enumerate(batch):
        paths.append(os.path.join(scratch, f"mapped-{n}"))
        with open(paths[-1], "wb") as file:
            file.write(data)
    try:
        why = fault_of_files(paths)
        if why is None or len(batch) == 1:
            return [(batch[0][0], why)] if why else []
        alone = [(what, fault_of_files([path])) for (what, _), path in zip(batch, paths)]
        return [a for a in alone if a[1]] or [(f"{batch[0][0]} and {len(batch) - 1} more", why)]
    finally:
        for path in paths:
            os.unlink(path)


def fault_of_files(paths):
    with Target("hostile_files", *paths) as target:
        at_rest(target)
        why = fault(target.pid)
        return why or (f"still held: {held(target.pid)}" if held(target.pid) else None)


def shrinking_file(tap, scratch):
    """A mapped file that is cut and made whole while it is read."""
    path = shutil.copy(os.path.join(TARGETS, "hostile_files"), os.path.join(scratch, "shrinks"))
    with Target("hostile_shrink", path) as target:
        times = 20 if SANITIZED else scaled(100)
        faults = [(n, why) for n in range(times) if (why := fault(target.pid))]
        tap.check(not faults, f"{times} dumps while a mapped file is cut and made whole again",
                  listed(faults[:3]))


def debug_links(tap, scratch):
    """A debuglink next to the file that leads to what must not be opened or read to its end."""
    if not tool("objcopy"):
        tap.skip("hostile debuglinks", "objcopy is not installed", "package binutils")
        return
    directory = os.path.join(scratch, "link")
    os.mkdir(directory)
    program, debug = os.path.join(directory, "program"), os.path.join(directory, "evil.debug")
    with open(debug, "wb") as file:
        file.write(b"x")
    subprocess.run(["objcopy", "--strip-all", "--remove-section=.note.gnu.build-id",
                    f"--add-gnu-debuglink={debug}", os.path.join(TARGETS, "states"), program],
                   check=True)
    kinds = {"a fifo": os.mkfifo, "a directory": os.mkdir,
             "an endless device": lambda path: os.symlink("/dev/zero", path),
             "itself": lambda path: os.symlink(path, path),
             "the program": lambda path: os.symlink(program, path)}
    os.unlink(debug)
    with Target(None, "plain", 1, path=program) as target:
        for what, make in kinds.items():
            make(debug)
            why = fault(target.pid)
            tap.check(why is None, f"debuglink to {what}", why)
            (os.rmdir if what == "a directory" else os.unlink)(debug)


# ---- stacks, registers, maps -------------------------------------------------------------------


def at_rest(target, leader=True):
    wait_until(lambda: {state_of(target.pid, t) for t in tasks(target.pid)
                        if leader or t != target.pid} == {"S"}, "all threads to wait")


def named(target):
    """Thread id -> name, as the target said."""
    return {int(line.split()[1]): line.split(None, 2)[2] for line in target.lines
            if line.startswith("thread ")}


def nothing_claimed(tap, report, names):
    """Every thread is there, and no stack of them looks whole."""
    for thread in report["threads"]:
        if thread["tid"] not in names:
            continue
        name = names[thread["tid"]]
        if tap.check(thread["captured"], f"{name}: captured", thread):
            stack = report["stacks"][thread["stack"]]
            tap.check(stack["end"] != "complete" and stack["why"],
                      f"{name}: its stack does not claim to be complete", stack["frames"][-3:])


def stacks(tap):
    with Target("hostile_stacks") as target:
        at_rest(target)
        for arguments in ([], ["--walk", "tables"], ["--walk", "scan"], ["--walk", "libunwind"],
                          ["--stack-bytes", "4096"], ["--depth", "65536"],
                          ["--symbols", "none"]):
            why = fault(*arguments, target.pid)
            tap.check(why is None, f"hostile stacks {' '.join(arguments)}", why)
        report = parse(run("dump", "--json", target.pid, env=ENVIRONMENT)[1])
        nothing_claimed(tap, report, named(target))
        tap.equal(held(target.pid), [], "hostile stacks: nothing held")
        tap.equal(target.process.poll(), None, "hostile stacks: the target lives on")


def pages_gone(tap):
    """Take one dump each: see the target why."""
    for arguments in ([], ["--walk", "scan"], ["--walk", "tables"]):
        with Target("hostile_stacks", "pc", ready="settle") as target:
            at_rest(target, leader=False)
            target.send("")
            wait_until(lambda: target.readline() == "ready", "the pages to be gone")
            code, out, err, _ = run("dump", "--json", *arguments, target.pid, env=ENVIRONMENT)
            if tap.equal(code, 3, f"code whose page is gone {' '.join(arguments)}"):
                nothing_claimed(tap, parse(out), named(target))


def maps(tap, scratch):
    paths = []
    for n, name in enumerate(("plain", "sp ace", "new\nline", "x (deleted)", "e\x1b[2J",
                              "\udcff\udc80", "n" * 250, "7f00-8000 r-xp 0 00:00 0")):
        directory = os.path.join(scratch, f"maps-{n}", *["d" * 200] * (15 if n == 0 else 1))
        os.makedirs(directory)
        paths.append(shutil.copy(os.path.join(TARGETS, "states"),
                                 os.path.join(directory, name)))
    for count in (10, 5000, 60000):
        with Target("hostile_maps", count, *paths) as target:
            why = fault(target.pid)
            tap.check(why is None, f"about {count} mappings and odd file names", why)


# ---- core files --------------------------------------------------------------------------------


def make_core(scratch):
    """A core file of a process with four threads, small; None without gdb."""
    if not tool("gdb"):
        return None
    core = os.path.join(scratch, "core")
    with Target("states", "plain", 3, preexec_fn=small_stacks) as target:
        at_rest(target)
        subprocess.run(["gdb", "-nx", "-batch", "-p", str(target.pid), "-ex",
                        f"generate-core-file {core}"], capture_output=True, check=True,
                       timeout=120)
    return core


def small_stacks():
    resource.setrlimit(resource.RLIMIT_STACK, (256 << 10, 256 << 10))


def notes_first(data):
    """gdb writes the notes at the end, so that a cut takes all registers; the kernel at the
    beginning. The same core as the kernel would have written it."""
    elf = Elf(data)
    headers = [list(struct.unpack_from("<IIQQQQQQ", data, elf.phoff + i * elf.phentsize))
               for i in range(elf.phnum)]
    note = next(h for h in headers if h[0] == 4)  # PT_NOTE
    begin = elf.phoff + elf.phnum * elf.phentsize
    page = -(-(begin + note[5]) // 4096) * 4096
    notes, loads = data[note[2]:note[2] + note[5]], b""
    for header in headers:
        if header is note:
            header[2] = begin
        else:
            content = data[header[2]:header[2] + header[5]]
            header[2] = page + len(loads)
            loads += content
    head = bytearray(data[:64])
    struct.pack_into("<Q", head, 40, 0)  # no section headers
    struct.pack_into("<HHH", head, 58, 0, 0, 0)
    table = b"".join(struct.pack("<IIQQQQQQ", *header) for header in headers)
    gap = bytes(elf.phoff - 64)
    front = bytes(head) + gap + table + notes
    return front + bytes(page - len(front)) + loads


def core_regions(data):
    """Headers and notes, and the whole."""
    elf = Elf(data)
    regions = {"file header": (0, 64), "program headers": (elf.phoff, elf.phnum * elf.phentsize),
               "anywhere": (0, len(data))}
    for i in range(elf.phnum):
        kind = int.from_bytes(data[elf.phoff + i * elf.phentsize:][:4], "little")
        if kind == 4:  # PT_NOTE
            at = elf.phoff + i * elf.phentsize
            regions["notes"] = (int.from_bytes(data[at + 8:at + 16], "little"),
                                int.from_bytes(data[at + 32:at + 40], "little"))
    return regions


def core_words(core):
    return ["--core", core, "--exe", os.path.join(TARGETS, "states")]


def cores(tap, scratch):
    core = make_core(scratch)
    if core is None:
        tap.skip("hostile core files", "gdb is not installed", "package gdb")
        return
    with open(core, "rb") as file:
        data = file.read()
    bad = os.path.join(scratch, "bad-core")
    for what, content in (("gdb's", data), ("the kernel's order", notes_first(data))):
        damaged_cores(tap, what, content, bad)


def damaged_cores(tap, what, data, bad):
    whole = walked(data, bad)
    tap.equal((whole["complete"], {s["end"] for s in whole["stacks"]}), (True, {"complete"}),
              f"core, {what}: intact it gives a complete dump")
    cases = [(f"cut at {n}", data[:n]) for n in lengths(7, len(data), cases_of(64))]
    cases += variants(8, data, core_regions(data), cases_of(160))
    faults = []
    for name, content in cases:
        with open(bad, "wb") as file:
            file.write(content)
        if why := fault(*core_words(bad)):
            faults.append((name, why))
    tap.check(not faults, f"core, {what}: {len(cases)} damaged ones", listed(faults[:8]))
    if what == "gdb's":
        return
    for part in (0.9, 0.7, 0.5):
        report = walked(data[:int(len(data) * part)], bad)
        tap.check(not report["complete"] and warned(report, "partial_input"),
                  f"core, {what}: cut to {part:.0%} it is a partial dump with a warning",
                  report["warnings"])
        tap.equal(len(report["threads"]), 4, f"core, {what}: cut to {part:.0%} it has all threads")


def walked(data, path):
    with open(path, "wb") as file:
        file.write(data)
    return parse(run("dump", "--json", *core_words(path), env=ENVIRONMENT)[1])


def not_cores(tap, scratch):
    fifo = os.path.join(scratch, "fifo")
    os.mkfifo(fifo)
    for path in (fifo, scratch, "/dev/null", "/dev/zero", "/proc/self/mem", "/nonexistent"):
        why = fault("--core", path)
        tap.check(why is None, f"--core {os.path.basename(path)}", why)
        why = fault("--fixture", path)
        tap.check(why is None, f"--fixture {os.path.basename(path)}", why)


# ---- fixtures ----------------------------------------------------------------------------------


def all_files(directory):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(directory)
                  for name in names)


def fixture_cases(files, read):
    """(what, path, bytes or a function that makes something else of the path)"""
    for path in files:
        name, data = os.path.basename(path), read[path]
        each = cases_of(12 if len(data) > 65536 else 36)
        for what, content in variants(hash_of(name), data, {name: (0, len(data))}, each):
            yield what, path, content
        for n in lengths(9, len(data), 18)[:each] if data else []:
            yield f"{name} cut at {n}", path, data[:n]
        if data[:1024].isascii():
            digits = bytes(0x39 if 0x30 <= b <= 0x39 else b for b in data)
            yield f"{name} all digits 9", path, digits
            yield f"{name} twice", path, data * 2
            yield f"{name} without newlines", path, data.replace(b"\n", b" ")
        yield f"{name} missing", path, os.unlink
        yield f"{name} a fifo", path, lambda p: (os.unlink(p), os.mkfifo(p))
        yield f"{name} endless", path, lambda p: (os.unlink(p), os.symlink("/dev/zero", p))
        yield f"{name} a directory", path, lambda p: (os.unlink(p), os.mkdir(p))


def hash_of(text):
    return sum(ord(c) * 31 ** i for i, c in enumerate(text)) & 0xffffffff


def fixtures(tap, scratch):
    directory = os.path.join(scratch, "fixture")
    with Target("states", "plain", 2) as target:
        code, _, err, _ = run("record", "--max-stop", 60000, target.pid, "-o", directory,
                              env=ENVIRONMENT)
    tap.equal((code, fault("--fixture", directory)), (0, None), "the intact fixture walks")
    files = all_files(directory)
    read = {}
    for path in files:
        with open(path, "rb") as file:
            read[path] = file.read()
    faults, count = [], 0
    for what, path, change in fixture_cases(files, read):
        count += 1
        if callable(change):
            change(path)
        else:
            with open(path, "wb") as file:
                file.write(change)
        if why := fault("--fixture", directory):
            faults.append((what, why))
        if os.path.isdir(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(read[path])
    tap.check(not faults, f"{count} damaged fixtures", listed(faults[:8]))
    tap.check(count >= 100, "there were a hundred of them", count)
    tap.equal(fault("--fixture", directory), None, "the fixture made whole again walks")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="snapwalk-hostile-") as scratch:
        tap.guard(mapped_files, scratch)
        tap.guard(mapped_pe_files, scratch)
        tap.guard(shrinking_file, scratch)
        tap.guard(debug_links, scratch)
        tap.guard(stacks)
        tap.guard(pages_gone)
        tap.guard(maps, scratch)
        tap.guard(cores, scratch)
        tap.guard(not_cores, scratch)
        tap.guard(fixtures, scratch)
    tap.done()


if __name__ == "__main__":
    main()
