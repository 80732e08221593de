/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_IMAGE_H
#define SW_PE_IMAGE_H

#include "bytes.h"
#include "memory.h"

#include <snapwalk/walk.h>

/*
 * The headers of a PE32+ image for x86-64 or a PE32 image for i386: what lies where. Headers are the same
 * in the file and in memory, so one parser reads both; all else is told apart by *_rva (from the image base, in memory)
 * and *_off (in the file). Every byte is hostile: what does not fit into the image is refused.
 * Source: Microsoft PE format specification (docs of 2025-07), "Overview" to "Section table".
 */

enum {
	/* The Windows loader refuses more (PE format, "COFF file header", NumberOfSections). */
	SW_PE_SECTIONS_MAX = 96,
	SW_PE_IMAGE_BYTES_MAX = INT32_MAX,
	SW_PE_MACHINE_I386 = 0x14c,
	SW_PE_MACHINE_X86_64 = 0x8664,
	/* .NET's ahead-of-time compiled images for Linux: the same, xor 0x7b79 (dotnet/runtime v8,
	 * src/coreclr/inc/pedecoder.h, IMAGE_FILE_MACHINE_NATIVE_OS_OVERRIDE). */
	SW_PE_MACHINE_X86_64_LINUX = 0x8664 ^ 0x7b79,
	SW_PE_SECTION_EXECUTE = 0x20000000, /* IMAGE_SCN_MEM_EXECUTE */
};

struct sw_pe_section {
	char name[9]; /* as it is: "/4" and the like lead into the file's string table */
	uint32_t rva, bytes;
	uint32_t file_off, file_bytes;
	uint32_t flags;
};

struct sw_pe_directory {
	uint32_t rva, bytes; /* lies in the image; 0, 0 when there is none */
};

struct sw_pe_image {
	uint16_t machine;
	bool is_32bit; /* PE32, for i386 */
	uint32_t timestamp, checksum;
	uint32_t image_bytes, header_bytes;
	uint64_t preferred_avma; /* where the linker put it: DWARF's addresses count from there */
	struct sw_pe_directory exports, exception, debug;
	uint32_t symbols_off, n_symbols; /* COFF's, in the file; 0, 0 when there are none */
	size_t n_sections;
	struct sw_pe_section sections[SW_PE_SECTIONS_MAX];
};

/* The headers of the image at base_avma; false when there is none, or none for what runs in that memory: an
 * image of .NET's that is for any machine is PE32, too, and no code in a 64-bit process. */
bool sw_pe_image_read(struct sw_memory memory, uint64_t base_avma, struct sw_pe_image *ret);

/* The same, from a file, whatever it is for. */
bool sw_pe_image_parse(struct sw_bytes file, struct sw_pe_image *ret);

/* The section that holds rva, or NULL. */
const struct sw_pe_section *sw_pe_image_section(const struct sw_pe_image *image, uint32_t rva);

/* Where the file has the length bytes at rva; false when they are not in it, or not in one part. */
bool sw_pe_image_file_off(const struct sw_pe_image *image, uint32_t rva, uint32_t length,
			  uint32_t *ret_off);

/*
 * The identity that tells one build of an image from another, into id; returns its size. With an
 * RSDS entry in the debug directory (the identity of its PDB, or ld --build-id): 20 bytes, the GUID
 * as it is printed and the age, big-endian. Else 12 bytes, big-endian: TimeDateStamp and
 * SizeOfImage, as symbol servers key images, and CheckSum, since distributions give all their
 * builds one time. 0 when all is zero.
 */
size_t sw_pe_image_build_id(const struct sw_pe_image *image, struct sw_bytes file,
			    uint8_t id[SW_BUILD_ID_MAX]);

/* The first of those identities by the entry's record ("RSDS"...), and the second one by its three numbers. */
size_t sw_pe_codeview_id(struct sw_bytes record, uint8_t id[SW_BUILD_ID_MAX]);
size_t sw_pe_time_id(uint32_t timestamp, uint32_t image_bytes, uint32_t checksum,
		     uint8_t id[SW_BUILD_ID_MAX]);

#endif
