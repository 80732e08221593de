# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables in the pages of docs/ that a program makes: each stands between two comments that have its name."""


def marks(name):
    return f"<!-- {name} table -->", f"<!-- /{name} table -->"


def marked(text, name):
    """The table of this name in a page. The page has its marks once, in their order."""
    begin, end = marks(name)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"the page does not have the marks of one {name} table")
    return text[text.index(begin) + len(begin):text.index(end)].strip("\n")


def put_marked(path, name, table):
    """Write the table into the page at path, in place of the one that is there."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    marked(text, name)
    begin, end = marks(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{text[:text.index(begin)]}{begin}\n{table}\n{text[text.index(end):]}")
