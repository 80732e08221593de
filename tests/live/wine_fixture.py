#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Records the Windows programs of runtime_wine.py and test_wine32.py under each Wine, as tests/fixtures/wine-VERSION:

    SNAPWALK_BUILD=build tests/live/wine_fixture.py [VERSION ...]

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
from test_wine32 import VERSION, chains_of, settled as chains_settled
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

def elf_keep(data, places):
    """Ranges of an ELF file that are needed. places: where frames are; in 32-bit files the code there is looked at."""
    if data[4] == 1:  # ELFCLASS32
        word, tables, counts, segment, section = u32, (28, 32), 44, (32, 4, 16), (16, 20)
    else:
        word, tables, counts, segment, section = u64, (32, 40), 56, (56, 8, 32), (24, 32)
    phoff, shoff = (word(data, at) for at in tables)
    phnum, shentsize, shnum, shstrndx = (u16(data, counts + 2 * i) for i in range(4))
    kept = [(0, phoff + segment[0] * phnum)]
    for i in range(phnum):
        header = phoff + segment[0] * i
        offset, size = word(data, header + segment[1]), word(data, header + segment[2])
        if u32(data, header) == 1 and data[4] == 1:  # PT_LOAD
            start = word(data, header + segment[1] + 4)
            kept += [(max(offset + place - start - 64, 0), 128) for place in places if start <= place < start + size]
        if u32(data, header) == 4:  # PT_NOTE: the build-id
            kept.append((offset, size))
    if shnum:
        kept.append((shoff, shentsize * shnum))
        names = word(data, shoff + shentsize * shstrndx + section[0])
        for i in range(shnum):
            header = shoff + shentsize * i
            start = names + u32(data, header)
            name = data[start:data.index(b"\0", start)].decode()
            if name in KEPT_SECTIONS:
                kept.append((word(data, header + section[0]), word(data, header + section[1])))
    return kept


def elf_cut(data, used, places):
    cut = bytearray(len(data))
    for start, size in elf_keep(data, places) if used else [(0, PAGE)]:
        cut[start:start + size] = data[start:start + size]
    return bytes(cut) if used else bytes(cut[:PAGE])


# ---- PE: headers, and a symbol table of the functions that frames are in ---------------------------

def pe_sections(data):
    coff = u32(data, 60) + 4
    table = coff + 20 + u16(data, coff + 16)
    return coff, table, [u32(data, table + 40 * i + 12) for i in range(u16(data, coff + 2))]


def frames_cut(section, is_eh, start, section_rva, rvas):
    """A section of call frame information without what other code than that at rvas needs: such entries are
    empty. start: of the image. rvas None: all is needed."""
    if rvas is None:
        return section
    cut, at = bytearray(section), 0
    while at + 8 <= len(section) and (length := u32(section, at)):
        end, cie = at + 4 + length, u32(section, at + 4)
        if cie != (0 if is_eh else 0xffffffff):
            begin, size = u32(section, at + 8), u32(section, at + 12)
            # Plain, or counted from where it stands.
            begins = (begin, start + section_rva + at + 8 + begin & 0xffffffff)
            if not any(b <= start + rva < b + size for rva in rvas for b in begins):
                cut[at + 8:end] = bytes(end - at - 8)
        at = end
    return bytes(cut)


def pe_frames(data, rvas):
    """{index of section: (name, bytes)} of an image for i386."""
    coff, table, sections = pe_sections(data)
    start = u32(data, coff + 20 + 28)
    strings = u32(data, coff + 8) + 18 * u32(data, coff + 12)
    found = {}
    for i in range(len(sections)):
        header = table + 40 * i
        name = data[header:header + 8].rstrip(b"\0").decode()
        if name.startswith("/"):
            at = strings + int(name[1:])
            name = data[at:data.index(b"\0", at)].decode()
        if name[:8] not in (".eh_fram", ".debug_f"):
            continue
        bytes_, offset = min(u32(data, header + 8), u32(data, header + 16)), u32(data, header + 20)
        found[i] = (name[:8], frames_cut(data[offset:offset + bytes_], name[1] == "e", start,
                                            u32(data, header + 12), rvas))
    return found


def pe_cut(data, functions, rvas):
    """functions: {rva: name}; rvas: where frames are."""
    coff, table, starts = pe_sections(data)
    header = u32(data, coff + 20 + 60)
    cut = bytearray(data[:header])
    frames = pe_frames(data, rvas) if u16(data, coff) == 0x14c else {}
    kept = b""
    for i in range(len(starts)):
        struct.pack_into("<II", cut, table + 40 * i + 16, 0, 0)  # nothing of it is in the file
        if i in frames:
            name, content = frames[i]
            struct.pack_into("<8s", cut, table + 40 * i, name.encode())
            struct.pack_into("<II", cut, table + 40 * i + 16, len(content), header + len(kept))
            kept += content
    cut += kept
    header += len(kept)
    rvas = starts
    symbols, strings, prefix = b"", b"", b"_" if u16(data, coff) == 0x14c else b""
    for rva, name in sorted(functions.items()):
        section = max(i for i, start in enumerate(rvas) if start <= rva)
        symbols += struct.pack("<IIIhHBB", 0, 4 + len(strings), rva - rvas[section], section + 1,
                               0x20, 2, 0)
        strings += prefix + name.encode() + b"\0"
    struct.pack_into("<II", cut, coff + 8, header if functions else 0, len(functions))
    return bytes(cut) + symbols + struct.pack("<I", 4 + len(strings)) + strings


# ---- the fixture ------------------------------------------------------------------------------------

def functions_of(report):
    """{module index: {rva: name}} of all frames, and {module index: where they are}."""
    found, places = {}, {}
    for stack in report["stacks"]:
        for frame in stack["frames"]:
            if frame["module"] is None:
                continue
            functions = found.setdefault(frame["module"], {})
            rva = int(frame["offset"], 16)
            places.setdefault(frame["module"], set()).update((rva - 1, rva))
            if frame["function"] and not frame["inlined"]:
                pc = int(frame["pc"], 16) - int(report["modules"][frame["module"]]["start"], 16)
                functions[pc - frame["function_offset"]] = frame["function"]
    return found, places


def modules_cut(directory, report):
    functions, places = functions_of(report)
    found = {report["modules"][i]["path"]: f for i, f in functions.items()}
    rvas = {report["modules"][i]["path"]: p for i, p in places.items()}
    lines = open(os.path.join(directory, "snapshot")).read().splitlines()
    for line in lines:
        if not line.startswith("module "):
            continue
        _, _, _, name, path = line.split(" ", 4)
        file = os.path.join(directory, "modules", name)
        if not os.path.exists(file):
            continue
        data = open(file, "rb").read()
        # Where ntdll.dll is entered is looked up, if it is on a stack or not.
        wanted = None if os.path.basename(path) == "ntdll.dll" else rvas.get(path, ())
        cut = elf_cut(data, path in found, rvas.get(path, ())) if data[:4] == b"\x7fELF" else \
            pe_cut(data, found.get(path, {}), wanted)
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
    program = "wine32_chain_O2.exe" if version.endswith("-i386") else "wine_threads.exe"
    with Wine(version) as wine, wine.program(program) as target:
        if version.endswith("-i386"):
            chains_settled(target, chains_of(target.lines))
        else:
            settled(target)
        snapwalk("record", target.pid, "-o", directory, "--max-stop", "10000", check=True)
        return target.lines


def main():
    for version in sys.argv[1:] or (*VERSIONS, VERSION):
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
