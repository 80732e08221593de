/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MERGE_TREE_H
#define SW_MERGE_TREE_H

#include "merge/findings.h"

/* The order in which people are shown roles and places. */

/* The places called from one, most processes first, then most threads. *ret is the caller's. -SW_E_NOMEM. */
int sw_merge_children(const struct sw_merge *m, uint32_t place, uint32_t **ret, size_t *ret_n);

/* The only call that all threads of a place make; SW_MERGE_NONE: they part, or end. */
uint32_t sw_merge_only_call(const struct sw_merge *m, uint32_t place);

/* Roles: those of which a finding tells that processes differ, main threads, most processes. *ret is the caller's.
 * -SW_E_NOMEM. */
int sw_merge_roles(const struct sw_merge *m, const struct sw_merge_findings *findings,
		   uint32_t **ret, size_t *ret_n);

/* "main thread of server", "thread worker-* of server". Plain. */
void sw_merge_put_role(struct sw_text *text, const struct sw_merge *m, uint32_t role);

/* "512 processes of server on 64 hosts, 51200 threads, 2026-11-20 10:35:50 to 10:35:52 UTC". Plain. */
void sw_merge_put_head(struct sw_text *text, const struct sw_merge_labels *labels);

/* "a.json: b.json is the newest dump of that process": why the dump m->older[older] does not count. Plain. */
void sw_merge_put_older(struct sw_text *text, const struct sw_merge *m, size_t older);

/* "511 ranks, all but rank 37, for 14 min": who is at a place, of those at its parent. Plain; nothing more than
 * n_processes where no memory is left. */
void sw_merge_put_who(struct sw_text *text, const struct sw_merge_labels *labels, uint32_t place);

#endif
