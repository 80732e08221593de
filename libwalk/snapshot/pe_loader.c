/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/pe_loader.h"
#include "bytes.h"

enum {
	TEB_SELF = 0x30,
	TEB_THREAD_ID = 0x48,
	TEB_PEB = 0x60,
	PEB_LDR = 0x18,
	LDR_LOAD_ORDER = 0x10, /* head of the list; entries begin with their links */
	ENTRY_BASE = 0x30,
	ENTRY_NAME = 0x48, /* UNICODE_STRING: u16 bytes, u16 capacity, u64 at +8 */
	ENTRY_BYTES = 0x58,
	NAME_UNITS_MAX = (SW_PE_NAME_BYTES - 1) / 4,
};

bool sw_pe_is_teb(struct sw_memory memory, uint64_t gs_base)
{
	uint64_t self;
	return gs_base != 0 && gs_base % sizeof(uint64_t) == 0 && gs_base <= INT64_MAX &&
	       sw_memory_u64(memory, gs_base + TEB_SELF, &self) && self == gs_base;
}

bool sw_pe_thread_id(struct sw_memory memory, uint64_t gs_base, uint64_t *ret)
{
	return sw_pe_is_teb(memory, gs_base) && sw_memory_u64(memory, gs_base + TEB_THREAD_ID, ret);
}

/* RFC 3629; at most 4 bytes. */
static size_t utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char) c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		to[i] = (char) (0x80 | (c & 0x3f));
	to[0] = (char) (lead[n] | c);
	return n;
}

/* UTF-16 to UTF-8; what is no pair of surrogates becomes U+FFFD, control characters too. */
static void name_convert(struct sw_bytes units, char name[SW_PE_NAME_BYTES])
{
	size_t n = 0;
	uint16_t unit, low;
	/* Each turn takes a unit at least; units.size bounds what name must hold. */
	for (uint64_t at = 0; sw_bytes_u16(units, at, &unit); at += sizeof(unit)) {
		uint32_t c = unit;
		if ((unit & 0xfc00) == 0xd800 && sw_bytes_u16(units, at + sizeof(unit), &low) &&
		    (low & 0xfc00) == 0xdc00) {
			c = 0x10000 + ((uint32_t) (unit & 0x3ff) << 10 | (low & 0x3ff));
			at += sizeof(low);
		} else if ((unit & 0xf800) == 0xd800 || unit < 0x20) {
			c = 0xfffd;
		}
		n += utf8_put(name + n, c);
	}
	name[n] = '\0';
}

static void name_read(struct sw_memory memory, struct sw_bytes entry, char name[SW_PE_NAME_BYTES])
{
	uint8_t units[NAME_UNITS_MAX * 2];
	uint16_t bytes = 0;
	uint64_t at_avma = 0;
	(void) sw_bytes_u16(entry, ENTRY_NAME, &bytes); /* inside ENTRY_BYTES */
	(void) sw_bytes_u64(entry, ENTRY_NAME + 8, &at_avma);
	name[0] = '\0';
	if (bytes <= sizeof(units) && sw_memory_read(memory, at_avma, units, bytes))
		name_convert((struct sw_bytes){units, bytes}, name);
}

bool sw_pe_loaded_each(struct sw_memory memory, uint64_t teb_avma,
		       bool (*each)(void *arg, const struct sw_pe_loaded *loaded), void *arg)
{
	uint64_t peb, ldr, head, at;
	if (!sw_memory_u64(memory, teb_avma + TEB_PEB, &peb) ||
	    __builtin_add_overflow(peb, PEB_LDR, &at) || !sw_memory_u64(memory, at, &ldr) ||
	    __builtin_add_overflow(ldr, LDR_LOAD_ORDER, &head) || !sw_memory_u64(memory, head, &at))
		return false;
	for (size_t n = 0; at != head; n++) {
		uint8_t raw[ENTRY_BYTES];
		struct sw_pe_loaded loaded = {0};
		if (n == SW_PE_LOADED_MAX || !sw_memory_read(memory, at, raw, sizeof(raw)))
			return false;
		struct sw_bytes entry = {raw, sizeof(raw)};
		(void) sw_bytes_u64(entry, ENTRY_BASE, &loaded.base_avma); /* inside */
		(void) sw_bytes_u64(entry, 0, &at);
		name_read(memory, entry, loaded.name);
		if (loaded.base_avma != 0 && !each(arg, &loaded))
			return true;
	}
	return true;
}
