/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/debug_frame.h"
#include "cfi/entry.h"
#include "cleanup.h"
#include "formats/elf_handle.h"

#include <endian.h>

struct sw_debug_frame {
	uint8_t *file; /* owned; the made-up file */
	Elf *elf;      /* owned, over file */
	Dwarf *dwarf;  /* owned, over elf */
	Dwarf_CFI *cfi;
};

/* The properties of the section that are needed to make it up again. */
struct section {
	const char *name;
	struct sw_bytes bytes;
	uint64_t flags;
	bool is_32bit;
};

/* The size that the section says it has when it is uncompressed; its own when it is not. */
static bool uncompressed_size(const struct section *s, uint64_t *ret)
{
	*ret = s->bytes.size;
	if (s->flags & SHF_COMPRESSED) {
		/* The size is at byte 8 of Elf64_Chdr, at byte 4 of Elf32_Chdr; gABI 4.3, chapter 4 */
		Elf32_Chdr header;
		if (!s->is_32bit)
			return sw_bytes_u64(s->bytes, 8, ret);
		if (!sw_bytes_copy(s->bytes, 0, &header, sizeof(header)))
			return false;
		*ret = header.ch_size;
	}
	if (s->name[1] == 'z') {
		/* "ZLIB" and a big-endian size: binutils, before SHF_COMPRESSED */
		if (!sw_bytes_u64(s->bytes, 4, ret))
			return false;
		*ret = be64toh(*ret);
	}
	return true;
}

static bool find_section(const struct sw_elf *elf, struct section *ret)
{
	struct sw_elf_section s;
	if (!sw_elf_section_named(elf, ".debug_frame", &s) &&
	    !sw_elf_section_named(elf, ".zdebug_frame", &s))
		return false;
	ret->name = s.name;
	ret->flags = s.flags;
	ret->is_32bit = elf->is_32bit;
	return sw_elf_section_bytes(elf, &s, &ret->bytes);
}

static const char names[] = "\0.shstrtab\0";

/* Where the parts of the file lie. */
struct parts {
	size_t names_off, names_size, data_off;
};

static struct parts parts_of(const struct section *s, size_t headers_size)
{
	size_t names_size = sizeof(names) - 1 + strlen(s->name) + 1;
	return (struct parts){.names_off = headers_size,
			      .names_size = names_size,
			      .data_off = (headers_size + names_size + 15) & ~(size_t) 15};
}

static void headers_put(const struct section *s, const struct parts *parts, uint8_t *file)
{
	Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shoff = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf64_Shdr shdrs[3] = {
		[1] = {.sh_name = sizeof(names) - 1,
		       .sh_type = SHT_PROGBITS,
		       .sh_flags = s->flags & SHF_COMPRESSED,
		       .sh_offset = parts->data_off,
		       .sh_size = s->bytes.size,
		       .sh_addralign = 8},
		[2] = {.sh_name = 1,
		       .sh_type = SHT_STRTAB,
		       .sh_offset = parts->names_off,
		       .sh_size = parts->names_size,
		       .sh_addralign = 1},
	};
	memcpy(file, &ehdr, sizeof(ehdr));
	memcpy(file + sizeof(ehdr), shdrs, sizeof(shdrs));
}

/* The same for i386. */
static void headers32_put(const struct section *s, const struct parts *parts, uint8_t *file)
{
	Elf32_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_386,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf32_Ehdr),
		.e_shoff = sizeof(Elf32_Ehdr),
		.e_shentsize = sizeof(Elf32_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	Elf32_Shdr shdrs[3] = {
		[1] = {.sh_name = sizeof(names) - 1,
		       .sh_type = SHT_PROGBITS,
		       .sh_flags = (uint32_t) s->flags & SHF_COMPRESSED,
		       .sh_offset = (uint32_t) parts->data_off,
		       .sh_size = (uint32_t) s->bytes.size,
		       .sh_addralign = 4},
		[2] = {.sh_name = 1,
		       .sh_type = SHT_STRTAB,
		       .sh_offset = (uint32_t) parts->names_off,
		       .sh_size = (uint32_t) parts->names_size,
		       .sh_addralign = 1},
	};
	memcpy(file, &ehdr, sizeof(ehdr));
	memcpy(file + sizeof(ehdr), shdrs, sizeof(shdrs));
}

/*
 *	file:  ELF header | section headers: none, section, names | names | the section's bytes
 */
static uint8_t *make_file(const struct section *s, size_t *ret_size)
{
	struct parts parts = parts_of(s, s->is_32bit ? sizeof(Elf32_Ehdr) + 3 * sizeof(Elf32_Shdr)
						     : sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr));
	uint8_t *file = calloc(1, parts.data_off + s->bytes.size);
	if (file == NULL)
		return NULL;
	(s->is_32bit ? headers32_put : headers_put)(s, &parts, file);
	memcpy(file + parts.names_off, names, sizeof(names) - 1);
	memcpy(file + parts.names_off + sizeof(names) - 1, s->name, strlen(s->name) + 1);
	memcpy(file + parts.data_off, s->bytes.data, s->bytes.size);
	*ret_size = parts.data_off + s->bytes.size;
	return file;
}

static bool open_file(struct sw_debug_frame *frame, size_t size, bool is_32bit)
{
	frame->elf = sw_elf_handle((struct sw_bytes){frame->file, size});
	if (frame->elf == NULL)
		return false;
	frame->dwarf = dwarf_begin_elf(frame->elf, DWARF_C_READ, NULL);
	if (frame->dwarf == NULL)
		return false;
	/* Uncompressed by now. libdw must not be let at entries that ask for too much. */
	Elf_Data *data = elf_getdata(elf_getscn(frame->elf, 1), NULL);
	if (data == NULL || data->d_buf == NULL)
		return false;
	const struct sw_cfi_section section = {.bytes = {data->d_buf, data->d_size},
					       .debug_frame = true,
					       .is_32bit = is_32bit};
	if (data->d_size > SW_DEBUG_FRAME_MAX || !sw_cfi_section_sane(&section, 0))
		return false;
	frame->cfi = dwarf_getcfi(frame->dwarf);
	return frame->cfi != NULL;
}

static struct sw_debug_frame *frame_make(const struct section *s)
{
	struct sw_debug_frame *frame = calloc(1, sizeof(*frame));
	if (frame == NULL)
		return NULL;
	size_t size;
	frame->file = make_file(s, &size);
	if (frame->file == NULL || !open_file(frame, size, s->is_32bit)) {
		sw_debug_frame_close(frame);
		return NULL;
	}
	return frame;
}

struct sw_debug_frame *sw_debug_frame_open(const struct sw_elf *elf)
{
	struct section s;
	uint64_t bytes;
	if (!find_section(elf, &s) || s.bytes.size == 0 || s.bytes.size > SW_DEBUG_FRAME_MAX ||
	    !uncompressed_size(&s, &bytes) || bytes > SW_DEBUG_FRAME_MAX)
		return NULL;
	return frame_make(&s);
}

struct sw_debug_frame *sw_debug_frame_make(struct sw_bytes entries, bool is_32bit)
{
	const struct section s = {.name = ".debug_frame", .bytes = entries, .is_32bit = is_32bit};
	return entries.size == 0 || entries.size > SW_DEBUG_FRAME_MAX ? NULL : frame_make(&s);
}

void sw_debug_frame_close(struct sw_debug_frame *frame)
{
	if (frame == NULL)
		return;
	if (frame->dwarf != NULL)
		(void) dwarf_end(frame->dwarf); /* these two return counts, not errors */
	if (frame->elf != NULL)
		(void) elf_end(frame->elf);
	free(frame->file);
	free(frame);
}

Dwarf_CFI *sw_debug_frame_cfi(struct sw_debug_frame *frame)
{
	return frame->cfi;
}
