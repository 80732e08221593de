/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/tables.h"
#include "errors.h"

#include <string.h>

enum {
	MAX_PROCESSES = 65536,
	MAX_PLACES = 1 << 20,
	MAX_BYTES = 64 << 20,
	FIRST = 64,
};

int sw_merge_create(const struct sw_merge_options *options, struct sw_merge **ret,
		    struct sw_error *err)
{
	struct sw_merge *m = calloc(1, sizeof(*m));
	uint32_t empty;
	if (m == NULL)
		return sw_fail_nomem(err);
	if (options != NULL)
		m->options = *options;
	if (m->options.max_processes == 0)
		m->options.max_processes = MAX_PROCESSES;
	if (m->options.max_places == 0)
		m->options.max_places = MAX_PLACES;
	if (m->options.max_bytes == 0)
		m->options.max_bytes = MAX_BYTES;
	m->free_heres = SW_MERGE_NONE;
	bool failed = sw_merge_string_find(m, "", 0, &empty) < 0;
	if (m->options.noun != NULL)
		m->options.noun = sw_arena_strdup(&m->arena, m->options.noun);
	if (failed || (options != NULL && options->noun != NULL && m->options.noun == NULL)) {
		sw_merge_destroy(m);
		return sw_fail_nomem(err);
	}
	*ret = m;
	return 0;
}

void sw_merge_destroy(struct sw_merge *merge)
{
	if (merge == NULL)
		return;
	sw_arena_deinit(&merge->arena);
	sw_map64_deinit(&merge->processes_by_hash);
	sw_map64_deinit(&merge->strings_by_hash);
	sw_map64_deinit(&merge->frames_by_hash);
	sw_map64_deinit(&merge->places_by_call);
	sw_map64_deinit(&merge->roles_by_name);
	free(merge->processes);
	free(merge->refusals);
	free(merge->older);
	free(merge->strings);
	free(merge->frames);
	free(merge->places);
	free(merge->heres);
	free(merge->roles);
	free(merge);
}

size_t sw_merge_processes(const struct sw_merge *merge)
{
	return merge->n_processes;
}

size_t sw_merge_older(const struct sw_merge *merge)
{
	return merge->n_older;
}

bool sw_merge_is_complete(const struct sw_merge *merge)
{
	for (size_t i = 0; i < merge->n_processes; i++)
		if (!merge->processes[i].complete)
			return false;
	return merge->n_refusals == 0 && merge->left_threads == 0;
}

static uint64_t hash_of(const char *s, size_t size)
{
	uint64_t h = size, word;
	for (; size >= sizeof(word); s += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		h = sw_mix64(h ^ word);
	}
	word = 0;
	memcpy(&word, s, size);
	return sw_mix64(h ^ word);
}

int sw_merge_string_find(struct sw_merge *m, const char *s, size_t size, uint32_t *ret)
{
	uint64_t found;
	uint64_t h = hash_of(s, size);
	/* Others may have the same hash, by chance or as somebody made them. */
	for (; sw_map64_get(&m->strings_by_hash, h, &found); h = sw_mix64(h + 1)) {
		const char *known = m->strings[found];
		if (strncmp(known, s, size) == 0 && known[size] == '\0') {
			*ret = (uint32_t) found;
			return 0;
		}
	}
	if (m->n_bytes + size > m->options.max_bytes)
		return -SW_E_LIMIT;
	const char **grown =
		sw_grow(m->strings, m->n_strings, &m->strings_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	m->strings = grown;
	const char *copy = sw_arena_strndup(&m->arena, s, size);
	if (copy == NULL || sw_map64_put(&m->strings_by_hash, h, m->n_strings) < 0)
		return -SW_E_NOMEM;
	m->n_bytes += size + 1;
	*ret = (uint32_t) m->n_strings;
	m->strings[m->n_strings++] = copy;
	return 0;
}

static bool same_frame(const struct sw_merge_frame *a, const struct sw_merge_frame *b)
{
	return a->function == b->function && a->file == b->file && a->line == b->line &&
	       a->module == b->module;
}

int sw_merge_frame_find(struct sw_merge *m, const struct sw_merge_frame *frame, uint32_t *ret)
{
	uint64_t found;
	uint64_t h = sw_mix64((uint64_t) frame->function << 32 | frame->file);
	h = sw_mix64(h ^ ((uint64_t) frame->module << 32 | frame->line));
	for (; sw_map64_get(&m->frames_by_hash, h, &found); h = sw_mix64(h + 1))
		if (same_frame(&m->frames[found], frame)) {
			*ret = (uint32_t) found;
			return 0;
		}
	if (m->n_frames >= m->options.max_places)
		return -SW_E_LIMIT;
	struct sw_merge_frame *grown =
		sw_grow(m->frames, m->n_frames, &m->frames_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	m->frames = grown;
	if (sw_map64_put(&m->frames_by_hash, h, m->n_frames) < 0)
		return -SW_E_NOMEM;
	*ret = (uint32_t) m->n_frames;
	m->frames[m->n_frames++] = *frame;
	return 0;
}

static int place_add(struct sw_merge *m, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	if (m->n_places >= m->options.max_places)
		return -SW_E_LIMIT;
	struct sw_merge_place *grown =
		sw_grow(m->places, m->n_places, &m->places_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	m->places = grown;
	uint32_t index = (uint32_t) m->n_places++;
	grown[index] = (struct sw_merge_place){
		.parent = parent,
		.frame = frame,
		.first_child = SW_MERGE_NONE,
		.next_sibling = parent != SW_MERGE_NONE ? grown[parent].first_child : SW_MERGE_NONE,
		.last_process = SW_MERGE_NONE,
		.first_here = SW_MERGE_NONE,
	};
	if (parent != SW_MERGE_NONE)
		grown[parent].first_child = index;
	*ret = index;
	return 0;
}

int sw_merge_place_find(struct sw_merge *m, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t call = (uint64_t) parent << 32 | frame, found;
	if (sw_map64_get(&m->places_by_call, call, &found)) {
		*ret = (uint32_t) found;
		return 0;
	}
	int r = place_add(m, parent, frame, ret);
	return r < 0 ? r : sw_map64_put(&m->places_by_call, call, *ret);
}

int sw_merge_role_find(struct sw_merge *m, uint32_t program, uint32_t name, uint32_t *ret)
{
	uint64_t key = (uint64_t) program << 32 | name, found;
	uint32_t root;
	if (sw_map64_get(&m->roles_by_name, key, &found)) {
		*ret = (uint32_t) found;
		return 0;
	}
	struct sw_merge_role *grown =
		sw_grow(m->roles, m->n_roles, &m->roles_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	m->roles = grown;
	int r = place_add(m, SW_MERGE_NONE, 0, &root);
	if (r == 0)
		r = sw_map64_put(&m->roles_by_name, key, m->n_roles);
	if (r < 0)
		return r;
	*ret = (uint32_t) m->n_roles;
	m->roles[m->n_roles++] =
		(struct sw_merge_role){.program = program, .name = name, .root = root};
	return 0;
}

/* NULL is kept. */
static bool copy(struct sw_merge *m, const char *from, const char **to)
{
	*to = from != NULL ? sw_arena_strdup(&m->arena, from) : NULL;
	return from == NULL || *to != NULL;
}

int sw_merge_refuse(struct sw_merge *merge, const char *name, const char *message,
		    struct sw_error *err)
{
	struct sw_merge_refusal *grown = sw_grow(merge->refusals, merge->n_refusals,
						 &merge->refusals_capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return sw_fail_nomem(err);
	merge->refusals = grown;
	struct sw_merge_refusal *refusal = &grown[merge->n_refusals];
	if (!copy(merge, name, &refusal->name) || !copy(merge, message, &refusal->message))
		return sw_fail_nomem(err);
	merge->n_refusals++;
	return 0;
}
