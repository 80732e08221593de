/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "errors.h"
#include "profile/writers.h"

int sw_profile_write(const struct sw_profile *profile, enum sw_profile_format format,
		     const struct sw_profile_write_options *options, char **ret, size_t *ret_size,
		     struct sw_error *err)
{
	static sw_profile_writer *const writers[SW_PROFILE_FORMATS] = {
		[SW_PROFILE_TEXT] = sw_profile_text,
		[SW_PROFILE_FOLDED] = sw_profile_folded,
		[SW_PROFILE_JSON] = sw_profile_json,
		[SW_PROFILE_PPROF] = sw_profile_pprof,
		[SW_PROFILE_SPEEDSCOPE] = sw_profile_speedscope,
		[SW_PROFILE_FIREFOX] = sw_profile_firefox,
		[SW_PROFILE_HTML] = sw_profile_html,
		[SW_PROFILE_OTLP] = sw_profile_otlp,
		[SW_PROFILE_SVG] = sw_profile_svg,
	};
	static const struct sw_profile_write_options defaults = {0};
	struct sw_text text = {0};
	int r = writers[format](&text, profile, options != NULL ? options : &defaults);
	sw_text_append(&text, "", 0); /* data exists, also for nothing */
	if (r < 0 || text.failed) {
		sw_text_deinit(&text);
		return sw_fail_nomem(err);
	}
	*ret = text.data;
	*ret_size = text.size;
	return 0;
}
