#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Names out of packages that lie in a directory of --from."""
import contextlib
import io
import lzma
import os
import shutil
import signal
import struct
import subprocess
import tarfile
import tempfile
import time
import zlib

from harness import SNAPWALK, TARGETS, Tap, Target, seeded, slowness, snapwalk, wait_blocked, wait_until
from test_symbolize import SAID, both, put, split, symbolized

PROCESS = "snapwalk-pack"


def ar(parts):
    """ar(5), as .deb has it: deb(5)."""
    out = b"!<arch>\n"
    for name, data in parts:
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return out


def tar(files, more=()):
    """files: (name, contents); more: headers alone."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for entry in more:
            archive.addfile(entry)
    return out.getvalue()


def deb(path, data, ending=".xz"):
    with open(path, "wb") as file:
        file.write(ar([("debian-binary", b"2.0\n"), ("control.tar.xz", lzma.compress(tar([("./control", b"Package: x\n")]))),
                       ("data.tar" + ending, data)]))


def gzip(data):
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, check=True, capture_output=True).stdout


def rpm(path, files):
    """A lead, two headers of one tag each, and a cpio: rpm-package-format(5)."""
    header = b"\x8e\xad\xe8\x01" + struct.pack(">IIIIIIII", 0, 1, 8, 1000, 6, 0, 1, 0)[:28] + b"package\0"
    cpio = b""
    for name, data in [*files, ("TRAILER!!!", b"")]:
        fields = (1, 0o100644 if data else 0, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        cpio += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        cpio += b"\0" * (-len(cpio) % 4) + data + b"\0" * (-len(data) % 4)
    with open(path, "wb") as file:
        file.write(struct.pack(">IBBHH66sHH16x", 0xedabeedb, 3, 0, 0, 1, b"package", 1, 5) + header + b"\0" * (-len(header) % 8) +
                   header + lzma.compress(cpio))


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Case:
    """A dump without names of a program that is gone, and its debug file."""

    def __init__(self, directory):
        program = os.path.join(directory, "bin", "inlines")
        put(os.path.join(TARGETS, "inlines"), program)
        with Target(None, path=program) as target:
            wait_blocked(target.pid)
            fixture = os.path.join(directory, "fixture")
            snapwalk("record", target.pid, "-o", fixture)
        self.wanted, self.path = both(["--fixture", fixture], directory)
        shutil.rmtree(fixture)
        _, self.debug, self.build_id = split(program, directory)
        os.rename(program, os.path.join(directory, "away"))
        self.name = f"./usr/lib/debug/.build-id/{self.build_id[:2]}/{self.build_id[2:]}.debug"
        self.files = [("./usr/share/doc/x/copyright", b"nobody's\n" * 1000), (self.name, read(self.debug))]
        self.temporary, self.packages = (os.path.join(directory, name) for name in ("temporary", "packages"))
        os.mkdir(self.temporary)
        self.env = {**os.environ, "TMPDIR": self.temporary, "HOME": directory, "XDG_CACHE_HOME": directory,
                    "DEBUGINFOD_CACHE_PATH": directory + "/none"}

    def begin(self):
        """An empty directory for packages."""
        shutil.rmtree(self.packages, ignore_errors=True)
        os.mkdir(self.packages)
        return self.packages

    def named(self, tap, what, *words, said=None):
        """Names come, though packages may be wrong: that is said."""
        got, run = symbolized(self.path, "--from", self.packages, *words, env=self.env)
        tap.equal(got, self.wanted, f"names from {what}")
        tap.check(SAID not in run.stderr and run.returncode == 0, f"nothing is missing with {what}", run.stderr)
        if said is None:
            tap.equal(run.stderr, "", f"nothing is said of {what}")
        else:
            tap.check(said in run.stderr, f"what is wrong is said of {what}", run.stderr)
        self.gone(tap, what)

    def gone(self, tap, what):
        wait_until(lambda: not os.listdir(self.temporary), f"nothing is left of {what}")
        tap.equal(os.listdir(self.temporary), [], f"nothing that was unpacked is left of {what}")


@contextlib.contextmanager
def case():
    with tempfile.TemporaryDirectory() as directory:
        yield Case(directory)


def test_kinds(tap):
    """Packages of Debian and RPM, however they are packed."""
    with case() as c:
        for ending, pack in ((".xz", lzma.compress), (".gz", gzip), (".zst", zstd), ("", lambda data: data)):
            deb(os.path.join(c.begin(), "x-dbgsym_1_amd64.deb"), pack(tar(c.files)), ending)
            c.named(tap, f"a .deb, data.tar{ending}")
        rpm(os.path.join(c.begin(), "x-debuginfo-1.x86_64.rpm"), c.files)
        c.named(tap, "a .rpm")
        deb(os.path.join(c.begin(), "x.ddeb"), lzma.compress(tar(c.files)))
        os.makedirs(os.path.join(c.packages, "deep", "er"))
        os.rename(os.path.join(c.packages, "x.ddeb"), os.path.join(c.packages, "deep", "er", "x.ddeb"))
        c.named(tap, "a .ddeb further below")
        tree = os.path.join(c.begin(), "tree")
        put(c.debug, tree, "usr", "lib", "debug", "x.debug")
        put(os.path.join(TARGETS, "chain"), tree, "usr", "bin", "chain")
        os.mkdir(os.path.join(tree, "DEBIAN"))
        with open(os.path.join(tree, "DEBIAN", "control"), "w") as file:
            file.write("Package: x-dbgsym\nVersion: 1\nArchitecture: amd64\nMaintainer: X <x@example.org>\nDescription: x\n")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, os.path.join(c.packages, "x.deb")], check=True,
                       capture_output=True)
        shutil.rmtree(tree)
        c.named(tap, "a package that dpkg-deb made")
        # The same without packages: the test would notice names that come from elsewhere.
        c.begin()
        _, run = symbolized(c.path, "--from", c.packages, env=c.env)
        tap.check(SAID in run.stderr, "without a package there are no names", run.stderr)


def entry(name, kind, link="", size=0):
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, size
    return made


def test_hostile(tap):
    """A hostile package writes nothing elsewhere, and the others are read."""
    with case() as c:
        outside = os.path.join(os.path.dirname(c.packages), "outside")
        good = os.path.join("packages", "z-good.deb")

        def with_good(what, said):
            deb(os.path.join(os.path.dirname(c.packages), good), lzma.compress(tar(c.files)))
            c.named(tap, what, said=said)
            tap.check(not os.path.exists(outside), f"nothing was written elsewhere by {what}")
        other = read(os.path.join(TARGETS, "chain"))
        links = [entry("./usr/lib/debug", tarfile.SYMTYPE, os.path.dirname(outside)), entry("partial", tarfile.SYMTYPE, outside),
                 entry(c.build_id, tarfile.SYMTYPE, "/etc"), entry("./hard", tarfile.LNKTYPE, outside),
                 entry("./device", tarfile.CHRTYPE), entry("./fifo", tarfile.FIFOTYPE)]
        files = [("./usr/lib/debug/outside", other), (outside, other), ("../../../outside", other), ("/".join(["long"] * 20000), other),
                 ("\x1b[31m\nname", other)]
        begin = c.begin()
        with open(os.path.join(begin, "a.deb"), "wb") as file:
            data = tar([], links)[:512 * len(links)] + tar(files)
            file.write(ar([("debian-binary", b"2.0\n"), ("data.tar.xz", lzma.compress(data))]))
        with_good("links and names that lead out", None)
        c.begin()
        with open(os.path.join(c.packages, "a.deb"), "w") as file:
            file.write("no package\n")
        with_good("a file that is none", "a.deb: it is no package of Debian or RPM")
        c.begin()
        os.mkfifo(os.path.join(c.packages, "a.deb"))
        os.symlink("/dev/zero", os.path.join(c.packages, "b.deb"))
        with_good("a FIFO and a link", None)
        c.begin()
        huge = entry("./huge", tarfile.REGTYPE, size=1 << 40).tobuf(tarfile.GNU_FORMAT)
        deb(os.path.join(c.packages, "a.deb"), lzma.compress(huge))
        with_good("a file of 1 TiB", "a.deb: its files are too large")
        c.begin()
        deb(os.path.join(c.packages, "a.deb"), lzma.compress(tar(c.files))[:-200])
        with_good("a package that is cut", "a.deb: it is broken: ")
        whole = {}
        deb(os.path.join(c.begin(), "a.deb"), lzma.compress(tar(c.files)))
        whole["a.deb"] = read(os.path.join(c.packages, "a.deb"))
        rpm(os.path.join(c.packages, "a.rpm"), c.files)
        whole["a.rpm"] = read(os.path.join(c.packages, "a.rpm"))
        rng = seeded(36)
        wrong = []
        for name, data in whole.items():
            c.begin()
            for i in range(40):
                changed = bytearray(data)
                for _ in range(rng.randrange(1, 4)):
                    changed[rng.randrange(len(changed) if i % 2 else 300)] = rng.randrange(256)
                with open(os.path.join(c.packages, f"{i:02d}{name}"), "wb") as file:
                    file.write(changed[:rng.randrange(len(data))] if i % 4 == 3 else changed)
            for words in ((), ("--symbols", "names")):
                run = snapwalk("symbolize", c.path, "--from", c.packages, "--json", *words, env=c.env)
                if run.returncode != 0:
                    wrong.append((name, run))
        tap.equal(wrong, [], "packages with bytes that were changed")
        c.gone(tap, "packages with bytes that were changed")


def bomb(path, files=()):
    """Files, and 15 GiB of zeros in some MB: a file of that size, and many streams of xz."""
    begin = b"".join(entry(name, tarfile.REGTYPE, size=len(data)).tobuf(tarfile.GNU_FORMAT) + data + b"\0" * (-len(data) % 512)
                     for name, data in files)
    header = entry("./zeros", tarfile.REGTYPE, size=15 << 30).tobuf(tarfile.GNU_FORMAT)
    deb(path, lzma.compress(begin + header) + lzma.compress(b"\0" * (64 << 20)) * 240)


def processes():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == PROCESS:
                    found.append(int(pid))
    return found


def environment_has(pid, word):
    with contextlib.suppress(OSError):
        return word.encode() in read(f"/proc/{pid}/environ")
    return False


def test_time(tap):
    """A package that never ends costs its share of the time limit, and the command's end ends all."""
    with case() as c:
        bomb(os.path.join(c.begin(), "a.deb"))
        begin = time.monotonic()
        got, run = symbolized(c.path, "--from", c.packages, "--timeout", 2000, env=c.env)
        lasted = time.monotonic() - begin
        tap.check(lasted < 2 * slowness(), "a bomb is unpacked for three quarters of the time limit", lasted)
        tap.check("not read in time" in run.stderr and SAID in run.stderr, "that it was not read is said", run.stderr)
        libc = [frame for stack in got["stacks"] for frame in stack["frames"] if "libc" in got["modules"][frame["module"]]["path"]]
        tap.check(libc and all(frame["function"] for frame in libc), "names that are here are there", libc)
        c.gone(tap, "a bomb")

        def ours():
            return [pid for pid in processes() if environment_has(pid, c.temporary)]
        tap.equal(ours(), [], "no process is left")
        other = read(split(os.path.join(TARGETS, "chain"), os.path.dirname(c.packages))[1])
        bomb(os.path.join(c.packages, "a.deb"), [("./usr/lib/debug/chain", other), *c.files])

        def unpacked():
            return [name for top in os.listdir(c.temporary) for name in os.listdir(os.path.join(c.temporary, top))
                    if name != "partial"]
        for number in (signal.SIGKILL, signal.SIGINT):
            with subprocess.Popen([SNAPWALK, "symbolize", c.path, "--from", c.packages, "--timeout", "0"], env=c.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
                wait_until(lambda: c.build_id in unpacked(), "a file that was unpacked")
                tap.equal((unpacked(), len(ours())), ([c.build_id], 2),
                          "no other debug file is unpacked, by a process that another one waits for")
                run.send_signal(number)
                run.wait()
            c.gone(tap, f"a command that {signal.Signals(number).name} ended")
            wait_until(lambda: not ours(), "the end of both processes")
            tap.equal(ours(), [], f"no process is left by {signal.Signals(number).name}")


def test_dwz(tap):
    """A file that nobody has asked for is unpacked when a debug file needs it: dwz's."""
    if shutil.which("dwz") is None:
        tap.skip("dwz", "dwz is not installed", "package dwz")
        return
    with tempfile.TemporaryDirectory() as directory:
        for name in ("inlines", "chain"):
            shutil.copy(os.path.join(TARGETS, name), os.path.join(directory, name))
        subprocess.run(["dwz", "-m", "common", "inlines", "chain"], cwd=directory, check=True, capture_output=True)
        tap.check(os.path.exists(os.path.join(directory, "common")), "dwz made a common file")
        program = os.path.join(directory, "inlines")
        with Target(None, path=program) as target:
            wait_blocked(target.pid)
            snapwalk("record", target.pid, "-o", os.path.join(directory, "fixture"))
        os.makedirs(os.path.join(directory, "given"))
        _, debug, _ = split(program, directory)
        shutil.copy(debug, os.path.join(directory, "given", "inlines.debug"))
        shutil.copy(os.path.join(directory, "common"), os.path.join(directory, "given", "common"))
        _, path = both(["--fixture", os.path.join(directory, "fixture")], directory)
        shutil.rmtree(os.path.join(directory, "fixture"))
        os.remove(program)
        env = {**os.environ, "HOME": directory, "XDG_CACHE_HOME": directory, "DEBUGINFOD_CACHE_PATH": directory + "/none"}
        wanted, _ = symbolized(path, "--from", os.path.join(directory, "given"), env=env)
        os.mkdir(os.path.join(directory, "packages"))
        deb(os.path.join(directory, "packages", "x.deb"), lzma.compress(tar(
            [("./usr/lib/debug/.dwz/common", read(os.path.join(directory, "common"))), ("./usr/lib/debug/x.debug", read(debug))])))
        got, run = symbolized(path, "--from", os.path.join(directory, "packages"), env=env)
        tap.equal(got, wanted, "names of a file that dwz has made smaller, and of the common one")
        tap.check(any(frame["inlined"] for stack in wanted["stacks"] for frame in stack["frames"]), "it has inlined calls", run.stderr)


def test_library(tap):
    """Without libarchive the command says what to install; without packages it does not need it."""
    with case() as c:
        deb(os.path.join(c.begin(), "x.deb"), lzma.compress(tar(c.files)))
        broken = os.path.join(os.path.dirname(c.packages), "libarchive.so.13")
        with open(broken, "wb") as file:
            file.write(b"\0" * 4096)
        env = {**c.env, "LD_LIBRARY_PATH": os.path.dirname(broken)}
        _, run = symbolized(c.path, "--from", c.packages, env=env)
        tap.check("packages need libarchive" in run.stderr and "apt install libarchive13" in run.stderr and SAID in run.stderr,
                  "a library that cannot be loaded is said", run.stderr)
        put(c.debug, c.begin(), "x.debug")
        got, run = symbolized(c.path, "--from", c.packages, env=env)
        tap.equal((got, run.stderr), (c.wanted, ""), "without packages it is not needed")


if __name__ == "__main__":
    Tap.main(test_kinds, test_hostile, test_time, test_dwz, test_library)
