# SPDX-License-Identifier: LGPL-2.1-or-later
"""The common part of the tests of snapwalk leaks: programs that write down what they acquired and released, against the
answer of the command.
"""
import json
import re
import signal

from harness import wait_until
from test_events import ids_there, links

CALLS = ("acquired", "outstanding")
CALLS_AND_BYTES = ("acquired", "acquired_bytes", "outstanding", "outstanding_bytes")


def turn(target, what="go"):
    """Returns what the target writes down when it is told to do something: {function: (number, ...)}."""
    target.send(what)
    return {name: tuple(map(int, numbers)) for name, *numbers in (line.split() for line in iter(target.readline, "done"))}


def program_again(target, what="go"):
    """The target becomes the same program by execve(2): what that writes down."""
    target.send("exec")
    wait_until(lambda: target.readline() == "ready", "it is another program")
    return turn(target, what)


def sums_of(stacks, names, figures):
    """{function: (number, ...)}: a stack belongs to the innermost function of those names, or to "-"."""
    sums = dict.fromkeys(names, (0,) * len(figures))
    for s in stacks:
        name = next((f["function"] for f in s["frames"] if f["function"] in names), "-")
        sums[name] = tuple(a + b for a, b in zip(sums.get(name, (0,) * len(figures)), (s[key] for key in figures)))
    return sums


def found(answer, names, figures=CALLS):
    """Returns what an answer says of those functions, in the order of the figures."""
    for s in answer["stacks"]:
        if s["acquired"] != s["released"] + s["outstanding"] + s["closed_unseen"]:
            raise RuntimeError(f"{s}")
    return sums_of(answer["stacks"], names, figures)


def nothing_lost(tap, name, answer):
    tap.equal((answer["lost"], answer["unknown_origin"], answer["closed_unseen"], answer["checked"]), (0, 0, 0, True),
              f"{name}: nothing is lost or unknown")


def ages(tap, name, answer):
    found_ages = [(s["oldest_ms"], s["median_age_ms"]) for s in answer["stacks"] if s["outstanding"]]
    tap.check(all(0 <= median <= oldest <= answer["duration_ms"] for oldest, median in found_ages), f"{name}: ages", found_ages)


def answer_without(run, target):
    """The answer of a command whose target is killed while the command does not run."""
    run.process.send_signal(signal.SIGSTOP)
    target.process.kill()
    target.process.wait()
    run.process.send_signal(signal.SIGCONT)
    return json.loads(run.process.communicate()[0])


def killed(tap, run, target, n_ids):
    """Programs and links of the command are gone after kill -9."""
    ids = set(re.findall(r"^(?:link_id|prog_id):\t(\d+)", "\n".join(links(run.process.pid)), re.M))
    run.process.kill()
    run.process.communicate()
    wait_until(lambda: not ids & ids_there(), "links and programs are gone", 20)
    tap.check(len(ids) == n_ids and not ids & ids_there(), "kill -9: links and programs are gone", ids)
    tap.check(turn(target), "kill -9: the target goes on")
