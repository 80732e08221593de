# SPDX-License-Identifier: LGPL-2.1-or-later
"""The common part of live tests: TAP output, starting and ending targets, running snapwalk.

    from harness import Tap, Target, dump
    def has_threads(tap):
        with Target("threads", "4") as target:         # waits for its line "ready"
            report = dump(target.pid)                  # parsed JSON
            tap.check(report["threads"], "has threads")
    Tap.main(has_threads)
"""
import atexit
import concurrent.futures
import functools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zlib

BUILD = os.environ.get("SNAPWALK_BUILD", os.path.abspath("build"))
SANITIZED = BUILD.endswith("-asan")
SNAPWALK = os.path.join(BUILD, "bin", "snapwalk")
# Built once: they have no sanitizers: make check-asan looks at those of make check.
TARGETS = os.environ.get("SNAPWALK_TARGETS", os.path.join(BUILD, "tests", "targets"))

# For tests of something else than speed: a machine that has more to do than it can must not cut
# the stop or the names. With a load of 20 on two processors a thread may get no turn for seconds; half
# of the second limit is for what threads wait for in the kernel, and has been too short as a minute.
PATIENT = ("--max-stop", "60000", "--timeout", "600000")


# The soft limit of a login is 1024: fewer files than a stop of 10,000 threads opens.
OPEN_FILES = 65536


def raise_open_files():
    """Raise the soft limit of open files, of this process and of what it starts, as far as the hard one allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


raise_open_files()


def take_default_signals():
    """A shell starts what it runs in the background with SIGINT and SIGQUIT ignored, nohup with SIGHUP, and a program that is
    told to end by such a signal would not."""
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


take_default_signals()


def seeded(number):
    """A generator of random numbers: that number's in a run without a seed or with seed 0, as the gate's is; with another
    SNAPWALK_SEED, which tests/run.py prints, that seed's and the number's."""
    seed = int(os.environ.get("SNAPWALK_SEED", 0))
    return random.Random(f"{seed} {number}" if seed else number)


def gcore(pid, path):
    """A core file of a running process, made by gdb."""
    run = subprocess.run(["gdb", "-batch", "-nx", "-iex", "set auto-load off",
                          "-iex", "set debuginfod enabled off", "-p", str(pid),
                          "-ex", f"generate-core-file {path}"],
                         capture_output=True, text=True, timeout=hangs_s())
    if not os.path.exists(path):
        raise RuntimeError(f"gdb made no core file: {run.stdout}\n{run.stderr}")


class Tap:
    """Counts and prints results, of several threads, too; done() exits with the status."""

    # The needs of skipped tests.
    ROOT = "root (sudo make check)"
    HOST_PIDS = "a pid namespace with kernel threads (no container)"
    CGROUPS = "root and cgroup file systems that may be written"
    GOLD = "package binutils-gold"
    USERS = "user namespaces (sysctl user.max_user_namespaces > 0, no plain chroot)"
    FIRST_PIDS = "the first pid namespace (no container)"
    MOUNTS = "root in a root directory that is a mount point (no plain chroot)"

    def __init__(self):
        self.number = 0
        self.failed = 0
        self.lock = threading.Lock()

    def check(self, condition, name, detail=""):
        with self.lock:
            self.number += 1
            if condition:
                print(f"ok {self.number} - {name}", flush=True)
            else:
                self.failed += 1
                print(f"not ok {self.number} - {name}", flush=True)
                for line in str(detail).splitlines()[:40]:
                    print(f"# {line}", flush=True)
        return bool(condition)

    def equal(self, got, wanted, name):
        return self.check(got == wanted, name, f"got    {got!r}\nwanted {wanted!r}")

    def skip(self, name, reason, enable):
        """enable: what this needs; run.py lists it at the end of the run."""
        with self.lock:
            self.number += 1
            print(f"ok {self.number} - {name} # SKIP {reason}; needs {enable}", flush=True)

    def guard(self, function, *args):
        """Runs a test function; an exception is a failure of its own."""
        try:
            function(self, *args)
        except Exception:  # noqa: BLE001 - reported, not swallowed
            self.check(False, function.__name__, traceback.format_exc())

    def together(self, calls, at_once=4):
        """guard(*call) of each, some at a time: for tests that wait more than they work."""
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            for future in [pool.submit(self.guard, *call) for call in calls]:
                future.result()

    def done(self):
        print(f"1..{self.number}", flush=True)
        sys.exit(1 if self.failed or not self.number else 0)

    @staticmethod
    def named():
        """Names of tests on the command line; none: all are meant."""
        return {word for word in sys.argv[1:] if not word.startswith("-")}

    @classmethod
    def chosen(cls, *tests):
        """Returns those of the tests that the command line names, for files whose tests share something: others end
        with main()."""
        wanted = cls.named()
        return [test for test in tests if not wanted or test.__name__ in wanted]

    @classmethod
    def main(cls, *tests, skip=("", "", "")):
        """Runs the tests of a file, or those that the command line names, and exits. Each is a function, or a tuple of
        one and its arguments; those of a list run beside each other, as together() says. skip: the arguments of skip();
        the tests run when its reason is "" or None."""
        tap = cls()
        if skip[1]:
            tap.skip(*skip)
            tap.done()
        groups = [[test if isinstance(test, tuple) else (test,) for test in (some if isinstance(some, list) else [some])]
                  for some in tests]
        wanted = cls.named()
        unknown = wanted - {function.__name__ for group in groups for function, *_ in group}
        if unknown:
            sys.exit(f"no such test: {' '.join(sorted(unknown))}")
        for group in groups:
            calls = [call for call in group if not wanted or call[0].__name__ in wanted]
            if len(group) > 1:
                tap.together(calls)
            else:  # in the main thread, which may handle signals
                for call in calls:
                    tap.guard(*call)
        tap.done()


def stolen_s():
    """For how long the CPUs did not run that a virtual machine takes for its own. To the kernel that is a thread's
    time neither on a CPU nor waiting for one."""
    with open("/proc/stat") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


@functools.cache
def slowness():
    """How many times slower this machine's CPUs are than those for which the tests' few limits in ms were set; at least
    1. What is measured is libz, which is the same everywhere and leaves the caches to others; the best of many short
    runs has no interruption in it."""
    reference_s = 0.00096
    generator = random.Random(1)
    words = [bytes(generator.choices(b"abcdefghij_<>:", k=generator.randrange(3, 14))) for _ in range(400)]
    text = b" ".join(generator.choices(words, k=6000))
    best_s = 1.0
    for _ in range(50):
        begin = time.perf_counter()
        zlib.compress(text, 6)
        best_s = min(best_s, time.perf_counter() - begin)
    return max(1.0, best_s / reference_s)


def wait_until(condition, what, seconds=60.0):
    """Waits for an event; what is said when it does not come. The time is for a machine that has
    far more to do than it can."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise TimeoutError(f"waited {seconds} s for {what}")


@functools.cache
def public_directory():
    """A directory that every user may read, until the test ends."""
    directory = tempfile.mkdtemp(prefix="snapwalk-test-public-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.chmod(directory, 0o755)
    return directory


@functools.cache
def public(path):
    """A copy of a program or file for every user: the clone may be below a directory of mode 0700,
    where other users can run nothing."""
    copy = os.path.join(public_directory(), os.path.basename(path))
    shutil.copy(path, copy)
    os.chmod(copy, 0o755)
    return copy


class Target:
    """A program started by the test. It prints lines until 'ready'; they are in .lines.

    Ended by SIGKILL to exactly the pid that was started. As another user (user=) it is a copy that
    this user can run.
    """

    def __init__(self, name, *args, path=None, ready="ready", env=None, **popen):
        if path is None:
            path = os.path.join(TARGETS, name)
            debug = path + ".debug"
            if os.path.exists(debug):  # parsing has no right to look into a home of mode 0700
                path, _ = public(path), public(debug)
            elif "user" in popen:
                path = public(path)
        self.command = [path, *map(str, args)]
        self.ready = ready
        self.popen = popen
        self.env = env
        self.lines = []

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=self.env,
                                        **self.popen)
        self.pid = self.process.pid
        if self.ready:
            for line in self.process.stdout:
                line = line.rstrip("\n")
                if line == self.ready:
                    return self
                self.lines.append(line)
            raise RuntimeError(f"{self.command}: ended before '{self.ready}'")
        return self

    def readline(self):
        return self.process.stdout.readline().rstrip("\n")

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def hangs_s():
    """After how many seconds a command of ours is taken for one that hangs. A dump needs 0.05 s of CPU in some 30
    turns: beside 40 threads for two CPUs it took up to 10 s, with a lower priority than they have up to 20 s, of which
    it ran for 0.02 s, and twice more than 120 s where the load was above 100."""
    return 120 * min(10.0, max(1.0, os.getloadavg()[0] / os.cpu_count() / 5))


def snapwalk(*args, timeout=None, **run):
    """Runs the command; result has returncode, stdout, stderr as text. A command that stops a process, but not to look
    at the limits, is patient."""
    timeout = hangs_s() if timeout is None else timeout
    if args[:1] in (("record",), ("verify",), ("explain",)) and "--max-stop" not in args:
        args += PATIENT[:2] if args[0] == "record" else PATIENT
    run.setdefault("capture_output", True)
    program = public(SNAPWALK) if "user" in run else SNAPWALK
    result = subprocess.run([program, *map(str, args)], text=True, timeout=timeout, **run)
    advice_is_possible(args, result.stderr or "")
    return result


def advice_is_possible(args, said):
    """Raises when the command advises what cannot be done (cli/common/remedy.c)."""
    words = [str(word) for word in args]
    of_file = "--core" in words or "--fixture" in words or words[:1] == ["show"]
    at_most = "--stack-bytes" in words and words[words.index("--stack-bytes") + 1] in ("1G", str(1 << 30))
    for line in said.splitlines():
        if "more with --stack-bytes" in line and (of_file or at_most) or \
                of_file and any(word in line for word in ("--max-stop", "snapwalk doctor", "snapwalk verify")) or \
                "(memory_unreadable): try again" in line or \
                '"code":"memory_unreadable"' in line and '"remedy":"try again' in line:
            raise RuntimeError(f"snapwalk {' '.join(words)}: the advice cannot be followed: {line}")


def dump(target, *args, status=(0,)):
    """The JSON dump of a pid (or of other TARGET words) as Python data. Patient, unless args say
    otherwise."""
    words = [target] if not isinstance(target, (list, tuple)) else list(target)
    result = snapwalk("dump", "--json", *PATIENT, *args, *words)
    if result.returncode not in status:
        raise RuntimeError(f"snapwalk dump {words}: status {result.returncode}\n{result.stderr}")
    return json.loads(result.stdout)


patient_dump = dump  # where a test wants to say so


def may_be_realtime():
    """Whether a process of ours may have real-time priority."""
    command = [sys.executable, "-c", "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def iterator_refused():
    """Why the task iterator cannot be used here; "" when it can."""
    ran = subprocess.run([os.path.join(TARGETS, "drive_iterate"), "time", str(os.getpid()), "1"],
                         capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stdout.strip() or ran.stderr.strip()


def in_first_pid_namespace():
    """Elsewhere processes outside may hold what a thread waits for: nothing is proven of them."""
    return os.stat("/proc/self/ns/pid").st_ino == 0xEFFFFFFC  # PROC_PID_INIT_INO in include/linux/proc_ns.h


def state_of(pid, tid=None):
    """State letter of a thread, '' when it is gone."""
    try:
        with open(f"/proc/{pid}/task/{tid or pid}/stat", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@functools.cache
def no_mounts():
    """Why there can be no mount namespace for a test here, None when there can."""
    if os.geteuid() != 0:
        return "not root"
    try:
        result = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    except OSError as error:
        return f"unshare: {error.strerror}"
    # The private propagation that unshare gives to / needs / to be a mount point.
    return None if result.returncode == 0 else result.stderr.strip().replace("\n", "; ")


@functools.cache
def no_user_namespaces():
    """Why no user namespace can be made here, None when one can: the kernel refuses it in a plain chroot."""
    try:
        result = subprocess.run(["unshare", "--user", "true"], capture_output=True, text=True)
    except OSError as error:
        return f"unshare: {error.strerror}"
    return None if result.returncode == 0 else result.stderr.strip().replace("\n", "; ")


CORE_LIMIT_MIN = 64 << 20


@functools.cache
def no_kernel_core():
    """None when the kernel writes the core files of programs that this process starts from now on
    into their directories; else (why not, what would enable it)."""
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        return "kernel.core_pattern sends them elsewhere", "sysctl kernel.core_pattern=core"
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    except ValueError:  # more than the hard limit, without CAP_SYS_RESOURCE
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        if 0 <= hard < CORE_LIMIT_MIN:
            return (f"the hard limit of core files is {hard} bytes and may not be raised",
                    "ulimit -c unlimited, or CAP_SYS_RESOURCE")
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    return None


def tool(name):
    """Path of a program, None when it is not installed."""
    return shutil.which(name)


def call_of(pid, tid):
    """The number of the system call in which a thread sleeps, None when it does not."""
    try:
        with open(f"/proc/{pid}/task/{tid}/syscall") as call:
            number = call.read().split()[0]
    except OSError:
        return None
    return int(number) if number.isdigit() and state_of(pid, tid) == "S" else None


def wait_blocked(pid, calls=(34,), tids=None):
    """Waits until every thread sleeps in one of these system calls (34: pause)."""
    def all_blocked():
        return all(call_of(pid, tid) in calls for tid in tids or os.listdir(f"/proc/{pid}/task"))

    wait_until(all_blocked, f"all threads of {pid} to wait in {calls}")


class Shares(Target):
    """tests/targets/shares.c, when all that it has begun is where it is to be: it says "ready" before its threads
    have had a turn."""

    def __init__(self, blocked, *args, **more):
        super().__init__("shares", blocked, *args, **more)
        self.blocked = blocked

    def __enter__(self):
        super().__enter__()
        wait_until(self.settled, "its threads to wait")
        return self

    def settled(self):
        calls = [call_of(self.pid, tid) for tid in os.listdir(f"/proc/{self.pid}/task")]
        return calls.count(34) == self.blocked and call_of(self.pid, self.pid) == 0  # pause, read


def expected_stacks(lines):
    """{tid: [function, ...]} of the "stack TID f f f" lines that targets print, innermost first."""
    stacks = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "stack":
            tid, _, functions = rest.partition(" ")
            stacks[int(tid)] = functions.split(" ")
    return stacks


def errors_of(stderr):
    """[what is said of each error and warning] where JSON was asked for. [] when a line is something else."""
    try:
        said = [json.loads(line) for line in stderr.splitlines()]
    except ValueError:
        return []
    keys = {"about", "code", "message", "remedy"}
    return said if all(isinstance(one, dict) and keys >= one.keys() >= {"code", "message"} for one in said) else []


def summary_of(stderr):
    """Returns the words on a run of samples, a sentence in a line, also where JSON was asked for."""
    return "".join(one["message"] + "\n" for one in errors_of(stderr)) or stderr


def stack_of(report, tid):
    """The stack of a thread in a report, None when it was not captured."""
    thread = next(t for t in report["threads"] if t["tid"] == tid)
    return None if thread["stack"] is None else report["stacks"][thread["stack"]]


def module_of(report, frame):
    """Path of a frame's module, "" when it is in none."""
    return "" if frame["module"] is None else report["modules"][frame["module"]]["path"]


# These functions of libgcc overwrite what the functions on the way to an exception's handler had saved, which are never
# returned to, and go there.
INSTALLS = ("_Unwind_RaiseException", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow")


def is_handler(frames, i):
    """A frame is what libgcc is just going to: its tables no longer tell the caller, its code does."""
    return i > 0 and frames[i]["by"] == "instructions" and frames[i - 1]["function"] in INSTALLS


# Frames of these kinds stand beside the native ones that execute them.
INTERPRETED = ("cpython", "php", "ruby")


def pcs_of(report, tid):
    """The program counters of a thread's real frames, innermost first."""
    return [int(f["pc"], 16) for f in stack_of(report, tid)["frames"]
            if not f["inlined"] and f["kind"] not in INTERPRETED]


def same_stacks(tap, name, live, other):
    """Program counters, functions, end and trust of every thread."""
    tap.equal([t["tid"] for t in other["threads"]], [t["tid"] for t in live["threads"]],
              f"{name}: the same threads")
    for thread in live["threads"]:
        tid = thread["tid"]
        tap.equal(pcs_of(other, tid), pcs_of(live, tid), f"{name}: the same program counters")
        one, two = stack_of(other, tid), stack_of(live, tid)
        tap.equal([(f["function"], f["line"], f["trust"], f["by"]) for f in one["frames"]],
                  [(f["function"], f["line"], f["trust"], f["by"]) for f in two["frames"]],
                  f"{name}: the same names, lines and trust")
        tap.equal((one["end"], one["why"], one["id"]), (two["end"], two["why"], two["id"]),
                  f"{name}: the same end and id")


# Functions of a C library outside a thread's first function; they are in the program itself when it is static.
STARTUP = {"_start", "_start_c", "__libc_start_main", "__libc_start_main_impl",
           "__libc_start_call_main", "libc_start_main_stage2", "start_thread", "start", "clone3",
           "__clone3", "clone", "__clone"}


def own_functions(report, tid, modules=()):
    """A stack as targets print it: the functions of the program and of the modules named, without
    libraries and start-up code; "<signal>", "<null>" and "inlined:" as in target.h."""
    names = []
    exe = report["process"]["exe"].removesuffix(" (deleted)")
    for frame in stack_of(report, tid)["frames"]:
        path = module_of(report, frame)
        own = path == exe or os.path.basename(path) in modules
        function = frame["function"]
        if frame.get("signal"):
            names.append("<signal>")
        elif int(frame["pc"], 16) == 0:
            names.append("<null>")
        elif own and function not in STARTUP:
            name = re.sub(r" \[clone [^]]*\]$", "", function or "?")  # a cold part
            names.append(("inlined:" if frame["inlined"] else "") + name)
    return names
