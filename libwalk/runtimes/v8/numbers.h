/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_NUMBERS_H
#define SW_V8_NUMBERS_H

#include "runtimes/v8/v8.h"

/* Which one of those a builtin is, by its name; SW_V8_AWAIT_BUILTINS: none. */
enum sw_v8_await_builtin sw_v8_await_builtin_of(const char *name);

/* The numbers by which functions name their builtins, from the data of the blob; p->at.awaits.has_builtins says if they
 * were found. The builtins are there, by off. */
void sw_v8_numbers_find(struct sw_v8_program *p, struct sw_bytes data);

#endif
