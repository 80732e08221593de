/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "languages.h"

#include <snapwalk/symbolize.h>

#include <setjmp.h>
#include <string.h>
#include <libiberty/demangle.h>

enum {
	MANGLED_MAX = 4096,      /* bytes; libiberty recurses over what it reads */
	DEMANGLED_MAX = 1 << 16, /* bytes; back references let a short name grow without end */
	DEMANGLE_OPTIONS = DMGL_PARAMS | DMGL_ANSI, /* reads like c++filt */
};

struct output {
	char *text; /* owned */
	size_t bytes, capacity;
	jmp_buf stop;
};

/*
 * libiberty cannot be told to stop, and a name of 100 bytes whose substitutions double each time
 * would keep it printing for years: jump out of it. Its callback interfaces keep everything on the
 * stack (demangle.h), so that nothing but a punycode identifier's few bytes can be lost.
 */
static void output_append(const char *part, size_t bytes, void *arg)
{
	struct output *out = arg;
	if (bytes >= DEMANGLED_MAX - out->bytes)
		longjmp(out->stop, 1);
	if (bytes >= out->capacity - out->bytes) {
		size_t capacity = out->capacity * 2 + bytes + 1;
		char *grown = realloc(out->text, capacity);
		if (grown == NULL)
			longjmp(out->stop, 1);
		out->text = grown;
		out->capacity = capacity;
	}
	memcpy(out->text + out->bytes, part, bytes);
	out->bytes += bytes;
	out->text[out->bytes] = '\0';
}

/* Rust first: its legacy names are also valid C++ ones, with a hash for a function name. */
static bool demangle_into(const char *mangled, struct output *out)
{
	if (setjmp(out->stop) != 0)
		return false;
	if (rust_demangle_callback(mangled, DEMANGLE_OPTIONS, output_append, out))
		return out->bytes > 0;
	out->bytes = 0;
	return cplus_demangle_v3_callback(mangled, DEMANGLE_OPTIONS, output_append, out) &&
	       out->bytes > 0;
}

static char *of_other_language(const char *mangled)
{
	char *text = NULL;
	if (strnlen(mangled, MANGLED_MAX) == MANGLED_MAX)
		return NULL;
	if (mangled[0] == 'c')
		text = sw_demangle_ocaml(mangled);
	else if (mangled[0] == '_' && mangled[1] == 'D')
		text = sw_demangle_d(mangled);
	else if (mangled[0] == '_' && mangled[1] == '_')
		text = sw_demangle_fortran(mangled);
	if (text == NULL)
		text = sw_demangle_pascal(mangled);
	return text != NULL ? text : sw_demangle_ada(mangled, false);
}

char *sw_demangle(const char *mangled)
{
	/* Itanium C++ ABI 5.1.2 and legacy Rust; Rust v0 (RFC 2603). Without the prefix it is a plain
	 * C name, which libiberty might take for another language's. */
	if (strncmp(mangled, "_Z", 2) != 0 && strncmp(mangled, "_R", 2) != 0)
		return of_other_language(mangled);
	if (strnlen(mangled, MANGLED_MAX) == MANGLED_MAX)
		return NULL;
	struct output *out = calloc(1, sizeof(*out)); /* on the heap: setjmp may not cost us it */
	if (out == NULL)
		return NULL;
	char *text = NULL;
	if (demangle_into(mangled, out))
		text = sw_take_ptr(out->text);
	free(out->text);
	free(out);
	return text;
}
