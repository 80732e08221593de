/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_symbol.h"

enum { FLAGS_MAX = 256 };

/* A file that has lost its section headers: the exported symbols as the dynamic linker finds them. How
 * many there are is not said, so only the hash table leads to one. */
static void dynamic_read(struct sw_elf_symbols *symbols)
{
	struct sw_elf_dynamic dynamic;
	struct sw_elf_table table = {.is_32bit = symbols->elf->is_32bit};
	struct sw_bytes hash;
	if (!sw_elf_dynamic(symbols->elf, &dynamic) || dynamic.gnu_hash_svma == 0 ||
	    !sw_elf_loaded(symbols->elf, dynamic.gnu_hash_svma, &hash) ||
	    !sw_elf_loaded(symbols->elf, dynamic.symbols_svma, &table.symbols) ||
	    !sw_elf_loaded(symbols->elf, dynamic.strings_svma, &table.strings))
		return;
	symbols->gnu_hash = hash;
	symbols->dynsym = table;
}

bool sw_elf_symbols_open(const struct sw_elf *elf, struct sw_elf_symbols *ret)
{
	struct sw_elf_section hash;
	if (elf == NULL || elf->header.e_machine != EM_X86_64)
		return false;
	*ret = (struct sw_elf_symbols){.elf = elf};
	if (elf->n_sections == 0) {
		dynamic_read(ret);
		return true;
	}
	(void) sw_elf_table_typed(elf, SHT_DYNSYM, &ret->dynsym); /* else none, for all three */
	(void) sw_elf_table_typed(elf, SHT_SYMTAB, &ret->symtab);
	if (sw_elf_section_typed(elf, SHT_GNU_HASH, &hash))
		(void) sw_elf_section_bytes(elf, &hash, &ret->gnu_hash);
	return true;
}

/* The defined symbol at an index when its name is the one. */
static bool symbol_is(const struct sw_elf_table *table, uint64_t index, const char *name,
		      struct sw_elf_symbol *ret)
{
	Elf64_Sym sym;
	if (!sw_bytes_copy(table->symbols, index * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF)
		return false;
	/* The first variable of a thread's block has the value 0. */
	if (sym.st_value == 0 && ELF64_ST_TYPE(sym.st_info) != STT_TLS)
		return false;
	size_t length = strlen(name) + 1;
	if (!sw_bytes_has(table->strings, sym.st_name, length) ||
	    memcmp(table->strings.data + sym.st_name, name, length) != 0)
		return false;
	*ret = (struct sw_elf_symbol){sym.st_value, sym.st_size};
	return true;
}

static bool in_a_row(const struct sw_elf_table *table, const char *name, struct sw_elf_symbol *ret)
{
	/* Nearly always it is not there: then the strings tell, and no symbol is looked at. */
	struct sw_bytes names = table->strings;
	if (names.size == 0 || memmem(names.data, names.size, name, strlen(name) + 1) == NULL)
		return false;
	size_t n = table->symbols.size / sizeof(Elf64_Sym);
	for (size_t i = 0; i < n && i < SW_ELF_SYMBOLS_MAX; i++)
		if (symbol_is(table, i, name, ret))
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
		if ((value | 1) == (hash | 1) && symbol_is(&s->dynsym, index, name, ret))
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
					  : in_a_row(&symbols->dynsym, name, ret);
}

/* Which of the first sections can be written to; returns how many there are. */
static size_t writable_sections(const struct sw_elf_symbols *symbols, bool writable[FLAGS_MAX])
{
	struct sw_elf_section s;
	uint32_t n = 0;
	for (; n < FLAGS_MAX && sw_elf_section(symbols->elf, n, &s); n++)
		writable[n] = s.flags & SHF_WRITE;
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
	size_t n = n_names > 0 ? symbols->symtab.symbols.size / sizeof(Elf64_Sym) : 0;
	for (size_t i = 0; i < n && i < SW_ELF_SYMBOLS_MAX; i++) {
		Elf64_Sym sym;
		struct sw_elf_symbol found;
		uint16_t begin;
		(void) sw_bytes_copy(symbols->symtab.symbols, i * sizeof(sym), &sym,
				     sizeof(sym)); /* inside */
		if (ELF64_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_size > SW_ELF_VARIABLE_MAX ||
		    sym.st_shndx >= n_sections || !writable[sym.st_shndx] ||
		    !sw_bytes_u16(symbols->symtab.strings, sym.st_name, &begin))
			continue;
		for (size_t k = 0; k < n_names; k++)
			if (names[k].begin == begin &&
			    symbol_is(&symbols->symtab, i, names[k].name, &found))
				names[k].wanted->each(names[k].wanted->arg, names[k].name, &found);
	}
}
