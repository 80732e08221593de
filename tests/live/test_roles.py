#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 25s
"""Filters of system calls of live processes, and what dangerous calls do there (drive_roles.c).

Each process of the commands, of the daemon, the gate and the shipper that enters a filter is stopped as soon as it has. Its filter, as the
kernel has it, is that of a role of tests/unit/daemon/sandbox/filters.txt, which the unit tests hold against the source; and
the roles are those that are listed here. Then the process is made to do DANGEROUS calls: each one is refused, fails or kills as
filters.txt says, and those that pass are listed here as well. Of the calls that kill, each process makes one; all of them with
SNAPWALK_ROLES=all, which takes minutes.
"""
import ctypes
import errno
import itertools
import json
import os
import shutil
import socket
import tempfile
import zlib

from daemon import Daemon
from gate import Gate
from harness import SNAPWALK, TARGETS, Tap, Target, snapwalk, state_of, wait_until
from receiver import Ship
from roles import DEADLY, X32_BIT, Process, Table, drive, driver, entered, numbers, results_of

ALL = os.environ.get("SNAPWALK_ROLES") == "all"
TRIES = 3
PART = 80  # calls that a process makes in one run
SIGSYS = 31
ERRORS = {"-": errno.EPERM, "ENOSYS": errno.ENOSYS}  # by which filters.txt says that a call fails
AT_FDCWD, EMPTY_PATH, MSG_FASTOPEN = (1 << 64) - 100, 0x1000, 0x20000000
NEW_FILE = os.O_WRONLY | os.O_CREAT
TARGET, HERE = "TARGET", "HERE"  # the process that is captured; a directory that everybody may write to

# (call, its arguments): numbers, "@TEXT" and "%HEX" are pointers to text and to bytes. "i386" and "x32": a call of these, by
# its number there.
ZEROS, MESSAGE = "%" + "00" * 128, "%" + "00" * 56
DANGEROUS = [
    ("openat", AT_FDCWD, f"@{HERE}/made", NEW_FILE, 0o600), ("openat", AT_FDCWD, f"@{HERE}/there", os.O_RDWR),
    ("openat", AT_FDCWD, "@/proc/self/mem", os.O_RDWR), ("openat", AT_FDCWD, f"@{HERE}/there", os.O_RDONLY | os.O_TRUNC),
    ("openat", AT_FDCWD, f"@{HERE}", os.O_WRONLY | os.O_TMPFILE, 0o600), ("open", f"@{HERE}/made", NEW_FILE, 0o600),
    ("openat2", AT_FDCWD, f"@{HERE}/made", "%41" + "00" * 23, 24), ("creat", f"@{HERE}/made", 0o600),
    ("mkdirat", AT_FDCWD, f"@{HERE}/made", 0o700), ("mknodat", AT_FDCWD, f"@{HERE}/made", 0o100600, 0),
    ("unlinkat", AT_FDCWD, f"@{HERE}/there", 0), ("renameat", AT_FDCWD, f"@{HERE}/there", AT_FDCWD, f"@{HERE}/made"),
    ("renameat2", AT_FDCWD, f"@{HERE}/there", AT_FDCWD, f"@{HERE}/made", 0),
    ("linkat", AT_FDCWD, f"@{HERE}/there", AT_FDCWD, f"@{HERE}/made", 0), ("symlinkat", "@there", AT_FDCWD, f"@{HERE}/made"),
    ("truncate", f"@{HERE}/there", 0), ("chmod", f"@{HERE}/there", 0o777), ("fchmodat", AT_FDCWD, f"@{HERE}/there", 0o777),
    ("fchownat", AT_FDCWD, f"@{HERE}/there", 65534, 65534, 0), ("setxattr", f"@{HERE}/there", "@user.x", "@y", 1, 0),
    ("utimensat", AT_FDCWD, f"@{HERE}/there", 0, 0), ("open_by_handle_at", AT_FDCWD, ZEROS, os.O_RDWR),
    ("socket", 2, 1, 0), ("socket", 1, 1, 0), ("socket", 17, 3, 0), ("socket", 16, 3, 4), ("socketpair", 1, 1, 0, ZEROS),
    ("connect", 1, "%0200" + "1f90" + "7f000001" + "00" * 8, 16), ("bind", 1, "%0200" + "00" * 14, 16), ("listen", 1, 1),
    ("accept4", 1, 0, 0, 0), ("sendto", 1, "@x", 1, 0, 0, 0), ("sendmsg", 1, MESSAGE, 0), ("sendmmsg", 1, MESSAGE, 1, 0),
    ("recvmsg", 1, MESSAGE, 0), ("setsockopt", 1, 1, 26, ZEROS, 16),
    ("pidfd_open", TARGET, 0), ("pidfd_getfd", 0, 0, 0), ("pidfd_send_signal", 0, 10, 0, 0), ("pidfd_send_signal", 0, 9, 0, 4),
    ("kill", TARGET, 10), ("kill", TARGET, 9), ("tkill", TARGET, 10), ("tgkill", TARGET, TARGET, 10),
    ("tgkill", TARGET, TARGET, 6),
    ("rt_sigqueueinfo", TARGET, 10, ZEROS), ("rt_tgsigqueueinfo", TARGET, TARGET, 10, ZEROS),
    ("process_vm_readv", TARGET, ZEROS, 0, ZEROS, 0, 0), ("process_vm_writev", TARGET, ZEROS, 0, ZEROS, 0, 0),
    ("process_madvise", 0, ZEROS, 1, 21, 0), ("process_mrelease", 0, 0), ("kcmp", TARGET, TARGET, 0, 0, 0),
    ("ptrace", 16, TARGET, 0, 0), ("ptrace", 0x4206, TARGET, 0, 0x100000), ("ptrace", 0x4206, TARGET, 0, 0),
    ("ptrace", 5, TARGET, 0x1000, 0), ("ptrace", 4, TARGET, 0x1000, 0), ("ptrace", 6, TARGET, 16 * 8, 0),
    ("ptrace", 13, TARGET, 0, ZEROS),
    ("ptrace", 0x4205, TARGET, 1, ZEROS), ("ptrace", 0x4200, TARGET, 0, 0x100000), ("ptrace", 7, TARGET, 0, 9),
    ("ptrace", 0x4203, TARGET, 0, ZEROS), ("ptrace", 0x420b, TARGET, 8, ZEROS), ("ptrace", 8, TARGET, 0, 0),
    ("fcntl", 0, 8, TARGET), ("fcntl", 0, 10, 9), ("fcntl", 0, 4, 0x2000), ("fcntl", 0, 15, ZEROS), ("fcntl", 0, 1026, 1),
    ("fcntl", 0, 1024, 0), ("fcntl", 0, 1036, ZEROS),
    ("ioctl", 0, 0x5412, "@x"), ("ioctl", 0, 0x5452, "%01000000"), ("ioctl", 0, 0x8901, ZEROS), ("ioctl", 0, 0x541C, "%02"),
    ("ioctl", 0, 0x5410, ZEROS), ("ioctl", 0, 0x540E, 1),
    ("prctl", 0x59616D61, TARGET), ("prctl", 4, 1), ("prctl", 35, 1, 0, 0, 0), ("prctl", 47, 2, 21, 0, 0), ("prctl", 8, 1),
    ("prctl", 24, 0), ("prctl", 36, 1), ("arch_prctl", 0x1012, 1),
    ("bpf", 5, ZEROS, 128), ("bpf", 0, ZEROS, 72), ("bpf", 7, ZEROS, 16), ("bpf", 13, ZEROS, 16), ("bpf", 8, ZEROS, 16),
    ("bpf", 2, ZEROS, 32),
    ("perf_event_open", ZEROS, TARGET, (1 << 64) - 1, (1 << 64) - 1, 0),
    ("mount", "@none", f"@{HERE}", "@tmpfs", 0, 0), ("umount2", f"@{HERE}", 2), ("move_mount", 0, "@", 0, "@", 0),
    ("fsopen", "@tmpfs", 0),
    ("open_tree", AT_FDCWD, "@/", 1), ("pivot_root", "@/nowhere", "@/nowhere"), ("chroot", f"@{HERE}"), ("setns", 0, 0),
    ("unshare", 0x10000000), ("unshare", 0x20000), ("execve", "@/bin/true", 0, 0), ("memfd_create", "@x", 0),
    ("execveat", 0, "@", 0, 0, EMPTY_PATH), ("uselib", "@/bin/true"),
    ("io_uring_setup", 8, ZEROS), ("io_uring_enter", 0, 0, 0, 0, 0, 0), ("userfaultfd", 1), ("keyctl", 0, (1 << 64) - 3, 0),
    ("add_key", "@user", "@x", "@y", 1, (1 << 64) - 3), ("request_key", "@user", "@x", 0, 0), ("init_module", ZEROS, 0, "@"),
    ("finit_module", 0, "@", 0), ("delete_module", "@x", 0), ("kexec_load", 0, 17, 0, 0), ("reboot", 0, 0, 0, 0),
    ("syslog", 2, ZEROS, 1),
    ("clone", 17, 0, 0, 0, 0), ("clone", 0x10000011, 0, 0, 0, 0), ("clone3", ZEROS, 88), ("fork",), ("vfork",),
    ("setuid", 0), ("setgid", 0), ("setreuid", 0, 0), ("setresuid", 0, 0, 0), ("setresgid", 0, 0, 0), ("setgroups", 0, 0),
    ("setfsuid", 0),
    ("capset", "%20080522" + "00" * 4, "%" + "ff" * 24), ("setpriority", 0, TARGET, (1 << 64) - 20),
    ("sched_setscheduler", TARGET, 2, "%01000000"), ("sched_setattr", TARGET, ZEROS, 0),
    ("sched_setaffinity", TARGET, 8, "%01" + "00" * 7),
    ("prlimit64", TARGET, 7, ZEROS, 0), ("move_pages", TARGET, 0, 0, 0, 0, 0), ("migrate_pages", TARGET, 1, ZEROS, ZEROS),
    ("mmap", 0, 4096, 7, 0x22, (1 << 64) - 1, 0), ("mprotect", 0, 4096, 5), ("pkey_mprotect", 0, 4096, 5, (1 << 64) - 1),
    ("shmget", 0, 4096, 0o1600), ("msgget", 0, 0o1600), ("semget", 0, 1, 0o1600), ("mq_open", "@x", NEW_FILE, 0o600, 0),
    ("personality", 0x40000), ("modify_ldt", 1, ZEROS, 16), ("iopl", 3), ("ioperm", 0, 1, 1), ("sethostname", "@x", 1 << 20),
    ("inotify_init1", 0), ("fanotify_init", 0, 0), ("name_to_handle_at", AT_FDCWD, "@/", ZEROS, ZEROS, 0), ("acct", 0),
    ("swapon", "@x", 0),
    ("settimeofday", 0, 0), ("setsid",), ("seccomp", 0, 0, 0), ("lookup_dcookie", 0, ZEROS, 1), ("vmsplice", 0, ZEROS, 0, 0),
    ("tee", 0, 1, 1, 0), ("splice", 0, 0, 1, 0, 1, 0), ("memfd_secret", 0), ("timer_create", 0, ZEROS, ZEROS),
    ("setitimer", 0, ZEROS, 0),
    # Descriptors of others: by any number, and by their names in /proc.
    ("pidfd_getfd", 3, 1, 0), ("pidfd_getfd", 4, 0, 1), ("openat", AT_FDCWD, f"@/proc/{TARGET}/fd/1", os.O_RDWR),
    ("openat", AT_FDCWD, f"@/proc/{TARGET}/fd/1", os.O_WRONLY), ("openat", AT_FDCWD, "@/proc/self/fd/0", os.O_RDWR),
    ("openat", AT_FDCWD, f"@/proc/{TARGET}/mem", os.O_RDWR), ("openat", AT_FDCWD, f"@/proc/{TARGET}/oom_score_adj", os.O_WRONLY),
    ("openat", AT_FDCWD, f"@/proc/{TARGET}/root{HERE}/there", os.O_RDWR), ("openat", AT_FDCWD, f"@{HERE}/there", os.O_ACCMODE),
    ("openat", AT_FDCWD, f"@{HERE}/there", os.O_WRONLY | os.O_APPEND), ("openat", AT_FDCWD, f"@{HERE}/made", os.O_CREAT, 0o600),
    ("openat2", AT_FDCWD, f"@{HERE}/there", "%02" + "00" * 23, 24), ("fchmodat2", AT_FDCWD, f"@{HERE}/there", 0o777, 0),
    # Signals in our name: at another time, or by another who sends.
    ("mq_notify", 0, "%" + "00" * 8 + "0a000000" + "04000000" + "01000000" + "00" * 44),
    ("timer_create", 0, "%" + "00" * 8 + "0a000000" + "04000000" + "01000000" + "00" * 44, ZEROS), ("timer_settime", 0, 0, ZEROS, 0),
    ("rt_tgsigqueueinfo", TARGET, TARGET, 9, ZEROS), ("rt_sigqueueinfo", TARGET, 9, ZEROS), ("pidfd_send_signal", 0, 19, 0, 0),
    ("kill", (1 << 64) - 1, 9), ("kill", 0, 19), ("fcntl", 0, 8, (1 << 64) - 1), ("fcntl", 0, 10, 19), ("fcntl", 0, 4, 0x2800),
    ("fcntl", 1, 15, "%00000000" + "01000000"), ("fcntl", 1, 1026, 0x8000003F), ("fcntl", 1, 1024, 1), ("fcntl", 1, 38, ZEROS),
    ("ioctl", 0, 0x8902, "%01000000"), ("ioctl", 0, 0x5411, ZEROS), ("ioctl", 0, 0x5457, 1), ("ioctl", 0, 0x40086602, ZEROS),
    ("ioctl", 0, 0xC0502100, ZEROS), ("ioctl", 1, 0x8901, "%01000000"), ("ioctl", 1, 0x5452, "%01000000"),
    # The process's own memory, its tracer, other rules of calls.
    ("prctl", 35, 14, ZEROS, 104, 0), ("prctl", 35, 13, 0, 0, 0), ("prctl", 0x59616D61, (1 << 64) - 1), ("prctl", 59, 1, 0, 4096, 0),
    ("prctl", 62, 1, TARGET, 0, 0), ("prctl", 53, 0, 0, 0, 0), ("prctl", 28, 0), ("prctl", 34, 0), ("ptrace", 6, TARGET, 80, 5),
    ("ptrace", 6, TARGET, 72, (1 << 64) - 514), ("ptrace", 0x4208, TARGET, 0, 0), ("ptrace", 0x4209, TARGET, 64, ZEROS),
    ("ptrace", 0x420D, TARGET, 0, ZEROS), ("ptrace", 24, TARGET, 0, 0), ("ptrace", 9, TARGET, 0, 0),
    ("remap_file_pages", 0, 4096, 4, 0, 0), ("shmat", 0, 0, 0o100000),
    ("mmap", 0, 4096, (1 << 32) | 7, 0x22, (1 << 64) - 1, 0), ("map_shadow_stack", 0, 4096, 0),
    # Others' attributes, file systems, asynchronous calls, which no filter sees.
    ("io_setup", 8, ZEROS), ("io_submit", 0, 1, ZEROS), ("io_uring_register", 0, 0, 0, 0), ("io_uring_setup", 1 << 31, ZEROS),
    ("setxattrat", AT_FDCWD, f"@{HERE}/there", 0, "@user.x", ZEROS, 16), ("removexattr", f"@{HERE}/there", "@user.x"),
    ("removexattrat", AT_FDCWD, f"@{HERE}/there", 0, "@user.x"), ("file_setattr", AT_FDCWD, f"@{HERE}/there", ZEROS, 24, 0),
    ("open_tree_attr", AT_FDCWD, "@/", 1, ZEROS, 32), ("mount_setattr", AT_FDCWD, "@/", 0, ZEROS, 32), ("fsconfig", 0, 0, "@x", "@y", 0),
    ("fsmount", 0, 0, 0), ("fspick", AT_FDCWD, "@/", 0), ("quotactl_fd", 0, 0, 0, ZEROS), ("kexec_file_load", 0, 0, 0, "@", 0),
    ("clock_settime", 0, ZEROS), ("ioprio_set", 1, TARGET, 0), ("sched_setparam", TARGET, "%01000000"), ("setpgid", TARGET, 0),
    ("sched_setscheduler", TARGET, 1, "%01000000"), ("mbind", 0, 4096, 0, ZEROS, 0, 0), ("setdomainname", "@x", 1 << 20),
    ("perf_event_open", ZEROS, (1 << 64) - 1, 0, (1 << 64) - 1, 0), ("bpf", 14, ZEROS, 16),
    ("unshare", 0x7E020000), ("unshare", 0x80), ("clone", 0x3D0F00 | 0x10000000, 0, 0, 0, 0),
    # Calls of other machines.
    ("i386", 11), ("i386", 5), ("i386", 37), ("i386", 26), ("i386", 102), ("i386", 1), ("x32", 59), ("x32", 2), ("x32", 0x200 + 8),
]
OTHER_MACHINES = ("i386", "x32")  # each filter kills for these: roles.py looks at all of their numbers

# Dangerous calls that pass, as they are a role's work. Nothing is asked of "commands", which has a list of what is refused.
FILES = {"openat", "mkdirat", "unlinkat", "renameat", "renameat2", "linkat"}
SPOOL = {"openat", "unlinkat", "renameat"}
# sched_setscheduler: the lowest real-time priority, for processes of the same user whose limits permit it.
SAMPLES = {"process_vm_readv", "ptrace 0x4206", "memfd_create", "capset", "setitimer", "sched_setscheduler"}
SPAWNER = SAMPLES | {"pidfd_open", "socketpair", "sendmsg", "recvmsg", "prctl 0x4", "perf_event_open",
                     "clone 0x11"}
PERMITTED = {
    "parser": set(), "files": set(), "dump": set(), "apart": set(), "expendable": set(), "reader": set(), "unpacker": FILES, "keep": FILES,
    "keep-apart": FILES, "sample": SAMPLES,
    "top": SAMPLES,
    "host": SAMPLES | {"pidfd_open"},
    "spawner": SPAWNER, "programs": SPAWNER | {"bpf 0x0", "bpf 0x2", "bpf 0x5"},
    "probes": SPAWNER | {"bpf 0x0", "bpf 0x2", "bpf 0x5"}, "prober": {"sendmsg", "recvmsg", "perf_event_open"},
    "probing": set(),
    "broker": FILES - {"linkat"} | {"socket 0x1", "socketpair", "connect", "accept4", "sendto", "sendmsg", "recvmsg",
                                    "pidfd_open", "memfd_create", "clone 0x11", "setitimer"},
    "gate": {"socket 0x1", "connect", "accept4", "sendto", "sendmsg", "recvmsg"},
    "ship-watch": SPOOL, "ship-read": SPOOL | {"socket 0x1", "connect", "sendto", "sendmsg", "recvmsg"},
    "ship-send": SPOOL | {"socket 0x2", "socketpair", "connect", "sendto", "sendmsg", "sendmmsg", "recvmsg"},
}
# Which argument tells apart calls that are there several times.
TOLD_BY = {"ptrace": 1, "kill": 2, "tgkill": 3, "prctl": 1, "clone": 1, "socket": 1, "bpf": 1}

SAMPLED = [("snapwalk", "sample"), ("snapwalk-files", "files"), ("snapwalk-unpack", "unpacker")]
DUMPED = [("snapwalk", "dump"), ("snapwalk-unpack", "unpacker")]


def commands(pid, directory):
    """[(command, its processes with filters and their roles, whether what parses may read any file of its user)]"""
    dump, fixture = os.path.join(directory, "dump.json"), os.path.join(directory, "fixture")
    with open(dump, "w") as file:
        snapwalk("dump", "--json", pid, capture_output=False, stdout=file)
    snapwalk("record", "-o", fixture, pid)
    packages = os.path.join(directory, "packages")
    os.makedirs(packages, exist_ok=True)
    with open(os.path.join(packages, "x.deb"), "w") as file:
        file.write("no package")
    elsewhere = os.path.join(directory, "elsewhere.json")  # a dump of a program whose file is nowhere: packages are asked
    with open(dump) as file, open(elsewhere, "w") as other:
        report = json.load(file)
        report["modules"][0]["build_id"] = "36" * 20
        json.dump(report, other)
    return [
        (["dump", pid], DUMPED, False),
        (["dump", "--keep", os.path.join(directory, "keep{}"), pid],
         [("snapwalk", "keep"), *SAMPLED[1:]], False),
        (["record", "-o", os.path.join(directory, "record{}"), pid], [("snapwalk", "keep"), SAMPLED[1]], False),
        (["dump", "--fixture", fixture], DUMPED, True),
        (["dump", "--burst", "2,10", pid], SAMPLED, False),
        (["sample", "-d", "1", pid], SAMPLED, False),
        (["sample", "--all", "-d", "1"], [("snapwalk", "host"), *SAMPLED[1:]], False),
        (["on", "syscall:nanosleep", "-d", "1", pid], SAMPLED[:2], False),
        # memory has a dozen of probes, which the kernel takes seconds for: test_leaks_memory.py sees that it is confined.
        (["leaks", "--of", "memory" if ALL else "main/recurse", "-d", "1", pid],
         [("snapwalk", "apart"), *SAMPLED[:2]], False),
        (["show", dump], DUMPED[:1], False),
        (["diff", dump, dump], DUMPED[:1], False),
        (["merge", dump, dump], [("snapwalk", "apart")], False),
        (["symbolize", dump], DUMPED, True),
        (["symbolize", "--debuginfod=http://127.0.0.1:9", dump], [*DUMPED, ("snapwalk-fetch", "commands")], True),
        (["symbolize", "--from", packages, elsewhere],
         [*DUMPED, ("snapwalk-pack", "commands"), ("snapwalk-pack", "commands", "unpacker")], True),
        (["verify", pid], DUMPED, False),
        # These parse nothing of a target; mcp executes this command, which needs its rights.
        (["mcp"], [], False), (["doctor", pid], [], False),
    ]


def label(call):
    return f"{call[0]} {call[TOLD_BY[call[0]]]:#x}" if call[0] in TOLD_BY else call[0]


def filled(call, pid, here):
    """The call as drive_roles takes it, and its arguments as numbers, where pointers are some number."""
    words = [pid if word == TARGET else word.replace(HERE, here).replace(TARGET, str(pid)) if isinstance(word, str) else word
             for word in call[1:]]
    if call[0] in OTHER_MACHINES:
        return (f"i386:{call[1]}" if call[0] == "i386" else str(X32_BIT | call[1])), [0] * 6
    arguments = [word if isinstance(word, int) else 0x7FFF00001000 for word in words]
    return ",".join(map(str, [numbers()[call[0]], *words])), [*arguments, *[0] * (6 - len(arguments))]


class Calls:
    """DANGEROUS for a process of certain roles."""

    def __init__(self, table, roles, pid, here):
        self.refused, self.deadly, self.permitted = [], [], []
        for call in DANGEROUS:
            word, arguments = filled(call, pid, here)
            action = "KILL" if call[0] in OTHER_MACHINES else table.of_all(roles, call[0], arguments)
            kind = self.permitted if action == "+" else self.deadly if action in DEADLY else self.refused
            kind.append((label(call), word, action))


def wanted_of(action):
    """Returns the end of a call by an action of filters.txt, as results_of() has it."""
    if action in DEADLY:
        return "died", SIGSYS
    return "result", -ERRORS[action] if action in ERRORS else -(int(action, 16) & 0xFFFF)


def checked(tap, what, calls, lines):
    """The lines that drive_roles wrote: each call has failed, and the last one has killed."""
    results = results_of(lines)
    wanted = [(word.split(",")[0].removeprefix("i386:"), wanted_of(action)) for _, word, action in calls]
    wrong = [(calls[i][0], results[i] if i < len(results) else None, wanted[i]) for i in range(len(calls))
             if i >= len(results) or results[i] != wanted[i]]
    return tap.equal(wrong[:5], [], f"{what}: {len(calls)} calls fail or kill as filters.txt says")


def rounds_of(calls, number):
    """Lists of calls that a process makes: those that fail, in parts, as other processes of the command wait meanwhile, and one
    that kills; with ALL also each other one that kills."""
    deadly = calls.deadly[number % len(calls.deadly):] + calls.deadly[:number % len(calls.deadly)] if calls.deadly else []
    parts = [calls.refused[at:at + PART] for at in range(0, len(calls.refused), PART)] or [[]]
    return [*parts[:-1], parts[-1] + deadly[:1], *([call] for call in deadly[1:] if ALL)]


READ = ("openat", f"{numbers()['openat']},{AT_FDCWD},@/etc/passwd,0", "+")  # a file that is nobody's business


def landlocked(tap, what, reads, read, made, lines):
    """A parser may read other files or not; a process that keeps or unpacks files makes, changes and removes none elsewhere."""
    results = [result for _, (_, result) in results_of(lines)]
    tap.equal(results[:len(read)], [results[0] if reads and results[:1] > [-1] else -errno.EACCES] * len(read),
              f"{what}: other files {'can' if reads else 'cannot'} be read")
    results = results[len(read):]
    tap.check(len(results) == len(made) and all(result < 0 for result in results),
              f"{what}: files elsewhere are neither made nor changed nor removed",
              [(word, result) for (_, word, _), result in zip(made, results)])


def prepare(here):
    """A directory that everybody may write to, with a file."""
    os.chmod(here, 0o777)
    with open(os.path.join(here, "there"), "w") as file:
        file.write("there")
    os.chmod(file.name, 0o666)


def untouched(here):
    with open(os.path.join(here, "there")) as file:
        return os.listdir(here) == ["there"] and file.read() == "there" and os.stat(file.name).st_mode & 0o7777 == 0o666


def places(found):
    """[(NAME:N, process)]: the N-th process of that name."""
    counts = {}
    for process in found:
        n = counts.get(process.name, 0)
        counts[process.name] = n + 1
        yield f"{process.name}:{n}", process


def no_landlock():
    """Why there is no Landlock here, None when there is."""
    version = ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)  # landlock_create_ruleset
    return None if version >= 1 else os.strerror(ctypes.get_errno())


def command_of(words):
    """A function that gives the command: "{}" is a name that is new each time."""
    names = itertools.count()
    return lambda: [SNAPWALK, *(word.replace("{}", str(next(names))) if isinstance(word, str) else word for word in words)]


def of_command(tap, table, pid, here, words, wanted, reads_some, **more):
    run = command_of(words)
    what = " ".join(words[:1] + [word for word in words[1:2] if str(word).startswith("--")])
    for _ in range(TRIES):  # a command that another process's lock keeps from a probe lacks some
        found, done = entered(run(), **more)
        if done.returncode in (0, 3):
            break
        print(f"# {what}: {done.stderr}", flush=True)
    roles = sorted((process.name, *table.role_of(process)) for process in found)
    if not tap.equal((roles, done.returncode in (0, 3)), (sorted(wanted), True),
                     f"{what}: its processes have the filters of their roles"):
        return
    for number, (place, process) in enumerate(places(found)):
        roles = table.role_of(process)
        calls, about = Calls(table, roles, pid, here), f"{what}, {place}"
        with_files = roles[-1] != "commands" and no_landlock() is None
        read = [READ] if with_files and table.of_all(roles, "openat", [0] * 6) == "+" else []
        made = [call for call in calls.permitted if call[0] in FILES and with_files]
        for n, some in enumerate(rounds_of(calls, zlib.crc32(what.encode()) + number)):
            before = [*read, *made] if n == 0 else []
            for _ in range(TRIES):
                lines, done = drive("at", place, *(word for _, word, _ in [*before, *some]), command=run(), **more)
                lines = [line for line in lines if line.startswith("call")]
                if len(lines) == len(before) + len(some):
                    break
                # Another process ends one that takes too long, on a machine that has much to do.
                print(f"# {about}: was not there, or ended by another one: {lines[-1:]}, {done.stderr}", flush=True)
            checked(tap, about, some, lines[len(before):])
            if before:
                landlocked(tap, about, reads_some or roles[-1] in ("sample", "host") or process.name == "snapwalk-files",
                           read, made, lines[:len(before)])
        tap.check(untouched(here), f"{about}: nothing was made, changed or removed", os.listdir(here))


def test_commands(tap):
    table = Table()
    # A file that no other process maps: one that holds the lock of its memory could make the kernel refuse a probe.
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as here, \
            Target(None, "2", path=shutil.copy(os.path.join(TARGETS, "threads"), directory)) as target:
        os.chmod(directory, 0o755)
        prepare(here)
        with open(os.path.join(directory, "debuginfod-find"), "w") as file:
            file.write("#!/bin/sh\nexit 1\n")
        os.chmod(file.name, 0o755)
        os.environ["PATH"] = f"{directory}:{os.environ['PATH']}"  # the process that executes it is looked at, not itself
        tap.together([(of_command, table, target.pid, here, *row) for row in commands(target.pid, directory)])
        tap.check(target.process.poll() is None and state_of(target.pid) == "S", "the target lives, and is not stopped")


def test_reader(tap):
    """The process that reads Python's data."""
    wanted = [*DUMPED, ("snapwalk", "reader")]
    with tempfile.TemporaryDirectory() as here, \
            Target(None, "-c", "import time\nprint('ready', flush=True)\ntime.sleep(3600)", path="/usr/bin/python3") as target:
        prepare(here)
        of_command(tap, Table(), target.pid, here, ["dump", target.pid], wanted, False)


def test_permitted(tap):
    """The dangerous calls that pass: a change of filters.txt that makes them more has to be written here, too."""
    table = Table()
    roles = [([role], PERMITTED[role]) for role in table.roles if role not in ("commands", "captures")]
    for some, wanted in [*roles, (["programs", "captures"], SPAWNER)]:
        found = {name for name, _, _ in Calls(table, some, 1 << 20, "/tmp").permitted}
        tap.equal(sorted(found), sorted(wanted), f"{' and '.join(some)}: which dangerous calls pass")


# ---- the daemon and the gate ---------------------------------------------------------------------

# Workers that load no programs into the kernel enter the filter "captures" besides, when they are still called snapwalk-spawn.
WORKER = ("programs", "captures")
DAEMON = [("snapwalk-spawn", "programs"), ("snapwalk-spawn", *WORKER), ("snapwalk-unpack", "unpacker"), ("snapwalkd", "broker"),
          ("snapwalk-worker", *WORKER, "parser"), ("snapwalk-parser", *WORKER, "parser")]
DRIVEN = ("snapwalk-spawn:0", "snapwalk-spawn:1", "snapwalk-unpack:0", "snapwalkd:0", "snapwalk-worker:0", "snapwalk-parser:0")


class DrivenGate(Gate):
    """The gate under drive_roles."""

    def __init__(self, daemon, driver, n_calls=None):
        """n_calls: it need not answer, but make so many calls."""
        super().__init__(daemon)
        self.driver, self.n_calls = driver, n_calls

    def answers(self):
        if self.n_calls is None:
            return super().answers()
        return n_calls(lines_of(self.driver[1])) >= self.n_calls

    def start(self):
        self.prefix = [*self.driver, *self.prefix]
        super().start()


def connects_elsewhere(daemon, out):
    """Whether the gate, when it is taken over, can turn one of its sockets to an address of the network: each descriptor is
    disconnected and connected again."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = "0200" + server.getsockname()[1].to_bytes(2, "big").hex() + "7f000001" + "00" * 8
        calls = [call for fd in range(3, 16) for call in (
            f"{numbers()['connect']},{fd},%{'00' * 16},16", f"{numbers()['connect']},{fd},%{address},16",
            f"{numbers()['sendto']},{fd},@x,1,{MSG_FASTOPEN},%{address},16")]
        open(out, "w").close()  # what was written before is not counted
        with DrivenGate(daemon, driver(out, "at", "snapwalk-gate:0", *calls), len(calls)):
            results = [result for _, (_, result) in results_of(lines_of(out))]
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return results, False
        return results, True


def n_calls(lines):
    """Counts calls that were made; the last line may be half written."""
    return sum(line.startswith("call") for line in lines)


def lines_of(path):
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError:
        return []


def ask(daemon, pid, out, until):
    """Has the daemon start its processes until drive_roles has written so, or it has ended."""
    for words in (("dump",), *[("sample", "-d", "1")] * 9):
        if daemon.process.poll() is not None or until(lines_of(out)):
            return
        snapwalk(*words, "--via", "daemon", "--socket", daemon.socket_path, pid)


def of_daemon(tap, table, place, roles, number, pid, here):
    """A daemon is started for each round, and its process at that place makes the calls."""
    calls = Calls(table, roles, pid, here)
    for some in rounds_of(calls, number):
        with tempfile.NamedTemporaryFile() as out:
            made = driver(out.name, "at", place, *(word for _, word, _ in some))
            with Daemon(prefix=made, wait=False) as daemon:
                wait_until(lambda: os.path.exists(daemon.socket_path) or daemon.process.poll() is not None, "the daemon to begin")
                ask(daemon, pid, out.name, lambda lines: n_calls(lines) >= len(some))
            checked(tap, f"daemon, {place}", some, lines_of(out.name))


def test_daemon(tap):
    table = Table()
    with tempfile.NamedTemporaryFile() as out, Target("threads", "2") as target, tempfile.TemporaryDirectory() as here:
        with Daemon(prefix=driver(out.name, "list")) as daemon:
            ask(daemon, target.pid, out.name, lambda lines: any("snapwalk-parser" in line for line in lines))
            with tempfile.NamedTemporaryFile() as gate_out:
                with DrivenGate(daemon, driver(gate_out.name, "list")):
                    found = [Process(line) for line in lines_of(gate_out.name)]
                tap.equal([(process.name, *table.role_of(process)) for process in found], [("snapwalk-gate", "gate")],
                          "gate: it has the filter of its role")
                calls = Calls(table, ["gate"], target.pid, here)
                some = calls.refused
                with DrivenGate(daemon, driver(gate_out.name, "at", "snapwalk-gate:0", *(word for _, word, _ in some))):
                    checked(tap, "gate", some, lines_of(gate_out.name))
                if no_landlock() is None:
                    results, reached = connects_elsewhere(daemon, gate_out.name)
                    tap.check(0 in results[::3] and not reached and -errno.EACCES in results[1::3]
                              and set(results[2::3]) == {-errno.EPERM},
                              "gate: a socket of it that is disconnected cannot be connected to the network", results)
        found = [Process(line) for line in lines_of(out.name)]
        tap.equal(sorted({(process.name, *table.role_of(process)) for process in found}), sorted(DAEMON),
                  "daemon: its processes have the filters of their roles")
        tap.check(all(process.uid != 0 and (process.caps == 0 or process.name == "snapwalk-spawn") for process in found),
                  "daemon: none is root, and the spawner alone has capabilities", [(p.name, p.uid, p.caps) for p in found])
        tap.together([(of_daemon, table, place, table.role_of(process), number, target.pid, here)
                      for number, (place, process) in enumerate(places(found)) if place in DRIVEN])
        tap.check(target.process.poll() is None, "the target lives")


SHIP = [("snapwalk-read", "ship-read"), ("snapwalk-send", "ship-send"), ("snapwalk-ship", "ship-watch")]


class DrivenShip(Ship):
    """The shipper under drive_roles."""

    def __init__(self, made, out, *driven):
        super().__init__("/nowhere/socket", made, {"Dumps": {"URL": "http://127.0.0.1:9/v1/logs"}}, start=False)
        self.out, self.driven = out, driven

    def start(self):
        self.prefix = [*driver(self.out, *self.driven), *self.prefix]
        super().start()

    def stop(self):
        """A process of it may have been killed: then all end."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(timeout=60)


def of_ship(tap, table, place, role, number, pid, here):
    """A shipper is started for each round; its processes open no file but their own, and make none elsewhere."""
    calls = Calls(table, [role], pid, here)
    files = [call for call in calls.permitted if call[0] in FILES] if no_landlock() is None else []
    for n, some in enumerate(rounds_of(calls, number)):
        before = [READ, *files] if files and n == 0 else []
        words = [word for _, word, _ in [*before, *some]]
        with tempfile.TemporaryDirectory() as made, tempfile.NamedTemporaryFile() as out:
            os.chmod(made, 0o755)
            with DrivenShip(made, out.name, "at", place, *words) as ship:
                ship.start()
                wait_until(lambda out=out, words=words: n_calls(lines_of(out.name)) >= len(words), f"{place} to make its calls")
            lines = [line for line in lines_of(out.name) if line.startswith("call")]
        checked(tap, f"ship, {place}", some, lines[len(before):])
        if before:
            landlocked(tap, f"ship, {place}", role != "ship-read", before[:1], files, lines[:len(before)])
        tap.check(untouched(here), f"ship, {place}: nothing was made, changed or removed", os.listdir(here))


def test_ship(tap):
    table = Table()
    with tempfile.TemporaryDirectory() as made, tempfile.NamedTemporaryFile() as out, tempfile.TemporaryDirectory() as here, \
            Target("threads", "2") as target:
        os.chmod(made, 0o755)
        prepare(here)
        with DrivenShip(made, out.name, "list") as ship:
            ship.start()
            wait_until(lambda: len(lines_of(out.name)) >= len(SHIP), "the parts to be there")
        found = [Process(line) for line in lines_of(out.name)]
        tap.equal(sorted((process.name, *table.role_of(process)) for process in found), SHIP,
                  "ship: its processes have the filters of their roles")
        tap.equal({(process.uid != 0, process.caps) for process in found}, {(True, 0)}, "ship: none is root or has a capability")
        tap.together([(of_ship, table, f"{name}:0", role, number, target.pid, here) for number, (name, role) in enumerate(SHIP)])
        tap.check(target.process.poll() is None, "the target lives")


def main():
    tap = Tap()
    for test in tap.chosen(test_permitted):
        tap.guard(test)
    if os.geteuid() != 0:
        tap.skip("processes", "their filters can be seen by root alone", Tap.ROOT)
        tap.done()
    for test in tap.chosen(test_commands, test_reader, test_daemon, test_ship):
        tap.guard(test)
    tap.done()


if __name__ == "__main__":
    main()
