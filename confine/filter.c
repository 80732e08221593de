/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/filter.h"
#include "errors.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#ifndef __x86_64__
#error "the filters know one machine: give its AUDIT_ARCH_"
#endif

static void append(struct sw_filter *f, struct sock_filter instruction)
{
	if (f->n < SW_FILTER_INSTRUCTIONS_MAX)
		f->program[f->n++] = instruction;
	else
		f->full = true;
}

static void load(struct sw_filter *f, size_t offset)
{
	append(f, (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t) offset));
}

static void jump(struct sw_filter *f, uint16_t compare, uint32_t value, uint8_t if_true,
		 uint8_t if_false)
{
	append(f, (struct sock_filter) BPF_JUMP((uint16_t) (BPF_JMP | BPF_K | compare), value,
						if_true, if_false));
}

static void answer(struct sw_filter *f, uint32_t action)
{
	if (f->traps && action == SECCOMP_RET_KILL_PROCESS)
		action = SECCOMP_RET_TRAP;
	append(f, (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, action));
}

void sw_filter_begin(struct sw_filter *f)
{
	load(f, offsetof(struct seccomp_data, arch));
	jump(f, BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
	answer(f, SECCOMP_RET_KILL_PROCESS);
	load(f, offsetof(struct seccomp_data, nr));
	jump(f, BPF_JGE, SW_FILTER_X32_BIT, 0, 1);
	answer(f, SECCOMP_RET_KILL_PROCESS);
}

enum { CONDITION_INSTRUCTIONS = 3, END_INSTRUCTIONS = 2 };

/* The number of the call is loaded before each rule, and after it. */
void sw_filter_add(struct sw_filter *f, const struct sw_filter_rule *rule)
{
	uint8_t left = 0;
	if (rule->mask == 0 && rule->value == 0) {
		jump(f, BPF_JEQ, rule->call, 0, 1);
		answer(f, rule->action);
		return;
	}
	for (const struct sw_filter_rule *c = rule; c != NULL; c = c->also)
		left += CONDITION_INSTRUCTIONS;
	jump(f, BPF_JEQ, rule->call, 0, left + END_INSTRUCTIONS);
	for (const struct sw_filter_rule *c = rule; c != NULL; c = c->also) {
		left -= CONDITION_INSTRUCTIONS;
		/* The lower half comes first: x86-64 is little endian. */
		load(f, offsetof(struct seccomp_data, args) + c->argument * sizeof(uint64_t) +
				(c->upper ? sizeof(uint32_t) : 0));
		append(f, (struct sock_filter) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c->mask));
		jump(f, BPF_JEQ, c->value, 0, left + 1);
	}
	answer(f, rule->action);
	load(f, offsetof(struct seccomp_data, nr));
}

void sw_filter_add_rules(struct sw_filter *f, const struct sw_filter_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sw_filter_add(f, &rules[i]);
}

void sw_filter_add_values(struct sw_filter *f, const struct sw_filter_rule *rule, const int *values,
			  size_t n)
{
	struct sw_filter_rule one = *rule;
	for (size_t i = 0; i < n; i++) {
		one.value = (uint32_t) values[i];
		sw_filter_add(f, &one);
	}
}

void sw_filter_allow_without(struct sw_filter *f, uint32_t call, unsigned argument, uint32_t bits)
{
	const struct sw_filter_rule rule = {.call = call,
					    .action = SECCOMP_RET_ALLOW,
					    .argument = argument,
					    .mask = bits};
	sw_filter_add(f, &rule);
}

/* A rule is added for each bit, as a rule compares with one value. */
void sw_filter_add_bits(struct sw_filter *f, uint32_t call, unsigned argument, uint32_t bits,
			uint32_t action)
{
	for (uint32_t left = bits; left != 0; left &= left - 1) {
		const uint32_t bit = left & -left;
		const struct sw_filter_rule rule = {.call = call,
						    .action = action,
						    .argument = argument,
						    .mask = bit,
						    .value = bit};
		sw_filter_add(f, &rule);
	}
}

void sw_filter_add_from(struct sw_filter *f, uint32_t first, uint32_t action)
{
	jump(f, BPF_JGE, first, 0, 1);
	answer(f, action);
}

void sw_filter_add_group(struct sw_filter *f, const struct sw_filter_group *group)
{
	for (size_t i = 0; i < group->n_calls; i++) {
		const struct sw_filter_rule rule = {.call = group->calls[i],
						    .action = group->action};
		sw_filter_add(f, &rule);
	}
}

int sw_filter_end(struct sw_filter *f, uint32_t action, struct sw_error *err)
{
	answer(f, action);
	return f->full ? sw_fail(err, SW_E_INTERNAL, "a filter of system calls has too many rules")
		       : 0;
}

int sw_filter_enter(const struct sw_filter *f, struct sw_error *err)
{
	const struct sock_fprog program = {(unsigned short) f->n,
					   (struct sock_filter *) f->program};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot enter the seccomp filter");
	return 0;
}
