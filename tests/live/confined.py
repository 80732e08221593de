#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a command under what a systemd unit would put around it, where there is no systemd.

    confined.py UNIT WRITABLE [HIDDEN] -- COMMAND...

Needs root. Reads SystemCallFilter=, CapabilityBoundingSet=, AmbientCapabilities=, PrivateNetwork=
and ProtectSystem= of the unit; the command becomes the user "daemon" without new privileges, the
whole file system is read-only but for the directory WRITABLE. The directory HIDDEN, which it sees empty,
stands for those that ProtectHome= and PrivateTmp= hide; both hide what a test needs. It keeps the pid of
this process.
"""
import ctypes
import os
import subprocess
import sys

PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN = 65, 1  # Linux 6.3, include/uapi/linux/prctl.h
KILL_PROCESS, ERRNO_EPERM, ALLOW = 0x80000000, 0x00050001, 0x7fff0000  # libseccomp 2.5, seccomp.h


def service_of(path):
    """Key -> all its values in [Service]."""
    result, section = {}, ""
    with open(path) as file:
        for line in file.read().replace("\\\n", " ").splitlines():
            line = line.strip()
            if line.startswith("["):
                section = line
            elif section == "[Service]" and "=" in line and line[0] not in "#;":
                key, _, value = line.partition("=")
                result.setdefault(key.strip(), []).append(value.strip())
    return result


def calls_of(group):
    """The system calls of an @group, as systemd-analyze says."""
    listing = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True,
                             text=True, check=True, env=dict(os.environ, SYSTEMD_COLORS="0"))
    result = set()
    for line in listing.stdout.splitlines()[1:]:
        word = line.split("#")[0].strip()
        if word:
            result |= calls_of(word) if word.startswith("@") else {word}
    return result


def allowed(filters):
    """The allow list that several SystemCallFilter= lines make (systemd.exec(5))."""
    result = calls_of("@default")
    for value in filters:
        negative = value.startswith("~")
        for word in value.lstrip("~").split():
            word = word.split(":")[0]
            calls = calls_of(word) if word.startswith("@") else {word}
            result = result - calls if negative else result | calls
    return result


def load_filter(calls, action):
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(action)))
    for name in sorted(calls):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            library.seccomp_rule_add(context, ctypes.c_uint32(ALLOW), number, 0)
    if library.seccomp_load(context) != 0:
        sys.exit("the filter was not loaded")


def inner(service, command):
    """With the ids and capabilities of the service already."""
    libc = ctypes.CDLL(None)
    if "MemoryDenyWriteExecute" in service:
        libc.prctl(PR_SET_MDWE, MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)
    refused = ERRNO_EPERM if "SystemCallErrorNumber" in service else KILL_PROCESS
    load_filter(allowed(service["SystemCallFilter"]) | {"execve"}, refused)
    os.execv(command[0], command)


def capability_words(values):
    names = [w.removeprefix("CAP_").lower() for w in " ".join(values).split()]
    return ",".join(["-all", *(f"+{name}" for name in names)])


def outer(unit, writable, command, hidden=None):
    service = service_of(unit)
    bounding = capability_words(service["CapabilityBoundingSet"])
    ambient = capability_words(service.get("AmbientCapabilities", []))
    script = ["set -e", "mount --make-rprivate /"]
    if service.get("ProtectSystem") == ["strict"]:
        script += [f"mount --bind '{writable}' '{writable}'", "mount -o remount,bind,ro /"]
    hides = {service.get(key, [""])[-1] for key in ("ProtectHome", "PrivateTmp")}
    if hidden and hides & {"yes", "true"}:
        script.append(f"mount -t tmpfs none '{hidden}'")
    script.append('exec "$@"')
    words = ["unshare", "--mount", "--uts", "--ipc"]
    if service.get("PrivateNetwork") in (["yes"], ["true"]):
        words.append("--net")
    words += ["sh", "-c", "\n".join(script), "sh", "setpriv", "--reuid=daemon", "--regid=daemon",
              "--clear-groups", f"--inh-caps={ambient}", f"--ambient-caps={ambient}",
              f"--bounding-set={bounding}", "--no-new-privs", sys.executable,
              os.path.abspath(__file__), "--inner", unit, "--", *command]
    os.execvp(words[0], words)


def main():
    words = sys.argv[1:]
    split = words.index("--")
    arguments, command = words[:split], words[split + 1:]
    if arguments[0] == "--inner":
        inner(service_of(arguments[1]), command)
    outer(*arguments[:2], command, *arguments[2:])


if __name__ == "__main__":
    main()
