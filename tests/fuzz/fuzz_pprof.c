/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile of pprof, or folded stacks: what is taken is written in every format, and as pprof it is read again with the same
 * counts.
 */
#include "fuzz.h"

#include <snapwalk/profile.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_profile *p = NULL, *again = NULL;
	struct sw_profile_left_out left;
	struct sw_error err = {0};
	char *text = NULL;
	size_t text_size;
	int r = sw_profile_is_folded(data, size)
			? sw_profile_parse_folded(data, size, &p, &err)
			: sw_profile_parse_pprof(data, size, &p, &left, &err);
	check(r == 0 || r == -SW_E_FORMAT || r == -SW_E_LIMIT);
	if (r < 0)
		return 0;
	for (enum sw_profile_format f = 0; f < SW_PROFILE_FORMATS; f++) {
		check(sw_profile_write(p, f, NULL, &text, &text_size, NULL) == 0);
		if (f == SW_PROFILE_PPROF) {
			check(sw_profile_parse_pprof(text, text_size, &again, &left, NULL) == 0);
			check(sw_profile_totals(again).count == sw_profile_totals(p).count);
			sw_profile_destroy(again);
		}
		free(text);
	}
	sw_profile_destroy(p);
	return 0;
}
