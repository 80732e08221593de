/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/wire: names of functions in the bytes of a WebAssembly module. */
#include "fake.h"
#include "runtimes/v8/wire.h"
#include "test.h"

enum { AT = 0x5000 };

/*
 *	a section of types, one that is called "x"; "name": of the module "m"; of functions 2 "two", 300 "late",
 *	301 without characters
 */
static const uint8_t module[] = {
	0,  'a', 's', 'm', 1,   0,   0,   0,    1, 1, 0,   0,   3,   1,   'x',  9,
	0,  27,  4,   'n', 'a', 'm', 'e', 0,    2, 1, 'm', 1, /* functions */
	16, 3,   2,   3,   't', 'w', 'o', 0xac, 2, 4, 'l', 'a', 't', 'e', 0xad, 2,
};

static bool name_of(const uint8_t *bytes, size_t n, uint32_t index, char *ret, size_t size)
{
	struct fake_memory fake = FAKE_MEMORY({AT, bytes, n});
	return sw_v8_wire_name(fake_memory(&fake), AT, n, index, ret, size);
}

TEST(test_names)
{
	uint8_t bytes[sizeof(module) + 1];
	char name[8], tight[3];
	memcpy(bytes, module, sizeof(module));
	bytes[sizeof(module)] = 0; /* the length of the last name */
	assert_true(name_of(bytes, sizeof(bytes), 2, name, sizeof(name)));
	assert_string_equal(name, "two");
	assert_true(name_of(bytes, sizeof(bytes), 300, name, sizeof(name)));
	assert_string_equal(name, "late");
	assert_true(name_of(bytes, sizeof(bytes), 300, tight, sizeof(tight)));
	assert_string_equal(tight, "la");
	assert_false(name_of(bytes, sizeof(bytes), 301, name, sizeof(name)));
	assert_false(name_of(bytes, sizeof(bytes), 3, name, sizeof(name)));
	assert_false(name_of(bytes, sizeof(bytes), 1000, name, sizeof(name)));
}

/* Wherever the bytes end, or one is another: an answer, or none. */
TEST(test_cut)
{
	char name[8];
	for (size_t n = 0; n < sizeof(module); n++)
		(void) name_of(module, n, 300, name, sizeof(name)); /* ends */
	for (size_t i = 0; i < sizeof(module); i++) {
		uint8_t bytes[sizeof(module)];
		memcpy(bytes, module, sizeof(bytes));
		bytes[i] = 0xff;
		(void) name_of(bytes, sizeof(bytes), 300, name, sizeof(name)); /* ends */
	}
	uint8_t other[sizeof(module)];
	memcpy(other, module, sizeof(other));
	other[4] = 2;
	assert_false(name_of(other, sizeof(other), 2, name, sizeof(name)));
}
