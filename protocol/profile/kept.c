/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A profile's JSON with the head of a dump, for a store that has both. */
#include "cleanup.h"
#include "errors.h"
#include "json_object.h"
#include "report/json/elements.h"
#include "text.h"

#include <snapwalk/profile.h>

#include <string.h>

/* Members that a dump has and a profile does not. */
static const char *const members[] = {"id", "time", "reason", "complete", "process", "timings"};

static int put_members(struct sw_text *text, const struct sw_report *head)
{
	struct json_object *all = sw_report_json_head(head);
	if (all == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < SW_ARRAY_SIZE(members); i++) {
		struct json_object *value = json_object_object_get(all, members[i]);
		if (value == NULL) /* there is no reason */
			continue;
		sw_text_printf(text, ",\"%s\":", members[i]);
		sw_json_object_append(text, json_object_get(value));
	}
	(void) json_object_put(all); /* the only reference */
	return 0;
}

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
	r = put_members(&text, head);
	sw_text_append(&text, json + schema, size - schema);
	if (r < 0 || text.failed) {
		sw_text_deinit(&text);
		return sw_fail_nomem(err);
	}
	*ret = text.data;
	*ret_size = text.size;
	return 0;
}
