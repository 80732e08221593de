#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""What the product can print is in the manual pages, and what they show can be done.

The words come from the tables in the source that the program prints them from, so that a new one
without a line in its page fails here. (Options: test_cli.py.)
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from harness import Tap, Target, patient_dump, snapwalk  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


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


def test_library(tap):
    """What libwalk(3) calls a function or a member is in a public header."""
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
    formats = re.search(r'define SW_PROFILE_FORMATS "([^"]+)"', read("cli/common/option_output.h")).group(1)
    documented(tap, "snapwalk.1", formats.split("|"), "formats of profiles", r"\.Ss Profiles", r"\.Sh OPTIONS")


def test_types_of_the_socket(tap):
    """What the interface has of a dump is what the schema says, with the same fields, and may be absent or null there."""
    schema = json.loads(read("protocol/snapwalk-dump.schema.json"))["properties"]
    interface = read("protocol/io.snapwalk.varlink")
    for name, part in (("Process", "process"), ("Timings", "timings")):
        body = re.search(rf"^type {name} \((.*?)^\)", interface, re.M | re.S).group(1)
        got = {field: optional for field, optional in re.findall(r"^  (\w+): (\??)", body, re.M)}
        properties, required = schema[part]["properties"], schema[part]["required"]
        tap.equal(sorted(set(properties) - set(got) - {"crash"}), [], f"{name}: it has each field")
        null = [field for field in got if field not in required or properties[field].get("$ref", "").endswith("_or_null")]
        tap.equal([field for field in null if not got[field]], [], f"{name}: what may be absent or null is marked so")


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
    """Each program for jq in the README and the pages, over a dump."""
    if shutil.which("jq") is None:
        tap.skip("programs for jq", "jq is not installed", "package jq")
        return
    text = "\n".join(read(name) for name in ["README.md", "man/snapwalk.1", "man/snapwalk-dump.5"])
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


def main():
    tap = Tap()
    for test in (test_errors, test_library, test_words_of_the_dump, test_types_of_the_socket, test_commands,
                 test_journal, test_configuration, test_jq, test_ids):
        tap.guard(test)
    tap.done()


main()
