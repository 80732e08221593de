/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "languages.h"
#include "cleanup.h"
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <libiberty/demangle.h>

enum {
	D_MANGLED_MAX = 1024,    /* bytes; libiberty recurses over what it reads */
	D_WRITTEN_MAX = 1 << 20, /* bytes: a back reference may double the text */
	OTHER_MANGLED_MAX = 4096,
	HEX_DIGITS = 2,
};

/*
 * The most that may be written of a name of D. A back reference, "Q" and how far back in base 26,
 * whose last digit is a lower-case letter, stands for the identifier that is there, "4core", or for
 * a type: that may be all that was written up to now. Source: D's specification, "Back references"
 * of its ABI.
 */
static size_t d_written(const char *mangled, size_t bytes)
{
	size_t written = 0;
	for (size_t i = 0; i < bytes && written <= D_WRITTEN_MAX; i++) {
		size_t back = 0, at = i + 1;
		written++;
		if (mangled[i] != 'Q')
			continue;
		for (; at < bytes && isupper((unsigned char) mangled[at]) && back <= bytes; at++)
			back = back * 26 + (size_t) (mangled[at] - 'A');
		back = back * 26 + (size_t) (mangled[at] - 'a');
		bool name = islower((unsigned char) mangled[at]) && back > 0 && back <= i &&
			    isdigit((unsigned char) mangled[i - back]);
		written += name ? bytes : written;
	}
	return written;
}

char *sw_demangle_d(const char *mangled)
{
	if (strncmp(mangled, "_D", 2) != 0 || !isdigit((unsigned char) mangled[2]))
		return NULL;
	size_t bytes = strnlen(mangled, D_MANGLED_MAX);
	if (bytes == D_MANGLED_MAX || d_written(mangled, bytes) > D_WRITTEN_MAX)
		return NULL;
	return dlang_demangle(mangled, DMGL_PARAMS | DMGL_ANSI);
}

char *sw_demangle_fortran(const char *mangled)
{
	const char *middle = strstr(mangled, "_MOD_");
	if (strncmp(mangled, "__", 2) != 0 || middle == NULL || middle <= mangled + 2 ||
	    middle[5] == '\0' || mangled[2] == '_')
		return NULL;
	char *text;
	return asprintf(&text, "%.*s::%s", (int) (middle - mangled - 2), mangled + 2, middle + 5) <
			       0
		       ? NULL
		       : text;
}

/* "_1234" at the end: a number that makes the name the only one in its module. */
static size_t without_stamp(const char *name)
{
	size_t size = strlen(name), digits = 0;
	while (digits < size && isdigit((unsigned char) name[size - 1 - digits]))
		digits++;
	/* Functions without a name would have nothing left to tell them apart. */
	bool stamp = digits > 0 && digits < size && name[size - 1 - digits] == '_' &&
		     (size < digits + 4 || strncmp(name + size - digits - 4, "fun", 3) != 0);
	return stamp ? size - digits - 1 : size;
}

/* Other characters than letters, digits and "_": "$" and two hexadecimal digits. */
static bool escaped(const char *at, char *ret)
{
	unsigned value;
	if (at[0] != '$' || !isxdigit((unsigned char) at[1]) || !isxdigit((unsigned char) at[2]) ||
	    sscanf(at + 1, "%2x", &value) != 1)
		return false;
	if (value < ' ' || value > '~')
		return false;
	*ret = (char) value;
	return true;
}

char *sw_demangle_ocaml(const char *mangled)
{
	static const char prefix[] = "caml";
	const char *name = mangled + sizeof(prefix) - 1;
	/* Functions of the runtime, which is in C, go on with "_". */
	if (strncmp(mangled, prefix, sizeof(prefix) - 1) != 0 || !isupper((unsigned char) *name) ||
	    (strstr(name, "__") == NULL && strchr(name, '.') == NULL))
		return NULL;
	size_t size = without_stamp(name), n = 0;
	char *text = malloc(size + 1);
	if (text == NULL)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		char c = name[i];
		if (i > 0 && i + 2 < size && c == '_' && name[i + 1] == '_') {
			c = '.';
			i++;
		} else if (i + HEX_DIGITS < size && escaped(name + i, &c)) {
			i += HEX_DIGITS;
		}
		text[n++] = c;
	}
	text[n] = '\0';
	return text;
}

/* "A$B$$RESULT" as "(A, B)"; nothing for a checksum, which long lists are replaced by. */
static void pascal_arguments(struct sw_text *text, const char *at)
{
	bool any = false;
	if (strncmp(at, "crc", 3) == 0)
		return;
	for (; *at != '\0' && *at != '$'; any = true) {
		size_t n = strcspn(at, "$");
		sw_text_printf(text, "%s%.*s", any ? ", " : "(", (int) n, at);
		at += n + (at[n] == '$');
	}
	if (any)
		sw_text_append(text, ")", 1);
}

/* [at, end) is "P$PROGRAM" or "UNIT", and then "$_$CLASS_$_" or "$_$FUNCTION$ARGUMENT". */
static void pascal_owners(struct sw_text *text, const char *at, const char *end)
{
	static const char outer[] = "$_$", method[] = "_$_";
	enum { SIZE = sizeof(outer) - 1 };
	if (end - at > SIZE && memcmp(end - SIZE, method, SIZE) == 0)
		end -= SIZE;
	if (strncmp(at, "P$", 2) == 0 && strncmp(at + 1, outer, SIZE) != 0)
		at += 2;
	while (at != NULL && at < end) {
		size_t n = strcspn(at, "$"), left = (size_t) (end - at);
		sw_text_printf(text, "%.*s.", (int) (n < left ? n : left), at);
		at = strstr(at, outer);
		at = at != NULL ? at + SIZE : NULL;
	}
}

char *sw_demangle_pascal(const char *mangled)
{
	static const char mark[] = "_$$_";
	enum { MARK = sizeof(mark) - 1 };
	if (!isalpha((unsigned char) mangled[0]) ||
	    strnlen(mangled, OTHER_MANGLED_MAX) == OTHER_MANGLED_MAX)
		return NULL;
	const char *name = NULL;
	for (const char *at = mangled; (at = strstr(at, mark)) != NULL; at += MARK)
		name = at;
	/* A wrapper of an interface's method has the names of both in its own. */
	if (name == NULL || name[MARK] == '\0' || name[MARK] == '$' ||
	    strncmp(mangled, "WRPR_$", 6) == 0)
		return NULL;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	pascal_owners(&text, mangled, name);
	name += MARK;
	size_t n = strcspn(name, "$");
	sw_text_append(&text, name, n);
	if (name[n] == '$')
		pascal_arguments(&text, name + n + 1);
	return text.failed ? NULL : strndup(text.data, text.size);
}

static bool is_gnat_library(const char *name)
{
	static const char *const roots[] = {"ada__", "system__", "gnat__", "interfaces__", "_ada_"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(roots); i++)
		if (strncmp(name, roots[i], strlen(roots[i])) == 0)
			return true;
	return false;
}

/* The bytes before digits that a name ends in. */
static size_t before_digits(const char *name, size_t n)
{
	while (n > 0 && isdigit((unsigned char) name[n - 1]))
		n--;
	return n;
}

/*
 * Cuts what libiberty (2.40) does not know at the end of a name. gcc numbers nested functions: ".12".
 * gcc 12 gcc/ada/exp_dbug.ads: TB, TKB the body of a task; N, P the operation of a protected object without
 * its lock and with it; _E12b, _B12b an entry's body and barrier. Names themselves have no capitals.
 */
static void ada_ending_cut(char *name)
{
	size_t n = strlen(name), before = before_digits(name, n);
	if (before > 1 && before < n && name[before - 1] == '.')
		name[n = before - 1] = '\0';
	if (n > 3 && strcmp(name + n - 3, "TKB") == 0)
		name[n - 3] = '\0';
	else if (n > 2 && strcmp(name + n - 2, "TB") == 0)
		name[n - 2] = '\0';
	else if (n > 2 && (name[n - 1] == 'N' || name[n - 1] == 'P') &&
		 !isupper((unsigned char) name[n - 2]))
		name[n - 1] = '\0';
	else if (n > 2 && name[n - 1] == 'b') {
		before = before_digits(name, n - 1);
		if (before > 2 && before < n - 1 && strchr("EB", name[before - 1]) != NULL &&
		    name[before - 2] == '_')
			name[before - 2] = '\0';
	}
}

/* A part that gcc put elsewhere is marked as its demangler does for C++. */
static char *ada_marked(const char *name)
{
	char *marked = NULL;
	return asprintf(&marked, "%s [clone .cold]", name) < 0 ? NULL : marked;
}

char *sw_demangle_ada(const char *mangled, bool program_is_ada)
{
	const char *within = mangled[0] == '\0' ? NULL : strstr(mangled + 1, "__");
	if (!is_gnat_library(mangled) &&
	    (!program_is_ada || within == NULL || !islower((unsigned char) mangled[0])))
		return NULL;
	size_t n = strnlen(mangled, OTHER_MANGLED_MAX);
	if (n == OTHER_MANGLED_MAX)
		return NULL;
	bool cold = n > 5 && strcmp(mangled + n - 5, ".cold") == 0;
	sw_cleanup(sw_free_p) char *name = strndup(mangled, cold ? n - 5 : n);
	if (name == NULL)
		return NULL;
	ada_ending_cut(name);
	sw_cleanup(sw_free_p) char *text = ada_demangle(name, 0);
	/* A name that ada_demangle() does not know is given back in brackets. */
	if (text == NULL || text[0] == '<' || strcmp(text, mangled) == 0)
		return NULL;
	return cold ? ada_marked(text) : sw_take_ptr(text);
}

/* name begins and ends with a 0. */
static bool has_symbol(const struct sw_elf *elf, const char *name, size_t bytes)
{
	struct sw_elf_table table;
	return (sw_elf_table_typed(elf, SHT_SYMTAB, &table) ||
		sw_elf_table_typed(elf, SHT_DYNSYM, &table)) &&
	       memmem(table.strings.data, table.strings.size, name, bytes) != NULL;
}

bool sw_elf_is_ada(const struct sw_elf *elf)
{
	static const char name[] = "\0__gnat_ada_main_program_name";
	return has_symbol(elf, name, sizeof(name));
}

/* ---- GHC -------------------------------------------------------------------------------------- */

/* "z23U", "zc3U": a character by its number; those whose number begins with a letter have 0 before it. */
static const char *z_number(const char *at, struct sw_text *text)
{
	uint32_t value = 0;
	for (; isxdigit((unsigned char) *at) && !isupper((unsigned char) *at); at++) {
		value = value << 4 |
			(uint32_t) (isdigit((unsigned char) *at) ? *at - '0' : *at - 'a' + 10);
		if (value > 0x10ffff)
			return NULL;
	}
	if (*at != 'U' || value < ' ')
		return NULL;
	char utf8[4];
	size_t n = value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, value >>= 6)
		utf8[i] = (char) (0x80 | (value & 0x3f));
	utf8[0] = (char) (n == 1 ? value : (0xf00U >> n & 0xf0) | value);
	sw_text_append(text, utf8, n);
	return at + 1;
}

/* "Z2T", "Z3H": a tuple, or an unboxed one, with so many parts. */
static const char *z_tuple(const char *at, struct sw_text *text)
{
	enum { PARTS_MAX = 64 };
	unsigned parts = 0;
	for (; isdigit((unsigned char) *at) && parts <= PARTS_MAX; at++)
		parts = parts * 10 + (unsigned) (*at - '0');
	if ((*at != 'T' && *at != 'H') || parts > PARTS_MAX)
		return NULL;
	sw_text_append(text, *at == 'T' ? "(" : "(#", *at == 'T' ? 1 : 2);
	for (unsigned i = 1; i < parts; i++)
		sw_text_append(text, ",", 1);
	sw_text_append(text, *at == 'T' ? ")" : "#)", *at == 'T' ? 1 : 2);
	return at + 1;
}

/* An escaped character of GHC 9.0, libraries/ghc-boot/GHC/Utils/Encoding.hs, from behind "z" or "Z"
 * on. Returns the text behind it; NULL if the text is no such character. */
static const char *z_escape(char z, const char *at, struct sw_text *text)
{
	static const char small[] = "a&b|c^d$e=g>h#i.l<m-n!p+q'r\\s/t*u_v%zz";
	static const char large[] = "L(R)M[N]C:ZZ";
	if (isdigit((unsigned char) *at))
		return z == 'z' ? z_number(at, text) : z_tuple(at, text);
	for (const char *c = z == 'z' ? small : large; *c != '\0'; c += 2)
		if (*c == *at) {
			sw_text_append(text, c + 1, 1);
			return at + 1;
		}
	return NULL;
}

/* Appends [at, end) as it was written. False: it is no such name. */
static bool z_decode(const char *at, const char *end, struct sw_text *text)
{
	if (at >= end)
		return false;
	while (at < end) {
		const char *next = at + 1;
		if (*at == 'z' || *at == 'Z')
			next = z_escape(*at, next, text);
		else if (isalnum((unsigned char) *at))
			sw_text_append(text, at, 1);
		else
			return false;
		if (next == NULL || next > end)
			return false;
		at = next;
	}
	return true;
}

/* The end of the name proper, before what GHC calls its code and data. */
static const char *haskell_end(const char *name)
{
	static const char *const kinds[] = {"_con_info", "_con_entry", "_static_info", "_info",
					    "_entry",    "_fast",      "_slow",        "_closure"};
	size_t n = strlen(name);
	for (size_t i = 0; i < SW_ARRAY_SIZE(kinds); i++) {
		size_t k = strlen(kinds[i]);
		if (n > k && strcmp(name + n - k, kinds[i]) == 0)
			return name + n - k;
	}
	return NULL;
}

/* "Module_name", or with the package before it, which people do not write. Parts have no "_" in them. */
char *sw_demangle_haskell(const char *mangled)
{
	if (strnlen(mangled, OTHER_MANGLED_MAX) == OTHER_MANGLED_MAX)
		return NULL;
	const char *end = haskell_end(mangled), *part[3] = {mangled};
	size_t n = 1;
	for (const char *at = mangled; end != NULL && at < end; at++)
		if (*at == '_') {
			if (n == SW_ARRAY_SIZE(part))
				return NULL;
			part[n++] = at + 1;
		}
	if (end == NULL || n < 2)
		return NULL;
	const char *module = part[n - 2], *name = part[n - 1];
	if (!isupper((unsigned char) module[0]))
		return NULL;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (!z_decode(module, name - 1, &text))
		return NULL;
	sw_text_append(&text, ".", 1);
	if (!z_decode(name, end, &text) || text.failed)
		return NULL;
	return strndup(text.data, text.size);
}

bool sw_elf_is_haskell(const struct sw_elf *elf)
{
	static const char name[] = "\0stg_upd_frame_info";
	return has_symbol(elf, name, sizeof(name));
}
