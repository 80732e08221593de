/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program whose registry of <snapwalk/ftable.h> lies, in one way for each name:
 *
 *	jit_hostile FORM	prints "ready" and waits in generated code with a frame pointer that is right
 *	jit_hostile list	prints the forms
 */
#include "jit_code.h"
#include "target.h"

enum { CHUNKS = 4096, TABLES = 512, WILD = 0x1000, RANDOM_BYTES = 1 << 20 };

struct chunk {
	struct swft_chunk head;
	struct swft_table tables[TABLES];
};

static uint8_t *region;

/* A table that would be believed, of code that is really there. */
static struct swft_table table_of(uint64_t id)
{
	struct swft_table t;
	memset(&t, 0, sizeof(t));
	t.state = SWFT_LIVE;
	t.kind = SWFT_EH_FRAME;
	t.id = id;
	t.check = ~id;
	t.start = (uint64_t) (uintptr_t) region;
	t.end = t.start + 2 * CODE_BYTES;
	return t;
}

static struct chunk *chunk_make(unsigned used)
{
	struct chunk *c = calloc(1, sizeof(*c));
	if (c == NULL)
		exit(1);
	c->head.capacity = TABLES;
	c->head.used = used;
	for (unsigned i = 0; i < used; i++)
		c->tables[i] = table_of(i + 1);
	return c;
}

static void publish(struct chunk *c)
{
	snapwalk_ftable_v1.first = (uint64_t) (uintptr_t) c;
}

/* The list comes back to its second chunk. */
static void form_cycle(void)
{
	struct chunk *a = chunk_make(TABLES), *b = chunk_make(TABLES), *c = chunk_make(TABLES);
	a->head.next = (uint64_t) (uintptr_t) b;
	b->head.next = (uint64_t) (uintptr_t) c;
	c->head.next = (uint64_t) (uintptr_t) b;
	publish(a);
}

static void form_self(void)
{
	struct chunk *a = chunk_make(1);
	a->head.next = (uint64_t) (uintptr_t) a;
	publish(a);
}

/* More chunks than anybody has. */
static void form_long(void)
{
	struct chunk *last = NULL;
	for (int i = 0; i < CHUNKS; i++) {
		struct chunk *c = chunk_make(2);
		c->head.next = (uint64_t) (uintptr_t) last;
		last = c;
	}
	publish(last);
}

static void form_wild_first(void)
{
	snapwalk_ftable_v1.first = WILD;
}

static void form_wild_next(void)
{
	struct chunk *a = chunk_make(1);
	a->head.next = UINT64_MAX - 7;
	publish(a);
}

/* Torn: the numbers of a chunk do not belong together. */
static void form_torn(void)
{
	struct chunk *a = chunk_make(TABLES);
	a->head.capacity = 3;
	publish(a);
}

static void form_huge_used(void)
{
	struct chunk *a = chunk_make(TABLES);
	a->head.capacity = a->head.used = UINT32_MAX;
	publish(a);
}

static void form_used_unmapped(void)
{
	struct chunk *a = chunk_make(TABLES);
	a->head.capacity = a->head.used = 65536;
	publish(a);
}

static void form_huge_tables(void)
{
	snapwalk_ftable_v1.table_bytes = UINT32_MAX;
	publish(chunk_make(1));
}

static void form_small_tables(void)
{
	snapwalk_ftable_v1.table_bytes = 1;
	publish(chunk_make(1));
}

static void form_other_version(void)
{
	snapwalk_ftable_v1.version = 99;
	publish(chunk_make(1));
}

/* Tables point to memory that is nowhere, or larger than everything. */
static void form_wild_payload(void)
{
	struct chunk *a = chunk_make(TABLES);
	for (int i = 0; i < TABLES; i++) {
		struct swft_table *t = &a->tables[i];
		t->data = t->info = t->symbols = t->names = WILD + (uint64_t) i;
		t->count = t->info_bytes = t->n_symbols = t->names_bytes =
			i % 2 ? UINT64_MAX >> (i % 64) : 4096;
		t->kind = 1 + (uint32_t) i % 5;
	}
	publish(a);
}

/* As much as may be copied, of every table. */
static void form_large_payload(void)
{
	static uint8_t much[256 << 10];
	struct chunk *a = chunk_make(TABLES);
	for (int i = 0; i < TABLES; i++) {
		struct swft_table *t = &a->tables[i];
		t->data = t->info = t->names = (uint64_t) (uintptr_t) much;
		t->count = t->info_bytes = t->names_bytes = sizeof(much);
	}
	publish(a);
}

static void form_many(void)
{
	struct chunk *last = NULL;
	for (int i = 0; i < 200; i++) {
		struct chunk *c = chunk_make(TABLES);
		c->head.next = (uint64_t) (uintptr_t) last;
		last = c;
	}
	publish(last);
}

/* Ranges, kinds and checks that no writer makes; always odd. */
static void form_bad_tables(void)
{
	struct chunk *a = chunk_make(TABLES);
	for (int i = 0; i < TABLES; i++) {
		struct swft_table *t = &a->tables[i];
		t->seq = 1;
		switch (i % 5) {
		case 0: t->end = t->start; break;
		case 1: t->kind = 77; break;
		case 2: t->check = 0; break;
		case 3: t->state = 3; break;
		default: t->end = 0; break;
		}
	}
	publish(a);
}

/* A way out that leads nowhere. */
static void form_wrong_cfa(void)
{
	struct chunk *a = chunk_make(1);
	a->tables[0].kind = SWFT_FIXED;
	a->tables[0].cfa_offset = UINT32_MAX;
	publish(a);
}

static void form_random(void)
{
	struct chunk *a = chunk_make(TABLES);
	uint64_t state = 1;
	uint8_t *bytes = (uint8_t *) a->tables;
	for (size_t i = 0; i < sizeof(a->tables); i++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
		bytes[i] = (uint8_t) (state >> 56);
	}
	for (int i = 0; i < TABLES; i++) {
		a->tables[i].state = SWFT_LIVE;
		a->tables[i].check = ~a->tables[i].id;
		a->tables[i].kind = 1 + a->tables[i].kind % 5;
		a->tables[i].start = (uint64_t) (uintptr_t) region;
		a->tables[i].end = UINT64_MAX;
	}
	publish(a);
}

static const struct {
	const char *name;
	void (*make)(void);
} forms[] = {
	{"cycle", form_cycle},
	{"self", form_self},
	{"long", form_long},
	{"wild_first", form_wild_first},
	{"wild_next", form_wild_next},
	{"torn", form_torn},
	{"huge_used", form_huge_used},
	{"used_unmapped", form_used_unmapped},
	{"huge_tables", form_huge_tables},
	{"small_tables", form_small_tables},
	{"other_version", form_other_version},
	{"wild_payload", form_wild_payload},
	{"large_payload", form_large_payload},
	{"many", form_many},
	{"bad_tables", form_bad_tables},
	{"wrong_cfa", form_wrong_cfa},
	{"random", form_random},
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static NOINLINE void wait_here(struct step *rest)
{
	(void) rest;
	ready();
	block();
	KEEP();
}

int main(int argc, char **argv)
{
	struct step steps[] = {{wait_here}};
	void (*code)(struct step *);
	region = region_map(4096);
	code_write(region, CODE_FRAME_POINTER);
	for (unsigned i = 0; argc > 1 && i < FORMS; i++) {
		if (strcmp(argv[1], "list") == 0)
			puts(forms[i].name);
		else if (strcmp(argv[1], forms[i].name) == 0)
			forms[i].make();
	}
	if (argc < 2 || strcmp(argv[1], "list") == 0)
		return 0;
	memcpy(&code, &region, sizeof(code));
	code(steps);
	return 0;
}
