/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "report/text/width.h"
#include "test.h"

static void assert_fitted(void (*fit)(struct sw_text_writer *w, size_t from), size_t columns,
			  const char *text, const char *wanted)
{
	const struct sw_text_options options = {.columns = columns, .color = true};
	struct sw_text_writer w = {.options = &options};
	sw_put(&w, "what was there before, however long it may be in columns\n");
	size_t from = w.text.size;
	sw_put(&w, "%s", text);
	fit(&w, from);
	assert_string_equal(w.text.data + from, wanted);
	assert_int_equal(w.text.size, strlen(w.text.data));
	sw_text_deinit(&w.text);
}

/* At spaces, indented below the line; a style takes no column, a character of several bytes takes one. */
TEST(test_wrapped)
{
	assert_fitted(sw_wrap, 40, "short\n", "short\n");
	assert_fitted(sw_wrap, 40, "0123456789 123456789 123456789 123456789\n",
		      "0123456789 123456789 123456789 123456789\n");
	assert_fitted(sw_wrap, 40, "0123456789 123456789 123456789 1234567890\nnext\n",
		      "0123456789 123456789 123456789\n    1234567890\nnext\n");
	assert_fitted(sw_wrap, 40,
		      "  a-b-c-d-e-f-g-h-i-j  a-b-c-d-e-f-g-h-i-j a-b-c-d-e-f-g-h-i-j end",
		      "  a-b-c-d-e-f-g-h-i-j\n      a-b-c-d-e-f-g-h-i-j\n"
		      "      a-b-c-d-e-f-g-h-i-j end");
	assert_fitted(sw_wrap, 40, "\033[1;31m0123456789 123456789 12345678… 123456789\033[0m\n",
		      "\033[1;31m0123456789 123456789 12345678… 123456789\033[0m\n");
	/* Nowhere to go on: as it is. */
	assert_fitted(sw_wrap, 40, "01234567890123456789012345678901234567890123456789\n",
		      "01234567890123456789012345678901234567890123456789\n");
	assert_fitted(sw_wrap, 1, "0123456789 123456789 123456789 123456789\n",
		      "0123456789 123456789 123456789 123456789\n");
}

TEST(test_cut)
{
	assert_fitted(sw_cut, 40, "0123456789012345678901234567890123456789",
		      "0123456789012345678901234567890123456789");
	assert_fitted(sw_cut, 40, "01234567890123456789012345678901234567…9X",
		      "01234567890123456789012345678901234567……\033[0m");
}

/* A file has no width. */
TEST(test_file)
{
	static const char text[] = "0123456789 123456789 123456789 1234567890 123456789 123456789";
	assert_fitted(sw_wrap, 0, text, text);
	assert_fitted(sw_cut, 0, text, text);
}
