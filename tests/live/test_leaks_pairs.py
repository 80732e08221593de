#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 60s
"""snapwalk leaks --of LIB:ACQUIRE/RELEASE: of a program that acquires from functions of its own and writes down what it has,
each stack has those calls and bytes, by result, argument and pointer, through jumps, threads, fork(2) and execve(2).
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from harness import Tap, Target, iterator_refused, seeded, snapwalk
from held import CALLS_AND_BYTES, found, program_again, turn
from test_events import Run

ALL = ("pool_get@size=arg0+outer_get@size=arg0/pool_put,open_out@*arg0@size=arg1@ok=0/close_out@arg1,number_add@arg0/number_drop,"
       "jump_get@size=arg0/jump_put,reference_get/reference_put")
FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "cli", "leaks.d")
PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "python", "pairs.py")
RING = 16  # of the target
STORM = 4000
STORM_THREADS = 3  # of the target
NUMBERS = "number_add@arg0/number_drop"


def begin(target, of, *args):
    return Run("leaks", "--of", of, *args, "-d", 0, target.pid)


def rows(tap):
    """Each row is what the program wrote down; what its child releases is the child's."""
    seed = seeded(2).randrange(1 << 30)
    with Target("pairs") as target:
        run = begin(target, ALL, "--json")
        told = turn(target, f"go {seed}")
        turn(target, "fork")
        status, answer = run.answer()
        unknown, none = told.pop("-")[:2]
        told = {name: row for name, row in told.items() if row[0]}
        tap.equal(found(answer, told, CALLS_AND_BYTES), told, f"seed {seed}: each row is what the program wrote down")
        tap.equal((status, answer["lost"], answer["not_held"], answer["left_out"], answer["without_stack"],
                   answer["closed_unseen"]), (0,) * 6, f"seed {seed}: nothing is lost")
        tap.equal((answer["opened_before"], answer["opened_before_released"], answer["acquired_nothing"]),
                  (None, unknown, none), f"seed {seed}: released of before, and calls that acquired nothing")
        tap.check(answer["acquired_again"] > 0, f"seed {seed}: a handle that is acquired again is said")
        tap.equal((answer["checked"], answer["open"]), (True, answer["outstanding"]), f"seed {seed}: the kernel has the same")
        tap.equal((answer["changes_code"], len(answer["functions"]), answer["not_followed"]), (True, 11, []),
                  f"seed {seed}: what is probed is told")


def blocks(tap):
    """The C library's: realloc(3) releases and acquires, inner calls count once."""
    with Target("pairs") as target:
        run = begin(target, os.path.join(FILES, "malloc.conf"), "--json")
        told = {name: row for name, row in turn(target, f"blocks {seeded(5).randrange(1 << 30)}").items() if row[0]}
        status, answer = run.answer()
        sums = found(answer, told, CALLS_AND_BYTES)
        unknown, none = told.pop("-")[:2]
        tap.equal({name: sums[name] for name in told}, told, "malloc: each row is what the program wrote down")
        tap.equal((len(told), status, answer["lost"], answer["not_held"], answer["without_stack"], answer["acquired_again"],
                   answer["left_out"]), (5, 0, 0, 0, 0, 0, 0), "malloc: nothing is lost")
        tap.equal((answer["opened_before_released"], answer["acquired_nothing"]), (unknown, none),
                  "malloc: releases of before, and calls that handed out nothing")


def program(tap):
    """execve(2) releases all, and the new program is followed."""
    with Target("pairs") as target:
        run = begin(target, NUMBERS, "--json")
        turn(target, "many 7")
        program_again(target, "many 3")
        answer = run.answer()[1]
        tap.equal((answer["acquired"], answer["released"], answer["outstanding"], answer["open"]), (10, 7, 3, 3),
                  "execve: what was acquired before is gone")


def outside(tap):
    """@outside: calls from the file that the function is in do not count."""
    with Target("pairs") as target:
        run = begin(target, "number_add@arg0@outside/number_drop", "--json")
        turn(target, "many 5")
        answer = run.answer()[1]
        tap.equal((answer["acquired"], answer["open"]), (0, 0), "@outside: the program's own calls do not count")


def busy(tap):
    """A program that goes on while probes open and close: nothing is acquired whose release is not seen."""
    with Target("pairs") as target:
        turn(target, "ring")
        run = begin(target, NUMBERS + ",pool_get+outer_get/pool_put+jump_put", "--json")
        turn(target, "turn")
        answer = run.answer()[1]
        figures = {key: answer[key] for key in ("acquired", "outstanding", "acquired_again", "lost", "closed_unseen")}
        tap.check(answer["acquired"] >= RING and answer["outstanding"] <= RING,
                  "busy: what is outstanding is what the program has at most", figures)
        tap.check(answer["acquired_again"] == 0 or answer["lost"] > 0, "busy: no release was missed", figures)


def closing(tap):
    """The time that the kernel needs to take probes out is none of the run, and nothing that happens then counts."""
    with Target("pairs") as target:
        turn(target, "ring")
        rings = lambda: turn(target, "rings")["rings"][0]
        run = begin(target, ALL, "--json")
        first = rings()
        turn(target, "turn")
        last = rings()
        status, out, err = run.end()
        more = rings() - last
        answer = json.loads(out)
        tap.check(answer["acquired"] < last - first + more / 2, "closing: nothing that is acquired meanwhile counts",
                  (answer["acquired"], first, last, more))
        tap.check(answer["outstanding"] <= RING and answer["closed_unseen"] == 0, "closing: the figures are of one instant",
                  {key: answer[key] for key in ("acquired", "outstanding", "closed_unseen", "open", "acquired_again")})
    with Target("pairs") as target:
        run = Run("leaks", "--of", ALL, "--json", "-d", 1, target.pid)
        begin_s = time.monotonic()
        out, err = run.process.communicate()
        more_ms = (time.monotonic() - begin_s - 1) * 1000
        answer = json.loads(out)
        tap.check(answer["duration_ms"] < 1100 + more_ms / 2, "closing: the run ends before probes are taken out",
                  (answer["duration_ms"], more_ms))


def share(tap):
    """The share of the CPU time is that of the run: the time in which probes are taken out is none of it."""
    with Target("pairs") as target:
        turn(target, "spin")
        run = Run("leaks", "--of", "open_out@*arg0@size=arg1@ok=0/close_out@arg1," + NUMBERS + ",reference_get/reference_put", "--json",
                  "-d", 1, target.pid)
        turn(target, "go 1")
        answer = json.loads(run.end_by_itself()[1])
        cost = answer["overhead"]
        cpu_ms = (cost["breakpoints"] * cost["breakpoint_ns"] + cost["copied"] * cost["ns_each"]) / cost["share"] / 1e6
        tap.check(0 < cpu_ms < answer["duration_ms"] * 1.1 + 20, "share: of the CPU time that passed in the run",
                  (cpu_ms, answer["duration_ms"], cost))


def storm(tap):
    """Threads that get and give up one handle at the same instant: it stays in the table, and each release is seen."""
    with Target("pairs") as target:
        run = Run("leaks", "--of", "reference_get/reference_put", "--json", "-d", 600, target.pid)
        turn(target, f"storm {STORM}")
        answer = run.answer()[1]
        tap.equal((answer["opened_before_released"] + answer["unsure"], answer["open"], answer["left_out"]), (0, STORM_THREADS, 0),
                  "storm: no handle is lost from the table")
        tap.check(answer["lost"] > 0 or answer["acquired"] == STORM_THREADS * (STORM + 1), "storm: each is counted",
                  (answer["acquired"], answer["lost"]))


def overhead(tap):
    """--max-overhead ends the run though it has a duration; a run without it goes on."""
    with Target("pairs") as target:
        run = Run("leaks", "--of", "reference_get/reference_put", "--json", "-d", 600, "--max-overhead", 10, target.pid)
        target.send(f"storm {100 * STORM}")
        status, out, err = run.end_by_itself()
        answer = json.loads(out)
        tap.check(status == 3 and answer["duration_ms"] < 300000 and re.search(
            r'"code":"limit","message":"it comes to breakpoints \d+ times a second, which adds more than the 10 % of --max-overhead to its '
            r'CPU time: the command has ended"', err), "--max-overhead: it ends the run, and says so", (status, answer["duration_ms"], err))


def aliases(tap):
    """Code with two names is followed once; of two pairs it is refused, or left out where the pairs are of a file."""
    with Target("pairs") as target:
        run = begin(target, "number_add@arg0+number_also@arg0/number_drop", "--json")
        turn(target, "many 5")
        answer = run.answer()[1]
        tap.equal((answer["acquired"], answer["open"], len(answer["functions"])), (5, 5, 2), "aliases: of one pair count once")
        result = snapwalk("leaks", "--of", NUMBERS + ",number_also@arg0/pool_put", str(target.pid))
        tap.check(result.returncode == 2 and "number_add and number_also are two names of one function" in result.stderr,
                  "aliases: of two pairs are refused", result.stderr)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "p.conf")
        with open(path, "w") as file:
            file.write("Pair=number_add@arg0/number_drop\nPair=number_also@arg0/pool_put\n")
        with Target("pairs") as target:
            run = begin(target, path, "--json")
            turn(target, "many 5")
            status, answer = run.answer()
            tap.equal((status, answer["acquired"], answer["pairs"], answer["pairs_followed"],
                       [f["reason"] for f in answer["not_followed"]]),
                      (3, 5, 2, 1, ["it is the same code as number_add, which is followed"]), "aliases: of a file the first one counts")


def some(tap):
    """A file of pairs of which only some are there: the verdict and the status say so."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "p.conf")
        with open(path, "w") as file:
            file.write("Pair=number_add@arg0/number_drop\n" + "".join(f"Pair=absent{i}/absent{i}_drop\n" for i in range(4)))
        with Target("pairs") as target:
            run = begin(target, path, "--json")
            turn(target, "many 3")
            status, out, err = run.end()
            answer = json.loads(out)
            tap.equal((status, answer["pairs"], answer["pairs_followed"], answer["acquired"]), (3, 5, 1, 3), "some pairs: JSON and status")
            tap.check('"message":"1 of 5 pairs were followed"' in err, "some pairs: it is said", err)
            run = begin(target, path)
            turn(target, "many 3")
            status, out, err = run.end()
            tap.check(status == 3 and re.search(r": 3 objects of 1 of 5 pairs acquired, 0 released; grows by", out),
                      "some pairs: the verdict says it", out)
            run = begin(target, path, "-o", os.path.join(directory, "x.html"))
            turn(target, "many 3")
            status, out, err = run.end()
            tap.equal((status, sorted(re.findall(r"not followed: ([a-z0-9_]+): ", err))),
                      (3, sorted(f"absent{i}{end}" for i in range(4) for end in ("", "_drop"))),
                      "some pairs: a profile has no place for their names, so that they are said")


def of_two_pairs(tap):
    """A function that two pairs of a file begin with is followed in one of them, and the other one is not said to be."""
    for release, missing in (("absent_drop", ["absent_drop", "number_add"]), ("pool_put", ["number_add"])):
        with tempfile.TemporaryDirectory() as directory, Target("pairs") as target:
            path = os.path.join(directory, "p.conf")
            with open(path, "w") as file:
                file.write(f"Pair={NUMBERS}\nPair=number_add@arg0/{release}\n")
            run = begin(target, path, "--json")
            turn(target, "many 3")
            status, out, err = run.end()
            answer = json.loads(out)
            tap.equal((status, answer["pairs"], answer["pairs_followed"], answer["acquired"],
                       [f["function"] for f in answer["not_followed"]]), (3, 2, 1, 3, missing), f"{release}: one of two pairs")
            tap.check('"message":"1 of 2 pairs were followed"' in err, f"{release}: it is said", err)
    with tempfile.TemporaryDirectory() as directory, Target("pairs") as target:
        path = os.path.join(directory, "p.conf")
        with open(path, "w") as file:
            file.write(f"Pair={NUMBERS}\nPair=number_also@arg0+pool_get/pool_put\n")
        run = begin(target, path, "--json")
        turn(target, "many 3")
        status, answer = run.answer()
        tap.equal((status, answer["pairs_followed"], [f["function"] for f in answer["not_followed"]]), (3, 1, ["number_also"]),
                  "what another name hands out is of another pair: its own one is not followed")


def unprobed(tap):
    """Code that the kernel does not probe: which function, which instruction, and what to do."""
    with Target("pairs") as target:
        result = snapwalk("leaks", "--of", "locked_get/pool_put", str(target.pid))
        tap.check(result.returncode == 1 and re.search(
            r"the kernel does not probe locked_get: the instruction at 0x[0-9a-f]+ of its file \(f0 ff 47 04[ 0-9a-f]*\) is of a kind that "
            r"it cannot step; name a function that calls it, or that it calls", result.stderr), "not probed: it is said which", result.stderr)


def full(tap):
    """More than --limit are a figure, and the status says it."""
    with Target("pairs") as target:
        run = begin(target, NUMBERS, "--json", "--limit", 64)
        turn(target, "many 100")
        status, answer = run.answer()
        tap.equal((status, answer["outstanding"], answer["not_held"]), (3, 64, 36), "--limit: the others are a figure")


def text(tap):
    with Target("pairs") as target:
        run = begin(target, "pool_get/pool_put," + NUMBERS)
        turn(target, "go 3")
        status, out, err = run.end()
        lines = out.splitlines()
        tap.check(re.match(r"probes pool_get, pool_put, number_add, number_drop: until this command ends the kernel has \d+ "
                           rf"breakpoints in the code of process {target.pid}$", lines[0]), "text: the first line says what is changed",
                  out)
        tap.check(re.match(r"each call of these takes the process [0-9.]+ to [0-9.]+ µs longer on (this machine|usual machines "
                           r"\(this one could not be measured\)), and the copy$", lines[1]), "text: the second line says what a call takes", out)
        tap.check(re.search(r": \d+ objects acquired, \d+ released; grows by \d+ a minute, \d+ % of it from in_thread "
                            r"pairs\.c:\d+$", lines[2]), "text: the verdict names the caller", out)
        tap.check(re.search(r"^ +\d+ +\d+ .*pool_get pairs\.c:\d+ < in_thread pairs\.c", out, re.M), "text: a row", out)


def refused(tap):
    """Pairs that cannot be followed are refused before anything is changed."""
    for of, status, what in (("pool_get", 2, "there is no 'pool_get'"), ("pool_get/", 2, "a function has no name"),
                             ("pool_get@arg9/pool_put", 2, "'@arg9' of pool_get means nothing"),
                             ("pool_get/pool_put@ok=0", 2, "'@ok=0' of pool_put means nothing"),
                             ("pool_get/pool_put/x", 2, "has two of them"), (":a/b", 2, "no library is named"),
                             ("a/b,", 2, "has no function that releases")):
        result = snapwalk("leaks", "--of", of, "1")
        tap.check((result.returncode, what in result.stderr) == (status, True), f"refused: {of}", result.stderr)
    with Target("pairs") as target:
        result = snapwalk("leaks", "--of", "pool_get/pool_putt", str(target.pid))
        tap.check(result.returncode != 0 and "has no function pool_putt" in result.stderr, "refused: a function that is not there",
                  result.stderr)


def libraries(tap, name, library, leak, other):
    """The files of the package, with a Python program: its frames are there, and objects that are not freed come first."""
    with Target(None, PYTHON, path=sys.executable) as target:
        with open(f"/proc/{target.pid}/maps") as maps:
            if library not in maps.read():
                tap.skip(f"{name}: a Python that links {library}", "its module has the library in itself")
                return
        run = begin(target, os.path.join(FILES, f"{name}.conf"), "--json")
        turn(target, "go")
        status, answer = run.answer()
        kept = {leak: 0, other: 0}
        for s in answer["stacks"]:
            functions = [f["function"] for f in s["frames"]]
            if name != "openssl" or functions[0] == "SSL_new":
                for who in kept:
                    kept[who] += s["outstanding"] if who in functions else 0
        tap.equal(kept, {leak: 7, other: 0}, f"{name}: what {leak} keeps, and nothing that {other} gives back")
        tap.equal((status, answer["lost"], answer["not_held"]), (0, 0, 0), f"{name}: nothing is lost")


def interpreter(tap):
    """The list of Python's functions, where the interpreter is in the program itself."""
    path, code = "/usr/bin/python3", ("import ctypes, sys\nprint('ready', flush=True)\nfor line in sys.stdin:\n"
                                      "    for _ in range(7):\n        ctypes.pythonapi.PyThread_allocate_lock()\n"
                                      "    print('done', flush=True)\n")
    if not os.path.exists(path) or b"PyThread_allocate_lock" not in subprocess.run(["nm", "-D", path], capture_output=True).stdout:
        tap.skip("python: the interpreter in the program", f"{path} is no such program")
        return
    with Target(None, "-c", code, path=path) as target:
        run = begin(target, os.path.join(FILES, "python.conf"), "--json")
        turn(target, "go")
        status, out, err = run.end()
        answer = json.loads(out) if out else {}
        kept = sum(s["outstanding"] for s in answer.get("stacks", []) if s["frames"][0]["function"] == "PyThread_allocate_lock")
        tap.equal((status, kept, answer.get("not_followed")), (0, 7, []), "python: locks that the program keeps")


def files(tap):
    """Files of pairs: what is wrong is said with its line, and what a library has not is left out and told."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "p.conf")
        for text, what in (("Pair=a/b\n# c\nPairs=c/d\n", f"p.conf:3: 'Pairs=c/d' is neither"),
                           ("Library=libc.so\n\nPair=a@arg7/b\n", "p.conf:3: '@arg7' of a means nothing"), ("# c\n", "it has no pairs"),
                           ("Pair=a\n", "p.conf:1: 'a' has no function that releases")):
            with open(path, "w") as file:
                file.write(text)
            result = snapwalk("leaks", "--of", path, "1")
            tap.check(result.returncode == 2 and what in result.stderr, f"file: {text!r} is refused", result.stderr)
        with open(path, "w") as file:
            file.write("Pair=number_add@arg0+absent/number_drop\nPair=pool_get/absent_too\n")
        with Target("pairs") as target:
            run = begin(target, path, "--json")
            turn(target, "many 3")
            answer = run.answer()[1]
            tap.equal((answer["of"], answer["outstanding"], [f["function"] for f in answer["functions"]],
                       [f["function"] for f in answer["not_followed"]]),
                      (path, 3, ["number_add", "number_drop"], ["absent", "absent_too"]), "file: what is not there is left out, and told")
    for name in sorted(set(os.listdir(FILES)) - {"malloc.conf"}):  # which each process has
        with Target("pairs") as target:
            result = snapwalk("leaks", "--of", os.path.join(FILES, name), str(target.pid))
            tap.check(result.returncode == 1 and "none of these pairs can be followed" in result.stderr,
                      f"{name}: is understood, and a process without its library is refused", result.stderr)


if __name__ == "__main__":
    # The kernel takes most of the time, for placing probes and taking them out: it does so for several commands at once.
    Tap.main([(libraries, "openssl", "libssl", "leak_tls", "drop_tls"),
              (libraries, "sqlite3", "libsqlite3", "leak_database", "close_database"), storm, interpreter, rows, blocks, some,
              of_two_pairs, aliases, files, busy, program, outside, unprobed, full, text, refused],
             closing, share, overhead, skip=("leaks --of LIB:ACQUIRE/RELEASE", iterator_refused(), Tap.ROOT))
