/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_GOROUTINES_H
#define SW_GO_GOROUTINES_H

#include "runtimes/go/go.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.goroutines and goroutine. */
size_t sw_go_goroutines(struct sw_go *go, const char **ret_why);
bool sw_go_goroutine(struct sw_go *go, size_t n, struct sw_runtime_goroutine *ret);

void sw_go_goroutines_destroy(struct sw_go_goroutines *all);

#endif
