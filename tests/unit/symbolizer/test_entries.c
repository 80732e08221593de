/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "entries.h"
#include "test.h"

#include "skip.h"

/* The stack is filled, so that the next function finds no 0 on it. */
__attribute__((noinline)) static void stack_fill(void)
{
	char space[4096];
	memset(space, 0x5a, sizeof(space));
	__asm__ volatile("" : : "r"(space) : "memory");
}

/* No memory for the list of addresses: that is returned, and nothing is done with the list. */
TEST(test_no_memory)
{
#ifdef __SANITIZE_ADDRESS__
	SKIP_SANITIZED(); /* it takes a size that cannot be for a bug */
#endif
	struct sw_unit unit = {.kind = 1 << SW_MODULE_ELF, .n_entries = SIZE_MAX / 2};
	const struct sw_request request = {0};
	stack_fill();
	assert_int_equal(sw_unit_lines(&unit, &request), -SW_E_NOMEM);
	unit.kind = 1 << SW_MODULE_JIT; /* nobody has lines for it */
	stack_fill();
	assert_int_equal(sw_unit_lines(&unit, &request), -SW_E_NOMEM);
	stack_fill();
	assert_int_equal(sw_unit_names(&unit, &request), -SW_E_NOMEM);
}
