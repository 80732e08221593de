#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names that one test takes from another: each is there. A file that only the soak runs is imported by nothing else, so
that a name that was moved would be missed for weeks.

    python3 tests/imports.py [FOLDER...]    the status is 1 if a name is missing"""
import ast
import pathlib
import sys

FOLDERS = "tests", "tests/live", "tests/fixtures", "tests/bench"


def bound(tree):
    """The names that a module has once it was imported: a name that any statement binds outside of functions and
    classes."""
    names = set()
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        todo.extend(ast.iter_child_nodes(node))
    return names


def missing(path, tree, modules):
    """Yield the names that PATH takes from a module of ours that has no such name."""
    taken = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                if alias.name not in modules[node.module]:
                    yield f"{path}:{node.lineno}: {node.module} has no {alias.name}"
        elif isinstance(node, ast.Import):
            taken.update({alias.asname or alias.name: alias.name for alias in node.names if alias.name in modules})
    here = bound(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in taken:
            module = taken[node.value.id]
            if node.value.id in here and node.attr not in modules[module] and not node.attr.startswith("__"):
                yield f"{path}:{node.lineno}: {module} has no {node.attr}"


def main(folders):
    trees = {path: ast.parse(path.read_text(), str(path))
             for folder in folders for path in sorted(pathlib.Path(folder).glob("*.py"))}
    modules = {path.stem: bound(tree) for path, tree in trees.items()}
    wrong = [line for path, tree in trees.items() for line in missing(path, tree, modules)]
    print("\n".join(wrong or [f"imports: ok ({len(trees)} files)"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or FOLDERS))
