#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 40s
"""Profiles are opened by the programs that they are for: go tool pprof, speedscope in a browser, the
Firefox Profiler's command, protoc with OpenTelemetry's definition, a browser for our own page.

All formats are of samples of one target: a thread that computes, and threads that wait.
"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
from daemon import Daemon  # noqa: E402
from gate import TOKEN, Gate  # noqa: E402
from harness import BUILD, PATIENT, Tap, Target, snapwalk, wait_until  # noqa: E402

DIRECTORY = os.path.join(BUILD, "runtimes", "profile")
PACKAGES = ("speedscope@1.25.0", "@firefox-devtools/profiler-cli@0.10.0")
PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "targets", "otlp")
FORMATS = ("json", "folded", "text", "pprof", "speedscope", "firefox", "html", "otlp")
HOSTILE = "</script><script>document.title='owned'</script>"


def package(*parts):
    return os.path.join(DIRECTORY, "node_modules", *parts)


def install():
    """Programs that npm has are put into the build folder, once; no scripts of theirs are run."""
    if os.path.exists(package("speedscope")) and os.path.exists(package("@firefox-devtools")):
        return
    os.makedirs(DIRECTORY, exist_ok=True)
    with open(os.path.join(DIRECTORY, "package.json"), "w") as file:
        file.write('{"private": true}\n')
    subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PACKAGES],
                   cwd=DIRECTORY, check=True, stdout=sys.stderr)


def browse(url, shown):
    """The page as it is after its scripts ran. A browser that writes it before that, or ends, is asked again."""
    for _ in range(3):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            page = subprocess.run(
                ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--allow-file-access-from-files", f"--user-data-dir={home}", "--window-size=1200,800",
                 "--virtual-time-budget=20000", "--dump-dom", url],
                capture_output=True, text=True, timeout=240).stdout
        if shown in page:
            break
    return page


def file_url(path):
    return "file://" + os.path.abspath(path)


def folded(path):
    with open(path) as file:
        lines = [line.rsplit(" ", 1) for line in file.read().splitlines()]
    return {stack: int(count) for stack, count in lines}


def pprof(tap, made):
    def tool(*options):
        return subprocess.run(["go", "tool", "pprof", *options, made["pprof"]], capture_output=True,
                              text=True, timeout=240, env={**os.environ, "PPROF_TMPDIR": DIRECTORY}).stdout
    top = tool("-top", "-nodecount=100", "-sample_index=samples")
    tap.check(re.search(r"auditor$", top, re.M) and re.search(r"^File: demo$", top, re.M),
              "pprof: functions and the program", top)
    running = tool("-top", "-tagfocus=state=on_cpu")
    tap.check("auditor" in running and "query_database" not in running, "pprof: samples by state", running)
    worker = tool("-top", "-tagfocus=thread=worker")
    tap.check("auditor" not in worker and "query_database" in worker, "pprof: samples by thread", worker)
    raw = tool("-raw")
    build_id = re.search(r"Build ID: ([0-9a-f]{40})", subprocess.run(
        ["readelf", "-n", made["program"]], capture_output=True, text=True).stdout).group(1)
    tap.check(f"{made['program']} {build_id}" in raw, "pprof: mappings have build-ids", raw)
    with open(made["json"]) as file:
        total = sum(s["count"] for s in json.load(file)["samples"])
    tap.check(total > 0 and re.search(r"^samples/count(\[dflt\])? wall/nanoseconds$", raw, re.M),
              "pprof: types of samples", raw)


def pull(tap, _):
    """The tool fetches a profile from the gate, of a program that knows nothing of pprof."""
    with Target("busy") as target, Daemon(rules={"p.conf": f"[pull one]\nTarget=pid:{target.pid}\n"}) as daemon, \
            Gate(daemon) as gate:
        def fetch(what):
            return subprocess.run(
                ["go", "tool", "pprof", "-top", "-lines", "-nodecount=100",
                 f"http://any:{TOKEN}@127.0.0.1:{gate.port}/debug/pprof/{what}"],
                capture_output=True, text=True, timeout=240, env={**os.environ, "PPROF_TMPDIR": DIRECTORY})
        run = fetch("profile?target=one&seconds=3&rate=50&mode=wall")
        lines = set(map(int, re.findall(r"fib .*busy\.c:(\d+)", run.stdout)))
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "targets", "busy.c")) as file:
            begin = next(i for i, line in enumerate(file, 1) if "int fib(" in line)
        tap.check(re.search(r"^File: busy$", run.stdout, re.M) and lines and lines <= set(range(begin, begin + 4)),
                  "pprof: a profile by HTTP: functions and lines", run.stdout + run.stderr)
        run = fetch("goroutine?target=one")
        tap.check("Type: threads" in run.stdout and re.search(r"Showing nodes accounting for 4, 100% of 4 total", run.stdout),
                  "pprof: threads at each stack by HTTP", run.stdout + run.stderr)


def speedscope(tap, made):
    with open(made["speedscope"], "rb") as file:
        data = base64.b64encode(file.read()).decode()
    script = os.path.join(os.path.dirname(made["speedscope"]), "profile.js")
    with open(script, "w") as file:
        file.write(f"speedscope.loadFileFromBase64('made.json', '{data}')")
    release = package("speedscope", "dist", "release")
    page = browse(f"{file_url(os.path.join(release, 'index.html'))}#localProfilePath={script}", "on CPU")
    tap.check("on CPU" in page and "Something went wrong" not in page,
              "speedscope: its importer shows the first profile", page[-3000:])
    with open(made["speedscope"]) as file:
        profile = json.load(file)
    counts = folded(made["folded"])
    names = [p["name"] for p in profile["profiles"]]
    tap.check(names[:2] == ["on CPU", "all threads"] and "worker" in names and counts,
              "speedscope: a profile for each group of threads", names)
    for p in profile["profiles"]:
        if len(p["samples"]) != len(p["weights"]) or sum(p["weights"]) != p["endValue"] or any(
                frame >= len(profile["shared"]["frames"]) for s in p["samples"] for frame in s):
            tap.check(False, "speedscope: consistent", p)


def firefox(tap, made):
    sessions = tempfile.mkdtemp(dir=DIRECTORY)
    program = package("@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js")
    env = {**os.environ, "PROFILER_CLI_SESSION_DIR": sessions, "HOME": sessions}

    def ask(*words):
        return subprocess.run(["node", program, *words], capture_output=True, text=True, timeout=240,
                              env=env)
    ask("load", made["firefox"])  # its answer is that it is not ready, on a busy machine
    try:
        info = wait_until(lambda: (r := ask("profile", "info", "--all")).returncode == 0 and r.stdout,
                          "the Firefox Profiler's command to be ready", 120)
        tap.check(re.search(r"t-\d+: auditor \[tid \d+\]", info) and "7 threads" in info,
                  "Firefox Profiler: the threads", info)
        thread = re.search(r"(t-\d+): auditor", info).group(1)
        samples = ask("thread", "samples", "--thread", thread, "--include-idle").stdout
        tap.check(re.search(r"f-\d+\. demo!auditor - total: \d+", samples), "Firefox Profiler: the functions of a thread",
                  samples)
        thread = re.search(r"(t-\d+): listener", info).group(1)
        samples = ask("thread", "samples", "--thread", thread, "--include-idle").stdout
        tap.check("[idle: accept]" in samples and "Idle" in samples, "Firefox Profiler: a thread that is idle",
                  samples)
    finally:
        ask("stop")


def otlp(tap, made):
    with open(made["otlp"], "rb") as file:
        run = subprocess.run(
            ["protoc", "-I", PROTO, "--decode=opentelemetry.proto.profiles.v1development.ProfilesData",
             "opentelemetry/proto/profiles/v1development/profiles.proto"],
            stdin=file, capture_output=True, text=True, timeout=120)
    text = run.stdout
    tap.check(run.returncode == 0 and re.search(r'string_table: "auditor"', text), "OTLP: protoc reads it",
              run.stderr + text[:2000])
    # A field that the definition does not have would be a number.
    tap.equal(re.findall(r"^\s*\d+: .*", text, re.M), [], "OTLP: no unknown fields")
    dictionary = text[text.index("\ndictionary {"):]
    first = {table: re.search(rf"^  {table}(?:: | \{{)(.*)\n(.*)", dictionary, re.M).groups() for table in
             ("mapping_table", "location_table", "function_table", "string_table", "attribute_table", "stack_table")}
    empty = all(a in ("", '""') and (table == "string_table" or b.strip() == "}")
                for table, (a, b) in first.items())
    tap.check(empty, "OTLP: the first of each table is empty", first)
    tables = {table: len(re.findall(rf"^  {table}(?::| \{{)", dictionary, re.M)) for table in first}
    stacks = [int(n) for n in re.findall(r"stack_index: (\d+)", text)]
    places = [int(n) for n in re.findall(r"location_indices: (\d+)", text)]
    attributes = [int(n) for n in re.findall(r"attribute_indices: (\d+)", text)]
    functions = [int(n) for n in re.findall(r"function_index: (\d+)", text)]
    tap.check(max(stacks) < tables["stack_table"] and 0 < max(places) < tables["location_table"]
              and max(attributes) < tables["attribute_table"] and max(functions) < tables["function_table"],
              "OTLP: indices are in their tables", tables)
    tap.check("process.executable.build_id.gnu" in text and "thread.name" in text and "service.name" in text,
              "OTLP: attributes of modules, threads and the process", "")


# The actions of a user of the page: they are put behind its own script, in the same browser.
ACTIONS = """<script>
const said = [];
const say = (what) => said.push(what);
const frames = () => [...document.querySelectorAll(".frame")];
const frame = (text) => frames().find((f) => f.textContent === text);
say("title " + document.title);
say("functions " + (document.querySelector("#functions tbody tr td:nth-child(3)") || {}).textContent);
say("running " + !!frame("auditor") + " " + !!frame("query_database"));
document.querySelectorAll("#states input").forEach((box) => { if (!box.checked) box.click(); });
say("all " + !!frame("auditor") + " " + !!frame("query_database"));
const before = frame("auditor").getBoundingClientRect().width;
frame("auditor").click();
const after = frame("auditor").getBoundingClientRect().width;
say("click " + (after > 1.5 * before) + " " + document.getElementById("path").textContent.endsWith("auditor"));
document.getElementById("reset").click();
const box = document.getElementById("search");
box.value = "QUERY_data";
box.dispatchEvent(new Event("input"));
say("search " + frames().filter((f) => f.classList.contains("found")).map((f) => f.textContent).join() + " "
	+ document.getElementById("found").textContent);
const low = frame("auditor").getBoundingClientRect().top;
document.getElementById("icicle").click();
say("icicle " + (frame("auditor").getBoundingClientRect().top !== low));
const by = document.getElementById("by");
by.value = "state";
by.onchange({ target: by });
say("by state " + !!frame("on CPU") + " " + !!frame("idle: accept"));
const threads = document.getElementById("threads");
threads.value = "worker";
threads.onchange({ target: threads });
say("by thread " + !!frame("query_database") + " " + !!frame("auditor"));
const dark = getComputedStyle(document.body).backgroundColor;
document.getElementById("theme").click();
say("theme " + (getComputedStyle(document.body).backgroundColor !== dark));
say("network " + performance.getEntriesByType("resource").length);
document.body.replaceChildren();
const out = document.createElement("pre");
out.id = "said";
out.textContent = said.join("\\n");
document.body.append(out);
</script></body>"""


def acted(path):
    """Returns what ACTIONS says of a page."""
    with open(path) as file:
        page = file.read()
    changed = path + ".acted.html"
    with open(changed, "w") as file:
        file.write(page.replace("</body>", ACTIONS))
    dom = browse(file_url(changed), '<pre id="said">')
    found = re.search(r'<pre id="said">(.*?)</pre>', dom, re.S)
    return dict(line.split(" ", 1) if not line.startswith("by ") else
                (" ".join(line.split(" ")[:2]), " ".join(line.split(" ")[2:]))
                for line in found.group(1).splitlines()) if found else {"page": dom[-3000:]}


def html(tap, made):
    said = acted(made["html"])
    tap.equal({name: said.get(name) for name in ("running", "all", "click", "icicle", "by state", "by thread",
                                                 "theme", "network")},
              {"running": "true false", "all": "true true", "click": "true true", "icicle": "true",
               "by state": "true true", "by thread": "true false", "theme": "true", "network": "0"},
              "page: click, icicle, by state, by thread, dark and light, without network")
    tap.check(said.get("functions") == "auditor" or "mix" in said.get("functions", ""), "page: the functions", said)
    tap.check(re.fullmatch(r"query_database \d+\.\d % found", said.get("search", "")), "page: search", said)
    dom = browse(file_url(made["difference"]), "compared with another profile")
    tap.check("compared with another profile" in dom and re.search(r"<th[^>]*>change</th>", dom),
              "page: differences", dom[-3000:])


def hostile_names(tap, made):
    """Names that would be markup, in a profile that is compared with: they are shown as text."""
    with open(made["json"]) as file:
        profile = json.load(file)
    for frame in profile["frames"]:
        frame["function"] = HOSTILE + "\x1b[2J"
    for thread in profile["threads"]:
        thread["name"] = HOSTILE
    old = made["json"] + ".hostile"
    with open(old, "w") as file:
        json.dump(profile, file)
    with Target("demo") as target:
        page = old + ".html"
        result = snapwalk("sample", target.pid, "--duration", 1, *PATIENT, "--format", "html", "--diff", old,
                          "-o", page)
        tap.check(result.returncode in (0, 3), "hostile names: read", result)
    dom = browse(file_url(page), "&lt;/script&gt;&lt;script&gt;")
    title = re.search(r"<title>(.*?)</title>", dom).group(1)
    tap.check(title.startswith("demo, pid") and "&lt;/script&gt;&lt;script&gt;" in dom,
              "hostile names: shown as text", dom[-3000:])


def main():
    tap = Tap()
    install()
    with tempfile.TemporaryDirectory() as place:
        with Target("demo") as target:
            made = {name: os.path.join(place, f"made.{name}") for name in FORMATS}
            made["program"] = os.readlink(f"/proc/{target.pid}/exe")
            for name in FORMATS:
                def sampled():
                    result = snapwalk("sample", target.pid, "--duration", 2 if name == "html" else 1, *PATIENT,
                                      "--format", name, "-o", made[name])
                    running = re.search(r"on a CPU ([\d.]+) threads", result.stderr)
                    return result if float(running.group(1)) > 0 else None
                result = wait_until(sampled, "samples in which a thread was on a CPU", 120)
                tap.check(result.returncode in (0, 3) and os.path.getsize(made[name]) > 0, f"made: {name}", result)
            for wanted in ("html", "firefox"):  # the browser and the Profiler look at endings
                os.rename(made[wanted], made[wanted] + (".json" if wanted == "firefox" else ".html"))
                made[wanted] += ".json" if wanted == "firefox" else ".html"
            made["difference"] = os.path.join(place, "difference.html")
            snapwalk("sample", target.pid, "--duration", 1, *PATIENT, "--format", "html", "--diff", made["json"],
                     "-o", made["difference"])
        for function in (pprof, pull, speedscope, firefox, otlp, html, hostile_names):
            tap.guard(function, made)
    tap.done()


if __name__ == "__main__":
    main()
