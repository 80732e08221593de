#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 90s
"""Python on CPython: blocked threads against the interpreter's own view, and stops anywhere in busy code.

Looks at every CPython of this machine: Debian's, and those of pyenv. SNAPWALK_PYTHON_STOPS sets how many
stops of the busy program there are with each (200), SNAPWALK_PYTHONS which (a word of their versions).
"""
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

from harness import TARGETS, Tap, Target, patient_dump, snapwalk, stack_of, wait_until
from judge import Judge, cut_in_stack, scaled

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "python")
BUSY, BLOCKED, MANY, INTERPRETERS, CALLS_PROGRAM = (os.path.realpath(os.path.join(PROGRAMS, name)) for name in (
    "busy.py", "blocked.py", "many.py", "interpreters.py", "calls.py"))
STOPS = int(os.environ.get("SNAPWALK_PYTHON_STOPS", "200"))
LOOP = "_PyEval_EvalFrameDefault"
CONNECTIONS = 5

# The callers of each function in busy.py; a function that is not here is called by the standard library.
CALLERS = {
    "f6": {"f5", "Callable.__init__", "Callable.__call__", "Callable.__lt__"},
    "Callable.__init__": {"f5"}, "Callable.__call__": {"f5"}, "Callable.__lt__": {"f5"},
    "f5": {"f4.<locals>.inner"}, "f4.<locals>.inner": {"f4"}, "f4": {"generate", "more"},
    "more": {"generate"}, "generate": {"f3"}, "f3": {"f2", "f2.<locals>.<listcomp>"},
    "f2.<locals>.<listcomp>": {"f2"}, "f2": {"f1"}, "f1": {"descend"}, "descend": {"descend", "run"},
    "run": {"main", "Thread.run"}, "main": {"<module>"}, "Thread.run": {"Thread._bootstrap_inner"},
    "Thread._bootstrap_inner": {"Thread._bootstrap"}, "<module>": {None}, "Thread._bootstrap": {None},
}
CALLS = {  # what the line of a call has in it, where it is not the called function's name
    "Callable.__init__": "Callable(", "Callable.__call__": "Callable(n)(n)", "Callable.__lt__": "sorted(",
    "f2.<locals>.<listcomp>": "for m in", "f4.<locals>.inner": "inner(", "<module>": "",
}


VERSION = "import platform, sysconfig as s; print(platform.python_version() + 't' * bool(s.get_config_var('Py_GIL_DISABLED')))"


def interpreters():
    """{version: path} of what is installed; builds without the GIL are "3.14.0t"."""
    found = {}
    paths = glob.glob("/usr/bin/python3.[0-9]*") + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.[0-9]*"))
    for path in sorted(paths):
        if not re.search(r"/python3\.\d+$", path):
            continue
        version = subprocess.run([path, "-c", VERSION], capture_output=True, text=True).stdout.strip()
        if os.environ.get("SNAPWALK_PYTHONS", "") in version:
            found[version] = path
    return found


def minor(version):
    return int(version.split(".")[1])


def python_frames(stack):
    return [f for f in stack["frames"] if f["kind"] == "cpython"]


def text_of(stack):
    return "\n".join([f"{stack['end']}: {stack['why']}"] + [
        f"{f['pc']} {f['function']} {f['file']}:{f['line']} {f['kind']} {f['by']} {f['trust']}"
        f"{' internal' if f.get('internal') else ''}" for f in stack["frames"]])


def lacks(stack):
    """Returns what the stack itself says that it lacks, or that it does not know; None when it is nothing."""
    doubt = "a doubt" if any(f.get("live_read") or f.get("may_miss") for f in stack["frames"]) else None
    return cut_in_stack(stack) or doubt


def wrong_in_stack(stack):
    """Returns what is wrong with a stack of a thread of Python, or None."""
    frames = [f for f in stack["frames"] if not f["inlined"]]
    if lacks(stack) is not None:
        return lacks(stack)
    if any(f["function"] is None for f in frames if f["kind"] == "cpython"):
        return "a frame without a name"
    # An activation of the loop that is being entered or left, before all others, has no frame of its own.
    loops = [i for i, f in enumerate(frames) if (f["function"] or "").split(".")[0] == LOOP]
    first = next((i for i, f in enumerate(frames) if f["kind"] == "cpython"), None)
    for i in loops:
        if not frames[i].get("internal") and (first is None or i > first):
            return f"the loop at {i} has no frames"
    return None


def without_scopes(name):
    """As versions before 3.11 call it."""
    return name.rpartition(".")[2]


def wrong_in_chain(stack, version, source):
    wrong = wrong_in_stack(stack)
    if wrong is not None:
        return wrong
    frames = python_frames(stack)
    names = [f["function"] for f in frames]
    if not frames:
        return "no Python frames"
    callers = CALLERS
    if minor(version) <= 10:
        callers = {}
        for name, allowed in CALLERS.items():
            callers.setdefault(without_scopes(name), set()).update(c and without_scopes(c) for c in allowed)
    for i, name in enumerate(names):
        caller = names[i + 1] if i + 1 < len(names) else None
        if name not in callers:
            return f"{name}: not of the program"
        if caller not in callers[name]:
            return f"{name} called by {caller}"
        if caller is None or frames[i + 1]["file"] != BUSY:
            continue
        line = source[frames[i + 1]["line"] - 1] if frames[i + 1]["line"] else ""
        wanted = [text for called, text in CALLS.items() if name in (called, without_scopes(called))]
        if not any(text in line for text in wanted or [name]):
            return f"{caller} calls {name} at {frames[i + 1]['line']}: {line!r}"
    return None


def check_busy(tap, version, path):
    with open(BUSY) as text:
        source = text.read().splitlines()
    with Target("python", BUSY, 3, path=path) as target, Judge(tap, "python.busy", version) as judge:
        # A thread that was just made is still in what makes threads.
        wait_until(lambda: all(wrong_in_chain(s, version, source) is None for s in patient_dump(
            target.pid, status=(0, 3))["stacks"]), "all to be busy")
        for look in judge.series(target.pid, STOPS):
            for stack in (stack_of(look.report, thread["tid"]) for thread in look.report["threads"]):
                judge.verdict(look, lacks(stack), wrong_in_chain(stack, version, source), text_of(stack))
    tap.equal(judge.stacks, 3 * scaled(STOPS), f"{version}: the stacks are those of all threads")


def ours(report, tid):
    stack = stack_of(report, tid)
    return stack and [[f["function"], f["file"], f["line"]] for f in python_frames(stack)]


def check_blocked(tap, version, path):
    with Target("python", BLOCKED, path=path) as target:
        port = next((line.split()[1] for line in target.lines if line.startswith("port")), None)
        port = port or target.readline().split()[1]
        sockets = [socket.create_connection(("127.0.0.1", int(port))) for _ in range(CONNECTIONS)]
        theirs, names, report = {}, {}, None

        def alike():
            nonlocal theirs, names, report
            target.send("")
            said = {int(tid): each for tid, each in json.loads(target.readline()).items()}
            theirs = {tid: chain for tid, (_, chain) in said.items()}
            names = {tid: name for tid, (name, _) in said.items()}
            report = patient_dump(target.pid, "--depth", 8192)
            return len(theirs) >= 15 + CONNECTIONS and all(
                ours(report, tid) == chain for tid, chain in theirs.items())
        try:
            wait_until(alike, "the same frames")  # until all have come to where they wait
        except Exception:  # noqa: BLE001 - what differs is said below
            pass
        for tid, chain in sorted(theirs.items()):
            name = f"{version}: {chain[-1 if len(chain) < 4 else -4][0]}: {len(chain)} frames"
            tap.equal(ours(report, tid), chain, f"{name} as the interpreter says")
            tap.equal(wrong_in_stack(stack_of(report, tid)), None, f"{name}: complete, nothing guessed")
        tap.check(len(theirs) >= 15 + CONNECTIONS, f"{version}: {len(theirs)} threads to compare")
        order_is(tap, version, report, theirs)
        found = [r for r in report["process"]["runtimes"] if r["name"] == "cpython"]
        tap.equal([r["version"] for r in found], [version if minor(version) > 10 else version.rpartition(".")[0]],
                  f"{version}: recognised once, with its version")
        notes = [t["managed"] for t in report["threads"] if t["tid"] in theirs]
        tap.check(all(n and n["runtime"] == "cpython" for n in notes), f"{version}: the interpreter's threads are known", notes)
        found = {t["tid"]: t["managed"]["name"] for t in report["threads"] if t["tid"] in names and t["managed"]}
        tap.equal(found, names, f"{version}: the interpreter's threads have the names that the program gave them")
        text_is_short(tap, version, target.pid, theirs)
        explained(tap, version, target.pid, stack_of(report, target.pid))
        for each in sockets:
            each.close()


def explained(tap, version, pid, stack):
    """The pc of a frame is explained: the instruction of a code object, which may be asked for, too."""
    wrong, asked = [], python_frames(stack)[:4]
    for f in asked:
        wanted = f": {f['function']} at {f['file']}:{f['line']}, CPython {version if minor(version) > 10 else version.rpartition('.')[0]}"
        said = [line for line in snapwalk("explain", "--max-stop", "60000", pid, f["pc"]).stdout.splitlines()
                if line.startswith("cpython: ")]
        found = re.fullmatch(r"cpython: code object (0x[0-9a-f]+), bytecode offset (\d+) of (\d+)(: .*)", said[0]) if len(said) == 1 else None
        if not found or found.group(4) != wanted or int(found.group(2)) >= int(found.group(3)):
            wrong.append((said, wanted))
            continue
        of_code = snapwalk("explain", "--max-stop", "60000", pid, found.group(1)).stdout
        if f"cpython: code object {found.group(1)}: {f['function']} at {f['file']}:" not in of_code:
            wrong.append((of_code, wanted))
    tap.check(asked and not wrong, f"{version}: the addresses of {len(asked)} frames are explained", wrong[:1])


def order_is(tap, version, report, theirs):
    """Native functions that the program calls, or that call it, stay where they are. The C library may have no
    name for what starts a thread."""
    tid = next(tid for tid, chain in theirs.items() if any(c[0].endswith("in_c_library") for c in chain))
    names = [f["function"] for f in stack_of(report, tid)["frames"] if not f.get("internal")]
    places = [next((i for i, name in enumerate(names) if re.search(wanted, name or "")), None)
              for wanted in (r"^(\w+\.<locals>\.|in_c_library\.<locals>\.)?compare$", r"^(msort_with_tmp|__?qsort_r|qsort)",
                             r"^in_c_library$", r"^(Thread\.)?run$", r"^(start_thread|clone3?|__clone3)$")]
    if places[-1] is None and names[-1] is None:
        places[-1] = len(names) - 1
    tap.check(None not in places and places == sorted(places),
              f"{version}: a function of C stands between those of Python", f"{places}\n" + "\n".join(map(str, names)))


def text_is_short(tap, version, pid, theirs):
    """The interpreter's own frames are in JSON and with -v only."""
    text = snapwalk("dump", "--max-stop", "60000", "--timeout", "60000", pid).stdout
    verbose = snapwalk("dump", "--max-stop", "60000", "--timeout", "60000", "-v", pid).stdout
    tap.check(f"  {LOOP}" not in text and "frames of the interpreter (-v)" in text and "(python)" in text,
              f"{version}: the text leaves the loop out", text[:4000])
    # The cold part of the loop, where a call goes on (GCC 16), has no name in a program without symbols.
    tap.check(re.search(rf" ({LOOP}|python{version.rpartition('.')[0]}\+0x)", verbose),
              f"{version}: but not with -v", verbose[:4000])


def check_many(tap, version, path):
    """Copies of stacks are not read again, word by word, while nothing of the process may run."""
    n = 100
    with Target("python", MANY, n, path=path) as target:
        report = patient_dump(target.pid)
        names = {t["managed"]["name"] for t in report["threads"] if t["managed"]}
        tap.check({f"many-{i}" for i in range(n)} <= names, f"{version}: names of {n} threads", sorted(names))
        reads = subprocess.run([os.path.join(TARGETS, "drive_reads"), str(target.pid)], check=True,
                               capture_output=True, text=True).stdout
        print(f"# {version}: {reads}", end="")
        if minor(version) >= 11:  # before, nothing of the interpreter is on stacks
            tap.check(json.loads(reads)["calls"] < 12 * n, f"{version}: few system calls for {n} threads", reads)


# The functions of interpreters.py, with the line of the call in each, from the outermost one.
IN_ANOTHER = [("Thread._bootstrap", None), ("Thread._bootstrap_inner", None), ("Thread.run", None),
              ("run_in_another", 30), ("<module>", 12), ("s1", 10), ("s2", 7), ("s2.<locals>.<listcomp>", 7), ("s3", 5),
              ("s4", 3), ("s4.<locals>.<genexpr>", 3)]


def wrong_in_another(stack, version):
    """Returns what is wrong with a thread that runs an interpreter of its own: its frames there, and their caller in
    the first one."""
    wrong = wrong_in_stack(stack)
    if wrong is not None:
        return wrong
    chain = [call for call in IN_ANOTHER if minor(version) < 12 or "listcomp" not in call[0]]  # compiled in since
    if minor(version) <= 10:
        chain = [(without_scopes(name), line) for name, line in chain]
    frames = python_frames(stack)[::-1]
    if len(frames) > len(chain):
        return f"{len(frames)} frames"
    for frame, (name, line) in zip(frames, chain):
        if frame["function"] != name:
            return f"{frame['function']} for {name}"
        if line is not None and frame is not frames[-1] and frame["line"] != line:
            return f"{name} at {frame['line']}, not {line}"
    return None if len(frames) > 4 else "nothing of the other interpreter"


def check_interpreters(tap, version, path):
    """Each thread runs in an interpreter of its own, from 3.12 on without waiting for the others."""
    with Target("python", INTERPRETERS, path=path) as target, Judge(tap, "python.interpreters", version) as judge:
        wait_until(lambda: sum("s1" in [f["function"] for f in python_frames(s)] for s in patient_dump(
            target.pid, status=(0, 3))["stacks"]) == 2, "both to be busy")
        for look in judge.series(target.pid, STOPS // 2):
            for tid in (thread["tid"] for thread in look.report["threads"] if thread["tid"] != target.pid):
                stack = stack_of(look.report, tid)
                judge.verdict(look, lacks(stack), wrong_in_another(stack, version), text_of(stack))
    tap.equal(judge.stacks, 2 * scaled(STOPS // 2), f"{version}: the stacks are those of both threads")


def check_refused(tap, version, path):
    with Target("python", BUSY, path=path) as target:
        report = patient_dump(target.pid, status=(0, 3))
        stack = stack_of(report, target.pid)
        tap.equal(python_frames(stack), [], f"{version}: no frames")
        tap.check(not any(f.get("internal") for f in stack["frames"]), f"{version}: nothing is called internal")
        said = [w["message"] for w in report["warnings"] if "3.8" in w["message"]]
        tap.check(said, f"{version}: says why", report["warnings"])


# The functions of calls.py that are on the stack, for each pair of its os.getppid().
CALLS_MADE = [["second", "main", "<module>"], ["item", "main", "<module>"], ["generate", "main", "<module>"]]


def check_calls(tap, version, path):
    """A function that has just been called, before it is linked to its caller: it leads to what was there before."""
    what = f"{version}: functions that are called"
    if not shutil.which("gdb"):
        tap.skip(what, "gdb is not installed", "package gdb")
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gdb", "-batch", "-nx", "-x", os.path.join(os.path.dirname(os.path.abspath(__file__)), "gdb_calls.py"),
                        "--args", path, "-I", "-S", CALLS_PROGRAM], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=300,
                       env=dict(os.environ, FOLDER=folder, PREVIOUS=str({11: 48, 12: 8}[minor(version)]),
                                CALLS=str(len(CALLS_MADE))))
        with open(os.path.join(folder, "orders")) as orders:
            places, early = map(int, orders.read().split())
        tap.check(places, f"{version}: {places} places of the loop link a frame, in {early} it is the innermost one before")
        cores = sorted((int(n), int(i)) for n, i in (
            name.split(".")[0].split("-") for name in os.listdir(folder) if name.endswith(".core")))
        wrong = []
        for n, i in cores:
            stack = patient_dump(["--core", os.path.join(folder, f"{n}-{i}.core")])["stacks"][0]
            if [f["function"] for f in python_frames(stack)] != CALLS_MADE[n] or wrong_in_stack(stack):
                wrong.append(f"{n}, instruction {i}\n{text_of(stack)}")
        if cores:
            tap.check(not wrong, f"{what}: their callers at {len(cores)} instructions", "\n".join(wrong[:3]))
        else:
            tap.skip(f"{what}: their callers", "this build links all that calls.py calls before they are the innermost ones",
                     "a CPython 3.11 or 3.12 of another compiler")


def main():
    tap = Tap()
    found = interpreters()
    tap.check(any(minor(version) >= 8 for version in found), "there is a CPython", shutil.which("python3"))
    for version, path in found.items():
        if minor(version) < 8:
            tap.guard(check_refused, version, path)
            continue
        tap.guard(check_blocked, version, path)
        if minor(version) in (11, 12):
            tap.guard(check_calls, version, path)
        tap.guard(check_busy, version, path)
        tap.guard(check_interpreters, version, path)
        tap.guard(check_many, version, path)
    tap.done()


if __name__ == "__main__":
    main()
