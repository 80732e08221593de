/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_FIND_H
#define SW_PHP_FIND_H

#include "runtimes/php/layout.h"

#include <snapwalk/walk.h>

/* Where PHP is in a process, and where its variables are. */
struct sw_php_found {
	struct sw_place *place;             /* the snapshot's */
	const struct sw_php_layout *layout; /* NULL: it cannot be read */
	const char *missing;   /* what is not there then; static. NULL: the version is not known */
	char version[16];      /* "8.2.36"; "" when it does not say */
	bool threads;          /* ZTS: each thread has its own globals */
	uint64_t globals_svma; /* executor_globals; of ZTS executor_globals_offset */
	uint64_t sapi_svma;    /* sapi_globals; of ZTS sapi_globals_offset. 0: not known */
	int64_t thread_offset; /* ZTS: of the pointer to the globals, from fs */
	/* [start, end) of zend_generator_resume(); 0: not known */
	uint64_t resume_svma, resume_end_svma;
};

/* Whether a module is PHP by its name. A look-up, no more. */
bool sw_php_probe(const struct sw_snapshot *snap);

/* False: it is not there. Parses symbols and .rodata of the module; once. */
bool sw_php_find(const struct sw_snapshot *snap, struct sw_php_found *ret);

/* Whether the file is PHP: the program, or the library of Apache's module and others that embed it. */
bool sw_php_file_probe(const char *path);

/* "8.2.36" from the text behind "X-Powered-By: PHP/"; false when there is none. */
bool sw_php_version_scan(const void *bytes, size_t size, char *ret, size_t ret_size);

#endif
