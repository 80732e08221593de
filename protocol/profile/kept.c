/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A profile's JSON with the head of a dump, for a store that has both. */
#include "cleanup.h"
#include "errors.h"
#include "report/json/elements.h"
#include "text.h"

#include <snapwalk/profile.h>

#include <string.h>

int sw_profile_write_kept(const struct sw_profile *profile, const struct sw_report *head,
			  char **ret, size_t *ret_size, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *json = NULL;
	struct sw_text text = {0};
	size_t size = 0;
	int r = sw_profile_write(profile, SW_PROFILE_JSON, NULL, &json, &size, err);
	if (r < 0)
		return r;
	/* Behind the schema, which is the first member: what it is can be told by the first bytes. */
	size_t schema = (size_t) (strchr(json, ',') - json);
	sw_text_append(&text, json, schema);
	sw_report_json_shared(&text, head);
	sw_text_append(&text, json + schema, size - schema);
	if (text.failed) {
		sw_text_deinit(&text);
		return sw_fail_nomem(err);
	}
	*ret = text.data;
	*ret_size = text.size;
	return 0;
}
