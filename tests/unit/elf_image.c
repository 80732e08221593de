/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Appends to an image or a section. */
struct out {
	uint8_t *bytes;
	size_t at;
};

static void put(struct out *o, uint64_t value, size_t length)
{
	memcpy(o->bytes + o->at, &value, length);
	o->at += length;
}

static void put_bytes(struct out *o, const void *bytes, size_t length)
{
	if (length > 0)
		memcpy(o->bytes + o->at, bytes, length);
	o->at += length;
}

/* Ends an entry that began at begin: pads with DW_CFA_nop and fills in the length. */
static void entry_end(struct out *o, size_t begin)
{
	while ((o->at - begin) % 8 != 4)
		put(o, 0, 1);
	struct out length = {o->bytes, begin};
	put(&length, o->at - begin - 4, 4);
}

static size_t cie_put(struct out *o, const struct image_fde *fde)
{
	static const uint8_t initial[] = {0x0c, 7, 8, 0x90, 1}; /* CFA = rsp+8, ra = [CFA-8] */
	size_t begin = o->at;
	put(o, 0, 4); /* length, later */
	put(o, 0, 4); /* id */
	put(o, 1, 1); /* version */
	put_bytes(o, fde->signal ? "zRS" : "zR", fde->signal ? 4 : 3);
	put(o, 1, 1);    /* code alignment 1 */
	put(o, 0x78, 1); /* data alignment -8 */
	put(o, 16, 1);   /* return address column */
	put(o, 1, 1);    /* bytes of augmentation data */
	put(o, 0x1b, 1); /* pcrel, sdata4 */
	put_bytes(o, initial, fde->empty_cie ? 0 : sizeof(initial));
	entry_end(o, begin);
	return begin;
}

static size_t fde_put(struct out *o, const struct image_fde *fde)
{
	size_t cie = cie_put(o, fde), begin = o->at;
	put(o, 0, 4);
	put(o, o->at - cie, 4);
	put(o, IMAGE_CODE + fde->start - o->at, 4);
	put(o, fde->end - fde->start, 4);
	put(o, 0, 1);
	put_bytes(o, fde->rows, fde->n_rows);
	entry_end(o, begin);
	return begin;
}

static void tables_put(uint8_t *image, const struct image_parts *parts, size_t *ret_hdr_size)
{
	struct out frame = {image, IMAGE_EH_FRAME}, hdr = {image, IMAGE_HDR};
	put(&hdr, 0x3b031b01, 4); /* version, pcrel sdata4, udata4, datarel sdata4 */
	put(&hdr, (uint32_t) (IMAGE_EH_FRAME - (IMAGE_HDR + 4)), 4);
	struct out count = hdr;
	uint32_t listed = 0;
	put(&hdr, 0, 4); /* later */
	for (size_t i = 0; i < parts->n_fdes; i++) {
		size_t fde = fde_put(&frame, &parts->fdes[i]);
		if (parts->fdes[i].unlisted)
			continue;
		listed++;
		put(&hdr, (uint32_t) (IMAGE_CODE + parts->fdes[i].start - IMAGE_HDR), 4);
		put(&hdr, (uint32_t) (fde - IMAGE_HDR), 4);
	}
	put(&count, listed, 4);
	put(&frame, 0, 4);
	assert_true(frame.at <= IMAGE_HDR && hdr.at <= IMAGE_SECTIONS);
	*ret_hdr_size = hdr.at - IMAGE_HDR;
}

/* Sections: none, those asked for, their names; then the headers. */
static void sections_put(uint8_t *image, const struct image_parts *parts, Elf64_Ehdr *ehdr)
{
	Elf64_Shdr shdrs[16] = {0};
	char names[256] = "";
	size_t n = 1, at = IMAGE_SECTIONS, names_size = 1;
	assert_true(parts->n_sections < 14);
	for (size_t i = 0; i < parts->n_sections; i++) {
		const struct image_section *s = &parts->sections[i];
		shdrs[n++] = (Elf64_Shdr){.sh_name = (Elf64_Word) names_size,
					  .sh_type = s->type,
					  .sh_flags = s->flags,
					  .sh_addr = s->flags & SHF_ALLOC ? at : 0,
					  .sh_offset = at,
					  .sh_size = s->size,
					  .sh_entsize = s->entry_size,
					  .sh_link = s->link,
					  .sh_addralign = 8};
		strcpy(names + names_size, s->name);
		names_size += strlen(s->name) + 1;
		assert_true(at + s->size + 4096 < IMAGE_BYTES);
		memcpy(image + at, s->data, s->size);
		at = (at + s->size + 15) & ~(size_t) 15;
	}
	shdrs[n] = (Elf64_Shdr){.sh_name = (Elf64_Word) names_size,
				.sh_type = SHT_STRTAB,
				.sh_offset = at,
				.sh_size = names_size + 10,
				.sh_addralign = 1};
	strcpy(names + names_size, ".shstrtab");
	memcpy(image + at, names, names_size + 10);
	ehdr->e_shoff = at + sizeof(names);
	ehdr->e_shnum = (Elf64_Half) (n + 1);
	ehdr->e_shstrndx = (Elf64_Half) n;
	memcpy(image + ehdr->e_shoff, shdrs, (n + 1) * sizeof(shdrs[0]));
}

uint8_t *elf_image(const struct image_parts *parts)
{
	uint8_t *image = calloc(1, IMAGE_BYTES);
	assert_non_null(image);
	size_t hdr_size = 0;
	if (parts->n_fdes > 0)
		tables_put(image, parts, &hdr_size);
	Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_entry = parts->entry,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = parts->tls_bytes > 0 ? 3
			   : parts->n_fdes > 0  ? 2
						: 1,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	Elf64_Phdr phdrs[3] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_filesz = IMAGE_BYTES,
		 .p_memsz = IMAGE_BYTES,
		 .p_align = 0x1000},
		{.p_type = PT_GNU_EH_FRAME,
		 .p_flags = PF_R,
		 .p_offset = IMAGE_HDR,
		 .p_vaddr = IMAGE_HDR,
		 .p_filesz = hdr_size,
		 .p_memsz = hdr_size,
		 .p_align = 4},
		{.p_type = PT_TLS, .p_flags = PF_R, .p_memsz = parts->tls_bytes, .p_align = 8},
	};
	if (parts->n_sections > 0)
		sections_put(image, parts, &ehdr);
	memcpy(image, &ehdr, sizeof(ehdr));
	memcpy(image + sizeof(ehdr), phdrs, sizeof(phdrs));
	if (parts->n_code > 0)
		memcpy(image + IMAGE_CODE, parts->code, parts->n_code);
	return image;
}

uint8_t *debug_frame_section(uint64_t start_svma, uint64_t end_svma, const uint8_t *rows,
			     size_t n_rows, size_t *ret_size)
{
	struct out o = {calloc(1, 256 + n_rows), 0};
	assert_non_null(o.bytes);
	static const uint8_t cie[] = {
		0xff, 0xff, 0xff, 0xff, /* id */
		1,    0,                /* version, augmentation "" */
		1,    0x78, 16,         /* alignments 1 and -8, return address column */
		0x0c, 7,    8,    0x90, 1,
	};
	put(&o, 0, 4);
	put_bytes(&o, cie, sizeof(cie));
	entry_end(&o, 0);
	size_t begin = o.at;
	put(&o, 0, 4);
	put(&o, 0, 4); /* offset of the CIE */
	put(&o, start_svma, 8);
	put(&o, end_svma - start_svma, 8);
	put_bytes(&o, rows, n_rows);
	entry_end(&o, begin);
	*ret_size = o.at;
	return o.bytes;
}
