/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waits for a line; then it protects itself, as a program does that has a secret, and waits in hidden() for
 * another one. With an argument it computes while it waits.
 */
#include "target.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>

static bool computes;

static NOINLINE void line_wait(void)
{
	char line[64];
	struct pollfd input = {.fd = 0, .events = POLLIN};
	while (computes && poll(&input, 1, 0) == 0)
		for (volatile int i = 0; i < 100000; i++)
			;
	if (fgets(line, sizeof(line), stdin) == NULL)
		_exit(0);
	KEEP();
}

static NOINLINE void seen(void)
{
	line_wait();
	KEEP();
}

static NOINLINE void hidden(void)
{
	line_wait();
	KEEP();
}

int main(int argc, char **argv)
{
	(void) argv;
	computes = argc > 1;
	ready();
	seen();
	(void) prctl(PR_SET_DUMPABLE, 0); /* cannot fail */
	ready();
	hidden();
	return 0;
}
