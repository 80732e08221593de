/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/cpython/structures/library.h"

#include <string.h>

bool sw_cpython_is_of_library(const char *file, const char *name)
{
	static const char folder[] = "python";
	size_t length = strlen(file), size = strlen(name);
	if (length < size + 1 || strcmp(file + length - size, name) != 0)
		return false;
	size_t end = length - size - 1, begin = end;
	if (file[end] != '/' && file[end] != '\\')
		return false;
	while (begin > 0 && file[begin - 1] != '/' && file[begin - 1] != '\\')
		begin--;
	const char *parent = file + begin, *digit = parent + sizeof(folder) - 1;
	if (end - begin == strlen("Lib"))
		return strncmp(parent, "Lib", strlen("Lib")) == 0;
	return end - begin > sizeof(folder) - 1 &&
	       strncmp(parent, folder, sizeof(folder) - 1) == 0 && *digit >= '0' && *digit <= '9';
}
