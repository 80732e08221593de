# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs with their debug information in another file, which is named or found in all ways that there are.

    build(directory, FILES)                        # DIRECTORY/NAME of each name of FILES
    marker, path = FILES["split"]                  # a name that its debug file alone has, and that file below DIRECTORY
    build(directory, BELOW)                        # likewise; their files are below /usr/lib/debug
"""
import os
import shutil
import subprocess

SOURCE = """
#include <stdio.h>
#include <unistd.h>
static inline __attribute__((always_inline)) int INNER(int *n) { usleep(1000); return n[0]; }
__attribute__((noinline)) int OUTER(int *n) { int sum = 0; for (;;) sum += INNER(n); return sum; }
int main(void) { int n[1] = {1}; puts("ready"); fflush(stdout); return OUTER(n); }
"""
FILES = {"split": ("inner_split", "objects/split.dwo"), "packed": ("inner_packed", "packed.dwp"),
         "plain": ("outer_plain", "plain.debug"), "below": ("outer_below", ".debug/below.debug")}
BUILD_ID = "abcdef0123456789"
DEBUG = "/usr/lib/debug"
BELOW = {"identified": ("outer_identified", f"{DEBUG}/.build-id/{BUILD_ID[:2]}/{BUILD_ID[2:]}.debug"),
         "shared": ("inner_shared", f"{DEBUG}/.dwz/snapwalk/shared.debug")}
SPLIT = ("split", "packed")


def commands(name, debug):
    """Returns the commands that make the program ../NAME and its debug file, in the directory of the objects."""
    path, ids = f"../{name}", [f"-Wl,--build-id=0x{BUILD_ID}"] if name == "identified" else []
    made = [["gcc", "-O2", "-g", "-gdwarf-4", *(["-gsplit-dwarf"] if name in SPLIT else []), "-D_GNU_SOURCE",
             f"-DINNER=inner_{name}", f"-DOUTER=outer_{name}", "-c", "program.c", "-o", f"{name}.o"],
            ["gcc", *ids, "-o", path, f"{name}.o"]]
    if name == "packed":
        return [*made, ["dwp", "-e", path, "-o", debug], ["rm", f"{name}.dwo"]]
    if name == "shared":  # what two programs have in common
        return [*made, ["cp", path, "other"], ["dwz", "-L", "none", "-m", "common", "-M", debug, path, "other"],
                ["cp", "common", debug]]
    if name in SPLIT:
        return made
    link = [] if ids else [f"--add-gnu-debuglink={debug}"]
    return [*made, ["objcopy", "--only-keep-debug", path, debug], ["objcopy", "--strip-all", *link, path]]


def build(directory, files):
    """The programs have other names for their functions, each."""
    objects = os.path.join(directory, "objects")
    os.makedirs(objects, exist_ok=True)
    with open(os.path.join(objects, "program.c"), "w") as file:
        file.write(SOURCE)
    for name, (_, debug) in files.items():
        debug = os.path.join(directory, debug)
        os.makedirs(os.path.dirname(debug), exist_ok=True)
        for command in commands(name, debug):
            subprocess.run(command, cwd=objects, check=True)
    os.chmod(directory, 0o755)


def missing(files):
    """The tools that are missing to build them."""
    needed = ["gcc", "objcopy", "dwp", *(["dwz"] if "shared" in files else [])]
    return [tool for tool in needed if not shutil.which(tool)]
