#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 10s
"""tests/graph.py finds each kind of fault that is put into a small program, and none without it."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from harness import Tap  # noqa: E402

GRAPH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "graph.py")
ORDER = "low left,right*!low/odd high . tool!*"

# The files are in order: each refers only to what is before it.
SOUND = {
    "low/number.h": "int number(void);\n",
    "low/number.c": "int number(void) { return 1; }\n",
    "left/left.h": "int left(void);\n",
    "left/left.c": '#include "low/number.h"\nint left(void) { return number(); }\n',
    "right/right.h": "extern int right_value;\nint right(void);\n",
    "right/right.c": "int number(void);\nint right_value = 1;\nint right(void) { return number(); }\n",
    "high/high.h": "int high(void);\n",
    "high/high.c": "extern int right_value;\nint left(void);\nint high(void) { return left() + right_value; }\n",
    "main.c": '#include "high/high.h"\nint main(void) { return high(); }\n',
    "tool/main.c": "int main(void) { return 0; }\n",
}


COMPILED = {}   # what stays the same from program to program


def compile_once(top, name, text, target):
    if (name, text) not in COMPILED:
        subprocess.run(["cc", "-w", "-fcommon", f"-I{top}/src", "-c", "-o", target,
                        os.path.join(top, "src", name)], check=True)
        with open(target, "rb") as file:
            COMPILED[name, text] = file.read()
    with open(target, "wb") as file:
        file.write(COMPILED[name, text])


def graph(files, *options, order=ORDER, keep=()):
    """The exit status and the faults that are found in a program of these files."""
    with tempfile.TemporaryDirectory() as top:
        for name, text in files.items():
            path = os.path.join(top, "src", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        for name in files:
            if name.endswith(".c"):
                target = os.path.join(top, "obj", name[:-2] + ".o")
                os.makedirs(os.path.dirname(target), exist_ok=True)
                compile_once(top, name, files[name], target)
        for name in keep:
            os.unlink(os.path.join(top, "src", name))
        run = subprocess.run([sys.executable, GRAPH, "--objects", f"{top}/obj",
                              *(["--order", order] if order else []),
                              *[option.replace("TOP", top) for option in options]],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return run.returncode, [line.replace(top, "TOP").removeprefix("graph: ")
                            for line in run.stderr.splitlines()]


WITH_SOURCES = ("--sources", "TOP/src", "--headers")


def faults(tap, name, changes, wanted, *options, **more):
    status, found = graph({**SOUND, **changes}, *options, **more)
    tap.equal((status, found), (1 if wanted else 0, wanted), name)


def test_sound(tap):
    faults(tap, "a sound program has no fault", {}, [], *WITH_SOURCES)
    faults(tap, "nor has it without its sources", {}, [])


def test_references(tap):
    faults(tap, "a call of a folder above",
           {"low/number.c": "int high(void);\nint number(void) { return high(); }\n"},
           ["low/number.o: refers to high/high.o: high",
            "4 mutually dependent objects across high, left, low, right:",
            "    high/high -> left/left: left",
            "    high/high -> right/right: right_value",
            "    left/left -> low/number: number",
            "    low/number -> high/high: high",
            "    right/right -> low/number: number"])
    faults(tap, "a variable of a folder on the same level",
           {"left/left.c": "extern int right_value;\nint left(void) { return right_value; }\n"},
           ["left/left.o: refers to right/right.o: right_value"])
    faults(tap, "a common variable of a folder above",
           {"left/left.c": "extern int shared;\nint left(void) { return shared; }\n",
            "high/more.c": "int shared;\n"},
           ["left/left.o: refers to high/more.o: shared"])
    faults(tap, "a weak reference",
           {"low/number.c": "extern int right_value __attribute__((weak));\n"
                            "int number(void) { return &right_value != 0; }\n"},
           ["low/number.o: refers to right/right.o: right_value",
            "2 mutually dependent objects across low, right:",
            "    low/number -> right/right: right_value",
            "    right/right -> low/number: number"])
    faults(tap, "a folder that a level is kept from",
           {"low/odd/odd.c": "int odd;\n", "right/right.c": "extern int odd;\nint right_value;\nint right(void) { return odd; }\n"},
           ["right/right.o: refers to low/odd/odd.o: odd"], order="low low/odd " + ORDER[4:])
    twice = "int twice(void) { return 2; }\n"
    faults(tap, "of two definitions that in the same folder is meant",
           {"left/left.c": "int twice(void);\nint left(void) { return twice(); }\n", "left/twice.c": twice,
            "tool/twice.c": twice}, [])
    faults(tap, "a name in full decides before a pattern", {}, [], order="l* left,right high . tool")
    faults(tap, "a program of its own that shares nothing",
           {"tool/main.c": "int high(void);\nint main(void) { return high(); }\n"},
           ["tool/main.o: refers to high/high.o: high"])


def ring(members):
    """A file for each, which calls the next."""
    return {f"low/{name}.c": f"int {after}(void);\nint {name}(void) {{ return {after}(); }}\n"
            for name, after in zip(members, members[1:] + members[:1])}


def test_groups(tap):
    faults(tap, "three that depend on each other are allowed in a folder", ring(["a", "b", "c"]), [])
    faults(tap, "four are not", ring(["a", "b", "c", "d"]),
           ["4 mutually dependent objects in low:", "    low/a -> low/b: b", "    low/b -> low/c: c",
            "    low/c -> low/d: d", "    low/d -> low/a: a"])
    faults(tap, "as the limit says", ring(["a", "b"]),
           ["2 mutually dependent objects in low:", "    low/a -> low/b: b", "    low/b -> low/a: a"],
           "--group", "1")


def test_folders(tap):
    faults(tap, "a folder that nobody ordered", {"new/new.c": "int x;\n"}, ["new: has no level in the order"])
    many = {f"low/n{number}.c": f"int n{number};\n" for number in range(3)}
    faults(tap, "as many objects as allowed", many, [], "--most", "4")
    faults(tap, "a folder of too many objects", many, ["low: 4 files, more than 3"], "--most", "3")
    faults(tap, "headers count where sources are known", many, ["low: 5 files, more than 4"],
           "--most", "4", "--sources", "TOP/src")


def test_sources(tap):
    faults(tap, "an include of a folder above", {"low/number.h": '#include "high/high.h"\nint number(void);\n'},
           ["low/number.h: includes high/high.h"], "--sources", "TOP/src")
    faults(tap, "an include inside a comment does not count",
           {"low/number.h": '/*\n#include "high/high.h"\n*/\nint number(void);\n'}, [], "--sources", "TOP/src")
    stale = {"low/old.c": "int high(void);\nint old(void) { return high(); }\n"}
    faults(tap, "an object without a source does not count", stale, [], "--sources", "TOP/src",
           keep=["low/old.c"])
    status, found = graph({**SOUND, "high/late.h": "", "low/late.c": ""}, "--sources", "TOP/src")
    tap.equal((status, found), (0, []), "an empty source is no fault")
    faults(tap, "a function that is not in the header of its file", {"left/left.h": "int other(void);\n"},
           ["left/left.c: not declared in left/left.h: left"], *WITH_SOURCES)
    faults(tap, "two functions without a header",
           {"right/other.c": "int other_one, other_two;\n",
            "high/user.c": "extern int other_one, other_two;\nint user(void) { return other_one + other_two; }\n"},
           ["right/other.c: not declared in right/other.h: other_one, other_two"], *WITH_SOURCES)
    faults(tap, "a single one needs none",
           {"right/other.c": "int other;\n", "high/user.c": "extern int other;\nint user(void) { return other; }\n"},
           [], *WITH_SOURCES)
    faults(tap, "a public header will do", {"left/left.h": "", "public/walk.h": "int left(void);\n"}, [],
           *WITH_SOURCES, "--public", "TOP/src/public", order="public " + ORDER)


def test_machines(tap):
    user = "int one(void);\nint two(void);\nint user(void) { return one() + two(); }\n"
    both = "int one(void) { return 1; }\nint two(void) { return 2; }\n"
    header = "int one(void);\nint two(void);\n"
    machine = ("--machine", "m68k")
    named = {"low/call_m68k.c": both, "low/call.h": header, "high/user.c": user}
    faults(tap, "a machine's source has the header of all machines", named, [], *WITH_SOURCES, *machine)
    faults(tap, "only where that is one", named, ["low/call_m68k.c: not declared in low/call_m68k.h: one, two"],
           *WITH_SOURCES, "--machine", "vax")
    faults(tap, "that header is looked at", {**named, "low/call.h": "int one(void);\n"},
           ["low/call_m68k.c: not declared in low/call.h: two"], *WITH_SOURCES, *machine)
    faults(tap, "one that is named like its machine has the folder's",
           {"low/m68k.c": both, "low/low.h": header, "high/user.c": user}, [], *WITH_SOURCES, *machine)
    faults(tap, "and no other", {"low/m68k.c": both, "low/m68k.h": header, "high/user.c": user},
           ["low/m68k.c: not declared in low/low.h: one, two"], *WITH_SOURCES, *machine)


def test_usage(tap):
    status, found = graph({})
    tap.equal((status, found[-1].endswith("no objects")), (2, True), "no objects: nothing was checked")
    with tempfile.NamedTemporaryFile("w", suffix=".order") as file:
        file.write("# lowest first\n" + "\n".join(ORDER.split()) + "   # and so on\n")
        file.flush()
        tap.equal(graph(SOUND, "--order-file", file.name, order=None), (0, []), "the order is in a file")
        faults(tap, "and is used",
               {"left/left.c": "extern int right_value;\nint left(void) { return right_value; }\n"},
               ["left/left.o: refers to right/right.o: right_value"], "--order-file", file.name, order=None)


if __name__ == "__main__":
    Tap.main(test_sound, test_references, test_groups, test_folders, test_sources, test_machines, test_usage)
