/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A JIT compiler that never rests. One thread makes functions, registers them, runs them, one in
 * the other, removes them, and makes others at the same addresses; the rest add, grow and remove
 * tables as fast as they can. A removed function is written over before it is freed. Everything
 * says what it is, so that a look at any instant can tell what is right:
 *
 *	functions are called "s GENERATION LEVEL DEPTH": level 0 is the outermost of depth levels
 *	tables of the others are called "m START GENERATION", and each word of their data is
 *	START ^ GENERATION
 *
 *	jit_stress [threads that mutate] [forms: a bit for each enum code_kind] [runs of one generation]
 *
 * Prints "worker TID" and "registry ADDRESS".
 */
#include "jit_code.h"
#include "target.h"

#include <inttypes.h>
#include <pthread.h>

enum {
	DEPTH_MAX = 6,
	SLOTS = 64, /* tables of one mutator */
	WORDS = 64, /* of a table's data, when it has grown */
	SLOT_BYTES = 4096,
	NAME_BYTES = 64,
};

/* The memory that a table points to; in one piece. */
struct payload {
	char name[NAME_BYTES];
	uint64_t words[WORDS];
	uint8_t eh_frame[EH_CIE_BYTES + EH_FDE_BYTES];
};

static unsigned forms = (1 << CODE_KINDS) - 1, runs = 1000;

static uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* A reader of it after this reads something else. */
static void payload_release(void *arg)
{
	memset(arg, 0xaa, sizeof(struct payload));
	free(arg);
}

static struct payload *payload_make(void)
{
	struct payload *p = calloc(1, sizeof(*p));
	if (p == NULL)
		exit(1);
	return p;
}

/* ---- the thread that runs what it made --------------------------------------------------------- */

struct level {
	uint8_t *code, *info; /* always the same addresses */
	struct swft_table *table;
};

struct worker {
	struct level levels[DEPTH_MAX];
	uint8_t *region;
	uint64_t generation, random;
	unsigned depth;
};

static void level_compile(struct worker *w, unsigned i)
{
	struct level *l = &w->levels[i];
	struct payload *p = payload_make();
	struct swft_desc d;
	enum code_kind kind;
	do
		kind = (enum code_kind)(random_next(&w->random) % CODE_KINDS);
	while (!(forms >> kind & 1));
	memset(&d, 0, sizeof(d));
	d.start = l->code;
	d.bytes = code_write(l->code, kind);
	d.release = payload_release;
	d.release_arg = p;
	d.names = p->name;
	d.names_bytes = (size_t) snprintf(p->name, sizeof(p->name), "s %" PRIu64 " %u %u",
					  w->generation, i, w->depth);
	switch (kind) {
	case CODE_FIXED:
		/* The only symbol has a first instruction that differs from the others. */
		d.kind = SWFT_FIXED;
		d.cfa_offset = FIXED_FRAME;
		d.symbols = (struct swft_symbol *) p->words;
		d.n_symbols = 1;
		p->words[0] = (uint64_t) d.bytes << 32;
		break;
	case CODE_FRAME_POINTER: d.kind = SWFT_FRAME_POINTER; break;
	case CODE_EH_FRAME:
		/* Near the code, as it names it by a distance of 32 bits. */
		d.kind = SWFT_EH_FRAME;
		eh_cie_write(l->info);
		eh_fde_write(l->info + EH_CIE_BYTES, l->info, l->code);
		d.data = l->info;
		d.count = EH_CIE_BYTES + EH_FDE_BYTES;
		break;
	default:
		d.kind = SWFT_RUNTIME_FUNCTION;
		unwind_info_write(l->info);
		put32((uint8_t *) p->words, (uint32_t) (l->code - w->region));
		put32((uint8_t *) p->words + 4, (uint32_t) (l->code - w->region + d.bytes));
		put32((uint8_t *) p->words + 8, (uint32_t) (l->info - w->region));
		d.base = w->region;
		d.data = p->words;
		d.count = 1;
		d.info = l->info;
		d.info_bytes = UNWIND_INFO_BYTES;
		break;
	}
	l->table = swft_add(&d);
	if (l->table == NULL)
		exit(1);
}

static void level_forget(struct level *l)
{
	swft_remove(l->table);
	memset(l->code, 0xcc, CODE_BYTES);
	memset(l->info, 0xaa, EH_CIE_BYTES + EH_FDE_BYTES);
}

static NOINLINE void leaf(struct step *rest)
{
	(void) rest;
	for (volatile int i = 0; i < 20; i++)
		;
}

static NOINLINE void worker_run(struct worker *w)
{
	struct step steps[DEPTH_MAX + 1];
	for (unsigned i = 0; i < w->depth; i++) {
		void *code = w->levels[i].code;
		memcpy(&steps[i].call, &code, sizeof(code));
	}
	steps[w->depth].call = leaf;
	for (unsigned i = 0; i < runs; i++)
		steps[0].call(steps + 1);
	KEEP();
}

static void *worker_thread(void *arg)
{
	static struct worker w = {.random = 1};
	(void) arg;
	w.region = region_map(DEPTH_MAX * SLOT_BYTES);
	for (unsigned i = 0; i < DEPTH_MAX; i++) {
		w.levels[i].code = w.region + i * SLOT_BYTES;
		w.levels[i].info = w.levels[i].code + SLOT_BYTES / 2;
	}
	printf("worker %ld\n", syscall(SYS_gettid));
	printf("registry %p\n", (void *) &snapwalk_ftable_v1);
	ready();
	for (;; w.generation++) {
		w.depth = 1 + random_next(&w.random) % DEPTH_MAX;
		for (unsigned i = 0; i < w.depth; i++)
			level_compile(&w, i);
		worker_run(&w);
		for (unsigned i = 0; i < w.depth; i++)
			level_forget(&w.levels[i]);
	}
	return NULL;
}

/* ---- the threads that mutate ------------------------------------------------------------------- */

struct slot {
	struct swft_table *table;
	struct payload *payload;
	uint64_t word;
	size_t count; /* words there are */
};

static void slot_add(struct slot *s, uint64_t start, uint64_t generation)
{
	struct payload *p = payload_make();
	struct swft_desc d;
	memset(&d, 0, sizeof(d));
	s->payload = p;
	s->word = start ^ generation;
	s->count = 1 + generation % (WORDS / 2);
	for (size_t i = 0; i < s->count; i++)
		p->words[i] = s->word;
	d.kind = SWFT_EH_FRAME;
	d.start = (void *) (uintptr_t) start;
	d.bytes = SLOT_BYTES;
	d.data = p->words;
	d.count = s->count * sizeof(uint64_t);
	d.names = p->name;
	d.names_bytes = (size_t) snprintf(p->name, sizeof(p->name), "m %" PRIx64 " %" PRIx64, start,
					  generation);
	d.release = payload_release;
	d.release_arg = p;
	s->table = swft_add(&d);
	if (s->table == NULL)
		exit(1);
}

static void slot_grow(struct slot *s)
{
	if (s->count == WORDS)
		return;
	s->payload->words[s->count++] = s->word;
	swft_grow(s->table, s->count * sizeof(uint64_t), 0, 0, strlen(s->payload->name));
}

static void *mutator_thread(void *arg)
{
	struct slot slots[SLOTS] = {{0}};
	uint64_t base = (uint64_t) (uintptr_t) arg << 40, random = base;
	for (uint64_t generation = 1;; generation++) {
		uint64_t r = random_next(&random);
		struct slot *s = &slots[r % SLOTS];
		if (s->table == NULL) {
			slot_add(s, base + r % SLOTS * SLOT_BYTES, generation);
		} else if (r >> 32 & 3) {
			slot_grow(s);
		} else {
			swft_remove(s->table);
			s->table = NULL;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id;
	int mutators = argc > 1 ? atoi(argv[1]) : 1;
	if (argc > 2)
		forms = (unsigned) atoi(argv[2]);
	if (argc > 3)
		runs = (unsigned) atoi(argv[3]);
	for (int i = 0; i < mutators; i++)
		if (pthread_create(&id, NULL, mutator_thread, (void *) (uintptr_t) (i + 1)) != 0)
			return 1;
	if (pthread_create(&id, NULL, worker_thread, NULL) != 0)
		return 1;
	block();
	return 0;
}
