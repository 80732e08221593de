/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/code/dynamic: code that may be freed and made anew between two copies, and what is proven of it. */
#include "clr_named.h"
#include "copies/record.h"
#include "fake.h"
#include "runtimes/clr/code/dynamic.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <sys/mman.h>

#define NAME "Emitted [dynamic method]"

enum {
	START = 0x900100,
	HEADER = 0x800000,
	METHODS_MAX = 1 << 16,
};

struct scene {
	struct clr_named *world;
	struct sw_snapshot *snap;
	struct sw_clr clr;
	struct sw_clr_code code;
	struct sw_copy copy;
	struct sw_thread thread;
	struct sw_cursor cursor;
};

/* The process has by now what the copies had of it. */
static void go_on(struct scene *s)
{
	assert_int_equal(pwrite(s->snap->priv->mem_fd, s->world->data, sizeof(s->world->data),
				(off_t) NAMED_DATA),
			 sizeof(s->world->data));
}

static void name_put(struct scene *s, const char *name)
{
	memcpy(s->world->data + NAMED_NAME, name, strlen(name) + 1);
}

static int setup(void **state)
{
	static struct scene s;
	s = (struct scene){.world = clr_named_create(), .snap = fake_snapshot_create()};
	s.snap->live = true;
	s.snap->priv->by_copies = true;
	s.snap->priv->mem_fd = memfd_create("memory", MFD_CLOEXEC);
	assert_true(s.snap->priv->mem_fd >= 0);
	s.world->names->at[0] = s.world->at;
	s.clr = (struct sw_clr){.snap = s.snap,
				.by_copies = true,
				.names = s.world->names,
				.n_runtimes = 1};
	uint64_t method = clr_named_method(s.world, NAMED_DATA + NAMED_OUTER, 7, 0);
	clr_named_put(s.world, method - NAMED_DATA + 32, NAMED_DATA + NAMED_NAME, 8);
	clr_named_put(s.world, method - NAMED_DATA + 28, 0x4000, 4);
	name_put(&s, "Emitted");
	go_on(&s);
	s.code = (struct sw_clr_code){.kind = SW_CLR_CODE_JIT,
				      .collectible = true,
				      .start_avma = START,
				      .method_avma = method,
				      .header_avma = HEADER,
				      .runtime = &s.clr.runtimes[0]};
	s.thread.copy = &s.copy;
	s.cursor.thread = &s.thread;
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	free(s->clr.dynamic);
	sw_map64_deinit(&s->clr.by_start);
	clr_named_destroy(s->world);
	fake_snapshot_destroy(s->snap);
	return 0;
}

/* The method of a copy that was made then; 0: nothing is proven. */
static uint64_t cookie_at(struct scene *s, int64_t time_ns)
{
	uint64_t cookie = UINT64_MAX;
	sw_clr_dynamic_renew(&s->clr);
	s->copy.head.time_ns = (uint64_t) time_ns;
	assert_true(sw_clr_dynamic_find(&s->clr, &s->cursor, &s->code, &cookie));
	return cookie;
}

/* A method has a name in copies that were made after it was met. */
TEST_OF(test_known_before, struct scene *s)
{
	int64_t before_ns = sw_clock_ns();
	assert_int_equal(cookie_at(s, before_ns), 0);
	assert_int_equal(cookie_at(s, before_ns), 0);
	uint64_t cookie = cookie_at(s, sw_clock_ns() + 1);
	assert_int_equal(cookie, 1);
	assert_string_equal(sw_clr_dynamic_name(&s->clr, cookie), NAME);
	/* The copy that waited in the ring since before that. */
	assert_int_equal(cookie_at(s, before_ns), 0);
	/* A copy without a time of its own is of when it came. */
	assert_int_equal(cookie_at(s, 0), 1);
	s->thread.copy = NULL;
	assert_int_equal(cookie_at(s, 0), 1);
	assert_null(sw_clr_dynamic_name(&s->clr, 0));
	assert_null(sw_clr_dynamic_name(&s->clr, 2));
}

/* Other code needs no proof. */
TEST_OF(test_not_doubtful, struct scene *s)
{
	uint64_t cookie = 1;
	s->code.kind = SW_CLR_CODE_STUB;
	assert_false(sw_clr_dynamic_find(&s->clr, &s->cursor, &s->code, &cookie));
	assert_int_equal(cookie, 0);
	s->code.kind = SW_CLR_CODE_JIT;
	s->code.collectible = false;
	assert_false(sw_clr_dynamic_find(&s->clr, &s->cursor, &s->code, &cookie));
	s->code.collectible = true;
	s->clr.by_copies = false;
	assert_false(sw_clr_dynamic_find(&s->clr, &s->cursor, &s->code, &cookie));
	assert_int_equal(s->clr.n_dynamic, 0);
}

/* Another method at the same address is met for the first time. */
TEST_OF(test_made_anew, struct scene *s)
{
	assert_int_equal(cookie_at(s, 0), 0);
	assert_int_equal(cookie_at(s, 0), 1);
	s->code.header_avma += 0x40;
	assert_int_equal(cookie_at(s, 0), 0);
	assert_int_equal(cookie_at(s, 0), 2);
	uint64_t other = s->code.method_avma + NAMED_CHUNK_BYTES + 64;
	size_t chunk = NAMED_CHUNK_BYTES + 64;
	memmove(s->world->data + NAMED_CHUNK + chunk, s->world->data + NAMED_CHUNK, 2 * chunk);
	s->code.method_avma = other;
	go_on(s);
	assert_int_equal(cookie_at(s, 0), 0);
	assert_int_equal(cookie_at(s, 0), 3);
	/* The frame that had the first one keeps its name. */
	assert_string_equal(sw_clr_dynamic_name(&s->clr, 1), NAME);
}

/* The same method under another name is another one, of which the name that was read is not told. */
TEST_OF(test_renamed, struct scene *s)
{
	uint64_t cookie;
	assert_int_equal(cookie_at(s, 0), 0);
	assert_int_equal(cookie_at(s, 0), 1);
	name_put(s, "Emitter");
	go_on(s);
	/* Within one copy it is looked at once. */
	assert_true(sw_clr_dynamic_find(&s->clr, &s->cursor, &s->code, &cookie));
	assert_int_equal(cookie, 1);
	assert_int_equal(cookie_at(s, 0), 0);
	assert_int_equal(cookie_at(s, 0), 0);
	assert_int_equal(s->clr.n_dynamic, 1);
	name_put(s, "Emitted");
	go_on(s);
	assert_int_equal(cookie_at(s, 0), 1);
}

/* The process does not answer any more. */
TEST_OF(test_unreadable, struct scene *s)
{
	assert_int_equal(cookie_at(s, 0), 0);
	assert_int_equal(cookie_at(s, 0), 1);
	assert_int_equal(ftruncate(s->snap->priv->mem_fd, 0), 0);
	assert_int_equal(cookie_at(s, 0), 0);
	s->code.method_avma = 0;
	assert_int_equal(cookie_at(s, 0), 0);
}

/* A process that makes methods without end. */
TEST_OF(test_many, struct scene *s)
{
	s->clr.n_dynamic = METHODS_MAX;
	assert_int_equal(cookie_at(s, 0), 0);
	assert_int_equal(s->clr.n_dynamic, METHODS_MAX);
	assert_null(s->clr.dynamic);
	s->clr.n_dynamic = 0;
}
