/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtime_names.h"
#include "cleanup.h"
#include "elf_symbol.h"
#include "module.h"
#include "text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* What follows the stem of a file's name. */
enum after { ANYTHING, NOTHING, VERSION };

struct runtime_file {
	const char *stem;
	const char *name;
	enum after after;
};

/* Names of files as Debian 12 and the projects' own builds have them. */
static const struct runtime_file files[] = {
	{"libjvm.so", "hotspot", NOTHING},
	{"node", "v8", NOTHING},
	{"libnode.so", "v8", ANYTHING},
	{"deno", "v8", NOTHING},
	{"bun", "jsc", NOTHING},
	{"libpython", "cpython", VERSION},
	{"python", "cpython", VERSION},
	{"libpypy", "pypy", VERSION},
	{"php-fpm", "php", VERSION},
	{"php-cgi", "php", VERSION},
	{"php", "php", VERSION},
	{"libphp", "php", VERSION},
	{"libruby-", "ruby", VERSION},
	{"luajit", "luajit", NOTHING},
	{"libluajit-", "luajit", ANYTHING},
	{"mono-sgen", "mono", NOTHING},
	{"libmonosgen-", "mono", ANYTHING},
	{"beam.smp", "erlang", NOTHING},
	{"qemu-", "qemu", ANYTHING},
	{"libLLVM-", "llvm", VERSION},
	{"libLLVM.so.", "llvm", VERSION},
	{"libgccjit.so", "libgccjit", ANYTHING},
	{"libguile-", "guile", VERSION},
	{"sbcl", "sbcl", NOTHING},
	{"racket", "racket", NOTHING},
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

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

/* V8 has its version in variables that node exports: src/utils/version.h, since V8 4. */
static void v8_version(struct sw_module *module, char *version, size_t size)
{
	static const char *const names[] = {"_ZN2v88internal7Version6major_E",
					    "_ZN2v88internal7Version6minor_E",
					    "_ZN2v88internal7Version6build_E"};
	struct sw_elf_symbols symbols;
	struct sw_bytes image;
	uint32_t value[SW_ARRAY_SIZE(names)];
	image.data = sw_module_image(module, &image.size);
	if (image.data == NULL || !sw_elf_symbols_open(image, &symbols))
		return;
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++) {
		struct sw_elf_symbol symbol;
		struct sw_bytes bytes;
		if (!sw_elf_symbols_find(&symbols, names[i], &symbol) ||
		    !sw_elf_symbols_bytes(&symbols, symbol.svma, &bytes) ||
		    bytes.size < sizeof(value[i]))
			return;
		memcpy(&value[i], bytes.data, sizeof(value[i]));
	}
	(void) snprintf(version, size, "%" PRIu32 ".%" PRIu32 ".%" PRIu32, value[0], value[1],
			value[2]); /* three numbers fit */
}

static bool runtime_of(struct sw_module *module, struct sw_runtime *ret)
{
	const char *path = sw_module_path(module);
	*ret = (struct sw_runtime){.entries = -1};
	for (size_t i = 0; i < SW_ARRAY_SIZE(files); i++) {
		if (!file_matches(&files[i], base_name(path), ret->version, sizeof(ret->version)))
			continue;
		ret->name = files[i].name;
		(void) snprintf(ret->where, sizeof(ret->where), "%s", path); /* cut to fit */
		if (strcmp(ret->name, "v8") == 0)
			v8_version(module, ret->version, sizeof(ret->version));
		return true;
	}
	return false;
}

static bool is_known(const struct sw_runtime *known, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(known[i].name, name) == 0)
			return true;
	return false;
}

size_t sw_runtime_names(const struct sw_snapshot *snap, struct sw_runtime *ret, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < snap->n_places && n < max; i++) {
		struct sw_module *module = snap->places[i].module;
		if (sw_module_kind(module) == SW_MODULE_ELF && runtime_of(module, &ret[n]) &&
		    !is_known(ret, n, ret[n].name))
			n++;
	}
	return n;
}
