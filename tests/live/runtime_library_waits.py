#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 30s
"""The waits of threads in functions of their language's library: queues, conditions, events, semaphores. A thread that
waits for an element of a queue is idle. SNAPWALK_STOPS sets how many dumps there are of each program (20)."""
import os
import re

from harness import PATIENT, Tap, dump, snapwalk, wait_until
from runtime_jvm import CLASSES, chosen, compile_all, machines
from runtime_locks import Program
from runtime_python import PROGRAMS, interpreters, minor

STOPS = int(os.environ.get("SNAPWALK_STOPS", "20"))


def kinds(report):
    """By tid and by name."""
    found = {}
    for thread in report["threads"]:
        kind = (thread.get("blocked_on") or {}).get("kind")
        found[str(thread["tid"])] = found[thread["comm"]] = kind
    return found


def check(tap, version, *command):
    with Program(*command) as program:
        wanted = {word: kind for _, word, kind in program.lines}

        def alike():
            got = kinds(dump(program.pid, *PATIENT))
            return {word: got.get(word) for word in wanted} == wanted
        wait_until(alike, f"all to wait: {wanted}")
        looks = [{word: got.get(word) for word in wanted}
                 for got in (kinds(dump(program.pid, *PATIENT)) for _ in range(STOPS))]
        text = snapwalk(program.pid, *PATIENT).stdout
    tap.equal([look for look in looks if look != wanted], [], f"{version}: {len(wanted)} waits, {STOPS} of {STOPS} dumps")
    queues = sum(kind == "queue_get" for kind in wanted.values())
    tap.check(re.search(rf"\b{queues} in a queue\b", text) if queues > 1 else "in a queue" in text,
              f"{version}: who waits for work is idle", text[:1500])


def main():
    tap = Tap()
    pythons = {version: path for version, path in interpreters().items() if 8 <= minor(version) <= 13}
    tap.check(pythons, "there is a CPython", pythons)
    for version, path in pythons.items():
        tap.guard(check, f"python {version}", path, os.path.join(PROGRAMS, "library_waits.py"))
    tap.guard(check, "ruby", "ruby", os.path.join(os.path.dirname(PROGRAMS), "ruby", "library_waits.rb"))
    found = machines()
    tap.check(found, "a JDK is installed")
    compile_all(found[min(found, key=int)])
    for version, home in chosen(found).items():
        tap.guard(check, f"java {version}", os.path.join(home, "bin", "java"), "-Xmx64m", "-cp", CLASSES, "LibraryWaits")
    tap.done()


if __name__ == "__main__":
    main()
