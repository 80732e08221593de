/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "formats/elf_symbol.h"

#include <elf.h>

enum { PHDRS_MAX = 4096, SECTIONS_MAX = 65536, DYNAMIC_MAX = 4096, FLAGS_MAX = 256 };

static bool header_read(struct sw_bytes image, Elf64_Ehdr *ret)
{
	return sw_bytes_copy(image, 0, ret, sizeof(*ret)) &&
	       memcmp(ret->e_ident, ELFMAG, SELFMAG) == 0 && ret->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ret->e_ident[EI_DATA] == ELFDATA2LSB && ret->e_machine == EM_X86_64;
}

static void table_take(struct sw_elf_symbols *symbols, const Elf64_Shdr *s, struct sw_bytes table)
{
	Elf64_Shdr strings;
	struct sw_bytes names;
	if (s->sh_type == SHT_GNU_HASH) {
		symbols->gnu_hash = table;
		return;
	}
	if (!sw_bytes_copy(symbols->sections, (uint64_t) s->sh_link * sizeof(strings), &strings,
			   sizeof(strings)) ||
	    !sw_bytes_sub(symbols->image, strings.sh_offset, strings.sh_size, &names))
		return;
	if (s->sh_type == SHT_DYNSYM) {
		symbols->dynsym = table;
		symbols->dynstr = names;
	} else {
		symbols->symtab = table;
		symbols->strtab = names;
	}
}

static void sections_read(struct sw_elf_symbols *symbols, const Elf64_Ehdr *ehdr)
{
	Elf64_Shdr s;
	size_t n = ehdr->e_shnum;
	if (n == 0 && ehdr->e_shoff != 0 &&
	    sw_bytes_copy(symbols->image, ehdr->e_shoff, &s, sizeof(s)))
		n = s.sh_size < SECTIONS_MAX ? (size_t) s.sh_size : SECTIONS_MAX;
	(void) sw_bytes_sub(symbols->image, ehdr->e_shoff, n * sizeof(s),
			    &symbols->sections); /* else none */
	for (size_t i = 0; i < n; i++) {
		struct sw_bytes table;
		if (!sw_bytes_copy(symbols->sections, i * sizeof(s), &s, sizeof(s)))
			break;
		if ((s.sh_type == SHT_DYNSYM || s.sh_type == SHT_SYMTAB ||
		     s.sh_type == SHT_GNU_HASH) &&
		    sw_bytes_sub(symbols->image, s.sh_offset, s.sh_size, &table))
			table_take(symbols, &s, table);
	}
}

/* PT_DYNAMIC; false: there is none. */
static bool dynamic_find(const struct sw_elf_symbols *symbols, const Elf64_Ehdr *ehdr,
			 struct sw_bytes *ret)
{
	Elf64_Phdr p;
	for (size_t i = 0; i < ehdr->e_phnum && i < PHDRS_MAX; i++) {
		if (!sw_bytes_copy(symbols->image, ehdr->e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type == PT_DYNAMIC)
			return sw_bytes_sub(symbols->image, p.p_offset, p.p_filesz, ret);
	}
	return false;
}

/* A file that has lost its section headers: the exported symbols as the dynamic linker finds them. How
 * many there are is not said, so only the hash table leads to one. */
static void dynamic_read(struct sw_elf_symbols *symbols, const Elf64_Ehdr *ehdr)
{
	struct sw_bytes dynamic, hash, table, names;
	Elf64_Dyn d;
	/* The last one of each counts; it is looked up once, however often it is said. */
	uint64_t hash_svma = 0, table_svma = 0, names_svma = 0;
	if (ehdr->e_phentsize != sizeof(Elf64_Phdr) || !dynamic_find(symbols, ehdr, &dynamic))
		return;
	for (size_t i = 0;
	     i < DYNAMIC_MAX && sw_bytes_copy(dynamic, i * sizeof(d), &d, sizeof(d)) &&
	     d.d_tag != DT_NULL;
	     i++) {
		if (d.d_tag == DT_GNU_HASH)
			hash_svma = d.d_un.d_ptr;
		else if (d.d_tag == DT_SYMTAB)
			table_svma = d.d_un.d_ptr;
		else if (d.d_tag == DT_STRTAB)
			names_svma = d.d_un.d_ptr;
	}
	if (hash_svma == 0 || !sw_elf_symbols_bytes(symbols, hash_svma, &hash) ||
	    !sw_elf_symbols_bytes(symbols, table_svma, &table) ||
	    !sw_elf_symbols_bytes(symbols, names_svma, &names))
		return;
	symbols->gnu_hash = hash;
	symbols->dynsym = table;
	symbols->dynstr = names;
}

bool sw_elf_symbols_open(struct sw_bytes image, struct sw_elf_symbols *ret)
{
	Elf64_Ehdr ehdr;
	if (!header_read(image, &ehdr))
		return false;
	*ret = (struct sw_elf_symbols){.image = image};
	if (ehdr.e_shentsize == sizeof(Elf64_Shdr))
		sections_read(ret, &ehdr);
	if (ret->sections.size == 0)
		dynamic_read(ret, &ehdr);
	return true;
}

/* The defined symbol at an index when its name is the one. */
static bool symbol_is(struct sw_bytes table, struct sw_bytes names, uint64_t index,
		      const char *name, struct sw_elf_symbol *ret)
{
	Elf64_Sym sym;
	if (!sw_bytes_copy(table, index * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF || sym.st_value == 0)
		return false;
	size_t length = strlen(name) + 1;
	if (!sw_bytes_has(names, sym.st_name, length) ||
	    memcmp(names.data + sym.st_name, name, length) != 0)
		return false;
	*ret = (struct sw_elf_symbol){sym.st_value, sym.st_size};
	return true;
}

static bool in_a_row(struct sw_bytes table, struct sw_bytes names, const char *name,
		     struct sw_elf_symbol *ret)
{
	/* Nearly always it is not there: then the strings tell, and no symbol is looked at. */
	if (names.size == 0 || memmem(names.data, names.size, name, strlen(name) + 1) == NULL)
		return false;
	size_t n = table.size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < n && i < SW_ELF_SYMBOLS_MAX; i++)
		if (symbol_is(table, names, i, name, ret))
			return true;
	return false;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;
	for (; *name != '\0'; name++)
		h = h * 33 + (unsigned char) *name;
	return h;
}

/*
 *	header: n_buckets, first symbol, n_bloom, shift | n_bloom words of 8 | n_buckets words of 4
 *	| for each symbol from the first its hash, bit 0 set on the last one of a bucket
 */
static bool by_gnu_hash(const struct sw_elf_symbols *s, const char *name, struct sw_elf_symbol *ret)
{
	uint32_t head[4], hash = gnu_hash(name), index, value;
	uint64_t bloom, word;
	if (!sw_bytes_copy(s->gnu_hash, 0, head, sizeof(head)) || head[0] == 0 || head[2] == 0)
		return false;
	bloom = sizeof(head) + (uint64_t) (hash / 64 % head[2]) * 8;
	if (!sw_bytes_u64(s->gnu_hash, bloom, &word) ||
	    !(word >> (hash % 64) & word >> (hash >> (head[3] & 31)) % 64 & 1))
		return false;
	uint64_t buckets = sizeof(head) + (uint64_t) head[2] * 8;
	uint64_t chains = buckets + (uint64_t) head[0] * 4;
	if (!sw_bytes_u32(s->gnu_hash, buckets + (uint64_t) (hash % head[0]) * 4, &index) ||
	    index < head[1])
		return false;
	for (size_t n = 0; n < SW_ELF_CHAIN_MAX; n++, index++) {
		if (!sw_bytes_u32(s->gnu_hash, chains + (uint64_t) (index - head[1]) * 4, &value))
			return false;
		if ((value | 1) == (hash | 1) && symbol_is(s->dynsym, s->dynstr, index, name, ret))
			return true;
		if (value & 1)
			return false;
	}
	return false;
}

bool sw_elf_symbols_find(const struct sw_elf_symbols *symbols, const char *name,
			 struct sw_elf_symbol *ret)
{
	return symbols->gnu_hash.size > 0 ? by_gnu_hash(symbols, name, ret)
					  : in_a_row(symbols->dynsym, symbols->dynstr, name, ret);
}

/* Which of the first sections can be written to; returns how many there are. */
static size_t writable_sections(const struct sw_elf_symbols *symbols, bool writable[FLAGS_MAX])
{
	Elf64_Shdr s;
	size_t n = 0;
	for (; n < FLAGS_MAX && sw_bytes_copy(symbols->sections, n * sizeof(s), &s, sizeof(s)); n++)
		writable[n] = s.sh_flags & SHF_WRITE;
	return n;
}

/* A name in the order of looking: most are told apart by how they begin. */
struct name {
	const char *name;
	uint16_t begin; /* with the end, a name has two bytes */
	const struct sw_elf_wanted *wanted;
};

static size_t names_list(const struct sw_elf_wanted *wanted, size_t n_wanted,
			 struct name ret[SW_ELF_NAMES_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < n_wanted; i++)
		for (size_t k = 0; wanted[i].names[k] != NULL && n < SW_ELF_NAMES_MAX; k++) {
			ret[n] = (struct name){.name = wanted[i].names[k], .wanted = &wanted[i]};
			memcpy(&ret[n].begin, ret[n].name, sizeof(ret[n].begin));
			n++;
		}
	return n;
}

void sw_elf_symbols_variables(const struct sw_elf_symbols *symbols,
			      const struct sw_elf_wanted *wanted, size_t n_wanted)
{
	bool writable[FLAGS_MAX];
	struct name names[SW_ELF_NAMES_MAX];
	size_t n_names = names_list(wanted, n_wanted, names);
	size_t n_sections = writable_sections(symbols, writable);
	size_t n = n_names > 0 ? symbols->symtab.size / sizeof(Elf64_Sym) : 0;
	for (size_t i = 0; i < n && i < SW_ELF_SYMBOLS_MAX; i++) {
		Elf64_Sym sym;
		struct sw_elf_symbol found;
		uint16_t begin;
		(void) sw_bytes_copy(symbols->symtab, i * sizeof(sym), &sym,
				     sizeof(sym)); /* inside */
		if (ELF64_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_size > SW_ELF_VARIABLE_MAX ||
		    sym.st_shndx >= n_sections || !writable[sym.st_shndx] ||
		    !sw_bytes_u16(symbols->strtab, sym.st_name, &begin))
			continue;
		for (size_t k = 0; k < n_names; k++)
			if (names[k].begin == begin &&
			    symbol_is(symbols->symtab, symbols->strtab, i, names[k].name, &found))
				names[k].wanted->each(names[k].wanted->arg, names[k].name, &found);
	}
}

bool sw_elf_symbols_bytes(const struct sw_elf_symbols *symbols, uint64_t svma, struct sw_bytes *ret)
{
	Elf64_Ehdr ehdr;
	if (!header_read(symbols->image, &ehdr) || ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (size_t i = 0; i < ehdr.e_phnum && i < PHDRS_MAX; i++) {
		Elf64_Phdr p;
		struct sw_bytes bytes;
		if (!sw_bytes_copy(symbols->image, ehdr.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return false;
		if (p.p_type != PT_LOAD || svma < p.p_vaddr || svma - p.p_vaddr >= p.p_filesz ||
		    !sw_bytes_sub(symbols->image, p.p_offset, p.p_filesz, &bytes))
			continue;
		uint64_t at = svma - p.p_vaddr;
		return sw_bytes_sub(bytes, at, bytes.size - at, ret);
	}
	return false;
}
