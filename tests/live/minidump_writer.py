# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes minidumps of Linux from core files, as Breakpad and Crashpad write them of a process: the same threads and memory,
of which they keep stacks alone.

Source: Breakpad's minidump_format.h and src/client/linux/minidump_writer (of 2024), Crashpad's minidump/ and snapshot/linux/ (of
2024), Microsoft's "Minidump Files".
"""
import os
import struct

PT_LOAD, PT_NOTE = 1, 4
NT_PRSTATUS, NT_PRPSINFO, NT_AUXV, NT_GNU_BUILD_ID, NT_SIGINFO = 1, 3, 6, 3, 0x53494749
AT_SYSINFO_EHDR, AT_ENTRY = 33, 9
PAGE = 4096
# Streams
THREADS, MODULES, MEMORY, EXCEPTION, SYSTEM, MISC, MEMORY_64, THREAD_NAMES = 3, 4, 5, 6, 7, 15, 9, 24
LINUX_CPU, LINUX_STATUS, LINUX_LSB, LINUX_CMDLINE, LINUX_ENVIRON, LINUX_AUXV, LINUX_MAPS, LINUX_DSO = range(0x47670003, 0x4767000b)
CRASHPAD = 0x43500001
CONTEXT_BYTES = 1232
# The words of user_regs_struct that a context has from offset 0x78 on: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15, rip
CONTEXT_ORDER = (10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0, 16)
SP, PC, FS_BASE = 19, 16, 21
BREAKPAD_STACK = 32 * 1024


def notes_of(data, align=4):
    at = 0
    while at + 12 <= len(data):
        name, size, kind = struct.unpack_from("<III", data, at)
        value = at + 12 + (name + 3 & ~3)
        yield data[at + 12:at + 12 + name], kind, data[value:value + size]
        at = value + (size + align - 1 & -align)


def segments_of(data):
    headers, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    return [struct.unpack_from("<IIQQQQQQ", data, headers + 56 * i) for i in range(count)]


class Thread:
    def __init__(self, prstatus):
        self.signal, = struct.unpack_from("<H", prstatus, 12)
        self.tid, = struct.unpack_from("<I", prstatus, 32)
        self.regs = struct.unpack_from("<27Q", prstatus, 112)


class Core:
    """A core file of an x86-64 process."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.threads, self.auxv, self.siginfo = [], b"", b""
        self.segments = [(start, end, at, size) for kind, _, at, start, _, size, memory, _ in segments_of(self.data)
                         if kind == PT_LOAD for end in (start + memory,)]
        for kind, _, at, _, _, size, _, _ in segments_of(self.data):
            for owner, note, value in notes_of(self.data[at:at + size]) if kind == PT_NOTE else ():
                if owner != b"CORE\0":
                    continue
                if note == NT_PRSTATUS:
                    self.threads.append(Thread(value))
                elif note == NT_PRPSINFO:
                    self.pid, = struct.unpack_from("<I", value, 24)
                elif note == NT_AUXV:
                    self.auxv = value
                elif note == NT_SIGINFO and not self.siginfo:
                    self.siginfo = value

    def auxv_of(self, wanted):
        return next((value for kind, value in struct.iter_unpack("<QQ", self.auxv) if kind == wanted), 0)

    def read(self, start, end):
        """The bytes from start on, as far as the core has them without a gap."""
        got = b""
        for low, high, at, size in self.segments:
            if low <= start < min(high, low + size):
                part = self.data[at + start - low:at + min(size, end - low)]
                got += part
                start += len(part)
                if start >= end:
                    break
        return got


class Map:
    """A line of /proc/PID/maps."""

    def __init__(self, line):
        words = line.split(None, 5)
        self.start, self.end = (int(word, 16) for word in words[0].split("-"))
        self.exec = words[1][2] == "x"
        self.off = int(words[2], 16)
        self.path = words[5] if len(words) > 5 else ""


def maps_of(text):
    return [Map(line) for line in text.splitlines()]


def text_of(data):
    """Where a file has its section .text, and how long it is."""
    table, = struct.unpack_from("<Q", data, 40)
    _, count, names = struct.unpack_from("<HHH", data, 58)
    sections = [struct.unpack_from("<IIQQQQ", data, table + 64 * i) for i in range(count)]
    strings = sections[names][4]
    return next((s[4], s[5]) for s in sections if data[strings + s[0]:].startswith(b".text\0"))


def text_hash(data):
    """The 16 bytes by which Breakpad knows a file without a build-id."""
    at, size = text_of(data)
    result = bytearray(16)
    for i in range(0, min(size, PAGE), 16):
        for k in range(16):
            result[k] ^= data[at + i + k]
    return bytes(result)


def id_of(path):
    """The build-id of a file."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return b""
    for kind, _, at, _, _, size, _, align in segments_of(data):
        for owner, note, value in notes_of(data[at:at + size], max(align, 4)) if kind == PT_NOTE else ():
            if owner == b"GNU\0" and note == NT_GNU_BUILD_ID:
                return value
    return text_hash(data)


def breakpad_modules(maps, vdso):
    """(start, end, path), as Breakpad joins mappings: the first one of a file, and its code behind it."""
    joined = []
    for m in maps:
        last = joined[-1] if joined else None
        if last and m.path and last.path == m.path and last.end == m.start and (last.exec == m.exec or not last.exec and m.exec):
            last.end, last.exec = m.end, m.exec
        else:
            joined.append(m)
    return [(m.start, m.end, "linux-gate.so" if m.start == vdso else m.path) for m in joined
            if m.path and (m.start == vdso or m.path[0] != "[") and (m.off == 0 or m.exec)]


def crashpad_modules(maps):
    """(start, end, path) of the files that have code, as far as they are mapped."""
    found = {}
    for m in maps:
        if m.path.startswith("/"):
            found.setdefault(m.path, []).append(m)
    return [(ms[0].start, ms[-1].end, path) for path, ms in found.items() if any(m.exec for m in ms)]


class Minidump:
    def __init__(self):
        self.body = bytearray()
        self.streams = []
        self.base = 32 + 12 * 16

    def put(self, data):
        """The offset of these bytes in the file."""
        self.body += bytes(-len(self.body) % 8)
        at = self.base + len(self.body)
        self.body += data
        return at

    def place(self, data):
        """A location descriptor."""
        return struct.pack("<II", len(data), self.put(data))

    def string(self, text):
        data = text.encode("utf-16-le")
        return self.put(struct.pack("<I", len(data)) + data + b"\0\0")

    def utf8(self, text):
        return self.put(struct.pack("<I", len(text.encode())) + text.encode() + b"\0")

    def stream(self, kind, data):
        self.streams.append(struct.pack("<I", kind) + self.place(data))

    def write(self, path, seconds):
        with open(path, "wb") as file:
            file.write(struct.pack("<4sIIIIIQ", b"MDMP", 0xa793, len(self.streams), 32, 0, seconds, 0))
            file.write(b"".join(self.streams).ljust(12 * 16, b"\0"))
            file.write(self.body)


def context_of(thread):
    context = bytearray(CONTEXT_BYTES)
    struct.pack_into("<I", context, 0x30, 0x10000b)
    for i, word in enumerate(CONTEXT_ORDER):
        struct.pack_into("<Q", context, 0x78 + 8 * i, thread.regs[word])
    return bytes(context)


def code_view(kind, identity, path):
    if not identity:
        return b""
    if kind == "RSDS":
        return b"RSDS" + identity[:16].ljust(16, b"\0") + bytes(4) + os.path.basename(path).encode() + b"\0"
    return b"BpEL" + identity


def write(core, path, maps, *, status="", by="breakpad", names=None, record="BpEL", stack_max=None, signal=None, seconds=1000,
          ids=id_of, memory="stacks", annotations=None):
    """Writes a minidump of a core file.

    maps, status: the texts of /proc/PID; names: {tid: name}; record: how modules are identified; signal: (number, si_code,
    address or (pid, uid) of the sender), of the core's first thread; memory: "all" has the whole core's, as a Memory64List.
    """
    out = Minidump()
    breakpad = by == "breakpad"
    where = maps_of(maps)
    vdso = core.auxv_of(AT_SYSINFO_EHDR)
    entry = core.auxv_of(AT_ENTRY)
    version = out.string("Linux 6.1.0 #1 SMP x86_64")
    out.stream(SYSTEM, struct.pack("<HHHBBIIIIIHH24x", 9, 6, 0, 2, 0, 6, 1, 0, 0x8201, version, 0, 0))
    memories, threads, contexts = [], [], {}
    for thread in core.threads:
        sp = thread.regs[SP]
        low = sp & -PAGE if breakpad else sp - 128 & -8
        high = next((m.end for m in where if m.start <= low < m.end or m.start <= sp < m.end), sp)
        if breakpad:
            high = min(high, low + (stack_max or BREAKPAD_STACK))
        stack = core.read(low, high)
        contexts[thread.tid] = out.place(context_of(thread))
        place = out.place(stack)
        memories.append(struct.pack("<Q", low) + place)
        threads.append(struct.pack("<IIIIQQ", thread.tid, 0, 0, 0, 0 if breakpad else thread.regs[FS_BASE], low) + place
                       + contexts[thread.tid])
    out.stream(THREADS, struct.pack("<I", len(threads)) + b"".join(threads))
    modules = breakpad_modules(where, vdso) if breakpad else crashpad_modules(where)
    modules.sort(key=lambda m: not m[0] <= entry < m[1])  # the program is the first one
    rows = []
    for start, end, name in modules:
        identity = ids(name.removesuffix(" (deleted)"))
        text = out.string(name)
        rows.append(struct.pack("<QIIII52x", start, end - start, 0, 0, text) + out.place(code_view(record, identity, name)) + bytes(24))
    out.stream(MODULES, struct.pack("<I", len(rows)) + b"".join(rows))
    if memory == "stacks":
        out.stream(MEMORY, struct.pack("<I", len(memories)) + b"".join(memories))
    if signal is not None:
        number, code, what = signal
        first = core.threads[0]
        parameters = (*what, 0) if isinstance(what, tuple) and not breakpad else ()
        address = what if not isinstance(what, tuple) else what[0] | what[1] << 32 if breakpad else 0
        out.stream(EXCEPTION, struct.pack("<IIIIQQII", first.tid, 0, number, code & 0xffffffff, 0, address, len(parameters), 0)
                   + struct.pack("<15Q", *parameters, *[0] * (15 - len(parameters))) + contexts[first.tid])
    if names:
        rows = [struct.pack("<IQ", tid, out.string(name)) for tid, name in names.items()]
        out.stream(THREAD_NAMES, struct.pack("<I", len(rows)) + b"".join(rows))
    if breakpad:
        for kind, text in ((LINUX_CPU, b"processor\t: 0\n"), (LINUX_STATUS, status.encode()), (LINUX_LSB, b"DISTRIB_ID=Debian\n"),
                           (LINUX_CMDLINE, b"program\0"), (LINUX_ENVIRON, b"HOME=/\0"), (LINUX_AUXV, core.auxv),
                           (LINUX_MAPS, maps.encode()), (LINUX_DSO, bytes(40))):
            out.stream(kind, text)
    else:
        out.stream(MISC, struct.pack("<IIIIII", 24, 1, core.pid, 0, 0, 0))
        pairs = [struct.pack("<II", out.utf8(key), out.utf8(value)) for key, value in (annotations or {}).items()]
        pairs = out.place(struct.pack("<I", len(pairs)) + b"".join(pairs))
        out.stream(CRASHPAD, struct.pack("<I16s16s", 1, bytes(16), bytes(16)) + pairs + bytes(8) + bytes(12))
    if memory == "all":
        held = [(start, at, size) for start, _, at, size in core.segments if size > 0]
        here = out.put(b"")
        out.stream(MEMORY_64, struct.pack("<QQ", len(held), here + 16 + 16 * len(held)) +
                   b"".join(struct.pack("<QQ", start, size) for start, _, size in held))
        for _, at, size in held:
            out.body += core.data[at:at + size]
    out.write(path, seconds)
