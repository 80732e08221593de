/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/pe_loader.h"
#include "bytes.h"
#include "utf16.h"

enum {
	ENTRY_BYTES = 0x58, /* read of an entry: enough for both */
	/* Above the first frame of a thread is space for four arguments (Wine 8.0 and 10.0,
	 * dlls/ntdll/unix/signal_x86_64.c, call_init_thunk(): rsp = StackBase - 0x28; of i386
	 * esp = StackBase - 0x10). */
	STACK_TOP_BYTES = 0x40,
	ALLOCATION_BYTES = 0x10000,
	NAME_UNITS_MAX = (SW_PE_NAME_BYTES - 1) / SW_UTF16_UNIT_BYTES,
};

/* Offsets of fields. */
struct layout {
	uint8_t teb_stack_base, teb_self, teb_thread_id, teb_peb;
	uint8_t peb_ldr, ldr_load_order; /* head of the list; entries begin with their links */
	uint8_t entry_base;
	uint8_t entry_name, entry_name_avma; /* UNICODE_STRING: u16 bytes, u16 capacity, pointer */
};

static const struct layout *layout_of(struct sw_memory memory)
{
	static const struct layout layouts[2] = {
		{0x08, 0x30, 0x48, 0x60, 0x18, 0x10, 0x30, 0x48, 0x50},
		{0x04, 0x18, 0x24, 0x30, 0x0c, 0x0c, 0x18, 0x24, 0x28},
	};
	return &layouts[sw_memory_is_32bit(memory)];
}

static uint64_t word_at(struct sw_memory memory, struct sw_bytes entry, uint64_t off)
{
	uint64_t value = 0;
	uint32_t half = 0;
	/* Inside ENTRY_BYTES: none can fail. */
	if (!sw_memory_is_32bit(memory))
		(void) sw_bytes_u64(entry, off, &value);
	else if (sw_bytes_u32(entry, off, &half))
		value = half;
	return value;
}

bool sw_pe_is_teb(struct sw_memory memory, uint64_t gs_base)
{
	uint64_t self;
	return gs_base != 0 && gs_base % sizeof(uint64_t) == 0 && gs_base <= INT64_MAX &&
	       sw_memory_word(memory, gs_base + layout_of(memory)->teb_self, &self) &&
	       self == gs_base;
}

bool sw_pe_thread_id(struct sw_memory memory, uint64_t gs_base, uint64_t *ret)
{
	return sw_pe_is_teb(memory, gs_base) &&
	       sw_memory_word(memory, gs_base + layout_of(memory)->teb_thread_id, ret);
}

static bool is_below(uint64_t sp_avma, uint64_t top_avma)
{
	return sp_avma <= top_avma && top_avma - sp_avma <= STACK_TOP_BYTES;
}

bool sw_pe_is_stack_top(struct sw_memory memory, uint64_t gs_base, uint64_t sp_avma)
{
	uint64_t top;
	if (!sw_pe_is_teb(memory, gs_base) ||
	    !sw_memory_word(memory, gs_base + layout_of(memory)->teb_stack_base, &top))
		return false;
	return is_below(sp_avma, top) ||
	       is_below(sp_avma, (sp_avma + ALLOCATION_BYTES - 1) & -(uint64_t) ALLOCATION_BYTES);
}

static void name_read(struct sw_memory memory, struct sw_bytes entry, char name[SW_PE_NAME_BYTES])
{
	uint8_t units[NAME_UNITS_MAX * 2];
	uint16_t bytes = 0;
	const struct layout *l = layout_of(memory);
	(void) sw_bytes_u16(entry, l->entry_name, &bytes); /* inside ENTRY_BYTES */
	uint64_t at_avma = word_at(memory, entry, l->entry_name_avma);
	name[0] = '\0';
	if (bytes <= sizeof(units) && sw_memory_read(memory, at_avma, units, bytes))
		sw_utf16_convert((struct sw_bytes){units, bytes}, name);
}

bool sw_pe_loaded_each(struct sw_memory memory, uint64_t teb_avma,
		       bool (*each)(void *arg, const struct sw_pe_loaded *loaded), void *arg)
{
	const struct layout *l = layout_of(memory);
	uint64_t peb, ldr, head, at;
	if (!sw_memory_word(memory, teb_avma + l->teb_peb, &peb) ||
	    __builtin_add_overflow(peb, l->peb_ldr, &at) || !sw_memory_word(memory, at, &ldr) ||
	    __builtin_add_overflow(ldr, l->ldr_load_order, &head) ||
	    !sw_memory_word(memory, head, &at))
		return false;
	for (size_t n = 0; at != head; n++) {
		uint8_t raw[ENTRY_BYTES];
		struct sw_pe_loaded loaded = {0};
		if (n == SW_PE_LOADED_MAX || !sw_memory_read(memory, at, raw, sizeof(raw)))
			return false;
		struct sw_bytes entry = {raw, sizeof(raw)};
		loaded.base_avma = word_at(memory, entry, l->entry_base);
		at = word_at(memory, entry, 0);
		name_read(memory, entry, loaded.name);
		if (loaded.base_avma != 0 && !each(arg, &loaded))
			return true;
	}
	return true;
}
