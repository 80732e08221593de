/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * C++ names, and lines that tests/live/test_names.py finds by the marks at their ends: "first X" is
 * the first line of function X, "line X" the line it is at.
 */
#include "../target.h"

#define INLINE inline __attribute__((always_inline))

namespace outer {

static INLINE int inlined_inner(int n) /* first inlined_inner */
{
	n++;
	block(); /* line inlined_inner */
	KEEP();
	return n;
}

INLINE int inlined_middle(int n) /* first inlined_middle */
{
	return inlined_inner(n * 2) + 1; /* line inlined_middle */
}

template <class T> NOINLINE T templated(T value) /* first templated */
{
	T result = inlined_middle(static_cast<int>(value)); /* line templated */
	KEEP();
	return result;
}

namespace {
struct Widget {
	int n;
	int method(const char *text) const;
};
} // namespace

NOINLINE int Widget::method(const char *text) const /* first method */
{
	double result = templated<double>(n + text[0]); /* line method */
	KEEP();
	return static_cast<int>(result);
}

} // namespace outer

extern "C" NOINLINE int c_function(int n) /* first c_function */
{
	outer::Widget widget = {n};
	int result = widget.method("x"); /* line c_function */
	KEEP();
	return result;
}

int main()
{
	ready();
	return c_function(1);
}
