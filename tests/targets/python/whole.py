# SPDX-License-Identifier: LGPL-2.1-or-later
"""A program as a whole: "pool", workers that all wait; "free", the same with one to spare; "loop", a function that holds
an event loop up; "idle", the loop without it; "collect", nothing but collections of cyclic garbage."""
import asyncio
import concurrent.futures
import gc
import sys
import threading
import time


class Node:
    pass


def order(begun):
    begun.release()
    threading.Event().wait()


def pool(workers):
    executor = concurrent.futures.ThreadPoolExecutor(workers)
    begun = threading.Semaphore(0)
    if workers > 3:
        # An idle worker is made before the others have work: each is started for a job while none is idle.
        barrier = threading.Barrier(workers)
        for job in [executor.submit(barrier.wait) for _ in range(workers)]:
            job.result()
    for _ in range(3 if workers > 3 else 9):
        executor.submit(order, begun)
    for _ in range(3):
        begun.acquire()
    print("ready", flush=True)
    sys.stdin.read()  # at its end the pool lets idle workers go


def load():
    print("ready", flush=True)
    time.sleep(1000)


async def serve(held):
    await asyncio.sleep(0.01)
    if held:
        load()
    print("ready", flush=True)
    await asyncio.sleep(1000)


def tree():
    print("ready", flush=True)
    while True:
        gc.collect()


mode = sys.argv[1]
if mode in ("pool", "free"):
    pool(3 if mode == "pool" else 4)
elif mode in ("loop", "idle"):
    asyncio.run(serve(mode == "loop"))
else:
    kept = [Node() for _ in range(400000)]
    for node in kept:
        node.itself = node
    tree()
