#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 10s
"""Programs that snapwalkd leaves in the kernel for root's command: seen by a command that may load none itself."""
import json
import os
import shutil
import subprocess

from harness import BUILD, SNAPWALK, Tap, no_mounts, wait_blocked
from test_iterate import refusal

SNAPWALKD = os.path.join(BUILD, "bin", "snapwalkd")
# Without these three the kernel loads no program, for root neither.
WITHOUT = ["setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin"]
# Each line is a case: a name, and what is done before the dump.
CASES = f"""none	true
kept	{SNAPWALKD} --keep-programs
open	chmod 755 /sys/fs/bpf/snapwalk
closed	chmod 700 /sys/fs/bpf/snapwalk
again	{SNAPWALKD} --keep-programs
dropped	{SNAPWALKD} --drop-programs
"""


def dumps(pid):
    """Returns the status of each case's command, and the dump's timings."""
    script = "mount -t bpf bpf /sys/fs/bpf || exit 77\n"
    for line in CASES.splitlines():
        name, command = line.split("\t")
        script += f"{command}; echo {name} $?; {' '.join(WITHOUT)} {SNAPWALK} dump --json --symbols none --max-stop 2000 {pid}; echo\n"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    words = done.stdout.split("\n")
    return done, {words[i].split()[0]: (int(words[i].split()[1]), json.loads(words[i + 1])["timings"])
                  for i in range(0, len(words) - 1, 3) if words[i + 1]} if done.returncode == 0 else {}


def test_kept(tap):
    why = refusal() or no_mounts() or (None if shutil.which("setpriv") else "there is no setpriv")
    if why:
        tap.skip("programs that are kept", why, "root, a kernel with the task iterator, util-linux")
        return
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            wait_blocked(process.pid, (230,))  # clock_nanosleep
            done, got = dumps(process.pid)
        finally:
            process.kill()
    names = [line.split("\t")[0] for line in CASES.splitlines()]
    if not tap.check(list(got) == names, "a dump for each case", done):
        return
    tap.check(all(status == 0 for status, _ in got.values()), "snapwalkd does what it is told", done)
    stopped = {name: timings["n_stopped"] > 0 for name, (_, timings) in got.items()}
    tap.equal(stopped, {"none": True, "kept": False, "open": True, "closed": False, "again": False, "dropped": True},
              "kept programs are used where the directory is root's alone; nothing is stopped then")


def test_refused(tap):
    if os.geteuid() != 0 or no_mounts():
        tap.skip("programs that cannot be kept", no_mounts() or "not root", "root")
        return
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /sys/fs/bpf && {SNAPWALKD} --keep-programs"],
                          capture_output=True, text=True, timeout=60, check=False)
    tap.equal((done.returncode, done.stderr),
              (1, "snapwalkd: /sys/fs/bpf/snapwalk is in no BPF file system\n"), "one line says why not")


if __name__ == "__main__":
    Tap.main(test_kept, test_refused)
