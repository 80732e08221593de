#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""The role of packaging/ansible, run by ansible-playbook in a root directory of its own: an overlay over the machine's,
which is gone at the end. Needs root."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from harness import BUILD, Tap

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
ANSIBLE = os.path.join(ROOT, "packaging/ansible")
# The second root is in memory: nothing of it may remain.
IN_OVERLAY = """
set -e
mount --make-rprivate /
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" none "$1/root"
for d in proc dev sys run tmp; do mount --rbind "/$d" "$1/root/$d"; done
mount --rbind "$2" "$1/root$2"
shift
shift
exec chroot "$NEW_ROOT" "$@"
"""


def play(directory, variables, *more, times=1):
    """Returns the output of ansible-playbook, run so many times in the overlay, and of the commands behind it."""
    with open(os.path.join(directory, "play.json"), "w", encoding="utf-8") as file:
        json.dump([{"hosts": "localhost", "connection": "local", "roles": [{"role": "snapwalk", "vars": variables}]}], file)
    path = f"{directory}/bin:{os.environ['PATH']}"
    # A package makes the users.
    script = ("set +e; for u in snapwalk snapwalk-gate; do useradd --system $u; done; ln -sf $BIN/snapwalk $BIN/snapwalkd /usr/local/bin/; "
              f"for i in $(seq {times}); do ansible-playbook -i localhost, {directory}/play.json; echo \"status $?\"; done; " + "; ".join(more))
    overlay = os.path.join(directory, "overlay")
    os.makedirs(overlay, exist_ok=True)
    return subprocess.run(["unshare", "-m", "sh", "-c", IN_OVERLAY, "sh", overlay, ROOT,
                           "sh", "-c", script], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PATH": path, "BIN": f"{BUILD}/bin", "NEW_ROOT": f"{overlay}/root", "ANSIBLE_ROLES_PATH": f"{ANSIBLE}/roles",
                               "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0", "HOME": directory, "LC_ALL": "C.UTF-8"})


def recaps(done):
    """(status, changed, failed) of each run."""
    return [tuple(map(int, found)) for found in
            re.findall(r"changed=(\d+) .*failed=(\d+).*\n+status (\d+)", done.stdout)]


def settings(tap, directory):
    variables = {"snapwalk_install": "none", "snapwalk_settings": {"MaxUse": "2G", "Store": True,
                 "Deny": ["/usr/bin/gpg-agent", "ssh-agent"]},
                 "snapwalk_rules": {"50-web.conf": "[rule stuck]\nSource=alertmanager\nMatch=alertname=Stuck\nHost=instance\nTarget=pid:%{pid}\n"}}
    done = play(directory, variables, "cat /etc/snapwalk/snapwalk.conf.d/50-ansible.conf", "cat /etc/snapwalk/rules.d/50-web.conf",
                "snapwalkd --check-config; echo checked $?", times=2)
    runs = recaps(done)
    if not tap.check(len(runs) == 2 and runs[0][0] > 0 and [run[1:] for run in runs] == [(0, 0)] * 2, "the role runs",
                     done.stdout[-3000:] + done.stderr[-1000:]):
        return
    tap.equal(runs[1][0], 0, "a second time it changes nothing")
    for line in ("MaxUse=2G", "Store=true", "Deny=/usr/bin/gpg-agent ssh-agent", "[rule stuck]", "checked 0"):
        tap.check(f"\n{line}\n" in done.stdout, f"the role writes what the daemon takes: {line}", done.stdout[-800:])
    wrong = play(directory, {"snapwalk_install": "none", "snapwalk_settings": {"Deny": "/usr/bin/*"}},
                 "ls /etc/snapwalk/snapwalk.conf.d")
    tap.check([run[1:] for run in recaps(wrong)] == [(1, 2)] and "50-ansible.conf" not in wrong.stdout.rpartition("status")[2],
              "a setting that the daemon refuses is not written", wrong.stdout[-2000:])


def archive(tap, directory):
    path = os.path.join(directory, "release.tar.gz")
    os.makedirs(f"{directory}/release/bin")
    with open(f"{directory}/release/bin/snapwalk", "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {BUILD}/bin/snapwalk "$@"\n')
    os.chmod(f"{directory}/release/bin/snapwalk", 0o755)
    with tarfile.open(path, "w:gz") as tar:
        tar.add(f"{directory}/release", "release")
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    variables = {"snapwalk_install": "archive", "snapwalk_archive": path, "snapwalk_archive_sha256": digest,
                 "snapwalk_prefix": "/opt"}
    done = play(directory, variables, "/opt/bin/snapwalk --version")
    tap.check([run[1:] for run in recaps(done)] == [(0, 0)] and done.stdout.splitlines()[-1].startswith("snapwalk "),
              "the release's file: it runs", done.stdout[-2000:] + done.stderr[-500:])
    done = play(directory, {**variables, "snapwalk_archive_sha256": "0" * 64}, "ls /opt/bin/snapwalk 2>&1")
    tap.check([run[1:] for run in recaps(done)] == [(1, 2)] and "No such file" in done.stdout, "with another sum: refused",
              done.stdout[-2000:])


def packages(tap, directory):
    """The .deb is a small one, whose program is the one of this build."""
    if shutil.which("dpkg-deb") is None:
        tap.skip("packages", "dpkg-deb is not installed", "package dpkg")
        return
    os.makedirs(f"{directory}/deb/DEBIAN")
    os.makedirs(f"{directory}/deb/usr/share/snapwalk-test")
    with open(f"{directory}/deb/DEBIAN/control", "w", encoding="utf-8") as file:
        file.write("Package: snapwalk-test\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: x\n")
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", f"{directory}/deb", f"{directory}/test.deb"], check=True,
                   capture_output=True)
    done = play(directory, {"snapwalk_packages": [f"{directory}/test.deb"]}, "dpkg -s snapwalk-test | grep ^Status")
    tap.check([run[1:] for run in recaps(done)] == [(0, 0)] and "Status: install ok installed" in done.stdout, "packages are installed",
              done.stdout[-3000:])


def main():
    tap = Tap()
    if shutil.which("ansible-playbook") is None:
        tap.skip("the role", "ansible-playbook is not installed", "package ansible-core")
    elif os.geteuid() != 0:
        tap.skip("the role", "not root", Tap.ROOT)
    else:
        for test in tap.chosen(settings, archive, packages):
            with tempfile.TemporaryDirectory(prefix="snapwalk-ansible-") as directory:
                tap.guard(test, directory)
    sys.exit(tap.done())


if __name__ == "__main__":
    main()
