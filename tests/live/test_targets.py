#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Unwinding real processes: functions, end reason and trust of every frame, as the target says."""
import os
import shutil
import subprocess
import tempfile

from harness import (TARGETS, Tap, Target, expected_stacks, module_of, own_functions, patient_dump,
                     stack_of, tool, wait_blocked, wait_until)

# Targets whose every stack must be found by tables alone, to its proven end.
PLAIN = [
    *(f"chain_{how}" for how in ("pie", "nopie", "static", "static_pie", "O0", "Os",
                                 "framepointer", "debug_frame", "nohdr", "cet", "prelinked",
                                 "gold", "clang", "separate")),
    "variable", "tailcall", "noreturn", "inlines", "signals", "exceptions", "preinit", "moved_text",
]


def trusts(stack):
    return [frame["trust"] for frame in stack["frames"]]


def by_tables(tap, report, tid, functions, name, modules=()):
    """The functions are these, the walk is complete and no frame is less than CFI."""
    stack = stack_of(report, tid)
    tap.equal(own_functions(report, tid, modules), functions, f"{name}: functions")
    tap.equal((stack["end"], stack["why"]), ("complete", None), f"{name}: end")
    real = [f["trust"] for f in stack["frames"]]
    inner = sum(1 for f in stack["frames"] if f["pc"] == stack["frames"][0]["pc"])
    tap.equal(real, ["context"] * inner + ["cfi"] * (len(real) - inner), f"{name}: trust")


def test_plain(tap):
    for name in PLAIN:
        if name == "chain_gold" and not tool("ld.gold"):
            tap.skip(name, "ld.gold is not installed", tap.GOLD)
            continue
        with Target(name) as target:
            wait_blocked(target.pid)
            report = patient_dump(target.pid)
            stacks = expected_stacks(target.lines)
            for tid, functions in stacks.items():
                by_tables(tap, report, tid, functions, f"{name} {functions[-1]}")
            tap.equal(sorted(t["tid"] for t in report["threads"]), sorted(stacks),
                      f"{name}: threads")
            if name == "noreturn":
                tap.check("return-address-is-next-function 1" in target.lines,
                          "noreturn: the return address belongs to the next function")


def test_signal_frames(tap):
    """The trampoline is marked, and what it interrupted is looked up by the exact pc."""
    with Target("signals") as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid)
        for tid, functions in expected_stacks(target.lines).items():
            frames = stack_of(report, tid)["frames"]
            marked = [i for i, f in enumerate(frames) if f.get("signal")]
            tap.equal(len(marked), functions.count("<signal>"), f"{functions[-1]}: signal frames")
            after = frames[marked[-1] + 1]
            if after["function"] == "faulting":
                tap.equal(after["function_offset"], 0, "interrupted at its first instruction")


def test_deep(tap):
    with Target("deep", 200) as target:
        wait_blocked(target.pid)
        functions = expected_stacks(target.lines)[target.pid]
        report = patient_dump(target.pid)
        by_tables(tap, report, target.pid, functions, "deep 200")
        tap.check(not any(f.get("live_read") for f in stack_of(report, target.pid)["frames"]),
                  "deep 200: nothing is read from the running process")

        report = patient_dump(target.pid, "--stack-bytes", 65536)
        by_tables(tap, report, target.pid, functions, "deep 200, 64 KiB copied")
        live = [bool(f.get("live_read")) for f in stack_of(report, target.pid)["frames"]]
        first = live.index(True) if True in live else len(live)
        tap.check(90 <= first <= 130, "deep 200, 64 KiB copied: about 110 frames are in the copy",
                  first)
        last = len(live) - live[::-1].index(True) if True in live else 0
        tap.check(all(live[first:last]), "deep 200, 64 KiB copied: the rest is marked live_read", live)
        # Above main() are the environment and a gap of random size.
        tap.check(len(live) - last <= 45, "deep 200, 64 KiB copied: but for those in the upper 16 KiB", live)

        report = patient_dump(target.pid, "--depth", 50, status=(3,))
        stack = stack_of(report, target.pid)
        tap.equal((stack["end"], len(stack["frames"])), ("frame_limit", 50), "deep 200, --depth 50")
        tap.check(stack["why"], "deep 200, --depth 50: says why")

    with Target("deep", 900) as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid)
        by_tables(tap, report, target.pid, expected_stacks(target.lines)[target.pid], "deep 900")
    with Target("deep", 10000) as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid, status=(3,))
        stack = stack_of(report, target.pid)
        tap.equal((stack["end"], len(stack["frames"])), ("frame_limit", 1024), "deep 10000")
        report = patient_dump(target.pid, "--depth", 20000)
        by_tables(tap, report, target.pid, expected_stacks(target.lines)[target.pid],
                  "deep 10000, --depth 20000")


def test_leaf(tap):
    """A leaf without a frame, stopped at whatever instruction."""
    with Target("leaf") as target:
        wait_until(lambda: "spin" in own_functions(patient_dump(target.pid), target.pid),
                   "the leaf to be called")
        good = 0
        for _ in range(30):
            report = patient_dump(target.pid)
            stack = stack_of(report, target.pid)
            good += (own_functions(report, target.pid) == ["spin", "caller", "main"]
                     and stack["end"] == "complete" and trusts(stack)[1:] == ["cfi"] * 5)
        tap.equal(good, 30, "leaf: 30 of 30 stacks are right")


def test_assembly(tap):
    """With CFI; with a frame pointer only; with neither: the trust says how it was found."""
    with Target("assembly") as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid)
        for tid, functions in expected_stacks(target.lines).items():
            name = functions[-1]
            if name in ("with_cfi", "main"):
                by_tables(tap, report, tid, functions, f"assembly {name}")
                continue
            stack = stack_of(report, tid)
            tap.equal(own_functions(report, tid), functions, f"assembly {name}: functions")
            tap.equal(stack["end"], "complete", f"assembly {name}: end")
            found = {f["function"]: f["trust"] for f in stack["frames"]}
            tap.equal(found[name], "instructions", f"assembly {name}: trust of the frame it found")
            others = {f["trust"] for f in stack["frames"][1:] if f["function"] != name}
            tap.equal(others, {"cfi"}, f"assembly {name}: trust of the others")


def ran_ns(pid, tid):
    """Time on a CPU."""
    with open(f"/proc/{pid}/task/{tid}/schedstat") as file:
        return int(file.read().split()[0])


def test_haskell(tap):
    """Code as GHC makes it: who runs it is found by the frame on the C stack, not by a scan of what lies there."""
    for program in ("haskell", "haskell_stripped"):
        with Target(program) as target:
            wanted = expected_stacks(target.lines)
            blocked = next(tid for tid, functions in wanted.items() if functions[0] == "block")
            wait_blocked(target.pid, tids=[blocked])
            # The other may have been woken from the barrier only; on its way from there it needs much less.
            wait_until(lambda: all(ran_ns(target.pid, tid) > 50_000_000 for tid in wanted if tid != blocked),
                       "the other one to spin")
            for _ in range(10):
                report = patient_dump(target.pid)
                for tid, functions in wanted.items():
                    stack = stack_of(report, tid)
                    good = (stack["end"], set(trusts(stack)[1:])) == ("complete", {"cfi"})
                    if program == "haskell":
                        names = {"Main_zdwspin_info": "Main.$wspin", "Main_callsC_info": "Main.callsC"}
                        good = good and own_functions(report, tid) == [names.get(f, f) for f in functions]
                    else:
                        good = good and len(stack["frames"]) == len(functions) + 2
                    if not tap.check(good, f"{program}: {functions}", stack):
                        return


def test_stripped(tap):
    """Without any symbol the frames are the same: offsets belong to the twin's functions."""
    table = subprocess.run(["nm", "-S", "--defined-only", os.path.join(TARGETS, "chain_pie")],
                           capture_output=True, text=True, check=True).stdout
    ranges = [(int(w[0], 16), int(w[1], 16), w[3]) for w in map(str.split, table.splitlines())
              if len(w) == 4]
    with Target("chain_stripped") as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid)
        for tid, functions in expected_stacks(target.lines).items():
            stack = stack_of(report, tid)
            names = []
            for i, frame in enumerate(stack["frames"]):
                if module_of(report, frame) != report["process"]["exe"]:
                    continue
                tap.equal(frame["function"], None, f"stripped {functions[-1]}: no name is invented")
                offset = int(frame["offset"], 16) - (i > 0)
                names += [n for start, size, n in ranges if start <= offset < start + size]
            tap.equal([n for n in names if n != "_start"], functions,
                      f"stripped {functions[-1]}: offsets")
            tap.equal(stack["end"], "complete", f"stripped {functions[-1]}: end")


def test_library(tap):
    """dlopen'ed, there and deleted from the disk."""
    with tempfile.TemporaryDirectory() as directory:
        path = shutil.copy(os.path.join(TARGETS, "plugin.so"), directory)
        for words in ((path,), (path, "delete")):
            with Target("plugin_user", *words) as target:
                wait_blocked(target.pid)
                report = patient_dump(target.pid)
                name = " ".join(("library", *words[1:]))
                by_tables(tap, report, target.pid, expected_stacks(target.lines)[target.pid],
                          name, modules=("plugin.so",))
                if len(words) > 1:
                    tap.check(not os.path.exists(path), "library delete: it is gone")


def test_deleted_program(tap):
    with tempfile.TemporaryDirectory() as directory:
        for how in ("chain_pie", "chain_nopie", "chain_static"):
            path = shutil.copy(os.path.join(TARGETS, how), directory)
            with Target(how, path=path) as target:
                wait_blocked(target.pid)
                os.unlink(path)
                report = patient_dump(target.pid)
                for tid, functions in expected_stacks(target.lines).items():
                    by_tables(tap, report, tid, functions, f"deleted {how} {functions[-1]}")


def test_null_call(tap):
    """Address 0 is in no code: its caller is on top of the stack, as the call left it."""
    with Target("nullcall") as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid, status=(0, 3))
        stack = stack_of(report, target.pid)
        tap.equal(own_functions(report, target.pid), expected_stacks(target.lines)[target.pid],
                  "null call: functions")
        tap.equal(stack["end"], "complete", "null call: end")
        frames = stack["frames"]
        zero = next((i for i, f in enumerate(frames) if int(f["pc"], 16) == 0), None)
        if tap.check(zero is not None, "null call: address 0 is shown"):
            tap.equal(frames[zero]["module"], None, "null call: address 0 is in no module")
            tap.equal((frames[zero + 1]["trust"], frames[zero + 1]["by"]), ("instructions", "instructions"),
                      "null call: the caller is known by the call")


def test_coroutine_exit(tap, program):
    """The first frame of a coroutine has called exit()."""
    with Target(program) as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid, status=(0, 3))
        tid, functions = next(iter(expected_stacks(target.lines).items()))
        stack = stack_of(report, tid)
        tap.equal((own_functions(report, tid)[:2], stack["end"], stack["frames"][-1]["function"], set(trusts(stack)[1:])),
                  (functions, "complete", "__start_context", {"cfi"}), f"{program}: the end is proven")


def test_fiber_entry(tap):
    """A return address of 0 is the end of a fiber of D, and where the stack's memory ends; no end of anything else."""
    for args, wanted in (((), ("complete", None)),
                         (("mapped",), ("complete", None)),
                         (("other",), ("bad_unwind_info", "the return address is 0, which proves no end"))):
        with Target("fiber_entry", *args) as target:
            wait_blocked(target.pid)
            report = patient_dump(target.pid, status=(0, 3))
            tid, functions = next(iter(expected_stacks(target.lines).items()))
            stack = stack_of(report, tid)
            tap.equal((own_functions(report, tid), stack["end"], stack["why"]), (functions, *wanted),
                      f"fiber_entry {' '.join(args)}: {functions[-1]}")


def test_coroutine(tap, program):
    """glibc pushes the start of __start_context as a return address: pc - 1 lies before it, where
    no CFI is. Its instructions are known: nothing called it. The static program has its name."""
    with Target(program) as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid)
        for tid, functions in expected_stacks(target.lines).items():
            if functions[-1] == "returned":
                by_tables(tap, report, tid, functions, "coroutine: the thread that came back")
                continue
            stack = stack_of(report, tid)
            tap.equal(own_functions(report, tid)[:3], functions, "coroutine: functions")
            tap.equal((stack["end"], len(stack["frames"])), ("complete", 4), "coroutine: the end is proven")
            tap.equal(trusts(stack), ["context", "cfi", "cfi", "cfi"], "coroutine: trust")
            first = stack["frames"][-1]
            if program == "coroutine_static":
                tap.equal(first["function"], "__start_context", "coroutine: the first frame has its own name")


def test_musl(tap):
    """Debian's musl has no CFI: the program's own frames are proven, what lies outside is not."""
    for how in ("chain_musl", "chain_musl_static"):
        with Target(how) as target:
            wait_blocked(target.pid)
            report = patient_dump(target.pid, status=(0, 3))
            for tid, functions in expected_stacks(target.lines).items():
                name = f"{how} {functions[-1]}"
                stack = stack_of(report, tid)
                tap.equal(own_functions(report, tid)[:len(functions)], functions,
                          f"{name}: functions")
                own = len(functions) + 1  # the return address into musl is in our CFI, too
                tap.equal(trusts(stack)[:own], ["context"] + ["cfi"] * (own - 1), f"{name}: trust")
                tap.check("cfi" not in trusts(stack)[own:], f"{name}: no frame of musl by CFI",
                          trusts(stack))
                tap.check(stack["end"] == "complete" or stack["why"], f"{name}: says why it ends")


def test_no_tables(tap):
    """Neither tables nor frame pointers: the instructions are followed."""
    with Target("chain_bare") as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid, status=(0, 3))
        for tid, functions in expected_stacks(target.lines).items():
            name = f"bare {functions[-1]}"
            stack = stack_of(report, tid)
            tap.equal(own_functions(report, tid), functions, f"{name}: functions")
            own = len(functions)
            tap.equal(trusts(stack)[:own + 1], ["context"] + ["instructions"] * own, f"{name}: trust")
            tap.check(not any(f.get("may_miss") for f in stack["frames"][:own + 1]),
                      f"{name}: nothing is said to be missing", stack["frames"])


SECTIONS = r"""
#include <unistd.h>
static volatile int released;
__attribute__((noipa, used)) static void waits(void) { while (!released) pause(); }
__asm__(".section SECTION\n\tcall waits\n\t.text");
int main(void) { return 0; }
"""
OWN_ENTRY = r"""
__asm__(".globl _start\n.type _start, @function\n_start: mov %rsp, %rdi\n\txor %ebp, %ebp\n\tand $-16, %rsp\n"
	"\tcall begin\n\thlt");
static long waits(void)
{
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "0"(34L) : "rcx", "r11", "memory"); /* pause */
	return result;
}
__attribute__((noipa, used)) int inner(int n) { return n ? inner(n - 1) + 1 : (int) waits() + 1; }
__attribute__((noipa, used)) int begin(void) { return inner(3) + inner(2); }
"""
UNROLLED = r"""
__asm__(".type unrolled, @function\nunrolled: sub $12, %rsp\n\tmov $34, %eax\n\tsyscall\n" /* pause */
	"\t.rept 16500\n\tmovdqu (%rsi), %xmm3\n\t.endr\n\tadd $12, %rsp\n\tret\n\t.size unrolled, . - unrolled");
int unrolled(void);
__attribute__((noipa, optimize("no-omit-frame-pointer"))) int calls(int (*f)(void)) { return f() + 1; }
__attribute__((noipa, optimize("no-omit-frame-pointer"))) int outer(void) { return calls(unrolled) + 1; }
int main(void) { return outer() + 1; }
"""
# Without tables: what the C library's start files have, a program without them, and a very long function.
STARTS = {
    "_init": (SECTIONS.replace("SECTION", ".init"), [], ["waits", "_init", "_start"]),
    "_fini": (SECTIONS.replace("SECTION", ".fini"), [], ["waits", "_fini", "_start"]),
    "unrolled": (UNROLLED, [], ["unrolled", "calls", "outer", "main", "_start"]),
    "own entry": (OWN_ENTRY, ["-nostartfiles", "-static", "-no-pie"], ["inner"] * 4 + ["begin", "_start"]),
}


def test_starts(tap, name):
    """The first frame is reached, and none by a guess."""
    source, flags, wanted = STARTS[name]
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "program")
        subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-fno-asynchronous-unwind-tables", *flags,
                        "-x", "c", "-o", path, "-"], input=source, text=True, check=True)
        with Target("program", path=path, ready=None) as target:
            wait_blocked(target.pid)
            report = patient_dump(target.pid, status=(0, 3))
    stack = stack_of(report, target.pid)
    names = [f["function"] for f in stack["frames"] if module_of(report, f) == path]
    tap.equal((names, stack["end"]), (wanted, "complete"), f"{name}: to the first frame")
    tap.check(not set(trusts(stack)) & {"frame_pointer", "scan", "scan_verified"}, f"{name}: no guess", trusts(stack))


def test_names(tap):
    with Target("named", 30) as target:
        wait_blocked(target.pid)
        report = patient_dump(target.pid)
        comms = {t["tid"]: t["comm"] for t in report["threads"]}
        said = [line.split(" ") for line in target.lines if line.startswith("name ")]
        tap.equal(len(said), 30, "names: all threads spoke")
        for _, tid, raw in said:
            wanted = bytes.fromhex(raw).decode("utf-8", "replace")
            tap.equal(comms[int(tid)], wanted, f"name of {tid} ({wanted!a})")
        for tid, functions in expected_stacks(target.lines).items():
            if own_functions(report, tid) != functions:
                tap.check(False, f"names: stack of {tid}", own_functions(report, tid))
        tap.equal(len(report["stacks"]), 2, "names: 31 threads have two distinct stacks")


if __name__ == "__main__":
    Tap.main(test_plain, test_signal_frames, test_deep, test_leaf, test_assembly, test_stripped, test_library,
             test_deleted_program, test_null_call, test_musl, test_no_tables, test_names, test_fiber_entry, test_haskell,
             *((test_starts, name) for name in STARTS),
             (test_coroutine, "coroutine"), (test_coroutine_exit, "coroutine_exit"),
             (test_coroutine, "coroutine_static"), (test_coroutine_exit, "coroutine_exit_static"))
