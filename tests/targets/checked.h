/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CHECKED_H
#define CHECKED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program with what failed, and why by errno, unless it is good. */
static inline void check(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

#endif
