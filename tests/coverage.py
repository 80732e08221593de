#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lines of the product that tests have run, by folder.

    coverage.py BUILD [--save FILE] [--against FILE]

BUILD was compiled with --coverage, and its tests have run (make coverage). A line counts once, whatever it was compiled
into. --save writes each covered line to a file; --against prints those of such a file that are covered no more.
"""
import argparse
import collections
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

PRODUCT = ("libwalk", "symbolizer", "protocol", "confine", "daemon", "cli")


def lines_of(build):
    """{(source, line): it was run} of all objects of the product."""
    notes = [os.path.abspath(path) for path in glob.glob(os.path.join(build, "obj", "**", "*.gcno"), recursive=True)]
    lines = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(0, len(notes), 50):
            subprocess.run(["gcov", "--json-format", "--preserve-paths", *notes[i:i + 50]], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for path in glob.glob(os.path.join(folder, "*.gcov.json.gz")):
            with gzip.open(path, "rt") as file:
                for source in json.load(file)["files"]:
                    if source["file"].startswith(PRODUCT):
                        for line in source["lines"]:
                            lines[source["file"], line["line_number"]] += line["count"]
    return lines


def table(lines):
    """Prints covered and all lines by folder: the first two parts of a path."""
    covered, all_lines = collections.Counter(), collections.Counter()
    for (source, _), count in lines.items():
        folder = "/".join(source.split("/")[:-1][:2])
        for key in (folder, "all"):
            covered[key] += count > 0
            all_lines[key] += 1
    for folder in sorted(all_lines):
        print(f"{folder:24} {covered[folder]:6} of {all_lines[folder]:6}  {100 * covered[folder] / all_lines[folder]:5.1f} %")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--save")
    parser.add_argument("--against")
    args = parser.parse_args()
    lines = lines_of(args.build)
    if not lines:
        sys.exit(f"{args.build}: no objects with notes of gcov; make coverage makes them")
    table(lines)
    covered = {f"{source}:{line}" for (source, line), count in lines.items() if count}
    if args.save:
        with open(args.save, "w") as file:
            file.writelines(f"{line}\n" for line in sorted(covered))
    if args.against:
        with open(args.against) as file:
            lost = sorted({line.strip() for line in file} - covered)
        print(f"{len(lost)} lines are covered no more", *lost, sep="\n")


if __name__ == "__main__":
    main()
