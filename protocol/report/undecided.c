/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/undecided.h"
#include "cleanup.h"
#include "parts.h"
#include "report/activity.h"

#include <string.h>

/* Whether a module's file may have more names than were found. */
static bool may_tell_more(const struct sw_report_module *m)
{
	return strcmp(m->format, "elf") == 0 && strcmp(m->symbols, "dwarf") != 0;
}

bool sw_stack_is_settled(const struct sw_report *r, const struct sw_report_stack *s)
{
	for (size_t i = 0; s != NULL && i < s->n_frames && i < SW_UNDECIDED_FRAMES; i++)
		if (s->frames[i].module >= 0 && may_tell_more(&r->modules[s->frames[i].module]))
			return false;
	return true;
}

/* The thread that initialises a static variable is found by the functions of all stacks. */
static bool is_settled(const struct sw_report *r, const struct sw_report_thread *t)
{
	if (strcmp(t->blocked_on->kind, "static_init") != 0)
		return sw_stack_is_settled(r, sw_stack_of(r, t));
	for (size_t i = 0; i < r->n_modules; i++)
		if (may_tell_more(&r->modules[i]))
			return false;
	return true;
}

void sw_undecided_note(struct sw_report_builder *b, struct sw_report_thread *t,
		       const struct sw_report_futex *futex, const struct sw_wait_proof *proof)
{
	if (futex == NULL && t->blocked_on != NULL && t->blocked_on->owner_tid == 0)
		return;
	struct sw_report_undecided *u = sw_report_calloc(b, 1, sizeof(*u));
	if (u == NULL)
		return;
	u->is_futex = futex != NULL;
	if (futex != NULL)
		u->futex = *futex;
	u->has_proof = true;
	u->proven = proof->proven;
	u->stayed = proof->stayed;
	u->instant = proof->instant;
	t->undecided = u;
}

static bool is_once(const char *kind)
{
	return strcmp(kind, "once") == 0 || strcmp(kind, "rust_once") == 0;
}

/* The fact that decides who has a lock of some kind. */
static pid_t *owner_by_kind(struct sw_report_futex *futex, const char *kind)
{
	struct {
		const char *kind;
		pid_t *owner;
	} owners[] = {
		{"mutex", &futex->mutex_owner}, {"rwlock", &futex->rwlock_owner},
		{"thread", &futex->joined},     {"once", &futex->once_owner},
		{"stdio", &futex->stdio_owner}, {"rust_once", &futex->once_owner},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(owners); i++)
		if (strcmp(owners[i].kind, kind) == 0)
			return owners[i].owner;
	return NULL;
}

/* The kind and the owner of a wait at a futex are by functions and memory; runtimes say more of theirs. */
static bool is_at_futex(const struct sw_report_thread *t)
{
	static const char *const trusts[] = {"syscall", "memory", "stack"};
	const struct sw_report_wait *wait = t->blocked_on;
	if (!wait->has_address || t->syscall == NULL || !sw_begins_with(t->syscall, "futex"))
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(trusts); i++)
		if (sw_same_text(wait->trust, trusts[i]))
			return true;
	return false;
}

/* Removes what blocked_on says. */
static void implied_remove(const struct sw_report_thread *t, struct sw_report_futex *futex)
{
	const struct sw_report_wait *wait = t->blocked_on;
	pid_t *owner = owner_by_kind(futex, wait->kind);
	if (!is_at_futex(t))
		return;
	futex->word_avma = 0;
	if (owner != NULL && *owner == wait->owner_tid)
		*owner = 0;
	if (is_once(wait->kind))
		futex->once_unknown = false;
	if (strcmp(wait->kind, "stdio") == 0)
		futex->is_stdio = false;
}

bool sw_undecided_futex(const struct sw_report_thread *t, struct sw_report_futex *ret)
{
	const struct sw_report_undecided *u = t->undecided;
	const struct sw_report_wait *wait = t->blocked_on;
	if (wait == NULL || !((u != NULL && u->is_futex) || is_at_futex(t)))
		return false;
	*ret = u != NULL ? u->futex : (struct sw_report_futex){0};
	if (!is_at_futex(t))
		return true;
	pid_t *owner = owner_by_kind(ret, wait->kind);
	ret->word_avma = wait->address_avma;
	if (owner != NULL && *owner == 0)
		*owner = wait->owner_tid;
	ret->once_unknown |= is_once(wait->kind) && wait->target != NULL;
	ret->is_stdio |= strcmp(wait->kind, "stdio") == 0;
	return true;
}

static bool has_owner(const struct sw_report_futex *f)
{
	return f->mutex_owner != 0 || f->rwlock_owner != 0 || f->joined != 0 ||
	       f->stdio_owner != 0 || f->once_owner != 0;
}

static bool says_anything(const struct sw_report_futex *f)
{
	return has_owner(f) || f->word_avma != 0 || f->lost_owner != 0 || f->is_stdio ||
	       f->once_unknown;
}

/* Whether names may make it wait for another thread than now. */
static bool may_get_owner(const struct sw_report_thread *t)
{
	const struct sw_report_undecided *u = t->undecided;
	return u->is_futex && (has_owner(&u->futex) || strcmp(t->blocked_on->kind, "futex") == 0 ||
			       strcmp(t->blocked_on->kind, "static_init") == 0);
}

/* Keeps what a thread's own wait needs. True: proofs of others may be needed, too. */
static bool futex_trim(const struct sw_report *r, struct sw_report_thread *t)
{
	/* The cast: the structure is the report's own, still in the making. */
	struct sw_report_undecided *u = (struct sw_report_undecided *) t->undecided;
	if (u == NULL || t->blocked_on == NULL)
		return false;
	u->is_futex = u->is_futex && !is_settled(r, t);
	if (!u->is_futex)
		u->futex = (struct sw_report_futex){0};
	else
		implied_remove(t, &u->futex);
	return may_get_owner(t);
}

void sw_undecided_finish(struct sw_report *r)
{
	bool needs_proofs = false;
	for (size_t i = 0; i < r->n_threads; i++)
		needs_proofs |= futex_trim(r, &r->threads[i]);
	for (size_t i = 0; i < r->n_threads; i++) {
		struct sw_report_thread *t = &r->threads[i];
		struct sw_report_undecided *u = (struct sw_report_undecided *) t->undecided;
		if (u == NULL || t->blocked_on == NULL)
			continue;
		u->has_proof = u->has_proof && needs_proofs &&
			       (t->blocked_on->owner_tid != 0 || may_get_owner(t));
		if (!u->has_proof && !says_anything(&u->futex))
			t->undecided = NULL;
	}
}
