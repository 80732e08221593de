/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Probes in the notes of a program, which was moved after they were written. */
#include "elf_image.h"
#include "test.h"

#include <snapwalk/event.h>

enum {
	BASE = IMAGE_SECTIONS, /* where .stapsdt.base is now */
	MOVED = 0x1000,
	NOTE_BYTES = 0x80,
	TYPE = 3,
	PROBES = 2,
};

static const uint8_t code[] = {0x48, 0x89, 0xf8, 0xc3, 0x90, 0xc3}; /* mov; ret; nop; ret */

/* Name, version and value are each padded to 8 bytes. */
static void note_put(uint8_t *to, uint32_t type, const uint64_t words[3], const char *texts,
		     size_t texts_size)
{
	const uint32_t head[3] = {8, (uint32_t) (24 + texts_size), type};
	memcpy(to, head, sizeof(head));
	memcpy(to + 12, "stapsdt", 8);
	memcpy(to + 24, words, 24);
	memcpy(to + 48, texts, texts_size);
}

static struct sw_event_probe found[PROBES];
static size_t n_found;

static void each(void *arg, const struct sw_event_probe *probe)
{
	assert_true(n_found < PROBES);
	found[n_found++] = *probe;
}

static void probes_find(const struct image_section *sections, size_t n)
{
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .sections = sections,
					  .n_sections = n};
	static uint8_t *image;
	free(image); /* texts of probes lie in it */
	image = elf_image(&parts);
	n_found = 0;
	memset(found, 0, sizeof(found));
	assert_int_equal(sw_event_probes(image, IMAGE_BYTES, each, NULL, NULL), 0);
}

/* The size of what note_put() has put, and its padding. */
static size_t note_size(size_t texts_size)
{
	return (48 + texts_size + 7) & ~(size_t) 7;
}

TEST(test_probes)
{
	static const char texts[] = "app\0begin\0-4@%edi 8@%rsi", more[] = "app\0end\0";
	const uint64_t at[][3] = {{IMAGE_CODE + 4 - MOVED, BASE - MOVED, 0x8000 - MOVED},
				  {IMAGE_CODE - MOVED, BASE - MOVED, 0}};
	uint8_t notes[3 * NOTE_BYTES] = {0};
	size_t size = 0;
	note_put(notes, TYPE, at[0], texts, sizeof(texts));
	size += note_size(sizeof(texts));
	note_put(notes + size, TYPE - 1, at[0], texts, sizeof(texts)); /* of another kind */
	size += note_size(sizeof(texts));
	note_put(notes + size, TYPE, at[1], more, sizeof(more));
	size += note_size(sizeof(more));
	const struct image_section sections[] = {
		{".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, "", 1, 0, 0},
		{".note.stapsdt", SHT_NOTE, 0, notes, size, 0, 0},
	};
	probes_find(sections, 2);
	assert_int_equal(n_found, PROBES);
	assert_string_equal(found[0].provider, "app");
	assert_string_equal(found[0].name, "begin");
	assert_int_equal(found[0].place.file_off, IMAGE_CODE + 4);
	assert_int_equal(found[0].place.semaphore_off, 0x8000);
	assert_true(found[0].place.emulated);
	assert_true(found[0].place.is_declared);
	assert_int_equal(found[0].place.n_operands, 2);
	assert_string_equal(found[1].name, "end");
	assert_int_equal(found[1].place.file_off, IMAGE_CODE);
	assert_int_equal(found[1].place.semaphore_off, 0);
	assert_false(found[1].place.emulated);
	assert_int_equal(found[1].place.n_operands, 0);
	/* Without the section whose address tells how far it was moved, it was not. */
	probes_find(sections + 1, 1);
	assert_int_equal(n_found, PROBES);
	assert_int_equal(found[0].place.file_off, IMAGE_CODE + 4 - MOVED);
	/* Notes that are cut have the probes before the cut. */
	struct image_section cut = sections[1];
	cut.size = size - 8;
	probes_find(&cut, 1);
	assert_int_equal(n_found, 1);
	assert_string_equal(found[0].name, "begin");
}
