/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call through a null pointer; the handler of the SIGSEGV waits to be looked at. */
#include "target.h"

#include <signal.h>

static void (*volatile nothing)(void);

static NOINLINE void on_fault(int signo)
{
	(void) signo;
	block();
	KEEP();
}

static NOINLINE void call_nothing(void)
{
	nothing();
	KEEP();
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_fault};
	sigaction(SIGSEGV, &action, NULL);
	expect_stack("block on_fault <signal> <null> call_nothing main");
	ready();
	call_nothing();
	return 0;
}
