#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 20s
"""Packages that make installs for a build: only those that are missing, also while another program has apt's locks.

dpkg-query, apt-get, id and sleep are stand-ins, which write down how they are called.
"""
import os
import subprocess
import tempfile

from harness import Tap

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
TOOLS = {
    "dpkg-query": 'case "$4" in here) echo "install ok installed" ;; *) exit 1 ;; esac',
    "id": 'echo "${AS_USER:-0}"',
    "sleep": 'echo "sleep" >>"$CALLS"',
    # The first calls of update find the lock taken, as many as the file has bytes.
    "apt-get": r'''echo "apt-get $*" >>"$CALLS"
case "$*" in
*--print-uris*cached*) ;;
*--print-uris*) [ -e "$CALLS.lists" ] && echo "'http://mirror/p.deb' p.deb 1500000 SHA256:0" || exit 100 ;;
*update*)
	if [ -s "$CALLS.locked" ]; then
		truncate -s -1 "$CALLS.locked"
		echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)" >&2
		exit 100
	fi
	[ -z "$REFUSED" ] || { echo "E: $REFUSED" >&2; exit 100; }
	touch "$CALLS.lists" ;;
esac''',
}


def run(directory, *packages, locked=0, **environment):
    """Status, standard output, standard error, and the calls of the stand-ins."""
    calls = os.path.join(directory, "calls")
    for name in (calls, f"{calls}.lists"):
        if os.path.exists(name):
            os.unlink(name)
    with open(f"{calls}.locked", "w") as file:
        file.write("x" * locked)
    done = subprocess.run([f"{ROOT}/packaging/install.sh", *packages], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}", "CALLS": calls, "REFUSED": "", **environment})
    lines = []
    if os.path.exists(calls):
        with open(calls) as file:
            lines = file.read().splitlines()
    return done.returncode, done.stdout, done.stderr, lines


def installs(tap):
    with tempfile.TemporaryDirectory() as directory:
        for name, body in TOOLS.items():
            with open(os.path.join(directory, name), "w") as file:
                file.write(f"#!/bin/sh\n{body}\n")
            os.chmod(os.path.join(directory, name), 0o755)
        tap.equal(run(directory, "here"), (0, "", "", []), "nothing is missing: apt-get is not called")
        status, out, err, calls = run(directory, "here", "gone", "also")
        tap.equal((status, err), (0, ""), "packages are missing")
        tap.check("downloading 1 package (1.5 MB)\ninstalling: gone also\n" in out, "it says what it installs", out)
        tap.equal([call for call in calls if "DPkg::Lock::Timeout=" not in call], [], "apt-get waits for the lock of dpkg")
        tap.check(calls[-1].endswith("install -y --no-install-recommends gone also"), "only those that are missing", calls)
        status, out, err, calls = run(directory, "cached")
        tap.equal((status, out, err), (0, "installing: cached\n", ""), "a package that was downloaded before")
        status, out, err, calls = run(directory, "gone", locked=3)
        tap.equal((status, err, calls.count("sleep"), out.count("waiting for another program")), (0, "", 3, 1),
                  "the lists are locked: it waits, and says so once")
        status, out, err, calls = run(directory, "gone", locked=1000)
        tap.equal((status, calls.count("sleep"), "held by process 7" in err), (1, 200, True), "it does not wait for ever, and says for whom")
        status, out, err, calls = run(directory, "gone", REFUSED="no such server")
        tap.equal((status, err, calls.count("sleep")), (1, "E: no such server\n", 0), "another error of apt-get ends it")
        status, out, err, calls = run(directory, "gone", AS_USER="1000")
        tap.equal((status, out, calls), (1, "", []), "without root nothing is installed")
        tap.check("run: sudo apt-get install gone\n" in err, "but it says what to install", err)
        done = subprocess.run(["/bin/sh", f"{ROOT}/packaging/install.sh", "gone"], env={"PATH": "/nonexistent"}, capture_output=True,
                              text=True, timeout=60)
        tap.equal((done.returncode, "make needed" in done.stderr), (1, True), "not Debian: it says how to know what is needed")


if __name__ == "__main__":
    Tap.main(installs)
