#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 50s
"""The files of a release: the same bytes from another folder at another time, with all that they name, signed. And that
they can be made in a folder whose name has a space."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from harness import SNAPWALK, Tap

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
VERSION = "9.8.7"
SOURCES, PROGRAM = f"snapwalk-{VERSION}.tar.gz", f"snapwalk-{VERSION}-linux-x86_64.tar.gz"
BILL = f"snapwalk-{VERSION}.spdx.json"
# The command stands for the static file, which is tested by test_static.py.
STATIC = os.path.realpath(SNAPWALK)


def dist(place, out, mask, **environment):
    done = subprocess.run(["sh", "-c", f'umask {mask}; exec packaging/dist.sh "$0" {VERSION} "$1"', out, STATIC],
                          cwd=place, capture_output=True, text=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **environment})
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def small_tree(directory):
    """A clone as small as it can be, without git: what dist takes, and some sources."""
    for name in ("packaging", "man", "cli", "docs"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(directory, name),
                        ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "NEWS", "README.md", "SECURITY.md", "Makefile"):
        shutil.copy(os.path.join(ROOT, name), directory)
    os.makedirs(os.path.join(directory, "build-of-mine"))
    with open(os.path.join(directory, "build-of-mine", "object.o"), "w") as file:
        file.write("not a source\n")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def same_bytes(tap, directory):
    outs = []
    for name, mask, zone in (("first", "022", "UTC"), ("second and other", "077", "Asia/Tokyo")):
        place = os.path.join(directory, name)
        os.mkdir(place)
        small_tree(place)
        if name != "first":  # copied later, in another order, without rights for others
            for top, _, files in os.walk(place):
                for file in files:
                    path = os.path.join(top, file)
                    os.utime(path, (1, 1))
                    os.chmod(path, os.stat(path).st_mode & 0o700)
        outs.append(os.path.join(directory, f"out {name}"))
        dist(place, outs[-1], mask, TZ=zone, LC_ALL="C.UTF-8" if name == "first" else "C")
    names = sorted(os.listdir(outs[0]))
    tap.equal(names, sorted(["SHA256SUMS", SOURCES, PROGRAM, BILL]), "the files of a release")
    tap.equal([n for n in names if read(os.path.join(outs[0], n)) != read(os.path.join(outs[1], n))], [],
              "two builds have the same bytes")
    return outs[0]


def contents(tap, out):
    with tarfile.open(os.path.join(out, PROGRAM)) as tar:
        names = {re.sub(r"^[^/]*/", "", m.name): m for m in tar.getmembers()}
        tap.equal({m.uid for m in tar.getmembers()} | {m.mtime for m in tar.getmembers()}, {0, 1700000000},
                  "owner and time are not those of who builds")
    wanted = ["bin/snapwalk", "share/man/man1/snapwalk.1", "share/man/man1/snapwalk-sample.1", "share/man/man5/snapwalk-dump.5",
              "share/zsh/site-functions/_snapwalk", "share/doc/snapwalk/LICENSE",
              "share/doc/snapwalk/docs/runtimes.md"]
    tap.equal([n for n in wanted if n not in names], [], "the program, its pages, completions, the licence")
    tap.equal(names["bin/snapwalk"].mode, 0o755, "the program can be run")
    with tarfile.open(os.path.join(out, SOURCES)) as tar:
        names = {re.sub(r"^[^/]*/", "", name) for name in tar.getnames()}
    tap.check({"Makefile", "man/snapwalk.1", "packaging/dist.sh", "cli/main.c"} <= names, "the sources", names)
    tap.equal([n for n in names if n.startswith("build")], [], "and nothing that was built")
    done = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=out, capture_output=True, text=True)
    tap.equal((done.returncode, done.stderr), (0, ""), "the checksums are right")
    tap.equal({line.split()[1] for line in read(os.path.join(out, "SHA256SUMS")).decode().splitlines()},
              {SOURCES, PROGRAM, BILL}, "of each file")


def bill(tap, out):
    document = json.loads(read(os.path.join(out, BILL)))
    tap.equal((document["spdxVersion"], document["dataLicense"], document["creationInfo"]["created"]),
              ("SPDX-2.3", "CC0-1.0", "2023-11-14T22:13:20Z"), "SPDX: version, licence and time")
    ids = [p["SPDXID"] for p in document["packages"]]
    tap.equal(len(ids), len(set(ids)), "SPDX: each package once")
    ends = {r[k] for r in document["relationships"] for k in ("spdxElementId", "relatedSpdxElement")}
    tap.equal(ends, {*ids, "SPDXRef-DOCUMENT"}, "SPDX: each package has its relation, and none is of another")
    tap.equal([i for i in ids if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", i)], [], "SPDX: ids are ids")
    sums = dict(reversed(line.split()) for line in read(os.path.join(out, "SHA256SUMS")).decode().splitlines())
    said = {p["packageFileName"]: p["checksums"][0]["checksumValue"] for p in document["packages"] if "checksums" in p}
    tap.equal(said, {n: sums[n] for n in (SOURCES, PROGRAM)}, "SPDX: checksums of the archives")
    # The libraries that make links into the static file, by the names of the projects.
    projects = {"dw": "elfutils", "elf": "elfutils", "lzma": "liblzma", "deflate": "libdeflate", "z": "zlib",
                "bz2": "bzip2", "iberty": "libiberty"}
    text = subprocess.run(["make", "-s", "--eval", "said: ; @echo $(LIBS_STATIC)", "said"], cwd=ROOT, text=True,
                          capture_output=True, check=True, env={**os.environ, "MAKEFLAGS": ""}).stdout
    linked = {projects.get(word[2:], word[2:]) for word in text.split()} | {"glibc"}
    named = {p["name"] for p in document["packages"]}
    tap.equal(named - {"snapwalk", "snapwalk-sources"}, linked, "SPDX: each library of the static file")
    tap.equal([p["name"] for p in document["packages"] if not re.match(r"\d", p["versionInfo"])], [],
              "SPDX: each with its version")


def signed(tap, directory):
    if shutil.which("minisign") is None:
        tap.skip("a signature", "minisign is not installed", "package minisign")
        return
    place, out = os.path.join(directory, "first"), os.path.join(directory, "signed")
    key, public = os.path.join(directory, "key"), os.path.join(directory, "key.pub")
    subprocess.run(["minisign", "-G", "-W", "-s", key, "-p", public], check=True, capture_output=True)
    dist(place, out, "022", MINISIGN_KEY=key)
    check = ["minisign", "-V", "-p", public, "-m", os.path.join(out, "SHA256SUMS")]
    done = subprocess.run(check, capture_output=True, text=True)
    tap.check(done.returncode == 0 and f"snapwalk {VERSION}" in done.stdout, "the signature of the checksums is right",
              done.stdout + done.stderr)
    with open(os.path.join(out, "SHA256SUMS"), "a") as file:
        file.write("\n")
    tap.check(subprocess.run(check, capture_output=True).returncode != 0, "and is wrong for others")


def spaces(tap, directory):
    """The path of a folder with a space is in quotes in all that make runs there."""
    place = os.path.join(directory, "a clone")
    subprocess.run(["packaging/sources.sh", place], cwd=ROOT, check=True)
    environment = {**os.environ, "MAKEFLAGS": ""}
    # Without what looks for libraries and packages: only the commands are of interest.
    done = subprocess.run(["make", "-n", "-o", "needed", "-o", "deps-static", "-o", "deps-dist", "-o", "deps-deb", "-o", "deps-rpm",
                           "all", "static", "unit-tests", "fuzz-tests", "targets", "dist", "deb", "rpm", "install"],
                          cwd=place, env=environment, capture_output=True, text=True)
    tap.check(done.returncode == 0, "make runs in a folder with a space", done.stderr[-2000:])
    lines = [line for line in done.stdout.splitlines() if place in line]
    tap.check(lines, "some commands have the path of the folder")
    apart = [line for line in lines if place in re.sub("'[^']*'" + '|"[^"]*"', "", line)]
    tap.equal(apart[:3], [], "and each has it in quotes")


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        tap.guard(spaces, directory)
        out = same_bytes(tap, directory)
        for test, argument in ((contents, out), (bill, out), (signed, directory)):
            tap.guard(test, argument)
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
