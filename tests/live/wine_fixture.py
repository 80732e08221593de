#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Records the Windows program of runtime_wine.py under each Wine, as tests/fixtures/wine-VERSION:

    SNAPWALK_BUILD=build tests/live/wine_fixture.py

A fixture is what `snapwalk record` wrote, with modules cut to what walking and naming its frames
needs, and what the program said of its threads. Packed, since most of what is left of the modules
is zeros. test_wine_fixtures.py walks it."""
import io
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

from harness import BUILD, dump, snapwalk
from runtime_wine import settled
from wine import VERSIONS, Wine

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "fixtures")
KEPT_SECTIONS = (".shstrtab", ".eh_frame", ".eh_frame_hdr", ".dynsym", ".dynstr", ".gnu.hash")
PAGE = 4096


def u16(data, at):
    return struct.unpack_from("<H", data, at)[0]


def u32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def u64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


# ---- ELF: program headers, notes, call frame information, exported names; the rest is zero ---------

def elf_keep(data):
    """Ranges of an ELF file that are needed."""
    phoff, shoff = u64(data, 32), u64(data, 40)
    phnum, shentsize, shnum, shstrndx = u16(data, 56), u16(data, 58), u16(data, 60), u16(data, 62)
    kept = [(0, phoff + 56 * phnum)]
    for i in range(phnum):
        header = phoff + 56 * i
        if u32(data, header) == 4:  # PT_NOTE: the build-id
            kept.append((u64(data, header + 8), u64(data, header + 32)))
    if shnum:
        kept.append((shoff, shentsize * shnum))
        names = u64(data, shoff + shentsize * shstrndx + 24)
        for i in range(shnum):
            header = shoff + shentsize * i
            start = names + u32(data, header)
            name = data[start:data.index(b"\0", start)].decode()
            if name in KEPT_SECTIONS:
                kept.append((u64(data, header + 24), u64(data, header + 32)))
    return kept


def elf_cut(data, used):
    cut = bytearray(len(data))
    for start, size in elf_keep(data) if used else [(0, PAGE)]:
        cut[start:start + size] = data[start:start + size]
    return bytes(cut) if used else bytes(cut[:PAGE])


# ---- PE: headers, and a symbol table of the functions that frames are in ---------------------------

def pe_sections(data):
    coff = u32(data, 60) + 4
    table = coff + 20 + u16(data, coff + 16)
    return coff, table, [u32(data, table + 40 * i + 12) for i in range(u16(data, coff + 2))]


def pe_cut(data, functions):
    """functions: {rva: name}."""
    coff, table, rvas = pe_sections(data)
    header = u32(data, coff + 20 + 60)
    cut = bytearray(data[:header])
    for i in range(len(rvas)):
        struct.pack_into("<II", cut, table + 40 * i + 16, 0, 0)  # nothing of it is in the file
    symbols, strings = b"", b""
    for rva, name in sorted(functions.items()):
        section = max(i for i, start in enumerate(rvas) if start <= rva)
        symbols += struct.pack("<IIIhHBB", 0, 4 + len(strings), rva - rvas[section], section + 1,
                               0x20, 2, 0)
        strings += name.encode() + b"\0"
    struct.pack_into("<II", cut, coff + 8, header if functions else 0, len(functions))
    return bytes(cut) + symbols + struct.pack("<I", 4 + len(strings)) + strings


# ---- the fixture ------------------------------------------------------------------------------------

def functions_of(report):
    """{module index: {rva: name}} of all frames."""
    found = {}
    for stack in report["stacks"]:
        for frame in stack["frames"]:
            if frame["module"] is None:
                continue
            functions = found.setdefault(frame["module"], {})
            if frame["function"] and not frame["inlined"]:
                pc = int(frame["pc"], 16) - int(report["modules"][frame["module"]]["start"], 16)
                functions[pc - frame["function_offset"]] = frame["function"]
    return found


def modules_cut(directory, report):
    found = {m["path"]: functions for m, functions in
             ((report["modules"][i], f) for i, f in functions_of(report).items())}
    lines = open(os.path.join(directory, "snapshot")).read().splitlines()
    for line in lines:
        if not line.startswith("module "):
            continue
        _, _, _, name, path = line.split(" ", 4)
        file = os.path.join(directory, "modules", name)
        if not os.path.exists(file):
            continue
        data = open(file, "rb").read()
        cut = elf_cut(data, path in found) if data[:4] == b"\x7fELF" else \
            pe_cut(data, found.get(path, {}))
        open(file, "wb").write(cut)


def anonymise(directory, said):
    """No place of this machine is in it: paths of the build folder become "/build"."""
    text = open(os.path.join(directory, "snapshot")).read()
    open(os.path.join(directory, "snapshot"), "w").write(text.replace(BUILD, "/build"))
    file = os.path.join(directory, "memory")
    memory = open(file, "rb").read()
    for encoded in (BUILD.encode(), BUILD.replace("/", "\\").encode(),
                    BUILD.encode("utf-16-le"), BUILD.replace("/", "\\").encode("utf-16-le")):
        memory = memory.replace(encoded, b"\0" * len(encoded))
    open(file, "wb").write(memory)
    return said


def pack(directory, said, file):
    def plain(info):
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        return info
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name in ("snapshot", "memory", "modules"):
            tar.add(os.path.join(directory, name), name, filter=plain)
        data = "".join(line + "\n" for line in said).encode()
        info = plain(tarfile.TarInfo("said"))
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    with open(file, "wb") as packed:
        packed.write(lzma.compress(raw.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def record(version, directory):
    with Wine(version) as wine, wine.program("wine_threads.exe") as target:
        settled(target)
        snapwalk("record", target.pid, "-o", directory, "--max-stop", "10000", check=True)
        return target.lines


def main():
    for version in VERSIONS:
        with tempfile.TemporaryDirectory() as temporary:
            directory = os.path.join(temporary, "recorded")
            said = record(version, directory)
            report = dump(["--fixture", directory], "--symbols", "names", status=(0, 3))
            modules_cut(directory, report)
            said = anonymise(directory, said)
            place = os.path.join(FIXTURES, f"wine-{version}")
            os.makedirs(place, exist_ok=True)
            pack(directory, said, os.path.join(place, "recorded.tar.xz"))


if __name__ == "__main__":
    main()
