/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "waits/locks.h"
#include "test.h"

static const char locks[] = "1: FLOCK  ADVISORY  WRITE 70 fd:01:393 0 EOF\n"
			    "1: -> FLOCK  ADVISORY  WRITE 71 fd:01:393 0 EOF\n"
			    "2: POSIX  ADVISORY  WRITE 72 fd:01:393 0 99\n"
			    "2: -> POSIX  ADVISORY  READ 73 fd:01:393 10 19\n"
			    "2: -> POSIX  ADVISORY  READ 74 fd:01:393 20 29\n"
			    "3: POSIX  ADVISORY  WRITE 75 fd:01:393 100 199\n"
			    "3: -> POSIX  ADVISORY  WRITE 74 fd:01:393 100 199\n"
			    "4: OFDLCK ADVISORY  WRITE -1 fd:01:400 0 EOF\n"
			    "4: -> POSIX  ADVISORY  WRITE 73 fd:01:400 0 EOF\n"
			    "nonsense\n5: -> POSIX ADVISORY WRITE 80 fd:01:500 0 EOF";

TEST(test_owner)
{
	assert_int_equal(sw_file_lock_owner(locks, 71, 393, true), 70);
	assert_int_equal(sw_file_lock_owner(locks, 73, 393, false), 72);
}

TEST(test_nobody)
{
	assert_int_equal(sw_file_lock_owner(locks, 70, 393, true), 0);  /* it holds it */
	assert_int_equal(sw_file_lock_owner(locks, 71, 394, true), 0);  /* another file */
	assert_int_equal(sw_file_lock_owner(locks, 71, 393, false), 0); /* another kind */
	assert_int_equal(sw_file_lock_owner(locks, 74, 393, false), 0); /* of two owners */
	assert_int_equal(sw_file_lock_owner(locks, 73, 400, false), 0); /* an open file's */
	assert_int_equal(sw_file_lock_owner(locks, 80, 500, false), 0); /* cut off */
	assert_int_equal(sw_file_lock_owner("", 80, 500, false), 0);
}
