#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: gate 5s
"""Names and lines at every byte of a small DLL's code, against what binutils said of it
(tests/fixtures/pe-names)."""
import os

from harness import Tap
import pe_oracle

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "pe-names")


def read(name):
    with open(os.path.join(FIXTURE, name), encoding="utf-8") as file:
        return file.read()


def test_every_address(tap):
    path = os.path.join(FIXTURE, "names.dll")
    headers = pe_oracle.Headers(path)
    (start, end), = headers.code
    dwarf = pe_oracle.parse_addr2line(read("addr2line"), headers.base)
    symbols = pe_oracle.parse_objdump(read("symbols"), headers.starts)
    found, source, _ = pe_oracle.ours(path, range(start, end))
    tap.equal(sorted(found), sorted(dwarf), "every byte of its code was asked for")
    result = pe_oracle.Comparison(headers, dwarf, symbols).compare(found)
    tap.equal(result.wrong, [], f"{result.addresses} addresses are named as binutils does")
    tap.equal(source, "dwarf", "the source")
    # A comparison of nothing with nothing must not pass.
    tap.check(result.with_lines > 200 and result.inlined > 30 and result.named > 300,
              "with lines, inlined calls and names",
              (result.with_lines, result.inlined, result.named))


def test_some_by_hand(tap):
    path = os.path.join(FIXTURE, "names.dll")
    found, _, _ = pe_oracle.ours(path, [0x1000, 0x1002, 0x1003, 0x1009, 0x1102, 0x1131, 0x1150])
    functions = {rva: (frames[-1][0], frames[-1][1]) for rva, frames in found.items()}
    tap.equal(functions, {
        0x1000: ("leaf_in_assembly", 0),
        0x1002: ("leaf_in_assembly", 2),
        0x1003: ("second_label", 0),
        0x1009: ("second_label", 6),
        0x1102: ("shapes::(anonymous namespace)::hidden(shapes::box<long> const&)", 2),
        0x1131: ("shapes::box<long>::area(long) const", 1),
        0x1150: ("by_ordinal.cold", 7),
    }, "functions and offsets")
    names, source, _ = pe_oracle.ours(path, [0x1020, 0x1150], "names")
    tap.equal(names[0x1020], [("internal", 0x10, "?:0")], "only names")
    tap.equal(source, "symtab", "only names: the source")


if __name__ == "__main__":
    Tap.main(test_every_address, test_some_by_hand)
