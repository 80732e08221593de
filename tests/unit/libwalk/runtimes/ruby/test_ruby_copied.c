/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby/copied: what frames of copies at events execute, what is read later and how that is proven. */
#include "ruby_world.h"
#include "runtimes/ruby/copied.h"
#include "test.h"

enum { LABEL = RUBY_STRINGS + 0x80 + SW_RUBY_OBJECT_LENGTH /* "leaf" */ };

static struct ruby_world then, now;
static struct sw_ruby_copied copied;
static struct sw_ruby_copied_source from;
static struct sw_ruby_frame leaf, times;

static int setup(void **state)
{
	ruby_world_init(&then);
	ruby_world_init(&now);
	copied = (struct sw_ruby_copied){0};
	from = (struct sw_ruby_copied_source){&then.ruby.vm, &then.ruby.vm, &now.ruby.vm};
	assert_true(sw_ruby_frame_read(&then.ruby.vm, RUBY_LEAF, &leaf));
	assert_true(sw_ruby_frame_read(&then.ruby.vm, RUBY_TIMES, &times));
	return 0;
}

static int teardown(void **state)
{
	sw_ruby_copied_deinit(&copied);
	ruby_world_deinit(&then);
	ruby_world_deinit(&now);
	return 0;
}

/* The cookie of a frame in another copy. */
static uint64_t cookie(const struct sw_ruby_frame *frame)
{
	sw_ruby_copied_begin(&copied);
	return sw_ruby_copied_cookie(&copied, &from, frame, true);
}

static const char *said(uint64_t number)
{
	static struct sw_description d;
	static char text[8192];
	const struct sw_frame frame = {.cookie = number};
	memset(&d, 0, sizeof(d));
	if (sw_ruby_copied_names(&copied, &frame, &d) == 0)
		return "nothing";
	(void) snprintf(text, sizeof(text), "%s %s:%u", d.function, d.file, d.line);
	return text;
}

TEST_WITH(test_named, setup, teardown)
{
	uint64_t first = cookie(&leaf), c = cookie(&times);
	assert_string_equal(said(first), "leaf /srv/a.rb:1");
	assert_string_equal(said(c), "times :0");
	assert_int_equal(cookie(&leaf), first);
	assert_int_equal(cookie(&times), c);
	assert_string_equal(said(0), "nothing");
	assert_string_equal(said(99), "nothing");
}

/* An iseq that is another one by now has no lines, and has them once it is that again. */
TEST_WITH(test_lines, setup, teardown)
{
	uint64_t body = RUBY_ISEQS + 0x100 + SW_RUBY_BODY_LABEL, label;
	assert_true(sw_memory_u64(now.ruby.vm.memory, body, &label));
	ruby_world_u64(&now, body, label + 0x80);
	uint64_t unknown = cookie(&leaf);
	assert_string_equal(said(unknown), "leaf /srv/a.rb:0");
	ruby_world_u64(&now, body, label);
	uint64_t known = cookie(&leaf);
	assert_int_not_equal(known, unknown);
	assert_string_equal(said(known), "leaf /srv/a.rb:1");
}

/* Another function at the same address, with the same pointers: its texts tell it. */
TEST_WITH(test_made_anew, setup, teardown)
{
	uint64_t first = cookie(&leaf), word;
	memcpy(&word, "tree", 4);
	ruby_world_u32(&then, LABEL, (uint32_t) word);
	uint64_t other = cookie(&leaf);
	assert_int_not_equal(other, first);
	assert_string_equal(said(other), "tree /srv/a.rb:1");
	assert_string_equal(said(first), "leaf /srv/a.rb:1");
}

static uint64_t id_reads;

/* The table of symbols leads to another name from the second time on that it is looked at. */
static bool moving_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	enum { LEAF = 1 };
	struct ruby_world *w = arg;
	if (avma == RUBY_SYMBOLS + SW_RUBY_SYMBOLS_IDS && id_reads++ == 1)
		ruby_world_u64(w, RUBY_IDS + 0x80, RUBY_STRINGS + 0x80 * LEAF);
	return sw_memory_read(fake_memory(&w->fake), avma, buffer, length);
}

TEST_WITH(test_symbols_that_move, setup, teardown)
{
	static const struct sw_memory_ops ops = {.read = moving_read};
	id_reads = 0;
	now.ruby.vm.memory = (struct sw_memory){&ops, &now};
	assert_int_equal(cookie(&times), 0);
	/* Then it is at rest, and that is the name. */
	assert_string_equal(said(cookie(&times)), "leaf :0");
}

/* The method is that of the copy, and not what is there by now. */
TEST_WITH(test_method_of_the_copy, setup, teardown)
{
	ruby_world_u64(&now, RUBY_METHOD + SW_RUBY_METHOD_DEF, 0);
	assert_string_equal(said(cookie(&times)), "times :0");
}

/* An iseq that the copy does not have has no name, and neither has a symbol that cannot be read. */
TEST_WITH(test_not_copied, setup, teardown)
{
	ruby_world_u64(&now, RUBY_SYMBOLS + SW_RUBY_SYMBOLS_IDS, 0x10);
	assert_int_equal(cookie(&times), 0);
	then.fake.n_regions = 0;
	assert_int_equal(cookie(&leaf), 0);
	assert_int_equal(cookie(&times), 0);
}
