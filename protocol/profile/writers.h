/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_WRITERS_H
#define SW_PROFILE_WRITERS_H

#include "profile/tables.h"
#include "text.h"

/* The writer of a format. Returns 0, or -SW_E_NOMEM; text->failed counts as the latter. */
typedef int sw_profile_writer(struct sw_text *text, const struct sw_profile *p,
			      const struct sw_profile_write_options *options);

sw_profile_writer sw_profile_text, sw_profile_folded, sw_profile_json, sw_profile_pprof,
	sw_profile_speedscope, sw_profile_firefox, sw_profile_html, sw_profile_otlp, sw_profile_svg;

#endif
