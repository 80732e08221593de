/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plugin_user LIBRARY [delete]: runs in a dlopen'ed library, which may be gone from the disk. */
#include "target.h"

#include <dlfcn.h>
#include <string.h>

static NOINLINE void callback(void)
{
	block();
	KEEP();
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *run = library == NULL ? NULL : dlsym(library, "plugin_run");
	if (run == NULL)
		return 1;
	if (argc > 2 && strcmp(argv[2], "delete") == 0)
		unlink(argv[1]);
	expect_stack("block callback plugin_inner plugin_run main");
	ready();
	((void (*)(void (*)(void))) run)(callback);
	KEEP();
	return 0;
}
