#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 5s
"""A Windows program on a file system that is mounted noexec: Wine reads it into anonymous memory, and
only the process's own list of modules tells of it. And one of which the kernel wrote a core file,
which leaves out what was mapped from files."""
import os
import shutil
import signal
import subprocess

from harness import TARGETS, Tap, dump, no_kernel_core, snapwalk, stack_of, wait_until
from wine import LOADER, Wine

PROGRAM = "wine_busy.exe"
OWN = "main", "worker"


def start(wine, path, **options):
    """The program as a process that has said "ready"."""
    process = subprocess.Popen(wine.command(LOADER, wine.inside(path)), env=wine.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               **options)
    for line in process.stdout:
        if line.strip() == "ready":
            return process
    raise RuntimeError(f"{path}: ended before it was ready")


def in_maps(pid, name):
    with open(f"/proc/{pid}/maps") as maps:
        return any(name in line for line in maps)


def check_frames(tap, name, report):
    """Every thread of the program to its start, through the program's own frames."""
    module = next(i for i, m in enumerate(report["modules"])
                  if m["path"].endswith(PROGRAM) and m["format"] == "pe")
    for thread in report["threads"]:
        stack = stack_of(report, thread["tid"])
        own = [f for f in stack["frames"] if f["module"] == module]
        tap.equal((stack["end"], stack["why"]), ("complete", None), f"{name}: a whole stack")
        tap.check(own and all(f["kind"] == "pe" for f in own), f"{name}: with the program's frames",
                  stack["frames"])
        outer = stack["frames"][-1]
        tap.equal(outer["function"], "RtlUserThreadStart", f"{name}: to the thread's start")
    return report["modules"][module]


def test_noexec(tap, wine):
    mount = os.path.join(wine.shared, "noexec")
    os.makedirs(mount, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,size=8m", "tmpfs", mount], check=True)
    try:
        path = shutil.copy(os.path.join(TARGETS, PROGRAM), mount)
        with start(wine, path) as process:
            tap.check(not in_maps(process.pid, PROGRAM), "noexec: no mapping is the file's")
            report = dump(process.pid, "--max-stop", 5000, status=(0, 3))
            module = check_frames(tap, "noexec", report)
            tap.check(module["path"].startswith("Z:\\"), "noexec: named as the process names it",
                      module["path"])
            tap.equal(len(module["build_id"]), 40, "noexec: the module's identity, from memory")
            text = snapwalk("dump", process.pid, "--max-stop", 5000).stdout
            tap.check(f" {PROGRAM}+0x" in text, "noexec: the last part of its name is shown", text)
            process.kill()
    finally:
        subprocess.run(["umount", "-l", mount], check=True)


def test_core(tap, wine):
    if no_kernel_core():
        tap.skip("a core file", *no_kernel_core())
        return
    directory = os.path.join(wine.shared, "core")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)
    path = shutil.copy(os.path.join(TARGETS, PROGRAM), directory)
    with start(wine, path, cwd=directory) as process:
        process.send_signal(signal.SIGXCPU)  # Wine has no handler for it
        process.wait()
    core, = wait_until(lambda: [os.path.join(directory, n) for n in os.listdir(directory)
                                if n.startswith("core")], "the core file")
    report = dump(["--core", core], status=(0, 3))
    module = check_frames(tap, "core", report)
    tap.equal(os.path.basename(module["path"]), PROGRAM, "core: the program's file was found")
    os.remove(core)


def main():
    tap = Tap()
    with Wine("8") as wine:
        tap.guard(test_noexec, wine)
        tap.guard(test_core, wine)
    tap.done()


if __name__ == "__main__":
    main()
