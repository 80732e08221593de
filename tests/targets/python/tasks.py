# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tasks of asyncio: in one thread a loop that waits, in another one that a task blocks. For each line on its
input it prints what the program itself says of all tasks: [[name, [state, task waited for, chain]], ...], the chain
[[function, file, line], ...], innermost first. An argument: as many tasks more; "own": the tasks and futures that
asyncio makes in Python; "eager": tasks that begin at once, of which one is in its first step.
"""
import asyncio
import gc
import itertools
import json
import sys
import threading
import types

forever = threading.Event()
loops = {}
MODE = sys.argv[1] if len(sys.argv) > 1 else ""
CROWD = int(MODE) if MODE.isdigit() else 0
numbers = itertools.count(1)
OWN, EAGER = MODE == "own", MODE == "eager"


async def innermost(event):
    await event.wait()


async def middle(event):
    if event:
        await innermost(
            event)


async def outer(event):
    async with asyncio.Lock():
        await middle(event)


async def sleeps():
    await asyncio.sleep(10 ** 6)


async def gathers(event):
    await asyncio.gather(middle(event), sleeps())


async def awaits_task(task):
    await task


async def with_timeout(event):
    await asyncio.wait_for(innermost(event), 10 ** 6)


async def generate(event):
    yield 1
    await middle(event)
    yield 2


async def iterates(event):
    async for _ in generate(event):
        pass


async def comprehends(event):
    return [x async for x in generate(event)]


async def sends(event):
    generator = generate(event)
    await generator.asend(None)
    await generator.asend(1)


@types.coroutine
def old_style(event):
    yield from innermost(event)


async def awaits_old_style(event):
    await old_style(event)


class Awaitable:
    def __init__(self, event):
        self.event = event

    def __await__(self):
        yield from self.event.wait().__await__()


async def awaits_class(event):
    await Awaitable(event)


async def recurses(event, depth):
    if depth == 0:
        await event.wait()
    else:
        await recurses(event, depth - 1)


class Custom:
    """An iterator that is no coroutine: what it does is not seen."""
    def __init__(self, event):
        self.iterator = event.wait().__await__()

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.iterator)


async def awaits_custom(event):
    await Custom(event)


class Derived(asyncio.tasks._PyTask if OWN else asyncio.Task):
    pass


def make(loop, coroutine, **more):
    more = {"name": f"{MODE}-{next(numbers)}", "loop": loop}
    return asyncio.tasks._PyTask(coroutine, **more) if OWN else asyncio.Task(coroutine, eager_start=True, **more)


def prepare(loop):
    if OWN or EAGER:
        loop.set_task_factory(make)
    if OWN:
        loop.create_future = lambda: asyncio.futures._PyFuture(loop=loop)
    return loop


def start(coroutine, name):
    task = asyncio.get_running_loop().create_task(coroutine)
    if name:
        task.set_name(name)
    return task


async def main(ready):
    prepare(asyncio.get_running_loop())
    event, queue = asyncio.Event(), asyncio.Queue()
    first = start(outer(event), "outer")
    kinds = [first, start(sleeps(), ""), start(gathers(event), "gathers"), start(awaits_task(first), "awaits-task"),
             start(with_timeout(event), "timeout"), start(iterates(event), "iterates"),
             start(comprehends(event), "comprehends"), start(sends(event), "sends"),
             start(awaits_old_style(event), "old-style"), start(awaits_class(event), "ünicode \u4e2d"),
             start(recurses(event, 100), "recurses"), start(queue.get(), "queue"),
             start(awaits_custom(event), "custom"), Derived(middle(event), name="derived")]
    kinds += [start(outer(event), f"crowd-{i}") for i in range(CROWD)]
    loops["waiting"] = asyncio.get_running_loop(), kinds
    await asyncio.sleep(0.01)
    asyncio.get_running_loop().call_soon(ready.set)
    await event.wait()


async def yields():
    await asyncio.sleep(0)


async def first_step(ready):
    block(ready)


async def blocks(ready):
    loop = prepare(asyncio.get_running_loop())
    kinds = [start(yields(), "yields"), start(sleeps(), "also-sleeps")]
    await asyncio.sleep(0)
    kinds.append(start(sleeps(), "not-begun"))
    loops["blocked"] = loop, kinds
    if EAGER:
        asyncio.Task(first_step(ready), loop=loop, name="first-step", eager_start=True)
    block(ready)


def block(ready):
    ready.set()
    forever.wait()


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def frame_and_next(awaited):
    for prefix, following in (("cr", "cr_await"), ("gi", "gi_yieldfrom"), ("ag", "ag_await")):
        if hasattr(awaited, prefix + "_frame"):
            return getattr(awaited, prefix + "_frame"), getattr(awaited, following)
    if type(awaited).__name__ in ("coroutine_wrapper", "async_generator_asend", "async_generator_athrow"):
        return None, next(r for r in gc.get_referents(awaited) if hasattr(r, "cr_await") or hasattr(r, "ag_await"))
    return None, None


def chain_of(awaited):
    found = []
    while awaited is not None:
        frame, awaited = frame_and_next(awaited)
        if frame is not None:
            found.insert(0, [name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
    return found


def look(task):
    """The states as snapwalk calls them."""
    coroutine, waiter = task.get_coro(), task._fut_waiter
    if coroutine.cr_running:
        return ["running", None, []]
    if coroutine.cr_frame.f_lasti < 0 or sys.version_info >= (3, 11) and is_created(coroutine):
        return ["created", None, chain_of(coroutine)]
    waits = waiter is not None and not waiter.done()
    return ["waiting" if waits else "runnable",
            waiter.get_name() if waits and isinstance(waiter, (asyncio.Task, asyncio.tasks._PyTask)) else None, chain_of(coroutine)]


def is_created(coroutine):
    import inspect
    return inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED


def made_in_python(loop):
    """From 3.14 on asyncio.all_tasks() does not see them."""
    return asyncio.tasks._py_all_tasks(loop) if sys.version_info >= (3, 14) else set()


def run(function):
    ready = threading.Event()
    threading.Thread(target=lambda: asyncio.run(function(ready)), daemon=True).start()
    ready.wait()


run(main)
run(blocks)
print("ready", flush=True)
for _ in sys.stdin:
    print(json.dumps([[task.get_name(), look(task)] for loop, _ in loops.values()
                      for task in asyncio.all_tasks(loop) | made_in_python(loop)]), flush=True)
