/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a thread's variable is, by what ld.so has put into a GOT. */
#include "fake.h"
#include "native/tls.h"
#include "test.h"

enum { FS = 0x7000, BIAS = 0x100000, GOT = 0x20, DTV = 0x9000, BLOCK = 0xa000, PAIR = 0xb000 };

static uint64_t got[2], pair[2], dtv[8], control[2] = {FS, DTV};
static const struct fake_region regions[] = {{BIAS + GOT, got, sizeof(got)},
					     {PAIR, pair, sizeof(pair)},
					     {FS, control, sizeof(control)},
					     {DTV, dtv, sizeof(dtv)}};

static bool find(enum sw_tls_kind kind, int64_t offset, uint64_t *ret)
{
	struct fake_memory fake = {regions, 4, 0};
	const struct sw_tls_variable v = {.kind = kind, .offset = offset, .got_svma = GOT};
	return sw_tls_address(&v, fake_memory(&fake), BIAS, FS, ret);
}

TEST(test_static_storage)
{
	uint64_t avma;
	assert_true(find(SW_TLS_PROGRAM, -16, &avma));
	assert_int_equal(avma, FS - 16);
	got[0] = (uint64_t) -24;
	assert_true(find(SW_TLS_WORD, 0, &avma));
	assert_int_equal(avma, FS - 24);
	got[0] = 0; /* not relocated yet */
	assert_false(find(SW_TLS_WORD, 0, &avma));
	got[0] = 0x1234; /* the resolver */
	got[1] = (uint64_t) -32;
	assert_true(find(SW_TLS_DESCRIPTOR, 0, &avma));
	assert_int_equal(avma, FS - 32);
}

TEST(test_blocks)
{
	uint64_t avma;
	dtv[6] = BLOCK;
	got[0] = 3;
	got[1] = 8;
	assert_true(find(SW_TLS_PAIR, 4, &avma));
	assert_int_equal(avma, BLOCK + 12);
	got[0] = 0x1234;
	got[1] = PAIR;
	pair[0] = 3;
	pair[1] = 16;
	assert_true(find(SW_TLS_DESCRIPTOR, 0, &avma));
	assert_int_equal(avma, BLOCK + 16);
	dtv[6] = UINT64_MAX; /* not allocated in this thread */
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
	dtv[6] = 0;
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
	pair[0] = SW_TLS_MODULES_MAX + 1;
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
	pair[0] = 0;
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
	got[1] = PAIR + 8; /* the end of the memory */
	assert_false(find(SW_TLS_DESCRIPTOR, 0, &avma));
}
