/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_FILTER_H
#define SW_CONFINE_FILTER_H

#include <snapwalk/error.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Filters of system calls, seccomp(2), made out of tables. Nothing is allocated: a process that has no
 * memory left can still be confined. Not by libseccomp, which crashes then.
 */

/* The action of the filter for a call: linux/seccomp.h has the words. */
struct sw_filter_rule {
	uint32_t call;   /* SYS_* */
	uint32_t action; /* SECCOMP_RET_* */
	/* Only if (argument & mask) == value, in the lower half of the argument or in its upper one. A mask of 0 and
	 * a value of 0: always. */
	unsigned argument;
	uint32_t mask, value;
	bool upper;
	/* A further condition on the same call: its argument, mask and value, and its own further
	 * condition. Borrowed; NULL: none. */
	const struct sw_filter_rule *also;
};

/* A call that is allowed with one value of one argument. */
#define SW_FILTER_ALLOWED(number, index, wanted)                                    \
	{                                                                           \
		.call = (number), .action = SECCOMP_RET_ALLOW, .argument = (index), \
		.mask = UINT32_MAX, .value = (wanted)                               \
	}

/* The same action for several calls. */
struct sw_filter_group {
	const uint32_t *calls; /* static */
	size_t n_calls;
	uint32_t action;
};

enum {
	SW_FILTER_INSTRUCTIONS_MAX = 1536,
	SW_FILTER_X32_BIT = 0x40000000, /* __X32_SYSCALL_BIT of asm/unistd.h */
};

/* Zero-initialised is empty. The rule that is added first counts first. */
struct sw_filter {
	struct sock_filter program[SW_FILTER_INSTRUCTIONS_MAX];
	size_t n;
	bool full;
	bool traps; /* rules that kill trap instead: sw_seccomp_parser() says what for */
};

/* The start of each filter: calls of another machine's or of x32's numbers kill. */
void sw_filter_begin(struct sw_filter *filter);
void sw_filter_add(struct sw_filter *filter, const struct sw_filter_rule *rule);
void sw_filter_add_rules(struct sw_filter *filter, const struct sw_filter_rule *rules, size_t n);
/* A rule for each of the values that its argument may have. */
void sw_filter_add_values(struct sw_filter *filter, const struct sw_filter_rule *rule,
			  const int *values, size_t n);
/* A call that is allowed when none of some bits is set in an argument. */
void sw_filter_allow_without(struct sw_filter *filter, uint32_t call, unsigned argument,
			     uint32_t bits);
/* All calls from a number on. */
void sw_filter_add_from(struct sw_filter *filter, uint32_t first, uint32_t action);
void sw_filter_add_group(struct sw_filter *filter, const struct sw_filter_group *group);
/* The action for a call that has any of some bits set in an argument. */
void sw_filter_add_bits(struct sw_filter *filter, uint32_t call, unsigned argument, uint32_t bits,
			uint32_t action);
/* All other calls. -SW_E_INTERNAL: there were too many rules. */
int sw_filter_end(struct sw_filter *filter, uint32_t action, struct sw_error *err);
/* sw_filter_end() before it. For the calling thread, which must be the only one of its process and have
 * given up new privileges. */
int sw_filter_enter(const struct sw_filter *filter, struct sw_error *err);

#endif
