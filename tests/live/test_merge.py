#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 8s
"""Many processes as one tree: who is where, who differs, what a broken dump does to the others, and what it costs."""
import collections
import copy
import json
import os
import resource
import subprocess
import tempfile

import jsonschema

from daemon import Daemon
from harness import SNAPWALK, Tap, Target, dump, snapwalk, wait_blocked
from made_dumps import ALL_REDUCE, LOAD_BATCH, frame, made, ranks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
WAITS = (0, 35, 202, 230, 232)  # read, nanosleep, futex, clock_nanosleep, epoll_wait

with open(os.path.join(ROOT, "protocol", "snapwalk-merge.schema.json"), encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)


def write(directory, name, report):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file)
    return path


def merged(*words):
    """The result as JSON, which is as its schema says and whose tables agree with each other."""
    got = snapwalk("merge", "--json", *words)
    result = json.loads(got.stdout)
    jsonschema.validate(result, SCHEMA)
    places = result["places"]
    here = collections.Counter()
    for index, place in enumerate(places):
        n = sum(entry["threads"] for entry in place["here"])
        while index is not None:
            here[index] += n
            index = places[index]["parent"]
    assert [here[i] for i in range(len(places))] == [place["threads"] for place in places]
    return result


def test_ranks(tap, directory):
    """The rank that did not come, by name, place and time; in all formats."""
    paths = ranks(directory, 48, odd=37, n_threads=3)
    words = ("--label", "rank=file", *paths)
    sentence = ("47 of 48 ranks are in all_reduce (dist.py:120); rank 37 is in load_batch (data.py:88), "
                "for 14 min")
    got = snapwalk("merge", *words)
    lines = got.stdout.splitlines()
    tap.equal((got.returncode, got.stderr), (0, ""), "merge of files")
    tap.equal(lines[:3], ["48 ranks of python3.11 on 6 hosts, 144 threads, 2026-11-20 10:35:50 UTC", "", sentence],
              "the verdict is first, and names the rank that differs")
    tap.check("  47 ranks, all but rank 37, for 14 min:" in lines and "  rank 37, for 14 min:" in lines,
              "each branch says who is there", got.stdout)
    result = merged(*words)
    finding = result["findings"][0]
    differ = finding["differ"][0]
    tap.equal((finding["kind"], finding["text"], finding["n_processes"], finding["n_there"]),
              ("elsewhere", sentence, 48, 47), "JSON: the finding")
    tap.equal([result["processes"][i]["label"] for i in differ["processes"]], ["37"], "JSON: who differs")
    place = result["places"][differ["place"]]
    tap.equal(result["frames"][place["frame"]],
              {"function": "load_batch", "file": "data.py", "line": 88, "module": None}, "JSON: where it is")
    tap.equal(differ["since_ms"], 14 * 60 * 1000, "JSON: since when")
    folded = dict(line.rsplit(" ", 1) for line in snapwalk("merge", "--format", "folded", *words).stdout.splitlines())
    main = "main thread of python3.11;main train.py:10;train_step train.py"
    tap.equal((folded[f"{main}:55;all_reduce dist.py:120"], folded[f"{main}:40;load_batch data.py:88"],
               sum(map(int, folded.values()))), ("47", "1", 144), "folded stacks have the threads")
    page = os.path.join(directory, "page.html")
    got = snapwalk("merge", *words, "-o", page)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    tap.check(got.returncode == 0 and f'<p class="verdict">{sentence}</p>' in text and "<script" not in text,
              "a page with the verdict, without scripts", text[:1000])


def test_places(tap, directory):
    """All the same, all over the place, a thread that one lacks, another program, lines and functions."""
    def verdict(*reports, words=()):
        paths = [write(directory, f"p{i}.json", report) for i, report in enumerate(reports)]
        return snapwalk("merge", *words, *paths).stdout.split("\n\n")[1].splitlines()

    def one(pid, frames, *others, state="S", **kind):
        return made(pid, [("server", state, 5000, frames), *others], **kind)

    beat = ("heartbeat", "S", 10, [frame("beat", "/srv/beat.c", 3)])
    tap.equal(verdict(*(one(pid, ALL_REDUCE) for pid in (10, 11, 12))),
              ["all 3 processes are in all_reduce (dist.py:120)"], "all are in the same place")
    tap.equal(verdict(*(one(pid, ALL_REDUCE, *([beat] if pid != 11 else [])) for pid in (10, 11, 12))),
              ["thread heartbeat: process 11 has no such thread, which 2 of 3 processes have",
               "all 3 processes are in all_reduce (dist.py:120)"], "a thread that one process lacks")
    apart = [[frame(f"f{n}", "/a.c", n), frame("main", "/a.c", 1)] for n in range(1, 6)]
    tap.equal(verdict(*(one(20 + n, frames) for n, frames in enumerate(apart))),
              ["5 processes are in 5 places, 1 of them in f1 (a.c:1, python3.11)"],
              "nobody is with the others")
    tap.equal(verdict(one(30, ALL_REDUCE), one(31, ALL_REDUCE), one(32, ALL_REDUCE[1:])),
              ["2 of 3 processes are in all_reduce (dist.py:120); process 32 is in train_step (train.py:55), for 5.0 s"],
              "one whose stack ends where the others go on")
    lines = [[frame("loop", "/a.c", n, None, "cpython"), frame("main", "/a.c", 1)] for n in (7, 7, 8)]
    tap.equal(verdict(*(one(40 + n, frames) for n, frames in enumerate(lines))),
              ["2 of 3 processes are in loop (a.c:7); process 42 is in loop (a.c:8), for 5.0 s"], "lines count")
    same = ["all 3 processes are in loop"]
    tap.equal(verdict(*(one(40 + n, frames) for n, frames in enumerate(lines)), words=("--symbols", "names")), same,
              "--symbols names: they do not")
    tap.equal(verdict(*(one(40 + n, frames, state="R") for n, frames in enumerate(lines))), same,
              "the line in which a running thread is does not count")
    got = verdict(*(one(50 + n, ALL_REDUCE, exe="/usr/bin/first") for n in range(2)),
                  *(one(60 + n, LOAD_BATCH, exe="/opt/second") for n in range(2)))
    tap.equal(got, ["first: all 2 processes are in all_reduce (dist.py:120)",
                    "second: all 2 processes are in load_batch (data.py:88)"], "programs are apart")
    workers = [(f"pool-{n}", "S", 5, [frame("idle", "/srv/pool.c", 7)]) for n in range(3)]
    got = merged(*(write(directory, f"w{n}.json", one(70 + n, ALL_REDUCE, *workers)) for n in range(2)))
    tap.equal(sorted((role["thread"] or "", got["places"][role["place"]]["threads"]) for role in got["roles"]),
              [("", 2), ("pool-*", 6)], "threads whose names differ in their number are one kind")
    gone = one(80, ALL_REDUCE)
    gone["threads"][0].update(captured=False, reason="gone", reason_text="it has ended", captured_by=None, stack=None)
    gone.update(complete=False, stacks=[], modules=[])
    got = snapwalk("merge", write(directory, "a.json", one(81, ALL_REDUCE)), write(directory, "b.json", gone))
    tap.check(got.returncode == 3 and "process 80 is in [not captured: gone]" in got.stdout,
              "a thread that was not captured, and status 3", got)


def test_labels(tap, directory):
    """Every rule, and what two of one name are called."""
    reports = [made(100 + n, [(f"main{n}", "S", 5, ALL_REDUCE)], host=f"web{n // 2}", comm=f"main{n}") for n in range(4)]
    for n, report in enumerate(reports):
        report["process"].update(unit=f"u{n}.service", container=f"{n}" * 64)
    paths = [write(directory, f"box-{n}.json", report) for n, report in enumerate(reports)]
    for rule, noun, labels in (
            (None, "process", ["web0:100", "web0:101", "web1:102", "web1:103"]),
            ("pid", "process", ["100", "101", "102", "103"]),
            ("name", "process", ["main0", "main1", "main2", "main3"]),
            ("host", "host", ["web0", "web0#2", "web1", "web1#2"]),
            ("unit", "unit", ["u0.service", "u1.service", "u2.service", "u3.service"]),
            ("container", "container", ["0" * 64, "1" * 64, "2" * 64, "3" * 64]),
            ("file", "dump", ["box-0", "box-1", "box-2", "box-3"]),
            ("order", "process", ["0", "1", "2", "3"]),
            ("box=file", "box", ["0", "1", "2", "3"])):
        got = merged(*(("--label", rule) if rule else ()), *paths)
        tap.equal((got["noun"], [process["label"] for process in got["processes"]]), (noun, labels), f"--label {rule}")
    for rule, why in (("rank", "pid|name"), ("=pid", "noun"), ("a b=pid", "noun"), ("x" * 21 + "=pid", "noun")):
        got = snapwalk("merge", "--label", rule, *paths)
        tap.check(got.returncode == 2 and why in got.stderr, f"--label {rule} is refused", got)


HOSTILE = "<script>alert(1)</script>\x1b[2J;x\u202e"


def test_hostile(tap, directory):
    """A broken dump is named, and the others are merged; names are harmless in each format."""
    good = [write(directory, f"good{n}.json", made(200 + n, [("a", "S", 5, ALL_REDUCE)])) for n in range(2)]
    broken = copy.deepcopy(made(210, [("a", "S", 5, ALL_REDUCE)]))
    broken["stacks"][0]["threads"] = [4711]
    bad = [write(directory, "index.json", broken)]
    for name, text in (("half.json", '{"schema":"snapwalk.dump/1"'), ("empty.json", ""), ("deep.json", "[" * 100000),
                       ("nul.json", "\0" * 100), ("other.json", '{"schema":"snapwalk.dump/2"}')):
        bad.append(os.path.join(directory, name))
        with open(bad[-1], "w", encoding="utf-8") as file:
            file.write(text)
    bad.append(os.path.join(directory, "none.json"))
    got = snapwalk("merge", good[0], *bad, good[1])
    tap.equal(got.returncode, 3, "status 3 when some are broken")
    tap.check("all 2 processes are in all_reduce" in got.stdout, "the others are merged", got.stdout)
    for path in bad:
        tap.check(f"snapwalk: {path}: " in got.stderr and f"\nnot merged: {path}: " in got.stdout,
                  f"{os.path.basename(path)} is named", got)
    result = merged(good[0], *bad)
    tap.equal(([entry["dump"] for entry in result["not_merged"]], result["complete"]), (bad, False), "JSON: not_merged")
    got = snapwalk("show", bad[2])
    tap.check(got.returncode == 1 and got.stderr.count("this is empty") == 1, "show says once that a file is empty", got)
    got = snapwalk("merge", *bad)
    tap.equal((got.returncode, got.stdout), (1, ""), "status 1 when all are broken")
    output = os.path.join(directory, "never.txt")
    tap.check(snapwalk("merge", *bad, "-o", output).returncode == 1 and not os.path.exists(output),
              "no file of nothing", output)
    both = os.path.join(directory, "both.json")
    with open(both, "w", encoding="utf-8") as file:
        for path in (good[0], bad[1], good[1]):
            with open(path, encoding="utf-8") as one:
                file.write(one.read() + ("}" if path == bad[1] else "") + "\n")
    got = merged(both)
    tap.equal((len(got["processes"]), len(got["not_merged"])), (2, 1), "a file of several dumps, one of which is none")
    names = made(220, [(HOSTILE, "S", 5, [frame(HOSTILE, HOSTILE, 3)])], host=HOSTILE, comm=HOSTILE, exe=None)
    names["modules"][0]["path"] = HOSTILE
    path = write(directory, "names.json", names)
    for form in ("text", "json", "folded", "html"):
        got = snapwalk("merge", path, good[0], "--label", "name", "--format", form)
        tap.check(got.returncode == 0 and "\x1b" not in got.stdout and "\u202e" not in got.stdout.replace(
            "\u202e" if form == "json" else "\0", "") and (form not in ("html", "json") or "<script" not in got.stdout),
            f"{form}: names are harmless", got.stdout[:500])
    long = made(230, [("a", "R", 5, [frame(f"f{n}") for n in range(5000)])])
    got = merged(write(directory, "long.json", long))
    tap.equal(sum(entry["function"].startswith("f") for entry in got["frames"]), 2048, "a stack of more calls than a merge has")
    tap.check(any(entry["function"] == "[more calls]" for entry in got["frames"]), "which says so", got["frames"][-1])
    steps = [frame(f"f{n}") for n in range(100)]
    deep = [made(240, [("a", "S", 5, steps[n:]) for n in range(len(steps))]),
            made(241, [("a", "S", 5, steps[n:]) for n in range(0, len(steps), 2)])]
    paths = [write(directory, f"deep{n}.json", report) for n, report in enumerate(deep)]
    for form in ("text", "json", "folded", "html"):
        tap.equal(snapwalk("merge", *paths, "--format", form, "--all").returncode, 0,
                  f"{form}: threads that end in each call of others")


def test_newest(tap, directory):
    """Two dumps of one process: the newest one counts, and each format says so."""
    old, new = (made(300, [("main", "S", 5, frames)]) for frames in (LOAD_BATCH, ALL_REDUCE))
    new["time"] = "2026-11-20T10:36:50.084579Z"
    other = write(directory, "other.json", made(301, [("main", "S", 5, ALL_REDUCE)]))
    old, new = write(directory, "old.json", old), write(directory, "new.json", new)
    for words in ((old, new, other), (new, old, other), (other, new, new, old)):
        got = snapwalk("merge", *words)
        tap.equal((got.returncode, got.stderr), (0, ""), "two dumps of a process")
        tap.check("all 2 processes are in all_reduce" in got.stdout and "load_batch" not in got.stdout
                  and f"\nnot counted: {old}: {new} is the newest dump of that process\n" in got.stdout,
                  "the newest one counts", got.stdout)
        result = merged(*words)
        tap.equal((len(result["processes"]), {(entry["dump"], result["processes"][entry["process"]]["dump"])
                                              for entry in result["older"] if entry["dump"] == old}),
                  (2, {(old, new)}), "JSON: older")
    got = snapwalk("merge", old, new, other, "--format", "folded")
    tap.check("load_batch" not in got.stdout and got.stderr == "snapwalk: 1 dump is not counted: the newest of a "
              "process counts\n", "folded stacks: on standard error", got)
    got = snapwalk("merge", old, new, other, "--format", "html")
    tap.check(f"<p>not counted: {old}: {new} is the newest dump" in got.stdout, "html", got.stdout[-1000:])


def test_processes(tap, directory):
    """Processes that run: dump --merge, and dumps that the daemon keeps."""
    with Target("threads", 3, 10) as first, Target("threads", 3, 10) as second, Target("chain_pie") as other:
        pids = [first.pid, second.pid, other.pid]
        for pid in pids[:2]:
            wait_blocked(pid, WAITS)
        got = snapwalk("dump", "--merge", "--json", *map(str, pids))
        result = json.loads(got.stdout)
        jsonschema.validate(result, SCHEMA)
        tap.equal((got.returncode, [process["pid"] for process in result["processes"]]), (0, pids), "dump --merge")
        threads = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in pids)
        tap.equal(sum(place["threads"] for place in result["places"] if place["parent"] is None), threads,
                  "all threads are in it")
        got = snapwalk("dump", "--merge", str(first.pid), "--label", "job=pid")
        tap.check(got.returncode == 0 and got.stdout.startswith("1 job of threads"), "one process", got)
        names = [report["stacks"][0]["frames"][0]["function"] for report in map(dump, pids[:2])]
        tap.equal(names[0], names[1], "both wait in the same function")
        got = snapwalk("dump", "--merge", "999999999", str(first.pid))
        tap.check(got.returncode != 0 and "999999999" in got.stderr, "a process that is not there", got)
        for words, why in ((("--merge", "--burst", "2,10"), "--burst"), (("--merge", "--keep", directory), "--keep"),
                           (("--label", "pid"), "--merge")):
            got = snapwalk("dump", str(first.pid), *words)
            tap.check(got.returncode == 2 and why in got.stderr, f"refused: {words[0]} with {why}", got)
        with Daemon() as daemon:
            kept = [daemon.capture(pid)["dump"]["id"] for pid in pids[:2]]
            path = write(directory, "file.json", dump(other.pid))
            got = merged(*kept, path, "--socket", daemon.socket_path)
            tap.equal([process["dump"] for process in got["processes"]], [*kept, path], "ids of kept dumps, and a file")
            got = snapwalk("merge", "x" * 70, path, "--socket", daemon.socket_path)
            tap.check(got.returncode == 3 and "x" * 70 in got.stderr and "1 process of" in got.stdout,
                      "an id that is not there", got)


def test_cost(tap, directory):
    """1,000 dumps of 100 threads, 118 MB: 2 s of CPU time on a quiet machine and 200 MB. A few of them are read here."""
    paths = ranks(directory, 40, odd=37, n_threads=100, n_stacks=20)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    got = subprocess.run([SNAPWALK, "merge", "--label", "rank=file", *paths], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    tap.check("39 of 40 ranks" in got.stdout, "the result", got)
    tap.check(used < 0.4, "0.08 s of CPU time, and several times as much for a busy machine", used)
    # Many times the same dumps, which do not say that they are of one process: what is held grows with places, not with
    # dumps.
    for path in paths:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        report["process"]["starttime"] = 0
        write(directory, os.path.basename(path), report)
    peaks = []
    for n in (1, 10):
        code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        run = subprocess.run(["/usr/bin/python3", "-c", code, SNAPWALK, "merge", *paths * n], capture_output=True,
                             text=True, check=True)
        peaks.append(int(run.stdout))
    tap.check(peaks[1] < peaks[0] + 16384 and peaks[1] < 100000, "memory does not grow with dumps", peaks)


def main():
    tap = Tap()
    for test in tap.chosen(test_ranks, test_places, test_labels, test_hostile, test_newest, test_processes, test_cost):
        with tempfile.TemporaryDirectory() as directory:
            tap.guard(test, directory)
    tap.done()


if __name__ == "__main__":
    main()
