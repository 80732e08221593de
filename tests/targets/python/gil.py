# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that want the interpreter's lock: "wants TID". One of them keeps it: "holds TID"; without an
argument nobody does, and they take turns. With "cycle" one has it and waits for a mutex of the C library, which another
one has that wants it: "cycle TID TID".
"""
import ctypes
import os
import sys
import threading

started = threading.Semaphore(0)


def say(line):
    os.write(1, f"{line}\n".encode())  # in one


def spin():
    say(f"wants {threading.get_native_id()}")
    started.release()
    while True:
        pass


def hold():
    say(f"holds {threading.get_native_id()}")
    say("ready")
    ctypes.PyDLL(None).pause()  # without giving the lock back


mutex = ctypes.create_string_buffer(64)
mutex_is_taken = threading.Event()


def take():
    say(f"cycle {threading.get_native_id()}")
    ctypes.CDLL(None).pthread_mutex_lock(mutex)
    mutex_is_taken.set()
    while True:
        pass


def keep():
    mutex_is_taken.wait()
    say(f"cycle {threading.get_native_id()}")
    say("ready")
    ctypes.PyDLL(None).pthread_mutex_lock(mutex)


if sys.argv[1:] == ["cycle"]:
    for run in take, keep:
        threading.Thread(target=run, daemon=True).start()
    threading.Event().wait()
WANTING = 4
for _ in range(WANTING):
    threading.Thread(target=spin, daemon=True).start()
for _ in range(WANTING):
    started.acquire()
if len(sys.argv) > 1:
    threading.Thread(target=hold, daemon=True).start()
else:
    say("ready")
lock = threading.Lock()
lock.acquire()
lock.acquire()
