/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/turns.h"

#include <string.h>

size_t sw_turns_of(const struct sw_turns *turns, uid_t uid)
{
	for (size_t i = 0; i < turns->n; i++)
		if (turns->users[i] == uid)
			return i + 1;
	return 0;
}

void sw_turns_had(struct sw_turns *turns, uid_t uid)
{
	size_t turn = sw_turns_of(turns, uid), at = 0;
	if (turn > 0)
		at = turn - 1;
	else if (turns->n < SW_TURNS_MAX)
		at = turns->n++;
	memmove(&turns->users[at], &turns->users[at + 1], (turns->n - at - 1) * sizeof(uid_t));
	turns->users[turns->n - 1] = uid;
}
