/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * modules LIBRARY: a library comes and goes while its code is called: what was read of the process
 * before a stop may lack it, or still have it. Says edges and roots as busy.c does.
 */
#include "target.h"

#include <dlfcn.h>

static volatile unsigned long counter;

static NOINLINE void callback(void)
{
	for (int i = 0; i < 4000000; i++)
		counter++;
}

static NOINLINE void use_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *run = library == NULL ? NULL : dlsym(library, "plugin_run");
	if (run != NULL)
		((void (*)(void (*)(void))) run)(callback);
	if (library != NULL)
		dlclose(library);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	printf("root modules main\nedge main use_library\nedge use_library callback\n");
	ready();
	while (!released)
		use_library(argv[1]);
	return 0;
}
