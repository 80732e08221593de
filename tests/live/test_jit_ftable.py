#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 25s
"""Function tables that a JIT compiler registers by <snapwalk/ftable.h>: the example, one that never
rests, registries that lie, and the header itself.

SNAPWALK_FTABLE_SECONDS=60 reads the running registry for longer."""
import functools
import os
import re
import subprocess
import tempfile

from harness import (BUILD, TARGETS, Tap, Target, expected_stacks, patient_dump, snapwalk, stack_of,
                     tool, wait_blocked)

STOPS = 300
STOP_US = 5000
SECONDS = float(os.environ.get("SNAPWALK_FTABLE_SECONDS", "5"))
EXAMPLE = os.path.join(TARGETS, "jit_example")
INCLUDE = "libwalk/include"
KINDS = {"fixed", "frame_pointer", "eh_frame", "runtime_function", "deferred"}


def jit_lines(target):
    """{tid: [inner, outer]} of the "jit TID INNER OUTER" lines."""
    words = [line.split() for line in target.lines if line.startswith("jit ")]
    return {int(w[1]): w[2:] for w in words}


def registries(report):
    return [(r["name"], r["entries"]) for r in report["process"].get("registries", [])]


def example_is_right(tap, report, lines, what):
    seen = set()
    for tid, names in lines.items():
        kind = names[0].removesuffix("_inner")
        seen.add(kind)
        stack = stack_of(report, tid)
        frames = [f for f in stack["frames"] if not f["inlined"]]
        at = [i for i, f in enumerate(frames) if f["kind"] == "jit"]
        got = [(frames[i]["function"], frames[i]["file"], frames[i]["line"]) for i in at]
        tap.equal(got, [(names[0], "example.jit", 10), (names[1], "example.jit", 20)],
                  f"{what}: {kind}: both functions, named, with their lines")
        callers = [(frames[i + 1]["by"], frames[i + 1]["trust"], frames[i + 1].get("may_miss"))
                   for i in at]
        tap.equal(callers, [("ftable", "jit", None)] * 2, f"{what}: {kind}: left by its table")
        tap.equal((stack["end"], frames[at[-1] + 1]["function"]), ("complete", "run"),
                  f"{what}: {kind}: down to the thread's start")
    tap.equal(seen, KINDS, f"{what}: every kind")
    tap.equal(registries(report), [("ftable", len(KINDS))], f"{what}: the registry is listed")


def example(tap):
    with Target("jit_example") as target:
        lines = jit_lines(target)
        wait_blocked(target.pid)
        report = patient_dump(target.pid, "--restart", "infinite")
        example_is_right(tap, report, lines, "example")
        frames = [f for s in report["stacks"] for f in s["frames"]
                  if (f["function"] or "").endswith("eh_frame_inner")]
        words = snapwalk("explain", target.pid, frames[0]["pc"]).stdout
        tap.check(re.search(r"ftable: table \d+ at 0x[0-9a-f]+, EH_FRAME, .* eh_frame_inner", words),
                  "explain: the table and the name", words)
        with tempfile.TemporaryDirectory() as scratch:
            fixture = os.path.join(scratch, "fixture")
            snapwalk("record", target.pid, "-o", fixture, check=True)
            example_is_right(tap, patient_dump(["--fixture", fixture]), lines, "fixture")


def announced_only(tap):
    """The deferred table is not there yet: that is said, and nothing is invented."""
    with Target("jit_example", "before") as target:
        tid = next(t for t, names in jit_lines(target).items() if names[0] == "deferred_inner")
        wait_blocked(target.pid)
        report = patient_dump(target.pid, status=(0, 3))
        frames = stack_of(report, tid)["frames"]
        at = next(i for i, f in enumerate(frames) if f["function"] == "deferred_inner")
        tap.equal(frames[at]["kind"], "jit", "announced: the function is named")
        tap.check(frames[at + 1]["trust"] in ("scan", "scan_verified", "frame_pointer"),
                  "announced: the way out of it is a guess, and says so", frames[at + 1])
        words = snapwalk("explain", target.pid, frames[at]["pc"]).stdout
        tap.check("DEFERRED" in words and 'format "eh_frame"' in words,
                  "announced: explain says that the table is to come", words)


def stripped(tap, scratch):
    """No symbol is left: the note leads to the registry. Linked in several ways."""
    source = "tests/targets/jit_example.c"
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-O2", "-pthread", f"-I{INCLUDE}"]
    for name, more in (("pie", []), ("no-pie", ["-no-pie", "-fno-pie"]), ("static", ["-static"]),
                       ("gc-sections", ["-ffunction-sections", "-fdata-sections",
                                        "-Wl,--gc-sections"]),
                       ("gold", ["-fuse-ld=gold"]), ("lto", ["-flto"])):
        if name == "gold" and not tool("ld.gold"):
            tap.skip("stripped, gold", "ld.gold is not installed", tap.GOLD)
            continue
        path = os.path.join(scratch, f"example-{name}")
        subprocess.run(["gcc", *flags, *more, "-o", path, source], check=True)
        subprocess.run(["strip", "-s", path], check=True)
        with Target(None, path=path) as target:
            wait_blocked(target.pid)
            report = patient_dump(target.pid, "--symbols", "names", status=(0, 3))
            got = {f["function"] for s in report["stacks"] for f in s["frames"]
                   if f["kind"] == "jit"}
            wanted = {name for names in jit_lines(target).values() for name in names}
            tap.equal(got, wanted, f"stripped, {name}: every function is named")
            ends = {stack_of(report, tid)["end"] for tid in jit_lines(target)}
            tap.equal(ends, {"complete"}, f"stripped, {name}: down to the threads' start")


def several(tap, scratch):
    """The program and two libraries include the header: three registries, all of them found."""
    with open(os.path.join(scratch, "part.c"), "w") as part:
        part.write("""
#include <snapwalk/ftable.h>
struct swft_table *NAME(const void *code);
struct swft_table *NAME(const void *code)
{
	struct swft_desc d;
	memset(&d, 0, sizeof(d));
	d.kind = SWFT_FRAME_POINTER;
	d.start = code;
	d.bytes = 1;
	d.names = "NAME";
	d.names_bytes = 4;
	return swft_add(&d);
}
""")
    with open(os.path.join(scratch, "main.c"), "w") as main:
        main.write("""
#include <snapwalk/ftable.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
struct swft_table *one(const void *code), *two(const void *code), *own(const void *code);
int main(void)
{
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct swft_table *t = code == MAP_FAILED ? NULL : own(code);
	if (t == NULL || one(code + 1) == NULL || two(code + 2) == NULL)
		return 1;
	printf("ready\\n");
	fflush(stdout);
	pause();
	swft_remove(t);
	return 0;
}
""")
    def build(*args):
        subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", f"-I{os.path.abspath(INCLUDE)}",
                        *args], check=True, cwd=scratch)

    for name in ("one", "two"):
        build(f"-DNAME={name}", "-fPIC", "-shared", "-o", f"lib{name}.so", "part.c")
    build("-DNAME=own", "-rdynamic", "-o", "several", "main.c", "part.c", "./libone.so",
          "./libtwo.so")
    with Target(None, path=os.path.join(scratch, "several"), cwd=scratch) as target:
        report = patient_dump(target.pid)
        tap.equal(registries(report), [("ftable", 1)] * 3, "several registries: each has its table")


def compiles(tap, scratch):
    """Included alone, in every language and with every warning."""
    source = os.path.join(scratch, "alone")
    text = "#include <snapwalk/ftable.h>\nint main(void) { swft_flush(); return 0; }\n"
    warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wvla", "-pedantic", "-Werror",
                f"-I{INCLUDE}", "-O2", "-o", source]
    for compiler, standard, end in (("gcc", "c11", "c"), ("clang", "c11", "c"),
                                    ("gcc", "c2x", "c"), ("g++", "c++11", "cc"),
                                    ("g++", "c++20", "cc"), ("clang++", "c++11", "cc")):
        with open(f"{source}.{end}", "w") as file:
            file.write(text)
        if not tool(compiler):
            tap.skip(f"header as {standard}", f"{compiler} is not installed",
                     f"package {compiler}")
            continue
        run = subprocess.run([compiler, f"-std={standard}", *warnings, f"{source}.{end}"],
                             capture_output=True, text=True)
        good = run.returncode == 0 and subprocess.run([source]).returncode == 0
        tap.check(good, f"header: {compiler} -std={standard}", run.stderr)


def manual_example(tap, scratch):
    """The example of the manual page is a program that compiles and does what the page says."""
    page = open("man/snapwalk-ftable.3").read()
    text = page.split(".Bd -literal\n")[1].split(".Ed")[0].replace("\\e", "\\")
    path = os.path.join(scratch, "page")
    with open(path + ".c", "w") as file:
        file.write(text)
    run = subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", "-o",
                          path, path + ".c"], capture_output=True, text=True)
    tap.check(run.returncode == 0, "manual page: its example compiles", run.stderr)
    if run.returncode == 0:
        with Target(None, path=path) as target:
            wait_blocked(target.pid, calls=(34, 35, 230))
            report = patient_dump(target.pid)
            names = [f["function"] for f in report["stacks"][0]["frames"]]
            tap.check("hello_jit" in names and report["stacks"][0]["end"] == "complete",
                      "manual page: its example is walked", names)


def stress(tap):
    """Every walk of every stop is right, and nothing that is read of it while it runs is wrong."""
    driver = os.path.join(TARGETS, "drive_ftable")
    with Target("jit_stress", 1) as target:
        words = dict(line.split() for line in target.lines)
        for how, what in (("stops", "all threads"), ("one", "one thread, while others run")):
            run = subprocess.run([driver, how, str(target.pid), words["worker"], str(STOPS)],
                                 capture_output=True, text=True, timeout=500)
            got = re.search(r"stops (\d+) with-jit (\d+) wrong (\d+)", run.stdout)
            if not tap.check(got, f"stress: {what}: stopped", run.stdout + run.stderr):
                continue
            tap.equal((got[1], got[3]), (str(STOPS), "0"), f"stress: {what}: every walk is right")
            tap.check(int(got[2]) > STOPS // 10, f"stress: {what}: many in generated code", got[0])
            print(f"# {got[0]}", flush=True)
            print("".join(f"# {line}\n" for line in run.stdout.splitlines()[:-1]), end="")
        run = subprocess.run([driver, "running", str(target.pid), words["registry"],
                              str(int(SECONDS * 1000))], capture_output=True, text=True,
                             timeout=SECONDS + 300)
        got = re.search(r"reads (\d+) tables (\d+) busy (\d+) inconsistent (\d+)", run.stdout)
        if tap.check(got, "stress: read while it runs", run.stdout + run.stderr):
            tap.equal(got[4], "0", f"stress: nothing inconsistent in {SECONDS:g} s")
            tap.check(int(got[2]) > 100, "stress: tables were read", got[0])
            print(f"# {got[0]}", flush=True)


# The messages that each form must have; None: only that nothing wrong is seen.
LIES = {
    "cycle": "its list of chunks leads back to itself", "self": "leads back to itself",
    "long": "more chunks", "wild_first": "could not be read", "wild_next": "could not be read",
    "torn": "malformed", "huge_used": "malformed", "used_unmapped": "could not be read",
    "huge_tables": "malformed", "small_tables": "malformed", "other_version": "another version",
    "wild_payload": None, "large_payload": None, "many": None, "bad_tables": "are malformed",
    "wrong_cfa": None, "random": None,
}


def hostile(tap):
    listed = subprocess.run([os.path.join(TARGETS, "jit_hostile"), "list"], capture_output=True,
                            text=True).stdout.split()
    tap.equal(set(listed), set(LIES), "hostile: every form is known here")
    for form, words in LIES.items():
        with Target("jit_hostile", form) as target:
            wait_blocked(target.pid)
            shortest = None
            for n in range(50):  # the machine may be busy: what counts is what it takes at best
                if n >= 5 and shortest <= STOP_US:
                    break
                report = patient_dump(target.pid, "--symbols", "none", status=(0, 3))
                took = report["timings"]["stopped_us"]
                shortest = took if shortest is None else min(shortest, took)
            tap.check(shortest <= STOP_US, f"hostile: {form}: at most 5 ms in the stop", shortest)
            stack = stack_of(report, target.pid)
            tap.check(stack["end"] == "complete" or stack["why"],
                      f"hostile: {form}: complete, or a reason", stack["end"])
            problems = [w["message"] for w in report["warnings"] if w["code"] == "runtime"]
            if words:
                tap.check(any(words in p for p in problems), f"hostile: {form}: what is wrong",
                          problems)


def with_scratch(test):
    """A test that builds programs, in a directory that is gone afterwards."""
    @functools.wraps(test)
    def run(tap):
        with tempfile.TemporaryDirectory(prefix="ftable-") as scratch:
            test(tap, scratch)
    return run


BUILT = (stripped, several, compiles, manual_example)


if __name__ == "__main__":
    Tap.main(example, announced_only, *map(with_scratch, BUILT), stress, hostile)
