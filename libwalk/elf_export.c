/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_export.h"
#include "bytes.h"

#include <gelf.h>
#include <string.h>

enum {
	EXPORT_PHDRS_MAX = 4096,
	EXPORT_DYNAMIC_MAX = 4096, /* entries of PT_DYNAMIC */
	SYM_BYTES = 24,            /* Elf64_Sym */
	DYN_BYTES = 16,            /* Elf64_Dyn */
};

struct exporter {
	Elf *elf;              /* borrowed */
	struct sw_bytes image; /* the file's */
	size_t n_phdrs;
};

/* From an address to the end of what its segment has in the file. */
static bool at_svma(const struct exporter *x, uint64_t svma, struct sw_bytes *ret)
{
	for (size_t i = 0; i < x->n_phdrs; i++) {
		GElf_Phdr p;
		if (gelf_getphdr(x->elf, (int) i, &p) == NULL)
			return false;
		if (p.p_type == PT_LOAD && svma >= p.p_vaddr && svma - p.p_vaddr < p.p_filesz)
			return sw_bytes_sub(x->image, p.p_offset + (svma - p.p_vaddr),
					    p.p_filesz - (svma - p.p_vaddr), ret);
	}
	return false;
}

struct tables {
	struct sw_bytes hash, symbols, strings;
};

static bool tables_find(const struct exporter *x, struct tables *ret)
{
	struct sw_bytes dynamic = {0};
	for (size_t i = 0; i < x->n_phdrs && dynamic.data == NULL; i++) {
		GElf_Phdr p;
		if (gelf_getphdr(x->elf, (int) i, &p) == NULL)
			return false;
		if (p.p_type == PT_DYNAMIC &&
		    !sw_bytes_sub(x->image, p.p_offset, p.p_filesz, &dynamic))
			return false;
	}
	/* The last one of each counts; it is looked up once, however often it is said. */
	uint64_t hash_svma = 0, symbols_svma = 0, strings_svma = 0;
	for (uint64_t i = 0; i < EXPORT_DYNAMIC_MAX; i++) {
		uint64_t tag, value;
		if (!sw_bytes_u64(dynamic, i * DYN_BYTES, &tag) || tag == DT_NULL ||
		    !sw_bytes_u64(dynamic, i * DYN_BYTES + 8, &value))
			break;
		if (tag == DT_GNU_HASH)
			hash_svma = value;
		else if (tag == DT_SYMTAB)
			symbols_svma = value;
		else if (tag == DT_STRTAB)
			strings_svma = value;
	}
	return hash_svma != 0 && symbols_svma != 0 && strings_svma != 0 &&
	       at_svma(x, hash_svma, &ret->hash) && at_svma(x, symbols_svma, &ret->symbols) &&
	       at_svma(x, strings_svma, &ret->strings);
}

/* A definition of that name. */
static bool symbol_is(const struct tables *t, uint64_t index, const char *name, uint64_t *ret_svma,
		      uint64_t *ret_bytes)
{
	uint64_t at = index * SYM_BYTES, svma, bytes;
	struct sw_bytes found;
	uint32_t name_off;
	uint16_t section;
	/* Not as a string: one without end would be measured for each symbol of the bucket. */
	if (!sw_bytes_u32(t->symbols, at, &name_off) ||
	    !sw_bytes_u16(t->symbols, at + 6, &section) ||
	    !sw_bytes_u64(t->symbols, at + 8, &svma) ||
	    !sw_bytes_u64(t->symbols, at + 16, &bytes) || section == SHN_UNDEF ||
	    !sw_bytes_sub(t->strings, name_off, strlen(name) + 1, &found) ||
	    memcmp(found.data, name, found.size) != 0)
		return false;
	*ret_svma = svma;
	*ret_bytes = bytes;
	return true;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;
	for (const char *c = name; *c != '\0'; c++)
		h = h * 33 + (uint8_t) *c;
	return h;
}

/* Layout: u32 buckets, first symbol, bloom words, shift; u64 bloom[]; u32 bucket[]; u32 chain[]. */
static bool hash_find(const struct tables *t, const char *name, uint64_t *ret_svma,
		      uint64_t *ret_bytes)
{
	uint32_t n_buckets, first, n_bloom, shift, index, hash = gnu_hash(name);
	uint64_t word;
	if (!sw_bytes_u32(t->hash, 0, &n_buckets) || !sw_bytes_u32(t->hash, 4, &first) ||
	    !sw_bytes_u32(t->hash, 8, &n_bloom) || !sw_bytes_u32(t->hash, 12, &shift) ||
	    n_buckets == 0 || n_bloom == 0 ||
	    !sw_bytes_u64(t->hash, 16 + UINT64_C(8) * (hash / 64 % n_bloom), &word))
		return false;
	if (!(word >> hash % 64 & 1) || !(word >> (hash >> shift % 32) % 64 & 1))
		return false;
	uint64_t buckets = 16 + UINT64_C(8) * n_bloom, chain = buckets + UINT64_C(4) * n_buckets;
	if (!sw_bytes_u32(t->hash, buckets + UINT64_C(4) * (hash % n_buckets), &index) ||
	    index < first)
		return false;
	for (uint32_t n = 0; n < SW_ELF_EXPORT_CHAIN_MAX; n++, index++) {
		uint32_t h;
		if (!sw_bytes_u32(t->hash, chain + UINT64_C(4) * (index - first), &h))
			return false;
		if ((h | 1) == (hash | 1) && symbol_is(t, index, name, ret_svma, ret_bytes))
			return true;
		if (h & 1)
			return false;
	}
	return false;
}

bool sw_elf_export_find(struct sw_module *module, const char *name, uint64_t *ret_svma,
			uint64_t *ret_bytes)
{
	struct exporter x = {.elf = sw_module_elf(module)};
	GElf_Ehdr ehdr;
	if (x.elf == NULL || gelf_getehdr(x.elf, &ehdr) == NULL ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || elf_getphdrnum(x.elf, &x.n_phdrs) != 0)
		return false;
	if (x.n_phdrs > EXPORT_PHDRS_MAX)
		x.n_phdrs = EXPORT_PHDRS_MAX;
	x.image.data = sw_module_image(module, &x.image.size);
	struct tables t = {0};
	return tables_find(&x, &t) && hash_find(&t, name, ret_svma, ret_bytes);
}
