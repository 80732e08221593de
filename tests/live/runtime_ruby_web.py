#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 15s
"""A web application on Sinatra and puma under load: stops anywhere, without YJIT and with it. Its own
functions are a known chain; what calls it must be what caller() says there.

SNAPWALK_STOPS sets how many stacks in the application there are in each mode (40).
"""
import os
import shutil
import socket
import subprocess
import tempfile
import threading

from harness import Tap, stack_of, tool
from interpreted import Program, calls_of, language_frames, text_of, wrong_in_chain, wrong_in_stack
from judge import Judge, cut_in_stack, scaled
from runtime_ruby import MODES, backtrace

SCRIPT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, "targets", "ruby", "sinatra.rb"))
STOPS = int(os.environ.get("SNAPWALK_STOPS", "40"))
ROUTE = "block in <class:Application>"
NATIVE = {"map": {"block in f3"}, "new": {"initialize"}}
FUNCTIONS = {ROUTE, "f1", "f2", "f3", "block in f3", "leaf"}


def request(path, page):
    """The body of what the application answers."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        sock.connect(path)
        sock.sendall(f"GET {page} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        with sock.makefile("rb") as stream:
            return stream.read().decode().replace("\r\n", "\n").partition("\n\n")[2]


class Load:
    """Clients that ask all the time until the block ends."""

    def __init__(self, path):
        self.path, self.done, self.served, self.failed = path, threading.Event(), 0, []
        self.clients = [threading.Thread(target=self.run) for _ in range(3)]

    def run(self):
        while not self.done.is_set() and not self.failed:
            try:
                body = request(self.path, "/work")
            except OSError as error:
                body = str(error)
            if body == "served\n":
                self.served += 1
            else:
                self.failed.append(body)

    def __enter__(self):
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *exc):
        self.done.set()
        for client in self.clients:
            client.join()


def wrong_callers(frames, wanted):
    """A method of C code has the place of its caller in caller()."""
    ours = [(f["function"], f["file"], f["line"]) for f in frames]
    theirs = [(said[0], None, None) if got[1] is None else said for said, got in zip(wanted, ours)]
    if len(ours) != len(wanted):
        return f"{len(ours)} callers, not {len(wanted)}"
    return next((f"{got}, not {said}" for got, said in zip(ours, theirs) if got != said), None)


def wrong_in_application(frames, calls, wanted):
    route = next(i for i, f in enumerate(frames) if f["function"] == ROUTE)
    return wrong_in_chain(frames[:route + 1], calls, ROUTE, NATIVE) or wrong_callers(frames[route + 1:], wanted)


def check_load(tap, mode):
    calls = calls_of(SCRIPT)
    inside, names, at_least = 0, set(), scaled(STOPS)
    directory = tempfile.mkdtemp(prefix="puma-")
    path = os.path.join(directory, "socket")
    try:
        with Program("ruby", *MODES[mode], SCRIPT, path) as ruby:
            request(path, "/caller")  # what is loaded by the first request is no caller of the next
            wanted = backtrace(request(path, "/caller").splitlines())
            tap.check(len(wanted) > 20, f"{mode}: {len(wanted)} callers to compare", wanted)
            with Load(path) as load, Judge(tap, "ruby.web", mode) as judge:
                while inside < at_least and judge.stacks < 100 * at_least and not load.failed:
                    look = judge.take(ruby.pid)
                    for thread in look.report["threads"]:
                        if not thread["captured"]:
                            continue
                        stack = stack_of(look.report, thread["tid"])
                        frames = language_frames(stack, "ruby")
                        is_inside = any(f["function"] == ROUTE for f in frames)
                        inside += is_inside
                        names |= {f["function"] for f in frames} if is_inside else set()
                        wrong = wrong_in_application(frames, calls, wanted) if is_inside else None
                        judge.verdict(look, cut_in_stack(stack), wrong_in_stack(stack) or wrong, text_of(stack))
            tap.equal(load.failed, [], f"{mode}: {load.served} requests were served meanwhile")
    finally:
        shutil.rmtree(directory)
    tap.check(inside >= at_least, f"{mode}: {inside} stacks in the application: the chain, and the callers that caller() says")
    tap.check(FUNCTIONS <= names, f"{mode}: all functions were seen", names)


def has_packages():
    return tool("ruby") and subprocess.run(["ruby", "-e", "require 'sinatra/base'; require 'puma'; require 'puma/server'"],
                                           capture_output=True).returncode == 0


def main():
    tap = Tap()
    if not has_packages():
        tap.skip("a web application", "no Sinatra or puma here", "ruby-sinatra puma")
    else:
        for mode in MODES:
            tap.guard(check_load, mode)
    tap.done()


if __name__ == "__main__":
    main()
