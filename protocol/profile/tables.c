/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables of a profile, and their limits. */
#include "profile/tables.h"
#include "cleanup.h"
#include "errors.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

enum {
	MAX_STACKS = 100000,
	MAX_THREADS = 32768,
	MAX_ROWS = 1 << 20,
	MAX_BYTES = 128 << 20,
	LOST_SHARE = 50, /* one of so many rounds may be lost of a complete one */
	FIRST = 64,      /* elements that a table begins with */
	NODE_BYTES = sizeof(struct sw_profile_node) + 1 + 2 * 16, /* with its place in the index */
	FRAME_BYTES = sizeof(struct sw_profile_frame) + 2 * 16,
	STRING_BYTES = sizeof(struct sw_profile_string) + 2 * 16,
};

static void table_deinit(struct sw_profile_table *t)
{
	free(t->items);
	sw_map64_deinit(&t->index);
}

static const void *item_at(const struct sw_profile_table *t, size_t i)
{
	return (const char *) t->items + i * t->item_bytes;
}

/* The element with the key, or where it would be: *ret_slot is its place in the index. */
static bool table_find(const struct sw_profile_table *t, uint64_t seed, const void *key,
		       uint64_t *ret_slot, uint32_t *ret)
{
	uint64_t i;
	/* Two keys of one hash: the next number. The seed is not known to the program that makes the names. */
	for (*ret_slot = XXH3_64bits_withSeed(key, t->key_bytes, seed);
	     sw_map64_get(&t->index, *ret_slot, &i); ++*ret_slot) {
		if (memcmp(item_at(t, i), key, t->key_bytes) == 0) {
			*ret = (uint32_t) i;
			return true;
		}
	}
	return false;
}

static int table_append(struct sw_profile_table *t, uint64_t slot, const void *item, uint32_t *ret)
{
	char *items = sw_grow(t->items, t->n, &t->capacity, FIRST, t->item_bytes);
	if (items == NULL)
		return -SW_E_NOMEM;
	t->items = items;
	memcpy(items + t->n * t->item_bytes, item, t->item_bytes);
	if (sw_map64_put(&t->index, slot, t->n) < 0)
		return -SW_E_NOMEM;
	*ret = (uint32_t) t->n++;
	return 1;
}

int sw_profile_table_find(struct sw_profile_table *t, uint64_t seed, const void *item, bool grow,
			  uint32_t *ret)
{
	uint64_t slot;
	if (table_find(t, seed, item, &slot, ret))
		return 1;
	return grow ? table_append(t, slot, item, ret) : 0;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Names as everybody may see them: a terminal, a browser, a program that takes only UTF-8. A name
 * that was made so stays as it is when it is made so again. */
static void clean(struct sw_text *text, const char *s)
{
	sw_utf8_append_plain(text, s, strnlen(s, SW_PROFILE_NAME_BYTES_MAX + strlen("…") + 1));
	sw_text_append(text, "", 0); /* data exists, also for "" */
	if (text->failed || text->size <= SW_PROFILE_NAME_BYTES_MAX + strlen("…"))
		return;
	text->size = SW_PROFILE_NAME_BYTES_MAX;
	while (((unsigned char) text->data[text->size] & 0xc0) == 0x80)
		text->size--; /* not within a character */
	sw_text_append(text, "…", strlen("…"));
}

static bool is_plain(const char *s)
{
	size_t n = 0;
	while (s[n] >= ' ' && s[n] <= '~')
		if (++n > SW_PROFILE_NAME_BYTES_MAX)
			return false;
	return s[n] == '\0';
}

static bool string_find(const struct sw_profile *p, const char *s, size_t size, uint64_t *ret_slot,
			uint32_t *ret)
{
	uint64_t i;
	for (*ret_slot = XXH3_64bits_withSeed(s, size, p->seed);
	     sw_map64_get(&p->strings.index, *ret_slot, &i); ++*ret_slot) {
		const struct sw_profile_string *known = item_at(&p->strings, i);
		if (known->size == size && memcmp(known->data, s, size) == 0) {
			*ret = (uint32_t) i;
			return true;
		}
	}
	return false;
}

static int string_add(struct sw_profile *p, const char *s, size_t size, bool grow, uint32_t *ret)
{
	uint64_t slot;
	if (string_find(p, s, size, &slot, ret))
		return 1;
	if (!grow)
		return 0;
	struct sw_profile_string kept = {.data = sw_arena_strndup(&p->arena, s, size),
					 .size = size};
	if (kept.data == NULL)
		return -SW_E_NOMEM;
	p->n_bytes += size + 1 + STRING_BYTES;
	return table_append(&p->strings, slot, &kept, ret);
}

int sw_profile_string_find(struct sw_profile *p, const char *s, bool grow, uint32_t *ret)
{
	if (s == NULL)
		s = "";
	if (is_plain(s))
		return string_add(p, s, strlen(s), grow, ret);
	struct sw_text text = {0};
	clean(&text, s);
	int r = text.failed ? -SW_E_NOMEM : string_add(p, text.data, text.size, grow, ret);
	sw_text_deinit(&text);
	return r;
}

/* ---- the others ------------------------------------------------------------------------------ */

int sw_profile_module_find(struct sw_profile *p, const struct sw_profile_module *module, bool grow,
			   uint32_t *ret)
{
	return sw_profile_table_find(&p->modules, p->seed, module,
				     grow && p->modules.n < SW_PROFILE_MODULES_MAX, ret);
}

int sw_profile_frame_find(struct sw_profile *p, const struct sw_profile_frame *frame, bool grow,
			  uint32_t *ret)
{
	size_t n = p->frames.n;
	int r = sw_profile_table_find(&p->frames, p->seed, frame, grow, ret);
	p->n_bytes += p->frames.n > n ? FRAME_BYTES : 0;
	return r;
}

int sw_profile_node_find(struct sw_profile *p, uint32_t parent, uint32_t frame, bool grow,
			 uint32_t *ret)
{
	struct sw_profile_node node = {.parent = parent, .frame = frame};
	size_t n = p->nodes.n;
	uint8_t *grown = sw_grow(p->is_stack, n, &p->is_stack_capacity, FIRST, 1);
	if (grown == NULL)
		return -SW_E_NOMEM;
	p->is_stack = grown;
	int r = sw_profile_table_find(&p->nodes, p->seed, &node, grow, ret);
	if (p->nodes.n > n) {
		p->is_stack[n] = false;
		p->n_bytes += NODE_BYTES;
	}
	return r;
}

int sw_profile_node_of_frame(struct sw_profile *p, uint32_t parent,
			     const struct sw_profile_frame *frame, bool grow, uint32_t *ret)
{
	uint32_t index = 0;
	int r = sw_profile_frame_find(p, frame, grow, &index);
	return r > 0 ? sw_profile_node_find(p, parent, index, grow, ret) : r;
}

int sw_profile_process_find(struct sw_profile *p, const struct sw_profile_process *process,
			    uint32_t *ret)
{
	int r = sw_profile_table_find(&p->processes, p->seed, process,
				      p->processes.n < SW_PROFILE_PROCESSES_MAX, ret);
	if (r > 0) /* it may have become another program since */
		((struct sw_profile_process *) p->processes.items)[*ret] = *process;
	return r;
}

static bool is_another(const struct sw_profile_process *known, uint64_t starttime)
{
	return known->starttime != 0 && starttime != 0 && known->starttime != starttime;
}

int sw_profile_process_add(struct sw_profile *p, struct sw_profile_process *process, uint32_t *ret)
{
	enum { GENERATIONS_MAX = 64 };
	uint64_t slot;
	uint32_t index;
	process->generation = process->pid == 0 ? process->comm : 0;
	while (process->pid != 0 && process->generation < GENERATIONS_MAX &&
	       table_find(&p->processes, p->seed, process, &slot, &index) &&
	       is_another(item_at(&p->processes, index), process->starttime))
		process->generation++;
	return sw_profile_process_find(p, process, ret);
}

bool sw_profile_process_index(const struct sw_profile *p, const struct sw_profile_thread *thread,
			      uint32_t *ret)
{
	const struct sw_profile_process key = {.pid = thread->pid,
					       .generation = thread->generation};
	uint64_t slot;
	return table_find(&p->processes, p->seed, &key, &slot, ret);
}

bool sw_profile_attribute_is_of(const struct sw_profile_attribute *attribute,
				const struct sw_profile_process *process)
{
	return attribute->pid == process->pid && attribute->generation == process->generation;
}

int sw_profile_attribute_find(struct sw_profile *p, const struct sw_profile_attribute *attribute,
			      uint32_t *ret)
{
	int r = sw_profile_table_find(&p->attributes, p->seed, attribute,
				      p->attributes.n < SW_PROFILE_ATTRIBUTES_MAX, ret);
	if (r > 0)
		((struct sw_profile_attribute *) p->attributes.items)[*ret] = *attribute;
	return r;
}

int sw_profile_thread_find(struct sw_profile *p, const struct sw_profile_thread *thread, bool grow,
			   uint32_t *ret)
{
	return sw_profile_table_find(&p->threads, p->seed, thread, grow, ret);
}

int sw_profile_row_find(struct sw_profile *p, const struct sw_profile_row *row, uint32_t *ret)
{
	int r = sw_profile_table_find(&p->rows, p->seed, row, p->rows.n < p->limits.max_rows, ret);
	if (r > 0 && !p->is_stack[row->node]) {
		p->is_stack[row->node] = true;
		p->n_stacks++;
	}
	return r;
}

bool sw_profile_has_space(const struct sw_profile *p)
{
	return p->n_stacks < p->limits.max_stacks && p->n_bytes < p->limits.max_bytes;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint64_t random_seed(void)
{
	uint64_t seed;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t) sizeof(seed))
		return seed;
	struct timespec now; /* as early in a boot as this nobody knows it either */
	(void) clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
	return sw_mix64((uint64_t) now.tv_nsec ^ (uintptr_t) &now);
}

static int add_roots(struct sw_profile *p)
{
	uint32_t i;
	struct sw_profile_module no_module = {0};
	struct sw_profile_frame root = {0};
	if (sw_profile_string_find(p, "", true, &i) < 0 ||
	    sw_profile_module_find(p, &no_module, true, &i) < 0 ||
	    sw_profile_frame_find(p, &root, true, &i) < 0 ||
	    sw_profile_node_find(p, 0, 0, true, &i) < 0)
		return -SW_E_NOMEM;
	return 0;
}

#define TABLE(type, key)                                                           \
	{                                                                          \
		.item_bytes = sizeof(struct sw_profile_##type), .key_bytes = (key) \
	}

static size_t limit_of(size_t given, size_t otherwise)
{
	return given != 0 ? given : otherwise;
}

const char *sw_profile_ended_early(const struct sw_profile *p)
{
	return sw_profile_text_of(p, p->ended_early);
}

void sw_profile_set_by_process(struct sw_profile *p)
{
	p->by_process = true;
}

void sw_profile_set_limits(struct sw_profile *p, const struct sw_profile_limits *limits)
{
	p->limits = (struct sw_profile_limits){
		.max_stacks = limit_of(limits->max_stacks, MAX_STACKS),
		.max_threads = limit_of(limits->max_threads, MAX_THREADS),
		.max_rows = limit_of(limits->max_rows, MAX_ROWS),
		.max_bytes = limit_of(limits->max_bytes, MAX_BYTES),
	};
}

int sw_profile_create(const struct sw_profile_limits *limits, struct sw_profile **ret,
		      struct sw_error *err)
{
	static const struct sw_profile_limits defaults;
	struct sw_profile *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return sw_fail_nomem(err);
	*p = (struct sw_profile){
		.strings = TABLE(string, 0),
		.modules = TABLE(module, offsetof(struct sw_profile_module, start_avma)),
		.frames = TABLE(frame, sizeof(struct sw_profile_frame)),
		.nodes = TABLE(node, sizeof(struct sw_profile_node)),
		.processes = TABLE(process, offsetof(struct sw_profile_process, comm)),
		.attributes = TABLE(attribute, offsetof(struct sw_profile_attribute, value)),
		.threads = TABLE(thread, offsetof(struct sw_profile_thread, name)),
		.rows = TABLE(row, offsetof(struct sw_profile_row, count)),
		.seed = random_seed(),
	};
	sw_profile_set_limits(p, limits != NULL ? limits : &defaults);
	if (add_roots(p) < 0) {
		sw_profile_destroy(p);
		return sw_fail_nomem(err);
	}
	*ret = p;
	return 0;
}

void sw_profile_destroy(struct sw_profile *p)
{
	if (p == NULL)
		return;
	struct sw_profile_table *const tables[] = {&p->strings, &p->modules,   &p->frames,
						   &p->nodes,   &p->processes, &p->attributes,
						   &p->threads, &p->rows};
	for (size_t i = 0; i < SW_ARRAY_SIZE(tables); i++)
		table_deinit(tables[i]);
	sw_arena_deinit(&p->arena);
	free(p->is_stack);
	free(p);
}

void sw_profile_set_info(struct sw_profile *profile, const struct sw_profile_info *info)
{
	profile->info = *info;
}

const struct sw_profile_info *sw_profile_get_info(const struct sw_profile *profile)
{
	return &profile->info;
}

bool sw_profile_is_complete(const struct sw_profile *p)
{
	return p->left_count == 0 && p->info.n_lost <= p->info.n_wanted / LOST_SHARE;
}

struct sw_profile_totals sw_profile_totals(const struct sw_profile *p)
{
	return (struct sw_profile_totals){
		.count = p->count,
		.ns = p->ns,
		.left_count = p->left_count,
		.left_ns = p->left_ns,
		.n_stacks = p->n_stacks,
		.n_threads = p->threads.n,
		.n_rows = p->rows.n,
		.n_bytes = p->n_bytes,
	};
}
