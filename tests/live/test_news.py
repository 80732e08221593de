#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 5s
"""NEWS from its fragments: each entry in the group of its kind, and what is not a fragment is refused."""
import os
import shutil
import subprocess
import tempfile

from harness import Tap

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
NEWS = """snapwalk: what changed, newest first

2.0
===

New
---

- One thing
  in two lines.

Fixed
-----

- A fault.

1.0
===

The first version.
"""
LONG = " ".join(["word"] * 50)
WANTED = """2.0
===

New
---

- One thing
  in two lines.
- Nine.
- Ten.
- Ten again.

Changed
-------

- """ + " ".join(["word"] * 23) + "\n  " + " ".join(["word"] * 23) + "\n  " + " ".join(["word"] * 4) + """

Fixed
-----

- A fault.

"""


def news(directory, *arguments):
    return subprocess.run([os.path.join(directory, "packaging", "news.py"), *arguments], capture_output=True, text=True)


def write(directory, name, text):
    with open(os.path.join(directory, name), "w") as file:
        file.write(text)


def tree(directory):
    os.makedirs(os.path.join(directory, "packaging"))
    os.makedirs(os.path.join(directory, "news"))
    shutil.copy(os.path.join(ROOT, "packaging/news.py"), os.path.join(directory, "packaging"))
    write(directory, "NEWS", NEWS)
    write(directory, "news/README.md", "no fragment\n")


def sections(tap):
    with tempfile.TemporaryDirectory() as directory:
        tree(directory)
        write(directory, "news/10.new.md", "Ten.\n")
        write(directory, "news/10-2.new.md", "Ten again.\n")
        write(directory, "news/9.new.md", "Nine.\n")
        write(directory, "news/11.changed.md", LONG[:99] + "\n" + LONG[100:] + "\n")
        tap.equal(news(directory, "check").returncode, 0, "right fragments are right")
        tap.equal(news(directory, "show", "2.0").stdout, WANTED,
                  "entries by kind and number, behind those that are there")
        shown = news(directory, "show", "3.0").stdout
        tap.check(shown.startswith("3.0\n===\n\nNew\n---\n\n- Nine.\n- Ten.\n") and "fault" not in shown,
                  "a new version has only its own", shown)
        done = news(directory, "release", "2.0")
        with open(os.path.join(directory, "NEWS")) as file:
            text = file.read()
        tap.equal((done.returncode, text), (0, NEWS[:NEWS.index("2.0")] + WANTED + NEWS[NEWS.index("1.0\n"):]),
                  "release: NEWS has them, and all that it had")
        tap.equal(os.listdir(os.path.join(directory, "news")), ["README.md"], "release: the fragments are gone")


def refused(tap):
    for name, text, why in (("10.news.md", "A.\n", "is not NUMBER.KIND.md"), ("new.md", "A.\n", "is not NUMBER.KIND.md"),
                            ("10.new.md", "- A.\n", "one paragraph"), ("10.new.md", "A.\n\nB.\n", "one paragraph"),
                            ("10.new.md", "\n", "one paragraph"), ("10.new.md", "a" * 301, "300 are the most")):
        with tempfile.TemporaryDirectory() as directory:
            tree(directory)
            write(directory, f"news/{name}", text)
            done = news(directory, "check")
            tap.check(done.returncode == 1 and done.stderr.startswith(f"news: {name}: ") and why in done.stderr,
                      f"refused: {name} with {text[:8]!r}", done.stderr)


# Each file that has the version, with how often.
VERSIONED = {"Makefile": 1, "Containerfile": 1, "docs/kubernetes.md": 3, "packaging/arch/PKGBUILD": 1, "packaging/chart/Chart.yaml": 2,
             "packaging/kubernetes/snapwalk.yaml": 1, "packaging/packaging.mk": 1, "packaging/rpm/snapwalk.spec": 1}


def released(tap):
    with tempfile.TemporaryDirectory() as directory:
        tree(directory)
        write(directory, "news/10.new.md", "Ten.\n")
        for name in [*VERSIONED, "packaging/release.sh"]:
            os.makedirs(os.path.dirname(os.path.join(directory, name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(directory, name))
        script = os.path.join(directory, "packaging/release.sh")
        for wrong in ([], ["7.8"], ["v7.8.9"]):
            tap.equal(subprocess.run([script, *wrong], capture_output=True).returncode, 2, f"release.sh {wrong}: refused")
        done = subprocess.run([script, "7.8.9"], capture_output=True, text=True)
        tap.equal((done.returncode, done.stderr), (0, ""), "release.sh 7.8.9")
        for name, count in VERSIONED.items():
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                tap.equal(file.read().count("7.8.9"), count, f"release.sh: the version in {name}")
        with open(os.path.join(directory, "NEWS"), encoding="utf-8") as file:
            tap.check("\n7.8.9\n=====\n\nNew\n---\n\n- Ten.\n" in file.read(), "release.sh: its section of NEWS")
        tap.equal(os.listdir(os.path.join(directory, "news")), ["README.md"], "release.sh: no fragments are left")
        write(directory, "packaging/arch/PKGBUILD", "pkgname=snapwalk\n")
        done = subprocess.run([script, "7.8.9"], capture_output=True, text=True)
        tap.check(done.returncode == 1 and "packaging/arch/PKGBUILD has no line like" in done.stderr,
                  "release.sh: a file without a version is said", done)


def own(tap):
    done = news(ROOT, "check")
    tap.equal((done.returncode, done.stderr), (0, ""), "the fragments of this tree")
    done = news(ROOT, "show", "0.2.0")
    tap.check(done.returncode == 0 and done.stdout.count("\n- ") > 20, "the next section", done.stderr)


if __name__ == "__main__":
    Tap.main(sections, refused, released, own)
