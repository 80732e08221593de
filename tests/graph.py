#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which folder refers to which, by the symbols that objects define and use.

    graph.py --objects build/obj/daemon --sources daemon --order "base config rules . gate!*"
    graph.py --objects build/obj/libwalk --sources libwalk --order-file libwalk/folders

The order is a list of levels, lowest first: a folder refers only to folders of levels before its own.
On the command line levels stand between spaces; a file has one a line, '#' begins a comment. A level is

    folder[,folder...][!folder[,folder...]]

Folders of one level do not refer to each other, nor to those after the '!'. Shell patterns are
allowed; of several that match a folder one without wildcards decides. '.' is the top folder itself.

Found are: (a) references upwards, (b) groups of mutually dependent objects that span folders or have
more than --group members, (c) folders with more than --most files, (d) folders without a level.
With --sources: objects whose source is gone do not count, a source without an object is a fault,
includes follow the same order, and files with .c and .h count for (c), else objects.
With --headers: what others use of a source is declared in the header of the same name, or in those of
the --public folders; a source that has a single function for others may be without a header. With
--machine MACHINE, NAME_MACHINE.c is declared in NAME.h, and MACHINE.c in the header that is named like
its folder: one interface, of which each machine has its own source.
"""
import argparse
import collections
import fnmatch
import os
import re
import subprocess
import sys

WILD = re.compile(r"[*?\[]")
DEFINED = "TDBRSGCWVui"
# A symbol with several definitions (weak ones, mains of several programs) is the one in the same folder.
UNDEFINED = "Uwv"


def folder_of(name):
    return os.path.dirname(name) or "."


class Order:
    """The levels, and what they say of a pair of folders."""

    def __init__(self, levels):
        self.levels = []
        for level in levels:
            folders, _, without = level.partition("!")
            self.levels.append((self.words(folders), self.words(without)))

    @staticmethod
    def words(text):
        return [word.strip() for word in text.split(",") if word.strip()]

    def level_of(self, folder):
        """Returns the number of a folder's level, or None. A name in full decides before a pattern."""
        for wild in (False, True):
            for number, (patterns, _) in enumerate(self.levels):
                for pattern in patterns:
                    if bool(WILD.search(pattern)) == wild and fnmatch.fnmatchcase(folder, pattern):
                        return number
        return None

    def allows(self, user, used):
        if user == used:
            return True
        mine, other = self.level_of(user), self.level_of(used)
        if mine is None or other is None:
            return True     # said once, as a folder without a level
        return other < mine and not any(fnmatch.fnmatchcase(used, pattern)
                                        for pattern in self.levels[mine][1])


def read_order(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.partition("#")[0].strip() for line in file]
    return [line for line in lines if line]


def files_below(root, *ends):
    """Relative names without the ends, sorted: {name: end...}"""
    found = []
    for where, folders, names in os.walk(root):
        folders.sort()
        found += [os.path.relpath(os.path.join(where, name), root)
                  for name in names if name.endswith(ends)]
    return sorted(found)


def read_symbols(nm, root, objects):
    """{object: (defined, undefined)}, external symbols only."""
    symbols = {name: (set(), set()) for name in objects}
    if not objects:
        return symbols
    paths = [os.path.join(root, name + ".o") for name in objects]
    output = subprocess.run([nm, "-A", "-P", "-g", *paths], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    for line in output.splitlines():
        path, _, rest = line.partition(": ")
        symbol, kind = rest.split()[:2]
        name = os.path.relpath(path, root)[:-len(".o")]
        if kind in DEFINED:
            symbols[name][0].add(symbol)
        elif kind in UNDEFINED:
            symbols[name][1].add(symbol)
    return symbols


def references(symbols):
    """{(user, used): [symbol...]} between different objects."""
    definers = collections.defaultdict(list)
    for name, (defined, _) in symbols.items():
        for symbol in defined:
            definers[symbol].append(name)
    edges = collections.defaultdict(list)
    for user, (defined, undefined) in symbols.items():
        for symbol in sorted(undefined - defined):
            there = definers.get(symbol, [])
            near = [name for name in there if folder_of(name) == folder_of(user)]
            for used in near or there:
                edges[user, used].append(symbol)
    return edges


def groups_of(nodes, edges):
    """Strongly connected components with more than one member (Tarjan, without recursion)."""
    following = collections.defaultdict(list)
    for user, used in edges:
        following[user].append(used)
    index, low, waiting, groups = {}, {}, [], []
    on_stack = set()
    for start in nodes:
        if start in index:
            continue
        path = [(start, iter(following[start]))]
        index[start] = low[start] = len(index)
        waiting.append(start)
        on_stack.add(start)
        while path:
            node, rest = path[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    waiting.append(other)
                    on_stack.add(other)
                    path.append((other, iter(following[other])))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(waiting.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1:
                        groups.append(sorted(group))
    return sorted(groups)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


class Graph:
    def __init__(self, options):
        self.options = options
        self.order = Order(read_order(options.order_file) if options.order_file
                           else options.order.split())
        self.faults = []
        self.texts = {}
        objects = [name[:-2] for name in files_below(options.objects, ".o")]
        self.files = []
        if options.sources:
            self.files = files_below(options.sources, ".c", ".h")
            sources = {name[:-2] for name in self.files if name.endswith(".c")}
            for name in sorted(sources - set(objects)):
                if any(fnmatch.fnmatchcase(name + ".c", pattern) for pattern in options.without):
                    continue
                self.fault(f"{name}.c: has no object in {options.objects}")
            objects = [name for name in objects if name in sources]
        self.symbols = read_symbols(options.nm, options.objects, objects)
        self.edges = references(self.symbols)

    def fault(self, text):
        self.faults.append(text)

    def check_references(self):
        for (user, used), symbols in sorted(self.edges.items()):
            if not self.order.allows(folder_of(user), folder_of(used)):
                self.fault(f"{user}.o: refers to {used}.o: {', '.join(symbols)}")

    def check_groups(self):
        for group in groups_of(self.symbols, self.edges):
            folders = sorted({folder_of(name) for name in group})
            where = f"across {', '.join(folders)}" if len(folders) > 1 else f"in {folders[0]}"
            if len(folders) == 1 and len(group) <= self.options.group:
                continue
            self.fault(f"{len(group)} mutually dependent objects {where}:")
            for (user, used), symbols in sorted(self.edges.items()):
                if user in group and used in group:
                    self.fault(f"    {user} -> {used}: {', '.join(symbols)}")

    def check_folders(self):
        sizes = collections.Counter(folder_of(name) for name in self.files or self.symbols)
        for folder, size in sorted(sizes.items()):
            if size > self.options.most:
                self.fault(f"{folder}: {size} files, more than {self.options.most}")
            if self.order.level_of(folder) is None:
                self.fault(f"{folder}: has no level in the order")

    def text_of(self, name):
        if name not in self.texts:
            with open(os.path.join(self.options.sources, name), encoding="utf-8") as file:
                self.texts[name] = without_comments(file.read())
        return self.texts[name]

    def check_includes(self):
        known = set(self.files)
        for name in self.files:
            for header in re.findall(r'^\s*#\s*include\s*"([^"]+)"', self.text_of(name), re.M):
                beside = os.path.normpath(os.path.join(folder_of(name), header))
                used = beside if beside in known else os.path.normpath(header)
                if used in known and not self.order.allows(folder_of(name), folder_of(used)):
                    self.fault(f"{name}: includes {used}")

    def header_of(self, name):
        for machine in self.options.machine:
            if os.path.basename(name) == machine:
                return os.path.join(folder_of(name), os.path.basename(folder_of(name))) + ".h"
            if name.endswith("_" + machine):
                return name[:-len("_" + machine)] + ".h"
        return name + ".h"

    def check_headers(self):
        public = set()
        for folder in self.options.public:
            for name in files_below(folder, ".h"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    public |= set(re.findall(r"\w+", without_comments(file.read())))
        used = collections.defaultdict(set)
        for (_, name), symbols in self.edges.items():
            used[name] |= set(symbols)
        for name, symbols in sorted(used.items()):
            header = self.header_of(name)
            own = set(re.findall(r"\w+", self.text_of(header))) if header in self.files else set()
            missing = sorted(symbols - own - public)
            if missing and (header in self.files or len(missing) > 1):
                self.fault(f"{name}.c: not declared in {header}: {', '.join(missing)}")

    def check(self):
        self.check_references()
        self.check_groups()
        self.check_folders()
        if self.options.sources:
            self.check_includes()
        if self.options.headers:
            self.check_headers()
        return self.faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", required=True, help="folder of the objects")
    order = parser.add_mutually_exclusive_group(required=True)
    order.add_argument("--order", help="levels, lowest first")
    order.add_argument("--order-file", help="the same, one level a line")
    parser.add_argument("--sources", help="folder of the sources of these objects")
    parser.add_argument("--headers", action="store_true", help="each source declares in its own header")
    parser.add_argument("--public", action="append", default=[], help="folder of public headers")
    parser.add_argument("--machine", action="append", default=[], help="machine that some sources are for")
    parser.add_argument("--without", action="append", default=[], metavar="PATTERN",
                        help="sources that need no object: one of two that exclude each other, other machines")
    parser.add_argument("--group", type=int, default=3, help="most mutually dependent objects")
    parser.add_argument("--most", type=int, default=40, help="most files of a folder")
    parser.add_argument("--nm", default=os.environ.get("NM", "nm"))
    options = parser.parse_args()
    if options.headers and not options.sources:
        parser.error("--headers needs --sources")
    graph = Graph(options)
    if not graph.symbols:
        parser.error(f"{options.objects}: no objects")
    for fault in graph.check():
        print(f"graph: {fault}", file=sys.stderr)
    if not graph.faults:
        print(f"graph: {options.objects}: ok ({len(graph.symbols)} objects, {len(graph.edges)} references)")
    return 1 if graph.faults else 0


if __name__ == "__main__":
    sys.exit(main())
