/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/capture.h"
#include "errors.h"

int sw_jit_capture_all(struct sw_capture *capture)
{
	int r = 0;
	if (*capture->found == NULL) /* prepare had no memory */
		return -SW_E_NOMEM;
	for (size_t i = 0; i < sw_n_jit_hooks; i++) {
		struct sw_jit_capture c = sw_jit_capture_of(capture, i);
		int one = sw_jit_hook_table[i]->capture != NULL ? sw_jit_hook_table[i]->capture(&c)
								: 0;
		r = r < 0 ? r : one;
	}
	return r;
}
