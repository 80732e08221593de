#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Put faults into a copy of the sources, one at a time, and see whether a test fails.

Two kinds of faults:

- Patches, tests/mutate/*.patch: faults of our field. A patch begins with words that say what is wrong, and a line
  "Tests:" with the files of the tests that must notice it; without one make check-fast is run. It is applied by the
  text of its lines, in whatever place they are now. A patch that does not apply or does not compile is an error.
- Rule mutants, tests/mutate/rules.py: a seed chooses some of those that rules make. The unit tests of the file's name
  are run, then those of its folder, then the live tests given by --live. A mutant that does not compile does not count,
  nor does one of tests/mutate/equivalent.tsv.

With names, those patches alone; with --in, the rule mutants of those files and folders alone. Closes with a table by
folder. Status 0 when 95 of 100 patches are noticed and there is no error; rule mutants that survive are only listed.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "mutate"))
import rules  # noqa: E402

LEFT_OUT = re.compile(r"^(build.*|\.git|__pycache__)$")
CODE = ("libwalk", "symbolizer", "protocol", "confine", "daemon", "cli")
NEEDED = 0.95
# A mutant may loop for ever, or allocate for ever.
LIMIT_S = 60
MEMORY_KIB = 8 << 20
HUNK = re.compile(r"^@@ [^@]* @@ ?(.*)$")


class DoesNotApply(Exception):
    pass


class Patch:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path).removesuffix(".patch")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        head = re.split(r"^(?:diff|---) ", text, maxsplit=1, flags=re.M)[0]
        tests = re.search(r"^Tests: (.+)$", head, re.M)
        self.tests = tests.group(1).split() if tests else []
        self.says = " ".join(line for line in head.splitlines()
                             if not line.startswith(("Tests:", "SPDX-License-Identifier:"))).strip()
        self.hunks = collections.OrderedDict()  # file: [(function, lines with their sign)]
        path = None
        for line in text.splitlines():
            hunk = HUNK.match(line)
            if line.startswith("+++ b/"):
                path = line.removeprefix("+++ b/")
            elif path and hunk:
                self.hunks.setdefault(path, []).append((hunk.group(1), []))
            elif path in self.hunks and (line[:1] in (" ", "+") or
                                         (line.startswith("-") and not line.startswith("--- a/"))):
                self.hunks[path][-1][1].append(line)
            elif path in self.hunks and line == "":
                self.hunks[path][-1][1].append(" ")
        self.files = list(self.hunks)

    def applied(self, path, text):
        """The file's text with the fault."""
        lines = text.splitlines()
        for function, hunk in self.hunks[path]:
            lines = hunk_applied(lines, function, hunk, path)
        return "\n".join(lines) + "\n"


def scope(lines, function):
    """The lines of the function that a hunk names, as a range; the whole file when it is not found."""
    names = re.findall(r"(\w+)\s*\(", function)
    for name, begin, end in rules.functions(rules.mask("\n".join(lines) + "\n")):
        if names and name == names[0]:
            text = "\n".join(lines) + "\n"
            return range(text.count("\n", 0, begin), text.count("\n", 0, end) + 1)
    return range(len(lines))


def places(lines, old, within):
    same = [line.strip() for line in lines]
    wanted = [line[1:].strip() for line in old]
    return [i for i in within if i + len(wanted) <= len(lines) and same[i:i + len(wanted)] == wanted]


def hunk_applied(lines, function, hunk, path):
    """Looks for the old lines with as much of the context as is still there; they must be in one place."""
    while hunk and hunk[-1] == " ":
        hunk = hunk[:-1]
    changed = [i for i, line in enumerate(hunk) if line[:1] != " "]
    first, last = changed[0], changed[-1]
    reach = max(first, len(hunk) - 1 - last)
    for context in range(reach, -1, -1):
        part = hunk[max(first - context, 0):last + 1 + context]
        old = [line for line in part if line[:1] != "+"]
        if not old:
            break
        found = places(lines, old, range(len(lines)))
        if len(found) != 1:
            inside = scope(lines, function)
            found = [i for i in found if i in inside] or found
        if len(found) == 1:
            at = found[0]
            # The context keeps the text that the file has now.
            new = []
            for line in part:
                if line[:1] == "+":
                    new.append(line[1:])
                    continue
                if line[:1] == " ":
                    new.append(lines[at])
                at += 1
            return lines[:found[0]] + new + lines[at:]
        if len(found) > 1:
            raise DoesNotApply(f"{path}: the lines are in {len(found)} places of it")
    raise DoesNotApply(f"{path}: the lines are not in it")


def copy_tree(source, to):
    """Files that are the same stay as they are: then nothing is compiled again."""
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
    else:
        shutil.copy2(source, to)


def copy_build(build, to):
    """A new copy begins with the objects of the build; their dates are those of sources that were copied with them."""
    if os.path.exists(to) or not os.path.exists(os.path.join(build, "flags")):
        return
    os.makedirs(to)
    for name in ("gen", "obj", "lib", "bin", "flags"):
        if os.path.exists(os.path.join(build, name)):
            subprocess.run(["cp", "-a", os.path.join(build, name), to], check=True)


def make(tree, goals, jobs, old=()):
    command = ["make", "-s", f"-j{jobs}"]
    for path in old:
        command += ["-o", path]
    # Variables that make hands down are of the tree that it was called in.
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
    live = [t for t in tests if t.endswith(".py")]
    if not tests:
        command = ["make", "-s", "check-fast"]
    else:
        command = [sys.executable, "tests/run.py", "--build", "build"]
        for kind, begins in (("--unit", "tests/unit/"), ("--fuzz", "tests/fuzz/")):
            programs = ["build/" + t.removesuffix(".c") for t in tests if t.startswith(begins)]
            command += [kind] + programs if programs else []
        command += ["--live"] + live if live else []
    if tests and not live:
        command = confined(command + ["--limit", str(LIMIT_S)])
    result = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            check=False)
    return result.returncode == 0, result.stdout.decode("utf-8", "replace")


def confined(command):
    """Code with a fault may send a signal to any process and take all memory: it has ids and a limit of its own."""
    limited = ["sh", "-c", f'ulimit -v {MEMORY_KIB} && exec "$@"', "sh"] + command
    alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() == 0 and shutil.which("unshare") and \
            subprocess.run(alone + ["true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return alone + limited
    return limited


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Judge:
    """Sees whether tests notice what was changed in the copy of the sources."""

    def __init__(self, source, tree, jobs):
        self.source, self.tree, self.jobs = source, tree, jobs
        self.passed = set()

    def baseline(self, tests):
        """Without a fault the tests have to pass."""
        new = [t for t in tests if t not in self.passed]
        if not new:
            return
        good, text = make(self.tree, goals_of(new), self.jobs)
        if good:
            good, text = run(self.tree, new)
        if not good:
            sys.exit(f"{text}\nwithout a fault the tests have to pass")
        self.passed.update(new)

    def judge(self, texts, rounds):
        """texts: file to its text with the fault; rounds: lists of tests. "killed", "survived" or make's words."""
        try:
            for path, text in texts.items():
                write(os.path.join(self.tree, path), text)
            # The code that tests share does not change with a source.
            old = ["build/tests/libunit.a"] if all(f.endswith(".c") for f in texts) else []
            for tests in rounds:
                if tests:
                    built, text = make(self.tree, goals_of(tests), self.jobs, old)
                    if not built:
                        return text
                if not run(self.tree, tests)[0]:
                    return "killed"
            return "survived"
        finally:
            for path in texts:
                shutil.copy(os.path.join(self.source, path), os.path.join(self.tree, path))


class Table:
    """The verdicts on the faults, by folder."""

    def __init__(self):
        self.rows = collections.defaultdict(collections.Counter)

    def add(self, path, what):
        self.rows[os.path.dirname(path)][what] += 1

    def total(self, what):
        return sum(row[what] for row in self.rows.values())

    def text(self, title):
        columns = ("killed", "survived", "not compiled")
        lines = [f"{title:40} {'made':>6} {'killed':>8} {'survived':>9} {'not compiled':>13}"]
        for folder, row in sorted(self.rows.items()):
            lines.append(f"{folder:40} {row['killed'] + row['survived']:6} " +
                         " ".join(f"{row[c]:{w}}" for c, w in zip(columns, (8, 9, 13))))
        counts = [self.total(c) for c in columns]
        lines.append(f"{'all':40} {counts[0] + counts[1]:6} {counts[0]:8} {counts[1]:9} {counts[2]:13}")
        return "\n".join(lines)


def unit_rounds(source, path):
    """The unit tests of a file's name, then the others of its folder, or of the next folder above that has some."""
    folder, name = os.path.split(path.removesuffix(".c"))
    while folder:
        below = os.path.join("tests", "unit", folder)
        tests = sorted(os.path.join(below, f) for f in (os.listdir(os.path.join(source, below))
                                                        if os.path.isdir(os.path.join(source, below)) else [])
                       if f.startswith("test_") and f.endswith(".c"))
        if tests:
            own = [t for t in tests
                   if re.search(rf"_{re.escape(name)}[_.]", os.path.basename(t).replace("-", "_"))]
            return [r for r in (own, [t for t in tests if t not in own]) if r]
        folder = os.path.dirname(folder)
    return []


def sources_in(source, where):
    """C sources below the files and folders; programs of the kernel are built and tested in another way."""
    found = []
    for at in where:
        full = os.path.join(source, at)
        if os.path.isfile(full):
            found.append(at)
            continue
        for folder, folders, files in os.walk(full):
            folders[:] = [f for f in folders if not LEFT_OUT.match(f)]
            found += [os.path.relpath(os.path.join(folder, f), source) for f in files if f.endswith(".c")]
    return sorted(os.path.normpath(f) for f in set(found) if not f.endswith(".bpf.c"))


def shown(mutant):
    before, after = (" ".join(t.split()) for t in (mutant.before, mutant.after))
    return f"{mutant.file}:{mutant.number}: {mutant.function}(): {mutant.rule}: {before[:70]} -> {after[:70] or 'nothing'}"


def check_rules(judge, args):
    """Judges args.rules mutants that compile."""
    table = Table()
    try:
        known = rules.equivalents(os.path.join(judge.source, "tests", "mutate", "equivalent.tsv"))
    except FileNotFoundError:
        known = {}
    mutants = []
    for path in sources_in(judge.source, args.where or CODE):
        mutants += rules.mutants_of(path, read(os.path.join(judge.source, path)))
    keys = {m.key for m in mutants}
    stale = [k for k in known if k not in keys and (not args.where)]
    for key in stale:
        print(f"equivalent.tsv: there is no such mutant any more: {key}")
    pending = rules.chosen([m for m in mutants if m.key not in known], args.seed, 3 * args.rules)
    judged = 0
    for mutant in pending:
        if judged == args.rules:
            break
        rounds = unit_rounds(judge.source, mutant.file) + ([args.live] if args.live else [])
        judge.baseline([t for r in rounds for t in r])
        begin = time.monotonic()
        text = rules.applied(read(os.path.join(judge.source, mutant.file)), mutant)
        says = judge.judge({mutant.file: text}, rounds) if rounds else "survived"
        if says not in ("killed", "survived"):
            says = "not compiled"
        judged += says != "not compiled"
        table.add(mutant.file, says)
        print(f"[{judged}/{args.rules}] {says:12} {shown(mutant)} ({time.monotonic() - begin:.0f} s)", flush=True)
        if says == "survived":
            print(f"    key: {mutant.key}", flush=True)
    print(table.text(f"rule mutants, seed {args.seed}"))
    return not stale


def check_patches(judge, patches):
    table = Table()
    errors = 0
    judge.baseline(sorted({test for patch in patches for test in patch.tests}))
    for i, patch in enumerate(patches):
        try:
            texts = {f: patch.applied(f, read(os.path.join(judge.source, f))) for f in patch.files}
            says = judge.judge(texts, [patch.tests])
        except (DoesNotApply, OSError) as e:
            says = f"does not apply: {e}"
        if says not in ("killed", "survived"):
            errors += 1
            print(f"[{i + 1}/{len(patches)}] ERROR {patch.path}: {says}", flush=True)
            continue
        table.add(patch.files[0], says)
        print(f"[{i + 1}/{len(patches)}] {says:12} {patch.name}" + ("" if says == "killed" else f": {patch.says}"),
              flush=True)
    print(table.text("patches"))
    return errors == 0 and table.total("killed") >= NEEDED * len(patches)


def check_applies(source, patches):
    """Whether all can be put in, without a build."""
    good = True
    for patch in patches:
        try:
            for path in patch.files:
                text = read(os.path.join(source, path))
                if patch.applied(path, text) == text:
                    raise DoesNotApply(f"{path}: the patch changes nothing")
            if not patch.files:
                raise DoesNotApply("it names no file")
        except (DoesNotApply, OSError) as e:
            print(f"{os.path.relpath(patch.path, source)}: does not apply: {e}")
            good = False
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--rules", type=int, default=40, metavar="N", help="rule mutants to judge")
    parser.add_argument("--seed", default="1", help="chooses the rule mutants")
    parser.add_argument("--in", dest="where", nargs="+", metavar="PATH", help="rule mutants of these alone")
    parser.add_argument("--live", nargs="+", default=[], help="live tests for rule mutants, after the unit tests")
    parser.add_argument("--applies", action="store_true", help="only see whether all patches can be put in")
    parser.add_argument("patches", nargs="*", help="files or names; these patches alone")
    args = parser.parse_args()
    if args.where and args.patches:
        parser.error("--in is for rule mutants, and patches were named: give one of them")
    source = os.getcwd()
    folder = os.path.join(source, "tests", "mutate")
    names = [os.path.basename(p).removesuffix(".patch") for p in args.patches] or sorted(
        f.removesuffix(".patch") for f in os.listdir(folder) if f.endswith(".patch"))
    patches = [Patch(os.path.join(folder, name + ".patch")) for name in names]
    if args.applies:
        sys.exit(not check_applies(source, patches))
    tree = os.path.abspath(os.path.join(args.build, "mutants"))
    is_new = not os.path.exists(tree)
    copy_tree(source, tree)
    if is_new:
        copy_build(os.path.abspath(args.build), os.path.join(tree, "build"))
    judge = Judge(source, tree, args.jobs)
    good = True
    if not args.where:
        good = check_patches(judge, patches)
    if not args.patches:
        good = check_rules(judge, args) and good
    sys.exit(not good)


if __name__ == "__main__":
    main()
