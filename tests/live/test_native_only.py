#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""A dump of a native program runs no code of the readers of PE, generated code, .NET, Wine or other
runtimes, but for the functions that find out that they are not needed."""
import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, PATIENT, Tap, Target, wait_blocked

# Where what a native program does not need lies.
FOREIGN = re.compile(r"/?libwalk/(pe|jit|runtimes|compare)/")


def functions_run(pid, scratch):
    """{(source, function)} of a whole dump, by callgrind."""
    out = os.path.join(scratch, "callgrind.out")
    subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}",
                    os.path.join(BUILD, "bin/snapwalk"), str(pid), "--json", "--symbols", "names", "--no-sandbox",
                    *PATIENT], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True, timeout=300)
    names, run, source = {}, set(), ""
    for line in open(out):
        match = re.match(r"(c?)(fl|fi|fe|fn)=\((\d+)\)(?: (.*))?$", line.rstrip("\n"))
        if match is None:
            continue
        called, kind, number, name = match.groups()
        key = ("fn" if kind == "fn" else "fl", number)
        if name is not None:
            names[key] = name
        if kind == "fn" and not called:
            run.add((source, names[key].split("'")[0]))
        elif kind == "fl" and not called:
            source = names[key]
    return run


def main():
    tap = Tap()
    if shutil.which("valgrind") is None:
        tap.skip("a native dump", "valgrind is not installed", "package valgrind")
        tap.done()
    with tempfile.TemporaryDirectory() as scratch, Target("chain_pie") as target:
        wait_blocked(target.pid)
        run = functions_run(target.pid, scratch)
    own = {name for source, name in run if "libwalk/" in source}
    tap.check(len(own) > 50, "callgrind knows the functions of libwalk", len(own))
    foreign = {(source, name) for source, name in run if FOREIGN.search(source)}
    tap.equal(sorted(f for f in foreign if not f[1].endswith("_probe")), [],
              "nothing of PE, generated code or runtimes but probes")
    tap.check(foreign, "the probes are seen, so others would be")
    tap.done()


main()
