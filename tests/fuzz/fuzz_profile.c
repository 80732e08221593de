/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An old profile, as --diff reads it: what is taken is written in every format, and read back the same. */
#include "fuzz.h"

#include <snapwalk/profile.h>

#include <string.h>

static char *write_as(const struct sw_profile *p, enum sw_profile_format format,
		      const struct sw_profile *old, size_t *ret_size)
{
	char *text = NULL;
	struct sw_profile_write_options options = {.old = old};
	check(sw_profile_write(p, format, &options, &text, ret_size, NULL) == 0);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_profile *p = NULL, *again = NULL;
	struct sw_error err = {0};
	size_t first_size, second_size;
	int r = sw_profile_parse((const char *) data, size, &p, &err);
	check(r == 0 || (r == -SW_E_FORMAT && err.code == SW_E_FORMAT));
	if (r < 0)
		return 0;
	for (enum sw_profile_format f = 0; f < SW_PROFILE_FORMATS; f++)
		free(write_as(p, f, p, &first_size));
	char *first = write_as(p, SW_PROFILE_JSON, NULL, &first_size);
	check(sw_profile_parse(first, first_size, &again, NULL) == 0);
	char *second = write_as(again, SW_PROFILE_JSON, NULL, &second_size);
	check(first_size == second_size && memcmp(first, second, first_size) == 0);
	free(first);
	free(second);
	sw_profile_destroy(again);
	sw_profile_destroy(p);
	return 0;
}
