#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 15s
"""The results of mutants.py for a source of a few lines: rules, the choice of mutants, patches by their text, the
verdict."""
import os
import shutil
import subprocess
import sys
import tempfile

from harness import Tap

TESTS = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, TESTS)
import mutants  # noqa: E402
import rules  # noqa: E402

SOURCE = """\
/* if (a) return -SW_E_NOT_CODE; */
static int room(int n, int max)
{
\tif (n < max && n > 0)
\t\treturn max - n;
\treturn -SW_E_FULL;
}

int lib_add(struct list *list, int n)
{
\tlist->n += n;
\tlist->items[list->map[n - 1]].flags |= 1;
\tnote("a && b", n);
\tfree(list->old);
\treturn n == 1 ? room(list->n + 1, 4) : 0;
}
"""
# (rule, function, text before, text after)
WANTED = {
    ("negate", "room", "(n < max && n > 0)", "(!(n < max && n > 0))"),
    ("never", "room", "(n < max && n > 0)", "(false && (n < max && n > 0))"),
    ("always", "room", "(n < max && n > 0)", "(true || (n < max && n > 0))"),
    ("swap", "room", "&&", "||"),
    ("operand", "room", "&& n > 0", ""),
    ("operand", "room", "n < max && ", ""),
    ("bound", "room", "<", "<="),
    ("bound", "room", ">", ">="),
    ("term", "room", " - n", ""),
    ("success", "room", "return -SW_E_FULL;", "return 0;"),
    ("term", "lib_add", " + 1", ""),
    ("arm", "lib_add", "n == 1 ? room(list->n + 1, 4) : 0", "room(list->n + 1, 4)"),
    ("arm", "lib_add", "n == 1 ? room(list->n + 1, 4) : 0", "0"),
    ("call", "lib_add", 'note("a && b", n);', "(void) 0;"),
    ("assign", "lib_add", "list->n += n;", "(void) 0;"),
    ("assign", "lib_add", "list->items[list->map[n - 1]].flags |= 1;", "(void) 0;"),
    ("term", "lib_add", " - 1", ""),
}
SMALL = """\
#include <stdbool.h>

int clamp(int n)
{
\tif (n > 4)
\t\treturn 4;
\treturn n;
}

int untested(int n)
{
\tif (n > 7)
\t\treturn 7;
\treturn n;
}
"""
SMALL_TEST = """\
#include <stdio.h>
int clamp(int n);
int main(void)
{
\tprintf("%sok 1 - clamp\\n1..1\\n", clamp(9) == 4 && clamp(2) == 2 ? "" : "not ");
\treturn 0;
}
"""
MAKEFILE = """\
build/tests/unit/lib/%: tests/unit/lib/%.c lib/small.c
\t@mkdir -p $(@D)
\t@$(CC) -o $@ $^
"""
PATCH = """\
What is wrong.
SPDX-License-Identifier: LGPL-2.1-or-later
Tests: tests/unit/lib/test_small.c

--- a/lib/small.c
+++ b/lib/small.c
@@ -90,4 +90,4 @@ int clamp(int n)
 {
 \tif (n > 4)
-\t\treturn 4;
+\t\treturn 5;
 \treturn n;
"""


def made(tap):
    found = rules.mutants_of("lib/list.c", SOURCE)
    got = {(m.rule, m.function, m.before.strip(" ") if m.rule == "operand" and not m.after and
            m.before.startswith("&&") else m.before, m.after) for m in found}
    tap.equal(sorted(got), sorted(WANTED), "each rule, and nothing of comments, strings and free()")
    tap.equal(len({m.key for m in found}), len(found), "no two mutants have one key")
    for m in found:
        if m.rule == "term" and m.function == "room":
            tap.equal(rules.applied(SOURCE, m), SOURCE.replace("max - n;", "max;"), "a mutant is applied in its place")


def chosen(tap):
    keys = [m.key for m in rules.chosen(rules.mutants_of("lib/list.c", SOURCE), "7", 5)]
    moved = SOURCE.replace("static int room", "\n\nint other(void)\n{\n\treturn 0;\n}\n\nstatic int room")
    tap.equal([m.key for m in rules.chosen(rules.mutants_of("lib/list.c", moved), "7", 5)], keys,
              "the choice stays the same when code moves")
    tap.check([m.key for m in rules.chosen(rules.mutants_of("lib/list.c", SOURCE), "8", 5)] != keys,
              "another seed, another choice")


def tree_make(folder):
    for path, text in (("lib/small.c", SMALL), ("tests/unit/lib/test_small.c", SMALL_TEST), ("Makefile", MAKEFILE),
                       ("tests/mutate/small.patch", PATCH), ("tests/mutate/equivalent.tsv", "")):
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        mutants.write(os.path.join(folder, path), text)
    for name in ("run.py", "ledger.py"):
        shutil.copy(os.path.join(TESTS, name), os.path.join(folder, "tests"))


def mutants_run(folder, *args):
    result = subprocess.run([sys.executable, os.path.join(TESTS, "mutants.py"), "--jobs", "1", *args], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
    return result.returncode, result.stdout


def patched(tap, folder):
    patch = mutants.Patch(os.path.join(folder, "tests/mutate/small.patch"))
    wanted = SMALL.replace("return 4;", "return 5;")
    tap.equal(patch.applied("lib/small.c", SMALL), wanted, "a patch is applied though its line number is wrong")
    around = SMALL.replace("\tif (n > 4)\n", "\tif (n >= 5)\n")
    tap.equal(patch.applied("lib/small.c", around), around.replace("return 4;", "return 5;"),
              "a patch is applied though a line beside it has changed")
    twice = SMALL.replace("if (n > 7)\n\t\treturn 7;", "if (n > 4)\n\t\treturn 4;")
    tap.equal(patch.applied("lib/small.c", twice), wanted.replace("if (n > 7)\n\t\treturn 7;", "if (n > 4)\n\t\treturn 4;"),
              "of two same places that of the hunk's function is taken")
    status, out = mutants_run(folder, "small")
    tap.check(status == 0 and "killed       small" in out, "a patch that a test notices", out)
    mutants.write(os.path.join(folder, "lib/small.c"), SMALL.replace("return 4;", "return 2 + 2;"))
    status, out = mutants_run(folder, "small")
    tap.check(status == 1 and "small.patch: does not apply: lib/small.c" in out,
              "a patch that does not apply is a failure, with its name", out)
    status, out = mutants_run(folder, "--applies")
    tap.check(status == 1 and "small.patch: does not apply: lib/small.c" in out, "--applies says it without a build", out)
    mutants.write(os.path.join(folder, "lib/small.c"), SMALL)


def judged(tap, folder):
    status, out = mutants_run(folder, "--in", "lib", "--rules", "100")
    tap.equal(status, 0, "rule mutants that survive are no failure")
    verdicts = {(line.split()[1], line.split("(): ")[0].split()[-1], line.split("(): ")[1].split(":")[0])
                for line in out.splitlines() if line.startswith("[") and "(): " in line}
    tap.equal(sorted(verdicts), sorted(
        [("killed", "clamp", r) for r in ("always", "negate", "never")] + [("survived", "clamp", "bound")] +
        [("survived", "untested", r) for r in ("always", "bound", "negate", "never")]
        ), "what a test notices is killed, the rest survives")
    tap.check("lib                                           8        3         5             0" in out, "the table", out)
    key = next(line for line in out.splitlines() if line.startswith("    key: ") and "\tclamp\tbound\t" in line)
    mutants.write(os.path.join(folder, "tests/mutate/equivalent.tsv"),
                  key.removeprefix("    key: ") + "\tfour is clamped to four\n")
    status, out = mutants_run(folder, "--in", "lib", "--rules", "100")
    tap.check("lib                                           7        3         4             0" in out,
              "an equivalent mutant does not count", out)


def lint_tree(folder):
    """A clone in which lint has nothing to say, with 20 patches for the 20 functions of a source."""
    functions = [f"int f{n}(int a)\n{{\n\treturn a + {n};\n}}\n" for n in range(20)]
    licence = "SPDX-License-Identifier: LGPL-2.1-or-later\n"
    files = {"libwalk/many.c": f"/* {licence[:-1]} */\n" + "\n".join(functions),
             "tests/hacking.sh": f"#!/bin/sh\n# {licence}", "bin/mandoc": f"#!/bin/sh\n# {licence}",
             "bin/shellcheck": f"#!/bin/sh\n# {licence}"}
    for n in range(20):
        files[f"tests/mutate/many-{n:02}.patch"] = (
            f"{n} is not added.\n{licence}\n--- a/libwalk/many.c\n+++ b/libwalk/many.c\n"
            f"@@ -1,3 +1,3 @@ int f{n}(int a)\n {{\n-\treturn a + {n};\n+\treturn a;\n }}\n")
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        mutants.write(os.path.join(folder, path), text)
        if text.startswith("#!"):
            os.chmod(os.path.join(folder, path), 0o755)
    for name in ("tests/lint.sh", "tests/comments.py", "tests/imports.py", "tests/mutants.py", "tests/mutate/rules.py", "packaging/news.py"):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        shutil.copy(os.path.join(TESTS, "..", name), os.path.join(folder, name))
    os.makedirs(os.path.join(folder, "news"))
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)


def lint_run(folder):
    environment = dict(os.environ, PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"],
                       PYTHONDONTWRITEBYTECODE="1")
    result = subprocess.run(["bash", "tests/lint.sh"], cwd=folder, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False, text=True)
    # The clone has not all folders that lint looks at, which grep says.
    return result.returncode, "".join(line for line in result.stdout.splitlines(True) if line.startswith("lint: "))


def linted(tap, folder):
    lint_tree(folder)
    tap.equal(lint_run(folder), (0, "lint: ok\n"), "lint has nothing to say of 20 patches that apply")
    patch = os.path.join(folder, "tests/mutate/many-11.patch")
    good = mutants.read(patch)
    mutants.write(patch, good.replace("return a + 11;", "return a + 111;"))
    tap.equal(lint_run(folder), (1, "lint: tests/mutate/many-11.patch: does not apply: "
                                 "libwalk/many.c: the lines are not in it\n"),
              "lint fails by one patch of 20 that does not apply, and names it alone")
    mutants.write(patch, good.replace("+\treturn a;", "+\treturn a + 11;"))
    tap.equal(lint_run(folder), (1, "lint: tests/mutate/many-11.patch: does not apply: "
                                 "libwalk/many.c: the patch changes nothing\n"),
              "lint fails by one patch of 20 that changes nothing")
    mutants.write(patch, good)
    with open(os.path.join(folder, "tests/mutants.py"), "a", encoding="utf-8") as f:
        f.write("\x00")
    status, out = lint_run(folder)
    tap.check(status == 1 and "lint: " in out, "lint fails when the patches cannot be looked at", out)


def main():
    tap = Tap()
    tap.guard(made)
    tap.guard(chosen)
    with tempfile.TemporaryDirectory() as folder:
        tree_make(folder)
        tap.guard(patched, folder)
        tap.guard(judged, folder)
    with tempfile.TemporaryDirectory() as folder:
        tap.guard(linted, folder)
    tap.done()


if __name__ == "__main__":
    main()
