#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""The options of the scan, frames that are left out, and the time in text: of a running process, and of a recorded
one."""
import os
import re
import subprocess
import sys
import tempfile

from harness import PATIENT, Tap, Target, dump, own_functions, snapwalk, stack_of, wait_blocked

# Blocks in code of no module: mov $34,%eax; syscall; jmp back. pause() never returns.
UNKNOWN = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("554889e5b8220000000f05ebf7"))
at = ctypes.addressof(ctypes.c_char.from_buffer(code))
print("ready", flush=True)
ctypes.CFUNCTYPE(None)(at)()
"""


def frames_of(report, tid):
    return stack_of(report, tid)["frames"]


def test_scan(tap, words, target):
    plain = frames_of(dump(words), target.pid)
    every = dump(words, "--scan-all", status=(0, 3))
    frames = frames_of(every, target.pid)
    tap.equal({f["by"] for f in frames}, {"context", "stack-scan"}, f"{words[0]} --scan-all: nothing but the scan")
    pcs = [f["pc"] for f in frames]
    tap.check(all(f["pc"] in pcs for f in plain), f"{words[0]} --scan-all: has every real frame", (plain, pcs))
    tap.check(not any(f.get("may_miss") for f in frames), f"{words[0]} --scan-all: nothing may be missing")
    more = frames_of(dump(words, "--scan-below", "400", status=(0, 3)), target.pid)
    tap.equal([f["pc"] for f in more[:len(plain)]], [f["pc"] for f in plain],
              f"{words[0]} --scan-below: what tables say comes first")
    tap.check(all(f["trust"].startswith("scan") or f.get("after_guess") for f in more[len(plain):-1]),
              f"{words[0]} --scan-below: the rest is marked", more)
    # A chain of small functions: each is called by one that calls it from near.
    near = dump(words, "--walk", "scan", "--scan-range", "4K", status=(0, 3))
    tap.equal(own_functions(near, target.pid)[:4], own_functions(dump(words), target.pid)[:4],
              f"{words[0]} --scan-range: finds what is near")


def test_trim(tap):
    target = subprocess.Popen([sys.executable, "-c", UNKNOWN], stdout=subprocess.PIPE, text=True)
    try:
        target.stdout.readline()
        wait_blocked(target.pid, (34,), [target.pid])
        plain = stack_of(dump(target.pid, status=(0, 3)), target.pid)
        report = dump(target.pid, "--trim-unknown", status=(0, 3))
        text = snapwalk("dump", *PATIENT, "--trim-unknown", target.pid).stdout
    finally:
        target.kill()
        target.wait()
        target.stdout.close()
    trimmed = stack_of(report, target.pid)
    count = trimmed.get("trimmed", 0)
    tap.check(plain["frames"][0]["module"] is None and "trimmed" not in plain, "unknown code is in front", plain)
    tap.check(count > 0 and trimmed["frames"][0]["module"] is not None, "--trim-unknown: the unknown frame is left out", trimmed)
    tap.equal([f["pc"] for f in trimmed["frames"]], [f["pc"] for f in plain["frames"][count:]],
              "--trim-unknown: the rest is the same, and the number is right")
    tap.check(f"… {count} frame{'s' if count > 1 else ''} of no module left out" in text, "--trim-unknown: said in text",
              text)


def test_time(tap, target):
    def second_line(*options, **env):
        run = snapwalk("dump", *PATIENT, *options, target.pid, env={**os.environ, **env})
        return run.stdout.splitlines()[2]
    tap.check(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC on ", second_line()), "time: UTC")
    utc, here = second_line("--time", "utc"), second_line("--time", "local", TZ="XXX-3:30")
    tap.check(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \+0330 on ", here), "time: that of the reader", here)
    minutes = [int(line[11:13]) * 60 + int(line[14:16]) for line in (utc, here)]
    tap.check((minutes[1] - minutes[0]) % 1440 in (210, 211, 212), "time: by its distance to UTC", (utc, here))
    start = second_line("--time", "start")
    tap.check(re.match(r"\d+\.\d{3} s after its start on ", start), "time: since the process began", start)


def main():
    tap = Tap()
    with Target("chain_pie") as target:
        wait_blocked(target.pid, (34, 202))
        tap.guard(test_scan, [target.pid], target)
        tap.guard(test_time, target)
        with tempfile.TemporaryDirectory() as scratch:
            fixture = os.path.join(scratch, "fixture")
            snapwalk("record", target.pid, "-o", fixture)
            tap.guard(test_scan, ["--fixture", fixture], target)
    tap.guard(test_trim)
    tap.done()


main()
