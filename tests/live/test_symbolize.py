#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Names that are added to a dump later are those that it would have had."""
import contextlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

from harness import TARGETS, Tap, Target, dump, public, slowness, snapwalk, state_of, wait_blocked, wait_until
from test_fixture import FIXTURES, opened

KEPT = ("php-8.2", "python-3.13.0", "hotspot-17")
SAID = "names here: "


def plain(report):
    """A dump without what differs from run to run."""
    for key in ("id", "seq", "timings"):
        report.pop(key)
    return report


def both(words, directory):
    """The dump of a fixture with names, and the path of one without."""
    path = os.path.join(directory, "bare.json")
    with open(path, "w") as file:
        json.dump(dump(words, "--symbols", "none", "--timeout", 0, status=(0, 3)), file)
    return plain(dump(words, "--timeout", 0, status=(0, 3))), path


def symbolized(path, *args, **run):
    got = snapwalk("symbolize", path, "--json", *args, **run)
    return plain(json.loads(got.stdout)), got


def test_kept(tap):
    """Fixtures of several languages; their modules are files of the fixture."""
    names = sorted(name for name in os.listdir(FIXTURES)
                   if os.path.exists(os.path.join(FIXTURES, name, "snapshot")))
    for name in names if "--all" in sys.argv else KEPT:
        with tempfile.TemporaryDirectory() as directory, opened(os.path.join(FIXTURES, name)) as fixture:
            wanted, path = both(["--fixture", fixture], directory)
            if any(module["build_id"] is None and module["format"] == "elf" for module in wanted["modules"]):
                continue
            got, _ = symbolized(path, "--from", os.path.join(fixture, "modules"))
            tap.equal(got, wanted, f"{name}: as if the names had been there")


def test_windows(tap):
    """Images of Windows programs, below a directory whose names say nothing."""
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(os.path.join(FIXTURES, "wine-10", "recorded.tar.xz")) as tar:
            tar.extractall(os.path.join(directory, "recorded"))
        fixture = os.path.join(directory, "recorded")
        wanted, path = both(["--fixture", fixture], directory)
        modules = os.path.join(directory, "modules")
        os.rename(os.path.join(fixture, "modules"), modules)
        named = {frame["function"] for stack in wanted["stacks"] for frame in stack["frames"] if frame["kind"] == "pe"}
        with open(path) as file:
            bare = {frame["function"] for stack in json.load(file)["stacks"] for frame in stack["frames"] if frame["kind"] == "pe"}
        tap.check(len(named) > 5 and bare == {None}, "a recorded program of Wine, with and without names", (named, bare))
        got, _ = symbolized(path, "--from", modules)
        tap.equal(got, wanted, "names of a Windows program, as if they had been there")


def test_deadlock(tap):
    """A deadlock of mutexes is found by names, which say who waits for whom."""
    with tempfile.TemporaryDirectory() as directory, \
            Target(None, "deadlock", path=public(os.path.join(TARGETS, "locks"))) as target:
        wait_until(lambda: all(state_of(target.pid, int(tid)) == "S"
                               for tid in os.listdir(f"/proc/{target.pid}/task")), "the deadlock")
        fixture = os.path.join(directory, "fixture")

        def recorded():  # it is a deadlock when it is older than the capture
            shutil.rmtree(fixture, ignore_errors=True)
            snapwalk("record", target.pid, "-o", fixture)
            return dump(["--fixture", fixture], status=(0, 3)).get("deadlocks")
        wait_until(recorded, "a fixture with the deadlock")
        wanted, path = both(["--fixture", fixture], directory)
        with open(path) as file:
            tap.check("deadlocks" not in json.load(file), "no deadlock is told without names")
        got, _ = symbolized(path)
        tap.equal(got, wanted, "the deadlock and the kinds of waits are told by names that came later")


def split(program, directory):
    """The program stripped, and its symbols; its build-id."""
    debug, stripped = (os.path.join(directory, name) for name in ("symbols", "stripped"))
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", "-o", stripped, program], check=True)
    notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True, text=True).stdout
    return stripped, debug, notes.split("Build ID: ")[1].split()[0]


def put(source, *path):
    path = os.path.join(*path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy(source, path)


def dump_of(tap, directory, stripped, debug):
    """The record of a stripped program has names by the files of a directory."""
    fixture, files = (os.path.join(directory, name) for name in ("stripped.fixture", "files"))
    put(debug, files, "symbols")
    os.chmod(stripped, 0o755)
    with Target(None, path=stripped) as target:
        wait_blocked(target.pid)
        snapwalk("record", target.pid, "-o", fixture)
    plain_names = [frame["function"] for frame in dump(["--fixture", fixture], status=(0, 3))["stacks"][0]["frames"]]
    report = dump(["--fixture", fixture, "--from", files], status=(0, 3))
    names = [frame["function"] for frame in report["stacks"][0]["frames"]]
    tap.check("main" not in plain_names and "main" in names and any(f["inlined"] for f in report["stacks"][0]["frames"]),
              "dump --fixture --from: names are added", (plain_names, names))


def test_places(tap):
    """The program is gone; its names are in a tree, in a cache, and among other files."""
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "bin", "inlines")
        put(os.path.join(TARGETS, "inlines"), program)
        with Target(None, path=program) as target:
            wait_blocked(target.pid)
            fixture = os.path.join(directory, "fixture")
            snapwalk("record", target.pid, "-o", fixture)
        wanted, path = both(["--fixture", fixture], directory)
        shutil.rmtree(fixture)
        stripped, debug, build_id = split(program, directory)
        tree, cache, loose, wrong = (os.path.join(directory, name) for name in ("tree", "cache", "loose", "wrong"))
        put(debug, tree, ".build-id", build_id[:2], build_id[2:] + ".debug")
        put(debug, cache, build_id, "debuginfo")
        put(debug, loose, "deep", "er", "any name")
        put(stripped, loose, "stripped")
        put(os.path.join(TARGETS, "chain"), wrong, ".build-id", build_id[:2], build_id[2:] + ".debug")
        no_cache = {**os.environ, "DEBUGINFOD_CACHE_PATH": directory + "/none", "HOME": directory,
                    "XDG_CACHE_HOME": directory}
        symbolized_without = {"env": no_cache}
        os.rename(program, program + ".away")
        for name, words, env in (
                ("a tree", ("--from", tree), no_cache),
                ("the client's layout", ("--from", cache), no_cache),
                ("the client's cache", (), {**no_cache, "DEBUGINFOD_CACHE_PATH": cache}),
                ("any directory", ("--from", wrong, "--from", loose), no_cache)):
            got, run = symbolized(path, *words, env=env)
            tap.equal(got, wanted, f"names from {name}")
            tap.check(SAID not in run.stderr, f"nothing is missing with {name}", run.stderr)
        tap.equal(plain(json.loads(snapwalk("show", path, "--json", "--from", tree, env=no_cache).stdout)), wanted,
                  "show --from: as symbolize")
        changed = os.path.join(directory, "changed.json")
        with open(path) as file, open(changed, "w") as other:
            report = json.load(file)
            report["stacks"][0]["frames"] = report["stacks"][0]["frames"][2:]
            json.dump(report, other)
        for words in (("merge", path, changed), ("diff", path, changed)):
            bare, named = (snapwalk(*words, *names, env=no_cache) for names in ((), ("--from", tree)))
            tap.check("inlines+0x" in bare.stdout and "inlines+0x" not in named.stdout and "main" in named.stdout and
                      SAID not in named.stderr, f"{words[0]} --from: names are added first", (bare.stdout, named))
            run = snapwalk(*words, "--from", wrong, env=no_cache)
            tap.equal(run.stderr.count(SAID), 1, f"{words[0]} --from: what is missing is said once")
        dump_of(tap, directory, stripped, debug)
        put(os.path.join(TARGETS, "chain"), program)
        got, run = symbolized(path, "--from", wrong, **symbolized_without)
        tap.check(all(frame["function"] is None for stack in got["stacks"] for frame in stack["frames"]
                      if got["modules"][frame["module"]]["path"] == program),
                  "a file with another build-id gives no names")
        got = snapwalk("symbolize", path, path, "--from", wrong, **symbolized_without)
        tap.equal((got.returncode, got.stderr.count(SAID)), (0, 1), "what is missing is said once")
        tap.check("1 file has no names here: inlines" in got.stderr and "--from DIR" in got.stderr,
                  "with the file and the command", got.stderr)


def without_names(profile):
    """A profile as it is where no file has names: inlined calls are part of the function that they are in."""
    def is_of_file(frame):
        return frame["module"] is not None and frame["kind"] in ("native", "pe")
    frames, nodes, numbers, became = {}, {}, [], []
    for parent, number in profile["nodes"]:
        frame = dict(profile["frames"][number])
        above = None if parent is None else became[parent]
        if is_of_file(frame):
            if frame.get("inlined"):
                became.append(above)
                continue
            frame.update(function=None, file=None, line=0)
        frame = frames.setdefault(json.dumps(frame), len(frames))
        became.append(nodes.setdefault((above, frame), len(nodes)))
    for sample in profile["samples"]:
        if sample["node"] is not None:
            sample["node"] = became[sample["node"]]
    profile["frames"] = [json.loads(text) for text in frames]
    profile["nodes"] = list(nodes)
    return profile


def test_profile(tap):
    """A profile whose names are taken away and added again is the same in all formats."""
    with tempfile.TemporaryDirectory() as directory, \
            Target(None, path=public(os.path.join(TARGETS, "inlines"))) as target:
        named, bare = (os.path.join(directory, name) for name in ("named.json", "bare.json"))
        wait_blocked(target.pid)
        snapwalk("sample", target.pid, "--duration", 1, "--format", "json", "-o", named)
        with open(named) as file:
            profile = json.load(file)
        profile["processes"] = [{**process, "unit": "some.service", "container": "c0ffee" * 10}
                                for process in profile["processes"]]
        with open(named, "w") as file, open(bare, "w") as other:
            json.dump(profile, file)
            json.dump(without_names(profile), other)
        tap.equal(json.loads(snapwalk("symbolize", bare, "--json").stdout)["processes"], profile["processes"],
                  "unit and container of a process stay")
        wanted = snapwalk("show", named, "--format", "folded").stdout
        tap.check("inlines+0x" in snapwalk("show", bare, "--format", "folded").stdout and "inlines+0x" not in wanted,
                  "a profile without names")
        for form in ("folded", "speedscope", "firefox"):
            tap.equal(snapwalk("symbolize", bare, "--format", form).stdout,
                      snapwalk("show", named, "--format", form).stdout, f"{form}: as if the names had been there")
        gone = without_names(json.loads(snapwalk("symbolize", bare, "--json").stdout))
        for module in gone["modules"]:
            module["build_id"] = "00" * 20
        with open(bare, "w") as file:
            json.dump(gone, file)
        got = snapwalk("symbolize", bare, "--format", "folded")
        tap.check("main" not in got.stdout and SAID in got.stderr, "files with other build-ids give no names", got)


def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes((value,)))


def message(*fields):
    """Protocol buffers: (number, an integer, text, or a message)."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def code_segment(program):
    """Where the code of a program is in its file and in memory: offset, address, size."""
    headers = subprocess.run(["readelf", "-lW", program], check=True, capture_output=True, text=True).stdout
    words = next(line.split() for line in headers.splitlines() if "LOAD" in line and " R E " in line)
    return int(words[1], 16), int(words[2], 16), int(words[5], 16)


def foreign(path, program, build_id, addresses, start, limit, offset):
    """A profile of pprof as profilers write it that know no names: one sample with these addresses, innermost first."""
    strings = ["", "samples", "count", program, build_id, "inuse_space", "bytes"]
    with open(path, "wb") as file:
        file.write(message((1, message((1, 1), (2, 2))), (1, message((1, 5), (2, 6))),
                           (2, message(*((1, i + 1) for i in range(len(addresses))), (2, varint(7) + varint(1)))),
                           (3, message((1, 1), (2, start), (3, limit), (4, offset), (5, 3), (6, 4))),
                           *((4, message((1, i + 1), (2, 1), (3, address))) for i, address in enumerate(addresses)),
                           *((6, text) for text in strings)))


def test_pprof(tap):
    """Profiles of pprof get the names that those of our own form get; so do those of other profilers."""
    for name in ("inlines", "chain_nopie"):
        with tempfile.TemporaryDirectory() as directory, \
                Target(None, path=public(os.path.join(TARGETS, name))) as target:
            own, pprof = (os.path.join(directory, file) for file in ("own.json", "own.pb.gz"))
            wait_blocked(target.pid)
            snapwalk("sample", target.pid, "--duration", 1, "--symbols", "none", "-o", own)
            snapwalk("show", own, "-o", pprof)
            tap.check(f"{name}+0x" in snapwalk("show", own, "--format", "folded").stdout, f"{name}: a profile without names")
            for words in (("show",), ("symbolize",))[name != "inlines":]:  # a mapping does not tell where the code is linked to
                for form in ("folded", "svg"):
                    tap.equal(snapwalk(*words, pprof, "--format", form).stdout,
                              snapwalk(*words, own, "--format", form).stdout, f"{name}: {words[0]} {form}: as of JSON")
            again = os.path.join(directory, "named.pb.gz")
            snapwalk("symbolize", pprof, "-o", again)
            tap.equal(snapwalk("show", again, "--format", "folded").stdout,
                      snapwalk("symbolize", own, "--format", "folded").stdout, f"{name}: written as pprof, with names")
            with open(own + ".later", "w") as file:
                json.dump(without_names(json.loads(snapwalk("symbolize", pprof, "--json").stdout)), file)
            tap.equal(snapwalk("symbolize", own + ".later", "--format", "folded").stdout,
                      snapwalk("symbolize", own, "--format", "folded").stdout, f"{name}: addresses of the file, later")
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(TARGETS, "inlines")
        stripped, debug, build_id = split(program, directory)
        put(debug, directory, "debug", "symbols")
        put(stripped, directory, "whole", "stripped")
        put(debug, directory, "whole", "symbols")
        offset, svma, size = code_segment(program)
        names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
        main = next(int(line.split()[0], 16) for line in names.splitlines() if line.endswith(" T main"))
        start, path, gone = 0x5500000000, os.path.join(directory, "foreign.pprof"), "/gone/inlines"
        for what, addresses, mapping in (
                ("its code alone is mapped", [start + main - svma], (start, start + (size + 0xfff & ~0xfff), offset)),
                ("all of it is mapped", [start + main], (start, start + 0x10000, 0)),
                ("addresses are those of the file", [main], (0, 0, 0))):
            foreign(path, gone, build_id, addresses, *mapping)
            for where in ("whole", "debug"):
                got = snapwalk("symbolize", path, "--format", "folded", "--from", os.path.join(directory, where))
                tap.equal((got.stdout, got.returncode), ("inlines;main 7\n", 0), f"{what}: names by {where}")
            tap.check("left out: 1 kind of values" in got.stderr, "what is left out is said", got.stderr)
            for form in ("json", "pb.gz"):  # nothing here has the code: names are for another machine
                later = os.path.join(directory, f"later.{form}")
                snapwalk("symbolize", path, "-o", later)
                got = snapwalk("symbolize", later, "--format", "folded", "--from", os.path.join(directory, "whole"))
                tap.equal(got.stdout, "inlines;main 7\n", f"{what}: names by a {form} without")
        foreign(path, gone, build_id, [start + main - svma], start, start + main - svma + 1, offset)
        for where, name in (("whole", "main"), ("debug", f"inlines+{offset + main - svma:#x}")):
            got = snapwalk("symbolize", path, "--format", "folded", "--from", os.path.join(directory, where))
            tap.equal(got.stdout, f"inlines;{name} 7\n", f"a part of its code is mapped: {where}")
        foreign(path, gone, build_id, [start + 0x9000], start, start + 0x10000, 0)
        got = snapwalk("symbolize", path, "--format", "folded", "--from", os.path.join(directory, "whole"))
        tap.equal(got.stdout, "inlines;inlines+0x9000 7\n", "an address that is in no code has no name")
        # Folded stacks have names of files alone: one in a directory that is given, if there is one of that name.
        put(stripped, directory, "named", "inlines")
        put(debug, directory, "named", "inlines.debug")
        foreign(path, "inlines", "", [start + main], start, start + 0x10000, 0)
        got = snapwalk("symbolize", path, "--format", "folded", "--from", os.path.join(directory, "named"))
        tap.equal(got.stdout, f"inlines;inlines+{main:#x} 7\n", "a mapping without a build-id is in no file by its name")
        put(stripped, directory, "two", "a", "inlines")
        put(debug, directory, "two", "a", "inlines.debug")
        with open(program, "rb") as file, open(os.path.join(directory, "other"), "wb") as other:
            other.write(file.read().replace(bytes.fromhex(build_id), bytes.fromhex(build_id)[::-1]))
        put(os.path.join(directory, "other"), directory, "two", "b", "inlines")
        folded = os.path.join(directory, "stacks.folded")
        with open(folded, "w") as file:
            file.write(f"worker;known;gone.so+0x12;inlines+{main + 1:#x};inlines+{main:#x} 7\nworker;known 1\n")
        for where, names in (("named", "main;main"), ("two", f"inlines+{main + 1:#x};inlines+{main:#x}")):
            got = snapwalk("symbolize", folded, "--format", "folded", "--from", os.path.join(directory, where))
            tap.equal((got.stdout, got.returncode), (f"worker;known;gone.so+0x12;{names} 7\nworker;known 1\n", 0),
                      f"folded stacks: names by {where}")
            tap.check("gone.so (which has no build-id)" in got.stderr, "a file that is not there is said", got.stderr)
        with open(folded, "a") as file:
            file.write("no count\n")
        got = snapwalk("symbolize", folded)
        tap.check(got.returncode == 1 and "line 3 is no folded stack" in got.stderr, "another line is refused", got)
        for command in ("merge", "diff"):
            got = snapwalk(command, path, path)
            tap.check(got.returncode != 0 and "it is a profile, not a dump" in got.stderr, f"{command} refuses a profile", got)


class Server(http.server.BaseHTTPRequestHandler):
    """A debuginfod that has one file, and may be one that never answers."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.server.is_silent:
            self.server.over.wait()
            return
        known = self.path == f"/buildid/{self.server.build_id}/debuginfo"
        self.send_response(200 if known else 404)
        data = b""
        if known:
            with open(self.server.file, "rb") as file:
                data = file.read()
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(file, build_id, is_silent=False):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.daemon_threads, server.block_on_close = True, False
    server.file, server.build_id, server.is_silent, server.asked = file, build_id, is_silent, []
    server.over = threading.Event()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()


def test_debuginfod(tap):
    """A server is asked only when told, once for each file, and its silence ends in time."""
    if shutil.which("debuginfod-find") is None:
        tap.skip("debuginfod", "debuginfod-find is not installed", "package debuginfod")
        return
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "inlines")
        put(os.path.join(TARGETS, "inlines"), program)
        with Target(None, path=program) as target:
            wait_blocked(target.pid)
            fixture = os.path.join(directory, "fixture")
            snapwalk("record", target.pid, "-o", fixture)
        wanted, path = both(["--fixture", fixture], directory)
        shutil.rmtree(fixture)
        _, debug, build_id = split(program, directory)
        os.remove(program)
        env = {**os.environ, "DEBUGINFOD_CACHE_PATH": os.path.join(directory, "cache")}
        with serving(debug, build_id) as (server, url):
            _, run = symbolized(path, env={**env, "DEBUGINFOD_URLS": url})
            tap.equal((server.asked, run.stderr.count(SAID)), ([], 1), "no server is asked unless told")
            got, run = symbolized(path, f"--debuginfod={url}", env=env)
            tap.equal(got, wanted, "names of a server")
            tap.equal(server.asked.count(f"/buildid/{build_id}/debuginfo"), 1, "it is asked once")
        got, _ = symbolized(path, env=env)
        tap.equal(got, wanted, "from then on they are in the cache")
        env["DEBUGINFOD_CACHE_PATH"] += ".2"
        with serving(debug, build_id, is_silent=True) as (server, url):
            begin = time.monotonic()
            got, run = symbolized(path, "--debuginfod", "--timeout", 2000, env={**env, "DEBUGINFOD_URLS": url})
            lasted = time.monotonic() - begin
            tap.check(lasted < 2 * slowness(), "a silent server is waited for at most three quarters", lasted)
            tap.check("did not answer in time" in run.stderr and len(server.asked) == 1,
                      "a silence shorter than a limit of the client in whole seconds is said", (run.stderr, server.asked))
            libc = [frame for stack in got["stacks"] for frame in stack["frames"]
                    if "libc" in got["modules"][frame["module"]]["path"]]
            tap.check(libc and all(frame["function"] for frame in libc), "names that are here are there", libc)
        with serving(debug, build_id) as (_, url):
            refusing = url
        got, run = symbolized(path, f"--debuginfod={refusing}", env=env)
        tap.check("no server could be asked: Connection refused" in run.stderr, "a server that refuses is said", run.stderr)
        with serving("", "") as (server, url):
            got, run = symbolized(path, f"--debuginfod={refusing} {url}", env=env)
            tap.check("could be asked" not in run.stderr and server.asked, "one of two that refuses is not", run.stderr)
        del env["DEBUGINFOD_CACHE_PATH"]
        run = snapwalk("symbolize", path, "--debuginfod", env={**env, "DEBUGINFOD_URLS": ""})
        tap.check(run.returncode == 2 and "no server is known" in run.stderr, "without a server it is refused", run)


def test_refused(tap):
    with tempfile.NamedTemporaryFile(suffix=".json") as empty:
        for command in ("symbolize", "show"):
            got = snapwalk(command, empty.name, timeout=20)
            tap.equal((got.returncode, got.stderr.count("bad_format")), (1, 1), f"{command}: an empty file is refused once")
    for words, status, why in ((("x.json", "--from", "/nowhere"), 2, "is no directory"), ((), 2, "no dump is given"),
                               (("x.json", "--from", ""), 2, "the value is empty"),
                               (("x.json", "--debuginfod=notaurl"), 2, "no address of a server"),
                               (("x.json", "--debuginfod=http://a b"), 2, "no address of a server")):
        got = snapwalk("symbolize", *words)
        tap.check(got.returncode == status and why in got.stderr and got.stdout == "", f"refused: {why}", got)
    got = snapwalk("dump", os.getpid(), "--from", "/tmp")
    tap.check(got.returncode == 2 and "--from: belongs to --core" in got.stderr, "refused: dump --from of a process", got)


if __name__ == "__main__":
    Tap.main(test_kept, test_windows, test_deadlock, test_places, test_profile, test_pprof, test_debuginfod, test_refused)
