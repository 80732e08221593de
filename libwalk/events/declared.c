/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes that a program declares: notes of sys/sdt.h, version 3 of SystemTap's format.
 *
 *	three words: place, address of .stapsdt.base, semaphore | provider NUL | name NUL | operands NUL
 *
 * Source: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation; sys/sdt.h of SystemTap 4.8.
 */
#include "errors.h"
#include "events/operands.h"
#include "events/place.h"
#include "formats/elf_file.h"

#include <string.h>

enum { NOTE_TYPE = 3, PROBES_MAX = 1 << 20 };

struct probes {
	struct sw_elf elf;
	struct sw_bytes image;
	bool has_base;
	uint64_t base_svma;
};

/* Where the byte at an address is in the file. */
static bool off_of(const struct probes *p, uint64_t svma, uint64_t *ret, struct sw_bytes *ret_bytes)
{
	if (!sw_elf_loaded(&p->elf, svma, ret_bytes))
		return false;
	*ret = (uint64_t) (ret_bytes->data - p->image.data);
	return true;
}

static bool probe_read(const struct probes *p, const struct sw_elf_note *note,
		       struct sw_event_probe *ret)
{
	uint64_t words[3];
	struct sw_bytes code, semaphore;
	if (note->type != NOTE_TYPE || note->name.size < sizeof("stapsdt") ||
	    memcmp(note->name.data, "stapsdt", sizeof("stapsdt")) != 0 ||
	    !sw_bytes_copy(note->value, 0, words, sizeof(words)))
		return false;
	*ret = (struct sw_event_probe){
		.place = {.file_fd = -EBADF, .is_declared = true},
	};
	uint64_t at = sizeof(words);
	if (!sw_bytes_str(note->value, at, &ret->provider))
		return false;
	at += strlen(ret->provider) + 1;
	if (!sw_bytes_str(note->value, at, &ret->name))
		return false;
	at += strlen(ret->name) + 1;
	if (!sw_bytes_str(note->value, at, &ret->operands))
		return false;
	uint64_t moved = p->has_base ? p->base_svma - words[1] : 0;
	if (!off_of(p, words[0] + moved, &ret->place.file_off, &code))
		return false;
	if (words[2] != 0 && !off_of(p, words[2] + moved, &ret->place.semaphore_off, &semaphore))
		return false;
	ret->place.emulated = sw_place_is_emulated(code.data, code.size);
	ret->place.n_operands =
		sw_operands_parse(ret->operands, ret->place.operands, SW_EVENT_ARGUMENTS);
	return true;
}

int sw_event_probes(const void *image, size_t image_size,
		    void (*each)(void *arg, const struct sw_event_probe *probe), void *arg,
		    struct sw_error *err)
{
	struct probes p = {.image = {image, image_size}};
	struct sw_elf_section section;
	struct sw_elf_note note;
	struct sw_event_probe probe;
	struct sw_bytes notes;
	uint64_t off = 0;
	if (!sw_elf_init(&p.elf, p.image) || p.elf.is_32bit ||
	    p.elf.header.e_machine != EM_X86_64 ||
	    !sw_elf_section_named(&p.elf, ".note.stapsdt", &section) ||
	    !sw_elf_section_bytes(&p.elf, &section, &notes))
		return 0;
	struct sw_elf_section base;
	p.has_base = sw_elf_section_named(&p.elf, ".stapsdt.base", &base);
	p.base_svma = p.has_base ? base.svma : 0;
	for (uint64_t i = 0; sw_elf_note(notes, section.align, &off, &note); i++) {
		if (i == PROBES_MAX)
			return sw_fail(err, SW_E_LIMIT, "it declares more than %d probes",
				       PROBES_MAX);
		if (probe_read(&p, &note, &probe))
			each(arg, &probe);
	}
	return 0;
}
