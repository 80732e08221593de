#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Java on HotSpot: blocked threads against the VM's own view, and stops anywhere in busy code.

SNAPWALK_JVM_STOPS sets how many stops there are in each mode (300).
"""
import ctypes
import glob
import os
import re
import resource
import signal
import subprocess
import tempfile

from harness import BUILD, PATIENT, TARGETS, Tap, iterator_refused, patient_dump, snapwalk, stack_of, wait_until

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "jvm")
CLASSES = os.path.join(BUILD, "tests", "jvm")
STOPS = int(os.environ.get("SNAPWALK_JVM_STOPS", "300"))
MODES = {
    "default": [], "-Xint": ["-Xint"], "C1": ["-XX:TieredStopAtLevel=1"], "C2": ["-XX:-TieredCompilation"],
    "ZGC": ["-XX:+UseZGC"], "Serial": ["-XX:+UseSerialGC"], "Parallel": ["-XX:+UseParallelGC"],
    "Shenandoah": ["-XX:+UseShenandoahGC"],
}
CORE_FILE = "core"
SYS_TGKILL = 234  # x86-64
GUESSES = {"scan", "scan_verified", "frame_pointer"}


def machines():
    """The Java VMs of this machine, by version; each is a JDK of its own."""
    found = {}
    for libjvm in sorted(glob.glob("/usr/lib/jvm/*/lib/server/libjvm.so")):
        home = os.path.realpath(os.path.join(os.path.dirname(libjvm), os.pardir, os.pardir))
        with open(os.path.join(home, "release")) as lines:
            version = re.search(r'JAVA_VERSION="(\d+)', lines.read()).group(1)
        found[version] = home
    return found


def compile_all(home):
    sources = sorted(glob.glob(os.path.join(SOURCES, "*.java")))
    os.makedirs(CLASSES, exist_ok=True)
    subprocess.run([os.path.join(home, "bin", "javac"), "-d", CLASSES, *sources], check=True)


class Java:
    """A program that has said that it is ready."""

    def __init__(self, home, program, *options, cwd=None, args=()):
        self.cwd = cwd
        self.command = [os.path.join(home, "bin", "java"), "-Xmx256m", *options, "-cp", CLASSES, program, *args]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        cwd=self.cwd, text=True)
        self.pid = self.process.pid
        line = self.process.stdout.readline()
        if line.strip() != "ready":
            raise RuntimeError(f"{self.command}: {line!r}")
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def jcmd(home, pid):
    return subprocess.run([os.path.join(home, "bin", "jcmd"), str(pid), "Thread.print"], check=True,
                          capture_output=True, text=True).stdout


def thread_names(out):
    """{tid: (name, id, role)} of all Java threads, as the VM says."""
    found = re.findall(r'^"(.*)" #(\d+)(?: \[\d+\])?( daemon)? .*\bnid=(0x[0-9a-f]+|\d+)', out, re.M)
    return {int(tid, 0): (name, int(number), "daemon" if daemon else None)
            for name, number, daemon, tid in found}


def thread_print(out):
    """{tid: [(method, line or None)]} as the VM says, of threads that have Java frames."""
    threads, current = {}, None
    for line in out.splitlines():
        head = re.search(r'^".*\bnid=(0x[0-9a-f]+|\d+)', line)
        frame = re.match(r"\s+at (?:[\w.]+(?:@[\w.]+)?/)?(.*)\((.*)\)$", line)
        if head:
            current = threads.setdefault(int(head.group(1), 0), [])
        elif frame and current is not None:
            number = re.search(r":(\d+)$", frame.group(2))
            current.append((method_of(frame.group(1)), int(number.group(1)) if number else None))
    return {tid: frames for tid, frames in threads.items() if frames}


def method_of(name):
    """Without what the VM puts behind names of hidden classes, which we leave out."""
    return re.sub(r"[/+]0x[0-9a-f]+", "", name)


def java_frames(report, tid):
    return [(f["function"], f["line"]) for f in stack_of(report, tid)["frames"]
            if f["kind"] == "jvm" and not f["function"].startswith("[")]


def text_of(report, tid):
    stack = stack_of(report, tid)
    return "\n".join([f"{stack['end']}: {stack['why']}"] + [
        f"{f['pc']} {f['function']} {f['line']} {f['kind']} {f['by']} {f['trust']}" for f in stack["frames"]])


def wrong_in_stack(stack):
    """What must hold for every stack that has Java frames; None when all does."""
    names = [f["function"] or "" for f in stack["frames"]]
    if stack["end"] != "complete":
        return f"{stack['end']}: {stack['why']}"
    if any(f["trust"] in GUESSES for f in stack["frames"]):
        return "a guess"
    if "clone3" not in names[-1] and "start_thread" not in names[-1]:
        return f"ends in {names[-1]}"
    return None


def check_blocked(tap, version, home, mode):
    with Java(home, "Blocked", *MODES[mode]) as java:
        out, ours, theirs = None, None, None

        def alike():
            nonlocal out, ours, theirs
            out = jcmd(home, java.pid)
            theirs = thread_print(out)
            ours = patient_dump(java.pid)
            return all(java_frames(ours, tid) == frames for tid, frames in theirs.items())
        # The VM's own threads (and what jcmd has just used) may be on their way to where they wait.
        try:
            wait_until(alike, "the same frames")
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        tap.check(len(theirs) >= 10, f"{version} {mode}: {len(theirs)} threads to compare")
        for tid, frames in sorted(theirs.items()):
            tap.equal(java_frames(ours, tid), frames, f"{version} {mode}: {tid}: {len(frames)} frames as jcmd says")
            tap.equal(wrong_in_stack(stack_of(ours, tid)), None, f"{version} {mode}: {tid}: complete, nothing guessed")
        notes = [t["managed"] for t in ours["threads"] if t["tid"] in theirs]
        tap.check(all(n and n["runtime"] == "hotspot" and n["mode"] for n in notes), f"{version} {mode}: states", notes)
        names = {t["tid"]: (t["managed"]["name"], t["managed"]["id"], t["managed"]["role"])
                 for t in ours["threads"] if t["managed"]}
        wanted = thread_names(out)
        if mode == "ZGC":  # only what the thread's own name confirms
            wanted = {tid: (None if name == "main" else name, *rest)
                      for tid, (name, *rest) in wanted.items()}
        both = names.keys() & wanted.keys()  # compilers' threads come and go
        tap.check(len(both) >= 15, f"{version} {mode}: {len(both)} threads in both")
        tap.equal({tid: names[tid] for tid in both}, {tid: wanted[tid] for tid in both},
                  f"{version} {mode}: names, numbers and daemons")
        found = [r for r in ours["process"]["runtimes"] if r["name"] == "hotspot"]
        tap.equal([(r["version"] or "").split(".")[0].split("+")[0] for r in found], [version],
                  f"{version} {mode}: recognised once, with its version")


def check_carriers(tap, version, home, mode):
    """Virtual threads that compute: each carrier says so, and no other thread."""
    carriers = 2
    scheduler = [f"-Djdk.virtualThreadScheduler.{name}={carriers}" for name in ("parallelism", "maxPoolSize")]
    with Java(home, "Virtual", *MODES[mode], *scheduler) as java:
        ours = patient_dump(java.pid)
        roles = {t["managed"]["name"]: t["managed"]["role"] for t in ours["threads"] if t["managed"]}
        tap.equal(sorted(name for name, role in roles.items() if role == "carrier"),
                  [f"ForkJoinPool-1-worker-{n}" for n in range(1, carriers + 1)],
                  f"{version} {mode}: carriers of virtual threads among {len(roles)} threads")


def check_parked(tap, version, home):
    """Virtual threads that sleep have no thread: the dump says that there may be some."""
    with Java(home, "Virtual", args=("sleep",)) as java:
        def parked():
            ours = patient_dump(java.pid)
            roles = [t["managed"]["role"] for t in ours["threads"] if t["managed"]]
            return ours if "idle-carrier" in roles and "carrier" not in roles else None
        ours = wait_until(parked, "carriers that carry nothing")
        tap.equal([h["code"] for h in ours.get("hints", []) if h["code"] == "virtual_threads"], ["virtual_threads"],
                  f"{version}: virtual threads that no thread carries: said")
        text = snapwalk(java.pid, *PATIENT).stdout
        tap.check(f" waits for java ({java.pid + 1})" not in text and "in the Java launcher" in text,
                  f"{version}: the first thread, which waits for main(), is idle", text[:2000])


def lines_of_calls():
    """{method: line of the call of the next one}, as the source has them."""
    found = {}
    with open(os.path.join(SOURCES, "Busy.java")) as source:
        for number, line in enumerate(source, 1):
            head = re.search(r"static long (f\d)\(", line)
            if head:
                name, at = f"Busy.{head.group(1)}", int(head.group(1)[1])
            elif found is not None and "f1(n)" in line:
                found["Busy.compute"] = number
            elif re.search(r"\bf\d\(n", line):
                found.setdefault(name, number) if f"f{at + 1}(" in line else None
    return found


def wrong_in_chain(stack, lines):
    """The frames below the innermost of f1 ... f6 are known; None when they are there."""
    wrong = wrong_in_stack(stack)
    if wrong is not None:
        return wrong
    frames = [f for f in stack["frames"] if f["kind"] == "jvm"]
    names = [f["function"] for f in frames]
    first = next((i for i, name in enumerate(names) if re.fullmatch(r"Busy\.f\d|Busy\.compute", name)), None)
    if first is None:
        return "no method of the chain"
    top = 0 if names[first] == "Busy.compute" else int(names[first][-1])
    wanted = [f"Busy.f{i}" for i in range(top, 0, -1)] + ["Busy.compute"]
    if names[first:first + len(wanted)] != wanted:
        return "another chain"
    for frame in frames[first + 1:first + len(wanted)]:
        if frame["line"] != lines[frame["function"]]:
            return f"{frame['function']} at line {frame['line']}"
    allowed = r"(java|jdk|sun)\.\S+|Busy\S*|\[.*\]"
    strange = [name for name in names if not re.fullmatch(allowed, name)]
    return f"strange: {strange}" if strange else None


def computing_thread(pid):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm") as comm:
            if comm.read().strip() == "computing":
                return int(tid)
    return None


def stops_of(pid, tid, n):
    """Stacks at n instants, as drive_stops prints them."""
    out = subprocess.run([os.path.join(TARGETS, "drive_stops"), str(pid), str(tid), str(n)], check=True,
                         capture_output=True, text=True).stdout
    stacks = []
    for line in out.splitlines():
        words = line.split("\t")
        if line.startswith("stack "):
            stacks.append({"end": words[0][6:], "why": words[1], "frames": []})
        else:
            stacks[-1]["frames"].append(dict(zip(("function", "line", "kind", "by", "trust"), words),
                                             line=int(words[1]) or None))
    return stacks


def check_who_is_stopped(tap, version, home):
    """Two threads compute, the VM's own wait: what hooks copy is of one instant, and who waits is not stopped."""
    with Java(home, "Busy") as java:
        wait_until(lambda: computing_thread(java.pid) is not None, "the thread that computes")
        dumps = [patient_dump(java.pid) for _ in range(30)]
        stopped = sorted(d["timings"]["n_stopped"] for d in dumps)
        tap.check(sum(n >= len(dumps[0]["threads"]) // 2 for n in stopped) < len(dumps) // 2,
                  f"{version}: more often than not few threads are stopped", (len(dumps[0]["threads"]), stopped))


def check_stops(tap, version, home, mode):
    lines = lines_of_calls()
    with Java(home, "Busy", *MODES[mode]) as java:
        wait_until(lambda: computing_thread(java.pid) is not None, "the thread that computes")
        stacks = stops_of(java.pid, computing_thread(java.pid), STOPS)
        found = [(what, stack) for stack in stacks
                 for what in [wrong_in_chain(stack, lines)] if what is not None]
        wrong = [f"{what}\n" + "\n".join(map(str, stack["frames"])) for what, stack in found]
        # In the VM's own code for exceptions one of a thousand is cut, and says so.
        cut = sum(stack["end"] != "complete" for _, stack in found)
        tap.equal(len(stacks), STOPS, f"{version} {mode}: {STOPS} stops")
        tap.check(len(wrong) == cut <= 1 + STOPS // 1000,
                  f"{version} {mode}: complete, the chain and its lines in each",
                  f"{len(wrong)}\n" + "\n".join(wrong[:3]))


def check_crash(tap, version, home):
    """The core file of a VM that was killed by SIGSEGV: its own handler is on top of the Java frames."""
    with tempfile.TemporaryDirectory() as directory:
        with Java(home, "Blocked", "-Xmx64m", "-XX:-UsePerfData", cwd=directory) as java:
            resource.prlimit(java.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
            out = jcmd(home, java.pid)
            theirs = {tid: frames for tid, frames in thread_print(out).items()
                      if any(name.startswith("Blocked.") for name, _ in frames)}
            main_tid = next(tid for tid, frames in theirs.items() if frames[-1][0] == "Blocked.main")
            ctypes.CDLL(None).syscall(SYS_TGKILL, java.pid, main_tid, signal.SIGSEGV)
            java.process.wait(timeout=120)
        core = os.path.join(directory, CORE_FILE)
        if not tap.check(os.path.exists(core), f"{version}: a core file", os.listdir(directory)):
            return
        report = patient_dump(["--core", core], status=(0, 3))
        tap.equal({tid: java_frames(report, tid) for tid in theirs}, theirs, f"{version}: core file: the same frames")
        native = [f["function"] or "" for f in stack_of(report, main_tid)["frames"] if f["kind"] == "native"]
        tap.check(any("VMError::report_and_die" in name or "abort" in name for name in native),
                  f"{version}: core file: the VM's handler", native)
        ends = [(s["end"], s["why"]) for s in report["stacks"] if s["end"] != "complete"]
        tap.equal(ends, [], f"{version}: core file: {len(report['stacks'])} stacks are complete")
        names = {t["tid"]: t["managed"]["name"] for t in report["threads"] if t["tid"] in theirs}
        tap.equal(names, {tid: thread_names(out)[tid][0] for tid in theirs}, f"{version}: core file: names of threads")


def main():
    tap = Tap()
    found = machines()
    tap.check(found, "a JDK is installed", PATIENT)
    compile_all(found[min(found, key=int)])
    with open("/proc/sys/kernel/core_pattern") as pattern:
        plain = pattern.read().strip() == CORE_FILE
    if not plain:
        tap.skip("core files of VMs", "the kernel writes none where it runs",
                 "kernel.core_pattern = core, kernel.core_uses_pid = 0")
    for version, home in found.items():
        if plain:
            tap.guard(check_crash, version, home)
        for mode in ("default", "-Xint", "ZGC"):
            tap.guard(check_blocked, version, home, mode)
        for mode in ("default", "ZGC") if int(version) >= 21 else ():
            tap.guard(check_carriers, version, home, mode)
        if int(version) >= 21:
            tap.guard(check_parked, version, home)
        if iterator_refused() == "":
            tap.guard(check_who_is_stopped, version, home)
        for mode in MODES:
            tap.guard(check_stops, version, home, mode)
    tap.done()


if __name__ == "__main__":
    main()
