# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that wait in all kinds of calls. For each line on its input it prints what the interpreter
itself says of all other threads: {tid: [[function, file, line], ...]}, innermost first.
"""
import asyncio
import ctypes
import functools
import http.server
import json
import sys
import threading

forever = threading.Event()


class Waiter:
    def method(self):
        forever.wait()

    @staticmethod
    def static():
        Waiter().method()

    def __lt__(self, other):
        self.method()

    def __getattr__(self, name):
        return self.method()


def in_lambda():
    (lambda: forever.wait())()


def in_comprehension():
    return [[Waiter.static() for _ in "a"] for _ in "b"]


def in_generator():
    def inner():
        try:
            yield 1
            yield from outer()
        finally:
            pass

    def outer():
        yield 2
        forever.wait()
    return list(inner())


def in_sort():
    sorted([Waiter(), Waiter()])


def in_attribute():
    return Waiter().something


def in_decorated():
    @functools.lru_cache(maxsize=None)
    def cached(n):
        return functools.reduce(lambda a, b: Waiter().method(), [n, n])
    cached(1)


def in_c_library():
    compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))

    def compare(a, b):
        forever.wait()
        return 0
    numbers = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(numbers, 2, ctypes.sizeof(ctypes.c_int), compare_type(compare))


def in_coroutine():
    async def inner():
        forever.wait()

    async def outer():
        await asyncio.gather(asyncio.sleep(0), inner())
    asyncio.run(outer())


def in_event_loop():
    async def waits():
        await asyncio.sleep(10 ** 6)
    asyncio.run(waits())


def in_recursion(depth=300):
    if depth == 0:
        forever.wait()
    else:
        in_recursion(depth - 1)


def in_class_body():
    class Body:
        value = Waiter().method()
    return Body


def in_exec():
    exec(compile("\n\ndef made():\n    wait()\nmade()", "<made>", "exec"), {"wait": forever.wait})


def änderung():
    forever.wait()


def in_context():
    class Context:
        def __enter__(self):
            forever.wait()

        def __exit__(self, *error):
            pass
    with Context():
        pass


def say(line):
    """In one piece: print() writes its words and the end of the line one by one, and other threads' in between."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def in_server():
    handler = http.server.BaseHTTPRequestHandler
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    say(f"port {server.server_address[1]}")
    server.serve_forever(poll_interval=10 ** 6)


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def chain_of(frame):
    found = []
    while frame is not None:
        found.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def main():
    kinds = [in_lambda, in_comprehension, in_generator, in_sort, in_attribute, in_decorated, in_c_library,
             in_coroutine, in_event_loop, in_recursion, in_class_body, in_exec, änderung, in_context, in_server]
    for kind in kinds:
        threading.Thread(target=kind, daemon=True, name=kind.__name__ + "-worker").start()
    say("ready")
    for _ in sys.stdin:
        frames = sys._current_frames()
        threads = {t.ident: t for t in threading.enumerate()}
        print(json.dumps({threads[ident].native_id: [threads[ident].name, chain_of(frame)]
                          for ident, frame in frames.items() if ident != threading.get_ident()}), flush=True)


main()
