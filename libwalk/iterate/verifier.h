/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_VERIFIER_H
#define SW_ITERATE_VERIFIER_H

#include <stdbool.h>

enum { SW_VERIFIER_SAID_MAX = 160 };

/* Why the kernel's verifier refused a program: a line of its log, or "". */
struct sw_verifier_said {
	char text[SW_VERIFIER_SAID_MAX];
};

/* Whether a program that was not loaded, with that negative errno, may be one that the verifier refused. */
bool sw_verifier_refused(int status);

/* The reason in a log of level 1: its last line but the figures that end it. Longer ones are cut. */
void sw_verifier_said_of(const char *log, struct sw_verifier_said *ret);

#endif
