#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""32-bit Windows programs under Wine, in i386 processes of their own: threads blocked at the end of known
chains, through Unix and Windows code and back, with tables and without; and a busy one at random instants,
of which every call is one that it makes. No walk is wrong; one that cannot be proven says that it is cut."""
import os
import resource
import signal
import subprocess

from harness import TARGETS, Tap, dump, no_kernel_core, own_functions, patient_dump, pcs_of, stack_of, wait_until
from runtime_pe_random import said, wrong_calls
from wine import Wine

VERSION = os.environ.get("SNAPWALK_WINE32", "8-i386")  # or 10-i386, where chroot.sh has made it
STOPS = int(os.environ.get("SNAPWALK_STOPS", "1000"))
GAP_US = 3000
PROVEN = {"context", "cfi", "runtime", "instructions"}
GUESSES = {"frame_pointer", "scan_verified", "scan"}
DISPATCHERS = {"__wine_syscall_dispatcher", "__wine_unix_call_dispatcher"}
IN_WINDOWS_CODE = {"spins", "held"}
CHAINS = ("O2", "O0", "bare", "stripped")


def chains_of(lines):
    """{tid: (name, functions)} as the program says."""
    found = {}
    for line in lines:
        word, *rest = line.split()
        if word == "thread":
            found[int(rest[0])] = (rest[1], rest[2:])
    return found


def settled(target, want):
    """A report in which all that are blocked are where they stay."""
    waiting = {tid for tid, (name, _) in want.items() if name not in IN_WINDOWS_CODE}

    def look():
        report = patient_dump(target.pid, status=(0, 3))
        states = {t["tid"]: t["state"] for t in report["threads"]}
        return report if all(states.get(tid) == "S" for tid in waiting) else None
    return wait_until(look, "a dump in which all wait", 60)


def frames_of(report, tid):
    return [f for f in stack_of(report, tid)["frames"] if not f["inlined"]]


def check_named(report, tid, name, functions, program):
    """Returns what is wrong with one thread's stack: a list of words."""
    stack, wrong = stack_of(report, tid), []
    if stack is None:
        return [f"{name}: not captured"]
    frames = frames_of(report, tid)
    trust = {f["trust"] for f in frames}
    if stack["end"] != "complete":
        wrong.append(f"{name}: ends {stack['end']}: {stack['why']}")
    if trust - PROVEN:
        wrong.append(f"{name}: trust {trust - PROVEN}")
    own = [f for f in own_functions(report, tid, (program,)) if f != "<signal>"]
    # Where names were stripped, at least there must be as many.
    if own != functions and own != ["?"] * len(functions):
        wrong.append(f"{name}: {own} is not {functions}")
    if name not in IN_WINDOWS_CODE and not DISPATCHERS & {f["function"] for f in frames}:
        wrong.append(f"{name}: no dispatcher")
    return wrong


def test_chain(tap, wine, how):
    program = f"wine32_chain_{how}.exe"
    with wine.program(program) as target:
        want = chains_of(target.lines)
        report = settled(target, want)
        wrong = [w for tid, (name, functions) in want.items()
                 for w in check_named(report, tid, name, functions, program)]
        tap.check(not wrong, f"{how}: {len(want)} threads are where they say, each walk proven to its start",
                  "\n".join(wrong))
        check_modules(tap, how, report, program)


def check_modules(tap, how, report, program):
    process = report["process"]
    tap.equal(process["elf_class"], 32, f"{how}: a 32-bit process")
    wine = [r for r in process["runtimes"] if r["name"] == "wine"]
    tap.check(len(wine) == 1 and wine[0]["version"].startswith(VERSION.split("-")[0] + ".") and not wine[0].get("problem"),
              f"{how}: Wine is recognised", process["runtimes"])
    modules = {os.path.basename(m["path"]): m for m in report["modules"] if m["format"] == "pe"}
    tap.check({program, "ntdll.dll", "kernel32.dll", "kernelbase.dll"} <= set(modules),
              f"{how}: its Windows modules", sorted(modules))
    tap.check(modules[program]["build_id"] and all(int(m["end"], 16) <= 1 << 32 for m in modules.values()),
              f"{how}: their places and identities", modules[program])


def test_core(tap, wine):
    """The kernel's core file, with all that is mapped: files have other paths outside of the root directory."""
    if no_kernel_core():
        tap.skip("cores by the kernel", *no_kernel_core())
        return
    program = "wine32_chain_O2.exe"
    with wine.program(program) as target:
        want = chains_of(target.lines)
        live = settled(target, want)
        with open(f"/proc/{target.pid}/coredump_filter", "w") as file:
            file.write("0x7f")
        resource.prlimit(target.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        directory = os.readlink(f"/proc/{target.pid}/cwd")
        before = set(os.listdir(directory))
        os.kill(target.pid, signal.SIGXCPU)  # for which Wine has no handler
        target.process.wait()
        made = wait_until(lambda: [name for name in set(os.listdir(directory)) - before if name.startswith("core")],
                          "the kernel's core file")
        path = os.path.join(directory, made[0])
        try:
            core = dump(["--core", path], status=(0, 3))
        finally:
            os.unlink(path)
    wrong = [w for tid, (name, functions) in want.items() for w in check_named(core, tid, name, functions, program)]
    wrong += [f"{name}: other frames than in the process" for tid, (name, _) in want.items()
              if name not in IN_WINDOWS_CODE and pcs_of(core, tid) != pcs_of(live, tid)]
    tap.check(not wrong, f"the kernel's core: {len(want)} threads are where they say", "\n".join(wrong))


def test_busy(tap, wine):
    with wine.program("wine32_busy.exe") as target:
        run = subprocess.run([os.path.join(TARGETS, "drive_stop"), str(target.pid), str(STOPS), str(GAP_US),
                              os.path.realpath(os.path.join(wine.shared, "wine32_busy.exe"))],
                             capture_output=True, text=True, timeout=1200, check=True)
        lines = [line.split(" ") for line in run.stdout.splitlines()]
        edges, roots = said(target, "edge"), said(target, "root")
    own = {f for edge in edges for f in edge} | {f for root in roots for f in root}
    found = [[f for f in line[3:] if f in own] for line in lines if line[0] == "chain"]
    wrong = [(w, chain) for chain in found for w in wrong_calls(chain, edges, roots)]
    tap.check(not wrong, f"busy: all calls on {len(found)} distinct stacks are calls it makes",
              "\n".join(map(str, wrong[:10])))
    tap.check(not own - {f for chain in found for f in chain}, "busy: each of its functions was met",
              own - {f for chain in found for f in chain})
    total = next(line for line in lines if line[0] == "stops")
    bad = [" ".join(line) for line in lines if line[0] == "bad"]
    tap.check(int(total[-1]) <= int(total[3]) // 100, f"busy: 99 of 100 of {total[3]} walks are proven to the "
              f"start by tables alone", "\n".join(bad[:20]))
    print(f"# {' '.join(total)}")


def main():
    tap = Tap()
    if os.geteuid() != 0 or not os.path.isdir(Wine(VERSION).root) or \
            not os.path.exists(os.path.join(TARGETS, "wine32_busy.exe")):
        tap.skip("32-bit Windows programs", "Wine for i386 and its programs are not there", "make check-wine32, as root")
        tap.done()
        return

    def look(t):
        with Wine(VERSION) as wine:
            for how in CHAINS:
                t.guard(test_chain, wine, how)
            t.guard(test_core, wine)
            t.guard(test_busy, wine)
    tap.guard(look)
    tap.done()


if __name__ == "__main__":
    main()
