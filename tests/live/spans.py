# SPDX-License-Identifier: LGPL-2.1-or-later
"""The program targets/spans.c in its mode "moving": whether the request that a dump has of a thread is that of its stack."""
import json
import re

from harness import PATIENT, snapwalk

FUNCTION = re.compile(r"(work|span)_([0-7])$")
TRACE = re.compile(r"4bf92f3577b34da6([0-9a-f]{8})0000000([0-7])$")


def looks(pid, n):
    """Dumps, of which every fourth one stops all threads."""
    for i in range(n):
        stop = "always" if i % 4 == 3 else "auto"
        yield json.loads(snapwalk("dump", pid, "--json", "--symbols", "names", "--stop", stop, *PATIENT).stdout)


def wrong_of_thread(thread, frames):
    """Says what is wrong with a thread's request; None: nothing. In work_K() it is that of span K. In span_K() it begins or
    ends: there is none, or that one."""
    trace = thread.get("trace")
    match = TRACE.match(trace["trace_id"]) if trace is not None else None
    if trace is not None and match is None:
        return f"{trace} is none of the program's"
    tid, span = (int(match[1], 16), match[2]) if match else (None, None)
    if match and (tid != thread["tid"] or trace["attributes"].get("http_route") != f"/span/{span}" or
                  trace["attributes"].get("user_id") != str(int(trace["span_id"], 16))):
        return f"{trace} is torn, or another thread's than {thread['tid']}"
    found = next((m for m in (FUNCTION.match(f.get("function") or "") for f in frames) if m), None)
    if found is None:
        return f"{trace} outside of spans" if trace is not None else None
    if found[2] == span or (found[1] == "span" and trace is None):
        return None
    return f"{trace} in {found[0]}"


def wrong_of(made):
    wrong = []
    for thread in made["threads"]:
        if not thread["captured"]:
            continue
        stack = made["stacks"][thread["stack"]]
        why = wrong_of_thread(thread, stack["frames"])
        if why is not None:
            wrong.append((thread["tid"], why, [f.get("function") for f in stack["frames"]]))
    return wrong
