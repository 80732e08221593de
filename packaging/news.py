#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""NEWS is made of fragments, so that two changes never meet in it: news/NUMBER.KIND.md has one entry, in one paragraph,
NUMBER is that of the issue (and -2, -3 behind it where it has more), KIND is new, changed, fixed or security.

    packaging/news.py check             each fragment has a right name and shape
    packaging/news.py show VERSION      the section of that version with the fragments in it
    packaging/news.py release VERSION   put that section into NEWS and remove the fragments
"""
import os
import re
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
KINDS = {"new": "New", "changed": "Changed", "fixed": "Fixed", "security": "Security"}
NAME = re.compile(r"(\d+)(?:-(\d+))?\.(\w+)\.md")
LONGEST = 300
WIDTH = 120


def fail(message):
    sys.exit(f"news: {message}")


def fragments(folder):
    """(kind, number, entry) of each fragment, in the order of their numbers."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name == "README.md":
            continue
        match = NAME.fullmatch(name)
        if match is None or match.group(3) not in KINDS:
            fail(f"{name}: is not NUMBER.KIND.md, with a KIND of {', '.join(KINDS)}")
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        entry = " ".join(text.split())
        if not entry or "\n\n" in text.strip() or entry.startswith(("-", "#", "*")):
            fail(f"{name}: is not one paragraph without a mark before it")
        if len(entry) > LONGEST:
            fail(f"{name}: has {len(entry)} characters, {LONGEST} are the most: details are for the manual pages")
        found.append((match.group(3), int(match.group(1)), int(match.group(2) or 1), entry))
    return sorted(found, key=lambda f: f[1:3])


def parse(text, version):
    """Returns the text before the section of that version, its entries by kind, and the text behind it."""
    match = re.search(rf"^{re.escape(version)}\n=+\n", text, re.M)
    if match is None:
        first = re.search(r"^[^\n]+\n=+\n", text, re.M)
        at = first.start() if first else len(text)
        return text[:at], {}, text[at:]
    behind = re.compile(r"^[^\n]+\n=+\n", re.M).search(text, match.end())
    end = behind.start() if behind else len(text)
    groups, kind = {}, None
    for block in re.split(r"\n(?=- |\n|\w+\n-+\n)", "\n" + text[match.end():end]):
        block = block.strip("\n")
        heading = re.fullmatch(r"(\w+)\n-+", block)
        if heading:
            kind = next((k for k, word in KINDS.items() if word == heading.group(1)), None)
        if heading and kind is None or not heading and block and (kind is None or not block.startswith("- ")):
            fail(f"NEWS, {version}: does not belong there: {block[:60]}")
        if block and not heading:
            groups.setdefault(kind, []).append(block)
    return text[:match.start()], groups, text[end:]


def section(version, groups):
    lines = [version, "=" * len(version), ""]
    for kind, word in KINDS.items():
        if groups.get(kind):
            lines += [word, "-" * len(word), "", *groups[kind], ""]
    return "\n".join(lines) + "\n"


def merged(text, version, found):
    before, groups, behind = parse(text, version)
    for kind, _, _, entry in found:
        groups.setdefault(kind, []).append(textwrap.fill(entry, WIDTH, initial_indent="- ", subsequent_indent="  ",
                                                         break_long_words=False, break_on_hyphens=False))
    return before, section(version, groups), behind


def main():
    folder, news = os.path.join(ROOT, "news"), os.path.join(ROOT, "NEWS")
    if len(sys.argv) < 2 or sys.argv[1] not in ("check", "show", "release") or \
            len(sys.argv) != (2 if sys.argv[1] == "check" else 3):
        fail("check, show VERSION or release VERSION")
    found = fragments(folder)
    if sys.argv[1] == "check":
        return
    with open(news, encoding="utf-8") as file:
        before, middle, behind = merged(file.read(), sys.argv[2], found)
    if sys.argv[1] == "show":
        print(middle, end="")
        return
    with open(news, "w", encoding="utf-8") as file:
        file.write(before + middle + behind)
    for name in os.listdir(folder):
        if name != "README.md":
            os.unlink(os.path.join(folder, name))


if __name__ == "__main__":
    main()
