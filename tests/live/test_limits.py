#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 15s
"""snapwalk where it is given too little: memory, descriptors, file sizes, standard files. A crash,
a hang or a silent end is a failure, and so is a target that does not go on."""
import json
import os
import re
import resource
import subprocess
import tempfile

from harness import PATIENT, SNAPWALK, TARGETS, Tap, Target, state_of, wait_until
from safety import held, tasks

REFUSE = os.path.join(TARGETS, "refuse.so")
# Allocations that are refused, of a run: each of the first ones, then every STRIDEth.
EACH_OF_FIRST, STRIDE = 40, 23
# The last are the words of dlopen() for it, when libunwind is loaded.
NO_MEMORY = re.compile(r"((?:snapwalk: |\{\"about\":)[^\n]*(not enough memory|[Oo]ut of memory|allocate|"
                       r"cannot create shared object descriptor)[^\n]*\n)+")
NO_PROCESS = 0x7fffffff
LIMIT_S = 120


def run(words, **popen):
    popen.setdefault("stdout", subprocess.PIPE)
    popen.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([SNAPWALK, *map(str, words)], timeout=LIMIT_S, text=True, **popen)


def allocations(words, scratch):
    """How many there are in such a run."""
    path = os.path.join(scratch, "count")
    run(words, env=dict(os.environ, LD_PRELOAD=REFUSE, REFUSE_COUNT=path))
    with open(path) as file:
        return int(file.read())


def is_honest(words, result):
    """Whole, or less with a reason, or nothing with a reason; what is written can be read."""
    if result.returncode in (0, 3):
        if "--json" in words:
            json.loads(result.stdout)
        return result.returncode == 0 or result.stderr != "" or words[0] == "verify"
    return result.returncode in (1, 2) and NO_MEMORY.fullmatch(result.stderr) is not None


def no_memory(tap, words, once):
    """Each allocation of ours is refused in turn: that one alone, or all that follow, too."""
    with Target("threads", 3, 10) as target, tempfile.TemporaryDirectory() as scratch:
        words = [*words, target.pid]
        n = allocations(words, scratch)
        env = dict(os.environ, LD_PRELOAD=REFUSE, **({"REFUSE_ONCE": "1"} if once else {}))
        at = [*range(1, min(EACH_OF_FIRST, n)), *range(EACH_OF_FIRST, n + 1, STRIDE)]
        odd, refused = [], 0
        for i in at:
            result = run(words, env=dict(env, REFUSE_AT=str(i)))
            refused += result.returncode != 0
            if not is_honest(words, result) or held(target.pid):
                odd.append((i, result.returncode, result.stderr[:200], held(target.pid)))
        how = "once" if once else "from then on"
        tap.equal(odd, [], f"{words[0]}: memory refused at {len(at)} of {n} places, {how}")
        tap.check(refused > (0 if once else len(at) * 3 // 4), f"{words[0]}: and it was missed, "
                  f"{how}", refused)


def closed(fds):
    """A preexec_fn: what daemons and cron jobs of the careless kind do."""
    def close():
        for fd in fds:
            os.close(fd)
    return close


def standard_files(tap):
    """Messages for a closed standard error must not go into the file that took its number."""
    with Target("threads", 2, 5) as target, tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "dump.json")
        for fds in ((2,), (1, 2), (0, 1, 2)):
            words = ["dump", "--json", *PATIENT, NO_PROCESS, target.pid, "-o", path]
            result = run(words, preexec_fn=closed(fds))
            with open(path) as file:
                lines = file.read().splitlines()
            tap.equal((result.returncode, [json.loads(line)["process"]["pid"] for line in lines]),
                      (1, [target.pid]), f"{fds} closed: the file has the dump, and only that")
            os.unlink(path)
        result = run(["dump", *PATIENT, target.pid], preexec_fn=closed((1,)))
        tap.equal((result.returncode, result.stderr),
                  (1, "snapwalk: standard output: writing failed: Bad file descriptor (io): check "
                      "the path, its permissions and the free space\n"),
                  "standard output closed: an error")
        result = run(["dump", *PATIENT, target.pid], preexec_fn=closed((0, 2)))
        tap.check(result.returncode == 0 and "  main+" in result.stdout,
                  "standard input and error closed: the dump", result)


def limited(what, number):
    return lambda: resource.setrlimit(what, (number, number))


def file_size(tap):
    """RLIMIT_FSIZE: a signal by default, of which nobody learns why."""
    with Target("threads", 2, 20) as target, tempfile.TemporaryDirectory() as scratch:
        for name, words in (("dump.json", ["dump", "--json"]), ("fixture", ["record"])):
            path = os.path.join(scratch, name)
            words = [*words, "--max-stop", "60000", target.pid, "-o", path]
            result = run(words, preexec_fn=limited(resource.RLIMIT_FSIZE, 1024))
            tap.equal(result.returncode, 1, f"{words[0]}: files may have 1 KiB: exit status 1")
            json_asked = "--json" in words
            said = json.loads(result.stderr) if json_asked else {}
            tap.check(re.fullmatch(rf"snapwalk: {re.escape(path)}[^\n]*: File too large \(io\): [^\n]+\n", result.stderr)
                      if not json_asked else said["about"] == path and said["message"].endswith("File too large"),
                      f"{words[0]}: says which file, and why", result.stderr)
            tap.equal(os.listdir(scratch), [], f"{words[0]}: nothing half written is left")


def pcs(report):
    return [[(f["pc"], f["by"], f["trust"]) for f in s["frames"] if not f["inlined"]]
            for s in report["stacks"]]


def few_descriptors(tap):
    """A file that cannot be opened for want of a descriptor is not said to be gone."""
    with Target("threads", 2, 5) as target:
        wait_until(lambda: all(state_of(target.pid, tid) == "S" for tid in tasks(target.pid)), "all threads to wait")
        words = ["dump", "--json", *PATIENT, target.pid]
        whole = json.loads(run(words).stdout)
        odd, statuses = [], []
        for n in range(4, 24):  # with fewer the libraries of C cannot be loaded
            result = run(words, preexec_fn=limited(resource.RLIMIT_NOFILE, n))
            statuses.append(result.returncode)
            if result.returncode == 0 and pcs(json.loads(result.stdout)) != pcs(whole):
                odd.append((n, "differs, and does not say so", result.stdout))
            elif result.returncode != 0 and not (
                    "Too many open files" in result.stderr or "(module_unusable)" in result.stderr):
                odd.append((n, result.returncode, result.stderr))
            if held(target.pid):
                odd.append((n, held(target.pid)))
        tap.equal(odd, [], "few descriptors: the same stacks, or what is wanting is said")
        tap.check({0, 1} <= set(statuses), "few descriptors: both were met", statuses)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        result = run(words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                  (10, hard)))
        tap.equal((result.returncode, json.loads(result.stdout)["stacks"]), (0, whole["stacks"]),
                  "few descriptors, but more may be had: the same dump")


if __name__ == "__main__":
    Tap.main(standard_files, file_size, few_descriptors,
             *((no_memory, words, once) for words in (["dump", "--json", *PATIENT], ["verify", *PATIENT]) for once in (False, True)))
