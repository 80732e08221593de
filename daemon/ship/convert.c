/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/convert.h"
#include "cleanup.h"
#include "errors.h"
#include "json.h"

#include <snapwalk/otlp.h>
#include <snapwalk/profile.h>
#include <snapwalk/protocol.h>

#include <libdeflate.h>

enum { DEPTH_MAX = 64, PACK_LEVEL = 6 };

static int convert_profile(const char *id, struct sw_json_part part, char **ret, size_t *ret_size,
			   struct sw_error *err)
{
	const struct sw_profile_write_options options = {.id = id};
	struct sw_profile *profile = NULL;
	int r = sw_profile_parse(part.data, part.size, &profile, err);
	if (r == 0)
		r = sw_profile_write(profile, SW_PROFILE_OTLP, &options, ret, ret_size, err);
	sw_profile_destroy(profile);
	return r;
}

static int convert_dump(struct sw_json_part part, char **ret, size_t *ret_size,
			struct sw_error *err)
{
	const struct sw_text_options options = {.all = true, .no_hints = true, .kept = true};
	struct sw_report *report = NULL;
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t text_size = 0;
	int r = sw_report_parse(part.data, part.size, &report, err);
	if (r == 0)
		r = sw_report_text(report, &options, &text, &text_size, err);
	if (r == 0)
		r = sw_otlp_log(report, text, ret, ret_size, err);
	sw_report_destroy(report);
	return r;
}

int sw_ship_convert(enum sw_ship_kind kind, const char *id, const char *text, size_t size,
		    char **ret, size_t *ret_size, struct sw_error *err)
{
	struct sw_json_part part = {0};
	const bool is_profile = kind == SW_SHIP_PROFILES;
	int r = sw_json_scan_find(text, size, DEPTH_MAX, is_profile ? "profile" : "dump", &part,
				  err);
	if (r < 0)
		return r;
	return is_profile ? convert_profile(id, part, ret, ret_size, err)
			  : convert_dump(part, ret, ret_size, err);
}

int sw_ship_pack(const char *data, size_t size, char **ret, size_t *ret_size, struct sw_error *err)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(PACK_LEVEL);
	if (compressor == NULL)
		return sw_fail_nomem(err);
	const size_t bound = libdeflate_gzip_compress_bound(compressor, size);
	sw_cleanup(sw_free_p) char *packed = malloc(bound);
	const size_t n = packed != NULL
				 ? libdeflate_gzip_compress(compressor, data, size, packed, bound)
				 : 0;
	libdeflate_free_compressor(compressor);
	if (n == 0) /* the bound was enough */
		return sw_fail_nomem(err);
	*ret = sw_take_ptr(packed);
	*ret_size = n;
	return 0;
}
