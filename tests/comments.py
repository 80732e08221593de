#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Comments and docstrings whose line begins with a word that hides the subject: "Of the parent", "What is read", "It is".

    python3 tests/comments.py [FOLDER]    lists those lines; the status is 1 if there are more than MOST

A comment begins with its subject, then comes the verb, then the condition. MOST is lowered when lines are rewritten,
and never raised."""
import pathlib
import re
import subprocess
import sys

MOST = 0
SOURCES = re.compile(r"(\.(c|h|cc|py|sh|bash|mk|S|java|js|rb|php|go|cs|erl)|(^|/)Makefile)$")
# Recorded bytes and the programs that were recorded with them.
LEFT_OUT = "tests/fixtures/"
HIDDEN = re.compile(r'^\s*(/\*+|\*|//+|#+|%+|""")\s*(Of|Who|Whom|Whose|What|Those|One|Until|Likewise|Such)\b')
# A pronoun may begin a later line of a comment: its noun is before it then.
PRONOUN = re.compile(r'^\s*(/\*+|""")\s*(It|Its|They|Their|Whoever|Whatever)\b')


def found(root):
    """The lines of all files known to git, as FILE:LINE: TEXT."""
    names = subprocess.run(["git", "-C", root, "ls-files"], check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        path = pathlib.Path(root, name)
        if not SOURCES.search(name) or name.startswith(LEFT_OUT) or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if HIDDEN.match(line) or PRONOUN.match(line):
                yield f"{name}:{number}: {line.strip()}"


def main(root="."):
    lines = list(found(root))
    for line in lines:
        print(line)
    print(f"comments: {len(lines)} lines do not begin with their subject, of at most {MOST}")
    return 1 if len(lines) > MOST else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
