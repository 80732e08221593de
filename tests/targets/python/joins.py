# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads that wait for others to end, or for a module that another one imports: "thread TID OWNER", "import TID OWNER", then
"ready". The main thread leaves, and waits for those that are not daemons: "exit TID OWNER". With the argument "cycle"
the main thread imports a module that joins a thread which imports it, too: "cycle TID TID".
"""
import importlib.abc
import importlib.machinery
import os
import sys
import threading

importing = threading.Event()
body = None


class Made(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A module that does what the program says."""

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "made_module" else None

    def exec_module(self, module):
        body()


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())  # in one


def start(run, daemon=True):
    """A thread in that function; its tid."""
    begun, tids = threading.Semaphore(0), []

    def main():
        tids.append(threading.get_native_id())
        begun.release()
        run()
    thread = threading.Thread(target=main, daemon=daemon)
    thread.start()
    begun.acquire()
    return thread, tids[0]


def load():
    import made_module  # noqa: F401


def held():
    importing.set()
    threading.Event().wait()


sys.meta_path.insert(0, Made())
if sys.argv[1:] == ["cycle"]:
    def body():
        thread, tid = start(load)
        say("cycle", threading.get_native_id(), tid)
        say("ready")
        thread.join()
    load()
else:
    body = held
    _, loader = start(load)
    importing.wait()
    for _ in range(2):
        say("import", start(load)[1], loader)
    last, tid = start(lambda: threading.Event().wait(), daemon=False)
    say("thread", start(last.join)[1], tid)
    say("thread", start(lambda: last.join(3600))[1], tid)
    say("exit", threading.get_native_id(), tid)
    say("ready")
