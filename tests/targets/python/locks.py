# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that wait for Locks: "waits TID OWNER", with 0 where nobody can be told, and "other TID" of those that
wait for something else by a Lock. With the argument "cycle" two that have each other's: "cycle TID TID"; with
"itself" one that waits for what it has.
"""
import os
import queue
import sys
import threading

started = threading.Semaphore(0)


def say(line):
    os.write(1, f"{line}\n".encode())  # in one


def start(word, body, *owner):
    """A thread that says who it is, and then does something that does not end."""
    def run():
        say(" ".join(map(str, (word, threading.get_native_id(), *owner))))
        started.release()
        body()
    threading.Thread(target=run, daemon=True).start()
    started.acquire()


def forever():
    threading.Event().wait()


def enter(lock):
    with lock:
        pass


def has(body):
    """Starts a thread in that body, which calls it with what says that it has begun; its tid."""
    got, tids = threading.Semaphore(0), []

    def run():
        tids.append(threading.get_native_id())
        body(got.release)
    threading.Thread(target=run, daemon=True).start()
    got.acquire()
    return tids[0]


def nested(outer, lock, begun):
    for _ in range(2):
        try:
            with outer, open(os.devnull) as unused:
                try:
                    with lock as entered:
                        begun()
                        forever()
                finally:
                    del unused, entered
        except KeyError:
            pass


def generator(lock, begun):
    with lock:
        begun()
        yield forever()


def after_others(lock, begun):
    """Locks that were open on the stack at the same depth, and exceptions that are handled, are not open any more."""
    other = threading.Lock()
    with other:
        pass
    try:
        with other:
            raise KeyError
    except KeyError:
        with lock:
            begun()
            forever()


def gives_back(lock, taken, begun):
    with lock:
        lock.release()
        start_taker(lock, taken)
        begun()
        forever()


def start_taker(lock, taken):
    def run():
        lock.acquire()
        taken.release()
        forever()
    threading.Thread(target=run, daemon=True).start()
    taken.acquire()


def waits_for_queue(lock, begun):
    with lock:
        begun()
        queue.Queue().get()


def waits_for_condition(lock, condition, begun):
    with lock:
        begun()
        condition.wait()  # gives it back


def kinds():
    def locks(n):
        return [threading.Lock() for _ in range(n)]
    plain, outer, inner, yielded, after, acquired, returned, queued, conditioned = locks(9)
    owner = has(lambda begun: nested(outer, inner, begun))
    start("waits", lambda: enter(outer), owner)
    start("waits", lambda: enter(inner), owner)
    start("waits", inner.acquire, owner)
    start("waits", lambda: inner.acquire(timeout=100000), owner)
    start("waits", lambda: enter(yielded), has(lambda begun: list(generator(yielded, begun))))
    start("waits", lambda: enter(after), has(lambda begun: after_others(after, begun)))
    start("waits", lambda: enter(queued), has(lambda begun: waits_for_queue(queued, begun)))
    acquired.acquire()
    start("waits", acquired.acquire, 0)
    has(lambda begun: gives_back(returned, threading.Semaphore(0), begun))
    start("waits", returned.acquire, 0)
    condition = threading.Condition(conditioned)
    has(lambda begun: waits_for_condition(conditioned, condition, begun))
    start_taker(conditioned, threading.Semaphore(0))
    start("waits", conditioned.acquire, 0)
    thread = threading.Thread(target=forever, daemon=True)
    thread.start()
    start("other", thread.join)
    start("other", forever)
    start("other", lambda: queue.Queue().get())


def has_both(first, second, met, begun):
    with first:
        met.wait()
        begun()
        with second:
            pass


def cycle():
    pair, met = [threading.Lock(), threading.Lock()], threading.Barrier(2)
    threads = [threading.Thread(target=has_both, args=(pair[i], pair[1 - i], met, started.release), daemon=True) for i in range(2)]
    for thread in threads:
        thread.start()
    for _ in threads:
        started.acquire()
    say(f"cycle {threads[0].native_id} {threads[1].native_id}")


def itself():
    lock = threading.Lock()
    thread = threading.Thread(target=has_both, args=(lock, lock, threading.Barrier(1), started.release), daemon=True)
    thread.start()
    started.acquire()
    say(f"cycle {thread.native_id}")


{"kinds": kinds, "cycle": cycle, "itself": itself}[sys.argv[1] if len(sys.argv) > 1 else "kinds"]()
say("ready")
while True:
    if not os.read(0, 1):
        break
