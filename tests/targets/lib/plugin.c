/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library for dlopen(): calls back into the program through two frames of its own. */

void plugin_run(void (*call)(void));

static __attribute__((noinline)) void plugin_inner(void (*call)(void))
{
	call();
	__asm__ volatile("" ::: "memory");
}

__attribute__((visibility("default"))) void plugin_run(void (*call)(void))
{
	plugin_inner(call);
	__asm__ volatile("" ::: "memory");
}
