#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 10s
"""The static file: what it needs, and what it does in a root directory with nothing else in it."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import BUILD, PATIENT, SNAPWALK, Tap, Target

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
STATIC = os.path.join(BUILD, "static", "snapwalk")
MOST_BYTES = 12 << 20


def made(tap):
    """The file is made here; a static library that is missing is a reason to skip."""
    done = subprocess.run(["make", "-s", f"BUILD={os.path.relpath(BUILD, ROOT)}", "static"], cwd=ROOT,
                          capture_output=True, text=True, env={**os.environ, "MAKEFLAGS": ""})
    missing = re.search(r"needed for a static file, but not here: ([^:]*)", done.stderr)
    if missing:
        tap.skip("make static", f"{missing.group(1)} is not there", "sudo make deps-static")
        return False
    if "-fsanitize" in open(os.path.join(BUILD, "flags")).read():
        tap.skip("make static", "a sanitizer is in a program of its own libraries", "make check")
        return False
    return tap.equal((done.returncode, done.stderr), (0, ""), "make static says nothing")


def needs_nothing(tap):
    tap.check(os.path.getsize(STATIC) <= MOST_BYTES, "at most 12 MB", os.path.getsize(STATIC))
    dynamic = subprocess.run(["readelf", "-dlSW", STATIC], capture_output=True, text=True, check=True).stdout
    tap.check("NEEDED" not in dynamic and "INTERP" not in dynamic, "needs no library and no loader", dynamic)
    tap.check(".symtab" not in dynamic and ".debug_info" not in dynamic, "is stripped", dynamic)
    with open(STATIC, "rb") as file:
        paths = re.findall(rb"[ -~]*/libwalk/[ -~]*|" + re.escape(ROOT.encode()) + rb"[ -~]*", file.read())
    tap.equal([path for path in paths if path.startswith(b"/")], [], "names no folder of who built it")
    tap.check("GNU_RELRO" in dynamic and re.search(r"\bPIE\b", dynamic), "is a PIE and read-only after relocation",
              dynamic)


def frames(text):
    """Addresses of all frames, and names and lines of the program's: other root directories have other debug files."""
    report = json.loads(text)
    return [(stack["end"], [(f["pc"], *((f["function"], f["line"]) if f["module"] == 0 else ())) for f in stack["frames"]])
            for stack in report["stacks"]]


def refused_static(tap, where, command, words):
    result = subprocess.run([*where, *command], capture_output=True, text=True, timeout=60)
    tap.check(result.returncode == 1 and words in result.stderr and len(result.stderr.splitlines()) == 1,
              f"{command[0] if len(command) > 1 else 'dump'}: one line says why not", result.stdout + result.stderr)


def in_empty_root(tap):
    if os.geteuid() != 0:
        tap.skip("an empty root directory", "only root can enter one", Tap.ROOT)
        return
    with tempfile.TemporaryDirectory() as root, Target("chain_pie") as target:
        os.mkdir(os.path.join(root, "proc"))
        shutil.copy(STATIC, os.path.join(root, "snapwalk"))
        bare = ["chroot", root, "/snapwalk"]
        result = subprocess.run([*bare, "doctor"], capture_output=True, text=True, timeout=60)
        tap.check(result.returncode == 77 and re.search(r"^refused +proc +/proc is not mounted", result.stdout, re.M)
                  and "CAP_SYS_PTRACE" not in result.stdout, "doctor: without /proc says so and nothing else",
                  result.stdout + result.stderr)
        refused_static(tap, bare, [str(target.pid)], "/proc is not mounted here")
        where = ["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" /snapwalk "$@"', root]
        result = subprocess.run([*where, "dump", "--json", *PATIENT, str(target.pid)], capture_output=True, text=True,
                                timeout=60)
        if "cannot change root filesystem propagation" in result.stderr:
            tap.skip("with /proc", "no mounts in this root directory", Tap.MOUNTS)
            return
        tap.equal((result.returncode, result.stderr), (0, ""), "dump: complete, without a warning")
        ours = subprocess.run([SNAPWALK, "dump", "--json", *PATIENT, str(target.pid)], capture_output=True, text=True,
                              timeout=60)
        tap.equal(frames(result.stdout), frames(ours.stdout), "dump: the frames of the other program, with its names")
        tap.check(any(len(frame) == 3 and frame[1] and frame[2] for _, stack in frames(result.stdout) for frame in stack),
                  "dump: names and lines are there", result.stdout)
        result = subprocess.run([*where, "doctor", str(target.pid)], capture_output=True, text=True, timeout=60)
        tap.check(result.returncode == 0 and re.search(r"^note +libunwind .*static file", result.stdout, re.M),
                  "doctor: says what a static file cannot do", result.stdout + result.stderr)
        refused_static(tap, where, ["verify", str(target.pid)], "this snapwalk is a static file")
        tap.equal(sorted(os.listdir(root)), ["proc", "snapwalk"], "nothing was written there")


def no_packages(tap):
    with tempfile.TemporaryDirectory() as directory, Target("chain_pie") as target:
        path = os.path.join(directory, "bare.json")
        subprocess.run([SNAPWALK, "dump", "--symbols", "none", *PATIENT, str(target.pid), "-o", path], check=True, timeout=60)
        with open(path) as file:
            report = json.load(file)
        report["modules"][0]["build_id"] = "36" * 20  # a file that is nowhere: packages are asked
        with open(path, "w") as file:
            json.dump(report, file)
        with open(os.path.join(directory, "x.deb"), "w") as file:
            file.write("a package")
        result = subprocess.run([STATIC, "symbolize", path, "--from", directory], capture_output=True, text=True, timeout=60)
        tap.check("packages need libarchive: this snapwalk is a static file" in result.stderr and result.returncode == 0 and "start_thread" in result.stdout,
                  "symbolize: says that it reads no packages, and goes on", result)


def main():
    tap = Tap()
    if made(tap):
        for test in (needs_nothing, in_empty_root, no_packages):
            tap.guard(test)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
