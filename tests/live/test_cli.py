#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""The command line: what is said, where it is written, and the exit status."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from harness import (BUILD, PATIENT, SNAPWALK, TARGETS, Tap, Target, dump, iterator_refused, no_mounts, public,
                     snapwalk, state_of, tool, wait_until)
from safety import held

NOBODY = 65534
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ONE_LINE = re.compile(r"^(snapwalk: [^\n]+: [^\n]+ \([a-z_]+\)(: [^\n]+)?|\{\"about\":\"[^\n]+\"\})\n$")


def patient(*words, **run):
    """snapwalk() for captures that must be complete also on a machine that is busy."""
    return snapwalk(*words, "--max-stop", 10000, "--timeout", 60000, **run)


class Demo(Target):
    """The demo, when all threads but the one that computes are where they belong."""

    def __init__(self, path=None):
        super().__init__("demo", path=path)

    def __enter__(self):
        super().__enter__()
        self.settle()
        return self

    def settle(self):
        wait_until(lambda: states(self.pid).count("S") == 6, "the demo's threads to block")


def states(pid):
    return [state_of(pid, tid) for tid in os.listdir(f"/proc/{pid}/task")]


def said(tap, result, status, pattern, name):
    """Check for one clear line on standard error, nothing on standard output, that status."""
    good = (result.returncode == status and re.search(pattern, result.stderr)
            and ONE_LINE.match(result.stderr) and result.stdout == "")
    return tap.check(good, name, f"status {result.returncode}\nout {result.stdout[:200]!r}\n"
                                 f"err {result.stderr!r}\nwanted {status} {pattern!r}")


class Named:
    """A process with a name of its own."""

    def __init__(self, name):
        self.name = name.encode()

    def __enter__(self):
        script = ("import ctypes, sys, time; ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0); "
                  "print(flush=True); sys.stdin.read()")
        self.process = subprocess.Popen([sys.executable, "-c", script, self.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return self.process.pid

    def __exit__(self, *exc):
        self.process.communicate()


def bad_lines(tap):
    for words, pattern in (
            (["dump"], r"dump: no target is given \(usage\)"),
            (["1", "--depth", "abc"],
             r"--depth: 'abc' is not a number \(usage\): give 1 to 65536"),
            (["1", "--timeout", "1e3"], r"--timeout: '1e3' is not a number"),
            (["1", "--stack-bytes", "4Q"], r"--stack-bytes: '4Q' is not a size"),
            (["1", "--format", "xml"], r"--format: 'xml' is unknown .*text\|json\|folded"),
            (["1", "--nonsense"], r"--nonsense: no such option"),
            (["1", "-o"], r"--output: a value is missing"),
            (["process"], r"process: neither a command nor a process id \(usage\): .*--comm process"),
            (["1", "--via", "daemon", "--walk", "scan"],
             r"--walk: the daemon does not do that \(usage\)"),
            (["show"], r"show: no dump is given \(usage\): .*snapwalk list"),
            (["hook"], r"hook: no kind is given \(usage\): give monit"),
            (["hook", "frobnicate"], r"frobnicate: no kind of hook \(usage\)"),
            (["explain", "1", "0x1", "--keep", "x"], r"--keep: is no option of explain"),
            (["explain", "1"], r"explain: no address is given"),
            (["record", "1"], r"record: no directory is given"),
            (["verify", "1", "2"], r"verify: several targets are given"),
            (["1\n2\x1b[2J"], r"1\\x0a2\\x1b\[2J: neither")):
        said(tap, snapwalk(*words), 2, pattern, "refuses: snapwalk " + repr(words))


def no_such_target(tap):
    child = subprocess.Popen(["true"])
    child.wait()
    said(tap, snapwalk(child.pid), 1, rf"^snapwalk: {child.pid}: .*\(no_such_process\): ",
         "a process that is gone")
    said(tap, snapwalk("doctor", child.pid), 1, r"\(no_such_process\)", "doctor: it is gone")
    said(tap, snapwalk("--comm", "no-such-name"), 1, r"no process matches \(not_found\)",
         "a name that nobody has")
    said(tap, snapwalk("--unit", "no-such-unit"), 1, r"\(not_found\)", "a unit that is not there")
    said(tap, snapwalk("--container", "feedfacefeed"), 1, r"\(not_found\)", "no such container")
    said(tap, snapwalk("--core", "/nonexistent"), 1, r"/nonexistent: .*\(io\)", "no such core")
    said(tap, snapwalk("--core", SNAPWALK), 1, rf"^snapwalk: {SNAPWALK}: [^/]*\(bad_format\)",
         "a core that is none: the file is named once")
    said(tap, snapwalk("--fixture", "/nonexistent"), 1, r"\(io\)", "no such fixture")


def itself(tap):
    """exec keeps the pid, so that snapwalk is asked for its own."""
    result = subprocess.run(["sh", "-c", 'exec "$0" $$', SNAPWALK], capture_output=True, text=True)
    said(tap, result, 1, r"\(self\)", "its own pid")


def kernel_thread(tap):
    try:
        with open("/proc/2/stat") as stat:
            is_kernel = int(stat.read().rpartition(")")[2].split()[6]) & 0x200000
    except OSError:
        is_kernel = False
    if not is_kernel:
        tap.skip("a kernel thread", "pid 2 is not one here", tap.HOST_PIDS)
        return
    said(tap, snapwalk(2), 1, r"^snapwalk: 2: .*\(kernel_thread\): ", "a kernel thread")
    result = snapwalk("doctor", 2)
    tap.check(result.returncode == 77 and "kernel thread" in result.stdout,
              "doctor: a kernel thread", result.stdout)


def thirty_two_bits(tap):
    """Needs a kernel that runs such programs: CONFIG_IA32_EMULATION."""
    try:
        with Target("i386") as target:
            wait_until(lambda: state_of(target.pid) == "S", "the target to wait")
            report = dump(target.pid, status=(0, 3))  # its code has no tables
            tap.equal((report["process"]["elf_class"], report["threads"][0]["syscall"]),
                      (32, "pause"), "a 32-bit program")
            result = snapwalk("doctor", target.pid)
            tap.check(result.returncode == 0 and "a 32-bit program" in result.stdout,
                      "doctor: a 32-bit program", result.stdout)
            said(tap, snapwalk("dump", "--walk", "libunwind", target.pid), 1,
                 r"^snapwalk: \d+: .* 32-bit program.*\(unsupported_architecture\): ",
                 "a 32-bit program by libunwind")
            tap.equal(held(target.pid), [], "it is not held")
    except TimeoutError:  # one of OSError, too
        raise
    except OSError as error:
        tap.skip("a 32-bit program", f"this kernel runs none: {error.strerror}",
                 "a kernel with CONFIG_IA32_EMULATION")


def zombie(tap):
    child = subprocess.Popen(["true"])
    wait_until(lambda: state_of(child.pid) == "Z", "the zombie")
    said(tap, snapwalk(child.pid), 1, rf"^snapwalk: {child.pid}: .*\(zombie\): ", "a zombie")
    result = snapwalk("doctor", child.pid)
    tap.check(result.returncode == 77 and "zombie" in result.stdout, "doctor: a zombie",
              result.stdout + result.stderr)
    child.wait()


def not_permitted(tap):
    """An unprivileged user and a target of root."""
    if os.geteuid() != 0:
        tap.skip("not permitted", "not root", tap.ROOT)
        return
    with Demo() as target:
        command = public(SNAPWALK)
        become = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "capture_output": True,
                  "text": True, "timeout": 60}
        said(tap, subprocess.run([command, str(target.pid)], **become), 77,
             rf"^snapwalk: {target.pid}: .*\(not_permitted\): .*'snapwalk doctor {target.pid}'$",
             "not permitted")
        result = subprocess.run([command, str(target.pid)], **become)
        tap.equal(result.stderr.count("run as"), 1, "not permitted: what to do is said once")
        result = subprocess.run([command, "doctor", str(target.pid)], **become)
        tap.check("note     kind        its program cannot be read\n" in result.stdout,
                  "doctor: a program that cannot be read is not ok", result.stdout)
        tap.check(result.returncode == 77
                  and re.search(r"^refused +permission +the kernel refuses it", result.stdout, re.M)
                  and re.search(r"^refused +uid +it runs as uid 0", result.stdout, re.M),
                  "doctor: says which check refuses", result.stdout + result.stderr)
        # Each check that refuses says what to do, in the line below.
        lines = result.stdout.splitlines()
        mute = [a for a, b in zip(lines, lines[1:] + [""])
                if a.startswith("refused") and "->" not in b]
        tap.equal(mute, [], "doctor: a remedy for each")
        remedy = re.search(r"^note +iterator .* (?:CAP_BPF|CAP_PERFMON).*\n +-> sudo (.*)$", result.stdout, re.M)
        tap.check(remedy, "doctor: the command that stops no thread that waits", result.stdout)
        if remedy and not iterator_refused():
            words = remedy.group(1).replace("PID", str(target.pid)).split()
            words[words.index("snapwalk")] = SNAPWALK
            done = subprocess.run(words, capture_output=True, text=True, timeout=60)
            tap.check(re.search(r", (nothing was stopped|\d+ of \d+ threads stopped for)", done.stdout),
                      "doctor: the command does that", done.stdout + done.stderr)
        two = subprocess.run([command, str(target.pid), "999999999"], **become)
        tap.check(two.returncode == 77 and len(two.stderr.splitlines()) == 2,
                  "two targets: the worst status", two.stderr)


def doctor_good(tap):
    with Demo() as target:
        result = snapwalk("doctor", target.pid)
        tap.check(result.returncode == 0 and f"{target.pid} can be captured" in result.stdout,
                  "doctor: nothing stands in the way", result.stdout + result.stderr)
        tap.check(re.search(r"^ok +tracer +no other tracer", result.stdout, re.M)
                  and re.search(r"^ok +kind +a 64-bit program", result.stdout, re.M)
                  and re.search(r"^ok +threads +7 threads$", result.stdout, re.M),
                  "doctor: looks at the target", result.stdout)
        tap.equal(state_of(target.pid), "S", "doctor: the target is as before")
    result = snapwalk("doctor")
    tap.equal(result.returncode, 0, "doctor: in general")
    busy = re.search(r"^note +load +", result.stdout, re.M)
    tap.equal("this machine is busy" in result.stdout.splitlines()[-1], bool(busy),
              "doctor: a busy machine is in the answer")
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(2 * os.cpu_count() + 2)]
    try:
        wait_until(lambda: "this machine is busy" in snapwalk("doctor").stdout,
                   "doctor to see that the machine is busy")
        tap.check(True, "doctor: sees that the machine is busy")
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def other_tracer(tap):
    if tool("gdb") is None:
        tap.skip("another tracer", "gdb is not installed", "package gdb")
        return
    with Demo() as target:
        gdb = subprocess.Popen(["gdb", "-q", "-nx", "-p", str(target.pid), "-ex", "echo holds-it\\n"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            # Before it says so it may let a thread go on that it had stopped.
            next(line for line in gdb.stdout if "holds-it" in line)
            wait_until(lambda: states(target.pid) == ["t"] * 7, "gdb to attach")
            said(tap, snapwalk(target.pid, "--stop", "always"), 1, r"\(already_traced\): ",
                 "another tracer")
            if not iterator_refused():
                report = dump(target.pid)
                tap.equal([t["captured_by"] for t in report["threads"]], ["iterator"] * 7,
                          "a process under gdb: every thread is captured")
                tap.equal({s["end"] for s in report["stacks"]}, {"complete"},
                          "a process under gdb: its stacks are whole")
            result = snapwalk("doctor", target.pid)
            tap.check(result.returncode == 77
                      and re.search(rf"^refused +tracer +thread {target.pid} is traced by "
                                    rf"{gdb.pid} \(gdb\)", result.stdout, re.M),
                      "doctor: names the tracer", result.stdout)
        finally:
            gdb.kill()
            gdb.communicate()


def output_file(tap):
    with tempfile.TemporaryDirectory() as directory, Demo() as target:
        path = os.path.join(directory, "out.json")
        result = patient(target.pid, "--json", "-o", path)
        with open(path) as file:
            report = json.load(file)
        tap.check(result.returncode == 0 and result.stdout == ""
                  and report["process"]["pid"] == target.pid, "-o writes the file", result.stderr)
        tap.equal(os.listdir(directory), ["out.json"], "-o leaves nothing beside it")
        before = os.stat(path).st_ino
        said(tap, snapwalk(999999999, "-o", path), 1, r"\(no_such_process\)",
             "-o with nothing captured")
        tap.equal(os.stat(path).st_ino, before, "-o keeps the old file then")
        patient(target.pid, "-o", path)
        tap.check(os.stat(path).st_ino != before, "-o replaces it by rename")
        missing = os.path.join(directory, "none", "x")
        said(tap, patient(target.pid, "-o", missing), 1,
             r"none/x: cannot write there: No such file or directory \(io\): ", "-o into nowhere")
        said(tap, patient(target.pid, "-o", directory), 1, r"it is a directory \(io\)",
             "-o to a directory")
        said(tap, patient(target.pid, "-o", "/dev/full"), 1, r"No space left on device \(io\)",
             "-o to a full disk")
        tap.check(not os.path.isfile("/dev/full"), "-o leaves devices alone")
        tap.check(patient(target.pid, "-o", "-").stdout.startswith("demo, pid"),
                  "-o - is standard output")


def full_file_system(tap):
    """A file system of one page, which the dump does not fit into."""
    if no_mounts():
        tap.skip("a full file system", no_mounts(), tap.MOUNTS)
        return
    with tempfile.TemporaryDirectory() as directory, Demo() as target:
        script = ('d=$1; shift; mount -t tmpfs -o size=4096 none "$d" && "$0" "$@" --json -o "$d/out";'
                  ' s=$?; ls -A "$d"; exit $s')
        result = subprocess.run(["unshare", "-m", "sh", "-c", script, SNAPWALK, directory,
                                 str(target.pid), *PATIENT], capture_output=True, text=True)
        said(tap, result, 1, r'"code":"io","message":"writing failed: No space left on device"',
             "a full file system: an error, and nothing is left")


def standard_output(tap):
    with Demo() as target:
        with open("/dev/full", "w") as full:
            result = patient(target.pid, stdout=full, stderr=subprocess.PIPE,
                              capture_output=False)
        tap.check(result.returncode == 1
                  and re.match(r"snapwalk: standard output: .*No space left .*\(io\)",
                               result.stderr), "a full standard output", result.stderr)
        with open("/dev/full", "w") as full:
            result = snapwalk("doctor", target.pid, stdout=full, stderr=subprocess.PIPE,
                              capture_output=False)
        tap.check(result.returncode == 1 and "No space left" in result.stderr,
                  "a full standard output of doctor", result.stderr)
        for words in ([str(target.pid), "--json", "--max-stop", "10000", "--timeout", "60000"],
                      ["doctor", str(target.pid)]):
            reader, writer = os.pipe()
            os.close(reader)
            result = snapwalk(*words, stdout=writer, stderr=subprocess.PIPE, capture_output=False)
            os.close(writer)
            tap.check(result.returncode == 0 and result.stderr == "",
                      f"a reader that left is no error: {words[0]}", result)
        closed = subprocess.run(["sh", "-c", '"$0" "$@" >&-', SNAPWALK, str(target.pid), *PATIENT],
                                capture_output=True, text=True)
        tap.check(closed.returncode == 1 and ONE_LINE.match(closed.stderr),
                  "a closed standard output is an error", closed)


# Since glibc 2.41 calls that can be cancelled have functions of it inside.
ACCEPT = r"accept(;\w*syscall_cancel\w*)*"


def formats(tap):
    with Demo() as target:
        text = patient(target.pid)
        tap.check(text.returncode == 0 and text.stdout.startswith(f"demo, pid {target.pid}: 7")
                  and "query_database" in text.stdout and "\033" not in text.stdout,
                  "text", text.stdout + text.stderr)
        tap.check("\033[" in patient(target.pid, "--color", "always").stdout, "--color always")
        folded = patient(target.pid, "--format", "folded")
        tap.check(re.search(rf"^listener;.*;listener;.*{ACCEPT} 1$", folded.stdout, re.M),
                  "folded", folded.stdout)
        two = patient(target.pid, target.pid, "--json")
        tap.equal(len(two.stdout.splitlines()), 1, "the same process twice is one target")
        with Demo() as other:
            both = patient("dump", target.pid, other.pid, "--json")
            pids = [json.loads(line)["process"]["pid"] for line in both.stdout.splitlines()]
            tap.equal(pids, [target.pid, other.pid], "two targets: one line of JSON for each")
            half = patient(target.pid, 999999999, other.pid, "--json")
            tap.check(half.returncode == 1 and len(half.stdout.splitlines()) == 2,
                      "one of three is gone: the others are there", half.stderr)
        report = json.loads(patient(target.pid, "--json", "--reason", "a\x1b\xe4").stdout)
        tap.equal(report["reason"], "a\x1b\xe4", "--reason is kept")
        limited = patient(target.pid, "--depth", "1", "--json")
        tap.check(limited.returncode == 3 and json.loads(limited.stderr)["remedy"] == "show more with --depth", "--depth 1: status 3 and why", limited.stderr)
        bare = json.loads(patient(target.pid, "--json", "--symbols", "none").stdout)
        functions = {f.get("function") for s in bare["stacks"] for f in s["frames"]}
        tap.equal(functions, {None}, "--symbols none")
        target.settle()  # a stop makes blocked threads runnable for an instant
        running = json.loads(patient(target.pid, "--json", "--threads", "running").stdout)
        stopped = {t["comm"] for t in running["threads"] if t["captured"]}
        tap.equal(stopped, {"auditor"}, "--threads running")
        tid = next(t["tid"] for t in running["threads"] if t["comm"] == "listener")
        one = json.loads(patient(target.pid, "--json", "--threads", tid).stdout)
        stopped = {t["comm"] for t in one["threads"] if t["captured"]}
        tap.equal(stopped, {"listener"}, "--threads TID")
        for tids in ("1", f"{tid},1"):
            other = patient(target.pid, "--json", "--threads", tids)
            tap.equal((other.returncode, other.stdout), (1, ""), f"--threads of another process ({tids})")
            tap.check("has no thread 1" in json.loads(other.stderr)["message"], "... says which", other.stderr)
        by_tid = json.loads(patient(tid, "--json").stdout)
        tap.equal(by_tid["process"]["pid"], target.pid, "a thread's id means its process")


def selectors(tap):
    with tempfile.TemporaryDirectory() as directory:
        name = f"sw{os.getpid()}"
        demo = shutil.copy(os.path.join(TARGETS, "demo"), os.path.join(directory, name))
        with Demo(demo) as first, Demo(demo) as second:
            result = patient("--comm", name, "--json")
            pids = sorted(json.loads(line)["process"]["pid"]
                          for line in result.stdout.splitlines())
            tap.equal(pids, sorted([first.pid, second.pid]), "--comm takes all of that name")
            said(tap, patient("verify", "--comm", name), 2,
                 rf"{name}: 2 processes match: \d+ {name}, \d+ {name} \(usage\): choose one",
                 "one is needed: lists both")
            cgroup_selector(tap, first.pid)
        long = shutil.copy(demo, os.path.join(directory, "sw-name-of-20-bytes"))
        with Demo(long) as target:
            result = patient("--comm", "sw-name-of-20-bytes", "--json")
            tap.check(result.returncode == 0
                      and json.loads(result.stdout)["process"]["pid"] == target.pid,
                      "--comm longer than the kernel keeps", result.stderr)


def cgroup_selector(tap, pid):
    """A cgroup of our own, with the names that units and containers have."""
    container = "ab" * 32
    base = next((d for d in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd",
                             "/sys/fs/cgroup/freezer", "/sys/fs/cgroup/pids")
                 if os.path.exists(os.path.join(d, "cgroup.procs"))), None)
    unit = f"swtest{os.getpid()}"
    slice_path = os.path.join(base or "", f"{unit}.service")
    inner = os.path.join(slice_path, f"docker-{container}.scope")
    try:
        if base is None:
            raise OSError("no cgroup file system")
        os.makedirs(inner)
    except OSError as error:
        tap.skip("--unit, --cgroup, --container", str(error), tap.CGROUPS)
        return
    try:
        with open(os.path.join(inner, "cgroup.procs"), "w") as procs:
            procs.write(str(pid))
        for words in (["--unit", unit], ["--unit", unit + ".service"], ["--cgroup", slice_path],
                      ["--cgroup", f"/{unit}.service"], ["--container", container[:12]]):
            result = patient(*words, "--json")
            tap.check(result.returncode == 0
                      and [json.loads(line)["process"]["pid"]
                           for line in result.stdout.splitlines()] == [pid],
                      " ".join(words), result.stderr)
    finally:
        with open(os.path.join(base, "cgroup.procs"), "w") as procs:
            procs.write(str(pid))
        os.rmdir(inner)
        os.rmdir(slice_path)


def explain_and_verify(tap):
    with Demo() as target:
        report = json.loads(patient(target.pid, "--json").stdout)
        frame = next(f for s in report["stacks"] for f in s["frames"]
                     if f["function"] == "handle_order")
        result = patient("explain", target.pid, frame["pc"])
        tap.check(result.returncode == 0
                  and re.search(r"^symbol +handle_order\+\d+ at .*demo.c:", result.stdout, re.M),
                  "explain", result)
        again = patient("explain", target.pid, frame["pc"][2:])
        tap.equal(again.stdout, result.stdout, "explain: an address without 0x")
        said(tap, patient("explain", target.pid, "10"), 1,
             r"^snapwalk: 0x10: .*\(not_found\): .*/proc/PID/maps$",
             "explain: an address that is not mapped")
        result = patient("verify", target.pid, "--threads",
                          ",".join(str(t["tid"]) for t in report["threads"]
                                   if t["comm"] != "auditor"))
        tap.check(result.returncode == 0 and result.stdout.endswith(
            "6 threads: 6 same, 0 different\n"), "verify", result.stdout + result.stderr)
        result = patient("verify", target.pid, "--threads", target.pid)
        tap.check(result.stdout.endswith("1 thread: 1 same, 0 different\n"), "verify: a single thread is compared",
                  result.stdout + result.stderr)


def record(tap):
    with tempfile.TemporaryDirectory() as directory, Demo() as target:
        place = os.path.join(directory, "fixture")
        result = snapwalk("record", target.pid, "-o", place, "--max-stop", 10000)
        tap.check(result.returncode == 0 and f"{place}: 7 of 7 threads" in result.stdout,
                  "record", result)
        target.settle()
        loaded = patient("dump", "--fixture", place, "--json")
        live = json.loads(patient(target.pid, "--json").stdout)
        blocked = sorted(t["tid"] for t in live["threads"] if t["comm"] != "auditor")

        def stacks(report):
            return {t["tid"]: report["stacks"][t["stack"]]["id"] for t in report["threads"]
                    if t["tid"] in blocked}
        tap.check(loaded.returncode == 0 and stacks(json.loads(loaded.stdout)) == stacks(live),
                  "the fixture has the same stacks", loaded.stderr)
        said(tap, snapwalk("record", target.pid, "-o", place, "--max-stop", 10000), 1, r"\(io\)",
             "record: the directory must be new")


def sample(tap):
    with Demo() as target:
        result = patient("sample", target.pid, "--duration", 1, "--rate", 10)
        lines = dict(line.rsplit(" ", 1) for line in result.stdout.splitlines())
        samples = int(re.match(r"(\d+) of \d+ samples", result.stderr).group(1))
        waiting = [int(n) for stack, n in lines.items() if re.search(ACCEPT + "$", stack)]
        # 3: on a busy machine some samples have no time.
        tap.check(result.returncode in (0, 3) and 1 <= samples <= 10 and waiting == [samples],
                  "sample: folded", result)
        result = patient("sample", target.pid, "--duration", 1, "--format", "text")
        tap.check(re.match(rf"demo, pid {target.pid}: \d+ samples? ", result.stdout)
                  and re.search(r"^ +self +total +(?:± +)?function$", result.stdout, re.M)
                  and re.search(r"^ +\d+\.\d% +\d+\.\d% +(?:±\d+ +)?auditor$", result.stdout, re.M),
                  "sample: text", result)
        child = subprocess.Popen([SNAPWALK, "sample", str(target.pid), "--duration", "60"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: "0000000000004002" in status_of(child.pid, "SigBlk"), "it to sample")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        # 3: on a busy machine a thread may not have stopped in time.
        tap.check(child.returncode in (0, 1, 3) and (out == "") == (child.returncode == 1),
                  "sample: Control-C gives what is there", (child.returncode, err))


def hooks_without_daemon(tap):
    """The behaviour that a monitoring system may rely on when nobody listens."""
    nobody = ("--socket", "/nonexistent/socket")
    firing = {"MONIT_EVENT": "Resource limit matched", "MONIT_SERVICE": "app"}
    with Demo() as target, tempfile.TemporaryDirectory() as directory:
        env = {**os.environ, **firing, "MONIT_PROCESS_PID": str(target.pid)}
        said(tap, snapwalk("hook", "monit", *nobody, env=env), 1,
             r"monit: nobody listens on /nonexistent/socket, and there is no -o \(not_found\)",
             "hook: neither a daemon nor a place for the dump")
        said(tap, snapwalk("hook", "monit", *nobody, "--via", "direct", env=env), 1,
             r"monit: --via direct, and there is no -o \(not_found\): give -o DIR", "hook: no place, and no daemon asked for")
        result = snapwalk("hook", "monit", *nobody, "-o", directory, "--max-stop", 10000,
                          "--timeout", 60000, env=env)
        match = re.match(rf"captured {target.pid} demo: (.*)\n$", result.stdout)
        tap.check(result.returncode in (0, 3) and match, "hook: by itself into a directory", result)
        with open(match.group(1)) as file:
            dump = json.load(file)
        tap.equal((os.listdir(directory), dump["reason"], dump["process"]["pid"]),
                  ([re.sub(r"[^\w-]", "_", dump["id"]) + ".json"],
                   "monit: app: Resource limit matched", target.pid),
                  "hook: the file is the dump, called as its id")
        result = snapwalk("hook", "nagios", "--pid", target.pid, "OK", "HARD", "1", *nobody)
        tap.equal((result.returncode, result.stdout, result.stderr),
                  (0, "nothing to do: nagios: OK HARD attempt 1\n", ""), "hook: a recovery")
    for words in (["list"], ["show", "x"], ["delete", "x"], ["pin", "latest"], ["watch"], ["1", "--via", "daemon"]):
        said(tap, snapwalk(*words, *nobody), 1,
             r"nobody listens on /nonexistent/socket.* \(not_found\): start snapwalkd",
             f"{words[0]}: nobody listens")


def hook_does_not_wait(tap):
    """A pipe that nobody writes to or closes: the monitoring system must not hang."""
    reader, writer = os.pipe()
    said(tap, snapwalk("hook", "collectd", "--timeout", 200, stdin=reader), 1,
         r"hook: the time limit was reached \(timeout\)", "hook: standard input never ends")
    os.close(reader)
    os.close(writer)


def status_of(pid, field):
    with open(f"/proc/{pid}/status") as file:
        return next(line for line in file if line.startswith(field + ":"))


def help_options():
    return re.findall(r"^  (?:-(\w), )?--([a-z-]+)", snapwalk("help", "--all").stdout, re.M)


def manual_page(name):
    with open(os.path.join(ROOT, "man", f"{name}.1"), encoding="utf-8") as file:
        return file.read()


def options_in_pages(tap, command, text):
    """Each option is described in the page of its command, or in snapwalk(1), or named there as one of snapwalk-dump(1).

    An option of snapwalk(1) means the same for each command: --json is that only where it is short for --format json.
    """
    page, common, shared = (manual_page(name) for name in (f"snapwalk-{command}", "snapwalk", "snapwalk-dump"))
    known = re.findall(r"^  (?:-\w, )?--([a-z-]+)", text, re.M)
    own, everywhere, of_dump = (re.findall(r"\bFl Fl ([a-z-]+)", "\n".join(re.findall(r"^\.It .*", text, re.M)))
                                for text in (page, common, shared))
    named = [name for name in re.findall(r"\bFl Fl ([a-z-]+)", page.partition(".Sh OPTIONS")[2]) if name in of_dump]
    if "format" not in known:
        everywhere.remove("json")
    tap.equal([name for name in known if name not in own + everywhere + named], [],
              f"snapwalk-{command}(1) has every option")
    tap.equal([name for name in own if name not in known], [], f"snapwalk-{command}(1) has no other option")


def words_for_users(tap):
    """Help, manual page and completion know the same options."""
    options = help_options()
    tap.check(len(options) > 25, "help --all lists the options", options)
    page = manual_page("snapwalk")
    tap.equal([name for name in re.findall(r"^\.It .*\bFl Fl ([a-z-]+)", page, re.M) if name not in [n for _, n in options]],
              [], "snapwalk(1) has no other option")
    tap.equal(sorted({name for _, name in options}), sorted(name for _, name in options), "help --all has each option once")
    tap.check(len(snapwalk("--help").stdout.splitlines()) <= 26, "--help is one screen", snapwalk("--help").stdout)
    groups = re.findall(r"^(\S.*):$", snapwalk("dump", "--help").stdout, re.M)
    tap.equal(groups, ["Targets", "What is shown", "How often, and for how long", "Where to, and in which form",
                       "What it may cost the process", "How stacks are walked and named", "Other options"],
              "dump --help has its options in groups")
    for command, group in (("leaks", "What is followed"), ("list", "What is shown")):
        text = snapwalk(command, "--help").stdout
        tap.equal([part.split(":\n")[0] for part in text.split("\n\n") if "\n  --limit N" in part], [group],
                  f"{command} --help: where --limit is")
    commands = re.findall(r"^  ([a-z]+)(?: |$)", snapwalk("--help").stdout.split("Commands:")[1]
                          .split("Targets:")[0], re.M)
    tap.equal(commands, ["dump", "sample", "top", "on", "leaks", "explain", "verify", "record", "doctor",
                         "list", "show", "symbolize", "delete", "pin", "diff", "merge", "watch", "hook", "mcp"],
              "--help lists the commands")
    for command in commands:
        result = snapwalk(command, "--help")
        tap.check(result.returncode == 0
                  and result.stdout.startswith(f"Usage: snapwalk {command} "),
                  f"{command} --help", result)
        tap.check(f".It Cm {command}\n" in page, f"snapwalk(1) has {command}")
        listed = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", result.stdout, re.M)
        tap.equal(sorted(set(listed)), sorted(listed), f"{command} --help has each of its options once")
        if command not in ("help", "version"):
            tap.check(f".Xr snapwalk-{command} 1" in page, f"snapwalk(1) names the page of {command}")
            options_in_pages(tap, command, result.stdout)
        others = "|".join(name for name in commands if name != command)
        tap.equal(re.findall(rf"; (?:{others}): ", re.sub(r"\s+", " ", result.stdout)), [], f"{command} --help has no text for other commands")
    for command, text in (("on", "whole stacks, and all of them"), ("dump", "in text also idle threads, and all stacks"),
                          ("help", "the options of all commands")):
        shown = re.search(r"^  --all +(.*)", snapwalk(command, "--help").stdout, re.M).group(1)
        tap.equal(shown, text, f"{command} --help says what --all does there")
    result = snapwalk("--version")
    tap.check(re.match(r"snapwalk \d+\.\d+\.\d+\n$", result.stdout), "--version", result)


def complete(*words, cwd=None):
    """Returns what bash would offer for the last word."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_snapwalk "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "-c", script, "bash",
                             os.path.join(ROOT, "cli", "completion.bash"), SNAPWALK, *words],
                            capture_output=True, text=True, errors="surrogateescape", timeout=60, cwd=cwd)
    return [line for line in result.stdout.split("\n") if line]


def completion(tap):
    offered = complete("-")
    options = re.findall(r"^  (?:-(\w), )?--([a-z-]+)", snapwalk("dump", "--help").stdout, re.M)
    wanted = [f"--{name}" for _, name in options] + [f"-{letter}" for letter, _ in options if letter]
    tap.equal(sorted(offered), sorted(wanted), "completion without a command has every option of dump")
    tap.equal(complete("do"), ["doctor"], "completion of a command")
    tap.equal(complete("dump", "--format", ""), ["text", "json", "folded", "html"],
              "completion of a value")
    tap.equal(complete("dump", "--format", "=", "j"), ["json"], "completion behind =")
    tap.equal(complete("sample", "--format", "p"), ["pprof"], "completion of a value, by command")
    tap.check("--rate" not in complete("dump", "--") and "--rate" in complete("sample", "--"),
              "completion knows which command takes what")
    tap.check(str(os.getpid()) in complete(""), "completion of process ids")
    tap.equal(complete("hook", "n"), ["nagios"], "completion of a kind of hook")
    tap.equal(complete("hook", "nagios", ""), [], "completion knows where the kind is said")
    tap.check(str(os.getpid()) in complete("hook", "nagios", "--pid", ""),
              "completion of a process id behind its option")
    tap.equal(sorted(complete("7", "-o", "/etc/host")),
              sorted("/etc/" + n for n in os.listdir("/etc") if n.startswith("host")),
              "completion of files")


def names_as_commands(tap):
    """A name of a process that is a command for bash is neither run by completion nor offered to be run."""
    with tempfile.TemporaryDirectory() as cwd, contextlib.ExitStack() as stack:
        names = ["$(>ran)", "`>ran`", "a b;>ran", "${x:=\x1b[2J}"]
        for name in names:
            stack.enter_context(Named(name))
        offered = complete("dump", "--comm", "", cwd=cwd)
        tap.equal(os.listdir(cwd), [], "completion runs no name of a process")
        # Other processes' names may have been cut within a character.
        words = subprocess.run(["bash", "-c", "printf '%s\\0' " + " ".join(offered)], capture_output=True, text=True,
                               errors="surrogateescape", cwd=cwd, timeout=60, check=True).stdout.split("\0")
        tap.equal(os.listdir(cwd), [], "offered names are not run either")
        tap.equal([name for name in names if name not in words], [], "completion offers each name as one word")
        tap.check(not re.search("[\x00-\x1f\x7f]", "".join(offered)), "completion offers no control character")
        tap.equal(complete("dump", "--comm", "a\\ b", cwd=cwd), ["a\\ b\\;\\>ran"],
                  "completion of what was completed in part")


def manual_example(tap):
    """The example of libwalk(3) compiles without warnings and works."""
    with open(os.path.join(ROOT, "man", "libwalk.3")) as file:
        page = file.read()
    example = page.split('example begin\n.Bd -literal\n')[1].split('.Ed\n')[0].replace("\\e", "\\")
    if tool("cc") is None:
        tap.skip("the example of libwalk(3)", "no compiler", "package gcc")
        return
    with tempfile.TemporaryDirectory() as directory, Demo() as target:
        source = os.path.join(directory, "example.c")
        program = os.path.join(directory, "example")
        libraries = os.path.join(BUILD, "lib")
        with open(source, "w") as file:
            file.write(example)
        flags = ["-Wall", "-Wextra", "-Werror", *(f"-I{ROOT}/{component}/include" for component in
                                                ("libwalk", "symbolizer", "protocol"))]
        if BUILD.endswith("-asan"):
            flags.append("-fsanitize=address,undefined")
        built = subprocess.run(["cc", *flags, "-o", program, source, f"-L{libraries}",
                                "-lsnapwalk-symbolizer", "-lwalk", f"-Wl,-rpath,{libraries}"],
                               capture_output=True, text=True)
        if not tap.check(built.returncode == 0, "the example of libwalk(3) compiles",
                         built.stderr):
            return
        result = subprocess.run([program, str(target.pid)], capture_output=True, text=True)
        tap.check(result.returncode == 0 and "  query_database\n  reserve_stock\n  handle_order\n"
                  in result.stdout, "the example of libwalk(3) works", result)


def first_try(tap):
    """The example of "make try" runs, and nothing of it stays behind."""
    with tempfile.TemporaryDirectory() as directory:
        environment = dict(os.environ, TMPDIR=directory)
        script = os.path.join(ROOT, "tests", "try.sh")
        result = subprocess.run([script, SNAPWALK], capture_output=True, text=True, cwd=ROOT,
                                env=environment, timeout=120)
        tap.check(result.returncode == 0 and "query_database" in result.stdout
                  and "Try next:" in result.stdout, "make try shows the stacks", result)
        lines = "  libc.so.6  pause.c:" in result.stdout
        tap.equal("libc6-dbg" in result.stdout, not lines, "make try says what would add lines")
        pid = re.search(r"started as process (\d+)", result.stdout).group(1)
        tap.check(os.listdir(directory) == [] and state_of(pid) == "", "make try cleans up")
        with Demo() as target:
            result = subprocess.run([script, SNAPWALK, str(target.pid)], capture_output=True,
                                    text=True, cwd=ROOT, env=environment, timeout=120)
            tap.check(result.returncode == 0 and f"demo, pid {target.pid}:" in result.stdout
                      and state_of(target.pid) != "", "make try PID=n", result)
        result = subprocess.run([script, SNAPWALK, "999999999"], capture_output=True, text=True,
                                cwd=ROOT, env=environment, timeout=120)
        tap.check(result.returncode == 1 and "(no_such_process)" in result.stderr,
                  "make try PID=n, gone", result)


def first_try_without_lines(tap):
    """Where debug information of libc is not installed, "make try" says which package has it."""
    name = "make try without libc6-dbg"
    if no_mounts():
        tap.skip(name, no_mounts(), tap.MOUNTS)
        return
    hide = "mkdir -p /usr/lib/debug && mount -t tmpfs none /usr/lib/debug && exec tests/try.sh \"$0\""
    result = subprocess.run(["unshare", "-m", "sh", "-c", hide, os.path.relpath(SNAPWALK, ROOT)],
                            capture_output=True, text=True, cwd=ROOT, timeout=120)
    # Where dpkg knows whose file it is, the dump has a hint, too.
    said = [line for line in result.stdout.splitlines() if "libc6-dbg" in line and not line.startswith(" ")]
    tap.equal((result.returncode, said),
              (0, ["Frames of libc lack names and lines: sudo apt-get install libc6-dbg adds them."]), name)
    tap.equal([line for line in result.stdout.partition("Try next:")[2].splitlines()
               if len(line) > 80], [], "what to try next is not wider than a terminal")


def no_network(tap):
    """Debug servers are never asked, although libdw would by itself."""
    with Demo() as target, socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        result = patient(target.pid, env=dict(os.environ, DEBUGINFOD_URLS=url))
        try:
            asked = bool(server.accept())
        except BlockingIOError:
            asked = False
        tap.check(result.returncode == 0 and not asked, "DEBUGINFOD_URLS is ignored", result)


if __name__ == "__main__":
    Tap.main(bad_lines, no_such_target, itself, kernel_thread, thirty_two_bits, zombie, not_permitted, doctor_good,
             other_tracer, output_file, full_file_system, standard_output, formats, selectors, explain_and_verify, record,
             sample, hooks_without_daemon, hook_does_not_wait, words_for_users, completion, names_as_commands, manual_example,
             first_try, first_try_without_lines, no_network)
