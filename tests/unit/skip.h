/* SPDX-License-Identifier: LGPL-2.1-or-later */
/** A test that cannot run here says why and what would enable it; tests/run.py lists both. */
#ifndef SW_TEST_SKIP_H
#define SW_TEST_SKIP_H

/* Macros, because cmocka's skip() is one: it leaves the test and says where. */
#define SKIP(reason, needs)                                             \
	do {                                                            \
		print_message("# skip: %s; needs %s\n", reason, needs); \
		skip();                                                 \
	} while (0)
#define SKIP_NOT_ROOT() SKIP("not root", "root (sudo make check)")
#define SKIP_SANITIZED() \
	SKIP("the sanitizer ends the program", "a build without sanitizers (make check)")

#endif
