/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Debug information of methods that were compiled at run time:
 *
 *	u8 flags
 *	[flags & 1: patchpoint information, for on-stack replacement]
 *	[flags & 2: u32 bytes, as many bytes]
 *	numbers in nibbles: bytes of bounds, bytes of variables
 *		or 0xffffffff, bytes of bounds, bytes of bounds of the IL as it was before a profiler
 *		changed it, bytes of variables
 *	bounds, [bounds of the original IL,] variables
 *
 * Bounds are sorted by native offset; several entries may have the same one:
 *
 *	.NET 8, 9	number of entries; for each: native offset - the last one, IL offset + 3, source
 *	.NET 10		number of entries, bits of a native difference - 1, bits of an IL offset - 1, then
 *			from a whole byte on, lowest bit first, for each: 2 bits source, difference,
 *			IL offset + 3
 *
 * A number in nibbles has three bits in each, highest first; bit 3: more follow. The low nibble of a
 * byte is the first. Source: dotnet/runtime v8.0.0, v9.0.0 and v10.0.0,
 * src/coreclr/vm/debuginfostore.cpp, inc/nibblestream.h, inc/patchpointinfo.h.
 */
#include "runtimes/clr/published/debug_info.h"
#include "bytes.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/remote.h"

enum {
	FLAG_PATCHPOINT = 1,
	FLAG_RICH = 2,
	LOCALS_MAX = 1 << 16,      /* of a method with patchpoints */
	RICH_BYTES_MAX = 16 << 20, /* skipped, not read */
	HEADER_BYTES = 22,         /* four numbers of 11 nibbles */
	BOUNDS_BYTES_MAX = 1 << 20,
	VARIABLES_BYTES_MAX = 16 << 20,
	ENTRIES_MAX = 1 << 17,
	NIBBLES_MAX = 11, /* of a number */
	FIELD_BITS_MAX = 32,
	SOURCE_BITS = 2,
	SOURCE_CALL = 1,        /* PACKED: where a call returns to; beside the other entries */
	SOURCE_CALL_OLD = 0x10, /* NIBBLES */
	SOURCE_MAX_OLD = 0x1f,
};

#define TWO_BOUNDS UINT32_MAX
#define IL_BIAS    3
/* Stored as 0 and 1; 2 is code of the compiler's own. */
#define IL_EPILOG (UINT32_MAX - 2)
#define IL_PROLOG (UINT32_MAX - 1)

/* Where a patchpoint information's number of locals lies, and what it has beside four bytes for each:
 * as in .NET 10 and in .NET 8 and 9. */
static const struct {
	uint8_t n_locals, bytes;
} patchpoints[] = {{16, 40}, {8, 32}};

struct nibbles {
	struct sw_bytes bytes;
	uint64_t at; /* which nibble is next */
};

static bool number_read(struct nibbles *n, uint32_t *ret)
{
	uint32_t value = 0;
	for (unsigned i = 0; i < NIBBLES_MAX; i++) {
		uint8_t byte;
		if (value >> 29 != 0 || !sw_bytes_u8(n->bytes, n->at / 2, &byte))
			return false;
		unsigned nibble = n->at % 2 != 0 ? byte >> 4 : byte & 0xf;
		n->at++;
		value = value << 3 | (nibble & 7);
		if (!(nibble & 8)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* How many bytes there were; a nibble that is left of the last one is empty. */
static bool numbers_end(const struct nibbles *n, uint64_t *ret_bytes)
{
	*ret_bytes = (n->at + 1) / 2;
	return n->at % 2 == 0 || n->bytes.data[n->at / 2] >> 4 == 0;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* The entries so far, and the answer. */
struct search {
	const struct sw_clr_debug_info *info;
	uint32_t native_off; /* wanted */
	uint64_t last;       /* native offset of the last entry */
	bool begun, found;
	uint64_t group; /* found: native offset that il_off is of */
	uint32_t il_off;
};

static bool entry_take(struct search *s, uint32_t difference, uint32_t stored_il, bool call)
{
	uint64_t native = s->last + difference;
	uint32_t il_off = stored_il - IL_BIAS;
	if ((!s->begun && native != 0) || native >= s->info->code_bytes ||
	    (stored_il >= IL_BIAS && il_off >= s->info->il_bytes))
		return false;
	s->last = native;
	s->begun = true;
	/* The lowest IL offset of those at the same place counts, as for the runtime itself;
	 * special values are the highest. Source: v10.0.0, vm/debugdebugger.cpp,
	 * WalkILOffsetsCallback(). */
	if (!call && native <= s->native_off &&
	    (!s->found || native != s->group || il_off < s->il_off)) {
		s->found = true;
		s->group = native;
		s->il_off = il_off;
	}
	return true;
}

/* At most 32 bits; the caller has made sure that they are inside. */
static uint32_t bits_read(const uint8_t *bytes, uint64_t at, unsigned n)
{
	uint64_t value = 0;
	unsigned skip = (unsigned) (at % 8), have = 0;
	for (const uint8_t *p = bytes + at / 8; have < skip + n; p++, have += 8)
		value |= (uint64_t) *p << have;
	return (uint32_t) (value >> skip & ((UINT64_C(1) << n) - 1));
}

static bool packed_search(struct sw_bytes b, struct search *s)
{
	struct nibbles head = {b, 0};
	uint32_t n, native_bits, il_bits;
	uint64_t used;
	if (!number_read(&head, &n) || !number_read(&head, &native_bits) ||
	    !number_read(&head, &il_bits) || !numbers_end(&head, &used) || n == 0 ||
	    n > ENTRIES_MAX || native_bits >= FIELD_BITS_MAX || il_bits >= FIELD_BITS_MAX)
		return false;
	native_bits++;
	il_bits++;
	unsigned width = SOURCE_BITS + native_bits + il_bits;
	uint64_t bits = (uint64_t) n * width;
	if ((bits + 7) / 8 != b.size - used)
		return false;
	const uint8_t *entries = b.data + used;
	for (uint64_t at = 0; at < bits; at += width) {
		uint32_t source = bits_read(entries, at, SOURCE_BITS);
		uint64_t native_at = at + SOURCE_BITS;
		if (!entry_take(s, bits_read(entries, native_at, native_bits),
				bits_read(entries, native_at + native_bits, il_bits),
				source & SOURCE_CALL))
			return false;
	}
	return bits % 8 == 0 || entries[bits / 8] >> bits % 8 == 0;
}

static bool nibbles_search(struct sw_bytes b, struct search *s)
{
	struct nibbles in = {b, 0};
	uint64_t used;
	uint32_t n;
	if (!number_read(&in, &n) || n == 0 || n > ENTRIES_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t difference, stored_il, source;
		if (!number_read(&in, &difference) || !number_read(&in, &stored_il) ||
		    !number_read(&in, &source) || source > SOURCE_MAX_OLD ||
		    !entry_take(s, difference, stored_il, source & SOURCE_CALL_OLD))
			return false;
	}
	return numbers_end(&in, &used) && used == b.size;
}

static bool bounds_search(struct sw_memory m, uint64_t avma, uint32_t bytes, struct search *s)
{
	if (bytes == 0 || bytes > BOUNDS_BYTES_MAX)
		return false;
	sw_cleanup(sw_free_p) uint8_t *space = malloc(bytes);
	if (space == NULL || !sw_memory_read(m, avma, space, bytes))
		return false;
	struct sw_bytes b = {space, bytes};
	return s->info->format == SW_CLR_DEBUG_PACKED ? packed_search(b, s) : nibbles_search(b, s);
}

/* ---- where they are -------------------------------------------------------------------------- */

/* The header, or as much as there is: it may be the last thing in a mapping. */
static struct sw_bytes header_read(struct sw_memory m, uint64_t avma, uint8_t to[HEADER_BYTES])
{
	size_t n = HEADER_BYTES;
	while (n > 0 && !sw_memory_read(m, avma, to, n))
		n--;
	return (struct sw_bytes){to, n};
}

/* With the numbers at avma. */
static bool header_search(struct sw_memory m, uint64_t avma, struct search *s)
{
	uint8_t space[HEADER_BYTES];
	struct nibbles head = {.bytes = header_read(m, avma, space)};
	uint32_t bytes, original = 0, variables;
	uint64_t used;
	if (!number_read(&head, &bytes))
		return false;
	if (bytes == TWO_BOUNDS && (!number_read(&head, &bytes) || !number_read(&head, &original)))
		return false;
	if (!number_read(&head, &variables) || !numbers_end(&head, &used) ||
	    variables > VARIABLES_BYTES_MAX || bytes > BOUNDS_BYTES_MAX)
		return false;
	uint64_t bounds = avma + used;
	return original != 0 ? bounds_search(m, bounds + bytes, original, s)
			     : bounds_search(m, bounds, bytes, s);
}

/* From behind the patchpoint information on. */
static bool rest_search(struct sw_memory m, uint64_t avma, uint8_t flags, struct search *s)
{
	uint32_t rich;
	if (flags & FLAG_RICH) {
		if (!sw_clr_u32(m, avma, 0, &rich) || rich > RICH_BYTES_MAX)
			return false;
		avma += 4 + (uint64_t) rich;
	}
	return header_search(m, avma, s);
}

static bool info_search(struct sw_memory m, struct search *s)
{
	const struct search empty = *s;
	uint64_t avma = s->info->avma;
	uint8_t flags;
	if (s->info->bare)
		return header_search(m, avma, s);
	if (!sw_clr_u8(m, avma, 0, &flags) || (flags & ~(FLAG_PATCHPOINT | FLAG_RICH)) != 0)
		return false;
	if (!(flags & FLAG_PATCHPOINT))
		return rest_search(m, avma + 1, flags, s);
	for (size_t i = 0; i < SW_ARRAY_SIZE(patchpoints); i++) {
		uint32_t locals;
		*s = empty;
		if (sw_clr_u32(m, avma, 1 + (uint64_t) patchpoints[i].n_locals, &locals) &&
		    locals <= LOCALS_MAX &&
		    rest_search(m, avma + 1 + patchpoints[i].bytes + 4 * (uint64_t) locals, flags,
				s))
			return true;
	}
	return false;
}

bool sw_clr_il_offset(struct sw_memory memory, const struct sw_clr_debug_info *info,
		      uint32_t native_off, uint32_t *ret_il_off)
{
	struct search s = {.info = info, .native_off = native_off};
	if (info->format == SW_CLR_DEBUG_UNKNOWN || native_off >= info->code_bytes ||
	    !info_search(memory, &s))
		return false;
	/* A funclet has a prologue, too, but the method does not begin there. */
	bool begin = s.il_off == IL_PROLOG && s.group == 0;
	if (!s.found || (s.il_off >= IL_EPILOG && !begin))
		return false;
	*ret_il_off = begin ? 0 : s.il_off;
	return true;
}
