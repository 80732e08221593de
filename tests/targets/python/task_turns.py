# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tasks of asyncio that take turns, end, and are replaced by others."""
import asyncio

TASKS = 20
TURNS = 50


async def turn():
    await asyncio.sleep(0)


async def inner():
    for _ in range(TURNS):
        await turn()


async def middle():
    await inner()


async def outer():
    await middle()


def name(task, i):
    task.set_name(f"turn-{i}")
    return task


async def main():
    tasks = [name(asyncio.ensure_future(outer()), i) for i in range(TASKS)]
    await asyncio.sleep(0)
    print("ready", flush=True)
    while True:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        tasks = [name(asyncio.ensure_future(outer()), i) if task.done() else task for i, task in enumerate(tasks)]


asyncio.run(main())
