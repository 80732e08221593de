#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: tools 5s
"""The tool that counts comments without a subject: which lines it finds, and that too many of them are an error."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile

from harness import Tap

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import comments  # noqa: E402

FILES = {
    "a.c": "/* Of the parent. */\n\t * Until it ends.\nint x; /* Offsets are kept. */\n/* The parent's. */\n/* Ones. */\n"
           "/* Its end. */\n/* The parent.\n * It ends. */\n",
    "b.py": "def f():\n    \"\"\"What is read.\"\"\"\n    # Those that wait.\n    return 'Of'\n",
    "Makefile": "# Such a file.\nall: What\n",
    "c.md": "# Of nothing\n",
    "tests/fixtures/d.c": "/* One of them. */\n",
}
WANTED = ["Makefile:1: # Such a file.", "a.c:1: /* Of the parent. */", "a.c:2: * Until it ends.", "a.c:6: /* Its end. */",
          "b.py:2: \"\"\"What is read.\"\"\"", "b.py:3: # Those that wait."]


def tree(directory):
    subprocess.run(["git", "-C", directory, "init", "-q"], check=True)
    for name, text in FILES.items():
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run(["git", "-C", directory, "add", "."], check=True)


def status(directory, most):
    kept, comments.MOST = comments.MOST, most
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            return comments.main(directory), printed.getvalue()
    finally:
        comments.MOST = kept


def lines(tap):
    with tempfile.TemporaryDirectory() as directory:
        tree(directory)
        tap.equal(sorted(comments.found(directory)), WANTED, "comment lines that hide their subject are found")
        tap.equal(status(directory, len(WANTED))[0], 0, "as many lines as MOST are no error")
        code, printed = status(directory, len(WANTED) - 1)
        tap.check(code == 1 and all(line in printed for line in WANTED), "a line more than MOST is an error, and all are listed", printed)


def own(tap):
    count = len(list(comments.found(ROOT)))
    tap.check(count <= comments.MOST, "this tree has at most MOST such lines", f"{count} of {comments.MOST}")


if __name__ == "__main__":
    Tap.main(lines, own)
