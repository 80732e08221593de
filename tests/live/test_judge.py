#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 5s
"""The judge of random tests: its statistics, and what it keeps. Nothing here is random."""
import contextlib
import io
import json
import os
import tempfile
from fractions import Fraction
from unittest import mock

import judge
from harness import Tap, Target, dump, stack_of, wait_blocked
from judge import KEPT_MAX, LIMIT, Judge, read_rates, scaled, tail


def exact(k, n, b):
    """tail() with bad = 0, by its closed form: after a Beta(1, b), k or more of n."""
    value = Fraction(1)
    for i in range(k):
        value *= Fraction(n - i, n + b - i)
    return float(value)


def test_tail(tap):
    for k, n, looks, prior in ((1, 1, 0, 1000), (3, 240, 0, 1000), (9, 240, 0, 1000), (5, 60, 100000, 10000), (60, 60, 0, 1000)):
        got, wanted = tail(k, n, 0, looks, prior), exact(k, n, looks + prior - 1)
        tap.check(abs(got - wanted) <= 1e-7 * wanted, f"none of {looks} was bad, {k} of {n} are", (got, wanted))
    tap.equal(tail(0, 10, 3, 100, 1000), 1.0, "none or more: always")
    tap.check(abs(tail(1, 1, 9, 1000, 1000) - 10 / 2000) < 1e-9, "the tail of a single stack is the mean: (bad + 1) / (looks + prior)")
    for bad, looks, wanted in ((25, 330, 25 / 330), (1, 10**6, 2 / 1001000), (0, 50, 1 / 1050)):
        got = tail(1, 1, bad, looks, judge.prior_of("cut", bad, looks))
        tap.check(abs(got - wanted) < 1e-9, f"{bad} of {looks} were cut: the rate is {wanted:.2g}", got)
    values = [tail(k, 100, 5, 1000, 1000) for k in range(102)]
    tap.check(all(a >= b for a, b in zip(values, values[1:])) and values[101] == 0.0, "more are rarer, more than all are never")
    # As a binomial one, whose rate is known.
    rate, n = 0.001, 1000
    binomial = 1 - sum((1 - rate) ** (n - i) * rate ** i * v for i, v in ((0, 1), (1, n), (2, n * (n - 1) / 2)))
    tap.check(abs(tail(3, n, 10**7, 10**10, 1000) - binomial) < 1e-5, "the tail of many looks: the binomial distribution",
              (tail(3, n, 10**7, 10**10, 1000), binomial))
    for kind, n, known, first in (("cut", 240, (0, 0), 9), ("wrong", 240, (0, 0), 4), ("cut", 240, (0, 100000), 3),
                                  ("wrong", 240, (0, 100000), 3), ("cut", 400, (9, 2700), 12), ("cut", 30, (25, 330), 13)):
        fails = next(k for k in range(n) if tail(k, n, *known, judge.prior_of(kind, *known)) < LIMIT)
        tap.equal(fails, first, f"{kind}, {known[0]} of {known[1]} known: from how many of {n} on it fails")


def test_rates(tap):
    tap.check(read_rates(), "tests/rates.tsv can be read")
    row = "a.b\tcut\t1\t20\t2026-11-01\t0007\n"
    with tempfile.NamedTemporaryFile("w+") as file:
        for text, wanted in ((row, {("a.b", "cut"): (1, 20)}), ("# x\n\n", {}), (row + row, None), (row.replace("cut", "bad"), None),
                             (row.replace("20", "0"), None), (row.replace("\t0007", ""), None), (row.replace("1\t2", "-1\t2"), None)):
            file.seek(0)
            file.truncate()
            file.write(text)
            file.flush()
            try:
                got = read_rates(file.name)
            except ValueError:
                got = None
            tap.equal(got, wanted, f"rates: {text!r}")


class Results:
    """Instead of a Tap: what was checked."""

    def __init__(self):
        self.checks = []

    def check(self, condition, name, detail=""):
        self.checks.append((bool(condition), name, detail))
        return bool(condition)


def judged(root, verdicts, rates=None, name="a.b", about=""):
    """(the checks, what was printed) after looks with these verdicts: (kind, why)."""
    results, out = Results(), io.StringIO()
    with contextlib.redirect_stdout(out), Judge(results, name, about, root=root, rates=rates or {}) as it:
        for kind, why in verdicts:
            look = it.look({"process": {"exe": "/x"}}, "what was seen")
            it.right(look) if kind == "right" else getattr(it, kind)(look, why)
    return [passed for passed, _, _ in results.checks], out.getvalue(), results.checks


def kept(root, name="a.b"):
    """{number: why}"""
    found = {}
    for number in os.listdir(os.path.join(root, name)) if os.path.isdir(os.path.join(root, name)) else ():
        with open(os.path.join(root, name, number, "why")) as file:
            found[int(number)] = file.read()
    return found


def rates(n, **bad):
    """The lines that say the rates of looks whose checks passed."""
    return "".join(f"# rate: a.b {kind} {k} {n}\n" for kind, k in bad.items())


def test_decides(tap):
    with tempfile.TemporaryDirectory() as root:
        right = [("right", None)] * 200
        tap.equal(judged(root, right)[:2], ([True] * 3, rates(200, wrong=0, cut=0)), "all are right: passes and says so")
        tap.equal(os.listdir(root), [], "all are right: nothing is kept")
        tap.equal(judged(root, [])[0], [False, True, True], "nothing was judged: fails")
        passed, out, _ = judged(root, right + [("wrong", "f calls g\nsecond line")], about="1.2")
        tap.equal((passed, out), ([True] * 3, rates(201, wrong=1) + "# rare: a.b wrong 1 of 201: 1.2: f calls g; evidence "
                                  f"{root}/a.b/1\n" + rates(201, cut=0)), "one is wrong: passes, and is told")
        passed, out, _ = judged(root, right + [("cut", "memory")])
        tap.equal((passed, out), ([True] * 3, rates(201, wrong=0, cut=1)), "a single stack is cut: passes")
        passed, out, _ = judged(root, right + [("cut", "memory")] * 4)
        tap.equal((passed, out), ([True] * 3, rates(204, wrong=0, cut=4) +
                                  f"# rare: a.b cut 4 of 204: memory; evidence {root}/a.b/3\n"), "4 are cut: passes, and is told")
        passed, out, checks = judged(root, right + [("wrong", "f calls g")] * 5)
        tap.equal((passed, out), ([True, False, True], rates(205, cut=0)), "5 are wrong: fails")
        tap.check("f calls g" in checks[1][2] and f"{root}/a.b/7" in checks[1][2], "and says why and where", checks[1])
        tap.equal(judged(root, right + [("cut", "memory")] * 12)[0], [True, True, False], "12 are cut: fails")
        tap.equal(judged(root, right + [("cut", "memory")] * 12, {("a.b", "cut"): (50, 1000)})[0], [True] * 3,
                  "12 are cut where 1 in 20 is known to be: passes")
        tap.equal(judged(root, right + [("wrong", "memory")] * 5, {("a.b", "cut"): (50, 1000)})[0], [True, False, True],
                  "the rate of one kind says nothing of the other")


def test_counts(tap):
    """Looks are counted, not their stacks."""
    with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()):
        with Judge(Results(), "a.b", root=root, rates={}) as it:
            for _ in range(3):
                look = it.look({})
                it.right(look)
                it.cut(look, "first")
                it.cut(look, "second")
                it.wrong(look, "third")
            it.right(it.look({}))
            it.look({})  # nothing in it was to be judged
            it.right(it.look({}))
        found = {kind: [why.strip() for why in whys] for kind, whys in it.whys.items()}
    tap.equal((it.stacks, it.n, found), (14, 5, {"wrong": ["third"] * 3, "cut": ["first"] * 3}), "the counts of looks with several stacks")


def test_keeps(tap):
    with tempfile.TemporaryDirectory() as root:
        judged(root, [("right", None), ("cut", "first"), ("right", None), ("wrong", "second")])
        tap.equal(kept(root), {1: "cut: first\n", 2: "wrong: second\n"}, "those that are not right are kept")
        folder = os.path.join(root, "a.b", "2")
        tap.equal(sorted(os.listdir(folder)), ["about.json", "dump.json", "evidence", "why"], "with what is known")
        with open(os.path.join(folder, "about.json")) as file:
            about = json.load(file)
        tap.check(about["name"] == "a.b" and about["exe"] == "/x" and len(about["load"]) == 3 and about["snapwalk"], "as the load", about)
        many = [("cut", str(i)) for i in range(KEPT_MAX + 5)]
        judged(root, many)
        tap.equal(sorted(kept(root)), [2, *range(3, 3 + KEPT_MAX)], "KEPT_MAX looks of a kind are kept, the last run's; others stay")
        tap.equal(kept(root)[3], "cut: 0\n", "the run's first looks are kept")
        with mock.patch.dict(os.environ, SNAPWALK_SEED="17"):
            judged(root, [("wrong", "seed")], name="other")
        with open(os.path.join(root, "other", "1", "about.json")) as file:
            tap.equal(json.load(file)["seed"], "17", "the seed is kept")
        results = Results()
        try:
            with Judge(results, "raises", root=root, rates={}) as it:
                it.look({}, lambda folder: open(os.path.join(folder, "made"), "w").close())
                raise KeyError("frames")
        except KeyError:
            pass
        tap.equal((kept(root, "raises"), results.checks), ({1: "wrong: KeyError: 'frames'\n"}, []),
                  "a look with which the test cannot go on is kept")
        tap.check(os.path.exists(os.path.join(root, "raises", "1", "made")), "a function adds what it knows")


def test_looks(tap):
    """Dumps of a process whose threads wait."""
    with tempfile.TemporaryDirectory() as root, Target("chain_pie") as target:
        wait_blocked(target.pid)
        results = Results()
        with contextlib.redirect_stdout(io.StringIO()), Judge(results, "a.b", root=root, rates={}) as it, \
                mock.patch.dict(os.environ, SNAPWALK_LOOKS_FACTOR="2"):
            made = scaled(5)
            for i, look in enumerate(it.looks(target.pid, 3)):
                stack = stack_of(look.report, target.pid)
                if i in (1, 3):
                    it.verdict(look, wrong="not at all", text=stack["end"])
                else:
                    it.right(look)
            for look in it.looks(target.pid):
                it.cut(look, "the last one")
                break
            for i, look in enumerate(it.series(target.pid, 2, target.pid)):
                it.verdict(look, wrong="of a series" if i == 1 else None)
            for look in it.series(target.pid, 2, stop="auto"):
                it.wrong(look, "left")
                break
        tap.equal(made, 10, "SNAPWALK_LOOKS_FACTOR")
        tap.equal((it.stacks, len(it.whys["wrong"])), (12, 4), "looks, one more, and two series")
        tap.equal(kept(root), {1: "wrong: not at all\ncomplete\n", 2: "wrong: not at all\ncomplete\n", 3: "cut: the last one\n",
                               4: "wrong: of a series\n", 5: "wrong: left\n"},
                  "those that are not right are kept")
        names = [sorted(os.listdir(os.path.join(root, "a.b", number, "snapshot", "modules"))) for number in "12345"]
        tap.equal(names, [sorted(os.listdir(os.path.join(root, "modules")))] * 5, "their modules are in one store")
        links = {entry.stat().st_nlink for entry in os.scandir(os.path.join(root, "modules"))}
        tap.equal(links, {6}, "once each")
        for number, level in (("2", "lines"), ("4", "names")):
            with open(os.path.join(root, "a.b", number, "dump.json")) as file:
                live = json.load(file)
            again = dump(["--fixture", os.path.join(root, "a.b", number, "snapshot"), "--symbols", level])
            tap.equal(again["stacks"], live["stacks"], "a kept look walks again as it did")
        tap.check(not any(name.startswith(".") for name in os.listdir(os.path.join(root, "a.b"))), "nothing temporary stays")
        with Judge(Results(), "right", root=root, rates={}) as it:
            for look in it.looks(target.pid, 1):
                it.right(look)
        tap.equal(sorted(os.listdir(root)), ["a.b", "modules"], "looks that are right leave nothing")
        for number in "12345":
            judge.shutil.rmtree(os.path.join(root, "a.b", number))
        with Judge(Results(), "right", root=root, rates={}) as it:
            it.right(it.look({}))
        tap.equal(sorted(os.listdir(root)), ["a.b"], "modules of no look are removed")


if __name__ == "__main__":
    Tap.main(test_tail, test_rates, test_decides, test_counts, test_keeps, test_looks)
