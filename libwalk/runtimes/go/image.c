/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the tables of Go in a file: the table of functions by its section, or by its first bytes where
 * a C linker has merged the section or a tool has removed the headers; the structure that points to all
 * the others ("moduledata") by the pointer to that table. In files that are relocated the pointers are
 * in the relocations. Source: go1.19.8, go1.26 and go1.27.3 src/runtime/symtab.go, src/debug/buildinfo.
 */
#include "runtimes/go/image.h"

#include <stdio.h>
#include <string.h>

enum {
	CANDIDATES_MAX = 64,       /* places in a file that look like a table */
	MODULES_MAX = 64,          /* words that look like the pointer to it */
	SEARCH_BYTES = 1 << 28,    /* of a file, that are searched */
	RELOCATIONS_MAX = 1 << 24, /* that are looked at for one word */
	LOOK_FUNCS_MAX = 1 << 16,  /* the runtime's own code comes first */
	LOOK_CODE_BYTES = 4096,    /* of one function */
	/* Offsets in moduledata. */
	MODULE_NAMES = 8,
	MODULE_FUNCS = 104,
	MODULE_TEXT = 176,
	MODULE_GOFUNC_118 = 304,
	MODULE_GOFUNC_120 = 320,
	MODULE_GOFUNC_127 = 344, /* in the table itself, up to the word behind it */
};

/* ---- words of the image as it is in memory, but for the bias ----------------------------------- */

struct words {
	const struct sw_elf *elf;
	bool relocated;
};

/* Calls each for every RELATIVE relocation until it says true. */
static bool relocations_each(const struct sw_elf *elf,
			     bool (*each)(void *arg, uint64_t svma, uint64_t value), void *arg)
{
	struct sw_elf_section s;
	size_t left = RELOCATIONS_MAX;
	for (uint32_t i = 0; sw_elf_section(elf, i, &s); i++) {
		struct sw_bytes b;
		uint64_t svma, info, value;
		if (s.type != SHT_RELA || !(s.flags & SHF_ALLOC) ||
		    !sw_elf_section_bytes(elf, &s, &b))
			continue;
		for (uint64_t at = 0;
		     left > 0 && sw_bytes_u64(b, at, &svma) && sw_bytes_u64(b, at + 8, &info) &&
		     sw_bytes_u64(b, at + 16, &value);
		     at += sizeof(Elf64_Rela), left--)
			if (ELF64_R_TYPE(info) == R_X86_64_RELATIVE && each(arg, svma, value))
				return true;
	}
	return false;
}

struct relocated {
	uint64_t svma, value;
};

static bool is_of_word(void *arg, uint64_t svma, uint64_t value)
{
	struct relocated *r = arg;
	if (svma != r->svma)
		return false;
	r->value = value;
	return true;
}

static bool word(const struct words *w, uint64_t svma, uint64_t *ret)
{
	struct sw_bytes b;
	struct relocated r = {.svma = svma};
	if (w->relocated && relocations_each(w->elf, is_of_word, &r)) {
		*ret = r.value;
		return true;
	}
	return sw_elf_loaded(w->elf, svma, &b) && sw_bytes_u64(b, 0, ret);
}

bool sw_go_image_word(const struct sw_elf *elf, uint64_t svma, uint64_t *ret)
{
	const struct words w = {.elf = elf, .relocated = elf->header.e_type == ET_DYN};
	return word(&w, svma, ret);
}

static bool is_word(const struct words *w, uint64_t svma, uint64_t value)
{
	uint64_t got;
	return word(w, svma, &got) && got == value;
}

/* ---- moduledata --------------------------------------------------------------------------------- */

struct modules {
	uint64_t table_svma;
	uint64_t svma[MODULES_MAX];
	size_t n;
};

static bool module_add(void *arg, uint64_t svma, uint64_t value)
{
	struct modules *m = arg;
	if (value == m->table_svma && m->n < MODULES_MAX)
		m->svma[m->n++] = svma;
	return m->n == MODULES_MAX;
}

static void modules_look(const struct words *w, struct modules *m)
{
	struct sw_elf_segment s;
	if (w->relocated && (relocations_each(w->elf, module_add, m) || m->n > 0))
		return;
	for (uint32_t i = 0; sw_elf_segment(w->elf, i, &s); i++) {
		struct sw_bytes b;
		uint64_t value;
		if (s.type != PT_LOAD || !(s.flags & PF_W) || s.file_bytes > SEARCH_BYTES ||
		    !sw_bytes_sub(w->elf->image, s.off, s.file_bytes, &b))
			continue;
		for (uint64_t at = -s.svma & 7; sw_bytes_u64(b, at, &value); at += 8)
			if (value == m->table_svma && module_add(m, s.svma + at, value))
				return;
	}
}

/* The base of funcdata offsets; 0 if it is not there. Older versions have a small number where it
 * is since 1.27. */
static uint64_t gofunc_read(const struct words *w, const struct sw_go_pclntab *table,
			    uint64_t table_svma, uint64_t module_svma)
{
	uint64_t svma, end;
	if (!table->v118 && word(w, module_svma + MODULE_GOFUNC_127, &svma) &&
	    word(w, module_svma + MODULE_GOFUNC_127 + 8, &end) && svma > table_svma && svma < end &&
	    end - table_svma <= table->bytes.size)
		return svma;
	return word(w, module_svma + (table->v118 ? MODULE_GOFUNC_118 : MODULE_GOFUNC_120), &svma)
		       ? svma
		       : 0;
}

static bool module_find(const struct sw_elf *elf, uint64_t table_svma, struct sw_go_image *image)
{
	const struct sw_go_pclntab *t = &image->table;
	struct words w = {.elf = elf, .relocated = elf->header.e_type == ET_DYN};
	struct modules m = {.table_svma = table_svma};
	uint64_t names = table_svma + (uint64_t) (t->names.data - t->bytes.data);
	uint64_t funcs = table_svma + (uint64_t) (t->funcs.data - t->bytes.data);
	uint32_t end;
	modules_look(&w, &m);
	for (size_t i = 0; i < m.n; i++) {
		uint64_t at = m.svma[i];
		if (!is_word(&w, at + MODULE_NAMES, names) ||
		    !is_word(&w, at + MODULE_FUNCS, funcs) ||
		    !word(&w, at + MODULE_TEXT, &image->text_svma))
			continue;
		image->gofunc_svma = gofunc_read(&w, t, table_svma, at);
		if (!sw_bytes_u32(t->funcs, (uint64_t) t->n_funcs * 8, &end))
			return false;
		image->end_svma = image->text_svma + end;
		return true;
	}
	return false;
}

/* ---- the table ----------------------------------------------------------------------------------- */

static bool table_at(const struct sw_elf *elf, uint64_t svma, struct sw_go_image *ret)
{
	struct sw_bytes b;
	return sw_elf_loaded(elf, svma, &b) && sw_go_pclntab_open(b, &ret->table) &&
	       module_find(elf, svma, ret);
}

static bool table_search(const struct sw_elf *elf, struct sw_go_image *ret)
{
	static const uint8_t rest[] = {0xff, 0xff, 0xff, 0, 0, 1, 8}; /* of the first 8 bytes */
	struct sw_elf_segment s;
	size_t candidates = 0;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++) {
		struct sw_bytes b;
		if (s.type != PT_LOAD || (s.flags & PF_X) ||
		    !sw_bytes_sub(elf->image, s.off, s.file_bytes, &b))
			continue;
		if (b.size > SEARCH_BYTES)
			b.size = SEARCH_BYTES;
		const uint8_t *at = b.data, *end = b.data + b.size;
		while ((at = memmem(at, (size_t) (end - at), rest, sizeof(rest))) != NULL) {
			uint64_t off = (uint64_t) (at++ - b.data);
			if (off == 0 || !sw_go_pclntab_magic(b.data + off - 1))
				continue;
			if (++candidates > CANDIDATES_MAX)
				return false;
			if (table_at(elf, s.svma + off - 1, ret))
				return true;
		}
	}
	return false;
}

static bool table_find(const struct sw_elf *elf, struct sw_go_image *ret)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	struct sw_elf_section s;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (sw_elf_section_named(elf, names[i], &s) && table_at(elf, s.svma, ret))
			return true;
	return table_search(elf, ret);
}

bool sw_go_image_probe(const struct sw_elf *elf)
{
	/* C linkers merge the table with others; these they leave. */
	static const char *const names[] = {".gopclntab", ".go.buildinfo", ".note.go.buildid",
					    ".data.rel.ro.gopclntab"};
	struct sw_elf_section s;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (sw_elf_section_named(elf, names[i], &s))
			return true;
	return elf->n_sections == 0;
}

/* ---- what the code of the runtime tells ----------------------------------------------------------- */

bool sw_go_image_named(const struct sw_go_image *image, const char *name, uint8_t flags,
		       struct sw_go_func *ret)
{
	for (uint32_t n = 0; n < LOOK_FUNCS_MAX && n < image->table.n_funcs; n++)
		if (sw_go_func_at(&image->table, n, ret) && (ret->flags & flags) == flags &&
		    strcmp(ret->name, name) == 0)
			return true;
	return false;
}

struct sw_bytes sw_go_image_code(const struct sw_elf *elf, const struct sw_go_image *image,
				 const struct sw_go_func *func)
{
	struct sw_bytes code;
	if (!sw_elf_loaded(elf, image->text_svma + func->start_off, &code))
		return (struct sw_bytes){0};
	uint64_t bytes = func->end_off - func->start_off;
	if (code.size > bytes)
		code.size = (size_t) bytes;
	if (code.size > LOOK_CODE_BYTES)
		code.size = LOOK_CODE_BYTES;
	return code;
}

/* mov %fs:disp32, %reg | mov $imm32, %rcx; mov %fs:(%rcx), %reg | mov slot(%rip), %rcx; the same */
static bool tls_decode(struct sw_bytes code, uint64_t at, uint64_t code_svma,
		       struct sw_go_image *ret)
{
	const uint8_t *c = code.data + at;
	int32_t value;
	if (!sw_bytes_has(code, at, 10))
		return false;
	if (c[0] == 0x64 && (c[1] & 0xfb) == 0x48 && c[2] == 0x8b && (c[3] & 0xc7) == 0x04 &&
	    c[4] == 0x25) {
		memcpy(&value, c + 5, sizeof(value));
		ret->tls = SW_GO_TLS_OFFSET;
		ret->tls_value = value;
		return true;
	}
	memcpy(&value, c + 3, sizeof(value));
	if (c[7] != 0x64 || (c[8] & 0xfb) != 0x48 || c[9] != 0x8b)
		return false;
	if (c[0] == 0x48 && c[1] == 0xc7 && c[2] == 0xc1) {
		ret->tls = SW_GO_TLS_OFFSET;
		ret->tls_value = value;
		return true;
	}
	if (c[0] != 0x48 || c[1] != 0x8b || c[2] != 0x0d)
		return false;
	ret->tls = SW_GO_TLS_SLOT;
	ret->tls_value = (int64_t) (code_svma + at + 7) + value;
	return true;
}

/* mov gsignal(%rbx), %rsi: how far that is moved with what m has before it. */
static bool gsignal_decode(const uint8_t *c, struct sw_go_image *ret)
{
	if (c[0] != 0x48 || c[1] != 0x8b || c[2] != 0x73 || (c[3] != 72 && c[3] != 80))
		return false;
	ret->gsignal_off = c[3];
	return true;
}

/* runtime.morestack loads the goroutine first, and compares it with the one for signals. */
static void morestack_look(const struct sw_elf *elf, struct sw_go_image *ret)
{
	struct sw_go_func f;
	if (!sw_go_image_named(ret, "runtime.morestack", 0, &f))
		return;
	uint64_t svma = ret->text_svma + f.start_off;
	struct sw_bytes code = sw_go_image_code(elf, ret, &f);
	for (uint64_t at = 0; at < code.size && ret->tls == SW_GO_TLS_NONE; at++)
		(void) tls_decode(code, at, svma, ret); /* else the next */
	for (uint64_t at = 0; at + 4 <= code.size && ret->gsignal_off == 0; at++)
		(void) gsignal_decode(code.data + at, ret); /* else the next */
}

/*
 * Before it leaves the goroutine's stack for the vDSO, it notes in m where its caller goes on:
 * mov %rcx, vdsoPC(%rbx); mov %rdx, vdsoSP(%rbx). A wrapper has the same name.
 * Source: go1.19.8 and go1.26 src/runtime/sys_linux_amd64.s.
 */
static void nanotime_look(const struct sw_elf *elf, struct sw_go_image *ret)
{
	struct sw_go_func f;
	uint32_t pc_off, sp_off;
	if (!sw_go_image_named(ret, "runtime.nanotime1", SW_GO_FUNC_SP_WRITE, &f))
		return;
	struct sw_bytes code = sw_go_image_code(elf, ret, &f);
	for (uint64_t at = 0; ret->vdso_off == 0 && sw_bytes_has(code, at, 14); at++)
		if (memcmp(code.data + at, "\x48\x89\x8b", 3) == 0 &&
		    memcmp(code.data + at + 7, "\x48\x89\x93", 3) == 0 &&
		    sw_bytes_u32(code, at + 3, &pc_off) && sw_bytes_u32(code, at + 10, &sp_off) &&
		    pc_off == sp_off + 8 && sp_off % 8 == 0 && sp_off < SW_GO_M_BYTES_MAX)
			ret->vdso_off = sp_off;
}

/* text: "go1.19.8", maybe with more behind it. */
static void version_set(struct sw_go_image *ret, const void *text, size_t length)
{
	(void) snprintf(ret->version, sizeof(ret->version), "%.*s", (int) (length - 2),
			(const char *) text + 2); /* cut to fit */
	for (char *c = ret->version; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* Since 1.18 the version is in the file, behind 32 bytes, with its length. */
static void version_read(const struct sw_elf *elf, struct sw_go_image *ret)
{
	static const char magic[] = "\xff Go buildinf:";
	struct sw_elf_section s;
	struct sw_bytes b, text;
	uint8_t flags, length;
	if (!sw_elf_section_named(elf, ".go.buildinfo", &s) || !sw_elf_section_bytes(elf, &s, &b) ||
	    !sw_bytes_has(b, 0, 33) || memcmp(b.data, magic, sizeof(magic) - 1) != 0 ||
	    !sw_bytes_u8(b, 15, &flags) || !(flags & 2) || !sw_bytes_u8(b, 32, &length) ||
	    length >= 0x80 || !sw_bytes_sub(b, 33, length, &text) || length < 3 ||
	    memcmp(text.data, "go", 2) != 0)
		return;
	version_set(ret, text.data, length);
}

/* Whether a variable leads to the text, with its length. */
static bool version_at(const struct sw_elf *elf, struct sw_bytes b, uint64_t off, uint64_t svma,
		       struct sw_go_image *ret)
{
	const struct words w = {.elf = elf, .relocated = elf->header.e_type == ET_DYN};
	struct modules m = {.table_svma = svma};
	const char *text;
	if (!sw_bytes_str(b, off, &text) || text[4] < '0' || text[4] > '9')
		return false;
	size_t length = strlen(text);
	if (length >= sizeof(ret->version))
		return false;
	modules_look(&w, &m);
	for (size_t i = 0; i < m.n; i++)
		if (is_word(&w, m.svma[i] + 8, length)) {
			version_set(ret, text, length);
			return true;
		}
	return false;
}

/*
 * A program may be without that section, as esbuild since 1.26; it still has runtime.buildVersion, which
 * leads to a text of its own, not to one in the middle of others.
 */
static void version_search(const struct sw_elf *elf, struct sw_go_image *ret)
{
	struct sw_elf_segment s;
	size_t candidates = 0;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++) {
		struct sw_bytes b;
		if (s.type != PT_LOAD || (s.flags & (PF_W | PF_X)) ||
		    !sw_bytes_sub(elf->image, s.off, s.file_bytes, &b))
			continue;
		if (b.size > SEARCH_BYTES)
			b.size = SEARCH_BYTES;
		const uint8_t *at = b.data, *end = b.data + b.size;
		while ((at = memmem(at, (size_t) (end - at), "\0go1.", 5)) != NULL) {
			uint64_t off = (uint64_t) (++at - b.data);
			if (++candidates > CANDIDATES_MAX ||
			    version_at(elf, b, off, s.svma + off, ret))
				return;
		}
	}
}

bool sw_go_image_read(const struct sw_elf *elf, struct sw_go_image *ret)
{
	*ret = (struct sw_go_image){0};
	if (elf->header.e_machine != EM_X86_64 || !sw_go_image_probe(elf) || !table_find(elf, ret))
		return false;
	morestack_look(elf, ret);
	nanotime_look(elf, ret);
	version_read(elf, ret);
	if (ret->version[0] == '\0')
		version_search(elf, ret);
	return true;
}

bool sw_go_image_func(const struct sw_go_image *image, uint64_t svma, struct sw_go_func *ret)
{
	return svma >= image->text_svma && svma < image->end_svma &&
	       sw_go_func_find(&image->table, svma - image->text_svma, ret);
}
