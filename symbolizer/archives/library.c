/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "archives/library.h"
#include "errors.h"

#include <dlfcn.h>
#include <string.h>

/* 13 is the ABI of libarchive 3.0 (2011) up to at least 3.7. */
#define LIBARCHIVE_SONAME "libarchive.so.13"

int sw_archive_library_load(struct sw_archive_library *ret, struct sw_error *err)
{
#ifdef SW_STATIC
	/* A library would bring a second C library along, of another version than ours. */
	(void) ret;
	return sw_fail(err, SW_E_UNSUPPORTED,
		       "packages need libarchive: this snapwalk is a static file, which cannot "
		       "load it");
#else
	/* NODELETE: what it has allocated for good would leak. The handle is not needed. */
	void *handle = dlopen(LIBARCHIVE_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (handle == NULL)
		return sw_fail(err, SW_E_UNSUPPORTED, "packages need libarchive: %s", dlerror());
	struct sw_archive_library lib;
	const char *missing = NULL;
	/* POSIX lets a function pointer be taken from dlsym() only by way of its bytes. */
#define LOAD(name, type, parameters)                        \
	{                                                   \
		void *symbol = dlsym(handle, #name);        \
		if (symbol == NULL)                         \
			missing = #name;                    \
		memcpy(&lib.name, &symbol, sizeof(symbol)); \
	}
	SW_ARCHIVE_FUNCTIONS(LOAD)
#undef LOAD
	(void) dlclose(handle); /* drops our reference; the library stays */
	if (missing != NULL)
		return sw_fail(err, SW_E_UNSUPPORTED, "%s has no function %s", LIBARCHIVE_SONAME,
			       missing);
	*ret = lib;
	return 0;
#endif
}
