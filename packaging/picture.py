#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""picture.py SNAPWALK: makes the pictures of the README, docs/terminal.svg and docs/flame.svg, from real runs.

The terminal shows what `snapwalk PID` prints of tests/targets/demo.c, which seems to hang. The flame graph is the one that
`snapwalk sample -o FILE.svg` writes of a small program in Python.
"""
import html
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SPDX = "<!-- SPDX-License-Identifier: LGPL-2.1-or-later; made by make docs-picture -->\n"
COLUMNS = 116
LINES = 34
WIDTH, HEIGHT, MARGIN = 7.8, 17, 16  # of a character of the terminal, and around all, in pixels
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
ORDERS = '''
import json, time, zlib
prices = {f"item-{n}": n * 7 % 1000 for n in range(2000)}
end = time.monotonic() + 60
def total(order):
    return sum(prices[name] * count for name, count in order.items())
def render(order):
    return json.dumps({"order": order, "total": total(order)})
def compress(page):
    return zlib.compress(page.encode(), 1)
def serve(request):
    order = {f"item-{n}": n % 5 for n in range(request % 2000)}
    return compress(render(order))
def main():
    request = 0
    print(flush=True)
    while time.monotonic() < end:
        request += 7
        serve(request)
main()
'''


def output_of_demo(snapwalk):
    """Returns the command's output, with its colours, and the process id. The directory that it was built in is shown
    as /opt."""
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "demo")
        subprocess.run(["cc", "-O2", "-g", "-pthread", "-D_GNU_SOURCE", "-o", program, "tests/targets/demo.c"], check=True, cwd=ROOT)
        with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as demo:
            demo.stdout.readline()
            tasks = f"/proc/{demo.pid}/task"
            end = time.monotonic() + 60
            while sum(" S " in open(f"{tasks}/{tid}/stat").read() for tid in os.listdir(tasks)) < 6:
                if demo.poll() is not None or time.monotonic() > end:
                    sys.exit("picture.py: the threads of tests/targets/demo do not wait")
                time.sleep(0.01)
            time.sleep(2)  # so that the dump says how long the threads wait
            done = subprocess.run([snapwalk, str(demo.pid), "--color", "always"], capture_output=True, text=True)
            demo.kill()
        if done.returncode != 0:
            sys.exit(f"picture.py: {snapwalk} failed: {done.stderr}")
        return done.stdout.replace(directory, "/opt"), demo.pid


def spans(line):
    """The line as elements of SVG: a span for each piece of one style."""
    bold = dim = False
    colour = None
    for codes, text in re.findall(r"(?:\x1b\[([\d;]*)m)?([^\x1b]*)", line):
        for code in codes.split(";"):
            if code in ("", "0"):
                bold, dim, colour = (bold, dim, colour) if not codes else (False, False, None)
            bold |= code == "1"
            dim |= code == "2"
            colour = COLOURS.get(code, colour)
        if text:
            style = ' font-weight="bold"' * bold + ' opacity="0.6"' * dim + (f' fill="{colour}"' if colour else "")
            yield f"<tspan{style}>{html.escape(text)}</tspan>" if style else html.escape(text)


def shortened(line):
    """At most as many columns as the terminal has."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", line)
    return line if len(plain) <= COLUMNS else f"{plain[:COLUMNS - 1]}…"


def terminal(text, pid):
    lines = [f"\x1b[32m$\x1b[0m sudo snapwalk {pid}", *text.splitlines()]
    if len(lines) > LINES:
        lines = [*lines[:LINES], "\x1b[2m…\x1b[0m"]
    width, height = round(COLUMNS * WIDTH + 2 * MARGIN), (len(lines) + 1) * HEIGHT + 2 * MARGIN
    rows = "\n".join(f'<text x="{MARGIN}" y="{2 * MARGIN + HEIGHT * (n + 1)}" xml:space="preserve">{"".join(spans(shortened(line)))}</text>'
                     for n, line in enumerate(lines) if line)
    dots = "".join(f'<circle cx="{MARGIN + 4 + 18 * n}" cy="{MARGIN}" r="5" fill="{colour}"/>'
                   for n, colour in enumerate(("#ff5f56", "#ffbd2e", "#27c93f")))
    return (f'{SPDX}<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
            f"<title>snapwalk says why a process hangs, and shows the stacks of its threads</title>\n"
            f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n{dots}\n'
            f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
            f'font-size="13" fill="#e6edf3">\n{rows}\n</g>\n</svg>\n')


def flame(snapwalk):
    """A flame graph of fifteen seconds of the program in Python."""
    with tempfile.TemporaryDirectory() as directory:
        program, picture = os.path.join(directory, "orders.py"), os.path.join(directory, "flame.svg")
        with open(program, "w", encoding="utf-8") as file:
            file.write(ORDERS)
        with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) as orders:
            orders.stdout.readline()
            done = subprocess.run([snapwalk, "sample", str(orders.pid), "--mode", "cpu", "-r", "500", "-d", "15", "--max-load", "50",
                                   "-o", picture],
                                  capture_output=True, text=True)
            orders.kill()
        if not os.path.exists(picture):
            sys.exit(f"picture.py: {snapwalk} sample failed: {done.stderr}")
        with open(picture, encoding="utf-8") as file:
            return file.read().replace(f"{directory}/", "").replace("<svg", f"{SPDX}<svg", 1)


def main():
    snapwalk = os.path.abspath(sys.argv[1])
    for name, text in (("terminal.svg", terminal(*output_of_demo(snapwalk))), ("flame.svg", flame(snapwalk))):
        with open(os.path.join(ROOT, "docs", name), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"docs/{name}: {len(text)} bytes")


main()
