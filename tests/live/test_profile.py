#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""The formats of sample, without the programs that they are for (runtime_profile.py has those): JSON by its
schema and against the other formats, differences, and what is refused before anything is sampled.
"""
import gzip
import json
import os
import pty
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from harness import PATIENT, SNAPWALK, Tap, Target, snapwalk, summary_of, wait_until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "../../protocol/snapwalk-profile.schema.json")


def sample(target, *args, seconds=1):
    return snapwalk("sample", target.pid, "--duration", seconds, *PATIENT, *args)


def stack_of(profile, number):
    """Names from the outermost frame on."""
    names = []
    while number is not None:
        number, frame = profile["nodes"][number]
        names.insert(0, profile["frames"][frame]["function"])
    return names


def by_schema(tap, target):
    import jsonschema
    result = sample(target, "--format", "json")
    profile = json.loads(result.stdout)
    with open(SCHEMA) as file:
        errors = list(jsonschema.Draft202012Validator(json.load(file)).iter_errors(profile))
    tap.equal(errors, [], "json: as its schema says")
    names = {t["tid"]: t["name"] for t in profile["threads"]}
    tap.check(sorted(names.values()) == sorted(["demo"] + 4 * ["worker"] + ["auditor", "listener"])
              and names[target.pid] == "demo", "json: threads", names)
    counts = {}
    for row in profile["samples"]:
        thread = profile["threads"][row["thread"]]["tid"]
        counts[thread] = counts.get(thread, 0) + row["count"]
    missing = sum(map(int, re.findall(r"^(\d+) (?:samples? failed|stacks? of threads that ran)", summary_of(result.stderr), re.M)))
    n = profile["n_samples"]
    # Events of one that runs may be too many in the last moment.
    more = {tid: 8 if name == "auditor" else 0 for tid, name in names.items()}
    tap.check(all(n - missing <= count <= n + more[tid] for tid, count in counts.items()),
              "json: each thread counts in each sample", (counts, n, result.stderr))
    stacks = {(profile["threads"][r["thread"]]["name"], r["state"], r.get("wait")): stack_of(profile, r["node"])
              for r in profile["samples"]}
    waiting = stacks.get(("worker", "blocked", "mutex"), [])
    tap.check("reserve_stock" in waiting and "worker" in waiting and
              waiting.index("worker") < waiting.index("reserve_stock"), "json: stacks and what they wait for", stacks)
    tap.check(("listener", "idle", "accept") in stacks, "json: the idle threads", list(stacks))
    modules = {os.path.basename(m["path"]): m for m in profile["modules"]}
    tap.check(re.fullmatch("[0-9a-f]{40}", modules["demo"]["build_id"] or ""), "json: build-ids", modules)


def other_formats(tap, target):
    text = sample(target, "--format", "text")
    tap.check(re.match(rf"demo, pid {target.pid}: \d+ samples.*, 7 threads(, \d+ late)?(, \d+ lost)?\n", text.stdout)
              and re.search(r"^ +3\.0  worker +mutex  in reserve_stock$", text.stdout, re.M)
              and re.search(r"^ +1\.0  accept$", text.stdout, re.M), "text: what waits and what is idle", text)
    folded = sample(target)
    tap.check(re.search(r"^worker;.*;worker;.*;reserve_stock;.* \d+$", folded.stdout, re.M),
              "folded: what a pipe gets", folded)
    with tempfile.TemporaryDirectory() as place:
        for name in ("pprof", "otlp"):
            path = os.path.join(place, name)
            sample(target, "--format", name, "-o", path)
            with open(path, "rb") as file:
                data = file.read()
            data = gzip.decompress(data) if name == "pprof" else data
            tap.check(b"reserve_stock" in data and b"listener" in data, f"{name}: names are in it", data[:200])
    for name in ("speedscope", "firefox"):
        result = sample(target, "--format", name)
        tap.check("reserve_stock" in json.dumps(json.loads(result.stdout)), f"{name}: JSON", result.stdout[:200])
    page = sample(target, "--format", "html").stdout
    data = json.loads(re.search(r'<script id="profile"[^>]*>(.*?)</script>', page, re.S).group(1))
    tap.check("reserve_stock" in data["strings"] and not re.search(r"(src|href)=|https?://", page),
              "html: nothing of elsewhere", page[:200])


def on_cpu(profile):
    """Functions in which a thread was on a CPU."""
    return {name for row in profile["samples"] if row["state"] == "on_cpu"
            for name in stack_of(profile, row["node"])}


def differences(tap, target):
    with tempfile.TemporaryDirectory() as place:
        old = os.path.join(place, "old.json")

        def has_auditor():
            nonlocal text
            sample(target, "--format", "json", "-o", old)
            with open(old) as file:
                text = file.read()
            return "auditor" in on_cpu(json.loads(text))
        text = ""
        wait_until(has_auditor, "a profile in which the auditor was on a CPU")
        with open(old, "w") as file:
            file.write(text.replace('"auditor"', '"gone"'))

        def compared():
            nonlocal result
            result = sample(target, "--diff", old)
            return re.search(r"^ .* \+\d+\.\d +auditor$", result.stdout, re.M)
        result = None
        wait_until(compared, "a profile with more of the auditor")
        tap.check(re.search(r"^ +self +total +(?:± +)?change +function$", result.stdout, re.M), "--diff: the changes have a head", result)
        tap.check(re.search(r"^ +0\.0% +0\.0% +(?:±\d+ +)?-\d+\.\d +gone$", result.stdout, re.M),
                  "--diff: what is gone", result)
        with open(old, "w") as file:
            file.write(text[:len(text) // 2])
        result = sample(target, "--diff", old)
        tap.check(result.returncode == 1 and result.stdout == "" and "(bad_format)" in result.stderr,
                  "--diff: a broken file is refused before sampling", result)
        result = sample(target, "--diff", os.path.join(place, "none"))
        tap.check(result.returncode == 1 and "(io)" in result.stderr, "--diff: no file", result)


def on_terminal(arguments):
    """(output, status) of the command with a terminal as standard output."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen([SNAPWALK, *map(str, arguments)], stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 65536):
            said += part
    except OSError:  # the terminal has no other side any more
        pass
    os.close(ours)
    return said.decode(), child.wait()


def terminal(tap, target):
    said, status = on_terminal(["sample", target.pid, "--duration", 1, *PATIENT])
    tap.check(status in (0, 3) and said.startswith("demo, pid"), "a terminal gets text", said)
    said, status = on_terminal(["sample", target.pid, "--duration", 1, "--format", "pprof"])
    tap.check(status == 2 and said == "", "a terminal gets no bytes that it cannot show", said)


def main():
    tap = Tap()
    with Target("demo") as target:
        for function in tap.chosen(by_schema, other_formats, differences, terminal):
            tap.guard(function, target)
    tap.done()


if __name__ == "__main__":
    main()
