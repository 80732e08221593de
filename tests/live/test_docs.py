#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 70s
"""The words that the product can print are in the manual pages, and what the pages show can be done.

The words come from the tables in the source that the program prints them from, so that a new one
without a line in its page fails here. (Options: test_cli.py.)
"""
import http.server
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from daemon import Daemon  # noqa: E402
from harness import SNAPWALK, Tap, Target, gcore, hangs_s, iterator_refused, patient_dump, snapwalk, wait_until  # noqa: E402
from marked import marked, put_marked  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


# For those who read them on the web, or beside the package.
PAGES = ["README.md", *sorted(f"docs/{name}" for name in os.listdir(os.path.join(ROOT, "docs")) if name.endswith(".md"))]


# A minidump and its image, for the examples of minidumps.
MINIDUMP = os.path.join(ROOT, "tests/fixtures/minidump")

# The manual pages of the command, and of its commands.
MANUAL = sorted(f"man/{name}" for name in os.listdir(os.path.join(ROOT, "man")) if re.fullmatch(r"snapwalk.*\.1", name))


def body_of(path, start):
    """The text of a function or table, from a line that begins so to its closing brace."""
    text = read(path)
    begin = text.index(start)
    return text[begin:text.index("\n}", begin)]


def page(name):
    """A manual page as words: without macros and escapes that stand between them."""
    text = read(f"man/{name}")
    return re.sub(r"\\&|\\-", lambda m: "-" if m.group() == r"\-" else "", text)


def documented(tap, name, words, what, begin="", end=r"\Z"):
    """Each word is in the page, or in that part of it which the patterns begin and end."""
    text = re.search(f"{begin}.*?{end}", page(name), re.S).group()
    words = sorted(set(words))
    tap.check(len(words) > 2, f"{what}: there are some", words)
    missing = [word for word in words
               if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text)]
    tap.equal(missing, [], f"{what}: each is in {name}")


def fields_of(schema):
    """Names of all properties, at any depth."""
    if isinstance(schema, list):
        return [field for element in schema for field in fields_of(element)]
    if not isinstance(schema, dict):
        return []
    return list(schema.get("properties", {})) + fields_of(list(schema.values()))


def test_errors(tap):
    codes = re.findall(r'^SW_ERROR\((\w+), \d+, "(\w+)"', read("libwalk/include/snapwalk/error_codes.def"),
                       re.M)
    documented(tap, "libwalk.3", [f"SW_E_{name}" for name, _ in codes], "error codes")
    documented(tap, "libwalk.3", [wire for _, wire in codes], "names of errors")
    errors = re.findall(r"^error (\w+)", read("protocol/io.snapwalk.varlink"), re.M)
    documented(tap, "io.snapwalk.7", errors, "errors of the socket")
    methods = re.findall(r"^method (\w+)", read("protocol/io.snapwalk.varlink"), re.M)
    documented(tap, "io.snapwalk.7", methods, "methods of the socket")


def arguments_of(text, begin):
    """The arguments of a call in C, of which the first one begins there."""
    found, depth = [""], 0
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|.', text[begin:], re.S):
        depth += (token in "([{") - (token in ")]}")
        if depth < 0:
            return [argument.strip() for argument in found]
        if token == "," and depth == 0:
            found.append("")
        else:
            found[-1] += token
    return []


def test_codes(tap):
    """The code of each complaint is in the list that snapwalk(1) has, or in one of those that it names."""
    sources = {os.path.join(where, name): read(os.path.join(where, name))
               for where, _, names in os.walk(os.path.join(ROOT, "cli")) for name in names if name.endswith(".c")}
    codes = set(re.findall(r'^\t\{interface, "\w+", 0, "(\w+)"', read("cli/daemon/complaint.c"), re.M))
    codes |= set(re.findall(r'\.code = "(\w+)"', read("cli/daemon/complaint.c")))
    for source in sources.values():
        for call in re.finditer(r"\bsw_complain(_line|_for)?\(", source):
            codes |= set(re.findall(r'"(\w+)"', arguments_of(source, call.end())[3 if call.group(1) == "_line" else 2]))
    tap.check({"lost", "interrupted", "busy", "daemon", "limit", "usage"} <= codes, "codes of complaints: they are found",
              sorted(codes))
    listed = page("snapwalk.1").partition(".Sh DIAGNOSTICS")[2].partition(".Sh ")[0]
    listed += page("libwalk.3").partition(".Sh ERRORS")[2].partition(".Sh ")[0]
    tap.equal([code for code in sorted(codes) if not re.search(rf"(?<![\w-]){code}(?![\w-])", listed)], [],
              "codes of complaints: each is in DIAGNOSTICS of snapwalk(1) or in ERRORS of libwalk(3)")
    literal = [name for name, source in sources.items() for call in re.finditer(r"\bsw_complain\(", source)
               if re.search(r'"[^"]', arguments_of(source, call.end())[3])]
    tap.equal(literal, [], "remedies of complaints: they are those of cli/common/remedy.c")
    # advise() has words of the moment: a path, a number, a name.
    advice = [(name, arguments_of(source, call.end())) for name, source in sources.items()
              for call in re.finditer(r"^\t+advise\(", source, re.M)]
    tap.check(len(advice) > 5, "advice with words of the moment is found", advice)
    tap.equal([(name, words) for name, words in advice if "%" not in words[1]], [], "advice without such words: there is none")
    # The parser of a command line says what it should have been, as nobody else knows that. All else has a cause.
    usage = [arguments_of(source, call.end())[1] for source in sources.values()
             for call in re.finditer(r"(?<!bool )\bsw_usage_fail\(", source)]
    tap.check(len(usage) > 100, "advice about a command line is found", len(usage))
    tap.equal([text for text in usage if re.search(r'"[^"]*(?:memory|try again|journal|root)', text)
               and not text.startswith("sw_remedy(")], [],
              "advice about a command line: it is about what was written there")
    said = {code for source in sources.values() for code in re.findall(r'\bsw_say(?:_\w+)?\(\s*[^,]+,\s*"(\w+)"', source)}
    listed = page("snapwalk-sample.1")
    tap.check("samples_lost" in said, "codes of what a sample says: they are found", sorted(said))
    tap.equal([code for code in sorted(said) if not re.search(rf"(?<![\w-]){code}(?![\w-])", listed)], [],
              "codes of what a sample says: each is in snapwalk-sample(1)")


def test_library(tap):
    """Each function and member that libwalk(3) names is in a public header."""
    folders = [f"{part}/include/snapwalk" for part in ("libwalk", "symbolizer", "protocol")]
    headers = "\n".join(read(f"{folder}/{name}") for folder in folders
                        for name in os.listdir(os.path.join(ROOT, folder)))
    text = read("man/libwalk.3")
    functions = set(re.findall(r"\bFn (sw_\w+)", text))
    tap.check(len(functions) > 10, "functions: there are some", functions)
    tap.equal([name for name in sorted(functions) if f"{name}(" not in headers], [],
              "functions: each is in a header")
    members = set(re.findall(r"\bVa (\w+)", text)) - {"errno"}
    tap.check("runtimes" in members, "members: there are some", members)
    tap.equal([name for name in sorted(members) if not re.search(rf"\W{name}(?:;|\)\()", headers)], [],
              "members: each is in a header")


def test_words_of_the_dump(tap):
    strings = r'"([\w-]+)"'
    schema = read("protocol/snapwalk-dump.schema.json")
    for what, path, start in (
            ("warnings", "libwalk/snapshot/snapshot.c", "const char *sw_warning_name("),
            ("trust", "libwalk/walk/names.c", "const char *sw_trust_name("),
            ("ends of stacks", "libwalk/walk/names.c", "const char *sw_end_name("),
            ("formats of modules", "libwalk/walk/names.c", "const char *sw_module_kind_name("),
            ("sources of names", "symbolizer/symbolizer.c", "const char *sw_symbol_source_name(")):
        words = set(re.findall(strings, body_of(path, start))) - {"unknown"}
        documented(tap, "snapwalk-dump.5", words, what)
        tap.equal([word for word in sorted(words) if f'"{word}"' not in schema], [],
                  f"{what}: each is in the schema")
    sources = {name: read(os.path.join(where, name))
               for where, _, names in os.walk(os.path.join(ROOT, "libwalk"))
               for name in names if name.endswith(".c")}
    known = re.findall(r'^\t\{"[^"]+", "(\w+)", [A-Z]+, [A-Z]+\}', sources["known_files.c"], re.M)
    found = [word for text in sources.values()
             for word in re.findall(r'\(struct sw_runtime\)\{\.name = "([\w-]+)"', text)]
    documented(tap, "snapwalk-dump.5", known + found, "runtimes and registries",
               r"It Va runtimes", r"\.Ss timings")
    schema = json.loads(schema)
    documented(tap, "snapwalk-dump.5", fields_of(schema), "fields of the dump")
    schema = json.loads(read("protocol/snapwalk-profile.schema.json"))
    documented(tap, "snapwalk-profile.5", fields_of(schema), "fields of a profile")
    schema = json.loads(read("protocol/snapwalk-merge.schema.json"))
    documented(tap, "snapwalk-merge.1", fields_of(schema), "fields of a merge", r"\.Sh JSON")
    formats = re.search(r'define SW_PROFILE_FORMATS "([^"]+)"', read("cli/common/option_output.h")).group(1)
    documented(tap, "snapwalk-sample.1", formats.split("|"), "formats of profiles", r"\.Sh FORMATS", r"\.Sh OPTIONS")


def test_json_of_commands(tap):
    """The members that commands print with --json are in their pages."""
    for command, paths in (("top", ["cli/top/view.c"]), ("doctor", ["cli/commands/doctor.c", "cli/doctor/verdict.c"]),
                           ("verify", ["cli/commands/verify.c"]), ("delete", ["cli/commands/delete.c"]),
                           ("pin", ["cli/commands/pin.c"]),
                           ("explain", ["cli/commands/explain.c", "protocol/report/json/lock.c"])):
        source = "".join(read(path) for path in paths)
        members = re.findall(r'\\"(\w+)\\":|\b(?:sw_json_text_member|json_line|json_frame|append_known)\([^,]+, "(\w+)"', source)
        members = {first or second for first, second in members} | set(re.findall(r"snapwalk\.\w+/1", source))
        members |= {word for call in re.findall(r"sw_kept_say\(.*?\);", source, re.S) for word in re.findall(r'"(\w+)"', call)}
        text = page(f"snapwalk-{command}.1").partition(".Sh JSON")[2].partition(".Sh ")[0]
        tap.check(members, f"snapwalk-{command}(1): it has members", source)
        tap.equal([word for word in sorted(members) if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)], [],
                  f"snapwalk-{command}(1): its JSON has every member")
    shown = re.search(r"^\.Dl (\{.*\})$", read("man/snapwalk.1").partition(".Sh DIAGNOSTICS")[2], re.M)
    shown = json.loads(shown.group(1).replace("\\(dq", '"')) if shown else {}
    members = set(re.findall(r'\\"(\w+)\\":', read("cli/common/complain.c"))) | set(
        re.findall(r'sw_json_text_member\(&line, "(\w+)"', read("cli/common/complain.c")))
    tap.equal((sorted(shown), len(members)), (sorted(members), 4), "snapwalk(1): an error as JSON has the members that it is given")


def test_remedies(tap):
    """The page to which a remedy sends its reader has what is looked for there: an option, or a section."""
    named = re.findall(r"see ([\w-]+) in snapwalk(-\w+)?\(1\)", re.sub(r'"\n\s*"', "", read("cli/common/remedy.c")))
    tap.check(len(named) > 2, "remedies that name a page", named)
    for word, name in named:
        heading = f".It Fl Fl {word[2:]}" if word.startswith("--") else f".Sh {word}"
        tap.check(re.search(rf"^{re.escape(heading)}\b", read(f"man/snapwalk{name}.1"), re.M),
                  f"snapwalk{name}(1) has {word}")
    bare = [line for line in re.findall(r'"(.*)"', read("cli/common/remedy.c")) if re.search(r"see snapwalk(?:-\w+)?\(1\)", line)]
    tap.equal(bare, [], "a remedy says where in a page")


def test_types_of_the_socket(tap):
    """The types of a dump in the interface are those of the schema, with the same fields, and may be absent or null
    there."""
    schema = json.loads(read("protocol/snapwalk-dump.schema.json"))["properties"]
    interface = read("protocol/io.snapwalk.varlink")
    for name, part in (("Process", "process"), ("Timings", "timings")):
        body = re.search(rf"^type {name} \((.*?)^\)", interface, re.M | re.S).group(1)
        got = {field: optional for field, optional in re.findall(r"^  (\w+): (\??)", body, re.M)}
        properties, required = schema[part]["properties"], schema[part]["required"]
        tap.equal(sorted(set(properties) - set(got) - {"crash"}), [], f"{name}: the type has each field")
        null = [field for field in got if field not in required or properties[field].get("$ref", "").endswith("_or_null")]
        tap.equal([field for field in null if not got[field]], [], f"{name}: fields that may be absent or null are marked so")


def test_commands(tap):
    commands = re.findall(r"^  ([a-z]+) ", snapwalk("--help").stdout, re.M)
    documented(tap, "snapwalk.1", commands, "commands")
    readme = read("README.md")
    tap.equal([c for c in commands if not re.search(rf"`(?:snapwalk )?{c}\b", readme)], [],
              "commands: each is in the README")


def test_journal(tap):
    ids = re.findall(r'^#define ID_\w+ +"(\w+)"', read("daemon/config/journal.c"), re.M)
    fields = re.findall(r'"(SNAPWALK_[A-Z_]+)=', read("daemon/config/journal.c"))
    documented(tap, "snapwalkd.8", ids + fields, "journal")


def test_configuration(tap):
    keys = re.findall(r'KEY(?:_\w+)?\("(\w+)"', read("daemon/config/settings.c"))
    documented(tap, "snapwalk.conf.5", keys, "keys of snapwalk.conf")
    sample = re.findall(r"^#?(\w+)=", read("daemon/units/snapwalk.conf"), re.M)
    tap.equal(sorted(set(keys) - set(sample)), [], "keys: each is in the configuration installed")
    tap.equal(sorted(set(sample) - set(keys)), [], "keys: the configuration installed has no others")


def test_jq(tap):
    """Each program for jq in the README, docs/ and the manual pages, over a dump."""
    if shutil.which("jq") is None:
        tap.skip("programs for jq", "jq is not installed", "package jq")
        return
    text = "\n".join(read(name) for name in [*PAGES, *MANUAL, "man/snapwalk-dump.5"])
    programs = set(re.findall(r"jq (?:-\w+ )?'([^'\n]+)'", text.replace("\\e", "\\")))
    tap.check(len(programs) >= 5, "programs for jq: there are some", programs)
    with Target("threads", "2") as target:
        text = json.dumps(patient_dump(target.pid))
    for program in sorted(programs):
        result = subprocess.run(["jq", program], input=text, capture_output=True, text=True,
                                timeout=60)
        tap.equal((result.returncode, result.stderr), (0, ""), f"jq '{program}'")


def test_ids(tap):
    """Ids of dumps that the pages show are of the form that dumps have."""
    form = r"\d{8}T\d{6}\.\d{6}-\d+-[0-9a-f]{8}"
    with Target("threads", "2") as target:
        tap.check(re.fullmatch(form, patient_dump(target.pid)["id"]), "the id of a dump")
    shown = [word for name in sorted(os.listdir(os.path.join(ROOT, "man")))
             for word in re.findall(r"\b\d{8}T\d{6}[\w.-]+", read(f"man/{name}"))]
    tap.check(len(shown) >= 2, "ids in the pages: there are some", shown)
    tap.equal([word for word in shown if not re.fullmatch(form, word)], [], "ids in the pages")


def anchors(text):
    """The names by which links reach the headings of a page: as GitHub and GitLab make them."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)}


def test_readme(tap):
    """The README fits on one screen; longer texts are in docs/, which it names."""
    text = read("README.md")
    tap.check(text.count("\n") <= 150, "README: at most 150 lines", text.count("\n"))
    tap.check(len(text.encode()) <= 8192, "README: at most 8 KB", len(text.encode()))
    tap.equal([page for page in PAGES[1:] if f"({page})" not in text], [], "README: it names each page of docs/")


def test_pictures(tap):
    """The pictures of the README are SVG that a browser shows as an image: one document, which loads and executes nothing."""
    names = re.findall(r"!\[[^]]+\]\((\S+\.svg)\)", read("README.md"))
    tap.equal(len(names), 2, f"pictures: two of {names}")
    for name in names:
        tree = xml.etree.ElementTree.fromstring(read(name).encode())
        tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
        tap.equal(tags - {"svg", "g", "rect", "text", "tspan", "title", "style", "circle"}, set(), f"{name}: the picture's elements")
        text = "".join(tree.itertext())
        tap.check("tmp" not in text and len(text) > 500, f"{name}: names, none of them of who made it", text)


def test_links(tap):
    links = [(page, link) for page in [*PAGES, "CONTRIBUTING.md", "HACKING.md", "SECURITY.md"]
             for link in re.findall(r"\]\(([^)\s]+)\)", read(page)) if "://" not in link]
    tap.check(len(links) > 15, "links: there are some", links)
    lost = []
    for page, link in links:
        path, _, anchor = link.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(os.path.join(ROOT, path)) or anchor and anchor not in anchors(read(path)):
            lost.append((page, link))
    tap.equal(lost, [], "links: each leads somewhere")


def test_generated(tap):
    """The tables that programs make have their place, where the programs put them."""
    for page, name, heading in (("docs/performance.md", "bench", "| work "),
                                ("docs/invisibility.md", "invisibility", "| blocked in ")):
        table = marked(read(page), name)
        tap.check(heading in table and table.count("\n") > 10, f"{page}: the {name} table", table)
        with tempfile.TemporaryDirectory() as directory:
            copy = shutil.copy(os.path.join(ROOT, page), directory)
            put_marked(copy, name, "| new |")
            with open(copy, encoding="utf-8") as file:
                tap.equal(file.read(), read(page).replace(table, "| new |"), f"{page}: a new {name} table, nothing else")


def commands_of(text):
    """The commands in blocks of code, without prompts, comments and what was printed."""
    for block in re.findall(r"^```\n(.*?)^```", text, re.M | re.S):
        if "\n$ " in f"\n{block}":
            block = "\n".join(line[2:] for line in block.split("\n") if line.startswith("$ "))
        yield from (re.sub(r"\s+# .*", "", line) for line in block.split("\n"))


def examples_of(path):
    """The commands that a manual page shows."""
    return re.findall(r"^\.Dl (?:#|\$) (.*)", page(path.removeprefix("man/")), re.M)


def test_options(tap):
    """Each command is known, and has the options that it is shown with."""
    text = "\n".join(line for name in PAGES for line in commands_of(read(name)) if not re.match("podman|helm|\t", line))
    manual = [line for name in MANUAL for line in examples_of(name)]
    shown = re.findall(r"(?<![\w/.-])snapwalk ([a-z0-9A-Z-][^|;&\n\\]*)", "\n".join([text, *manual]))
    tap.check(len(shown) >= 30, "commands that are shown: there are some", shown)
    commands = re.findall(r"^  ([a-z]+) ", snapwalk("--help").stdout, re.M)
    options = {command: set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", snapwalk("help", command).stdout))
               for command in commands}
    unknown = []
    for line in shown:
        words = line.partition(" -- ")[0].split()
        command = words[0] if words[0] in commands else "dump"
        if re.match("[a-z]", words[0]) and words[0] != command:
            unknown.append(line)
        unknown += [line for word in words[1:] if re.match("--?[a-z]", word) and word not in options[command]]
    tap.equal(unknown, [], "commands that are shown: each is known, with its options")


# The replacements for words that cannot be as they stand on the machine of a test, or would take long.
INSTEAD = (("sudo ", ""), (r"--exe \./server", "--exe {exe}"), ("0x7f1c5a2e8d43", "{pc}"), ("0x55923d228100", "{lock}"), ("-- make -n", "-- sleep 1"),
           (r"\b(PID|(?<!-)4242(?!-))\b", "{pid}"), ("--unit nginx", "{pid}"), (r"(-d|--duration) 10\b", r"\1 1"),
           ("top {pid}(?!.*--count)", "top {pid} --count 1"),
           ("top {pid}", "top {pid} --max-stop 5000"),  # a busy machine may not stop a thread within 100 ms
           (r"(snapwalk (?:on|leaks) (?!.* -- ).*?)( -d \w+)?$", r"\1 -d 1"), (r"--of ('[^']+'|\S+:\S+|sqlite3)", "--of libc:opendir/closedir"), ("--count 3", "--count 2"), ("sleep 10", "sleep 0"),
           (r"\b\d{8}T[\w.]+-4242-\w+", "latest"), ("'reserve\\|commit'", "."), (r"\./server.*", "sleep 1"),
           (r"func:lib\w+:\w+", "func:libc:malloc"),
           (r"usdt:lib\w+:\w+", "usdt:"))
NOT_RUN = ("snapwalk watch",  # has no end: test_daemon_clients.py
           "snapwalkd", "snapwalk.conf", "podman", "kubectl", "helm", "make deb", "systemctl",
           "snapwalk 5822")  # need what is not there


def run_line(line, directory, words, **environment):
    for pattern, other in INSTEAD:
        line = re.sub(pattern, other, line)
    for name, word in words.items():
        line = line.replace("{%s}" % name, word)
    path = f"{os.path.dirname(SNAPWALK)}:{directory}:{os.environ['PATH']}"
    return subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=directory,
                          env={**os.environ, "PATH": path, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=hangs_s())


def prepare(directory, pid):
    """Files that examples take, and the words in place of numbers that differ from run to run."""
    dumps = ("rank-0.json", "rank-1.json", "before.json", "today.json")
    for name in dumps:
        subprocess.run([SNAPWALK, "dump", "--json", "-o", os.path.join(directory, name), str(pid)], check=True)
    gcore(pid, os.path.join(directory, f"core.{pid}"))
    with open(os.path.join(directory, "flamegraph.pl"), "w") as file:
        file.write("#!/bin/sh\ngrep -E '^[^ ].* [0-9]+$'\n")
    os.chmod(os.path.join(directory, "flamegraph.pl"), 0o755)
    os.mkdir(os.path.join(directory, "images"))
    for name, place in (("crash.dmp", directory), ("wine_minidump.exe", os.path.join(directory, "images"))):
        with lzma.open(os.path.join(MINIDUMP, f"{name}.xz")) as file, open(os.path.join(place, name), "wb") as to:
            shutil.copyfileobj(file, to)
    with open(os.path.join(directory, dumps[-1])) as file:
        dump = json.load(file)
    waits = [thread.get("blocked_on") or {} for thread in dump["threads"]]
    return {"pid": str(pid), "exe": os.path.realpath(f"/proc/{pid}/exe"), "pc": dump["stacks"][0]["frames"][0]["pc"], "lock": next(wait["address"] for wait in waits if wait.get("kind") == "mutex")}


def prepare_yesterday(directory, pid, line):
    """A profile for sample, for diff a dump."""
    words = ["sample", "-d", "1", "-f", "json"] if " sample " in line else ["dump", "--json"]
    subprocess.run([SNAPWALK, *words, "-o", os.path.join(directory, "yesterday.json"), str(pid)], stderr=subprocess.DEVNULL)


def test_recipes(tap):
    """The commands of the README, docs/ and the EXAMPLES of manual pages, as they stand there."""
    lines = [line for page in PAGES for line in commands_of(read(page)) if "snapwalk " in line and not re.match("\t", line)]
    lines += [line for name in MANUAL for line in examples_of(name)]
    lines = [line for line in dict.fromkeys(lines) if not any(word in line for word in NOT_RUN)]
    tap.check(len(lines) >= 30, "recipes: there are some", lines)
    if shutil.which("jq") is None:
        tap.skip("recipes", "jq is not installed", "package jq")
        return
    with tempfile.TemporaryDirectory() as directory, Daemon() as daemon, Target("service", 20, 10) as target:
        words = prepare(directory, target.pid)
        for line in lines:
            if "yesterday.json" in line:
                prepare_yesterday(directory, target.pid, line)
            if not os.listdir(daemon.call("Status")["directory"]) or "latest" in line or "-4242-" in line:
                daemon.client().call("Capture", target={"pid": target.pid}, options={"timeout_ms": 30000})
            if "setpriv" in line and os.geteuid() != 0:
                tap.skip(line, "only root has capabilities to give up", Tap.ROOT)
                continue
            done = run_line(line, directory, words, SNAPWALK_SOCKET=daemon.socket_path)
            allowed = (0, 3) if " sample " in line or "--burst" in line or "crash.dmp" in line else (0,)
            tap.check(done.returncode in allowed, f"the command works: {line}", (done.returncode, done.stdout, done.stderr))
            if "uniq -c" in line:
                threads = sum(int(row.split()[0]) for row in done.stdout.splitlines())
                tap.equal(threads, len(os.listdir(f"/proc/{target.pid}/task")), f"the command counts threads: {line}")
            if "setpriv" in line and not iterator_refused():
                tap.check(re.search(r", (nothing was stopped|\d+ of \d+ threads stopped for)", done.stdout),
                          f"it stops no thread that waits: {line}", done.stdout)
            for name in re.findall(r" -o ([^\s;]+)", line):
                tap.check(os.path.getsize(os.path.join(directory, name)) > 0, f"the command writes {name}")


class Store(http.server.BaseHTTPRequestHandler):
    """Takes PUT, as curl sends what comes through a pipe: in chunks."""

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        while self.headers.get("Transfer-Encoding") == "chunked" and (size := int(self.rfile.readline(), 16)):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.server.kept.append((self.path, body, self.headers.get("Authorization", "")))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


def test_uploader(tap):
    """The loop of docs/fleet.md and the script for S3, with a daemon and a store."""
    if missing := [tool for tool in ("curl", "jq") if shutil.which(tool) is None]:
        tap.skip("uploader", f"{missing[0]} is not installed", f"package {missing[0]}")
        return
    loop = re.search(r"^```\n(snapwalk watch.*?)^```", read("docs/fleet.md"), re.M | re.S).group(1)
    upload(tap, "the loop", lambda url: loop.replace("https://dumps.example", url))
    made = upload(tap, "for S3", lambda url: f"UPLOAD_URL={url}/stacks UPLOAD_REGION=eu-central-1 AWS_ACCESS_KEY_ID=KEY "
                  f"AWS_SECRET_ACCESS_KEY=SECRET {ROOT}/packaging/fleet/snapwalk-upload")
    tap.check(re.match(r"AWS4-HMAC-SHA256 Credential=KEY/\d{8}/eu-central-1/s3/aws4_request", made), "for S3: signed", made)


def upload(tap, what, script_of):
    """Runs a script that sends what a daemon captures, and returns the header with which it did."""
    store = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    store.kept = []
    threading.Thread(target=store.serve_forever, daemon=True).start()
    script = script_of(f"http://127.0.0.1:{store.server_port}")
    with Daemon() as daemon, Target("threads", "2") as target:
        path = f"{os.path.dirname(SNAPWALK)}:{os.environ['PATH']}"
        loop = subprocess.Popen(["sh", "-c", script], stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PATH": path, "SNAPWALK_SOCKET": daemon.socket_path})
        wait_until(lambda: daemon.status()["subscribers"] == 1, "the loop to subscribe")
        made = daemon.client().call("Capture", target={"pid": target.pid})["dump"]
        wait_until(lambda: store.kept or loop.poll() is not None, "the upload")
    loop.communicate(timeout=hangs_s())  # it ends with the daemon
    store.shutdown()
    tap.equal([path.split("/")[-1] for path, *_ in store.kept], [f"{made['id']}.json"], f"{what}: the dump, once")
    tap.equal([json.loads(body)["id"] for _, body, _ in store.kept], [made["id"]], f"{what}: as JSON")
    return store.kept[0][2] if store.kept else ""


def test_units(tap):
    """The service and the drop-in of packaging/fleet, as systemd reads them."""
    if shutil.which("systemd-analyze") is None:
        tap.skip("units of packaging/fleet", "systemd-analyze is not installed", "package systemd")
        return
    with tempfile.TemporaryDirectory() as directory:
        unit = read("packaging/fleet/snapwalk-upload.service").replace("/usr/local/bin/snapwalk-upload", "/bin/true")
        orders = "[Service]\nExecStart=/bin/true\n" + read("packaging/fleet/50-snapwalk.conf").replace("/usr/bin/snapwalk", "/bin/true")
        socket = read("daemon/units/snapwalkd.socket")
        for name, text in (("snapwalk-upload.service", unit), ("orders.service", orders), ("snapwalkd.socket", socket),
                           ("snapwalkd.service", "[Service]\nExecStart=/bin/true\n")):
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        for name in ("snapwalk-upload.service", "orders.service"):
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"./{name}"], cwd=directory, capture_output=True, text=True,
                                  env={**os.environ, "SYSTEMD_UNIT_PATH": f"{directory}:"}, timeout=60)
            said = [line for line in done.stderr.splitlines() if name in line]
            tap.equal((done.returncode, said), (0, []), f"packaging/fleet: systemd reads {name}")


if __name__ == "__main__":
    Tap.main(test_errors, test_codes, test_library, test_words_of_the_dump, test_json_of_commands, test_remedies, test_types_of_the_socket,
             test_commands, test_journal, test_configuration, test_jq, test_ids, test_readme, test_pictures, test_links,
             test_generated, test_options, test_recipes, test_uploader, test_units)
