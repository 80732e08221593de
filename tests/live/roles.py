# SPDX-License-Identifier: LGPL-2.1-or-later
"""Filters of system calls as live processes have them, and filters.txt, which says for each role what its filter does.

    table = Table()                        # of tests/unit/daemon/sandbox/filters.txt
    for process in entered(command):       # each time that a process has entered a filter
        table.role_of(process)             # the roles of its filters: the columns that these have
    table.wanted("sample", SYS["fcntl"], (0, F_SETOWN, 1))   # "+", "-", "KILL", "TRAP" or "ENOSYS"
"""
import functools
import os
import re
import struct
import subprocess
import tempfile

from harness import TARGETS

FILTERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/daemon/sandbox/filters.txt")
X86_64, I386, X32_BIT = 0xC000003E, 0x40000003, 0x40000000
UNKNOWN_CALL = 9999
LOAD, LOAD_ARCH, LOAD_NUMBER, AND, JEQ, JGE, RETURN = 0x20, 4, 0, 0x54, 0x15, 0x35, 0x06
ACTIONS = {0x7FFF0000: "+", 0x80000000: "KILL", 0x30000: "TRAP", 0x50001: "-", 0x50026: "ENOSYS"}
DEADLY = ("KILL", "TRAP")  # the strictest one first
# /usr/include/x86_64-linux-gnu/asm/unistd_64.h; a call that it lacks is not looked at, but for those that a test names.
HEADER = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
NEWER = {"fchmodat2": 452, "map_shadow_stack": 453, "setxattrat": 463, "removexattrat": 466, "open_tree_attr": 467, "file_setattr": 469}


@functools.cache
def numbers():
    """{name of a system call: its number}, as this machine's headers have them."""
    with open(HEADER) as file:
        return NEWER | {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", file.read())}


def compared(code, left, right):
    return left == right if code == JEQ else left >= right


class Program:
    """A filter of a process, followed as test_filters.c does: each way to an end, in the words of filters.txt."""

    def __init__(self, raw, pid):
        self.code = list(struct.iter_unpack("=HBBI", raw))
        self.pid = pid

    def condition(self, word, mask, wanted):
        off = word - 16  # args of struct seccomp_data
        value = "our pid" if wanted == self.pid else f"{wanted:#x}" if wanted else "0"
        masked = "" if mask == 0xFFFFFFFF else f"&{mask:#x}"
        return f"{off // 8}{chr(39) if off % 8 else ''}{masked}={value}"

    def follow(self, arch, number):
        pc, ends, path, after, value = 0, [], [], 0, ("known", number)
        while True:
            code, jt, jf, k = self.code[pc]
            pc += 1
            if code == LOAD:
                value = {LOAD_ARCH: ("known", arch), LOAD_NUMBER: ("known", number)}.get(k, ("argument", k, 0xFFFFFFFF))
            elif code == AND:
                value = ("argument", value[1], value[2] & k)
            elif code in (JEQ, JGE) and value[0] == "known":
                pc += jt if compared(code, value[1], k) else jf
            elif code == JEQ:
                if not path:
                    after = pc + jf
                path.append(self.condition(value[1], value[2], k))
                pc += jt
            elif code == RETURN:
                action = ACTIONS.get(k, f"{k:#x}")
                ends.append(f"{' and '.join(path)}: {action}" if path else action)
                if not path:
                    return "; ".join(ends)
                path, pc = [], after
            else:
                raise ValueError(f"an instruction that filters do not use: {code:#x}")


class Process:
    """A process when it has entered a filter."""

    def __init__(self, line):
        words = dict(zip(*[iter(line.split())] * 2))
        self.pid, self.name = int(words["role"]), words["name"]
        self.uid, self.caps = int(words["uid"]), int(words["caps"], 16)
        self.filters = [bytes.fromhex(text) for text in words["filter"].split(":")]  # the oldest first


def driver(out, *words):
    """Returns the words before a command that run it under drive_roles."""
    return [os.path.join(TARGETS, "drive_roles"), out, *map(str, words), "--"]


def drive(*words, command, **run):
    """(lines that drive_roles has written, the finished command)"""
    with tempfile.NamedTemporaryFile(mode="r", prefix="snapwalk-roles-") as out:
        try:
            done = subprocess.run([*driver(out.name, *words), *map(str, command)],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **run)
        except subprocess.TimeoutExpired as late:  # the call that did not end is the one after the last line
            raise AssertionError(f"{command} at {words}: no end after 120 s; {out.read()}") from late
        return out.read().splitlines(), done


def results_of(lines):
    """Returns the end of each call that a process was made to do: [(its number, ("result", N) or ("died", SIGNAL))]."""
    calls = (line.split() for line in lines if line.startswith("call"))
    return [(number, (what, int(value))) for _, number, what, value in calls]


def entered(command, **run):
    """Each process of a command that has entered a filter, in their order."""
    lines, done = drive("list", command=command, **run)
    return [Process(line) for line in lines], done


class Table:
    """filters.txt."""

    def __init__(self):
        self.rows, self.more, self.seen = {}, {}, {}
        with open(FILTERS) as file:
            lines = [line.rstrip("\n") for line in file if not line.startswith("#")]
        self.roles = lines[0].split()
        for line in lines[1:]:
            name, _, rest = line.partition("  ")
            if " " in name and not name.startswith("("):
                role, call = name.split()
                self.more[role, call] = rest
            else:
                call, *actions = re.match(r"(\(.*\)|\S+)\s+(.*)", line).groups()
                self.rows[call] = dict(zip(self.roles, actions[0].split()))

    def text(self, role, call):
        """Returns the result of a call as the table has it, with its conditions."""
        action = self.rows[call][role] if call in self.rows else self.rows[self.unknown][role]
        return self.more[role, call] if action == "?" else action

    @functools.cached_property
    def unknown(self):
        """The row of the last numbers, for which there is no name."""
        return [name for name in self.rows if name[0] == "("][-1]

    def role_of(self, process):
        """The roles of its filters, the oldest first; None for a filter that is no role's."""
        return [self.known(raw, process.pid) for raw in process.filters]

    def known(self, raw, pid):
        """Filters that name their own process are one by process."""
        if raw not in self.seen:
            self.seen[raw] = next(iter(self.roles_of(Program(raw, pid))), None)
        return self.seen[raw]

    def roles_of(self, program):
        """The roles whose column is what this filter does, for each call that this machine's headers name, one that nobody
        knows, and those of other machines."""
        roles = list(self.roles)
        calls = [(name, number) for name, number in numbers().items() if name in self.rows] + [(self.unknown, UNKNOWN_CALL)]
        for name, number in calls:
            found = program.follow(X86_64, number)
            roles = [role for role in roles if self.text(role, name) == found]
            if not roles:
                return []
        others = {program.follow(I386, number) for number in (1, 11, UNKNOWN_CALL)} | {program.follow(X86_64, X32_BIT | 59)}
        return roles if others == {"KILL"} else []

    def of_all(self, roles, call, arguments):
        """Returns the result of a call at which several filters look: the kernel takes the strictest one,
        and of equal ones the newest."""
        found = [self.wanted(role, call, arguments) for role in reversed(roles)]
        deadly = next((action for action in DEADLY if action in found), None)
        return deadly or next((action for action in found if action != "+"), "+")

    def wanted(self, role, call, arguments):
        """Returns the result of a call with these arguments."""
        for part in self.text(role, call).split("; "):
            conditions, _, action = part.rpartition(": ")
            if all(self.holds(condition, arguments) for condition in conditions.split(" and ") if condition):
                return action
        raise ValueError(f"{role} {call}: no part holds for all")

    @staticmethod
    def holds(condition, arguments):
        index, upper, mask, value = re.fullmatch(r"(\d)('?)(?:&(\w+))?=(.+)", condition).groups()
        if value == "our pid":
            return False  # of others alone
        word = arguments[int(index)] >> (32 if upper else 0) & 0xFFFFFFFF
        return word & int(mask or "0xffffffff", 0) == int(value, 0)
