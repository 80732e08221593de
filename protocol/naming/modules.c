/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "naming/modules.h"
#include "errors.h"

#include <string.h>

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* False: not such, or too long. */
static bool id_read(const char *hex, uint8_t id[static SW_BUILD_ID_MAX], size_t *ret_bytes)
{
	size_t n = strlen(hex) / 2;
	if (n == 0 || n > SW_BUILD_ID_MAX || strlen(hex) % 2 != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		id[i] = (uint8_t) (high << 4 | low);
	}
	*ret_bytes = n;
	return true;
}

int sw_naming_module(const struct sw_naming *naming, const char *format, const char *path,
		     const char *build_id, struct sw_module **ret)
{
	uint8_t id[SW_BUILD_ID_MAX];
	size_t bytes;
	struct sw_error ignored; /* a file that cannot be looked at is none */
	*ret = NULL;
	int r = 0;
	if (strcmp(format, "elf") == 0 && build_id != NULL && build_id[0] == '\0' &&
	    path[0] != '\0' && strchr(path, '/') == NULL)
		r = sw_finder_named(naming->finder, path, ret, &ignored);
	if (r == -SW_E_NOMEM || *ret != NULL)
		return r;
	bool is_pe = strcmp(format, "pe") == 0;
	if ((strcmp(format, "elf") != 0 && !is_pe) || build_id == NULL ||
	    !id_read(build_id, id, &bytes))
		return 0;
	r = sw_finder_module(naming->finder, is_pe ? SW_MODULE_PE : SW_MODULE_ELF, path, id, bytes,
			     ret, &ignored);
	return r == -SW_E_NOMEM ? r : 0;
}

enum sw_symbol_source sw_naming_source(const char *name)
{
	for (enum sw_symbol_source s = SW_SOURCE_NONE; s <= SW_SOURCE_JIT; s++)
		if (strcmp(sw_symbol_source_name(s), name) == 0)
			return s;
	return SW_SOURCE_NONE;
}
