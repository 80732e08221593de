/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * .gnu_debugdata: an ELF file in an xz stream. Input is laid over the file before it is compressed, or, if
 * the first byte is odd, over the stream: a checksum keeps most such changes out.
 */
#include "fuzz.h"
#include "cleanup.h"
#include "elf_make.h"
#include "lay_over.h"
#include "symbolize_file.h"

#include <lzma.h>
#include <string.h>

enum { TEXT = 0x1000, FUNCTIONS = 8, FUNCTION_BYTES = 0x40 };

static struct elf_make inner, outer;
static uint8_t changed[ELF_MAKE_BYTES], packed[ELF_MAKE_BYTES];

static void inner_make(void)
{
	char name[32];
	elf_make_init(&inner);
	uint32_t text = elf_make_section(&inner, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR,
					 TEXT, NULL, FUNCTIONS * FUNCTION_BYTES);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		(void) snprintf(name, sizeof(name), "_ZN5local%dfEv", (int) i);
		elf_make_symbol(&inner, name, STB_LOCAL, STT_FUNC, (uint16_t) text,
				TEXT + i * FUNCTION_BYTES, FUNCTION_BYTES);
	}
	elf_make_symtab(&inner, SHT_SYMTAB);
	elf_make_finish(&inner);
}

static void outer_make(size_t packed_bytes)
{
	elf_make_init(&outer);
	(void) elf_make_section(&outer, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT,
				NULL, FUNCTIONS * FUNCTION_BYTES);
	(void) elf_make_section(&outer, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, packed_bytes);
	elf_make_finish(&outer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_frame frames[FUNCTIONS + 1] = {0};
	size_t packed_bytes = 0;
	if (size == 0)
		return 0;
	if (inner.size == 0)
		inner_make();
	bool of_stream = data[0] & 1;
	memcpy(changed, inner.bytes, inner.size);
	if (!of_stream)
		lay_over(changed, inner.size, data + 1, size - 1);
	/* A small dictionary: making it is what takes the time. */
	lzma_options_lzma options;
	if (lzma_lzma_preset(&options, 0))
		abort();
	options.dict_size = LZMA_DICT_SIZE_MIN;
	lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
	if (lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, changed, inner.size, packed,
				      &packed_bytes, sizeof(packed)) != LZMA_OK)
		abort();
	if (of_stream)
		lay_over(packed, packed_bytes, data + 1, size - 1);
	outer_make(packed_bytes);
	for (unsigned i = 0; i < SW_ARRAY_SIZE(frames); i++)
		frames[i].pc_avma = SYMBOLIZE_FILE_BIAS + TEXT + i * FUNCTION_BYTES + 5;
	symbolize_file(SW_MODULE_ELF, (struct sw_bytes){outer.bytes, outer.size}, frames,
		       SW_ARRAY_SIZE(frames));
	return 0;
}
