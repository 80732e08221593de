/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_NAMING_MODULES_H
#define SW_NAMING_MODULES_H

#include <snapwalk/naming.h>

/* The module of a dump's file that has this build-id, in hex; NULL in *ret: nothing is looked for, as it is no ELF file
 * or has none. 0; -SW_E_NOMEM. */
int sw_naming_module(const struct sw_naming *naming, const char *format, const char *path,
		     const char *build_id, struct sw_module **ret);

/* The place of a wire name ("dwarf") in enum sw_symbol_source. */
enum sw_symbol_source sw_naming_source(const char *name);

#endif
