/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_CALLS_H
#define SW_ITERATE_CALLS_H

#include "iterate/called.h"
#include "iterate/sample.h"

/*
 * The programs that copy threads at system calls (iterate/calls.bpf.c). They are at trace points of the kernel: no
 * code of a process is changed, and they end with the descriptors of ret_links.
 */
enum sw_iterate_calls {
	SW_ITERATE_CALL_BEGINS,
	SW_ITERATE_CALL_RETURNS,
};

enum { SW_ITERATE_LINKS_MAX = 2 };

/**
 * Load one and begin. Needs CAP_BPF and CAP_PERFMON.
 *
 * @param called     Copied.
 * @param ret        Set only on success; close with sw_iterate_sample_close().
 * @param ret_links  Owned by the caller; -EBADF: none. Set only on success.
 * @return As sw_iterate_load().
 */
int sw_iterate_calls_open(enum sw_iterate_calls which, const struct sw_iterate_sample_sizes *sizes,
			  const struct sw_sampled_setup *setup,
			  const struct sw_called_setup *called, struct sw_iterate_sample *ret,
			  int ret_links[static SW_ITERATE_LINKS_MAX], struct sw_error *err);

#endif
