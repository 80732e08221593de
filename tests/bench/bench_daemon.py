# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon next to the direct command: the same process, the same options, in turn."""
import contextlib
import os
import resource
import statistics
import sys
import time

import bench_programs as programs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))

THREADS, FRAMES, CALLS = 100, 30, 200


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def call_ms(client, pid):
    """A whole dump over the socket, milliseconds. It is not taken apart: a command that writes its
    JSON to a file does not do that either."""
    begin = time.perf_counter()
    client.send("Capture", {"target": {"pid": pid}, "options": {"symbols": "names",
                                                                "store": False}})
    message = client.receive_bytes()
    taken = (time.perf_counter() - begin) * 1e3
    if b'"dump":' not in message[:64] or b'"complete":true' not in message:
        raise RuntimeError(f"not a whole dump: {message[:300]!r}")
    return taken


def measure(bench, command):
    """(median of a call, of the command that it is compared with, p99 of a call), milliseconds."""
    os.environ["SNAPWALK_BUILD"] = bench.build
    from daemon import Daemon  # noqa: PLC0415 - the path and the build above
    bench.say(f"daemon, {THREADS} threads")
    with contextlib.suppress(ValueError):  # not permitted here: its workers wait for their turns, then
        resource.setrlimit(resource.RLIMIT_RTPRIO, (2, 2))  # as its unit does
    config = {"MinIntervalSec": 0, "StopPercent": 100, "MaxStopMs": 1000}
    with programs.workload(bench.build, THREADS, FRAMES) as program, Daemon(config) as daemon:
        program.settle()
        with daemon.client() as client:
            for _ in range(5):
                call_ms(client, program.pid)
            bench.tools.run(command, program.pid)
            calls, direct = [], []
            for turn in range(CALLS):
                calls.append(call_ms(client, program.pid))
                if turn % 10 == 0:
                    direct.append(bench.tools.run(command, program.pid)["wall_ms"])
    return statistics.median(calls), statistics.median(direct), percentile(calls, 0.99)


def run(bench, command):
    """Adds the bars of the daemon."""
    median, wall, p99 = measure(bench, command)
    bench.bar(f"Capture over the socket, {THREADS} threads", median / wall, 1.2,
              " × the command", note=f" ({median:.1f} ms, the command {wall:.1f} ms)")
    bench.bar(f"p99 of {CALLS} calls", p99 / median, 3, " × the median", note=f" ({p99:.1f} ms)")
