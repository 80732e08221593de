#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""snapwalk leaks --of memory of a program in Go: what its runtime has sampled, by stack; exact where it samples each
allocation, within five standard deviations where it does not.
"""
import json
import os
import shutil
import subprocess
import tempfile

from harness import Tap, Target, iterator_refused, snapwalk

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "go")
OBJECTS, LARGE, SMALL = 2000, 8192, 1024  # of the target
DEVIATIONS = 5 / 1.96  # inuse_error_bytes has 1.96


def built(directory, name):
    path = os.path.join(directory, name)
    subprocess.run(["go", "build", "-o", path, os.path.join(SOURCES, name + ".go")], check=True,
                   env={**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off", "GOCACHE": os.path.join(directory, "cache")})
    return path


def looked_at(path, rate):
    with Target("", rate, path=path) as target:
        done = snapwalk("leaks", "--of", "memory", "--json", "-d", "1", target.pid)
        return done.returncode, json.loads(done.stdout), done.stderr


def rows_of(answer):
    return {s["frames"][0]["function"]: s for s in answer["go"]["stacks"]}


def exact(tap, path):
    status, answer, err = looked_at(path, 1)
    rows = rows_of(answer)
    figures = [[rows[name][key] for key in ("inuse_objects", "inuse_bytes", "alloc_objects", "alloc_bytes")]
               for name in ("main.keep", "main.drop")]
    tap.equal(figures, [[OBJECTS, OBJECTS * LARGE] * 2, [0, 0, OBJECTS, OBJECTS * SMALL]],
              "each allocation is sampled: objects and bytes are what the program has made")
    tap.equal((status, err, answer["go"]["rate_bytes"], rows["main.keep"]["inuse_error_bytes"], answer["of"], answer["followed"]),
              (0, "", 1, 0, "growth", False), "each allocation is sampled: nothing is guessed, and nothing else is followed")
    tap.check([f["function"] for f in rows["main.keep"]["frames"]][:2] == ["main.keep", "main.main"], "the stack is named", rows)


def sampled(tap, path):
    row = rows_of(looked_at(path, 65536)[1])["main.keep"]
    error = row["inuse_error_bytes"] * DEVIATIONS
    tap.check(0 < row["samples"] < OBJECTS and abs(row["inuse_bytes"] - OBJECTS * LARGE) <= error,
              "one of some allocations is sampled: what it stands for is within five standard deviations", row)


def switched_off(tap, path):
    status, answer, err = looked_at(path, 0)
    tap.check("keeps no profile of its heap" in answer["go"]["why"] and answer["go"]["stacks"] == [],
              "a rate of 0: the reason is said", answer["go"])


def main():
    tap = Tap()
    if iterator_refused():
        tap.skip("leaks --of memory", iterator_refused(), Tap.ROOT)
        tap.done()
    tap.check(shutil.which("go"), "golang-go is installed")
    with tempfile.TemporaryDirectory() as directory:
        path = built(directory, "allocations")
        for test in tap.chosen(exact, sampled, switched_off):
            tap.guard(test, path)
    tap.done()


if __name__ == "__main__":
    main()
