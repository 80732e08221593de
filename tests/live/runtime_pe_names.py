#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# tier: runtime 20s
"""Names and lines in the DLLs of Wine 8 and 10: at random addresses as binutils has them, and a name for the
start of every function that has unwind information."""
import glob
import os
import subprocess

from harness import Tap, seeded
import pe_oracle
import wine

COMPARED = ("ntdll", "kernel32", "kernelbase", "user32", "gdi32", "win32u", "ucrtbase", "msvcp140",
            "ole32", "rpcrt4", "ws2_32", "d3d9")
ADDRESSES = 400


def dlls(version):
    """Where the DLLs of that Wine are."""
    root = wine.Wine(version).root
    if root:
        subprocess.run([wine.CHROOT_SH, root], check=True)
    return root + "/usr/lib/x86_64-linux-gnu/wine/x86_64-windows"


def test_against_binutils(tap, version):
    generator, totals = seeded(20261120), [0, 0, 0, 0]
    for name in COMPARED:
        path = os.path.join(dlls(version), name + ".dll")
        headers = pe_oracle.Headers(path)
        start, end = headers.code[0]
        rvas = sorted(generator.sample(range(start, end), min(ADDRESSES, end - start)))
        dwarf = pe_oracle.parse_addr2line(pe_oracle.run_addr2line(path, headers.base, rvas),
                                          headers.base)
        table = pe_oracle.run_objdump(path)
        symbols = pe_oracle.parse_objdump(table, headers.starts)
        sections = pe_oracle.parse_sections(table, headers.starts)
        found, _, us = pe_oracle.ours(path, rvas)
        tap.equal(sorted(found), rvas, f"{name}: every address was answered")
        result = pe_oracle.Comparison(headers, dwarf, symbols, sections).compare(found)
        tap.equal(result.wrong[:5], [], f"{name}: {result.addresses} addresses as binutils does, "
                  f"{result.with_lines} with lines, {result.inlined} in inlined calls")
        print(f"# {name}: {us} us for {len(rvas)} addresses")
        for i, n in enumerate((result.addresses, result.named, result.with_lines, result.inlined)):
            totals[i] += n
    print("# in all: {} addresses, {} named, {} with lines, {} in inlined calls".format(*totals))
    tap.check(totals[2] > totals[0] / 2 and totals[3] > 100, "most have lines", totals)


def test_every_function(tap, version):
    """No frame of Wine's own code stays without a function's name."""
    unnamed, stripped, by_dwarf, n_functions, n_files = [], [], 0, 0, 0
    for path in sorted(glob.glob(os.path.join(dlls(version), "*.dll"))):
        headers = pe_oracle.Headers(path)
        functions = headers.functions
        if functions and not headers.n_symbols:
            stripped.append(os.path.basename(path))
        if not functions or not headers.n_symbols:
            continue
        found, _, _ = pe_oracle.ours(path, [begin for begin, _ in functions], "names")
        rest = [rva for rva, frames in found.items() if frames[-1][0] == "?" or
                frames[-1][1] != 0]
        lined, _, _ = pe_oracle.ours(path, rest)
        by_dwarf += len(rest)
        unnamed += [(os.path.basename(path), hex(rva), frames) for rva, frames in lined.items()
                    if frames[-1][0] == "?" or frames[-1][1] != 0]
        n_functions += len(functions)
        n_files += 1
    print(f"# {n_functions} functions in {n_files} files, {by_dwarf} named by DWARF alone, "
          f"{len(unnamed)} without a name")
    tap.check(n_functions > 100000, "there are many functions", n_functions)
    tap.equal(stripped, ["zlib1.dll"], "only another project's DLL has no symbols")
    tap.equal(unnamed[:10], [], "each has a name that begins there")


def main():
    tap = Tap()
    for version in wine.VERSIONS:
        for test in (test_against_binutils, test_every_function):
            print(f"# Wine {version}")
            tap.guard(test, version)
    tap.done()


if __name__ == "__main__":
    main()
