#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Resources of processes (OTEP 4719) and requests of threads (OTEP 4947), which programs publish for OpenTelemetry."""
import contextlib
import gzip
import json
import os
import subprocess
import tempfile

from harness import PATIENT, SNAPWALK, TARGETS, Tap, Target, gcore, snapwalk, wait_until
from safety import status_field
from spans import looks, wrong_of

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


def profiles(tap):
    """The resource in profiles: our own, pprof's labels, OpenTelemetry's resource, in each of which a key is once."""
    with tempfile.TemporaryDirectory() as directory, Target("spans") as target:
        made = os.path.join(directory, "made")
        for form in ("json", "pprof", "otlp"):
            snapwalk("sample", target.pid, "--mode", "wall", "--duration", "1", "--format", form, "-o",
                     f"{made}.{form}")
        with open(f"{made}.json") as file:
            profile = json.load(file)
        want = {**RESOURCE, "bad": profile["processes"][0].get("resource", {}).get("bad")}
        tap.equal(profile["processes"][0].get("resource"), want, "a profile has the resource")
        with open(f"{made}.pprof", "rb") as file:
            labels = gzip.decompress(file.read())
        tap.check(b"service.name" in labels and b"checkout-7d9f" in labels and b"break" not in labels,
                  "pprof: labels of the service, and no others", labels[-600:])
        with open(f"{made}.otlp", "rb") as file:
            data = file.read()
        tap.equal([(data.count(key), value in data) for key, value in
                   ((b"service.name", b"checkout"), (b"k8s.pod.name", b"checkout-7d9f"), (b"process.pid", b"spans"))],
                  [(1, True)] * 3, "OTLP: what the process publishes is in its resource, each key once")
        tap.equal(data.count(b"4242"), 0, "OTLP: a process cannot say that it is another one")
        again = os.path.join(directory, "again.json")
        snapwalk("symbolize", f"{made}.json", "-o", again)
        with open(again) as file:
            tap.equal(json.load(file)["processes"][0].get("resource"), want, "symbolize keeps the resource")


def sleeps(pid):
    """How often a command has slept since it loaded what it samples by; 0: it has not."""
    fds = f"/proc/{pid}/fd"
    try:
        if not any("bpf" in os.readlink(os.path.join(fds, fd)) for fd in os.listdir(fds)):
            return 0
    except FileNotFoundError:  # it has closed one meanwhile
        return 0
    return int(status_field(pid, pid, "voluntary_ctxt_switches"))


def late(tap):
    """Resources that are published, or whole, when a series has taken samples. Nothing is stopped because of one."""
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        series = []
        for kind, mode in (("late", "wall"), ("late", "cpu"), ("begun", "cpu")):
            target = stack.enter_context(Target("spans", f"{kind} moving", 3))
            path = os.path.join(directory, f"{kind}-{mode}")
            command = [SNAPWALK, "sample", str(target.pid), "--mode", mode, "--rate", "199", "--duration", "6", "--format",
                       "json", "-o", path]
            run = stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
            series.append((kind, mode, path, target, run))
        begun = [wait_until(lambda: sleeps(run.pid), f"{run.args}: samples begin") for *_, run in series]
        for (*_, target, run), before in zip(series, begun):
            wait_until(lambda: run.poll() is not None or sleeps(run.pid) > before + 20, f"{run.args}: samples are taken")
            target.process.stdin.write("\n")
            target.process.stdin.flush()
        for kind, mode, path, _, run in series:
            said = run.communicate()[1]
            with open(path) as file:
                got = json.load(file)["processes"][0].get("resource", {})
            tap.equal(got.get("service.version"), "1.1", f"{kind}, {mode}: the resource is in the profile")
            tap.check("nothing was stopped" in said, f"{kind}, {mode}: nothing was stopped", said)


def none(tap):
    for kind, what, code, said in (
            ("broken", "a context that is being written", "runtime", "was changing the resource"),
            ("huge", "a context of 4 GiB", "limit_reached", "more than 64 KiB")):
        with Target("spans", kind) as target:
            made, run = dump(target.pid)
            tap.check("resource" not in made["process"] and run.returncode == 0, f"{what} is none",
                      (made["process"], run.stderr))
            tap.check([w["code"] for w in made["warnings"]] == [code] and said in made["warnings"][0]["message"],
                      f"{what} is told", made["warnings"])


def changing(tap):
    """A resource that the process changes all the time is there as a whole, or it is told that it is not."""
    seen, wrong = set(), []
    with Target("spans", "changing") as target:
        for _ in range(20):
            made, _ = dump(target.pid, "--symbols", "none")
            got = made["process"].get("resource")
            told = [w for w in made["warnings"] if "was changing the resource" in w["message"]]
            seen.add(got is not None)
            if (got is None) != (len(told) == 1) or (got and {**got, "service.version": "1.0"} != RESOURCE):
                wrong.append((got, made["warnings"]))
    tap.equal(wrong, [], f"a resource that changes all the time: whole, or told ({seen})")


def traces_of(made):
    return [t["trace"] for t in made["threads"] if "trace" in t]


def trace_of(tid, number):
    return {"trace_id": f"4bf92f3577b34da6{tid:08x}{number:08x}", "span_id": f"{number + 1:016x}", "sampled": True,
            "attributes": {"http_route": f"/span/{number}", "user_id": str(number + 1)}}


def threads(tap):
    """The request of each thread, whatever model of thread-local storage the program was built with."""
    library = [os.path.join(TARGETS, f"span_{model}.so") for model in ("gnu", "descriptor", "initial")]
    for name, more in (("spans", []), *(("spans_library", [path]) for path in library)):
        what = os.path.basename(more[0]) if more else name
        with Target(name, "memfd", 3, *more) as target:
            made, _ = dump(target.pid)
            workers = sorted(t["tid"] for t in made["threads"] if t["tid"] != target.pid)
            tap.equal(traces_of(made), [trace_of(tid, i) for i, tid in enumerate(workers)],
                      f"{what}: each thread has its request")
            tap.equal(made["timings"]["n_stopped"], 0, f"{what}: nothing was stopped")
            if more:
                continue
            text = snapwalk("dump", target.pid, *PATIENT).stdout
            line = f"works on /span/1, trace {trace_of(workers[1], 1)['trace_id']}"
            tap.check(f"{workers[1]} {line}" in text, "the request in the text", text)
            with tempfile.TemporaryDirectory() as directory:
                again(tap, target, directory, traces_of(made))


def again(tap, target, directory, traces):
    """From a dump that is read again, a recorded snapshot and a core file."""
    path, fixture, core = (os.path.join(directory, name) for name in ("made.json", "fixture", "core"))
    snapwalk("dump", target.pid, "--json", "-o", path, *PATIENT)
    shown = snapwalk("show", path).stdout
    tap.check(all(t["trace_id"] in shown for t in traces), "a dump that is read again has the requests", shown)
    snapwalk("record", target.pid, "-o", fixture)
    made = json.loads(snapwalk("dump", "--fixture", fixture, "--json", "--no-sandbox").stdout)
    tap.equal(traces_of(made), traces, "a recorded snapshot has the requests")
    gcore(target.pid, core)
    made = json.loads(snapwalk("dump", "--core", core, "--json", "--no-sandbox").stdout)
    tap.equal(sorted(traces_of(made), key=lambda t: t["span_id"]), traces, "a core file has the requests")


def schemas(tap):
    """Threads' records of which the process says that they are something else are none; those of the final name are."""
    for schema, n in (("tls_v1", 2), ("nodejs_v1_dev", 0), ("", 0)):
        with Target("spans", "memfd", 2, env={"SPANS_SCHEMA": schema}) as target:
            made, _ = dump(target.pid)
            tap.equal(len(traces_of(made)), n, f"schema {schema!r}: {n} requests")


def moving(tap):
    """Requests that begin and end all the time: id, attributes and stack are of one instant."""
    with Target("spans", "moving", 6) as target:
        n, wrong = 0, []
        for made in looks(target.pid, 8):
            n += len(traces_of(made))
            wrong += wrong_of(made)
    tap.equal(wrong, [], f"requests belong to their stacks ({n} of them)")
    tap.check(n >= 8, "and are seen", n)


if __name__ == "__main__":
    Tap.main((resource, "memfd"), (resource, "anon"), kept, profiles, late, none, changing, threads, schemas, moving)
