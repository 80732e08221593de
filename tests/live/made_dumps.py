# SPDX-License-Identifier: LGPL-2.1-or-later
"""Dumps as JSON that no process was captured for: many processes of one program, by a description."""
import json
import os


def frame(function, path=None, line=None, module=0, kind="native"):
    """A frame as dumps have it."""
    return {"pc": "0x401136", "module": module, "offset": "0x1136", "function": function,
            "function_offset": 4, "file": path, "line": line,
            "line_offset": None if line is None else 0, "kind": kind, "by": "elf-cfi",
            "trust": "cfi", "inlined": False}


def made(pid, threads, host="node1", comm="python3", exe="/usr/bin/python3.11", complete=True):
    """A dump. threads: (name, state, since_ms, frames innermost first); the first one is the main thread."""
    stacks, by_frames, rows = [], {}, []
    for index, (name, state, since_ms, frames) in enumerate(threads):
        key = json.dumps(frames)
        if key not in by_frames:
            by_frames[key] = len(stacks)
            stacks.append({"id": f"{len(stacks) + 1:016x}", "threads": [], "end": "complete",
                           "why": None, "frames": frames})
        stack = by_frames[key]
        stacks[stack]["threads"].append(pid + index)
        rows.append({"tid": pid + index, "comm": name, "state": state, "captured": True,
                     "reason": None, "wchan": None, "syscall": None, "interrupted": False,
                     "cpu_ns": 1000, "stop_us": None, "captured_by": "iterator",
                     "since_ms": since_ms, "stack": stack})
    return {"schema": "snapwalk.dump/1", "id": f"20261120T103550.084579-{pid}-0123abcd", "seq": 1,
            "time": "2026-11-20T10:35:50.084579Z", "uptime_ms": 81234, "reason": None,
            "complete": complete,
            "host": {"name": host, "kernel": "6.1.0", "machine": "x86_64"},
            "process": {"pid": pid, "starttime": 998877, "ppid": 1, "uid": 1000, "comm": comm,
                        "exe": exe, "cgroup": "/", "unit": None, "container": None,
                        "elf_class": 64, "runtimes": []},
            "timings": {"stopped_us": 0, "longest_thread_stop_us": 0, "attach_us": 0,
                        "copy_us": 0, "unwind_us": 0, "symbolize_us": 0, "total_us": 0,
                        "interrupted_calls": 0},
            "threads": rows, "stacks": stacks,
            "modules": [{"path": exe, "build_id": "ab" * 20, "start": "0x400000",
                         "end": "0x500000", "format": "elf", "symbols": "dwarf"}],
            "warnings": []}


ALL_REDUCE = [frame("all_reduce", "/srv/dist.py", 120, None, "cpython"),
              frame("train_step", "/srv/train.py", 55, None, "cpython"),
              frame("main", "/srv/train.py", 10, None, "cpython")]
LOAD_BATCH = [frame("load_batch", "/srv/data.py", 88, None, "cpython"),
              frame("train_step", "/srv/train.py", 40, None, "cpython"),
              frame("main", "/srv/train.py", 10, None, "cpython")]


def worker_stack(index, depth=20):
    """A stack of its own for each index."""
    return [frame(f"step_{index}_{n}", f"/srv/part{n}.c", 100 + index) for n in range(depth)] + \
        [frame("worker", "/srv/pool.c", 7)]


def ranks(directory, count, odd, n_threads=1, n_stacks=8):
    """Files rank-N.json of a training job, in which one rank has not come to where all others wait. Returns the paths."""
    pool = [worker_stack(index) for index in range(n_stacks)]
    paths = []
    for rank in range(count):
        main = ("python3", "S", 14 * 60 * 1000, LOAD_BATCH if rank == odd else ALL_REDUCE)
        others = [(f"worker-{n}", "S", 5, pool[n % n_stacks]) for n in range(n_threads - 1)]
        paths.append(os.path.join(directory, f"rank-{rank}.json"))
        with open(paths[-1], "w") as file:
            json.dump(made(1000 + rank * 200, [main] + others, f"node{rank // 8}"), file)
    return paths
