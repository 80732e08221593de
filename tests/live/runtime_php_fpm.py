#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 40s
"""php-fpm under load: stops anywhere in workers that serve requests, whose chain of calls the script says.

SNAPWALK_STOPS sets how many stacks in PHP code there are in each mode (60).
"""
import glob
import itertools
import os
import shutil
import subprocess
import tempfile
import threading

import fastcgi
from harness import PATIENT, Tap, patient_dump, snapwalk, stack_of, wait_until
from interpreted import calls_of, language_frames, text_of, wrong_in_chain, wrong_in_stack
from judge import Judge, cut_in_stack, scaled

ROUTES = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, "targets", "php", "routes.php"))
SCRIPT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, "targets", "php", "fpm.php"))
STOPS = int(os.environ.get("SNAPWALK_STOPS", "60"))
WORKERS = 2
URI = "private=4711"
OPCACHE = {"opcache.enable": "1", "opcache.jit_buffer_size": "16M", "opcache.file_update_protection": "0"}
MODES = {"no JIT": {**OPCACHE, "opcache.jit": "disable"}, "JIT function": {**OPCACHE, "opcache.jit": "function"},
         "JIT tracing": {**OPCACHE, "opcache.jit": "tracing"}}
NATIVE = {"array_map": {"{closure}"}}


def program():
    found = sorted(glob.glob("/usr/sbin/php-fpm[0-9]*"))
    return found[-1] if found else None


class Server:
    """php-fpm with some workers, all of which serve requests until the block ends."""

    def __init__(self, settings, ask=lambda path: fastcgi.request(path, SCRIPT, URI)):
        self.settings, self.ask = settings, ask
        self.done = threading.Event()
        self.served, self.failed = 0, []

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="fpm-")
        self.socket = os.path.join(self.directory, "socket")
        # As the user who runs the test: the script may lie where nobody else can read.
        user = "user = root\ngroup = root\n" if os.geteuid() == 0 else ""
        config = os.path.join(self.directory, "fpm.conf")
        with open(config, "w") as file:
            file.write(f"[global]\nerror_log = {self.directory}/log\ndaemonize = no\n[www]\n{user}"
                       f"listen = {self.socket}\npm = static\npm.max_children = {WORKERS}\n")
        options = [word for key, value in self.settings.items() for word in ("-d", f"{key}={value}")]
        self.process = subprocess.Popen([program(), "-n", "-d", "zend_extension=opcache", *options, "--allow-to-run-as-root",
                                         "--fpm-config", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.clients = [threading.Thread(target=self.load) for _ in range(WORKERS + 1)]
        try:
            wait_until(lambda: len(self.workers()) == WORKERS and os.path.exists(self.socket), "php-fpm")
            for client in self.clients:
                client.start()
            wait_until(lambda: self.served > 20 or self.failed, "requests to be served")
        except BaseException:
            self.__exit__()
            raise
        return self

    def workers(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            return [int(child) for child in children.read().split()]

    def load(self):
        while not self.done.is_set():
            try:
                answer = self.ask(self.socket)
            except OSError as error:
                self.failed.append(str(error))
                return
            if not answer.endswith(b"served\n"):
                self.failed.append(answer.decode(errors="replace"))
                return
            self.served += 1

    def rest(self):
        self.done.set()
        for client in self.clients:
            if client.ident:
                client.join()

    def __exit__(self, *exc):
        self.rest()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory)


def wrong_in_worker(stack, calls):
    """None when nothing is, as between two requests, where nothing is in PHP code."""
    frames = language_frames(stack, "php")
    if any(f["file"] and os.path.realpath(f["file"]) != SCRIPT for f in frames):
        return "another file"
    return wrong_in_chain(frames, calls, "{main}", NATIVE) if frames else None


def check_pool(tap):
    """The master counts its workers about once a second; more clients than workers ask all the time."""
    with Server(MODES["no JIT"]) as server:
        def pool(pid):
            report = patient_dump(pid)
            return next((r["thread_pool"] for r in report["process"]["runtimes"] if r.get("thread_pool")), {})

        def busy(pid):
            found = pool(pid)
            return (found.get("name"), found.get("working"), found.get("threads"), found.get("most")) == \
                ("www", WORKERS, WORKERS, WORKERS)
        for pid in (server.workers()[0], server.process.pid):
            what = "the master" if pid == server.process.pid else "a worker"
            tap.check(wait_until(lambda: busy(pid), "all workers to be at work"), f"{what}: the pool, and how many are at work")
        text = snapwalk(server.workers()[0], *PATIENT).stdout
        tap.check(f"{WORKERS} of {WORKERS} workers of php-fpm's pool www are at work; it may have no more" in
                  " ".join(text.split()), "text says it", text[:1200])
        server.rest()
        tap.check(wait_until(lambda: pool(server.process.pid).get("working") == 0, "no work"), "without requests nobody is at work")


def check_stops(tap, mode):
    calls = calls_of(SCRIPT)
    private, inside, names, wanted = [], 0, set(), scaled(STOPS)
    with Server(MODES[mode]) as server, Judge(tap, "php.fpm", mode) as judge:
        while inside < wanted and judge.stacks < 100 * wanted and not server.failed:
            for pid in server.workers():
                look = judge.take(pid)
                stack = stack_of(look.report, pid)
                is_right = judge.verdict(look, cut_in_stack(stack), wrong_in_stack(stack) or wrong_in_worker(stack, calls), text_of(stack))
                inside += is_right and bool(language_frames(stack, "php"))
                names |= {f["function"] for f in language_frames(stack, "php")}
                if URI in str(look.report):
                    private.append(pid)
        tap.equal(server.failed, [], f"{mode}: {server.served} requests were served meanwhile")
    tap.check(inside >= wanted, f"{mode}: {inside} stacks in PHP code")
    tap.check({"{main}", "f1", "F::f2", "f3", "f4", "f5", "f6"} <= names, f"{mode}: all functions were seen", names)
    tap.equal(private, [], f"{mode}: no request's address in a dump")


class Routes:
    """Requests to two scripts, each with an address of its own that says which function serves it."""

    def __init__(self, directory):
        self.scripts = [os.path.join(directory, name) for name in ("first.php", "second.php")]
        for script in self.scripts:
            shutil.copy(ROUTES, script)
        self.numbers = itertools.count()

    def ask(self, path):
        n = next(self.numbers)
        route = f"/route/{n % 5}"
        # The name is that of the script whatever was asked for, as it is behind a web server.
        return fastcgi.request(path, self.scripts[n % 2], f"path={route}&private={n}",
                               f"{route}?private={n}" + ("&long=" + "x" * 2000 if n % 7 == 0 else ""))

    def wrong(self, thread, frames):
        """Returns what is wrong in --args against what runs; None when it fits."""
        request = thread.get("request")
        route = [f["function"] for f in frames if f["function"].startswith("route")]
        if not route:
            return None
        if request is None or (request["runtime"], request["method"]) != ("php", "GET"):
            return f"no request: {request}"
        if request["script"] != next(f["file"] for f in frames if f["file"]):
            return f"{request}: another script runs"
        address, private = request["uri"].split("?private=")
        if address != f"/route/{route[0][5:]}":
            return f"{request}: {route[0]} runs"
        number = int(private.split("&")[0])
        if number % 5 != int(route[0][5:]) or self.scripts[number % 2] != request["script"]:
            return f"{request}: the query is of another one"
        # A query that is too long is cut, and says so.
        whole = private == str(number) if number % 7 else private.endswith("x…") and len(private) < 1024
        return None if whole else f"{request}: not whole"


def check_requests(tap):
    wrong, seen, stacks, leaked = [], set(), 0, 0
    with tempfile.TemporaryDirectory() as directory:
        routes = Routes(directory)
        with Server(MODES["JIT tracing"], routes.ask) as server:
            while len(seen) < STOPS and stacks < 100 * STOPS and not server.failed:
                for pid in server.workers():
                    report = patient_dump(pid, "--args", status=(0, 3))
                    thread, frames = report["threads"][0], language_frames(stack_of(report, pid), "php")
                    stacks += 1
                    text = routes.wrong(thread, frames)
                    if text is not None:
                        wrong.append(text)
                    elif any(f["function"].startswith("route") for f in frames):
                        seen.add(thread["request"]["uri"])
                    leaked += "private" in str(patient_dump(pid, status=(0, 3)))
            tap.equal(server.failed, [], f"{server.served} requests with addresses of their own were served")
            server.rest()
            pid = server.workers()[0]
            wait_until(lambda: patient_dump(pid, "--args")["threads"][0]["syscall"] == "accept", "an idle worker")
            tap.equal(patient_dump(pid, "--args")["threads"][0].get("request"), None, "a worker that waits serves none")
    tap.check(len(seen) >= STOPS and not wrong, f"--args: {len(seen)} requests and their scripts, at {stacks} stops",
              "\n".join(wrong[:5]))
    tap.equal(leaked, 0, "nothing of a request without --args")


def main():
    tap = Tap()
    if program() is None:
        tap.skip("php-fpm", "no php-fpm here", "php8.2-fpm")
    else:
        for mode in MODES:
            tap.guard(check_stops, mode)
        tap.guard(check_requests)
        tap.guard(check_pool)
    tap.done()


if __name__ == "__main__":
    main()
