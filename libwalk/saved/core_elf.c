/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The outer shape of ELF core files: header and program headers.
 */
#include "saved/core_elf.h"
#include "errors.h"
#include "formats/elf_file.h"

#include <stdlib.h>

static const char *compressed_as(struct sw_bytes file)
{
	static const struct {
		const char *name;
		uint8_t size, magic[6];
	} formats[] = {
		{"zstd", 4, {0x28, 0xb5, 0x2f, 0xfd}}, {"xz", 6, {0xfd, '7', 'z', 'X', 'Z', 0}},
		{"lz4", 4, {0x04, 0x22, 0x4d, 0x18}},  {"gzip", 2, {0x1f, 0x8b}},
		{"bzip2", 3, {'B', 'Z', 'h'}},
	};
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (file.size >= formats[i].size &&
		    memcmp(file.data, formats[i].magic, formats[i].size) == 0)
			return formats[i].name;
	return NULL;
}

static int check_kind(struct sw_bytes file, const char *name, struct sw_error *err)
{
	const char *compressed = compressed_as(file);
	if (compressed != NULL)
		return sw_fail(err, SW_E_FORMAT, "%s: compressed with %s: decompress it first",
			       name, compressed);
	if (file.size < SELFMAG || memcmp(file.data, ELFMAG, SELFMAG) != 0)
		return sw_fail(err, SW_E_FORMAT, "%s: not an ELF file, thus no core file", name);
	if (file.size < sizeof(Elf32_Ehdr))
		return sw_fail(err, SW_E_FORMAT, "%s: cut short within the ELF header", name);
	if (file.data[EI_DATA] != ELFDATA2LSB)
		return sw_fail(err, SW_E_ARCH, "%s: of a big-endian machine", name);
	/* Type and machine are at the same place in 32-bit and 64-bit files. */
	uint16_t type = 0, machine = 0;
	(void) sw_bytes_u16(file, offsetof(Elf64_Ehdr, e_type), &type);
	(void) sw_bytes_u16(file, offsetof(Elf64_Ehdr, e_machine), &machine);
	switch (type) {
	case ET_CORE: break;
	case ET_EXEC:
	case ET_DYN:
		return sw_fail(err, SW_E_FORMAT, "%s: a program or shared library, not a core file",
			       name);
	case ET_REL: return sw_fail(err, SW_E_FORMAT, "%s: an object file, not a core file", name);
	default:
		return sw_fail(err, SW_E_FORMAT, "%s: an ELF file of type %u, not a core file",
			       name, type);
	}
	bool is_32bit = file.data[EI_CLASS] == ELFCLASS32;
	if (!is_32bit && file.data[EI_CLASS] != ELFCLASS64)
		return sw_fail(err, SW_E_FORMAT, "%s: an ELF file of unknown class", name);
	if (machine != (is_32bit ? EM_386 : EM_X86_64))
		return sw_fail(err, SW_E_ARCH,
			       "%s: a core file of another machine (ELF machine %u)", name,
			       machine);
	if (!is_32bit && file.size < sizeof(Elf64_Ehdr))
		return sw_fail(err, SW_E_FORMAT, "%s: cut short within the ELF header", name);
	return 0;
}

/* The bytes of [offset, offset + size) that the file holds; counts those it does not. */
static struct sw_bytes clip(struct sw_bytes file, uint64_t offset, uint64_t size,
			    uint64_t *missing_bytes)
{
	uint64_t held = offset < file.size ? file.size - offset : 0;
	if (held > size)
		held = size;
	if (__builtin_add_overflow(*missing_bytes, size - held, missing_bytes))
		*missing_bytes = UINT64_MAX;
	if (held == 0)
		return (struct sw_bytes){NULL, 0};
	return (struct sw_bytes){file.data + offset, (size_t) held};
}

static uint32_t prot_of(uint32_t flags)
{
	return (flags & PF_R ? SW_MAP_READ : 0) | (flags & PF_W ? SW_MAP_WRITE : 0) |
	       (flags & PF_X ? SW_MAP_EXEC : 0);
}

static void take_segment(struct sw_core_elf *core, struct sw_bytes file, struct sw_elf_segment *s)
{
	uint64_t end;
	if (s->type == PT_NOTE && core->n_notes == SW_CORE_NOTE_SEGMENTS_MAX) {
		core->limited = true;
	} else if (s->type == PT_NOTE) {
		core->notes[core->n_notes++] =
			clip(file, s->off, s->file_bytes, &core->missing_bytes);
	} else if (s->type == PT_LOAD && s->memory_bytes > 0 &&
		   !__builtin_add_overflow(s->svma, s->memory_bytes, &end)) {
		if (s->file_bytes > s->memory_bytes)
			s->file_bytes = s->memory_bytes;
		core->segments[core->n_segments++] = (struct sw_core_segment){
			.start_avma = s->svma,
			.end_avma = end,
			.data = clip(file, s->off, s->file_bytes, &core->missing_bytes),
			.prot = prot_of(s->flags),
		};
	}
}

/* When the count is lost, the table ends where the first of its contents begins. */
static void take_segments(struct sw_core_elf *core, const struct sw_elf *elf, uint32_t count)
{
	uint64_t end_off = UINT64_MAX;
	struct sw_elf_segment s;
	for (uint32_t i = 0; i < count && sw_elf_segment(elf, i, &s); i++) {
		if (elf->n_segments_said == UINT64_MAX &&
		    elf->header.e_phoff + i * sw_elf_segment_bytes(&elf->header) >= end_off)
			return;
		if (s.off < end_off)
			end_off = s.off;
		take_segment(core, elf->image, &s);
	}
}

static int compare_segments(const void *a, const void *b)
{
	const struct sw_core_segment *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

/* By address; of overlapping ones, which no real core has, the first stays. */
static void sort_segments(struct sw_core_elf *core)
{
	if (core->n_segments == 0)
		return;
	qsort(core->segments, core->n_segments, sizeof(*core->segments), compare_segments);
	size_t kept = 1;
	for (size_t i = 1; i < core->n_segments; i++)
		if (core->segments[i].start_avma >= core->segments[kept - 1].end_avma)
			core->segments[kept++] = core->segments[i];
	core->n_segments = kept;
}

int sw_core_elf_parse(struct sw_arena *arena, struct sw_bytes file, const char *name,
		      struct sw_core_elf *ret, struct sw_error *err)
{
	int r = check_kind(file, name, err);
	if (r < 0)
		return r;
	struct sw_elf elf;
	(void) sw_elf_init_core(&elf, file); /* it is one: checked */
	size_t segment_bytes = sw_elf_segment_bytes(&elf.header);
	if (elf.header.e_phentsize != segment_bytes)
		return sw_fail(err, SW_E_FORMAT, "%s: program headers of %u bytes", name,
			       elf.header.e_phentsize);
	struct sw_core_elf core = {.is_32bit = elf.is_32bit};
	uint32_t count = elf.n_segments;
	if (elf.n_segments_said == UINT64_MAX)
		core.missing_bytes = elf.header.e_shentsize;
	else
		core.missing_bytes = (elf.n_segments_said - count) * segment_bytes;
	core.limited = count > SW_CORE_SEGMENTS_MAX;
	if (core.limited)
		count = SW_CORE_SEGMENTS_MAX;
	if (count == 0)
		return sw_fail(err, SW_E_FORMAT, "%s: no program headers: cut short?", name);
	core.segments = sw_arena_calloc(arena, count, sizeof(*core.segments));
	core.notes = sw_arena_calloc(arena, SW_CORE_NOTE_SEGMENTS_MAX, sizeof(*core.notes));
	if (core.segments == NULL || core.notes == NULL)
		return sw_fail_nomem(err);
	take_segments(&core, &elf, count);
	sort_segments(&core);
	*ret = core;
	return 0;
}

size_t sw_core_elf_next(const struct sw_core_elf *core, uint64_t avma)
{
	size_t low = 0, high = core->n_segments;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (core->segments[middle].end_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct sw_core_segment *sw_core_elf_segment(const struct sw_core_elf *core, uint64_t avma)
{
	size_t i = sw_core_elf_next(core, avma);
	return i < core->n_segments && core->segments[i].start_avma <= avma ? &core->segments[i]
									    : NULL;
}

bool sw_core_elf_read(const struct sw_core_elf *core, uint64_t avma, void *buffer, size_t length)
{
	uint8_t *to = buffer;
	while (length > 0) {
		const struct sw_core_segment *s = sw_core_elf_segment(core, avma);
		if (s == NULL || avma - s->start_avma >= s->data.size)
			return false;
		size_t offset = (size_t) (avma - s->start_avma);
		size_t n = s->data.size - offset < length ? s->data.size - offset : length;
		memcpy(to, s->data.data + offset, n);
		to += n;
		length -= n;
		if (__builtin_add_overflow(avma, n, &avma) && length > 0)
			return false;
	}
	return true;
}
