#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Where less is possible than on a machine of one's own, tests say so: they neither fail nor pass.

Made here: a hard limit of core files of 0 that may not be raised, as some sudo and containers set it;
a root directory that is no mount point, as in a plain chroot."""
import os
import subprocess
import tempfile

from harness import Tap, no_mounts

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))


def no_cores(tap):
    name = "cores where the hard limit is 0"
    if os.geteuid() != 0:
        tap.skip(name, "not root", tap.ROOT)
        return
    with open("/proc/sys/kernel/core_pattern") as file:
        pattern = file.read().strip()
    said = "the hard limit of core files is 0 bytes and may not be raised"
    if pattern.startswith("|") or "/" in pattern:  # they would go elsewhere, whatever the limit is
        said = "kernel.core_pattern sends them elsewhere"
    without = ["prlimit", "--core=0:0", "setpriv", "--bounding-set=-sys_resource",
               "--inh-caps=-sys_resource"]
    ask = "import harness; print((harness.no_kernel_core() or ['none'])[0])"
    result = subprocess.run([*without, "/usr/bin/python3", "-c", ask], capture_output=True, text=True,
                            env=dict(os.environ, PYTHONPATH=HERE))
    tap.equal((result.stdout.strip(), result.stderr), (said, ""), f"{name}: the reason")


def root_make(root):
    """A system in a directory: the machine's programs and libraries, and the project. Returns the
    directories to mount there, and those that were made."""
    links, mounts = [], [PROJECT]
    for name in ("bin", "sbin", "lib", "lib64", "usr", "proc"):
        path = os.path.join("/", name)
        if os.path.islink(path):
            os.symlink(os.readlink(path), root + path)
            links.append(root + path)
        elif os.path.isdir(path):
            mounts.append(path)
    made = ["/tmp"]
    for path in mounts:
        while path != "/":
            made.append(path)
            path = os.path.dirname(path)
    made = sorted({root + path for path in made})
    for path in made:
        os.mkdir(path)
    return mounts, links, made


def no_mount_point(tap):
    name = "mounts where / is no mount point"
    if no_mounts():
        tap.skip(name, no_mounts(), tap.MOUNTS)
        return
    root = tempfile.mkdtemp(prefix="snapwalk-test-root-")
    mounts, links, made = root_make(root)
    mount = "; ".join(f"mount --rbind '{path}' '{root}{path}'" for path in mounts)
    ask = "import harness; print(harness.no_mounts())"
    result = subprocess.run(["unshare", "--mount", "sh", "-c", f"set -e; {mount}; "
                             f"PYTHONPATH='{HERE}' chroot '{root}' /usr/bin/python3 -c '{ask}'"],
                            capture_output=True, text=True)
    tap.check(result.returncode == 0 and result.stdout.startswith("unshare: cannot "),
              f"{name}: the reason", result.stdout + result.stderr)
    # The directories are removed one by one: whatever is mounted there is the machine's own.
    for path in links:
        os.unlink(path)
    for path in [*reversed(made), root]:
        os.rmdir(path)


tap = Tap()
tap.guard(no_cores)
tap.guard(no_mount_point)
tap.done()
