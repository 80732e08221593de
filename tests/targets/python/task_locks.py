# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tasks that wait for what asyncio's library has. Says "waits NAME KIND OWNER" for each, then "ready".

cycle: two tasks, each of which has a Lock that the other one waits for. limited-HOW: the same with a time limit, in the tasks
themselves or in another task that waits for them. unlimited-HOW: another task waits for them, without a limit or without one that
ends them.
chain N: a Lock whose owner awaits N tasks, each the next. busy: tasks that take two locks all the time, always in the same order.
"""
import asyncio
import sys

LIMIT = 3600


async def hold(lock, then):
    async with lock:
        await then


async def take(first, second, entered, limit=None):
    async with first:
        entered.append(first)
        while len(entered) < 2:
            await asyncio.sleep(0.001)
        if limit is not None:
            await asyncio.wait_for(second.acquire(), limit)
        else:
            async with second:
                pass


async def named(name, what):
    asyncio.current_task().set_name(name)
    await what


async def in_timeout(what, limit):
    async with asyncio.timeout(limit):
        await what


async def in_group(coroutines, limit, leave):
    async with asyncio.timeout(limit), asyncio.TaskGroup() as group:
        for coroutine in coroutines:
            group.create_task(coroutine)
        if not leave:
            await asyncio.get_running_loop().create_future()


def waits_for_both(how, both):
    """Returns what waits for two coroutines, in the way that a word names."""
    future = asyncio.ensure_future
    return {
        "cycle": lambda: asyncio.wait([future(one) for one in both]),
        "unlimited-wait_for": lambda: asyncio.gather(*(asyncio.wait_for(one, None) for one in both)),
        "unlimited-shield": lambda: asyncio.wait_for(asyncio.shield(asyncio.gather(*both)), LIMIT),
        "limited-acquire": lambda: asyncio.wait([future(one) for one in both]),
        "limited-wait_for": lambda: asyncio.gather(*(asyncio.wait_for(one, LIMIT) for one in both)),
        "limited-wait": lambda: asyncio.wait([future(one) for one in both], timeout=LIMIT),
        "limited-gather": lambda: asyncio.wait_for(asyncio.gather(*both), LIMIT),
        "limited-gathers": lambda: asyncio.wait_for(asyncio.gather(*(asyncio.gather(one) for one in both)), LIMIT),
        "limited-await": lambda: asyncio.wait_for(named("between", future(asyncio.wait([future(one) for one in both]))), LIMIT),
        "limited-timeout": lambda: in_timeout(asyncio.gather(*both), LIMIT),
        "limited-group": lambda: in_group(both, LIMIT, True),
        "limited-in-group": lambda: in_group(both, LIMIT, False),
    }[how]()


async def cycle(how):
    first, second, entered = asyncio.Lock(), asyncio.Lock(), []
    limit = LIMIT if how == "limited-acquire" else None
    outer = asyncio.ensure_future(waits_for_both(how, [named("first", take(first, second, entered, limit)),
                                                       named("second", take(second, first, entered, limit))]))
    while not (first._waiters and second._waiters):
        await asyncio.sleep(0.001)
    print("ready", flush=True)
    await asyncio.shield(outer)


async def gives_back(lock, then):
    """A task that is in the body, and does not have the lock."""
    async with lock:
        lock.release()
        await then


async def kinds():
    lock, given, plain = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
    semaphore, event, condition = asyncio.Semaphore(0), asyncio.Event(), asyncio.Condition()
    queue, full = asyncio.Queue(), asyncio.Queue(1)
    full.put_nowait(1)
    await plain.acquire()
    tasks = {}

    def start(name, what, kind=None, owner="-"):
        tasks[name] = asyncio.ensure_future(what)
        tasks[name].set_name(name)
        if kind is not None:
            print("waits", name, kind, owner)

    async def wait_condition():
        async with condition:
            await condition.wait()

    forever = asyncio.get_running_loop().create_future()
    start("holder", hold(lock, asyncio.sleep(3600)))
    start("giver", gives_back(given, forever))
    await asyncio.sleep(0.01)
    await given.acquire()  # by the main task, which no statement tells
    start("wants", lock.acquire(), "asyncio_lock", "holder")
    start("with", hold(lock, forever), "asyncio_lock", "holder")
    start("wants-given", given.acquire(), "asyncio_lock")
    start("wants-plain", plain.acquire(), "asyncio_lock")
    start("semaphore", semaphore.acquire(), "asyncio_semaphore")
    start("event", event.wait(), "asyncio_event")
    start("condition", wait_condition(), "asyncio_condition")
    start("get", queue.get(), "asyncio_queue_get")
    start("put", full.put(2), "asyncio_queue_put")
    start("join", full.join(), "asyncio_queue_join")

    async def ends():
        await tasks["holder"]
    start("ends", ends(), "task", "holder")
    await asyncio.sleep(0.05)
    print("ready", flush=True)
    await forever


async def chain():
    """"holder" has the Lock that "wants" waits for, and awaits "third", which has none; so do many more, each the one before."""
    lock = asyncio.Lock()
    tasks = [asyncio.ensure_future(named("third", asyncio.get_running_loop().create_future()))]

    async def awaits(task):
        await task
    for _ in range(int(sys.argv[2])):
        tasks.append(asyncio.ensure_future(awaits(tasks[-1])))
    tasks.append(asyncio.ensure_future(named("holder", hold(lock, tasks[-1]))))
    await asyncio.sleep(0.01)
    tasks.append(asyncio.ensure_future(named("wants", lock.acquire())))
    await asyncio.sleep(0.01)
    print("ready", flush=True)
    await asyncio.wait(tasks)


async def busy():
    first, second = asyncio.Lock(), asyncio.Lock()

    async def turn():
        while True:
            async with first:
                await asyncio.sleep(0)
                async with second:
                    await asyncio.sleep(0)
            async with second:
                await asyncio.sleep(0)
    tasks = [asyncio.ensure_future(turn()) for _ in range(8)]
    await asyncio.sleep(0.05)
    print("ready", flush=True)
    await asyncio.wait(tasks)


word = sys.argv[1]
asyncio.run(kinds() if word == "kinds" else busy() if word == "busy" else chain() if word == "chain" else cycle(word))
