#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""What programs publish for OpenTelemetry: the resource of a process (OTEP 4719)."""
import json
import os
import tempfile

from harness import PATIENT, Tap, Target, snapwalk

RESOURCE = {"service.name": "checkout", "service.version": "1.0", "k8s.pod.name": "checkout-7d9f",
            "bad": "line\nbreak", "process.pid": "4242"}


def dump(pid, *more):
    run = snapwalk("dump", pid, "--json", *PATIENT, *more)
    return json.loads(run.stdout), run


def resource(tap, kind):
    with Target("spans", kind) as target:
        if "unnamed" in target.lines:
            tap.skip(f"{kind}: the resource of a process", "the kernel has no names for anonymous mappings",
                     "CONFIG_ANON_VMA_NAME")
            return
        made, run = dump(target.pid)
        tap.equal(made["process"].get("resource"), RESOURCE, f"{kind}: the resource that the process publishes")
        tap.equal(made["warnings"], [], f"{kind}: nothing is missing")
        text = snapwalk("dump", target.pid, *PATIENT).stdout
        tap.check(", service checkout 1.0, pod checkout-7d9f," in text, f"{kind}: the service in the text", text[:500])
        target.process.stdin.write("\n")
        target.process.stdin.flush()
        tap.equal(target.process.stdout.readline().strip(), "version 1.1", f"{kind}: the program changes its resource")
        made, _ = dump(target.pid)
        tap.equal(made["process"]["resource"]["service.version"], "1.1", f"{kind}: a later dump has the new one")


def kept(tap):
    """The resource outlives the process: in a dump that is read again, and in a recorded snapshot."""
    with tempfile.TemporaryDirectory() as directory, Target("spans") as target:
        path = os.path.join(directory, "made.json")
        snapwalk("dump", target.pid, "--json", "-o", path, *PATIENT)
        text = snapwalk("show", path).stdout
        tap.check(", service checkout 1.0," in text, "a dump that is read again has the service", text[:500])
        fixture = os.path.join(directory, "fixture")
        snapwalk("record", target.pid, "-o", fixture)
        made = json.loads(snapwalk("dump", "--fixture", fixture, "--json", "--no-sandbox").stdout)
        tap.equal(made["process"].get("resource"), RESOURCE, "a recorded snapshot has the resource")


def none(tap):
    for kind, what in (("broken", "a context that is being written"), ("huge", "a context of 4 GiB")):
        with Target("spans", kind) as target:
            made, run = dump(target.pid)
            tap.check("resource" not in made["process"] and run.returncode == 0, f"{what} is none",
                      (made["process"], run.stderr))


def main():
    tap = Tap()
    tap.guard(resource, "memfd")
    tap.guard(resource, "anon")
    tap.guard(kept)
    tap.guard(none)
    tap.done()


if __name__ == "__main__":
    main()
