/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files have a registry of <snapwalk/ftable.h>: by a symbol, or by a note. */
#include "jit/common/probe.h"
#include "jit/ftable/tables.h"

#include <elf.h>

enum {
	NOTES_MAX = 4096, /* of a file */
	PHDRS_MAX = 4096,
	NOTE_HEAD_BYTES = 12,
	NOTE_NAME_BYTES = 12, /* "snapwalk", NUL, and three to be a multiple of 4 */
};

/* The note of <snapwalk/ftable.h> in one segment of notes: gABI 4.3, "Note Section". */
static void notes_probe(struct sw_bytes notes, uint64_t notes_svma, struct sw_jit_probe *probe)
{
	static const char name[NOTE_NAME_BYTES] = "snapwalk";
	uint64_t off = 0;
	for (size_t n = 0; n < NOTES_MAX; n++) {
		uint32_t head[3]; /* bytes of the name, of what it says; type */
		uint64_t distance;
		if (!sw_bytes_copy(notes, off, head, sizeof(head)))
			return;
		uint64_t says = off + NOTE_HEAD_BYTES + ((uint64_t) head[0] + 3) / 4 * 4;
		if (head[0] == strlen(name) + 1 && head[2] == SWFT_NOTE_TYPE &&
		    head[1] == sizeof(distance) &&
		    sw_bytes_has(notes, off + NOTE_HEAD_BYTES, sizeof(name)) &&
		    memcmp(notes.data + off + NOTE_HEAD_BYTES, name, sizeof(name)) == 0 &&
		    sw_bytes_u64(notes, says, &distance))
			(void) sw_jit_probe_add(probe, notes_svma + says + distance, 0);
		off = says + ((uint64_t) head[1] + 3) / 4 * 4;
	}
}

void sw_ftable_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe)
{
	struct sw_elf_symbol symbol;
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	/* Who has the symbol has notes, too, but all the same: the note of each of its files. */
	if (sw_elf_symbols_find(symbols, "snapwalk_ftable_v1", &symbol)) {
		(void) sw_jit_probe_add(probe, symbol.svma, 0); /* full: there are others */
		return;
	}
	if (!sw_bytes_copy(symbols->image, 0, &ehdr, sizeof(ehdr)) ||
	    ehdr.e_phentsize != sizeof(phdr))
		return;
	for (size_t i = 0; i < ehdr.e_phnum && i < PHDRS_MAX; i++) {
		struct sw_bytes notes;
		if (sw_bytes_copy(symbols->image, ehdr.e_phoff + i * sizeof(phdr), &phdr,
				  sizeof(phdr)) &&
		    phdr.p_type == PT_NOTE &&
		    sw_bytes_sub(symbols->image, phdr.p_offset, phdr.p_filesz, &notes))
			notes_probe(notes, phdr.p_vaddr, probe);
	}
}
