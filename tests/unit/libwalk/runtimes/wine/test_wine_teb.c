/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wine_case.h"
#include "runtimes/wine/teb.h"
#include "test.h"

static bool parse(const struct wine_case *w, struct sw_wine_teb *ret)
{
	return sw_wine_teb_parse((struct sw_bytes){w->teb, sizeof(w->teb)}, false, WINE_TEB, ret);
}

TEST(test_fields)
{
	struct wine_case *w = malloc(sizeof(*w));
	struct sw_wine_teb teb;
	wine_case_init(w);
	assert_int_equal(sizeof(w->teb), SW_WINE_TEB_BYTES);
	assert_true(parse(w, &teb));
	assert_int_equal(teb.teb_avma, WINE_TEB);
	assert_int_equal(teb.thread_id, 0x24);
	assert_int_equal(teb.syscall_frame_avma, WINE_FRAME);
	assert_true(sw_wine_on_windows_stack(&teb, WINE_WINDOWS));
	assert_true(sw_wine_on_windows_stack(&teb, WINE_WINDOWS_END - 1));
	assert_false(sw_wine_on_windows_stack(&teb, WINE_WINDOWS_END));
	assert_true(sw_wine_on_unix_stack(&teb, WINE_UNIX));
	assert_false(sw_wine_on_unix_stack(&teb, WINE_UNIX_END));
	assert_true(sw_wine_on_signal_stack(&teb, WINE_SIGNAL));
	assert_false(sw_wine_on_signal_stack(&teb, WINE_SIGNAL - 1));
	assert_true(sw_wine_on_signal_stack(&teb, WINE_SIGNAL_END - 1));
	assert_false(sw_wine_on_signal_stack(&teb, WINE_SIGNAL_END));
	free(w);
}

/* The values that a TEB cannot have. */
TEST(test_refused)
{
	static const struct {
		uint64_t off, value;
	} wrong[] = {
		{0x30, WINE_TEB + 8},       /* it does not say that it is at this address */
		{0x08, WINE_WINDOWS},       /* a stack without a byte */
		{0x328, WINE_UNIX - 8},     /* a frame that is not on the Unix stack */
		{0x328, WINE_UNIX_END},     /* the same */
		{0x328, 0},                 /* not begun yet */
		{0x370, UINT64_MAX - 4096}, /* a stack that goes around */
	};
	struct wine_case *w = malloc(sizeof(*w));
	struct sw_wine_teb teb;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		wine_case_init(w);
		wine_put(w, WINE_TEB + wrong[i].off, wrong[i].value);
		assert_false(parse(w, &teb));
	}
	wine_case_init(w);
	assert_false(sw_wine_teb_parse((struct sw_bytes){w->teb, sizeof(w->teb) - 1}, false,
				       WINE_TEB, &teb));
	struct fake_memory fake = FAKE_MEMORY({WINE_TEB, w->teb, sizeof(w->teb)});
	assert_true(sw_wine_teb_read(fake_memory(&fake), WINE_TEB, &teb));
	assert_false(sw_wine_teb_read(fake_memory(&fake), WINE_TEB + 8, &teb));
	assert_false(sw_wine_teb_read(fake_memory(&fake), 0, &teb));
	free(w);
}
