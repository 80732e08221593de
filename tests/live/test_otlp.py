#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 6s
"""Files of OTLP keep the rules of OpenTelemetry's profiles, in each mode, and say whose they are."""
import copy
import gzip
import json
import os
import tempfile

from harness import Tap, Target, snapwalk, wait_until
from otlp_rules import TYPES, check

CONTAINER = "0123456789abcdef" * 4


def written(profile, directory):
    """A profile in JSON as OTLP."""
    path, out = (os.path.join(directory, name) for name in ("profile.json", "profile.otlp"))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(profile, file)
    got = snapwalk("show", path, "-o", out)
    assert got.returncode in (0, 3), got
    with open(out, "rb") as file:
        return file.read()


def test_modes(tap, directory):
    """A process that runs, in each mode: one profile, of a type that engines know."""
    for mode, type_of, target in (("wall", TYPES[2], ("demo",)), ("cpu", TYPES[0], ("busy", 10)),
                                  ("off", TYPES[1], ("demo",))):
        with Target(*target) as process:
            path = os.path.join(directory, f"{mode}.json")

            def sampled():
                """On a machine that is busy a second may have no sample of CPU time."""
                snapwalk("sample", process.pid, "--mode", mode, "-d", "1", "-r", "50", "-o", path)
                with open(path, encoding="utf-8") as file:
                    return (profile := json.load(file))["samples"] and profile
            profile = wait_until(sampled, f"samples of mode {mode}")
        result = check(written(profile, directory))
        tap.equal(result.problems, [], f"{mode}: the rules are kept")
        tap.equal(result.types, [type_of], f"{mode}: one profile, of this type")
        tap.equal((result.resources[0]["service.name"], result.resources[0]["process.pid"]), (target[0], process.pid),
                  f"{mode}: the resource")


def made():
    """A profile as JSON has it, of a process in a container."""
    return {"schema": "snapwalk.profile/1", "mode": "cpu", "begin_ns": 1795000000000000000, "duration_ns": 1000000000,
            "rate_hz": 100, "n_samples": 100, "n_wanted": 100, "n_late": 0, "n_lost": 0, "stopped_ns": 0,
            "longest_stop_ns": 0, "left_count": 0, "left_ns": 0, "host": "web1", "kernel": "6.1.0",
            "processes": [{"pid": 42, "comm": "server", "exe": "/srv/server", "unit": "web.service",
                           "container": CONTAINER}],
            "threads": [{"pid": 42, "tid": 43, "name": "thread.name"}, {"pid": 42, "tid": 44, "name": "unseen"}],
            "modules": [{"path": "/srv/server", "build_id": "ab" * 20, "start": "0x1000", "end": "0x9000",
                         "bias": "0x0"}],
            "frames": [], "nodes": [], "samples": []}


def test_whose(tap, directory):
    """Container and unit: in the profile of a process in a cgroup of such a name, and in what is made of it."""
    profile = made()
    data = written(profile, directory)
    tap.equal(check(data).resources[0].get("container.id"), CONTAINER, "the resource has container.id")
    tap.equal(check(data).resources[0].get("snapwalk.unit"), "web.service", "and the unit")
    labelled = made()
    labelled.update(frames=[{"address": "0x1100", "module": 0, "function": "main", "file": None, "line": 0, "kind": "native"}],
                    nodes=[[None, 0]],
                    samples=[{"thread": 0, "node": 0, "state": "on_cpu", "count": 5, "ns": 50000000}])
    out = os.path.join(directory, "profile.pb.gz")
    written(labelled, directory)
    snapwalk("show", os.path.join(directory, "profile.json"), "-o", out)
    with gzip.open(out) as file:
        data = file.read()
    tap.check(CONTAINER.encode() in data and b"web.service" in data, "pprof: labels", data)
    profile["processes"][0].update(unit=None, container=None)
    resource = check(written(profile, directory)).resources[0]
    tap.check("container.id" not in resource and "snapwalk.unit" not in resource, "no empty attributes", resource)
    with Target("threads", 1, 10) as process:
        with open(f"/proc/{process.pid}/cgroup", encoding="utf-8") as file:
            cgroup = file.read()
        got = json.loads(snapwalk("sample", process.pid, "-d", "1", "-r", "5", "--format", "json").stdout)
        dump = json.loads(snapwalk("dump", process.pid, "--json").stdout)
    tap.equal((got["processes"][0]["unit"], got["processes"][0]["container"]),
              (dump["process"]["unit"], dump["process"]["container"]), f"a profile says it as a dump does ({cgroup.strip()})")


def test_rules(tap, directory):
    """The checker itself: each broken rule is found."""
    with Target("threads", 3, 10) as process:
        profile = json.loads(snapwalk("sample", process.pid, "-d", "1", "-r", "20", "--format", "json").stdout)
    data = written(profile, directory)
    tap.equal(check(data).problems, [], "before")
    lacking = copy.deepcopy(profile)
    for module in lacking["modules"]:
        module["build_id"] = None
    tap.check(any("neither a build-id nor a hash" in problem for problem in check(written(lacking, directory)).problems),
              "a mapping without identity is found", "")
    for what, old, new in (("cut", data, data[:-1]), ("schema_url", b"https://opentelemetry.io", b"https://opentelemetry.xx"),
                           ("type", b"\x04wall", b"\x04xall")):
        changed = data.replace(old, new)
        try:
            problems = check(changed).problems
        except (ValueError, IndexError) as error:
            problems = [str(error)]
        tap.check(changed != data and problems, f"a file that is wrong is found: {what}", problems)


def main():
    tap = Tap()
    for test in tap.chosen(test_modes, test_whose, test_rules):
        with tempfile.TemporaryDirectory() as directory:
            tap.guard(test, directory)
    tap.done()


if __name__ == "__main__":
    main()
