/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/known_files.h"
#include "cleanup.h"
#include "parts.h"

#include <ctype.h>
#include <string.h>

/* The text that follows the stem of a file's name. */
enum after { ANYTHING, NOTHING, VERSION };

/* The use of rbp in the code that the file generates. */
enum rbp {
	LOSES, /* a general register, or not known */
	KEEPS, /* a frame pointer, always */
	NONE,  /* it generates no code that does not publish tables */
};

struct runtime_file {
	const char *stem;
	const char *name;
	enum after after;
	enum rbp rbp;
};

/* Names of files as Debian 12 and the projects' own builds have them. */
static const struct runtime_file files[] = {
	{"libjvm.so", "hotspot", NOTHING, LOSES},
	{"node", "v8", NOTHING, KEEPS},
	{"libnode.so", "v8", ANYTHING, KEEPS},
	{"deno", "v8", NOTHING, KEEPS},
	{"chromium", "chromium", NOTHING, LOSES},
	{"chrome", "chromium", NOTHING, LOSES},
	{"headless_shell", "chromium", NOTHING, LOSES},
	{"electron", "chromium", NOTHING, LOSES},
	{"bun", "jsc", NOTHING, KEEPS},
	{"libpython", "cpython", VERSION, NONE},
	{"python", "cpython", VERSION, NONE},
	{"libpypy", "pypy", VERSION, LOSES},
	{"php-fpm", "php", VERSION, LOSES},
	{"php-cgi", "php", VERSION, LOSES},
	{"php", "php", VERSION, LOSES},
	{"libphp", "php", VERSION, LOSES},
	{"libruby-", "ruby", VERSION, LOSES},
	{"luajit", "luajit", NOTHING, LOSES},
	{"libluajit-", "luajit", ANYTHING, LOSES},
	{"mono-sgen", "mono", NOTHING, LOSES},
	{"libmonosgen-", "mono", ANYTHING, LOSES},
	{"beam.smp", "erlang", NOTHING, LOSES},
	{"beam.emu.smp", "erlang", NOTHING, LOSES},
	{"beam.jit.smp", "erlang", NOTHING, LOSES},
	{"qemu-", "qemu", ANYTHING, LOSES},
	{"libLLVM-", "llvm", VERSION, LOSES},
	{"libLLVM.so.", "llvm", VERSION, LOSES},
	{"libgccjit.so", "libgccjit", ANYTHING, NONE},
	{"libguile-", "guile", VERSION, LOSES},
	{"sbcl", "sbcl", NOTHING, KEEPS},
	{"racket", "racket", NOTHING, LOSES},
};

/* Digits, with dots between them. */
static size_t version_length(const char *s)
{
	size_t n = 0;
	while (isdigit((unsigned char) s[n]) ||
	       (n > 0 && s[n] == '.' && isdigit((unsigned char) s[n + 1])))
		n++;
	return n;
}

static bool file_matches(const struct runtime_file *file, const char *name, char *version,
			 size_t size)
{
	size_t stem = strlen(file->stem);
	if (strncmp(name, file->stem, stem) != 0 || (file->after == NOTHING && name[stem] != '\0'))
		return false;
	size_t length = version_length(name + stem);
	if (file->after != VERSION)
		return true;
	if (length == 0 || length >= size)
		return false;
	memcpy(version, name + stem, length);
	version[length] = '\0';
	return true;
}

static const struct runtime_file *file_of(const char *path, char *version, size_t size)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(files); i++)
		if (file_matches(&files[i], sw_path_name(path), version, size))
			return &files[i];
	return NULL;
}

const char *sw_known_file_runtime(const char *path, char *version, size_t size)
{
	const struct runtime_file *file = file_of(path, version, size);
	return file != NULL ? file->name : NULL;
}

static const struct runtime_file *file_of_module(const struct sw_module *module)
{
	char version[sizeof(((struct sw_runtime *) 0)->version)];
	return sw_module_kind(module) == SW_MODULE_ELF
		       ? file_of(sw_module_path(module), version, sizeof(version))
		       : NULL;
}

bool sw_known_file_keeps_fp(const struct sw_module *module)
{
	const struct runtime_file *file = file_of_module(module);
	return file != NULL && file->rbp == KEEPS;
}

/* Wine has the file since version 7, as Windows has. */
bool sw_known_file_runs_32bit(const struct sw_module *module)
{
	static const char name[] = "wow64cpu.dll";
	const char *path = sw_module_path(module);
	size_t length = strlen(path), n = sizeof(name) - 1;
	return sw_module_kind(module) == SW_MODULE_PE && length >= n &&
	       strcasecmp(path + length - n, name) == 0 &&
	       (length == n || path[length - n - 1] == '/' || path[length - n - 1] == '\\');
}

bool sw_known_files_keep_fp(const struct sw_snapshot *snap)
{
	bool keeps = false;
	for (size_t i = 0; i < snap->n_places; i++) {
		const struct runtime_file *file = file_of_module(snap->places[i].module);
		if (file != NULL && file->rbp == LOSES)
			return false;
		keeps |= file != NULL && file->rbp == KEEPS;
	}
	return keeps;
}
