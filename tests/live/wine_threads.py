# SPDX-License-Identifier: LGPL-2.1-or-later
"""The words of the Windows program tests/targets/wine/threads.c on its threads, and whether a report agrees. Used over
the live program and over recorded ones."""
from harness import own_functions, stack_of

# Where a thread of the program begins; the fiber's stack begins with a fiber.
STARTS = {"RtlUserThreadStart"}
DISPATCHERS = {"__wine_syscall_dispatcher", "__wine_unix_call_dispatcher"}
# How frames may be found. Where unwind information is a function of the process, or there is none,
# one frame is found by its frame pointer or on the stack.
TRUST = {"context", "cfi", "unwind_info", "runtime"}
TRUST_OF = {"table": {"jit"}, "growable": {"jit"}, "callback": {"frame_pointer"},
            "unlisted": {"frame_pointer"}, "asmspin": {"scan"}, "asmcall": {"instructions"}}
# Threads that are stopped in Windows code, in no call of Wine's.
IN_WINDOWS_CODE = {"spin", "asmspin"}
N_THREADS = 34


class Said:
    """The lines that the program printed."""

    def __init__(self, lines):
        self.names, self.walk, self.functions, self.pcs = {}, {}, {}, {}
        for line in lines:
            word, *rest = line.split()
            if word == "thread":
                tid = int(rest[0])
                self.names[tid], self.walk[tid], self.functions[tid] = rest[1], rest[2], rest[3:]
            elif word == "walk":
                self.pcs[int(rest[0])] = [int(pc, 16) for pc in rest[1:]]


def windows_pcs(report, tid):
    """The frames that the program knows of: all but Unix code."""
    return [int(f["pc"], 16) for f in stack_of(report, tid)["frames"]
            if not f["inlined"] and f["kind"] != "native"]


def in_order(wanted, names):
    """Whether the wanted names are among names, in this order."""
    rest = iter(names)
    return all(name in rest for name in wanted)


def check_walk(said, report, tid):
    """'' or how the walk from inside differs. It goes wrong after a callback in Wine 8 and after
    code without tables; up to there ours must be the same."""
    ours, theirs = windows_pcs(report, tid), said.pcs[tid]
    if said.walk[tid] == "all":
        return "" if ours == theirs else "not the same"
    frames = [f for f in stack_of(report, tid)["frames"] if not f["inlined"]]
    wrong_from = next((i for i, f in enumerate(frames)
                       if f["function"] == "KiUserCallbackDispatcher" or f["kind"] == "unknown"
                       or f["function"] == "assembly_calls"),
                      len(frames))
    n = sum(f["kind"] != "native" for f in frames[:wrong_from + 1])
    return "" if ours[:n] == theirs[:n] else f"not the same in the first {n}"


def check_thread(said, report, tid):
    """Returns what is wrong with one thread: a list of words."""
    name, wrong = said.names[tid], []
    stack = stack_of(report, tid)
    if stack is None:
        return [f"{name}: not captured"]
    frames = [f for f in stack["frames"] if not f["inlined"]]
    functions = [f["function"] for f in frames]
    if stack["end"] != "complete":
        wrong.append(f"ends {stack['end']}: {stack['why']}")
    if name != "fiber" and functions[-1] not in STARTS:
        wrong.append(f"ends in {functions[-1]}")
    trust = {f["trust"] for f in frames} - TRUST
    if trust != TRUST_OF.get(name, set()):
        wrong.append(f"trust {trust}")
    if not in_order(said.functions[tid], own_functions(report, tid, ("wine_threads.exe",))):
        wrong.append(f"functions {functions}")
    if not DISPATCHERS & set(functions) and name not in IN_WINDOWS_CODE | {"heldspin"}:
        wrong.append("no dispatcher")
    if name == "unixcall" and "__wine_unix_call_dispatcher" not in functions:
        wrong.append("no unix call")
    if tid in said.pcs and (differs := check_walk(said, report, tid)):
        wrong.append(f"{differs}\nours   {[hex(pc) for pc in windows_pcs(report, tid)]}\n"
                     f"theirs {[hex(pc) for pc in said.pcs[tid]]}")
    return [f"{name}: {words}" for words in wrong]


def check_threads(tap, name, lines, report):
    said = Said(lines)
    tap.check(len(said.names) >= N_THREADS and 0 not in said.names,
              f"{name}: all {len(said.names)} threads are where they should be",
              sorted(said.names.items()))
    wrong = [words for tid in said.names for words in check_thread(said, report, tid)]
    tap.check(not wrong, f"{name}: every thread is complete and as it is seen from inside "
              f"({len(said.pcs)} of {len(said.names)} are)", "\n".join(wrong))
    nested = [f["function"] for tid, n in said.names.items() if n == "nested"
              for f in stack_of(report, tid)["frames"]]
    tap.equal((nested.count("KiUserCallbackDispatcher"),
               sum(f in DISPATCHERS for f in nested)), (2, 3),
              f"{name}: a callback in a callback: each change of stacks shows")


def check_runtimes(tap, name, version, report):
    process = report["process"]
    wine = [r for r in process["runtimes"] if r["name"] == "wine"]
    tap.check(len(wine) == 1 and wine[0]["version"].split(".")[0] == version,
              f"{name}: Wine {version} is recognised", process["runtimes"])
    tables = [r for r in process.get("registries", []) if r["name"] == "wine-function-tables"]
    tap.check(len(tables) == 1 and tables[0]["entries"] == 3, f"{name}: three function tables",
              process.get("registries"))
