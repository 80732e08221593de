#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lines of parsing code that can run while a process holds the privileges of a capture.

    privileged.py --objects build/obj/libwalk --sources libwalk --tables walk/tables.o [--list]

Calls are followed from the ROOTS, and from the functions of runtimes and unwinders that a capture calls (HOOKS), by the
instructions and relocations of the objects: direct calls, addresses of functions, and tables of functions. The tables of
runtimes and unwinders themselves are not followed, as a capture calls no other function of them. A sampler calls some
more, before it forks who reads (sw_active_open()): open(), renew() and close() of the runtimes whose state outlives a
copy, and attach() and detach() of such unwinders. They are followed, too. A function counts with
its lines in the source, unless it lies in one of the folders that know no format (PLAIN); a function that the compiler has
put into others counts where one of these is reached.

MOST is lowered when code moves into the reader (libwalk/copier), and never raised.
"""
import argparse
import collections
import os
import re
import subprocess
import sys

MOST = 15210
ROOTS = ("sw_capture_take", "sw_light_read")
HOOKS = re.compile(r"^\t?.*?\.(?:probe|before|stacks|in_window|recipe|prepare|files|capture) = (\w+)", re.M)
OPENED = re.compile(r"^\t?.*?\.(?:open|close|renew|attach|detach) = (\w+)", re.M)
TABLE = re.compile(r"struct sw_(runtime|unwinder)_ops \w+ = \{\n(.*?)^\};", re.M | re.S)
PLAIN = {"arch", "base", "capture", "copier", "copies", "events", "iterate", "process", "sample", "stop", "unwind"}
DATA = (".data", ".data.rel", ".data.rel.local", ".data.rel.ro", ".data.rel.ro.local")
FILE = re.compile(r"^(\S+\.o):\s+file format")
FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
CALL = re.compile(r"\t(?:call|j\w+)\s+[0-9a-f]+ <([^>+]+)(?:\+0x[0-9a-f]+)?>|\tlea .*# [0-9a-f]+ <([^>+]+)>$")
INLINE = re.compile(r"\bR_X86_64_(\w+)\s+([^\s+-][^\s+]*?)([+-]0x[0-9a-f]+)?$")
SYMBOL = re.compile(r"^([0-9a-f]{16}) (.)......(\S?) +(\S+)\t([0-9a-f]{16}) +(?:\.hidden )?(\S+)$")
RELOCATION = re.compile(r"^([0-9a-f]{16}) R_X86_64_64 +([^\s+-][^\s+]*?)([+-]0x[0-9a-f]+)?$")


def objdump(options, objects):
    found = subprocess.run(["objdump", "-w", *options, *objects], text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False)
    return found.stdout.splitlines()


class Graph:
    """References between functions and tables; a node is a pair of an object and a name."""

    def __init__(self, root, objects):
        self.root = root
        self.edges = collections.defaultdict(set)
        self.places = collections.defaultdict(list)  # (object, section): (begin, end, name)
        self.defined = {}                            # names that others see: object
        self.symbols_read(objects)
        self.data_read(objects)
        self.code_read(objects)

    def name_of(self, line):
        match = FILE.match(line)
        return os.path.relpath(match[1], self.root) if match else None

    def symbols_read(self, objects):
        for line in objdump(["-t"], objects):
            at = self.name_of(line)
            if at:
                here = at
            match = SYMBOL.match(line)
            if match and match[4] != "*UND*" and match[3] in "FO":
                begin = int(match[1], 16)
                self.places[here, match[4]].append((begin, begin + max(int(match[5], 16), 1), match[6]))
                if match[2] in "gwu":
                    self.defined[match[6]] = here

    def target(self, here, name, addend):
        """Returns the node that a relocation refers to: a name, or a place in a section."""
        for begin, end, symbol in self.places.get((here, name), ()):
            if begin <= addend < end:
                return here, symbol
        return self.node(here, name)

    def node(self, here, name):
        """Returns the node of a name as the object at here sees it."""
        if any(name == symbol for key in ((here, s) for s in (".text", ".text.unlikely", *DATA))
               for _, _, symbol in self.places.get(key, ())):
            return here, name
        return (self.defined[name], name) if name in self.defined else None

    def add(self, source, target):
        if target and target != source:
            self.edges[source].add(target)

    def data_read(self, objects):
        section = None
        for line in objdump(["-r", *(word for name in DATA for word in ("-j", name))], objects):
            at = self.name_of(line)
            if at:
                here = at
            elif line.startswith("RELOCATION RECORDS FOR ["):
                section = line[24:line.index("]")]
            match = RELOCATION.match(line)
            if match:
                where = self.target(here, section, int(match[1], 16))
                self.add(where, self.target(here, match[2], int(match[3] or "0", 16)))

    def code_read(self, objects):
        source = here = None
        for line in objdump(["-dr", "--no-show-raw-insn"], objects):
            at = self.name_of(line)
            if at:
                here = at
                continue
            match = FUNCTION.match(line)
            if match:
                source = here, match[1]
                continue
            match = INLINE.search(line)
            if match:
                of_pc = 4 if match[1] in ("PC32", "PLT32", "GOTPCRELX", "REX_GOTPCRELX") else 0
                self.add(source, self.target(here, match[2], int(match[3] or "0", 16) + of_pc))
                continue
            match = CALL.search(line)
            if match:
                self.add(source, self.node(here, match[1] or match[2]))

    def reached(self, roots, without):
        seen, rest = set(), list(roots)
        while rest:
            node = rest.pop()
            if node in seen or node in without:
                continue
            seen.add(node)
            rest += self.edges[node]
        return seen


def functions_of(path):
    """Returns the lines of each function of a source."""
    found, lines = {}, open(path, encoding="utf-8").read().split("\n")
    begin = name = None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
            while begin > 0 and lines[begin - 1] and not lines[begin - 1].startswith(("}", "/*", " *", "#")):
                begin -= 1
            match = re.search(r"(\w+)\(", " ".join(lines[begin:number]))
            name = match[1] if match else None
        elif line == "}" and name:
            found[name] = lines[begin:number + 1]
            name = None
    return found


def with_inlined(functions, names, symbols):
    """Returns names, and the functions without a symbol of their own that these call."""
    reached, rest = set(), [name for name in names if name in functions]
    while rest:
        name = rest.pop()
        if name not in reached:
            reached.add(name)
            words = set(re.findall(r"\w+", "\n".join(functions[name][1:])))
            rest += [other for other in functions if other in words and other not in symbols]
    return reached


def hooks_of(graph, sources):
    for at, _, names in os.walk(sources):
        for name in names:
            path = os.path.join(at, name)
            if name.endswith(".c") and os.path.relpath(at, sources).split("/")[0] not in PLAIN:
                here = os.path.relpath(path, sources)[:-2] + ".o"
                for hook in HOOKS.findall(open(path, encoding="utf-8").read()):
                    node = graph.node(here, hook)
                    if node:
                        yield node


def is_opened(kind, table):
    """Whether a sampler opens who has this table: sw_active_open()."""
    if kind == "unwinder":
        return ".lasts = true" in table
    return ".renew = " in table or not re.search(r"\.(?:step|owns|frames) = ", table)


def opened_of(graph, sources):
    for at, _, names in os.walk(sources):
        for name in names:
            if name.endswith(".c"):
                path = os.path.join(at, name)
                here = os.path.relpath(path, sources)[:-2] + ".o"
                for kind, table in TABLE.findall(open(path, encoding="utf-8").read()):
                    for function in OPENED.findall(table) if is_opened(kind, table) else ():
                        node = graph.node(here, function)
                        if node:
                            yield node


def lines_of(graph, reached, sources, tell):
    """Returns the lines of what is reached, by folder."""
    names_of = collections.defaultdict(set)
    for here, name in reached:
        names_of[here].add(name.split(".")[0])
    lines = collections.Counter()
    for here, names in names_of.items():
        folder = os.path.dirname(here)
        if folder.split("/")[0] in PLAIN:
            continue
        functions = functions_of(os.path.join(sources, here[:-2] + ".c"))
        symbols = {symbol.split(".")[0] for key, places in graph.places.items() if key[0] == here
                   for _, _, symbol in places}
        for name in sorted(with_inlined(functions, names, symbols)):
            lines[folder] += len(functions[name])
            if tell:
                print(f"{len(functions[name]):5} {here[:-2]}.c {name}()")
    return lines


def main():
    parser = argparse.ArgumentParser()
    for option in ("--objects", "--sources", "--tables"):
        parser.add_argument(option, required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--captures", action="store_true", help="list without what samplers open")
    args = parser.parse_args()
    objects = sorted(os.path.join(at, name) for at, _, names in os.walk(args.objects) for name in names
                     if name.endswith(".o")
                     and os.path.exists(os.path.join(args.sources, os.path.relpath(os.path.join(at, name), args.objects)[:-2] + ".c")))
    graph = Graph(args.objects, objects)
    hooks = set(hooks_of(graph, args.sources))
    opened = set(opened_of(graph, args.sources))
    roots = [(graph.defined[name], name) for name in ROOTS if name in graph.defined]
    without = {target for node, targets in graph.edges.items() if node[0] == args.tables for target in targets}
    if len(roots) < len(ROOTS) or len(hooks) < 20 or len(opened) < 10 or not without:
        sys.exit(f"privileged: {len(roots)} roots, {len(hooks)} hooks, {len(opened)} functions that samplers call, "
                 f"{len(without)} rows of tables: the search is wrong")
    captures = lines_of(graph, graph.reached([*roots, *hooks], without), args.sources, args.list and args.captures)
    lines = lines_of(graph, graph.reached([*roots, *hooks, *opened], without), args.sources, args.list and not args.captures)
    total = sum(lines.values())
    if args.list:
        print(*(f"{n:6} {folder}" for folder, n in (captures if args.captures else lines).most_common()), sep="\n")
    if total > MOST:
        sys.exit(f"privileged: {total} lines that parse can run with the privileges of a capture or a sampler, of at most {MOST}")
    print(f"privileged: ok ({total} lines, of at most {MOST}; {sum(captures.values())} of them in captures; {len(hooks)} hooks)")


if __name__ == "__main__":
    main()
