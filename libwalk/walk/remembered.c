/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "walk/remembered.h"
#include "arch/arch.h"
#include "arena.h"
#include "copies/record.h"
#include "map.h"
#include "slots.h"

#include <stdlib.h>
#include <string.h>

enum {
	BUCKETS_FIRST =
		1 << 8, /* then as many as there are nodes: a process may be one of hundreds */
	NODES_MAX = 1 << 16,
	BYTES_MAX = 8 << 20, /* of answers and frames; then all is forgotten */
	ROUND = 256,         /* walks, after which it is looked whether it pays */
	PAYS_ONE_OF =
		2, /* of so many walks at least one has to be found: to keep one costs as much as some walks */
	REST = 2048,   /* walks that are not noted where it does not pay */
	PARTS_MAX = 8, /* of a recipe that say what they are */
};

/* The questions of a walk. */
enum query { QUERY_THREAD, QUERY_REGISTER, QUERY_MEMORY, QUERY_NONE };

/* The answer leads from the parent here. */
struct node {
	uint64_t hash;         /* of the parent and the answer */
	uint32_t parent, next; /* next: in the bucket; 0: the last one */
	uint32_t last;         /* the child that was taken last; 0: none */
	uint32_t answer_bytes;
	uint64_t word;         /* the answer, where it has no more bytes */
	const uint8_t *answer; /* in the arena, else NULL */
	/* The next question; QUERY_NONE: there is none, but the walk. */
	uint8_t query;
	uint8_t number; /* of the register */
	uint32_t bytes;
	uint64_t avma;
	const struct sw_walk *walk; /* in the arena, with its frames */
};

/* A thread as it is known before the walk asks for anything. */
struct beginning {
	uint64_t pc_avma, sp_avma, fs_base, stack_end_avma;
	uint32_t known, flags, lacks_runtime, n_parts;
	struct {
		uint64_t avma, kind;
	} parts[PARTS_MAX]; /* of the recipe, that say what they are */
};

struct sw_remembered {
	struct sw_walk_options options; /* but for the deadline */
	struct sw_arena arena;
	size_t bytes;       /* of the arena */
	struct node *nodes; /* owned; the first one is the root */
	size_t n, capacity;
	uint32_t *buckets; /* owned; a power of two of them */
	size_t n_buckets;
	size_t n_asked, n_found, rest;
	bool is_unsteady; /* the same answers led to other questions: a fault of ours. Nothing is remembered any more */
	struct sw_read_log log;
	uint8_t answer[SW_READ_LOG_BYTES_MAX];
};

/* The address of this object is the key of the slot. */
static const char slot_key;

bool sw_remembered_is(const void *key)
{
	return key == &slot_key;
}

static void forget(struct sw_remembered *m)
{
	sw_arena_deinit(&m->arena);
	free(m->buckets);
	m->buckets = NULL;
	m->n_buckets = 0;
	m->n = m->bytes = 0;
}

static void destroy(void *arg)
{
	struct sw_remembered *m = arg;
	if (m == NULL)
		return;
	forget(m);
	free(m->nodes);
	free(m);
}

struct sw_remembered *sw_remembered_of(const struct sw_snapshot *snap,
				       const struct sw_walk_options *options)
{
	struct sw_slots *kept = snap->priv->kept;
	if (kept == NULL || snap->n_threads != 1 || snap->threads[0].copy == NULL ||
	    options->memory == SW_WALK_FORGET)
		return NULL;
	void **slot = sw_slots_get(kept, &slot_key, destroy);
	if (slot == NULL)
		return NULL;
	if (*slot == NULL)
		*slot = calloc(1, sizeof(struct sw_remembered));
	struct sw_remembered *m = *slot;
	struct sw_walk_options wanted = *options;
	wanted.deadline_ns = 0;
	if (m != NULL && memcmp(&m->options, &wanted, sizeof(wanted)) != 0) {
		forget(m);
		m->options = wanted;
	}
	return m == NULL || m->is_unsteady ? NULL : m;
}

/* ---- questions and answers ------------------------------------------------------------------- */

/* False: there are more parts than are compared. */
static bool beginning_of(const struct sw_thread *thread, bool lacks_runtime, struct beginning *ret)
{
	const struct sw_copy *copy = thread->copy;
	ret->n_parts = 0; /* the struct has no padding */
	ret->pc_avma = thread->regs.pc_avma;
	ret->sp_avma = thread->regs.sp_avma;
	ret->fs_base = thread->fs_base;
	ret->stack_end_avma = thread->stack_end_avma;
	ret->known = thread->regs.known;
	ret->flags = copy->head.flags;
	ret->lacks_runtime = lacks_runtime;
	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct sw_copy_part *part = &copy->parts[i];
		if (part->kind == SW_SAMPLED_KIND_STACK || part->kind == 0)
			continue;
		if (ret->n_parts == PARTS_MAX)
			return false;
		ret->parts[ret->n_parts].avma = part->avma;
		ret->parts[ret->n_parts++].kind = part->kind;
	}
	return true;
}

static size_t beginning_bytes(const struct beginning *beginning)
{
	return offsetof(struct beginning, parts) + beginning->n_parts * sizeof(beginning->parts[0]);
}

static uint64_t answer_hash(uint32_t parent, const uint8_t *answer, size_t bytes)
{
	uint64_t h = sw_mix64(parent ^ (uint64_t) bytes << 32), word;
	while (bytes >= sizeof(word)) {
		memcpy(&word, answer, sizeof(word));
		h = sw_mix64(h ^ word);
		answer += sizeof(word);
		bytes -= sizeof(word);
	}
	for (; bytes > 0; bytes--)
		h = sw_mix64(h ^ *answer++);
	return h;
}

static bool is_answer(const struct node *node, const uint8_t *answer, size_t bytes)
{
	if (node->answer_bytes != bytes)
		return false;
	if (bytes == sizeof(node->word))
		return memcmp(&node->word, answer, sizeof(node->word)) == 0;
	return memcmp(node->answer, answer, bytes) == 0;
}

static uint32_t *bucket_of(const struct sw_remembered *m, uint64_t hash)
{
	return &m->buckets[hash & (m->n_buckets - 1)];
}

/* The node to which the answer leads; 0: none. */
static uint32_t child_find(struct sw_remembered *m, uint32_t parent, const uint8_t *answer,
			   size_t bytes)
{
	uint32_t last = m->nodes[parent].last;
	if (last != 0 && is_answer(&m->nodes[last], answer, bytes))
		return last;
	if (m->n_buckets == 0)
		return 0;
	uint64_t hash = answer_hash(parent, answer, bytes);
	for (uint32_t i = *bucket_of(m, hash); i != 0; i = m->nodes[i].next) {
		const struct node *node = &m->nodes[i];
		if (node->hash != hash || node->parent != parent || !is_answer(node, answer, bytes))
			continue;
		m->nodes[parent].last = i;
		return i;
	}
	return 0;
}

/* The answer of the thread to a question: its bytes, or none where there is no such memory. */
static const uint8_t *ask(struct sw_remembered *m, const struct node *node,
			  struct sw_snapshot_memory *memory, const struct beginning *beginning,
			  size_t *ret_bytes)
{
	const struct sw_thread *t = memory->thread;
	*ret_bytes = sizeof(uint64_t);
	switch (node->query) {
	case QUERY_THREAD:
		*ret_bytes = beginning_bytes(beginning);
		return (const uint8_t *) beginning;
	case QUERY_REGISTER: return (const uint8_t *) &t->regs.val[node->number];
	default: break;
	}
	*ret_bytes = node->bytes;
	if (node->avma >= t->stack_avma && node->avma - t->stack_avma < t->stack_bytes &&
	    node->bytes <= t->stack_bytes - (node->avma - t->stack_avma))
		return t->stack + (node->avma - t->stack_avma);
	if (!sw_memory_read(sw_snapshot_memory(memory), node->avma, m->answer, node->bytes))
		*ret_bytes = 0;
	return m->answer;
}

bool sw_remembered_find(struct sw_remembered *m, struct sw_snapshot_memory *memory,
			struct sw_walk *ret)
{
	struct beginning beginning;
	uint32_t at = 0;
	if (m->rest > 0 && m->options.memory != SW_WALK_REMEMBER_BOTH) {
		m->rest--;
		return false;
	}
	m->n_asked++;
	if (m->n == 0 ||
	    !beginning_of(memory->thread, memory->snap->priv->lacks_runtime, &beginning))
		return false;
	while (m->nodes[at].query != QUERY_NONE) {
		size_t bytes;
		const uint8_t *answer = ask(m, &m->nodes[at], memory, &beginning, &bytes);
		at = child_find(m, at, answer, bytes);
		if (at == 0)
			return false;
	}
	m->n_found++;
	*ret = *m->nodes[at].walk;
	return true;
}

struct sw_read_log *sw_remembered_log(struct sw_remembered *m)
{
	if (m->rest > 0)
		return NULL;
	if (m->n_asked >= ROUND) {
		bool pays = m->n_found * PAYS_ONE_OF >= m->n_asked;
		m->n_asked = m->n_found = 0;
		m->rest = pays || m->options.memory == SW_WALK_REMEMBER_BOTH ? 0 : REST;
	}
	m->log.asked = (struct sw_asked){0};
	m->log.n = m->log.n_bytes = 0;
	m->log.broken = false;
	return &m->log;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static const void *keep(struct sw_remembered *m, const void *what, size_t bytes)
{
	void *kept = sw_arena_alloc(&m->arena, bytes + 1); /* a reply may have no bytes */
	if (kept != NULL)
		memcpy(kept, what, bytes);
	m->bytes += bytes;
	return kept;
}

/* At least as many buckets as there are nodes, so that few are compared for each answer. */
static int buckets_grow(struct sw_remembered *m)
{
	if (m->n < m->n_buckets)
		return 0;
	size_t n = m->n_buckets == 0 ? BUCKETS_FIRST : m->n_buckets * 2;
	uint32_t *grown = calloc(n, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	free(m->buckets);
	m->buckets = grown;
	m->n_buckets = n;
	for (uint32_t i = 1; i < m->n; i++) {
		uint32_t *bucket = bucket_of(m, m->nodes[i].hash);
		m->nodes[i].next = *bucket;
		*bucket = i;
	}
	return 0;
}

/* The node that an answer leads to, made if there is none; 0: no memory. */
static uint32_t child_get(struct sw_remembered *m, uint32_t parent, const void *answer,
			  size_t bytes)
{
	enum { FIRST = 256 };
	uint32_t found = child_find(m, parent, answer, bytes);
	if (found != 0)
		return found;
	struct node *grown = sw_grow(m->nodes, m->n, &m->capacity, FIRST, sizeof(*grown));
	if (grown == NULL)
		return 0;
	m->nodes = grown;
	if (buckets_grow(m) < 0)
		return 0;
	const bool is_word = bytes == sizeof(uint64_t);
	const void *kept = is_word ? NULL : keep(m, answer, bytes);
	if (kept == NULL && !is_word)
		return 0;
	uint64_t hash = answer_hash(parent, answer, bytes);
	uint32_t *bucket = bucket_of(m, hash);
	found = (uint32_t) m->n++;
	m->nodes[found] = (struct node){.hash = hash,
					.parent = parent,
					.next = *bucket,
					.answer_bytes = (uint32_t) bytes,
					.answer = kept,
					.query = UINT8_MAX};
	if (is_word)
		memcpy(&m->nodes[found].word, answer, sizeof(uint64_t));
	*bucket = m->nodes[parent].last = found;
	return found;
}

/* Notes what is asked for at a node. Another question than before, after the same answers, would be a fault. */
static void question_set(struct sw_remembered *m, uint32_t at, const struct node *question)
{
	struct node *node = &m->nodes[at];
	if (node->query == UINT8_MAX) {
		node->query = question->query;
		node->number = question->number;
		node->avma = question->avma;
		node->bytes = question->bytes;
	}
	m->is_unsteady |= node->query != question->query || node->number != question->number ||
			  node->avma != question->avma || node->bytes != question->bytes;
}

static uint32_t registers_add(struct sw_remembered *m, const struct sw_thread *thread, uint32_t at,
			      size_t *i, size_t until)
{
	for (; *i < until && at != 0 && !m->is_unsteady; ++*i) {
		const uint8_t number = m->log.asked.order[*i];
		question_set(m, at, &(struct node){.query = QUERY_REGISTER, .number = number});
		at = child_get(m, at, &thread->regs.val[number], sizeof(uint64_t));
	}
	return at;
}

static uint32_t path_add(struct sw_remembered *m, const struct sw_thread *thread, uint32_t at)
{
	const struct sw_read_log *log = &m->log;
	size_t n_asked = 0;
	for (size_t i = 0; i < log->n && at != 0 && !m->is_unsteady; i++) {
		const struct sw_logged_read *r = &log->reads[i];
		at = registers_add(m, thread, at, &n_asked, r->n_asked);
		if (at == 0 || m->is_unsteady)
			return at;
		question_set(m, at,
			     &(struct node){.query = QUERY_MEMORY,
					    .avma = r->avma,
					    .bytes = r->bytes});
		at = child_get(m, at, log->data + r->at, r->ok ? r->bytes : 0);
	}
	return at != 0 ? registers_add(m, thread, at, &n_asked, log->asked.n) : 0;
}

static const struct sw_walk *walk_keep(struct sw_remembered *m, const struct sw_walk *walk)
{
	struct sw_walk kept = {.end = walk->end,
			       .why = walk->why,
			       .n_frames = walk->n_frames,
			       .n_left_out = walk->n_left_out,
			       .n_trimmed = walk->n_trimmed};
	kept.frames = (void *) keep(m, walk->frames, walk->n_frames * sizeof(*walk->frames));
	return kept.frames != NULL ? keep(m, &kept, sizeof(kept)) : NULL;
}

void sw_remembered_add(struct sw_remembered *m, const struct sw_thread *thread,
		       const struct sw_walk *walk)
{
	struct beginning beginning;
	bool whole = walk->end == SW_END_COMPLETE || walk->end == SW_END_NATIVE_ONLY;
	if (m->log.broken || !whole ||
	    !beginning_of(thread, walk->end == SW_END_NATIVE_ONLY, &beginning))
		return;
	if (m->n > NODES_MAX || m->bytes > BYTES_MAX)
		forget(m);
	if (m->n == 0) {
		struct node *grown = sw_grow(m->nodes, 0, &m->capacity, 1, sizeof(*grown));
		if (grown == NULL)
			return;
		m->nodes = grown;
		m->nodes[0] = (struct node){.query = QUERY_THREAD};
		m->n = 1;
	}
	uint32_t at = child_get(m, 0, &beginning, beginning_bytes(&beginning));
	at = at != 0 ? path_add(m, thread, at) : 0;
	if (at == 0 || m->is_unsteady) {
		forget(m); /* a path without an end leads nowhere */
		return;
	}
	question_set(m, at, &(struct node){.query = QUERY_NONE});
	if (m->nodes[at].walk == NULL)
		m->nodes[at].walk = walk_keep(m, walk);
	if (m->nodes[at].walk == NULL || m->is_unsteady)
		forget(m);
}
