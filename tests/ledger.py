#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ledger of rare failures: tests/ledger/NNNN-NAME.md, an entry each.

The first line of an entry is the pattern that finds the failure again:

    match: file ~ "runtime_jvm" and check ~ "stacks are complete" and why ~ "C1.*stub"

`file` is the test's file, `check` the name of the check that failed, `why` what it said. `~` searches for a regular
expression, `==` compares the whole text. Below it: what was seen, rate, cause (product, oracle or machine), state.
"""
import dataclasses
import os
import re
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ledger")
NAME = re.compile(r"^(\d{4})-[a-z0-9-]+\.md$")
TERM = re.compile(r'^(file|check|why) (~|==) "((?:[^"\\]|\\.)*)"$')
# Words of an entry that say what it is about; check() asks for them.
WANTED = ("Seen:", "Rate:", "Cause:", "State:")


@dataclasses.dataclass
class Rare:
    """A failure that did not come again in a new process."""
    file: str
    check: str
    why: str
    evidence: str = ""


@dataclasses.dataclass
class Entry:
    name: str
    terms: list  # (field, operator, text)

    def matches(self, rare):
        return all(re.search(text, getattr(rare, field)) if operator == "~" else
                   getattr(rare, field) == text for field, operator, text in self.terms)


def parse(name, text):
    """An entry by its text; ValueError says what is wrong with it."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("match: "):
        raise ValueError(f"{name}: the first line is not 'match: ...'")
    terms = []
    for part in lines[0].removeprefix("match: ").split(" and "):
        found = TERM.match(part.strip())
        if found is None:
            raise ValueError(f"{name}: not a condition: {part}")
        field, operator, value = found.groups()
        if operator == "~":
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"{name}: {value}: {error}") from error
        terms.append((field, operator, value))
    missing = [word for word in WANTED if not any(line.startswith(word) for line in lines)]
    if missing:
        raise ValueError(f"{name}: lacks {', '.join(missing)}")
    return Entry(name.removesuffix(".md"), terms)


def read(folder=FOLDER):
    """All entries, in the order of their numbers. ValueError for one that cannot be read."""
    entries, numbers = [], set()
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name == "README.md":
            continue
        found = NAME.match(name)
        if found is None or found.group(1) in numbers:
            raise ValueError(f"{name}: an entry is called NNNN-NAME.md, and a number is used once")
        numbers.add(found.group(1))
        with open(os.path.join(folder, name)) as file:
            entries.append(parse(name, file.read()))
    return entries


def known(entries, rare):
    """The first entry that matches; None when the failure is new."""
    return next((entry for entry in entries if entry.matches(rare)), None)


def draft(rare, folder):
    """Writes the beginning of a new entry; its path."""
    os.makedirs(folder, exist_ok=True)
    slug = re.sub(r"[^a-z0-9]+", "-", f"{rare.file.removesuffix('.py')} {rare.check}".lower()).strip("-")[:60]
    path = os.path.join(folder, f"NNNN-{slug}.md")
    # A pattern leaves numbers open, which differ from run to run.
    check = re.sub(r"\\?\d+", r"\\d+", re.escape(rare.check).replace('"', '\\"').replace("\\ ", " "))
    with open(path, "w") as file:
        file.write(f'match: file == "{rare.file}" and check ~ "^{check}$"\n\n'
                   f"# {rare.file}: {rare.check}\n\nSeen: {rare.why or 'nothing was said'}\n"
                   f"Evidence: {rare.evidence or 'none'}\nRate: unknown\nCause: unknown\nState: new\n")
    return path


if __name__ == "__main__":
    try:
        print(f"{len(read(*sys.argv[1:2]))} entries")
    except ValueError as problem:
        sys.exit(str(problem))
