# SPDX-License-Identifier: LGPL-2.1-or-later
"""Damaged copies of files, the same in every run with the same SNAPWALK_SEED."""
import struct

from harness import seeded

# Values that lengths, counts and offsets break on.
EDGES = (0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
         0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffff000)


class Elf:
    """The places of the parts of a little-endian 64-bit ELF file (System V gABI 4.1, chapter 4)."""

    def __init__(self, data):
        self.data = data
        (self.phoff, self.shoff) = struct.unpack_from("<QQ", data, 32)
        (self.phentsize, self.phnum, self.shentsize, self.shnum,
         shstrndx) = struct.unpack_from("<5H", data, 54)
        self.sections = {}
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, self.shoff + i * self.shentsize)
                   for i in range(self.shnum)]
        if not headers:
            return
        names = headers[shstrndx][4]
        for header in headers:
            end = data.index(b"\0", names + header[0])
            if header[1] != 8:  # SHT_NOBITS has no bytes
                self.sections[data[names + header[0]:end].decode()] = (header[4], header[5])

    def regions(self):
        """Name -> (offset, size) of what a reader interprets."""
        result = {"file header": (0, 64), "program headers": (self.phoff,
                                                              self.phnum * self.phentsize)}
        if self.shnum:
            result["section headers"] = (self.shoff, self.shnum * self.shentsize)
        result.update((name, place) for name, place in self.sections.items()
                      if place[1] and name not in ("", ".text"))
        return result


def damage(generator, data, offset, size, keep=(0, 0)):
    """Some bytes or fields in [offset, offset + size) become something else; [keep) stays."""
    result = bytearray(data)
    for _ in range(generator.choice((1, 1, 2, 4, 16))):
        width = generator.choice((1, 1, 2, 4, 8))
        at = offset + generator.randrange(max(size, 1))
        if generator.random() < 0.5:
            at -= at % width
        value = generator.choice(EDGES) if generator.random() < 0.6 else generator.getrandbits(64)
        new = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        for i, byte in enumerate(new):
            if at + i < len(result) and not keep[0] <= at + i < keep[1]:
                result[at + i] = byte
    return bytes(result)


def variants(seed, data, regions, count, keep=(0, 0)):
    """count damaged copies, region after region: (what, bytes)."""
    generator = seeded(seed)
    names = sorted(regions)
    for n in range(count):
        name = names[n % len(names)]
        yield f"{name} #{n}", damage(generator, data, *regions[name], keep)


def lengths(seed, size, count):
    """Lengths to cut a file at: the first small ones, the last ones, and any between."""
    generator = seeded(seed)
    some = {0, 1, 15, 16, 63, 64, 65, 120, 4095, 4096, 4097, size - 1, size - 8, size // 2}
    while len(some) < count:
        some.add(generator.randrange(size))
    return sorted(n for n in some if 0 <= n < size)
