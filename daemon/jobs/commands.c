/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jobs/commands.h"
#include "cleanup.h"

#include <string.h>

void sw_commands_init(struct sw_commands *commands)
{
	*commands = (struct sw_commands){0};
	TAILQ_INIT(&commands->list);
}

static void drop(struct sw_commands *commands, struct sw_command *command)
{
	TAILQ_REMOVE(&commands->list, command, link);
	commands->n--;
	commands->bytes -= command->dump->size;
	sw_dump_unref(command->dump);
	free(command->reason);
	free(command);
}

void sw_commands_deinit(struct sw_commands *commands)
{
	while (!TAILQ_EMPTY(&commands->list))
		drop(commands, TAILQ_FIRST(&commands->list));
}

/* Users have the half that alerts leave them, and each only a part of it. */
static bool has_space(const struct sw_commands *commands, size_t bytes, uid_t by, bool alert)
{
	const struct sw_command *command;
	size_t n_users = 0, n_own = 0, user_bytes = 0;
	TAILQ_FOREACH(command, &commands->list, link)
	if (!command->alert) {
		n_users++;
		n_own += command->by == by;
		user_bytes += command->dump->size;
	}
	if (commands->n == SW_COMMANDS_MAX ||
	    (commands->n > 0 && commands->bytes + bytes > SW_COMMANDS_BYTES_MAX))
		return false;
	return alert || (n_users < SW_COMMANDS_MAX / 2 && n_own < SW_COMMANDS_USER_MAX &&
			 (n_users == 0 || user_bytes + bytes <= SW_COMMANDS_BYTES_MAX / 2));
}

bool sw_commands_add(struct sw_commands *commands, struct sw_dump *dump, uid_t by, bool alert,
		     const char *reason)
{
	struct sw_command *command =
		has_space(commands, dump->size, by, alert) ? malloc(sizeof(*command)) : NULL;
	if (command == NULL)
		return false;
	*command = (struct sw_command){.dump = dump, .by = by, .alert = alert};
	if (reason != NULL && (command->reason = strdup(reason)) == NULL) {
		free(command);
		return false;
	}
	(void) sw_dump_ref(dump);
	TAILQ_INSERT_TAIL(&commands->list, command, link);
	commands->n++;
	commands->bytes += dump->size;
	return true;
}

/* An alert's is first wherever it stands. */
static struct sw_command *next(const struct sw_commands *commands)
{
	struct sw_command *command, *best = NULL;
	size_t least = SIZE_MAX;
	TAILQ_FOREACH(command, &commands->list, link)
	{
		if (command->alert)
			return command;
		size_t turn = sw_turns_of(&commands->turns, command->by);
		if (turn < least) {
			least = turn;
			best = command;
		}
	}
	return best;
}

bool sw_commands_peek(const struct sw_commands *commands, struct sw_command *ret)
{
	const struct sw_command *command = next(commands);
	if (command != NULL)
		*ret = *command;
	return command != NULL;
}

void sw_commands_pop(struct sw_commands *commands)
{
	struct sw_command *command = next(commands);
	if (command == NULL)
		return;
	if (!command->alert)
		sw_turns_had(&commands->turns, command->by);
	drop(commands, command);
}
