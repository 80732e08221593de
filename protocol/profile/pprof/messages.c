/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/pprof/messages.h"
#include "profile/pprof_fields.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	STRING_BYTES_MAX = SW_PROFILE_NAME_BYTES_MAX + 64, /* more would be cut */
};

void sw_pprof_fail(struct sw_pprof *p, const char *what)
{
	if (p->status == 0)
		p->status =
			sw_fail(p->err, SW_E_FORMAT, "this is not a profile of pprof: %s", what);
}

void sw_pprof_fail_memory(struct sw_pprof *p)
{
	if (p->status == 0)
		p->status = sw_fail_nomem(p->err);
}

void sw_pprof_fail_limit(struct sw_pprof *p)
{
	if (p->status == 0)
		p->status = sw_fail(p->err, SW_E_LIMIT, "it has more than %d messages of one kind",
				    SW_PPROF_MESSAGES_MAX);
}

uint32_t sw_pprof_made(struct sw_pprof *p, int r, uint32_t index)
{
	if (r < 0)
		sw_pprof_fail_memory(p);
	return r > 0 ? index : SW_PPROF_NO_SPACE;
}

bool sw_pprof_next(struct sw_pprof *p, struct sw_bytes message, uint64_t *at,
		   struct sw_proto_field *ret)
{
	int r = p->status == 0 ? sw_proto_next(message, at, ret) : 0;
	if (r < 0)
		sw_pprof_fail(p, "a message is malformed");
	return r > 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

void sw_pprof_messages_deinit(struct sw_pprof_messages *m)
{
	free(m->all);
	sw_map64_deinit(&m->by_id);
}

void sw_pprof_messages_add(struct sw_pprof *p, struct sw_pprof_messages *m, struct sw_bytes message)
{
	if (m->n == SW_PPROF_MESSAGES_MAX) {
		sw_pprof_fail_limit(p);
		return;
	}
	struct sw_bytes *grown = sw_grow(m->all, m->n, &m->capacity, 256, sizeof(*grown));
	if (grown == NULL) {
		sw_pprof_fail_memory(p);
		return;
	}
	m->all = grown;
	m->all[m->n++] = message;
}

/* Ids are anybody's: how the map mixes its keys is known, the seed is not. Different ids have different keys. */
static uint64_t key_of(const struct sw_pprof *p, uint64_t id)
{
	return sw_mix64(id ^ p->profile->seed);
}

void sw_pprof_messages_index(struct sw_pprof *p, struct sw_pprof_messages *m, size_t bytes_max)
{
	struct sw_proto_field f;
	for (size_t i = 0; i < m->n && p->status == 0; i++) {
		if (m->all[i].size > bytes_max)
			sw_pprof_fail(p, "a mapping or a function is too long");
		for (uint64_t at = 0; sw_pprof_next(p, m->all[i], &at, &f);)
			if (f.number == LOCATION_ID && !f.is_bytes &&
			    sw_map64_put(&m->by_id, key_of(p, f.value), i) < 0)
				sw_pprof_fail_memory(p);
	}
}

bool sw_pprof_messages_find(struct sw_pprof *p, const struct sw_pprof_messages *m, uint64_t id,
			    const char *what, uint64_t *ret)
{
	if (sw_map64_get(&m->by_id, key_of(p, id), ret))
		return true;
	sw_pprof_fail(p, what);
	return false;
}

static_assert((int) LOCATION_ID == (int) MAPPING_ID && (int) LOCATION_ID == (int) FUNCTION_ID,
	      "one index for all");

/* ---- strings --------------------------------------------------------------------------------- */

struct sw_bytes sw_pprof_string_bytes(struct sw_pprof *p, uint64_t number)
{
	if (number < p->strings.n)
		return p->strings.all[number];
	sw_pprof_fail(p, "it refers to a string that it does not have");
	return (struct sw_bytes){0};
}

const char *sw_pprof_string_raw(struct sw_pprof *p, uint64_t number)
{
	const struct sw_bytes s = sw_pprof_string_bytes(p, number);
	p->text.size = 0;
	sw_text_append(&p->text, (const char *) s.data,
		       s.size < STRING_BYTES_MAX ? s.size : STRING_BYTES_MAX);
	sw_text_append(&p->text, "", 1);
	if (p->text.failed)
		sw_pprof_fail_memory(p);
	return p->status == 0 ? p->text.data : "";
}

bool sw_pprof_string_is(struct sw_pprof *p, uint64_t number, const char *wanted)
{
	const struct sw_bytes s = sw_pprof_string_bytes(p, number);
	return s.size == strlen(wanted) && memcmp(s.data, wanted, s.size) == 0;
}

uint32_t sw_pprof_text_put(struct sw_pprof *p, const char *s)
{
	uint32_t index = 0;
	int r = sw_profile_string_find(p->profile, s, sw_profile_has_space(p->profile), &index);
	return sw_pprof_made(p, r, index);
}

uint32_t sw_pprof_string_put(struct sw_pprof *p, uint64_t number)
{
	if (number < p->strings.n && p->string_made[number] != SW_PPROF_UNSEEN)
		return p->string_made[number];
	const char *s = sw_pprof_string_raw(p, number);
	if (p->status < 0)
		return SW_PPROF_NO_SPACE;
	p->string_made[number] = sw_pprof_text_put(p, s);
	return p->string_made[number];
}
