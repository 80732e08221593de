/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Debug information for the symbolizer, by libdw: the first byte picks a whole file of fuzz_elfsym's
 * corpus, what follows is laid over its sections: u8 section | u8 n | n bytes for lay_over(). The rest of
 * the file stays right, so that what is read is what was changed.
 */
#include "fuzz.h"
#include "cleanup.h"
#include "elf_file.h"
#include "lay_over.h"
#include "symbolize_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MAX = 1 << 16 };

static const char *const files[] = {"dwarf3", "dwarf4", "dwarf5", "clang", "split4", "split5"};
static const char *const sections[] = {
	".debug_info",     ".debug_abbrev",      ".debug_line",   ".debug_str",
	".debug_line_str", ".debug_aranges",     ".debug_ranges", ".debug_rnglists",
	".debug_addr",     ".debug_str_offsets", ".symtab",       ".strtab",
};

struct original {
	uint8_t bytes[FILE_MAX];
	size_t size;
};

static const struct original *original_get(size_t which)
{
	static struct original kept[SW_ARRAY_SIZE(files)];
	struct original *o = &kept[which];
	char path[4096];
	if (o->size > 0)
		return o;
	(void) snprintf(path, sizeof(path), SW_TESTS_DIR "/fuzz/corpus/fuzz_elfsym/%s",
			files[which]);
	sw_cleanup(sw_close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, o->bytes, sizeof(o->bytes)) : -1;
	if (n <= 0)
		abort();
	o->size = (size_t) n;
	return o;
}

static void sections_change(uint8_t *file, const struct original *o, struct sw_bytes input)
{
	struct sw_elf elf;
	struct sw_elf_section section;
	struct sw_bytes part, bytes;
	uint8_t which, n;
	if (!sw_elf_init(&elf, (struct sw_bytes){o->bytes, o->size}))
		abort();
	for (uint64_t at = 0; sw_bytes_u8(input, at, &which) && sw_bytes_u8(input, at + 1, &n) &&
			      sw_bytes_sub(input, at + 2, n, &part);
	     at += 2 + (uint64_t) n)
		if (sw_elf_section_named(&elf, sections[which % SW_ARRAY_SIZE(sections)],
					 &section) &&
		    sw_elf_section_bytes(&elf, &section, &bytes) && bytes.size > 0)
			lay_over(file + (bytes.data - o->bytes), bytes.size, part.data, part.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_frame frames[SYMBOLIZE_FILE_FRAMES_MAX] = {0};
	if (size == 0)
		return 0;
	const struct original *o = original_get(data[0] % SW_ARRAY_SIZE(files));
	uint8_t *file = malloc(o->size);
	if (file == NULL)
		return 0;
	memcpy(file, o->bytes, o->size);
	sections_change(file, o, (struct sw_bytes){data + 1, size - 1});
	/* The addresses are those of the file as it was: other names are asked for by the other
	 * fuzzer. */
	size_t n = symbolize_file_addresses((struct sw_bytes){o->bytes, o->size}, frames);
	symbolize_file(SW_MODULE_ELF, (struct sw_bytes){file, o->size}, frames, n);
	free(file);
	return 0;
}
