# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that wait for RLocks: "waits TID OWNER", with 0 where nobody can be told. With an argument two that
have each other's: "cycle TID TID".
"""
import os
import sys
import threading

started = threading.Semaphore(0)


def say(line):
    os.write(1, f"{line}\n".encode())  # in one


def wait_for(take, owner):
    say(f"waits {threading.get_native_id()} {owner}")
    started.release()
    take()


def has_both(first, second, met):
    first.acquire()
    met.wait()
    started.release()
    second.acquire()


def cycle():
    locks, met = [threading.RLock(), threading.RLock()], threading.Barrier(2)
    pair = [threading.Thread(target=has_both, args=(locks[i], locks[1 - i], met), daemon=True) for i in range(2)]
    for thread in pair:
        thread.start()
    for _ in pair:
        started.acquire()
    say(f"cycle {pair[0].native_id} {pair[1].native_id}")


def kinds():
    again, plain = threading.RLock(), threading.Lock()
    again.acquire()
    again.acquire()
    plain.acquire()
    me = threading.get_native_id()
    condition = threading.Condition()  # of an RLock, which its waiter gives back
    takes = [(again.acquire, me), (lambda: again.acquire(timeout=100000), me), (again.__enter__, me),
             (plain.acquire, 0), (lambda: condition.__enter__() and condition.wait(), 0)]
    for take in takes:
        threading.Thread(target=wait_for, args=take, daemon=True).start()
    for _ in takes:
        started.acquire()


if len(sys.argv) > 1:
    cycle()
else:
    kinds()
say("ready")
while True:
    os.read(0, 1)
