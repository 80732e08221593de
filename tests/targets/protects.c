/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Waits for a line; then it protects itself, as a program does that has a secret, and waits in hidden() for
 * another one.
 */
#include "target.h"

#include <stdio.h>
#include <sys/prctl.h>

static NOINLINE void line_wait(void)
{
	char line[64];
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

int main(void)
{
	ready();
	seen();
	(void) prctl(PR_SET_DUMPABLE, 0); /* cannot fail */
	ready();
	hidden();
	return 0;
}
