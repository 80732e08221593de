#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 40s
"""Ruby: a blocked program against caller(), stops anywhere in a busy one of two threads, without YJIT
and with it.

SNAPWALK_STOPS sets how many stops there are in each mode (100); SNAPWALK_ROOT is the root of another Debian,
whose Ruby is looked at.
"""
import os
import re
import subprocess

from harness import Tap, patient_dump, stack_of, tool, wait_until
from interpreted import (Program, as_ruby_says, calls_of, interpreter, language_frames, program, ruby_label, text_of,
                         wrong_in_chain, wrong_in_stack)
from judge import Judge, cut_in_stack

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "ruby")
STOPS = int(os.environ.get("SNAPWALK_STOPS", "100"))
MODES = {"interpreter": [], "YJIT": ["--yjit", "--yjit-call-threshold=2"]}
# The methods that are called here by methods which C code implements. Some of these are Ruby of its own library in
# later versions, which calls others.
NATIVE = {"times": {"block in leaf", "block_given?"}, "map": {"block in run"}, "each": {"block in run"}, "new": {"initialize"},
          "inject": {"block in run", "each"}, "each_with_index": {"each", "block in run"}, "max": {"<=>"},
          "instance_eval": {"block in run"}, "call": {"block in run"}, "loop": {"block in turns"},
          "raise": {"exception", "backtrace"}, "exception": {"initialize", "new"}}


def ruby_program(name, mode):
    return Program(*interpreter("ruby", *MODES[mode], program(SOURCES, name)))


def backtrace(lines):
    """caller() as [(function, file, line)]."""
    return [(ruby_label(said.group(3)), said.group(1), int(said.group(2)))
            for said in (re.match(r"(.*):(\d+):in [`'](.*)'$", line) for line in lines) if said]


def check_blocked(tap, mode):
    with ruby_program("blocked.rb", mode) as ruby:
        wanted = backtrace(ruby.lines)
        tap.check(len(wanted) > 20, f"{mode}: {len(wanted)} functions to compare", "\n".join(ruby.lines))
        stack = None

        def waits():
            nonlocal stack
            stack = stack_of(patient_dump(ruby.pid), ruby.pid)
            return any(f["function"] == "gets" and f["kind"] == "ruby" for f in stack["frames"])
        wait_until(waits, "gets")
        frames = [(f["function"], f["file"], f["line"]) for f in language_frames(stack, "ruby")]
        tap.equal(frames[0], ("gets", None, None), f"{mode}: waits in gets")
        # caller() gives methods of C code the place of their caller, and is itself a line above.
        name, path, line = wanted[0]
        wanted[0] = (name, path, line + 1)
        frames = frames[:1] + as_ruby_says(frames[1:], version())
        tap.equal(len(frames), len(wanted) + 1, f"{mode}: as many as caller() has")
        # Code that eval() compiles is named "<compiled>" by Prism; Ruby tells the method around it.
        frames = [(said[0] if got[0] == "<compiled>" else got[0], *got[1:]) for said, got in zip([frames[0], *wanted], frames)]
        ours = [(got[0], None, None) if got[1] is None else got for got in frames[1:]]
        theirs = [(said[0], None, None) if got[1] is None else said for said, got in zip(wanted, frames[1:])]
        tap.equal(ours, theirs + wanted[len(ours):], f"{mode}: the functions, files and lines of caller()")
        tap.equal(wrong_in_stack(stack), None, f"{mode}: complete, nothing guessed")


def check_stops(tap, mode):
    """The chain and its lines in each stack of two threads."""
    calls = calls_of(os.path.join(SOURCES, "busy.rb"))
    with ruby_program("busy.rb", mode) as ruby:
        def busy():
            stacks = patient_dump(ruby.pid, status=(0, 3))["stacks"]
            return sum(any(f["function"] == "turns" for f in s["frames"]) for s in stacks) == 2
        wait_until(busy, "both threads")
        with Judge(tap, "ruby.busy", mode) as judge:
            for look in judge.looks(ruby.pid, STOPS):
                report = look.report
                for thread in report["threads"]:
                    if thread["tid"] != ruby.pid and thread["comm"] != "second":
                        continue  # its timer
                    stack = stack_of(report, thread["tid"])
                    outermost = "<main>" if thread["tid"] == ruby.pid else "block in <main>"
                    wrong = wrong_in_chain(language_frames(stack, "ruby"), calls, outermost, NATIVE)
                    judge.verdict(look, cut_in_stack(stack), wrong_in_stack(stack) or wrong, text_of(stack))
        tap.check(judge.stacks >= STOPS, f"{mode}: the stacks are those of both threads", judge.stacks)
        found = [r for r in report["process"]["runtimes"] if r["name"] == "ruby"]
        tap.equal([r["version"] for r in found], [version()], f"{mode}: recognised, with its version")
        # Bytes before an instruction of generated code are read later.
        codes = ("runtime",) if mode == "YJIT" else ("runtime", "stack_limit")
        tap.equal([w for w in report["warnings"] if w["code"] in codes], [], f"{mode}: nothing to warn of")


def check_compiles(tap):
    """While YJIT writes to the page with the code that has called it, that page cannot be executed. Now and then a stack
    is cut: the mapping is none of those that were read while YJIT changed them. Without what is tested 1 in 12 is."""
    with ruby_program("compiled.rb", "YJIT") as ruby:
        def stack_now():
            return stack_of(patient_dump(ruby.pid, status=(0, 3)), ruby.pid)
        wait_until(lambda: any(f["function"] == "run" for f in stack_now()["frames"]), "run")
        with Judge(tap, "ruby.compiled") as judge:
            for look in judge.looks(ruby.pid, 4 * STOPS):
                stack = stack_of(look.report, ruby.pid)
                names = [f["function"] for f in language_frames(stack, "ruby")]
                wrong = None if names[-1:] == ["<main>"] and "run" in names else "another chain"
                judge.verdict(look, cut_in_stack(stack), wrong_in_stack(stack) or wrong, text_of(stack))


def version():
    return evaluated("print RUBY_VERSION")


def evaluated(code, *options):
    """Returns the output; "" when Ruby does not know an option."""
    return subprocess.run(interpreter("ruby", *options, "-e", code), check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def main():
    tap = Tap()
    tap.check(tool("ruby"), "Ruby is installed")
    for mode in MODES:
        if mode == "YJIT" and evaluated("print RubyVM::YJIT.enabled?", "--yjit") != "true":
            tap.skip("YJIT", "this Ruby was built without it", "a Ruby that was built with YJIT")
            continue
        tap.guard(check_blocked, mode)
        tap.guard(check_stops, mode)
        if mode == "YJIT" and version().startswith("3.1."):
            tap.guard(check_compiles)
    tap.done()


if __name__ == "__main__":
    main()
