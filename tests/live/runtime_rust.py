#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 20s
"""Rust's Once, OnceLock and LazyLock: who executes what others wait for."""
import os
import subprocess
import tempfile

from harness import PATIENT, Tap, dump, snapwalk, tool, wait_until

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "rust", "once.rs")
KINDS = ("cell", "lazy", "once")


def compiler():
    own = os.path.expanduser("~/.cargo/bin/rustc")
    return tool("rustc") or (own if os.path.exists(own) else None)


class Program:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def runners(report):
    """Names, for each thread that waits for a Once: its own, and that of the thread which executes the function."""
    names = {t["tid"]: t["comm"] for t in report["threads"]}
    return sorted((t["comm"], names.get(t["blocked_on"]["owner_tid"], "")) for t in report["threads"]
                  if (t.get("blocked_on") or {}).get("kind") == "rust_once")


def check(tap, name, program):
    wanted = sorted(2 * [(f"waits-{kind}", f"runs-{kind}") for kind in KINDS])
    with Program(program) as running:
        def all_wait():
            report = dump(running.pid, *PATIENT)
            return report if len(runners(report)) == len(wanted) else None
        try:
            report = wait_until(all_wait, "all to wait")
        except TimeoutError:
            report = dump(running.pid, *PATIENT)
        tap.equal(runners(report), wanted, f"{name}: who executes what others wait for")
        tap.equal(report.get("deadlocks"), [], f"{name}: no deadlock")
        text = snapwalk(running.pid, *PATIENT).stdout
        tap.check("2 threads wait for runs-lazy (" in text and "waiting for a lock 6 ·" in text, f"{name}: text says it", text)
    with Program(program, "cycle") as running:
        found = wait_until(lambda: dump(running.pid, *PATIENT).get("deadlocks"), "the deadlock")
        tap.equal(len(found[0]), 2, f"{name}: two that need each other are a deadlock")


def main():
    tap = Tap()
    rustc = compiler()
    if rustc is None:
        tap.skip("Rust's Once", "there is no rustc", "rustc")
    else:
        with tempfile.TemporaryDirectory() as directory:
            for name, options in (("optimised", ["-O"]), ("with debug information", ["-g"])):
                program = os.path.join(directory, "once")
                subprocess.run([rustc, *options, "-o", program, SOURCE], check=True)
                tap.guard(check, name, program)
    tap.done()


if __name__ == "__main__":
    main()
