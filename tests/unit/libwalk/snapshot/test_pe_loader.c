/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake.h"
#include "snapshot/pe_loader.h"
#include "test.h"

enum {
	TEB = 0x7ffd0000,
	PEB = 0x7ffd4000,
	LDR = 0x10000,
	HEAD = LDR + 0x10,
	ENTRY = 0x20000, /* the first; each has 0x60 bytes */
	ENTRIES = 3,
	NAMES = 0x30000,
};

/* A process of three modules, in 64-bit words. */
struct process {
	uint64_t teb[16], peb[8], ldr[4], entries[ENTRIES][12];
	uint16_t names[64];
	struct fake_region regions[5];
	struct fake_memory fake;
};

static uint64_t entry_at(size_t i)
{
	return ENTRY + i * sizeof(((struct process *) 0)->entries[0]);
}

static void process_make(struct process *p)
{
	memset(p, 0, sizeof(*p));
	p->teb[0x30 / 8] = TEB;
	p->teb[0x60 / 8] = PEB;
	p->peb[0x18 / 8] = LDR;
	p->ldr[2] = entry_at(0);
	for (size_t i = 0; i < ENTRIES; i++) {
		p->entries[i][0] = i + 1 < ENTRIES ? entry_at(i + 1) : HEAD;
		p->entries[i][6] = 0x140000000 + i * 0x10000;
	}
	/* "Z:\ä", a character of two units, one that lacks its half, a control character */
	static const uint16_t name[] = {'Z', ':', '\\', 0xe4, 0x20ac, 0xd83d, 0xde00, 0xd83d, 7};
	memcpy(p->names, name, sizeof(name));
	p->entries[0][9] = sizeof(name);
	p->entries[0][10] = NAMES;
	const struct fake_region regions[] = {{TEB, p->teb, sizeof(p->teb)},
					      {PEB, p->peb, sizeof(p->peb)},
					      {LDR, p->ldr, sizeof(p->ldr)},
					      {ENTRY, p->entries, sizeof(p->entries)},
					      {NAMES, p->names, sizeof(p->names)}};
	memcpy(p->regions, regions, sizeof(regions));
	p->fake = (struct fake_memory){p->regions, 5, 0};
}

struct seen {
	size_t n, stop_after;
	struct sw_pe_loaded first;
	uint64_t last_avma;
};

static bool see(void *arg, const struct sw_pe_loaded *loaded)
{
	struct seen *seen = arg;
	if (seen->n++ == 0)
		seen->first = *loaded;
	seen->last_avma = loaded->base_avma;
	return seen->n != seen->stop_after;
}

static bool each(struct process *p, struct seen *seen)
{
	return sw_pe_loaded_each(fake_memory(&p->fake), TEB, see, seen);
}

TEST(test_teb)
{
	struct process p;
	process_make(&p);
	assert_true(sw_pe_is_teb(fake_memory(&p.fake), TEB));
	assert_false(sw_pe_is_teb(fake_memory(&p.fake), TEB + 8));
	assert_false(sw_pe_is_teb(fake_memory(&p.fake), TEB + 1));
	assert_false(sw_pe_is_teb(fake_memory(&p.fake), UINT64_MAX - 7));
	assert_int_equal(p.fake.reads, 2); /* what cannot be one costs nothing */
	assert_false(sw_pe_is_teb(fake_memory(&p.fake), 0));
}

TEST(test_list)
{
	struct process p;
	struct seen seen = {0};
	process_make(&p);
	assert_true(each(&p, &seen));
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.first.base_avma, 0x140000000);
	assert_int_equal(seen.last_avma, 0x140020000);
	assert_string_equal(seen.first.name, "Z:\\\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd"
					     "\xef\xbf\xbd");
	seen = (struct seen){.stop_after = 1};
	assert_true(each(&p, &seen));
	assert_int_equal(seen.n, 1);
	p.ldr[2] = HEAD; /* an empty one */
	seen = (struct seen){0};
	assert_true(each(&p, &seen));
	assert_int_equal(seen.n, 0);
}

TEST(test_names)
{
	struct process p;
	struct seen seen = {0};
	process_make(&p);
	p.entries[0][10] = 0x666; /* not there */
	assert_true(each(&p, &seen));
	assert_string_equal(seen.first.name, "");
	process_make(&p);
	p.entries[0][9] = 0xffff; /* too long for anybody */
	seen.n = 0;
	assert_true(each(&p, &seen));
	assert_string_equal(seen.first.name, "");
	process_make(&p);
	p.entries[0][9] = 3; /* half a character at the end is none */
	seen.n = 0;
	assert_true(each(&p, &seen));
	assert_string_equal(seen.first.name, "Z");
}

TEST(test_damaged)
{
	struct process p;
	struct seen seen = {0};
	process_make(&p);
	p.entries[2][0] = entry_at(1); /* a circle without the head */
	assert_false(each(&p, &seen));
	assert_int_equal(seen.n, SW_PE_LOADED_MAX);
	process_make(&p);
	p.entries[1][0] = 0x666;
	seen = (struct seen){0};
	assert_false(each(&p, &seen));
	assert_int_equal(seen.n, 2);
	process_make(&p);
	p.entries[1][6] = 0; /* not loaded yet */
	seen = (struct seen){0};
	assert_true(each(&p, &seen));
	assert_int_equal(seen.n, 2);
	process_make(&p);
	p.teb[0x60 / 8] = UINT64_MAX;
	assert_false(each(&p, &seen));
	process_make(&p);
	p.peb[0x18 / 8] = UINT64_MAX - 3;
	assert_false(each(&p, &seen));
}
