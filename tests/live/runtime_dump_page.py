#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 60s
"""The page of dump -o x.html in a browser: groups, search, the graph of who waits for whom, frames of the runtime, a
narrow window.
"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from harness import PATIENT, Tap, Target, snapwalk, wait_blocked  # noqa: E402
from runtime_profile import browse, file_url  # noqa: E402

PROGRAM = """
import threading, time
first, second = threading.Lock(), threading.Lock()
def one():
    with first:
        time.sleep(0.2)
        second.acquire()
def other():
    with second:
        time.sleep(0.2)
        first.acquire()
def wanting():
    time.sleep(0.4)
    first.acquire()
for function in (one, other, wanting, wanting):
    threading.Thread(target=function, daemon=True).start()
time.sleep(0.6)
print("ready", flush=True)
time.sleep(600)
"""

ACTIONS = """<script>
const said = [];
const say = (text) => said.push(text);
const shown = (query) => [...document.querySelectorAll(query)].filter((e) => e.offsetParent !== null);
say("boxes " + document.querySelectorAll("#graph rect").length);
say("dead " + document.querySelectorAll("#graph g.dead").length + " " + document.querySelectorAll("#graph path.dead").length);
/* Where an arrow ends is a side of the box of whom is waited for: of another one than where it begins. */
const at_end = (path) => { const p = path.getPointAtLength(path.getTotalLength()), q = path.getPointAtLength(0);
	const over = (b, o) => o.x >= b.x - 1 && o.x <= b.x + b.width + 1 && o.y >= b.y - 1 && o.y <= b.y + b.height + 1;
	return [...document.querySelectorAll("#graph g")].filter((g) => over(g.getBBox(), p) && !over(g.getBBox(), q))
		.map((g) => g.querySelector("title").textContent.split(" ")[0]); };
const arrows = [...document.querySelectorAll("#graph svg > path")];
say("arrows " + arrows.filter((a) => document.querySelector(a.getAttribute("marker-end").slice(4, -1))).length + " "
	+ arrows.map((a) => at_end(a).join("+").replace(/^Thread-\\d/, "T")).sort().join(" "));
say("stacks " + shown("#stacks details").length + " rows " + shown("#threads tr").length);
say("verdict " + document.querySelectorAll("#verdict .bad").length);
const before = shown("#stacks li").length;
document.getElementById("runtimes").click();
say("runtime " + (shown("#stacks li").length > before));
const box = document.getElementById("search");
function search(text) {
	box.value = text;
	box.dispatchEvent(new Event("input"));
	return document.getElementById("found").textContent;
}
const hidden = document.querySelector("#stacks li.runtime").firstChild.textContent;
search(hidden);
const beside = shown("#stacks details").length;
document.getElementById("runtimes").click();
say("hidden " + (beside > 0) + " " + shown("#stacks details").length + " " + search("of the runtime"));
search("WANTING");
say("search " + shown("#stacks details").length + " " + shown("#threads tr").length + " " + document.getElementById("found").textContent);
say("wide " + (document.documentElement.scrollWidth > innerWidth));
say("network " + performance.getEntriesByType("resource").length);
document.body.replaceChildren();
const out = document.createElement("pre");
out.id = "said";
out.textContent = said.join("\\n");
document.body.append(out);
</script></body>"""


def seen(path, page):
    """Returns what a browser shows of a page after some actions."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(page.replace("</body>", ACTIONS))
    dom = browse(file_url(path), '<pre id="said">')
    found = re.search(r'<pre id="said">(.*?)</pre>', dom, re.S)
    return dict(line.split(" ", 1) for line in found.group(1).splitlines()) if found else {"page": dom[-2000:]}


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory, Target("python3", "-c", PROGRAM, path="/usr/bin/python3") as target:
        wait_blocked(target.pid, (202, 230))  # futex, clock_nanosleep
        path = os.path.join(directory, "x.html")
        result = snapwalk("dump", target.pid, "-o", path, *PATIENT)
        tap.equal(result.returncode, 0, "a page")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        said = seen(path, page)
        tap.equal(said, {"boxes": "4", "dead": "2 2", "arrows": "4 T T T T", "stacks": "4 rows 5", "verdict": "1", "runtime": "true",
                         "hidden": "true 0 0 found", "search": "1 2 3 found", "wide": "false", "network": "0"},
                  "what the page shows")
        tids = ",".join(map(str, range(5000000, 5300000)))
        many = re.sub(r'"threads":\[(?=\d)', lambda found: found.group() + tids + ",", page)
        tap.check(many != page, "a page of very many threads")
        tap.equal(seen(path, many).get("stacks"), "4 rows 5", "the page has its stacks")
    tap.done()


if __name__ == "__main__":
    main()
