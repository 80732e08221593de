#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Put each fault of tests/mutate into a copy of the sources, and see whether a test fails.

A patch begins with words that say what is wrong, and a line "Tests:" with the files of the tests that are
to notice it; without one make check-fast is run. One that does not apply as it is, or does not compile, is
an error. Closes with "N of M noticed"; status 0 when that is 95 of 100 and there is no error.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

LEFT_OUT = re.compile(r"^(build.*|\.git|__pycache__)$")
NEEDED = 0.95


class Patch:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path).removesuffix(".patch")
        text = open(path, encoding="utf-8").read()
        head = text.split("\n--- ", 1)[0]
        tests = re.search(r"^Tests: (.+)$", head, re.M)
        self.tests = tests.group(1).split() if tests else []
        self.says = " ".join(line for line in head.splitlines()
                             if not line.startswith(("Tests:", "SPDX-License-Identifier:")))
        self.files = re.findall(r"^\+\+\+ b/(\S+)", text, re.M)


def copy_tree(source, to):
    """What is the same stays as it is: then nothing is compiled again."""
    wanted = set()
    for folder, folders, files in os.walk(source):
        folders[:] = [f for f in folders if not LEFT_OUT.match(f)]
        relative = os.path.relpath(folder, source)
        os.makedirs(os.path.join(to, relative), exist_ok=True)
        for name in files:
            if not os.path.isfile(os.path.join(folder, name)):
                continue
            wanted.add(os.path.normpath(os.path.join(relative, name)))
            copy_file(os.path.join(folder, name), os.path.join(to, relative, name))
    for folder, folders, files in os.walk(to):
        folders[:] = [f for f in folders if not LEFT_OUT.match(f)]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.normpath(os.path.relpath(path, to)) not in wanted:
                os.unlink(path)


def copy_file(source, to):
    with open(source, "rb") as f:
        data = f.read()
    if os.path.exists(to):
        with open(to, "rb") as f:
            if f.read() == data:
                return
    shutil.copy(source, to)


def make(tree, goals, jobs, old=()):
    command = ["make", "-s", f"-j{jobs}"]
    for path in old:
        command += ["-o", path]
    # What make hands down is of the tree that it was called in.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    result = subprocess.run(command + ["BUILD=build"] + goals, cwd=tree, env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    return result.returncode == 0, result.stdout.decode("utf-8", "replace")


def goals_of(tests):
    goals = []
    for test in tests:
        if test.endswith(".py"):
            goals += ["all", "targets"]
        else:
            goals.append("build/" + test.removesuffix(".c"))
    return sorted(set(goals))


def run(tree, tests):
    """Whether all pass."""
    if not tests:
        command = ["make", "-s", "check-fast"]
    else:
        command = [sys.executable, "tests/run.py", "--build", "build"]
        for kind, begins in (("--unit", "tests/unit/"), ("--fuzz", "tests/fuzz/")):
            programs = ["build/" + t.removesuffix(".c") for t in tests if t.startswith(begins)]
            command += [kind] + programs if programs else []
        live = [t for t in tests if t.endswith(".py")]
        command += ["--live"] + live if live else []
    result = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False)
    return result.returncode == 0, result.stdout.decode("utf-8", "replace")


def apply(tree, patch):
    result = subprocess.run(["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-s", "-i",
                             os.path.abspath(patch.path)], cwd=tree, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, check=False)
    return result.returncode == 0


def check(tree, source, patch, jobs):
    """"noticed", "NOT noticed", or what is wrong with the patch."""
    try:
        if not apply(tree, patch):
            return "ERROR: does not apply any more"
        if not patch.tests:
            return "NOT noticed" if run(tree, [])[0] else "noticed"
        # What tests share has no line of it.
        old = ["build/tests/libunit.a"] if all(f.endswith(".c") for f in patch.files) else []
        built, text = make(tree, goals_of(patch.tests), jobs, old)
        if not built:
            return "ERROR: does not compile:\n" + text
        return "NOT noticed" if run(tree, patch.tests)[0] else "noticed"
    finally:
        for name in patch.files:
            shutil.copy(os.path.join(source, name), os.path.join(tree, name))
            for rest in (".orig", ".rej"):
                if os.path.exists(os.path.join(tree, name + rest)):
                    os.unlink(os.path.join(tree, name + rest))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("patches", nargs="*", help="files or names; all when none is given")
    args = parser.parse_args()
    source = os.getcwd()
    folder = os.path.join(source, "tests", "mutate")
    names = [os.path.basename(p).removesuffix(".patch") for p in args.patches] or sorted(
        f.removesuffix(".patch") for f in os.listdir(folder) if f.endswith(".patch"))
    patches = [Patch(os.path.join(folder, name + ".patch")) for name in names]
    tree = os.path.abspath(os.path.join(args.build, "mutants"))
    copy_tree(source, tree)
    tests = sorted({test for patch in patches for test in patch.tests})
    built, text = make(tree, goals_of(tests), args.jobs)
    if built:
        built, text = run(tree, tests)
    if not built:
        sys.exit(f"{text}\nwithout a fault the tests have to pass")
    noticed = errors = 0
    for patch in patches:
        says = check(tree, source, patch, args.jobs)
        noticed += says == "noticed"
        errors += says.startswith("ERROR")
        print(f"{says:12} {patch.name}" + ("" if says == "noticed" else f": {patch.says}"),
              flush=True)
    print(f"{noticed} of {len(patches)} noticed")
    sys.exit(errors > 0 or noticed < NEEDED * len(patches))


if __name__ == "__main__":
    main()
