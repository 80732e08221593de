/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sources of lines of managed code, as anybody wrote them. The first byte says what the rest
 * is:
 *
 *	P	a portable PDB, which is asked for lines of its first methods
 *	M, F	an image with a debug directory, mapped or as its file; an embedded PDB is unpacked and asked
 *	D	debug information of the JIT compiler, in both ways of writing; u16 bytes of code and u16 bytes
 *		of IL come before it
 */
#include "fuzz.h"
#include "runtimes/clr/published/debug_info.h"
#include "runtimes/clr/metadata/pdb.h"
#include "cleanup.h"
#include "fake.h"
#include "runtimes/clr/metadata/debug_directory.h"

#include <string.h>

enum {
	AVMA = 0x10000,
	METHODS = 8,
	READS_MAX = 4096, /* of the target, for one question */
};

static void lines(const uint8_t *bytes, size_t n, const uint8_t *id)
{
	static const uint32_t offsets[] = {0, 1, 7, 100, 0xffff, UINT32_MAX - 1, SW_CLR_IL_UNKNOWN};
	struct sw_clr_pdb pdb;
	if (!sw_clr_pdb_open(&pdb, (struct sw_bytes){bytes, n}, id))
		return;
	for (uint32_t method = 0; method < METHODS; method++)
		for (size_t i = 0; i < SW_ARRAY_SIZE(offsets); i++) {
			sw_cleanup(sw_text_deinit) struct sw_text file = {0};
			uint32_t line = 0;
			if (!sw_clr_pdb_line(&pdb, method, offsets[i], &file, &line))
				continue;
			if (line == 0 || file.size == 0 || file.size > SW_CLR_NAME_MAX)
				__builtin_trap();
			for (size_t c = 0; c < file.size; c++)
				if ((unsigned char) file.data[c] < 0x20)
					__builtin_trap(); /* a name is one line */
		}
}

/* With the id that it says itself. */
static void pdb_fuzz(const uint8_t *bytes, size_t n)
{
	const struct fake_region region = {AVMA, bytes, n};
	struct fake_memory fake = {&region, 1, 0};
	struct sw_clr_metadata m;
	uint8_t id[SW_CLR_PDB_ID_BYTES];
	if (sw_clr_metadata_open(fake_memory(&fake), AVMA, n, &m) &&
	    sw_memory_read(m.memory, m.pdb_avma, id, sizeof(id)))
		lines(bytes, n, id);
}

static void image_fuzz(const uint8_t *bytes, size_t n, bool mapped)
{
	const struct fake_region region = {AVMA, bytes, n};
	struct fake_memory fake = {&region, 1, 0};
	struct sw_clr_pe pe;
	struct sw_clr_metadata m;
	struct sw_clr_pdb_link link;
	uint32_t il_bytes;
	if (!sw_clr_pe_open(fake_memory(&fake), AVMA, mapped, &pe))
		return;
	if (sw_clr_pe_metadata(&pe, &m))
		for (uint32_t method = 0; method < METHODS; method++)
			(void) sw_clr_il_bytes(&pe, &m, method, &il_bytes); /* or it has none */
	if (!sw_clr_pdb_link_find(&pe, &link))
		return;
	if (fake.reads > READS_MAX)
		__builtin_trap();
	/* The embedded PDB has at most n bytes; its unpacked size may be anything. */
	if (link.embedded_avma == 0 || link.unpacked_bytes > 1 << 20 || link.embedded_bytes > n)
		return;
	sw_cleanup(sw_free_p) uint8_t *unpacked = sw_clr_pdb_unpack(pe.memory, &link);
	if (unpacked != NULL)
		lines(unpacked, link.unpacked_bytes, link.id);
}

static void debug_fuzz(const uint8_t *bytes, size_t n)
{
	uint16_t limits[2];
	if (n < sizeof(limits))
		return;
	memcpy(limits, bytes, sizeof(limits));
	const struct fake_region region = {AVMA, bytes + sizeof(limits), n - sizeof(limits)};
	for (int way = 0; way < 2 * (SW_CLR_DEBUG_PACKED + 1); way++) {
		struct fake_memory fake = {&region, 1, 0};
		const struct sw_clr_debug_info info = {AVMA, limits[0], limits[1],
						       (enum sw_clr_debug_format)(way / 2),
						       way % 2};
		for (uint32_t native_off = 0; native_off < 64; native_off += 3) {
			uint32_t il_off;
			fake.reads = 0;
			bool found =
				sw_clr_il_offset(fake_memory(&fake), &info, native_off, &il_off);
			/* Nothing that cannot be comes out: that is what is promised. */
			if (fake.reads > READS_MAX ||
			    (found &&
			     (native_off >= limits[0] || (il_off >= limits[1] && il_off != 0))))
				__builtin_trap();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	switch (data[0]) {
	case 'P': pdb_fuzz(data + 1, size - 1); break;
	case 'M':
	case 'F': image_fuzz(data + 1, size - 1, data[0] == 'M'); break;
	case 'D': debug_fuzz(data + 1, size - 1); break;
	default: break;
	}
	return 0;
}
