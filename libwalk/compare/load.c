/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare/load.h"
#include "errors.h"

#include <dlfcn.h>
#include <string.h>

/* 8 is the ABI of libunwind 1.1 (2012) up to at least 1.8. */
#define LIBUNWIND_SONAME "libunwind-x86_64.so.8"

int sw_libunwind_load(struct sw_libunwind *ret, struct sw_error *err)
{
#ifdef SW_STATIC
	/* A library would bring a second C library along, of another version than ours. */
	(void) ret;
	return sw_fail(err, SW_E_UNSUPPORTED,
		       "the second opinion needs libunwind: this snapwalk is a static file, which "
		       "cannot load it");
#else
	/* NODELETE: its memory pools would leak with every unload. The handle is not needed. */
	void *handle = dlopen(LIBUNWIND_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (handle == NULL)
		return sw_fail(err, SW_E_UNSUPPORTED, "the second opinion needs libunwind: %s",
			       dlerror());
	struct sw_libunwind lib;
	const char *missing = NULL;
	/* POSIX lets a function pointer be taken from dlsym() only by way of its bytes. */
#define LOAD(name, type, parameters)                             \
	{                                                        \
		void *symbol = dlsym(handle, "_Ux86_64_" #name); \
		if (symbol == NULL)                              \
			missing = #name;                         \
		memcpy(&lib.name, &symbol, sizeof(symbol));      \
	}
	SW_LIBUNWIND_FUNCTIONS(LOAD)
#undef LOAD
	(void) dlclose(handle); /* drops our reference; the library stays */
	if (missing != NULL)
		return sw_fail(err, SW_E_UNSUPPORTED, "%s has no function %s", LIBUNWIND_SONAME,
			       missing);
	*ret = lib;
	return 0;
#endif
}

int sw_walk_libunwind_load(struct sw_error *err)
{
	struct sw_libunwind lib;
	return sw_libunwind_load(&lib, err);
}
