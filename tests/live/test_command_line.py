#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 20s
"""The words that a newcomer types work, or are answered with what would: the options of other tools, help, files as
targets, mistyped words."""
import json
import os
import re
import signal
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(__file__))
from harness import PATIENT, SNAPWALK, Tap, Target, dump, gcore, snapwalk, state_of, tool, wait_until  # noqa: E402
from test_cli import Named  # noqa: E402

NO_PID = "999999999"


def refused(tap, words, pattern, name):
    result = snapwalk(*words)
    tap.check(result.returncode == 2 and re.search(pattern, result.stderr) and not result.stdout, name,
              f"status {result.returncode}\n{result.stdout}\n{result.stderr}\nwanted {pattern}")


def test_letters(tap):
    with Target("demo") as target:
        for words in (["-p", target.pid], [f"-p{target.pid}"], ["--pid", target.pid], [f"--pid={target.pid}"],
                      ["dump", "-p", target.pid]):
            result = snapwalk(*words, "--json", *PATIENT)
            tap.equal((result.returncode, json.loads(result.stdout)["process"]["pid"]), (0, target.pid),
                      f"the process of {words[0]}")
        result = snapwalk("sample", "-p", target.pid, "-d", "1s", "-r", "10", "-f", "json")
        profile = json.loads(result.stdout)
        tap.equal((profile["rate_hz"], profile["mode"]), (10, "wall"), "sample -p -d -r -f")
    for value, pattern in (("1x", r"'1x' is not a number"), ("25h", r"'25h' is out of range.*: give 0 to 24h"), ("s", "is not a number")):
        refused(tap, ["sample", "1", "-d", value], pattern, f"a duration that is none: {value}")


def test_help(tap):
    screen = snapwalk("--help").stdout
    tap.check(5 < len(screen.splitlines()) <= 24, "--help fits on a screen of 24 lines", screen)
    tap.equal(snapwalk("help").stdout, screen, "help is --help")
    commands = re.findall(r"^  ([a-z]+)", screen, re.M)
    for command in commands:
        tap.equal(snapwalk("help", command).stdout, snapwalk(command, "--help").stdout, f"help {command}")
    every = snapwalk("help", "--all").stdout
    tap.check(all(option in every for option in ("--rate", "--burst", "--unpin")), "help --all has all options")
    tap.equal(snapwalk("version").stdout, snapwalk("--version").stdout, "version is --version")
    result = snapwalk()
    tap.check(result.returncode == 2 and result.stdout == "" and len(result.stderr.splitlines()) <= 10
              and result.stderr.startswith("Usage: snapwalk PID"), "no word at all: usage in ten lines", result)


def test_mistakes(tap):
    for word, name in (("dmup", "dump"), ("sampel", "sample"), ("tpo", "top"), ("doctr", "doctor")):
        refused(tap, [word, "1"], rf"{word}: .*did you mean '{name}'\?", f"{word} may mean {name}")
    refused(tap, ["help", "dmup"], r"did you mean 'dump'\?", "help of a command that is none")
    refused(tap, ["dump", "--jsno", "1"], r"--jsno: no such option .*did you mean --json\?", "a mistyped option")
    refused(tap, ["nginx"], r"give a number, or --comm nginx", "a word like no command")
    refused(tap, ["/nonexistent/x"], r"there is no such file", "a path that leads nowhere")
    refused(tap, ["core.4194303"], r"there is no such file", "a core file that is not there")
    for words in (["top"], ["record", "-o", "x"]):
        refused(tap, [*words, "--", "sh", "-c", "exit 3"], rf"sh: {words[0]} starts no program, sample, on and leaks do "
                r"\(usage\): start it first", f"{words[0]} starts no program")
    refused(tap, [SNAPWALK], rf"it is a program, not a process .*'snapwalk sample -- {re.escape(SNAPWALK)}'",
            "a program is not dumped but may be started")
    with tempfile.TemporaryDirectory() as directory:
        script, text, made = (os.path.join(directory, n) for n in ("script", "text", "dump.json"))
        for path, content in ((script, "#!/bin/sh\n"), (text, "hello\n"), (made, '{"schema": 1}\n')):
            with open(path, "w") as file:
                file.write(content)
        os.chmod(script, 0o755)
        refused(tap, [script], "it is a program", "a script is a program")
        before = os.getcwd()
        os.chdir(directory)
        refused(tap, ["script"], r"'snapwalk sample -- \./script'", "a program without a slash is started from here")
        os.chdir(before)
        refused(tap, [text], "neither a core file, nor a minidump, nor a snapshot", "a file of something else")
        refused(tap, [made], "see it with 'snapwalk show ", "a file of JSON")
        refused(tap, [directory], "neither a core file, nor a minidump, nor a snapshot", "a directory")
        for schema, command in (("leaks", "leaks"), ("events", "on"), ("event", "on"), ("merge", "merge"), ("explain", "explain")):
            with open(made, "w") as file:
                file.write('{"schema":"snapwalk.%s/1"}\n' % schema)
            for reader in (["show"], ["merge"]):
                told = snapwalk(*reader, made).stderr
                tap.check(f"it is what 'snapwalk {command}' prints, not a dump (bad_format)" in told,
                          f"{reader[0]} of what {command} printed: {schema}", told)


def test_files(tap):
    with tempfile.TemporaryDirectory() as directory, Target("chain", "wait") as target:
        kept = os.path.join(directory, "kept")
        tap.equal(snapwalk("record", target.pid, "-o", kept).returncode, 0, "record")
        tap.equal(dump(kept)["process"]["pid"], target.pid, "a snapshot as an argument is dumped")
        refused(tap, ["top", kept], r"it is a snapshot .*'snapwalk dump ", "a snapshot is nothing for top")
        if tool("gdb") is None:
            tap.skip("a core file as an argument", "gdb is not installed", "package gdb")
            return
        core = os.path.join(directory, "core.123")
        gcore(target.pid, core)
        tap.equal(dump(core)["process"]["pid"], target.pid, "a core file as an argument is dumped")
        refused(tap, ["sample", core], r"it is a core file .*'snapwalk dump ", "a core file is nothing for sample")


def starts(path):
    with open(path, "rb") as file:
        return file.read(2000)


def test_formats(tap):
    """The name of the output file says the format; --format says it better."""
    with tempfile.TemporaryDirectory() as directory, Target("demo") as target:
        def made(command, name, *more):
            path = os.path.join(directory, name)
            result = snapwalk(command, "-p", target.pid, *(["-d", 1] if command == "sample" else []), "-o", path, *more)
            # 3: a machine that is busy has no time for some of the samples, or for names.
            tap.check(result.returncode in (0, 3), f"{command} -o {name}", result.stderr)
            return starts(path)

        for name, wanted in (("x.html", rb"(?i)^<!doctype html>"), ("x.pb.gz", b"^\x1f\x8b"), ("x.folded", rb"^\w[^\n]*;.* \d+\n"),
                             ("x.speedscope.json", rb"speedscope.app/file-format-schema"),
                             ("x.json", rb'"snapwalk.profile/1"'), ("x.svg", rb"^<\?xml [^\n]*\n<svg "),
                             ("x.other", rb"^\w[^\n]*;.* \d+\n")):
            tap.check(re.search(wanted, made("sample", name)), f"sample -o {name}: its format")
        tap.check(b"snapwalk.profile/1" in made("sample", "y.html", "-f", "json"), "--format says more than a name")
        tap.check(b"snapwalk.profile/1" in made("sample", "y", "--json"), "sample --json")
        picture = xml.etree.ElementTree.parse(os.path.join(directory, "x.svg"))
        titles = [e.text for e in picture.iter("{http://www.w3.org/2000/svg}title")]
        tap.check(any(t.startswith("all (") and t.endswith("100.0 %)") for t in titles)
                  and any(t.startswith(("auditor (", "worker (")) for t in titles),
                  "the picture is XML that has the functions", titles)
        tap.check(b'"snapwalk.dump/1"' in made("dump", "z.json"), "dump -o z.json is JSON")
        tap.check(re.search(rb"^\w[^\n]*;.* \d+\n", made("dump", "z.folded")), "dump -o z.folded")
        tap.check(b", pid " in made("dump", "z.txt"), "dump -o z.txt")
        tap.check(re.match(rb"\w[^\n]*;.* \d+\n", made("sample", "p.txt")), "sample -o p.txt has folded stacks")
        one = os.path.join(directory, "one.json")
        made("dump", "one.json")
        refused(tap, ["show", one, one, "-f", "html", "-o", os.path.join(directory, "two.html")], "a page is of one dump",
                "show: two dumps in one page")
        with Target("demo") as other, open(f"/proc/{other.pid}/comm") as comm:
            refused(tap, ["--comm", comm.read().strip(), "-o", os.path.join(directory, "three.html")],
                    "a page is of one dump", "--comm: two processes in one page")
        refused(tap, ["dump", target.pid, "-o", os.path.join(directory, "z.svg")], "dump cannot write svg",
                "a dump is no flame graph")


def test_stopped(tap):
    """A process that SIGSTOP holds: how it goes on is said, and its deadlock as if it ran."""
    with Target("locks") as target:
        wait_until(lambda: [state_of(target.pid, t) for t in os.listdir(f"/proc/{target.pid}/task")] == ["S"] * 3,
                   "its threads to block")
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: all(state_of(target.pid, t) == "T" for t in os.listdir(f"/proc/{target.pid}/task")), "it to stop")
        text = snapwalk(target.pid, *PATIENT).stdout
        tap.check(re.search(rf"^The process is stopped \(SIGSTOP.*by whom is not known\): kill -CONT\s+{target.pid} lets",
                            text, re.M), "a process that is stopped: how it goes on", text)
        report = dump(target.pid)
        tap.equal([len(d) for d in report["deadlocks"]], [2], "the program's deadlock is told")
        tap.equal({t["state"] for t in report["threads"]}, {"T"}, "the target is still stopped")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as kept:
            json.dump(report, kept)
            kept.flush()
            text = snapwalk("show", kept.name).stdout
        tap.check("The process was stopped (" in text and "kill -CONT" not in text, "a kept dump advises nothing", text)
        os.kill(target.pid, signal.SIGCONT)
        wait_until(lambda: state_of(target.pid) == "S", "it to go on")


def test_page(tap):
    """dump -o x.html: one page, whose data is the dump and the verdict of its text; names of the target are no markup."""
    with tempfile.TemporaryDirectory() as directory, Target("locks") as target:
        wait_until(lambda: [state_of(target.pid, t) for t in os.listdir(f"/proc/{target.pid}/task")] == ["S"] * 3,
                   "its threads to block")
        path = os.path.join(directory, "x.html")
        result = snapwalk("dump", target.pid, "-o", path, *PATIENT)
        tap.equal(result.returncode, 0, "dump -o x.html")
        with open(path) as file:
            page = file.read()
        data = re.search(r'<script id="dump" type="application/json">(.*?)</script>', page, re.S).group(1)
        tap.check("<" not in data and page.count("</script>") == 2, "no name ends the script", data[:300])
        made = json.loads(data)
        tap.equal((made["dump"]["process"]["pid"], len(made["dump"]["threads"])), (target.pid, 3), "the dump is in the page")
        tap.check(any(line.startswith("DEADLOCK") for line in made["verdict"]), "and the verdict", made["verdict"])
        tap.check(not re.search(r"(?:src|href)\s*=|url\((?!#)|@import", page), "nothing comes from elsewhere")
        with Named("<i></script>") as pid:
            tap.check(snapwalk("dump", pid, "-o", path, *PATIENT).returncode in (0, 3), "a process with a strange name")
        with open(path) as file:
            page = file.read()
        tap.check(page.count("</script>") == 2 and "<i>" not in page, "the process's name ends no script and is no markup")
        refused(tap, ["dump", target.pid, os.getpid(), "-o", path], "a page has one process", "a page of two processes")


def test_json(tap):
    """--json of each command that looks at a process: one object in a line, of a schema of its own."""
    with Target("locks") as target:
        for words, schema, members in ((["doctor", target.pid], "doctor", {"pid", "name", "allowed", "refused", "checks"}),
                                       (["doctor"], "doctor", {"name", "allowed", "refused", "checks"}),
                                       (["top", target.pid, "--count", 2, "--interval", 100], "top",
                                        {"time_ns", "process", "n_threads", "threads"}),
                                       (["verify", target.pid, *PATIENT], "verify", {"pid", "threads", "same", "different"})):
            result = snapwalk(*words, "--json")
            lines = result.stdout.splitlines()
            tap.equal(len(lines), 2 if schema == "top" else 1, f"{words[0]} --json: an object in a line")
            for line in lines:
                made = json.loads(line)
                tap.check(made["schema"] == f"snapwalk.{schema}/1" and members <= made.keys(), f"{words[0]} --json", made)
                if schema == "top":
                    tap.equal(sorted(t["tid"] for t in made["threads"]),
                              sorted(int(t) for t in os.listdir(f"/proc/{target.pid}/task")), "top --json: its threads")
                if schema == "doctor":
                    tap.equal((result.returncode == 0, made["refused"] == 0), (made["allowed"], made["allowed"]),
                              "doctor --json: its verdict is that of the status")
                    tap.equal({c["verdict"] for c in made["checks"]} - {"ok", "note", "refused"}, set(),
                              "doctor --json: its checks")


def test_json_explain(tap):
    """The facts that explain prints as text are in its JSON."""
    with Target("locks") as target:
        report = json.loads(snapwalk(target.pid, "--json", *PATIENT).stdout)
        pc = next(f["pc"] for s in report["stacks"] for f in s["frames"] if f["module"] >= 0)
        made = json.loads(snapwalk("explain", target.pid, pc, "--json").stdout)
        text = snapwalk("explain", target.pid, pc).stdout
        tap.equal((made["schema"], made["address"]), ("snapwalk.explain/1", pc), "explain --json: the address")
        tap.equal([f"{fact['by']}: {fact['text']}" for fact in made["facts"]],
                  [line for line in text.splitlines() if not line.startswith("symbol ")], "explain --json: the facts are the lines")
        tap.equal([s["function"] for s in made["symbols"]], re.findall(r"^symbol +([^+ ]+)", text, re.M), "... and the symbols")
        waiters = {}
        for thread in report["threads"]:
            if thread.get("blocked_on", {}).get("owner_tid") and thread["blocked_on"]["address"]:
                waiters.setdefault(thread["blocked_on"]["address"], []).append(thread)
        tap.check(waiters, "there are locks", report["threads"])
        for address, threads in waiters.items():
            lock = json.loads(snapwalk("explain", target.pid, "--lock", address, "--json").stdout)["lock"]
            on = threads[0]["blocked_on"]
            tap.equal((lock["kind"], lock["owner_tid"], lock["owner"]["tid"], [t["tid"] for t in lock["waiters"]]),
                      (on["kind"], on["owner_tid"], on["owner_tid"], [t["tid"] for t in threads]), f"explain --lock {address} --json")
            tap.check(all(len(t["functions"]) > 1 for t in lock["waiters"]), "... with functions", lock)


def test_json_errors(tap):
    """Where JSON is asked for, what is wrong is an object in a line, whatever the command line is; else a line of text."""
    cases = ((["--json", NO_PID], "no_such_process", 1), ([NO_PID, "--format=json"], "no_such_process", 1),
             (["dump", "-f", "json", NO_PID], "no_such_process", 1), (["sample", NO_PID, "-fjson"], "no_such_process", 1),
             (["explain", NO_PID, "0x10", "--json"], "no_such_process", 1), (["doctor", NO_PID, "--json"], "no_such_process", 1),
             (["list", "--json", "--socket", "/none"], "not_found", 1), (["dump", "--bad", "--json", "1"], "usage", 2),
             (["show", "--json", "/none.json"], "io", 1), (["a\"b\x1b", "--json"], "usage", 2))
    for words, code, status in cases:
        result = snapwalk(*words)
        lines = [json.loads(line) for line in result.stderr.splitlines()]
        tap.equal(([line["code"] for line in lines], result.returncode, result.stdout), ([code], status, ""), f"an error as JSON: {words}")
        tap.equal([{key for key in line if not isinstance(line[key], str)} | line.keys() - {"remedy"} for line in lines],
                  [{"about", "message", "code"}], f"its members: {words}")
    for words in ([NO_PID], ["dump", NO_PID, "-o", "x.json"], ["sample", NO_PID, "--", "--json"]):
        result = snapwalk(*words)
        tap.check(result.stderr.startswith("snapwalk: "), f"not asked for: {words}", result)
    with Target("threads", 2) as target:
        result = snapwalk(target.pid, "--json", "--depth", 1, *PATIENT)
        lines = [json.loads(line) for line in result.stderr.splitlines()]
        tap.equal((result.returncode, json.loads(result.stdout)["process"]["pid"]), (3, target.pid), "warnings: the dump is there")
        tap.check(lines and all(line["about"] == str(target.pid) for line in lines), "warnings are objects, too", result.stderr)


def test_few(tap):
    """A profile of few samples says so, with what to do; one of many does not."""
    with Target("demo") as target:
        result = snapwalk("sample", target.pid, "-d", 1, "-f", "text")
        tap.check(re.search(r"^only \d+ samples? came: shares may be far off \(±\); sample for longer, as with -d \d+",
                            result.stderr, re.M), "few samples: what to do", result.stderr)
        tap.check(re.search(r"^ *\d+\.\d % ±\d+ +\S", result.stdout, re.M), "each share has its margin", result.stdout)
        for args in (("-f", "folded"), ("-f", "text", "--mode", "off")):
            result = snapwalk("sample", target.pid, "-d", 1, *args)
            tap.check(result.stdout and "far off" not in result.stderr, f"{args[-1]}: without margins nothing is said of them",
                      result)


def test_existing(tap):
    with tempfile.TemporaryDirectory() as directory:
        result = snapwalk("record", os.getpid(), "-o", directory)
        tap.check(result.returncode == 1 and result.stderr == f"snapwalk: {directory}: it is there already (io): "
                  "choose another name\n", "record -o of a directory that is there", result)


if __name__ == "__main__":
    Tap.main(test_letters, test_help, test_mistakes, test_files, test_formats, test_stopped, test_page, test_json,
             test_json_explain, test_json_errors, test_few, test_existing)
