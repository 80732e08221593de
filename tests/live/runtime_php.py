#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 15s
"""PHP: a blocked program against debug_print_backtrace(), stops anywhere in a busy one, php-fpm.

SNAPWALK_STOPS sets how many stops there are in each mode (60); SNAPWALK_ROOT is the root of another Debian,
whose PHP is looked at; SNAPWALK_MODES are some of the modes, with commas.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile

from harness import Tap, dump, hangs_s, patient_dump, stack_of, tool, wait_until
from interpreted import (ROOT, Program, calls_of, interpreter, language_frames, program, text_of, wrong_in_chain,
                         wrong_in_stack)
from judge import Judge, cut_in_stack, scaled

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "php")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "60"))
JIT = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit_buffer_size=16M"]
MODES = {
    "no JIT": ["-d", "opcache.enable_cli=0"], "opcache": ["-d", "opcache.enable_cli=1", "-d", "opcache.jit=disable"],
    "JIT function": [*JIT, "-d", "opcache.jit=function"], "JIT tracing": [*JIT, "-d", "opcache.jit=tracing"],
}
NATIVE = {"array_map": {"{closure}", "Work::{closure}", "strtoupper"}, "usort": {"Magic::compare"}, "{eval}": {"leaf"}}


def php_program(name, mode):
    return Program(*interpreter("php", *MODES[mode], program(SOURCES, name)))


def backtrace(lines):
    """debug_print_backtrace() as [(function, file, line of its call)]."""
    found = []
    for line in lines:
        said = re.match(r"#\d+\s+(?:(.*)\((\d+)\)|\[internal function\]): (.*)\((.*)\)$", line)
        if said:
            function = re.sub(r"->", "::", said.group(3))
            found.append((function, said.group(1), int(said.group(2)) if said.group(2) else None))
    return found


def as_frames(trace, innermost_line):
    """The same as [(function, line it is at)]: PHP says with each function where it was called."""
    lines = [innermost_line] + [line for _, _, line in trace]
    names = [name for name, _, _ in trace] + ["{main}"]
    return list(zip(names, lines))


def check_blocked(tap, mode):
    with php_program("blocked.php", mode) as php:
        line = int(php.lines[-1].split()[1]) + 1  # where it waits
        wanted = as_frames(backtrace(php.lines), line)
        tap.check(len(wanted) > 10, f"{mode}: {len(wanted)} functions to compare", "\n".join(php.lines))
        stack = None

        def waits():
            nonlocal stack
            stack = stack_of(patient_dump(php.pid), php.pid)
            return any(f["function"] == "fgets" and f["kind"] == "php" for f in stack["frames"])
        wait_until(waits, "fgets")
        frames = [(f["function"], f["line"]) for f in language_frames(stack, "php")]
        tap.equal(frames[0], ("fgets", None), f"{mode}: waits in fgets()")
        # As PHP names an include in a trace, and classes without the place of their definition.
        plain = [(re.sub(r"^include$", "{include}", name).split("@anonymous")[0], at) for name, at in wanted]
        ours = [(name.split("@anonymous")[0], at) for name, at in frames[1:]]
        tap.equal(ours, plain, f"{mode}: the functions and lines of debug_print_backtrace()")
        tap.equal(wrong_in_stack(stack), None, f"{mode}: complete, nothing guessed")


def check_fibers(tap, mode):
    """The callers of a fiber that runs are on other stacks."""
    with php_program("blocked_fiber.php", mode) as php:
        if any("Fiber" in line and "not found" in line for line in php.lines):
            tap.skip(f"{mode}: fibers", "PHP before 8.1", "php 8.1")
            return
        wanted = as_frames(backtrace(php.lines), int(php.lines[-1].split()[1]))
        stack = None

        def waits():
            nonlocal stack
            stack = stack_of(patient_dump(php.pid), php.pid)
            return any(f["function"] == "fgets" and f["kind"] == "php" for f in stack["frames"])
        wait_until(waits, "fgets")
        frames = [(f["function"], f["line"]) for f in language_frames(stack, "php")]
        tap.check(len(wanted) == 8, f"{mode}: functions of two fibers and their callers", wanted)
        tap.equal(frames[1:], wanted, f"{mode}: the callers of fibers, as debug_print_backtrace() has them")


def check_stops(tap, mode):
    """The chain and its lines in each stack."""
    calls = calls_of(os.path.join(SOURCES, "busy.php"))
    with php_program("busy.php", mode) as php, Judge(tap, "php.busy", mode) as judge:
        for look in judge.looks(php.pid, STOPS):
            stack = stack_of(look.report, php.pid)
            # From 8.4 on closures are named with where they were made.
            frames = [dict(f, function=re.sub(r"\{closure:.*\}", "{closure}", f["function"])) for f in language_frames(stack, "php")]
            wrong = wrong_in_stack(stack) or wrong_in_chain(frames, calls, "{main}", NATIVE)
            judge.verdict(look, cut_in_stack(stack), wrong, text_of(stack))
        found = [r for r in look.report["process"]["runtimes"] if r["name"] == "php"]
        tap.equal([r["version"].split(".")[:2] for r in found], [version()], f"{mode}: recognised, with its version")


def plan(stack):
    """Functions of PHP, and "-" for each frame of the loop that executes those before it."""
    return [f["function"] if f["kind"] == "php" else "-" for f in stack["frames"]
            if f["kind"] == "php" or (f["function"] or "").startswith("execute_ex")]


def check_instructions(tap, what, wanted, script, program, **env):
    """Core files that gdb makes by a script: wanted[n] is the plan of those of the n-th time."""
    if ROOT or not tool("gdb"):
        tap.skip(what, "gdb is not installed, or the PHP is another Debian's", "package gdb")
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gdb", "-batch", "-nx", "-x", os.path.join(os.path.dirname(os.path.abspath(__file__)), script),
                        "--args", os.path.realpath(tool("php")), *MODES["no JIT"], os.path.join(SOURCES, program)],
                       check=True, stdout=subprocess.DEVNULL, stderr=sys.stderr, stdin=subprocess.DEVNULL, timeout=hangs_s(),
                       env=dict(os.environ, FOLDER=folder, **env))
        cores = sorted((int(n), int(i)) for n, i in (name.split(".")[0].split("-") for name in os.listdir(folder)))
        wrong = []
        for n, i in cores:
            stack = dump(["--core", os.path.join(folder, f"{n}-{i}.core")])["stacks"][0]
            if plan(stack) != wanted[n] or wrong_in_stack(stack):
                wrong.append(f"{n}, instruction {i}: {plan(stack)}\n{text_of(stack)}")
        tap.check(not wrong and len({n for n, _ in cores}) == len(wanted),
                  f"{what}: the calls of each frame at {len(cores)} instructions", "\n".join(wrong[:3]))


def check_returns(tap):
    """Which calls belong to which frame of the loop, at each instruction with which the loop returns."""
    outer = ["usort", "run", "{main}", "-"]
    # In this order they return: a generator is still there when it has yielded.
    wanted = [["-", "array_map", "outer", "-", *outer], ["numbers", "-", "outer", "-", *outer],
              ["-", "outer", "-", *outer], ["-", "outer", "-", *outer], ["-", *outer]]
    check_instructions(tap, "returns of execute_ex()", wanted, "gdb_returns.py", "returns.php", RETURNS=str(len(wanted)))


def check_resumes(tap):
    """The callers of a generator while they are linked to it: it has none, or those of before."""
    outer = ["run", "{main}", "-"]
    wanted = [["numbers", "Generator::current", "first", *outer], ["numbers", "Generator::next", "second", *outer],
              ["all", "sum", *outer], *[["numbers", "all", "sum", *outer]] * 3, ["all", "sum", *outer],
              ["all", "Generator::current", "first", *outer], ["numbers", "all", "Generator::current", "first", *outer],
              ["numbers", "all", "Generator::next", "other", *outer]]
    if version() != ["8", "2"]:
        tap.skip("generators that are resumed", "where PHP keeps the innermost call is known of 8.2", "package php8.2-cli")
        return
    check_instructions(tap, "generators that are resumed", wanted, "gdb_resumes.py", "resumes.php", RESUMES=str(len(wanted)))


def stopped_look(judge, pid):
    """A look, and what shared memory the process could write to just then, which was not of files."""
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "T", "it stops")
        with open(f"/proc/{pid}/maps") as maps:
            parts = [re.match(r"([0-9a-f]+)-([0-9a-f]+) rw-s .*\(deleted\)$", line) for line in maps]
        written = [range(int(part.group(1), 16), int(part.group(2), 16)) for part in parts if part]
        return judge.take(pid), written
    finally:
        os.kill(pid, signal.SIGCONT)


def check_compiled(tap):
    """Files that opcache keeps, and that are compiled, while code of the JIT is on the stack: it cannot be executed then."""
    calls = calls_of(os.path.join(SOURCES, "compiled.php"))
    mode = [*JIT, "-d", "opcache.jit=function", "-d", "opcache.memory_consumption=256", "-d", "opcache.jit_buffer_size=64M",
            "-d", "opcache.file_update_protection=0", "-d", "opcache.max_accelerated_files=100000"]
    inside = 0
    with tempfile.TemporaryDirectory() as folder:
        command = interpreter("php", *mode, os.path.join(SOURCES, "compiled.php"))
        with Program("env", f"FOLDER={folder}", *command) as php, Judge(tap, "php.compiled") as judge:
            while judge.stacks < scaled(STOPS) // 2 or (not inside and judge.stacks < 10 * STOPS):
                look, written = stopped_look(judge, php.pid)
                stack = stack_of(look.report, php.pid)
                wrong = wrong_in_stack(stack) or wrong_in_chain(language_frames(stack, "php"), calls, "{main}", {})
                if judge.verdict(look, cut_in_stack(stack), wrong, text_of(stack)):
                    inside += any(int(f["pc"], 16) in part for f in stack["frames"] if f["kind"] != "php" for part in written)
    tap.check(inside, f"files that are compiled: {inside} stacks have code that cannot be executed")


def version():
    out = subprocess.run(interpreter("php", "-r", "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION;"), check=True,
                         capture_output=True, text=True).stdout
    return out.split(".")


def main():
    tap = Tap()
    tap.check(tool("php"), "PHP is installed")
    for mode in os.environ.get("SNAPWALK_MODES", ",".join(MODES)).split(","):
        tap.guard(check_blocked, mode)
        tap.guard(check_fibers, mode)
        tap.guard(check_stops, mode)
    tap.guard(check_returns)
    tap.guard(check_resumes)
    if not ROOT:
        tap.guard(check_compiled)
    tap.done()


if __name__ == "__main__":
    main()
