#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Recorded files have bytes of other programs: the README beside them names each of those programs,
its version and its licence. (Lines of licences in files that can have them: tests/lint.sh.)
"""
import fnmatch
import glob
import os
import re
import sys
import tarfile
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from harness import Tap  # noqa: E402

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FIXTURES = os.path.join(TESTS, "fixtures")
CORPUS = os.path.join(TESTS, "fuzz", "corpus")
HEADING = "## Parts of other programs"
ROW = re.compile(r"^\| (?P<program>[^|]+) \| (?P<version>[^|]*) ?\| (?P<licence>[^|]+) \| "
                 r"(?P<files>[^|]+) \|$", re.M)
BINARY = (b"\x7fELF", b"MZ")
# SPDX identifiers; "public domain" has none.
LICENCES = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Beerware", "CC0-1.0", "FTL",
            "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-or-later", "HPND-sell-variant", "ISC",
            "LGPL-2.1-or-later", "LGPL-3.0-or-later", "MIT", "PHP-3.01", "Python-2.0.1", "Ruby",
            "Unicode-DFS-2016", "X11",
            "ZPL-2.1", "Zend-2.0", "Zlib", "bzip2-1.0.6", "libpng-2.0", "public domain",
            "Classpath-exception-2.0", "GCC-exception-3.1", "LLVM-exception"}


def statement(directory):
    """Rows of the table in the README, each with the patterns of its files."""
    with open(os.path.join(directory, "README.md"), encoding="utf-8") as file:
        _, _, text = file.read().partition(HEADING)
    rows = [match.groupdict() for match in ROW.finditer(text)
            if match["program"] not in ("program", "---")]
    for row in rows:
        row["files"] = re.findall(r"`([^`]+)`", row["files"])
    return rows


def licences_of(row):
    return re.split(r" AND | OR | WITH |, ", row["licence"].strip())


def snapshot_of(directory):
    """Text of the recorded snapshot, also of a packed one, or of the first of many; None where there is none."""
    for packed in glob.glob(os.path.join(glob.escape(directory), "*.tar.xz")):
        with tarfile.open(packed) as tar:
            member = next((member for member in tar if os.path.basename(member.name) == "snapshot"), None)
            if member is not None:
                return tar.extractfile(member).read().decode("utf-8", "replace")
    plain = os.path.join(directory, "snapshot")
    if not os.path.exists(plain):
        return None
    with open(plain, encoding="utf-8", errors="replace") as file:
        return file.read()


def modules_of(directory):
    """Paths of the modules of which a fixture has a file."""
    found = re.findall(r"^module \d+ \d+ (\S+) (\S+)", snapshot_of(directory), re.M)
    return sorted({urllib.parse.unquote(path) for file, path in found if file != "-"})


def check_rows(tap, rows, name):
    tap.check(rows, f"{name}: the README has a table of programs and licences")
    unknown = [licence for row in rows for licence in licences_of(row) if licence not in LICENCES]
    tap.equal(unknown, [], f"{name}: licences are known ones")
    tap.equal([row["program"] for row in rows
               if not row["version"].strip() and not row["program"].startswith("this project")], [],
              f"{name}: other programs have a version")


def named(rows, path):
    return any(fnmatch.fnmatchcase(name, pattern) for name in (path, os.path.basename(path))
               for row in rows for pattern in (re.sub(r"\[", "[[]", file) for file in row["files"]))


def test_fixtures(tap):
    fixtures = [entry.path for entry in sorted(os.scandir(FIXTURES), key=lambda e: e.name)
                if entry.is_dir() and entry.name != "__pycache__"]
    tap.check(len(fixtures) >= 10, "there are fixtures", fixtures)
    recorded = 0
    for directory in fixtures:
        name, rows = os.path.basename(directory), statement(directory)
        check_rows(tap, rows, name)
        if snapshot_of(directory) is None:
            continue
        recorded += 1
        modules = modules_of(directory)
        tap.check(len(modules) > 1, f"{name}: the fixture has modules", modules)
        tap.equal([path for path in modules if not named(rows, path)], [],
                  f"{name}: the README says whose each module is")
        there = {os.path.basename(path) for path in modules}
        tap.equal([file for row in rows for file in row["files"]
                   if os.path.basename(file) not in there], [],
                  f"{name}: the README names no module that is not there")
    tap.check(recorded >= 10, "there are recorded snapshots", recorded)


def test_corpus(tap):
    """Files of programs in the corpora; what else there is was written for the fuzzers."""
    rows = statement(CORPUS)
    check_rows(tap, rows, "corpus")
    files = [os.path.relpath(os.path.join(where, file), CORPUS)
             for where, _, names in os.walk(CORPUS) for file in sorted(names)]
    binaries = []
    for path in files:
        with open(os.path.join(CORPUS, path), "rb") as file:
            if file.read(4).startswith(BINARY):
                binaries.append(path)
    tap.check(len(binaries) > 20, "corpus: there are files of programs", binaries)
    patterns = [pattern for row in rows for pattern in row["files"]]
    tap.equal([path for path in binaries
               if not any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)], [],
              "corpus: the README says whose each file of a program is")
    tap.equal([pattern for pattern in patterns
               if not any(fnmatch.fnmatchcase(path, pattern) for path in files)], [],
              "corpus: the README names no file that is not there")


if __name__ == "__main__":
    Tap.main(test_fixtures, test_corpus)
