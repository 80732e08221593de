/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plugin_user LIBRARY [delete|memory]: runs in a dlopen'ed library, which may be gone from the disk, or
 * never was there. */
#include "target.h"

#include <stdbool.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

static NOINLINE void callback(void)
{
	block();
	KEEP();
}

/* As some loaders of plug-ins and of generated code do: a file that has no name. */
static void *open_in_memory(const char *path)
{
	char name[64];
	int from = open(path, O_RDONLY), to = memfd_create("plugin.so", MFD_CLOEXEC);
	while (from >= 0 && to >= 0 && sendfile(to, from, NULL, 1 << 20) > 0)
		;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", to);
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	close(from);
	close(to);
	return library;
}

int main(int argc, char **argv)
{
	bool in_memory = argc > 2 && strcmp(argv[2], "memory") == 0;
	void *library = argc < 2    ? NULL
			: in_memory ? open_in_memory(argv[1])
				    : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
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
