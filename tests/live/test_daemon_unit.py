#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 45s
"""As a service: the units' security, their sandbox really tried, activation, notification, reload
and the check of the configuration."""
import contextlib
import grp
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from confined import service_of
from daemon import SNAPWALKD, UNPRIVILEGED, USER, Daemon, children, private_copy, refusal
from gate import Gate, alert, payload
from harness import BUILD, Tap, Target, iterator_refused, no_mounts, public, tool, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
UNITS = os.path.abspath(os.path.join(HERE, "../../daemon/units"))
UNIT = os.path.join(UNITS, "snapwalkd.service")


def security(tap):
    if not tool("systemd-analyze"):
        tap.skip("systemd-analyze security", "systemd is not installed", "package systemd")
        return
    for unit in ("snapwalkd.service", "snapwalk-gate.service"):
        got = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                              os.path.join(UNITS, unit)], capture_output=True, text=True)
        found = re.search(r"Overall exposure level for \S+ ([0-9.]+)", got.stdout)
        exposure = float(found.group(1)) if found else 10.0
        tap.check(exposure <= 2.0, f"{unit}: exposure at most 2.0", f"{exposure}\n{got.stderr}")
    names = sorted(n for n in os.listdir(UNITS) if n.endswith((".service", ".socket")))
    tap.check({"snapwalkd.service", "snapwalkd.socket", "snapwalk-gate.service"} <= set(names),
              "the units are there", names)


def sandbox(tap):
    """The unit's capabilities, system calls, read-only file system and network, around a daemon
    that is no root and never was."""
    if not tool("systemd-analyze"):
        tap.skip("the unit's sandbox", "systemd-analyze is not installed", "package systemd")
        return
    if no_mounts():
        tap.skip("the unit's sandbox", no_mounts(), tap.MOUNTS)
        return
    with Target("threads", 5, 20) as target:
        daemon = Daemon()
        # The prefix needs the directory, which comes with the start.
        daemon.wait = False
        with daemon:
            daemon.stop()
            daemon.prefix = [sys.executable, os.path.join(HERE, "confined.py"), UNIT,
                             daemon.directory, "--"]
            daemon.wait = True
            daemon.start()
            got = daemon.capture(target.pid)
            complete = got["dump"]["complete"] and len(got["dump"]["threads"]) == 6
            tap.check(complete, "in the unit's sandbox: a complete dump of root's process",
                      got["dump"]["warnings"])
            names = [f["function"] for s in got["dump"]["stacks"] for f in s["frames"]]
            tap.check("main" in names, "with names")
            status = daemon.client().call("Status")
            tap.equal((status.get("iterator_refused", ""), status["stop"]),
                      (iterator_refused(), "auto"), "the task iterator is loaded, or refused to all")
            if not iterator_refused():
                tap.equal({t["captured_by"] for t in got["dump"]["threads"]}, {"iterator"},
                          "nothing was stopped")
            tap.check(got["summary"]["stored"], "and stored")
            for _ in range(3):
                daemon.capture(target.pid)
            tap.check(daemon.alive() and len(children(daemon.pid)) == 1, "again and again")
            tap.equal(daemon.stop(), 0, "and it ends as it should")


class UnitGate(Gate):
    """The gate in its unit's sandbox."""

    def start(self):
        user = pwd.getpwnam("daemon")
        os.chown(self.token_file, user.pw_uid, user.pw_gid)
        self.prefix = [sys.executable, public(os.path.join(HERE, "confined.py")),
                       public(os.path.join(UNITS, "snapwalk-gate.service")), self.daemon.directory, "--"]
        super().start()


def gate_sandbox(tap):
    """The gate's unit: system calls, capabilities and a read-only file system, around one that is no root."""
    if no_mounts() or not tool("systemd-analyze"):
        tap.skip("the gate in its unit's sandbox", no_mounts() or "systemd-analyze is not installed",
                 tap.MOUNTS)
        return
    with Target("threads", 2, 10) as target, \
            Daemon({"TriggerUser": "daemon"}, rules={"r.conf": Gate.RULE}) as daemon, UnitGate(daemon) as gate:
        tap.equal([gate.get(path)[0] for path in ("/healthz", "/metrics")], [200, 200],
                  "the gate in its unit's sandbox: it answers")
        status, _, body = gate.post("/alertmanager", payload(alert(target.pid, "f")))
        tap.check(status == 200 and '"captured":1' in body, "... and has a process captured", (status, body))


@contextlib.contextmanager
def hiding(directory, **more):
    """A daemon in the unit's sandbox, from which the unit hides the directory."""
    daemon = Daemon(**more)
    daemon.wait = False
    with daemon:
        daemon.stop()
        daemon.prefix = [sys.executable, os.path.join(HERE, "confined.py"), UNIT,
                         daemon.directory, directory, "--"]
        daemon.wait = True
        daemon.start()
        yield daemon


def hidden_captures():
    """Returns the answers to captures of a program below a hidden directory, by the words of Deny=, and how many dumps
    a rule with RequireExe= makes; of another program at the end of each. This process is the first of a pid namespace
    and sees the directory."""
    directory = tempfile.mkdtemp(prefix="snapwalk-hidden-")
    try:
        os.chmod(directory, 0o755)
        program = private_copy(directory, "chain_pie")
        link = os.path.join(directory, "link")
        os.symlink(program, link)
        answers = {}
        with Target(None, path=program) as target, Target("chain_pie") as other:
            for word in (link, program, os.path.join(directory, "none")):
                name = os.path.basename(word)[:5]
                with hiding(directory, config={"Deny": word}) as daemon:
                    answers[name] = [
                        os.listdir(f"/proc/{daemon.pid}/root{directory}"),
                        *((name, got.get("rule")) for name, got in
                          (refusal(daemon.capture, t.pid) for t in (target, other)))]
                rule = f"{BAD_RULE}RequireExe={word}\nCooldownSec=0\n"
                with hiding(directory, rules={"a.conf": rule}) as daemon:
                    answers[f"{name} required"] = [
                        os.listdir(f"/proc/{daemon.pid}/root{directory}"),
                        *(len(daemon.call("Trigger", source="test", labels={
                            "alertname": "X", "instance": socket.gethostname(), "pid": str(t.pid)})["ids"])
                          for t in (target, other))]
        print(json.dumps(answers))
    finally:
        shutil.rmtree(directory)


def hidden(tap):
    """Deny= and RequireExe= by paths that the unit hides from the daemon: by a link that is absolute, and by the
    program."""
    if no_mounts() or not tool("systemd-analyze"):
        tap.skip("Deny= of what the unit hides", no_mounts() or "systemd-analyze is not installed",
                 tap.MOUNTS)
        return
    got = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                          sys.executable, __file__, "--hidden"], capture_output=True, text=True)
    if not tap.check(got.returncode == 0, "the captures in a pid namespace", got.stderr):
        return
    denied, captured = ["NotPermitted", "deny"], [None, None]
    for word, answer in json.loads(got.stdout).items():
        if word.endswith(" required"):
            tap.equal(answer, [[], 0 if word == "none required" else 1, 0],
                      f"RequireExe= by {word.split()[0]}, which the daemon does not see")
            continue
        tap.equal(answer, [[], captured if word == "none" else denied, captured],
                  f"Deny= by {word}, which the daemon does not see")


def notified(tap):
    """READY=1, WATCHDOG=1, RELOADING=1, STOPPING=1 on the service manager's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, \
            Target("threads", 1, 5) as target:
        name = f"\0snapwalkd-test-{os.getpid()}"
        manager.bind(name)
        manager.settimeout(60)

        def hear(word):
            said = []
            while not said or word not in said[-1]:
                said.append(manager.recv(4096).decode())
            return said[-1]
        env = {"NOTIFY_SOCKET": "@" + name[1:], "WATCHDOG_USEC": "400000"}
        with Daemon(env=env) as daemon:
            tap.check("READY=1" in hear("READY=1"), "READY=1 when it answers")
            tap.check(hear("WATCHDOG=1"), "WATCHDOG=1 again and again")
            daemon.write_config(Deny="threads")
            daemon.process.send_signal(signal.SIGHUP)
            tap.check("MONOTONIC_USEC=" in hear("RELOADING=1"), "RELOADING=1 with its time")
            tap.check(hear("READY=1"), "READY=1 after the reload")
            name, parameters = refusal(daemon.capture, target.pid)
            tap.equal((name, parameters.get("rule")), ("NotPermitted", "deny"),
                      "the new configuration holds")
            tap.equal(daemon.stop(), 0, "SIGTERM: it ends with status 0")
            tap.check(hear("STOPPING=1"), "STOPPING=1")


def activation(tap):
    """A listening socket from outside, as from a socket unit."""
    with Target("threads", 1, 5) as target, socket.socket(socket.AF_UNIX) as listener:
        daemon = Daemon(wait=False)
        with daemon:
            daemon.stop()
            path = os.path.join(daemon.directory, "activated")
            listener.bind(path)
            os.chmod(path, 0o666)
            listener.listen(16)
            daemon.socket_path = path
            script = 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=varlink exec "$@" 3<&0'
            log = open(daemon.log_path, "a")
            daemon.process = subprocess.Popen(
                ["sh", "-c", script, "sh", SNAPWALKD, "--config", daemon.config_path],
                stdin=listener, stdout=log, stderr=log)
            log.close()
            daemon.pid = daemon.process.pid
            tap.check(daemon.capture(target.pid)["dump"], "the socket of a socket unit is served")
            tap.equal(daemon.stop(), 0, "the daemon ends as it should")
            tap.check(os.path.exists(path), "and leaves the socket to its owner")


def check_config(tap):
    with Daemon() as daemon:
        def check():
            return subprocess.run([SNAPWALKD, "--check-config", "--config", daemon.config_path],
                                  capture_output=True, text=True, timeout=60)
        for short, long in (("-h", "--help"), ("-V", "--version")):
            said = [subprocess.run([SNAPWALKD, option], capture_output=True, text=True, timeout=60) for option in (short, long)]
            tap.check(said[0].returncode == 0 and said[0].stdout == said[1].stdout != "", f"{short} is {long}", said)
        good = check()
        tap.equal((good.returncode, good.stderr), (0, ""), "--check-config: all is well")
        with open(daemon.config_path, "a") as file:
            file.write("Colour=red\nWorkers=many\n")
        lines = sum(1 for _ in open(daemon.config_path))
        bad = check()
        text = bad.stdout + bad.stderr
        tap.check(bad.returncode != 0 and f"{daemon.config_path}:{lines - 1}: " in text
                  and f"{daemon.config_path}:{lines}: " in text and "Colour" in text,
                  "--check-config: mistakes with file and line", text)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "Colour" in daemon.log(), "the daemon to complain of the mistake")
        tap.check(daemon.alive(), "a reload with mistakes: said in the log, and it goes on")
        daemon.stop()
        daemon.start()
        tap.check(daemon.alive(), "a start with mistakes: the rest holds")


BAD_RULE = "[rule a]\nMatch=alertname=X\nHost=instance\nTarget=pid:%{pid}\n"


def refused(tap):
    """The daemon does not start with a mistake in a setting that protects, and --check-config says why; every other
    mistake is said, and only --check-config minds it."""
    cases = (("Deny=uid:x", None, ":{}: Deny=uid:x: not a user id", True),
             ("Deny=bin/gpg", None, ":{}: Deny=bin/gpg: a relative path", True),
             ("Dney=gpg", None, ":{}: unknown key Dney: is Deny meant?", True),
             ("Group=no-such-group", None, ":{}: there is no group no-such-group (Group=)", True),
             ("TriggerUser=no-such-user", None, ":{}: there is no user no-such-user (TriggerUser=)",
              True),
             ("User=no-such-user", None, ":{}: there is no user no-such-user to run as", True),
             ("MaxUse=1G\n Deny=gpg", None, ":{}: a blank before the key", True),
             ("OnDump=/bin/cat\nOnDumpUser=no-such-user", None, ":{}: OnDumpUser=no-such-user", True),
             ("OnDump=cat", None, ":{}: OnDump=cat: not an absolute path", True),
             ("OnDump=/no/such/program", None, ":{}: OnDump=/no/such/program: no program that",
              False),
             ("OnDumpUser=no-such-user", None, ":{}: OnDumpUser=no-such-user: there is no", False),
             ("", BAD_RULE + "RequireExe=bin/x\n", "RequireExe=: not an absolute path", True),
             ("", BAD_RULE + "RequireExec=/bin/x\n", "unknown key RequireExec=", True),
             ("", BAD_RULE + "Count=many\n", "rule a is left out", False),
             ("MaxAge=30 days", None, ":{}: MaxAge=30 days: not a unit that is known", False),
             ("StateDirectory=relative", None, "not an absolute path: expected", False),
             ("RulesDirectory=/no/such/directory", None,
              ":{}: RulesDirectory=/no/such/directory: there is no such directory", False))
    if os.geteuid() != 0:
        cases = tuple(c for c in cases if "User" not in c[0] and "Group" not in c[0])
    for line, rule, said, unsafe in cases:
        with Daemon() as daemon:
            daemon.stop()
            if rule is not None:
                with open(os.path.join(daemon.rules_directory, "a.conf"), "w") as file:
                    file.write(rule)
            with open(daemon.config_path, "a") as file:
                file.write(line + "\n")
            said = said.format(sum(1 for _ in open(daemon.config_path)))
            words = [SNAPWALKD, "--config", daemon.config_path]
            mode = [] if os.geteuid() == 0 else ["--user"]
            got = subprocess.run([*words, *mode, "--check-config"], capture_output=True, text=True,
                                 timeout=20)
            name = f"{line or rule.splitlines()[-1]}"
            tap.check(got.returncode == 1 and said in got.stderr, f"--check-config: {name}",
                      got.stderr)
            daemon.wait = not unsafe
            os.truncate(daemon.log_path, 0)
            daemon.start()
            if unsafe:
                tap.equal(daemon.process.wait(30), 1, f"{name}: the daemon does not start")
            else:
                tap.check(daemon.alive(), f"{name}: the daemon starts")
            tap.check(said in daemon.log(), f"{name}: the daemon says why", daemon.log())


# Lines, whether they keep the daemon from starting, and what is said of them; None: they are good.
VERDICTS = (
    ("Deny=gpg /usr/bin/gpg uid:7\n ssh-agent", False, None),
    ("Deny=/bin/sleep", False, None),
    ("Deny=/no/such/program", False, None),
    ("Deny=/usr/bin/*", True, "a pattern: write the path of each program"),
    ("Deny=/usr//bin/sleep", True, "not as the kernel writes it: write /usr/bin/sleep"),
    ("Deny=/usr/bin/../bin/sleep", True, "not as the kernel writes it: write /usr/bin/sleep"),
    ("Deny=/bin/sleep/", True, "not as the kernel writes it: write /bin/sleep"),
    ("Deny=/bin/sleep,", True, "words are separated by blanks"),
    ("Deny=/bin/sleep, gpg", True, "words are separated by blanks"),
    ("Deny=/usr/bin/[s]leep", False, None),
    ("Deny=/usr/bin/{gpg,ssh}", False, None),
    ("Deny=/usr/bin/sl\\x65ep", False, None),
    ("Deny=/usr/bin/gpg:/usr/bin/sleep", False, None),
    ("Deny=/usr/bin/$NAME", False, None),
    ("Deny=/usr/bin/[", False, None),
    ("Deny=/usr/bin", True, "a directory"),
    ("Deny=gpg; ssh", True, "words are separated by blanks"),
    ("Deny=gpg*", True, "a pattern"),
    ("Deny='gpg'", True, "quotes"),
    ("Deny=UID:7", True, "only uid: is known"),
    ("Deny=gpg\u00a0ssh", True, "not ASCII"),
    ("Deny=gpg\nssh", True, "neither a key with '='"),
    ("Deny=gpg \\\n ssh", True, "without '\\'"),
    ("Deny=gpg\n " + "x" * 200, True, "the line is too long"),
    ("Deny=gpg\nssh uid:7", True, "unknown key ssh uid"),
    ("Deny=gpg\0 ssh", True, "not a text"),
    ("Deny=gpg\u205fssh", True, "not ASCII"),
    ("Deny=gpg.service", True, "the name of a unit"),
    ("Deny=/etc/passwd", True, "no ELF file"),
    ("\u2003Deny=gpg", True, "unknown key"),
    ("\ufeffDeny=gpg", True, "unknown key"),
    ("Workers=2\n\fDeny=gpg", True, "a blank before the key"),
    ("Workers=2 Deny=gpg", True, "another key is in its value"),
    ("[snapwalkd] Deny=gpg", True, "text behind a [section]"),
    ("# a comment\rDeny=gpg", True, "a carriage return alone"),
    ("#\n" * 4096 + "Deny=gpg", True, "the file has too many lines"),
    ("DenyExe=/usr/bin/gpg", True, "unknown key DenyExe"),
    ("[other]\nDeny=gpg", True, "unknown section [other]"),
    ("[snapwalkd\nDeny=gpg", True, "neither a key with '='"),
    ("".join(f"Deny=/{n:0180}\n" for n in range(181)), True, "too many words"),
    ("RequireSameNamespace=maybe", True, "neither yes nor no"),
    ("RequireSameNamespace=yes\n no", True, "only a list goes on"),
    ("MinIntervalSec=5\n 1", False, "only a list goes on"),
    ("Deny=gpg\n # a comment\n\n ssh", False, None),
    ("MaxUse=1G\nfoo", False, "neither a key with '='"),
    ("Workers=many", False, "not a number"),
    ("CacheDirectory=cache", False, "not an absolute path"),
    ("OnDump=\"/bin/cat", False, "a quote is missing"),
)


def one_verdict(tap):
    """The check, a start and a reload say the same of each mistake, and have the same verdict."""
    with Daemon() as running:
        base = open(running.config_path).read()
        words = ["--config", running.config_path, *([] if os.geteuid() == 0 else ["--user"])]
        socket_path = os.path.join(running.directory, "another")
        for number, (lines, unsafe, said) in enumerate(VERDICTS):
            with open(running.config_path, "w") as file:
                file.write(base + lines + "\n")
            check = subprocess.run([SNAPWALKD, *words, "--check-config"], capture_output=True,
                                   text=True, timeout=60)
            before = len(running.log())
            running.process.send_signal(signal.SIGHUP)
            wait_until(lambda before=before: re.search("read again|old configuration stays",
                                                       running.log()[before:]), "the reload")
            reloaded = running.log()[before:]
            started = start_and_end(words, socket_path)
            name = lines if len(lines) < 60 else lines[:40] + "..."
            tap.equal((check.returncode, started[0], "old configuration stays" in reloaded),
                      (int(said is not None), int(unsafe), unsafe),
                      f"{name!r}: the verdict of check, start and reload")
            problems = [line for line in check.stderr.splitlines()
                        if line.startswith(running.config_path + ":")]
            missing = re.search(r"/no/such/program|^Deny=(/usr/bin/.*[]}:$\\].*)", lines)
            path = (missing.group(1) or missing.group(0)) if missing else "/no/such/program"
            note = f"there is no program {path} (Deny=) now"
            tap.equal((note in check.stderr, note in started[1]), (bool(missing), bool(missing)),
                      f"{name!r}: what is not there")
            tap.check((said or "") in check.stderr and bool(problems) == (said is not None)
                      and all(line in text for line in problems for text in (started[1], reloaded)),
                      f"{name!r}: what they say of it", (check.stderr, started[1], reloaded))


def start_and_end(words, socket_path):
    """The exit status of a daemon that is ended as soon as it listens, and what it said."""
    if os.path.exists(socket_path):
        os.unlink(socket_path)
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen([SNAPWALKD, *words, "--socket", socket_path], stdout=log,
                                   stderr=log, stdin=subprocess.DEVNULL)
        wait_until(lambda: process.poll() is not None or os.path.exists(socket_path), "a start")
        if process.poll() is None:
            process.terminate()
        status = process.wait(60)
        log.seek(0)
        return status, log.read()


def reloads(tap):
    """SIGHUP: what needs a restart is named; with a mistake in what protects the old one stays."""
    with Target("threads", 2, 5) as target, Daemon({"Deny": "nothing"}) as daemon:
        comm = open(f"/proc/{target.pid}/comm").read().strip()
        daemon.write_config(OnDumpTimeoutSec=7, Workers=3)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "read again" in daemon.log(), "the reload")
        tap.check("OnDumpTimeoutSec= has changed: that needs a restart" in daemon.log()
                  and "Workers=" not in daemon.log(), "keys that need a restart are named",
                  daemon.log())
        daemon.write_config(Deny=comm)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: daemon.log().count("read again") == 2, "the reload")
        daemon.write_config(Deny="uid:x")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the old configuration stays" in daemon.log(), "the refusal")
        with daemon.client() as client:
            name, _ = refusal(client.call, "Capture", target={"pid": target.pid})
        tap.equal(name, "NotPermitted", "the Deny= of before still holds")


def second(tap):
    """Two daemons on one socket: the second refuses, the first goes on."""
    with Daemon() as daemon:
        other = subprocess.run([SNAPWALKD, "--socket", daemon.socket_path, "--config",
                                daemon.config_path], capture_output=True, text=True, timeout=60)
        tap.check(other.returncode != 0 and daemon.socket_path in other.stderr,
                  "a second daemon on the socket refuses", other.stderr)
        tap.check(daemon.alive(), "the first goes on")
        daemon.stop(signal.SIGKILL)
        daemon.start()
        tap.check(daemon.alive(), "a socket that a killed one left behind is taken over")


def no_user(tap):
    """As root without a user to become: it refuses, and has made nothing."""
    if os.geteuid() != 0:
        tap.skip("no user to become", "not root", tap.ROOT)
        return
    with tempfile.TemporaryDirectory(prefix="snapwalkd-test-") as directory:
        config = os.path.join(directory, "snapwalk.conf")
        state = os.path.join(directory, "state")
        for user, why in (("no-such-user", "there is no user no-such-user to run as (User=): make "
                                           "it with 'useradd --system no-such-user'"),
                          ("root", "User=root is root: give a user without privileges")):
            with open(config, "w") as file:
                file.write(f"[snapwalkd]\nUser={user}\nStateDirectory={state}\n")
            got = subprocess.run([SNAPWALKD, "--config", config, "--socket", f"{directory}/socket"],
                                 capture_output=True, text=True, timeout=60)
            tap.equal((got.returncode, got.stderr.removeprefix("<3>")), (1, f"snapwalkd: {config}:2: {why}\n"),
                      f"User={user}: it does not start")
            tap.equal(os.listdir(directory), ["snapwalk.conf"], f"User={user}: nothing was made")


def ways(tap):
    """As root: a socket or a store that another user could put something else in place of is refused."""
    if os.geteuid() != 0:
        tap.skip("paths that other users can change", "not root", tap.ROOT)
        return
    user = pwd.getpwnam(USER)
    with tempfile.TemporaryDirectory(prefix="snapwalkd-test-") as directory:
        os.chmod(directory, 0o755)
        config = os.path.join(directory, "snapwalk.conf")

        def make(name, uid, mode=0o755):
            path = os.path.join(directory, name)
            os.makedirs(path, exist_ok=True)
            os.chmod(path, mode)
            os.chown(path, uid, uid)

        def start(name, state="daemons/state", group="games"):
            with open(config, "w") as file:
                file.write(f"[snapwalkd]\nUser={USER}\nGroup={group}\nTriggerUser=man\n"
                           f"RulesDirectory={directory}\nCacheDirectory={directory}/daemons/cache\n"
                           f"StateDirectory={directory}/{state}\n")
            return start_and_end(["--config", config], os.path.join(directory, name))

        make("roots", 0)
        make("daemons", user.pw_uid)
        make("daemons/below", user.pw_uid)
        make("sticky", 0, 0o1777)
        make("anothers", UNPRIVILEGED)
        make("anothers/roots", 0)
        make("open", 0, 0o777)
        for name, uid in (("link", 0), ("anothers_link", UNPRIVILEGED)):
            os.symlink("roots", os.path.join(directory, name))
            os.lchown(os.path.join(directory, name), uid, uid)
        another, anyone = "belongs to another user", "can be changed by other users"
        for name, at, why in (("anothers/s", "anothers", another), ("anothers/roots/s", "anothers", another),
                              ("anothers_link/s", "anothers_link", another), ("open/s", "open", anyone),
                              ("daemons/below/s", "daemons/below", "lies in a directory of the daemon's user")):
            status, said = start(name)
            tap.check(status == 1 and f"{directory}/{name}: {directory}/{at} {why}, who could put something "
                      "else there" in said, f"--socket {name}: refused, with the reason", (status, said))
        for name in ("roots/s", "link/s", "sticky/s", "daemons/s"):
            status, said = start(name)
            tap.check(status == 0 and "could put" not in said, f"--socket {name}: it listens", (status, said))
        for state, at, why in (("anothers/dumps", "anothers", another), ("anothers_link", "anothers_link", another),
                               ("open", "open", anyone)):
            status, said = start("roots/s", state)
            tap.check(status == 0 and f"dumps are not kept: {directory}/{state}: {directory}/{at} {why}" in said,
                      f"StateDirectory={state}: nothing is kept there", (status, said))
        # A directory that root has made and the daemon may write to, and one below the daemon's own.
        shutil.chown(os.path.join(directory, "roots"), 0, user.pw_gid)
        os.chmod(os.path.join(directory, "roots"), 0o770)
        for state in ("roots", "daemons/below", "link"):
            status, said = start("sticky/s", state)
            tap.check(status == 0 and "not kept" not in said, f"StateDirectory={state}: a store", (status, said))
        status, said = start("roots/s")
        tap.check(status == 0, "a socket where the daemon's own group may write, and has no other members", (status, said))
        own = grp.getgrgid(user.pw_gid).gr_name
        status, said = start("roots/s", group=own)
        tap.check(status == 1 and f"{directory}/roots {anyone}" in said,
                  "a socket where the callers' group may write: refused", (status, said))
        status, said = start("sticky/s", "roots", group=own)
        tap.check(status == 0 and f"dumps are not kept: {directory}/roots: {directory}/roots {anyone}" in said,
                  "a store where the callers' group may write: nothing is kept there", (status, said))


def units(tap):
    """The settings of the units are those of the manual and of the program."""
    service = service_of(UNIT)
    tap.equal(sorted(" ".join(service["CapabilityBoundingSet"]).split()),
              ["CAP_BPF", "CAP_DAC_READ_SEARCH", "CAP_PERFMON", "CAP_SYS_PTRACE"],
              "four capabilities")
    tap.equal(service["Type"], ["notify"], "Type=notify")
    tap.check(int(re.sub(r"\D", "", service["WatchdogSec"][0])) > 0, "a watchdog")
    tap.equal(service["User"], ["snapwalk"], "a user of its own")


def installed(tap):
    """make install, and what systemd's own programs make of it."""
    root = os.path.abspath(os.path.join(HERE, "../.."))
    with tempfile.TemporaryDirectory(prefix="snapwalkd-test-") as directory:
        done = subprocess.run(["make", "-s", "install", f"BUILD={os.path.relpath(BUILD, root)}",
                               f"DESTDIR={directory}"], cwd=root, capture_output=True, text=True)
        tap.equal(done.returncode, 0, f"make install {done.stderr[-500:]}")
        lost = [path for path in (
            "usr/sbin/snapwalkd", "usr/sbin/snapwalk-gate", "usr/bin/snapwalk",
            "usr/lib/systemd/system/snapwalkd.service", "usr/lib/systemd/system/snapwalkd.socket",
            "usr/lib/systemd/system/snapwalk-gate.service", "usr/lib/sysusers.d/snapwalk.conf",
            "usr/lib/tmpfiles.d/snapwalk.conf", "usr/share/snapwalk/io.snapwalk.varlink",
            "usr/share/man/man8/snapwalkd.8", "usr/share/man/man5/snapwalk.conf.5",
            "etc/snapwalk/snapwalk.conf", "etc/snapwalk/rules.d")
            if not os.path.exists(os.path.join(directory, path))]
        tap.equal(lost, [], "everything is there")
        config = os.path.join(directory, "etc/snapwalk/snapwalk.conf")
        os.makedirs(config + ".d", exist_ok=True)  # users that there are without a package, too
        with open(os.path.join(config + ".d", "users.conf"), "w") as file:
            file.write("User=daemon\nGroup=games\nTriggerUser=man\n")
        check = subprocess.run([SNAPWALKD, "--check-config", "--config", config],
                               capture_output=True, text=True)
        tap.equal((check.returncode, check.stderr), (0, ""), "the installed configuration is right")
        for unit in ("snapwalkd.service", "snapwalk-gate.service"):
            program = service_of(os.path.join(UNITS, unit))["ExecStart"][0].strip('"')
            tap.check(os.path.exists(os.path.join(directory, program.lstrip("/"))),
                      f"{unit} starts what is installed", program)
        if os.geteuid() != 0 or not tool("systemd-sysusers"):
            tap.skip("sysusers and tmpfiles", "not root, or systemd is not installed",
                     "sudo, package systemd")
            return
        subprocess.run(["systemd-sysusers", f"--root={directory}", "snapwalk.conf"],
                       capture_output=True, check=True)
        with open(os.path.join(directory, "etc/passwd")) as file:
            users = {line.split(":")[0] for line in file}
        tap.check({"snapwalk", "snapwalk-gate"} <= users, "sysusers: the users", users)
        done = subprocess.run(["systemd-tmpfiles", f"--root={directory}", "--create",
                               "snapwalk.conf"], capture_output=True, text=True)
        tap.equal((done.returncode, done.stderr), (0, ""), "tmpfiles: no complaint")


def main():
    if sys.argv[1:] == ["--hidden"]:
        hidden_captures()
        return
    Tap.main(security, units, no_user, ways, sandbox, gate_sandbox, hidden, notified, activation, check_config, refused,
             one_verdict, reloads, second, installed)


if __name__ == "__main__":
    main()
