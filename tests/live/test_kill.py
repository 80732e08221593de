#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: soak 100s
# strict
"""snapwalk is killed at random instants: the target goes on as if nothing had been.

The target receives numbered signals all the while and keeps books (targets/signal_storm.c).
SNAPWALK_KILLS=1000: how many kills while calls are blocked.
"""
import os
import signal
import subprocess
import time

from harness import PATIENT, SNAPWALK, Tap, Target, seeded, state_of, wait_until
from safety import WITHOUT_LIMIT, capture, check_released, let_go, run_time, status_field, tasks

THREADS = 12
RATE = 1000
KILLS = 200
MANY_THREADS = 64  # a large target is looked at in another way before the stop
AIMED_KILLS = 200
AIMED_RATE = 5000  # so that a signal is on its way at every instant
CHECK_EVERY = 20
HELD_KILLS = int(os.environ.get("SNAPWALK_KILLS", 100))


class Storm(Target):
    """The books of the target: two sync() calls in a row show that every thread goes on. The thread that computes does so
    for one part in PARTS of the time."""

    def __init__(self, threads=THREADS, rate=RATE, parts=1):
        super().__init__("signal_storm", threads, rate, parts)

    def sync(self):
        """(sent, received, wrong, beats)"""
        self.send("sync")
        words = self.readline().split()
        numbers = [int(w) for w in words if w.lstrip("-").isdigit()]
        return numbers[:4], numbers[4:8], numbers[8], numbers[9:]

    def check(self, tap, before, what):
        """All that was sent has arrived and every thread has gone on since before."""
        sent, received, wrong, beats = self.sync()
        wait_until(lambda: all(now > then for now, then in zip(self.sync()[3], before)),
                   "every thread of the target to go on")
        tap.equal(received, sent, f"{what}: every signal sent was received, none twice")
        tap.equal(wrong, 0, f"{what}: values in order, each once, from the real sender")
        return beats, sum(sent)


def start(pid, *args, **popen):
    return subprocess.Popen([SNAPWALK, "dump", "--json", *args, str(pid)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **popen)


def wait_exact(seconds):
    """Finer than a sleep: the instants are to fall everywhere in a run of milliseconds."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def kill_at(process, seconds):
    """True when it was killed, False when it had ended before."""
    wait_exact(seconds)
    process.kill()
    return process.wait() == -9


def random_instants(tap, threads, kills):
    generator = seeded(20261120)
    with Storm(threads) as storm:
        seconds = run_time(storm.pid)
        beats, _ = storm.check(tap, [0] * threads, f"{threads} threads, before")
        killed, stuck = 0, []
        for n in range(1, kills + 1):
            killed += kill_at(start(storm.pid), generator.uniform(0, seconds))
            left = let_go(storm.pid)
            if left:
                stuck.append((n, left))
            if n % CHECK_EVERY == 0:
                beats, total = storm.check(tap, beats, f"{threads} threads, after {n} kills")
                seconds = run_time(storm.pid, times=3)  # the load of the machine changes
        tap.equal(stuck, [], f"no thread stayed stopped or traced after {kills} kills")
        # Nearly all, but for a machine whose load changes all the time.
        tap.check(killed >= kills // 4, "kills came during the run",
                  f"{killed} of {kills}, run time {seconds * 1000:.1f} ms")
        # Four in a millisecond: one that is quick is through with all kills before there are thousands.
        tap.check(total > 4 * kills, "signals were sent meanwhile, some for each kill", total)
        tap.equal(capture(storm.pid, status=(0,))["process"]["pid"], storm.pid,
                  "and it can be captured whole afterwards")


def while_traced(pid, process, leader):
    """True as soon as the target has a tracer, False when the run ended without."""
    while process.poll() is None:
        if status_field(pid, leader, "TracerPid") not in ("", "0"):
            return True
    return False


def aimed_instants(tap):
    """Kills while the target is held: the instants that hurt if any do."""
    generator = seeded(2)
    with Storm(rate=AIMED_RATE) as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "before aimed kills")
        hits, stuck = 0, []
        for n in range(1, 10 * AIMED_KILLS):
            if n > AIMED_KILLS and hits >= AIMED_KILLS // 4:
                break
            process = start(storm.pid, "--stop", "always")
            leader = generator.choice(tasks(storm.pid))
            if while_traced(storm.pid, process, leader):
                wait_exact(generator.uniform(0, 0.0015))
                process.kill()
                hits += 1
            process.wait()
            left = let_go(storm.pid)
            if left:
                stuck.append((n, left))
        storm.check(tap, beats, f"after {hits} kills while traced")
        tap.equal(stuck, [], "no thread stayed stopped or traced after kills while traced")
        tap.check(hits >= AIMED_KILLS // 4, "kills came while the target was traced",
                  f"{hits} of {n}")


def restart_written(tap):
    """Calls without a time limit begin again though snapwalk is killed right in the stop that interrupted
    them: the process that holds them lives until their registers say so."""
    generator = seeded(3)
    # After --max-stop nobody waits for a thread that got no CPU to stop: its call may return EINTR then.
    how = ("--stop", "always", *PATIENT[:2])
    with Target("blocking", 300000, 300000, *WITHOUT_LIMIT) as target:
        seconds = run_time(target.pid, *how)
        killed = 0
        for n in range(20 * HELD_KILLS):
            if let_go(target.pid) or killed == HELD_KILLS:
                break
            if n % CHECK_EVERY == 0:  # the load of the machine changes
                seconds = run_time(target.pid, *how, times=3)
            killed += kill_at(start(target.pid, *how), generator.uniform(0, seconds))
        tap.equal(let_go(target.pid), [], "blocked threads: none stayed stopped or traced")
        tap.equal(killed, HELD_KILLS, "kills came during the run")
        check_released(tap, target, killed)


def terminal_signals(tap):
    """The signals of a terminal go to the whole group. Ctrl-Z must not leave the target stopped."""
    generator = seeded(6)
    with Storm() as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "before terminal signals")
        seconds = run_time(storm.pid)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP):
            stuck, stopped = [], 0
            for _ in range(40):
                # A group of its own in our session: the kernel does not stop orphaned groups.
                process = start(storm.pid, process_group=0)
                wait_exact(generator.uniform(0, seconds))
                signal_group(process, number)
                left = let_go(storm.pid)
                if left:
                    stuck.append((left, state_of(process.pid)))
                stopped += state_of(process.pid) == "T"
                signal_group(process, signal.SIGCONT)
                process.wait(240)  # starved on a busy machine
            tap.equal(stuck, [], f"{signal.Signals(number).name}: the target is let go at once")
            if number == signal.SIGTSTP:
                tap.check(stopped, "SIGTSTP stopped snapwalk itself", stopped)
        storm.check(tap, beats, "after terminal signals")


def signal_group(process, number):
    if process.poll() is None:
        os.killpg(process.pid, number)


def helper_killed(tap):
    """The process that does the stop dies alone, as by the OOM killer."""
    generator = seeded(7)
    with Storm() as storm:
        beats, _ = storm.check(tap, [0] * THREADS, "before kills of the helper")
        odd, hits = [], 0
        for n in range(2000):
            if n >= 200 and hits >= 20:
                break
            process = subprocess.Popen([SNAPWALK, "dump", "--json", str(storm.pid)],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            hit = kill_helper(process, generator.uniform(0, 0.001))
            out, err = process.communicate(timeout=240)
            hits += hit
            if process.returncode not in (0, 1, 3) or (process.returncode == 0) != (err == ""):
                odd.append((n, process.returncode, err))
            if left := let_go(storm.pid):
                odd.append((n, left))
        storm.check(tap, beats, f"after {hits} kills of the helper")
        tap.equal(odd, [], "helper killed: an answer with its reason, the target let go")
        tap.check(hits >= 20, "the helper was met", hits)


def kill_helper(process, seconds):
    """Kills the first child that snapwalk makes, some time after it appeared."""
    path = f"/proc/{process.pid}/task/{process.pid}/children"
    while process.poll() is None:
        try:
            with open(path) as file:
                children = file.read().split()
        except OSError:
            return False
        if children:
            wait_exact(seconds)
            try:
                os.kill(int(children[0]), signal.SIGKILL)
            except ProcessLookupError:
                return False
            return True
    return False


if __name__ == "__main__":
    Tap.main((random_instants, THREADS, KILLS), (random_instants, MANY_THREADS, KILLS // 3), aimed_instants, restart_written,
             terminal_signals, helper_killed)
