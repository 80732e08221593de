# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that wait in functions of the library. Says "waits NAME KIND" for each, then "ready"."""
import queue
import threading
import time

work, full, simple = queue.Queue(), queue.Queue(1), queue.SimpleQueue()
condition, event, semaphore = threading.Condition(), threading.Event(), threading.Semaphore(0)
full.put(1)


def wait_condition():
    with condition:
        condition.wait()


WAITS = (("get", "queue_get", work.get), ("put", "queue_put", lambda: full.put(2)), ("join", "queue_join", full.join),
         ("simple", "queue_get", simple.get), ("cond", "condition", wait_condition), ("event", "event", event.wait),
         ("sem", "semaphore", semaphore.acquire))
for name, kind, function in WAITS:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    while not thread.ident:
        time.sleep(0.001)
    print("waits", getattr(thread, "native_id", 0), kind)
print("ready", flush=True)
time.sleep(100000)
