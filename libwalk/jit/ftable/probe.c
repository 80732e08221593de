/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files have a registry of <snapwalk/ftable.h>: by a symbol, or by a note. */
#include "jit/common/probe.h"
#include "jit/ftable/tables.h"

enum { NOTES_MAX = 4096 }; /* of a file */

/* The note of <snapwalk/ftable.h> in one segment of notes. */
static void notes_probe(struct sw_bytes notes, const struct sw_elf_segment *segment,
			struct sw_jit_probe *probe)
{
	static const char name[] = "snapwalk";
	struct sw_elf_note note;
	uint64_t off = 0, distance;
	for (size_t n = 0; n < NOTES_MAX && sw_elf_note(notes, segment->align, &off, &note); n++)
		if (note.type == SWFT_NOTE_TYPE && note.name.size == sizeof(name) &&
		    memcmp(note.name.data, name, sizeof(name)) == 0 &&
		    note.value.size == sizeof(distance) && sw_bytes_u64(note.value, 0, &distance))
			(void) sw_jit_probe_add(probe,
						segment->svma +
							(uint64_t) (note.value.data - notes.data) +
							distance,
						0); /* full: there are others */
}

void sw_ftable_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe)
{
	struct sw_elf_symbol symbol;
	struct sw_elf_segment s;
	struct sw_bytes notes;
	/* Who has the symbol has notes, too, but all the same: the note of each of its files. */
	if (sw_elf_symbols_find(symbols, "snapwalk_ftable_v1", &symbol)) {
		(void) sw_jit_probe_add(probe, symbol.svma, 0); /* full: there are others */
		return;
	}
	for (uint32_t i = 0; sw_elf_segment(symbols->elf, i, &s); i++)
		if (s.type == PT_NOTE &&
		    sw_bytes_sub(symbols->elf->image, s.off, s.file_bytes, &notes))
			notes_probe(notes, &s, probe);
}
