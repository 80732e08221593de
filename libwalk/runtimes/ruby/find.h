/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_FIND_H
#define SW_RUBY_FIND_H

#include "bytes.h"
#include "native/tls.h"
#include "runtimes/ruby/layout.h"

#include <snapwalk/walk.h>

/* Where Ruby is in a process, and where its variables are. */
struct sw_ruby_found {
	struct sw_place *place;              /* the snapshot's */
	const struct sw_ruby_layout *layout; /* NULL: it cannot be read */
	const char *missing; /* what is not there then; static. NULL: the version is not known */
	char version[16];    /* "3.1.7"; "" when it does not say */
	struct sw_tls_variable ec; /* ruby_current_ec */
	uint64_t symbols_svma;     /* ruby_global_symbols; 0: not known */
	uint64_t vm_svma;          /* ruby_current_vm_ptr; 0: not known */
};

/* rb_vm_exec(): [start, end). Only the walk asks for it. */
struct sw_ruby_exec {
	bool found;
	uint64_t start_svma, end_svma;
};

/* Whether a module is Ruby by its name. A look-up, no more. */
bool sw_ruby_probe(const struct sw_snapshot *snap);

/* Whether the file is Ruby: the program, or its library. */
bool sw_ruby_file_probe(const char *path);

/* False: it is not there. Parses symbols and relocations of the module; once. */
bool sw_ruby_find(const struct sw_snapshot *snap, struct sw_ruby_found *ret);

/* By its symbol, or by call frame information and the code of its callers; once for each module. False: it was not
 * found. Not for what runs with the privileges of a capture. */
bool sw_ruby_exec_find(const struct sw_place *place, struct sw_ruby_exec *ret);

/* ruby_global_symbols, which is not exported, by the code of a function at code_svma that looks a
 * number up in it; 0: it is not recognised. */
uint64_t sw_ruby_symbols_in(struct sw_bytes code, uint64_t code_svma);

#endif
