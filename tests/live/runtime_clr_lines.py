#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 185s
"""Files and lines of managed frames, as the program's own StackTrace has them: with a PDB beside the
assembly, in it, of another build, without one; of code that was compiled in all ways.

SNAPWALK_STOPS=N: how many random stops (default 150)."""
import os
import re
import shutil
import subprocess
import tempfile

import dotnet
from daemon import PATIENT, Daemon
from harness import Target, dump, module_of, patient_dump, snapwalk, stack_of, tool

STOPS = int(os.environ.get("SNAPWALK_STOPS", "150"))


def own(report):
    """Frames of the program's own methods."""
    return [f for s in report["stacks"] for f in s["frames"]
            if f["kind"] == "clr" and (f["function"] or "").startswith("swnet.dll!")]


def pairs(truth, frames):
    """(frame, IL offset, line, file) of a stack where both speak of the same return address."""
    ours = [f for f in frames if f["kind"] == "clr"]
    at = 0
    for i, (offset, il, line, method, file) in enumerate(truth):
        for later in range(at, len(ours)):
            # The first one goes on to block.
            if i > 0 and offset > 0 and ours[later]["function_offset"] == offset and (
                    method in ours[later]["function"]):
                yield ours[later], il, line, file
                at = later + 1
                break


def check_lines(tap, what, target, least):
    """The lines of every stack; how many were compared."""
    report = patient_dump(target.pid)
    compared, absent, wrong = 0, [], []
    truth = target.lines_of()
    for tid, (name, frames) in truth.items():
        for frame, il, line, file in pairs(frames, stack_of(report, tid)["frames"]):
            if line == 0:
                # From a dynamic method on, .NET 8 knows no lines.
                if frame["line"] is not None and "swnet" in frame["function"] and (
                        name != "dynamic-method"):
                    wrong.append(f"{name}: {frame['function']} has {frame['line']}")
                continue
            compared += 1
            # Code that the compiler has added, such as the call of a finally block, is of no line.
            # StackTrace then shows the method's first one.
            if frame["line"] is None and il == 0:
                absent.append(f"{name}: {frame['function']}, they say {line}")
            elif (frame["file"], frame["line"]) != (file, line):
                wrong.append(f"{name}: {frame['function']} {frame['file']}:{frame['line']}, "
                             f"they say {file}:{line}")
    tap.check(len(truth) >= 45, f"{what}: {len(truth)} threads told their lines")
    tap.check(compared >= least and not wrong,
              f"{what}: {compared} frames, {compared - len(absent)} lines as StackTrace has them",
              "\n".join(wrong))
    tap.check(len(absent) <= 3, f"{what}: {len(absent)} of no line", "\n".join(absent))
    return report


def test_beside(tap):
    with dotnet.Program("stacks", "lines") as target:
        report = check_lines(tap, "beside", target, 100)
        frame = next(f for f in own(report) if f["line"])
        said = snapwalk("explain", target.pid, frame["pc"]).stdout
        tap.check(re.search(rf"clr: swnet.dll, token 0x060000[0-9a-f]{{2}}, .*: IL offset 0x[0-9a-f]+ "
                            rf"at {frame['file']}:{frame['line']}\n", said),
                  "beside: explain has token, IL offset and line", said)
        text = snapwalk("dump", target.pid, "--max-stop", 10000, "--timeout", 60000).stdout
        tap.check(re.search(r"SwNet.Stacks.Run\(string\[\]\)\+\d+ .* Stacks.cs:\d+\n", text),
                  "beside: text has them", text[:3000])
    foreign = [f for s in report["stacks"] for f in s["frames"] if f["kind"] == "clr" and f["line"]
               and not f["function"].startswith("swnet.dll!")]
    tap.equal(foreign, [], "beside: the framework has none")


def test_ways(tap):
    """Compiled at once, never anew, without optimisation, before the program ran."""
    for what, env in (("optimised", {"DOTNET_TieredCompilation": "0"}),
                      ("without quick", {"DOTNET_TC_QuickJitForLoops": "0"}),
                      ("instrumented", {"DOTNET_TieredPGO_InstrumentOnlyHotCode": "0",
                                        "DOTNET_TC_BackgroundWorkerTimeoutMs": "0",
                                        "DOTNET_TC_CallCountThreshold": "2"})):
        with dotnet.Program("stacks", "lines", env={**os.environ, **env}) as target:
            check_lines(tap, what, target, 60)
    directory = dotnet.build("net10.0", "-p:Optimize=false")
    with dotnet.Program("stacks", "lines", directory=directory) as target:
        check_lines(tap, "debug", target, 100)
    directory = dotnet.build("net10.0", "-p:PublishReadyToRun=true", "--no-self-contained")
    with dotnet.Program("stacks", "lines", directory=directory) as target:
        report = check_lines(tap, "ahead of time", target, 100)
    # Methods that were compiled ahead of time have their code in the image itself.
    ahead = [f for f in own(report) if module_of(report, f).endswith("swnet.dll")]
    tap.check(len(ahead) > 100 and all(f["line"] for f in ahead),
              f"ahead of time: {len(ahead)} frames, each has a line",
              [f["function"] for f in ahead if not f["line"]])


def test_embedded(tap):
    directory = dotnet.build("net10.0", "-p:DebugType=embedded")
    tap.check(not os.path.exists(os.path.join(directory, "swnet.pdb")), "embedded: no file")
    with dotnet.Program("stacks", "lines", directory=directory) as target:
        check_lines(tap, "embedded", target, 100)


def no_lines(tap, what, directory):
    with dotnet.Program("stacks", directory=directory) as target:
        report = patient_dump(target.pid)
        frames = own(report)
        tap.check(len(frames) > 100, f"{what}: {len(frames)} frames")
        tap.equal([f for f in frames if f["line"] or f["file"]], [], f"{what}: none has a line")
        pc = next(f["pc"] for f in frames if "Stacks.Run(" in f["function"])
        said = snapwalk("explain", target.pid, pc).stdout
        tap.check(re.search(r"clr: swnet.dll, token 0x060000[0-9a-f]{2}, .*IL offset 0x[0-9a-f]+\n",
                            said), f"{what}: module, token and IL offset are known", said)


def test_none(tap):
    no_lines(tap, "none", dotnet.build("net10.0", "-p:DebugType=none"))


def test_stale(tap):
    """A PDB of the same name, of another build."""
    other = dotnet.build("net10.0", "-p:DefineConstants=OTHER")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "out")
        shutil.copytree(dotnet.build(), path)
        shutil.copy(os.path.join(other, "swnet.pdb"), path)
        no_lines(tap, "stale", path)
        # Files that must not be opened, or not be waited for.
        os.unlink(os.path.join(path, "swnet.pdb"))
        os.mkfifo(os.path.join(path, "swnet.pdb"))
        no_lines(tap, "a pipe", path)
        os.unlink(os.path.join(path, "swnet.pdb"))
        os.symlink(os.path.join(dotnet.build(), "swnet.pdb"), os.path.join(path, "swnet.pdb"))
        no_lines(tap, "a link", path)


def test_readers(tap):
    """A PDB that the user of the process may not read, or not get at, is not shown to those who may see the dump.
    Capabilities count for root alone."""
    if os.geteuid() != 0:
        tap.skip("readers", "not root", tap.ROOT)
        return
    other = 65534
    open_to_all, limited = (0, 0, 0o755), "--bounding-set=-dac_override,-dac_read_search"
    for what, pdb, place, options, wanted in (
            ("another's, for all", (other, other, 0o644), open_to_all, limited, True),
            ("another's alone", (other, other, 0o600), open_to_all, limited, False),
            ("another's, for a group", (other, other, 0o640), open_to_all, limited, False),
            ("its own alone", (0, 0, 0o400), open_to_all, limited, True),
            ("its own group's", (other, 0, 0o640), open_to_all, limited, True),
            ("for all, in another's directory", (other, other, 0o644), (other, other, 0o700), limited, False),
            ("its own, in another's directory", (0, 0, 0o644), (other, other, 0o700), limited, False),
            ("for all, in a directory to pass through", (other, other, 0o644), (other, other, 0o711), limited, True),
            ("another's, of root with all capabilities", (other, other, 0o600), (other, other, 0o700), "--", True)):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "out")
            shutil.copytree(dotnet.build(), path)
            with Target(None, options, os.path.join(path, "swnet"), "stacks", path=tool("setpriv")) as target:
                # The assembly is mapped by now.
                for name, (uid, gid, mode) in (("swnet.pdb", pdb), ("", place)):
                    os.chown(os.path.join(path, name), uid, gid)
                    os.chmod(os.path.join(path, name), mode)
                lines = sum(f["line"] is not None for f in own(patient_dump(target.pid)))
        tap.equal(lines > 100, wanted, f"readers: {what}, {lines} lines")


def test_daemon(tap):
    """A worker has given up its privileges before it reads the PDB."""
    with dotnet.Program("stacks", "lines") as target, Daemon(PATIENT) as daemon:
        live = patient_dump(target.pid)
        report = daemon.client(0).call("Capture", target={"pid": target.pid})["dump"]
        told = target.lines_of()
    tap.equal([[(f["function"], f["file"], f["line"]) for f in stack_of(report, tid)["frames"]]
               for tid in told],
              [[(f["function"], f["file"], f["line"]) for f in stack_of(live, tid)["frames"]]
               for tid in told], f"daemon: {len(told)} stacks have the same lines")


def test_versions(tap):
    for framework in ("net9.0", "net8.0"):
        directory = dotnet.build(framework, "--self-contained")
        with dotnet.Program("stacks", "lines", directory=directory) as target:
            check_lines(tap, framework, target, 100)


def test_single_file(tap):
    for what, options in (("single file", ()),
                          ("single file, embedded", ("-p:DebugType=embedded",))):
        directory = dotnet.build("net10.0", "--self-contained", "-p:PublishSingleFile=true", *options)
        with dotnet.Program("stacks", "lines", directory=directory) as target:
            check_lines(tap, what, target, 100)


def test_recorded(tap):
    """A recording has the PDB; lines are the same."""
    with tempfile.TemporaryDirectory() as directory, dotnet.Program("stacks", "lines") as target:
        path = os.path.join(directory, "fixture")
        live = patient_dump(target.pid)
        snapwalk("record", target.pid, "-o", path, "--max-stop", 10000, check=True)
        again = dump(["--fixture", path], "--timeout", 60000)
        for tid in target.lines_of():
            tap.equal([(f["function"], f["file"], f["line"]) for f in stack_of(again, tid)["frames"]],
                      [(f["function"], f["file"], f["line"]) for f in stack_of(live, tid)["frames"]],
                      f"recorded: thread {tid}")


def test_core(tap):
    """The PDB beside the assembly, where the core file is looked at."""
    env = {**os.environ, "DOTNET_GCHeapHardLimit": "0x4000000"}
    with tempfile.TemporaryDirectory() as directory, dotnet.Program("stacks", "lines", env=env) as target:
        path = os.path.join(directory, "core")
        live = patient_dump(target.pid)
        subprocess.run(["gcore", "-o", path, str(target.pid)], check=True, capture_output=True)
        report = dump(["--core", f"{path}.{target.pid}"], "--timeout", 60000)
        told = target.lines_of()
    tap.equal([[(f["function"], f["line"]) for f in stack_of(report, tid)["frames"]
                if f["kind"] == "clr"] for tid in told],
              [[(f["function"], f["line"]) for f in stack_of(live, tid)["frames"]
                if f["kind"] == "clr"] for tid in told], f"core: lines of {len(told)} stacks")
    tap.check(sum(f["line"] is not None for f in own(report)) > 100, "core: there are some")


def test_edited(tap):
    """Where methods may be replaced while the program runs, its PDB may speak of others."""
    directory = dotnet.build("net10.0", "-p:Optimize=false")
    env = {**os.environ, "DOTNET_MODIFIABLE_ASSEMBLIES": "debug"}
    with dotnet.Program("stacks", directory=directory, env=env) as target:
        frames = own(patient_dump(target.pid))
    tap.equal([f["line"] for f in frames if f["line"]], [], f"edited: {len(frames)} frames, no line")


def spans(source):
    """{method: (first line, last line)}, by its indentation."""
    with open(os.path.join(dotnet.SOURCES, source), encoding="utf-8") as file:
        lines = file.read().split("\n")
    found = {}
    for i, line in enumerate(lines):
        head = re.match(r"(    +)(?:public |static |override |readonly )*[\w<>\[\].]+ (\w+)(?:<\w+>)?\(.*\)"
                        r"(?: where .*)?( =>.*)?$", line)
        if not head:
            continue
        last = i
        if head.group(3) is None:
            last = next(j for j in range(i + 1, len(lines)) if lines[j] == head.group(1) + "}")
        found.setdefault(head.group(2), []).append((i + 1, last + 1))
    return found


def test_storm(tap):
    """At random instants: a line of the method itself."""
    known, frames, lines, wrong = spans("Storm.cs"), 0, 0, set()
    with dotnet.Program("storm", 6) as target:
        for _ in range(STOPS):
            report = dump(target.pid, "--max-stop", 10000, "--timeout", 60000, status=(0, 3))
            for frame in own(report):
                method = re.match(r"swnet.dll!SwNet\.[\w+]+\.(\w+)[(\[]", frame["function"])
                if not method or method.group(1) not in known:
                    continue
                frames += 1
                if frame["line"] is None:
                    continue
                lines += 1
                if frame["file"] != "/src/Storm.cs" or not any(
                        first <= frame["line"] <= last for first, last in known[method.group(1)]):
                    wrong.add(f"{frame['function']} {frame['file']}:{frame['line']}")
    tap.check(len(known) > 10 and frames > STOPS * 10 and not wrong,
              f"storm: {lines} lines of {frames} frames lie in their methods", "\n".join(wrong))
    tap.check(lines > frames * 0.95, f"storm: {frames - lines} have none")


TESTS = (test_beside, test_ways, test_embedded, test_none, test_stale, test_readers, test_daemon,
         test_recorded, test_core, test_edited, test_storm, test_versions, test_single_file)


if __name__ == "__main__":
    dotnet.run(TESTS)
