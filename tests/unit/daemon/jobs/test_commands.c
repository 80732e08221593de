/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The dump that is told to OnDump= next, and the dumps that are not told at all. */
#include "jobs/commands.h"
#include "test.h"

/* Only size and identity of a dump matter. */
static struct sw_dump dumps[SW_COMMANDS_MAX + 8];

static int setup(void **state)
{
	for (size_t i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++)
		dumps[i] = (struct sw_dump){.refs = 1, .size = 10};
	return 0;
}

static uid_t next_user(struct sw_commands *commands)
{
	struct sw_command command;
	assert_true(sw_commands_peek(commands, &command));
	uid_t by = command.by;
	sw_commands_pop(commands);
	return by;
}

TEST_WITH(in_turn, setup, NULL)
{
	struct sw_commands commands;
	struct sw_command command;
	sw_commands_init(&commands);
	for (int i = 0; i < 6; i++)
		assert_true(sw_commands_add(&commands, &dumps[i], 1, false, "why"));
	assert_true(sw_commands_add(&commands, &dumps[6], 2, false, NULL));
	assert_true(sw_commands_add(&commands, &dumps[7], 3, false, NULL));
	assert_true(sw_commands_add(&commands, &dumps[8], 9, true, "alert: rule"));
	assert_true(sw_commands_peek(&commands, &command));
	assert_ptr_equal(command.dump, &dumps[8]);
	assert_string_equal(command.reason, "alert: rule");
	assert_int_equal(next_user(&commands), 9); /* alerts first */
	assert_int_equal(next_user(&commands), 1);
	assert_int_equal(next_user(&commands), 2);
	assert_int_equal(next_user(&commands), 3);
	assert_int_equal(next_user(&commands), 1);
	/* A new user does not wait for the one who always comes. */
	assert_true(sw_commands_add(&commands, &dumps[9], 4, false, NULL));
	assert_int_equal(next_user(&commands), 4);
	assert_int_equal(next_user(&commands), 1);
	assert_int_equal(dumps[0].refs, 1);
	assert_int_equal(dumps[5].refs, 2);
	sw_commands_deinit(&commands);
	assert_int_equal(dumps[5].refs, 1);
	assert_false(sw_commands_peek(&commands, &command));
}

TEST_WITH(places, setup, NULL)
{
	struct sw_commands commands;
	size_t n = 0;
	sw_commands_init(&commands);
	for (uid_t uid = 0; uid < 10; uid++)
		for (int i = 0; i < SW_COMMANDS_USER_MAX + 1; i++)
			n += sw_commands_add(&commands, &dumps[n], uid, false, NULL);
	assert_int_equal(n, SW_COMMANDS_MAX / 2);
	for (int i = 0; i < SW_COMMANDS_MAX; i++)
		n += sw_commands_add(&commands, &dumps[n], 0, true, NULL);
	assert_int_equal(n, SW_COMMANDS_MAX);
	sw_commands_deinit(&commands);
	for (int i = 0; i <= SW_COMMANDS_USER_MAX; i++) /* one user alone */
		assert_int_equal(sw_commands_add(&commands, &dumps[i], 7, false, NULL),
				 i < SW_COMMANDS_USER_MAX);
	sw_commands_deinit(&commands);
	/* Large dumps: as many bytes, too. */
	dumps[1].size = SW_COMMANDS_BYTES_MAX / 2;
	assert_true(sw_commands_add(&commands, &dumps[0], 1, false, NULL));
	assert_false(sw_commands_add(&commands, &dumps[1], 2, false, NULL));
	assert_true(sw_commands_add(&commands, &dumps[1], 2, true, NULL));
	sw_commands_deinit(&commands);
}
