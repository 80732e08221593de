#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 15s
"""The files that are built and installed: exported symbols, hardening, chosen paths, the compiler's flags."""
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

from harness import BUILD, Tap

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
LIBRARIES = {"libwalk": "libwalk", "libsnapwalk-symbolizer": "symbolizer",
             "libsnapwalk-protocol": "protocol"}
PROGRAMS = ("snapwalk", "snapwalkd", "snapwalk-gate", "snapwalk-ship")
# Each path in units, pages or programs that the Makefile can change; /run and /var/lib are fixed.
DEFAULTS = r"/etc/snapwalk|/usr/s?bin/snapwalk|/usr/share/snapwalk|^(?:prefix|\w+dir|ExecStart)=\"?/usr\b"
USE = """#include <snapwalk/protocol.h>
#include <snapwalk/varlink.h>
int main(void)
{
	struct sw_context *ctx = NULL;
	int r = sw_context_create(&ctx, NULL);
	sw_context_destroy(ctx);
	return r < 0 || sw_varlink_interface_snapwalk[0] == 0 || sw_symbol_source_name(0) == NULL;
}
"""


def output(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout


def library(name):
    return os.path.join(BUILD, "lib", f"{name}.so.0")

# The archives of libraries that the command needs; see LIBS_STATIC of the Makefile.
ARCHIVES = ("json-c", "xxhash", "deflate", "dw", "elf", "lzma", "zstd", "iberty", "z", "bz2")


def make(*arguments, **environment):
    """make in a build folder of its own where arguments say so; never the one that is tested."""
    folder = [] if any(a.startswith("BUILD=") for a in arguments) else \
        [f"BUILD={os.path.relpath(BUILD, ROOT)}"]
    return subprocess.run(["make", *folder, *arguments], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, **environment})


# ---- shared libraries ---------------------------------------------------------------------------

def declared(folder):
    """Names behind SW_PUBLIC in a component's public headers."""
    names = set()
    for path in glob.glob(os.path.join(ROOT, folder, "include/snapwalk/*.h")):
        with open(path) as file:
            text = re.sub(r"/\*.*?\*/|^#.*?$", "", file.read(), flags=re.S | re.M)
        for declaration in re.findall(r"\bSW_PUBLIC\b([^;]*);", text):
            found = re.search(r"(\w+)\s*\(", declaration) or re.search(r"(\w+)\s*$", declaration)
            names.add(found.group(1))
    return names


def exports(tap):
    for name, folder in LIBRARIES.items():
        lines = [line.split() for line in output("nm", "-D", "--defined-only", library(name)).splitlines()]
        node = {words[2] for words in lines if words[1] == "A"}
        symbols = {words[2] for words in lines if words[1] != "A"}
        wanted = declared(folder)
        tap.check(len(wanted) > 5, f"{name}: the library's headers declare something", wanted)
        tap.equal(len(node), 1, f"{name}: the interface has one version")
        versions = {symbol.partition("@@")[2] for symbol in symbols}
        tap.equal(versions, {next(iter(node), "").partition("@@")[0]}, f"{name}: each symbol has it")
        tap.equal(sorted(s.partition("@@")[0] for s in symbols), sorted(wanted),
                  f"{name}: exports what its headers declare as SW_PUBLIC, and nothing else")
        # A symbol of ours that another library of ours needs is one that its header declares.
        public = set().union(*map(declared, LIBRARIES.values()))
        needed = {line.split()[-1].partition("@")[0]
                  for line in output("nm", "-D", "--undefined-only", library(name)).splitlines()}
        tap.equal(sorted(s for s in needed if s.startswith("sw_") and s not in public), [],
                  f"{name}: needs only public symbols of the others")


def needed_by_command(tap):
    """The command loads the C library alone where archives of all others were here to be linked."""
    dynamic = output("readelf", "-dW", os.path.join(BUILD, "bin", "snapwalk"))
    with open(os.path.join(BUILD, "flags")) as file:
        compiler, *flags = file.read().split()
    lacks = [name for name in ARCHIVES
             if not output(compiler, f"-print-file-name=lib{name}.a").startswith("/")]
    if lacks or "-fsanitize=address,undefined" in flags or "[libdw.so" in dynamic:
        tap.skip("what the command loads", f"it was built without archives of libraries ({', '.join(lacks)})",
                 "sudo make deps-static, then make COMMAND_LIBS=archives without SANITIZE")
        return
    tap.equal([name for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic) if not name.startswith("ld-linux")],
              ["libc.so.6"], "the command loads the C library alone")


# ---- hardening ----------------------------------------------------------------------------------

def hardened(tap):
    with open(os.path.join(BUILD, "flags")) as file:
        flags = file.read().split()
    optimised = not {"-O0"} & set(flags) and any(re.fullmatch(r"-O[123sg]", f) for f in flags)
    for flag in ("-fstack-protector-strong", "-fstack-clash-protection", "-fcf-protection"):
        known = subprocess.run([flags[0], flag, "-E", "-x", "c", "/dev/null"], capture_output=True)
        if known.returncode == 0:
            tap.check(flag in flags, f"compiled with {flag}")
        else:
            tap.skip(flag, f"{flags[0]} does not know it", "a newer compiler")
    for path in [os.path.join(BUILD, "bin", p) for p in PROGRAMS] + [library(n) for n in LIBRARIES]:
        name = os.path.basename(path)
        header = output("readelf", "-hW", path)
        segments = output("readelf", "-lW", path)
        dynamic = output("readelf", "-dW", path)
        needs = output("nm", "-D", "--undefined-only", path)
        tap.check(re.search(r"Type:\s+DYN", header), f"{name}: position-independent", header)
        if name in PROGRAMS:
            tap.check(re.search(r"FLAGS_1\).*\bPIE\b", dynamic), f"{name}: PIE", dynamic)
        tap.check("GNU_RELRO" in segments and re.search(r"FLAGS\).*BIND_NOW|FLAGS_1\).*NOW", dynamic),
                  f"{name}: full RELRO", dynamic)
        tap.check(re.search(r"GNU_STACK\s+(?:0x\w+\s+){5}RW\s", segments),
                  f"{name}: stack not executable", segments)
        tap.check(not re.search(r"^\s+LOAD.*\bRWE\b|^\s+LOAD.* RWE", segments, re.M),
                  f"{name}: nothing writable and executable", segments)
        tap.check(not re.search(r"\((?:RPATH|RUNPATH|TEXTREL)\)", dynamic),
                  f"{name}: no RPATH, no text relocations", dynamic)
        tap.check("__stack_chk_fail" in needs, f"{name}: stack protector", needs)
        if "-fcf-protection" in flags:
            tap.check(re.search("x86 feature:.*SHSTK", output("readelf", "-n", path)),
                      f"{name}: marked for shadow stacks")
        if optimised:
            tap.check(re.search(r"__\w+_chk\b(?<!__stack_chk)", needs), f"{name}: _FORTIFY_SOURCE", needs)
        else:
            tap.skip(f"{name}: _FORTIFY_SOURCE", "this was built without optimisation",
                     "CFLAGS with -O1 or more")
    # Objects of ours; a program has the property of indirect branches only when the C library's objects have it, too.
    objects = [o for o in glob.glob(os.path.join(BUILD, "obj/libwalk/**/*.o"), recursive=True)
               if os.path.exists(os.path.join(ROOT, os.path.relpath(o, f"{BUILD}/obj"))[:-1] + "c")]
    lost = [os.path.basename(o) for o in objects
            if not re.search("x86 feature: IBT, SHSTK", output("readelf", "-n", o))]
    if "-flto" in " ".join(flags):
        tap.skip("control-flow protection in each object", "objects of -flto have no code",
                 "CFLAGS without -flto")
    else:
        tap.equal((lost, len(objects) > 50), ([], True), "control-flow protection in each object")


# ---- installation -------------------------------------------------------------------------------

def files_below(directory):
    return sorted(os.path.relpath(os.path.join(place, name), directory)
                  for place, _, names in os.walk(directory) for name in names)


def text_of(path):
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "replace")


def chosen_paths(tap):
    """Every path chosen, each with a space; programs are not built again (-o all)."""
    with tempfile.TemporaryDirectory(prefix="snap walk-") as directory:
        destination = os.path.join(directory, "dest dir")
        prefix = "/opt/snap walk"
        chosen = [f"DESTDIR={destination}", f"PREFIX={prefix}", "SYSCONFDIR=/opt/my etc",
                  "MANDIR=/opt/my man", f"UNITDIR={prefix}/units"]
        done = make("-s", "-o", "all", "install", *chosen)
        tap.equal((done.returncode, done.stderr), (0, ""), "make install, spaces in all paths")
        files = files_below(destination)
        tap.equal([f for f in files if not f.startswith(("opt/snap walk/", "opt/my "))], [],
                  "all is below the chosen paths")
        texts = [f for f in files if not f.startswith(("opt/snap walk/bin", "opt/snap walk/sbin"))
                 and ".so" not in f and not f.endswith((".h", ".def"))]
        tap.check(len(texts) > 15, "texts: there are some", texts)
        left = [f"{f}: {match}" for f in texts
                for match in re.findall(DEFAULTS, text_of(os.path.join(destination, f)), re.M)]
        tap.equal(left, [], "no text speaks of the default paths")
        unit = text_of(os.path.join(destination, "opt/snap walk/units/snapwalkd.service"))
        tap.check(f'\nExecStart="{prefix}/sbin/snapwalkd"\n' in unit, "the unit starts what is installed", unit)
        gate = text_of(os.path.join(destination, "opt/snap walk/units/snapwalk-gate.service"))
        tap.check("\nLoadCredential=token:/opt/my etc/snapwalk/gate.token\n" in gate, "the unit has its token", gate)
        page = text_of(os.path.join(destination, "opt/my man/man5/snapwalk.conf.5"))
        tap.check("\n.Pa /opt/my etc/snapwalk/snapwalk.conf" in page, "the page has them, too")
        uninstalled(tap, destination, chosen)


def pkg_config(tap):
    """A program of somebody else, by what is installed alone."""
    if shutil.which("pkg-config") is None:
        tap.skip("pkg-config", "it is not installed", "package pkg-config")
        return
    with tempfile.TemporaryDirectory(prefix="snap walk-") as directory:
        # DESTDIR=/ is where it is, too, but leaves the running system's users alone.
        done = make("-s", "-o", "all", "install", "DESTDIR=/", f"PREFIX={directory}",
                    f"SYSCONFDIR={directory}/etc")
        tap.equal((done.returncode, done.stderr), (0, ""), "pkg-config: make install")
        environment = dict(os.environ, PKG_CONFIG_PATH=f"{directory}/lib/pkgconfig")
        source, program = os.path.join(directory, "use.c"), os.path.join(directory, "use")
        with open(source, "w") as file:
            file.write(USE)
        version = output("pkg-config", "--modversion", *LIBRARIES, env=environment).split()
        tap.equal(version, [re.search(r"^VERSION *:= (\S+)", text_of(os.path.join(ROOT, "Makefile")),
                                      re.M).group(1)] * 3, "pkg-config: the version of each library")
        done = subprocess.run(
            ["sh", "-c", 'flags=$(pkg-config --cflags --libs libsnapwalk-protocol) && '
             'eval "cc -o \\"$2\\" \\"$1\\" $flags"', "sh", source, program],
            env=environment, capture_output=True, text=True)
        if not tap.equal((done.returncode, done.stderr), (0, ""), "pkg-config: a program is made"):
            return
        done = subprocess.run([program], capture_output=True, text=True,
                              env=dict(os.environ, LD_LIBRARY_PATH=f"{directory}/lib"))
        tap.equal((done.returncode, done.stderr), (0, ""), "pkg-config: and runs")


def uninstalled(tap, destination, chosen):
    config = os.path.join(destination, "opt/my etc/snapwalk/snapwalk.conf")
    with open(config, "a") as file:
        file.write("MaxStopMs=50\n")
    make("-s", "-o", "all", "install", *chosen)
    tap.check(text_of(config).endswith("MaxStopMs=50\n"), "a second installation leaves the configuration")
    done = make("-s", "uninstall", *chosen)
    tap.equal((done.returncode, done.stderr), (0, ""), "make uninstall")
    tap.equal(files_below(destination), ["opt/my etc/snapwalk/snapwalk.conf"],
              "nothing is left but the changed configuration")
    os.unlink(config)
    make("-s", "-o", "all", "install", *chosen)
    make("-s", "uninstall", *chosen)
    tap.equal(files_below(destination), [], "nor is one that was not changed")


def stripped(tap):
    """make install-strip: the same files, without symbols and debug information."""
    with tempfile.TemporaryDirectory() as directory:
        done = make("-s", "-o", "all", "install-strip", f"DESTDIR={directory}")
        tap.equal((done.returncode, done.stderr), (0, ""), "make install-strip")
        programs = [os.path.join(directory, f) for f in files_below(directory)
                    if f.startswith(("usr/bin/", "usr/sbin/")) or ".so." in f]
        tap.equal(len(programs), len(PROGRAMS) + len(LIBRARIES), "install-strip: programs and libraries")
        tap.equal([p for p in programs if re.search(r"\.symtab|\.debug_", output("readelf", "-SW", p))], [],
                  "install-strip: have neither symbols nor debug information")
        tap.check(output(os.path.join(directory, "usr/bin/snapwalk"), "--version").startswith("snapwalk "),
                  "install-strip: and run")


def caches(tap):
    """The running system's cache of libraries is made anew after a removal, and never for DESTDIR."""
    for wanted, destination in ((True, ""), (False, "/nowhere")):
        done = make("-n", "uninstall", f"DESTDIR={destination}")
        lines = [line for line in done.stdout.splitlines() if "ldconfig" in line]
        tap.equal(len(lines), 1, f"uninstall, DESTDIR={destination!r}: one line of ldconfig")
        line = re.sub(r"ldconfig$", "echo ran", lines[0].replace("$(id -u)", "0"))
        tap.equal("ran" in output("sh", "-c", line), wanted, f"uninstall, DESTDIR={destination!r}: runs it or not")


# ---- the Makefile -------------------------------------------------------------------------------

def flags(tap):
    """The commands of a build from the start (-n) have the flags."""
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        folder = f"BUILD={os.path.relpath(directory, ROOT)}"
        environment = {"MAKEFLAGS": "", "CPPFLAGS": "-DMINE", "LDFLAGS": "-Wl,-z,mine", "CFLAGS": "-O3"}
        lines = [line for line in make("-n", folder, "all", **environment).stdout.splitlines()
                 if "-std=gnu17" in line and "printf" not in line and "-target bpf" not in line]
        compiled = [line for line in lines if " -c -o " in line]
        linked = [line for line in lines if " -c -o " not in line]
        tap.check(len(compiled) > 100 and len(linked) == 7, "flags: objects, programs and libraries",
                  "\n".join(linked))
        tap.equal([c for c in compiled if " -DMINE" not in c or " -O3" not in c], [],
                  "CPPFLAGS and CFLAGS: for every object")
        tap.equal([c for c in linked if " -Wl,-z,mine" not in c or " -O3" not in c], [],
                  "LDFLAGS and CFLAGS: for every program and library")
        tap.equal([c for c in lines if "-Werror" in c], [], "no -Werror in a plain make")
        tap.equal([c for c in lines if "-D_FORTIFY_SOURCE=3" not in c], [], "-D_FORTIFY_SOURCE=3")
        for mine in ({"CFLAGS": "-O0"}, {"CFLAGS": "-O2 -O0"}, {"CPPFLAGS": "-D_FORTIFY_SOURCE=2"}):
            got = make("-n", folder, "all", **{"MAKEFLAGS": "", **mine}).stdout
            tap.check("-D_FORTIFY_SOURCE=3" not in got and "-std=gnu17" in got, f"not with {mine}")
        got = make("-n", folder, "all", "WERROR=-Werror", MAKEFLAGS="").stdout
        tap.check("-Werror" in got, "WERROR=-Werror")


def refused(tap):
    """In one line: a system that is too old, and libraries that are not there."""
    with tempfile.TemporaryDirectory(dir=BUILD) as directory:
        folder = f"BUILD={os.path.relpath(directory, ROOT)}"
        for goal in ("all", "deps", "try", "check"):
            got = make("-s", folder, goal, "GLIBC=2.31", MAKEFLAGS="")
            said = [line for line in got.stderr.splitlines() if not line.startswith("make")]
            tap.equal((got.returncode, said),
                      (2, ["snapwalk: this system is too old: it has glibc 2.31, needed is 2.32 or "
                           "newer (Debian 12, Ubuntu 24.04)"]), f"make {goal}: too old a system")
        got = make("-s", folder, "all", "NEEDED='json-c >= 999' libelf no-such-library", MAKEFLAGS="")
        said = [line for line in got.stderr.splitlines() if not line.startswith("make")]
        tap.equal((got.returncode, said),
                  (2, ["snapwalk: needed to build, but not here: json-c >= 999, no-such-library: "
                       "'sudo make deps' installs the packages of Debian 12"]), "libraries that are missing")
        tap.equal(os.listdir(directory), [], "and nothing was built")
        got = make("-s", folder, "system", "GLIBC=2.36", MAKEFLAGS="")
        tap.equal((got.returncode, got.stderr), (0, ""), "a newer one is not refused")


def installs(tap):
    """A target that builds tests installs what they need; a target that a message names exists."""
    text = text_of(os.path.join(ROOT, "Makefile")) + text_of(os.path.join(ROOT, "tests/tests.mk"))
    rules = re.findall(r"^([a-z][a-z0-9-]*):([^=\n]*)\n((?:\t.*\n)+)", text, re.M)
    builders = {name: needs.split() for name, needs, recipe in rules if re.search(r"\$\(MAKE\).*tests-build", recipe)}
    tap.check(len(builders) >= 5, "targets that build tests are found", str(builders))
    tap.equal(sorted(name for name, needs in builders.items() if "deps-check" not in needs), [],
              "each target that builds tests installs their packages")
    needs = {name: words.split() for name, words, _ in rules}
    for name, package in (("fmt", "deps-fmt"), ("fmt-check", "deps-fmt"), ("lint", "deps-lint"),
                          ("layers", "deps-layers"), ("fuzz", "deps-check"), ("bench", "deps-bench")):
        tap.check(package in needs.get(name, []), f"make {name} installs its packages", str(needs.get(name)))
    named = {word for path in glob.glob(os.path.join(ROOT, "tests/**/*.*"), recursive=True)
             if path.endswith((".py", ".sh")) for word in re.findall(r"make (deps-[a-z0-9]+)", text_of(path))}
    tap.equal(sorted(named - needs.keys()), [], "each deps target that a test names exists")


def open_files(tap):
    """A login with the usual soft limit of 1024 open files runs the tests of many threads."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    code = "import harness, resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         cwd=os.path.dirname(os.path.abspath(__file__)),
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard)))
    tap.equal(int(got.stdout), min(65536, hard) if hard != resource.RLIM_INFINITY else 65536,
              "the harness raises the soft limit of open files")


if __name__ == "__main__":
    Tap.main(exports, needed_by_command, hardened, chosen_paths, stripped, caches, pkg_config, flags, refused, installs,
             open_files)
