/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/batch.h"
#include "common/complain.h"
#include "run/rights.h"

#include <fcntl.h>
#include <string.h>

enum { PIPE_BYTES = 1 << 20 };

static void group_deinit(struct sw_batch_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		sw_capture_deinit(&group->captures[i]);
	sw_text_deinit(&group->rights);
	*group = (struct sw_batch_group){0};
}

/* ---- which processes one child may read --------------------------------------------------- */

static bool has_module(const struct sw_snapshot *snap, const struct sw_module *module)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (snap->places[i].module == module)
			return true;
	return false;
}

/* The child may open the debug files of the first one's modules, and needs no others. */
static bool has_modules_of(const struct sw_snapshot *snap, const struct sw_snapshot *first)
{
	for (size_t i = 0; i < snap->n_places; i++) {
		const struct sw_module *module = snap->places[i].module;
		if (module != NULL && sw_module_kind(module) == SW_MODULE_ELF &&
		    sw_module_fd(module) >= 0 && !has_module(first, module))
			return false;
	}
	return true;
}

/*
 * A process fits into a group if its rights are those of the group, and it runs the same files:
 * code that takes over the child by the bytes of one process can read what was captured of the
 * others, and say what it likes of them. rights: NULL or other than before where they are not
 * known.
 */
static bool fits(const struct sw_batch_group *group, const struct sw_capture *c,
		 const struct sw_text *rights)
{
	const struct sw_capture *first = &group->captures[0];
	return group->n < SW_BATCH_PROCESSES &&
	       group->n_threads + c->snap->n_threads <= SW_BATCH_THREADS && rights->size > 0 &&
	       rights->size == group->rights.size &&
	       memcmp(rights->data, group->rights.data, rights->size) == 0 &&
	       c->snap->process.uid == first->snap->process.uid &&
	       c->snap->process.gid == first->snap->process.gid &&
	       has_modules_of(c->snap, first->snap);
}

/* Empty where it is alone: rights have changed during the capture, or cannot be read. */
static void rights_settle(const struct sw_subject *subject, struct sw_text *before)
{
	sw_cleanup(sw_text_deinit) struct sw_text after = {0};
	if (before->size > 0 && sw_rights_read(subject->pid, &after) &&
	    after.size == before->size && memcmp(after.data, before->data, after.size) == 0)
		return;
	sw_text_deinit(before);
}

/* ---- the child ---------------------------------------------------------------------------- */

static void put(struct sw_batch *batch, const struct sw_capture *c, const struct sw_obtained *o)
{
	batch->status = sw_status_worse(batch->status, o->status);
	batch->delivery->n_matched += o->n_matched;
	(void) sw_delivery_note(batch->delivery, &o->seen); /* the child has left it out then */
	if (o->text.size > 0 && !batch->delivery->broken)
		batch->status = sw_status_worse(batch->status,
						sw_delivery_put(batch->delivery, c->subject.name,
								NULL, o->text.data, o->text.size));
}

static int begin(struct sw_batch *batch, const struct sw_capture *captures, size_t n,
		 struct sw_error *err)
{
	int r = sw_obtain_begin(batch->session, captures, n, batch->delivery, &batch->child, err);
	if (r == 0)
		(void) fcntl(batch->child.fd, F_SETPIPE_SZ, PIPE_BYTES); /* or it waits sooner */
	return r;
}

/* Returns how many of n have an answer. */
static size_t end(struct sw_batch *batch, const struct sw_capture *captures, size_t n,
		  struct sw_error *err)
{
	struct sw_obtained all[SW_BATCH_PROCESSES] = {0};
	size_t n_all;
	(void) sw_obtain_end(&batch->child, sw_obtain_deadline_ns(batch->delivery->options, n), all,
			     n, &n_all, err); /* n_all tells */
	for (size_t i = 0; i < n_all; i++)
		put(batch, &captures[i], &all[i]);
	for (size_t i = 0; i < SW_BATCH_PROCESSES; i++)
		sw_obtained_deinit(&all[i]);
	return n_all;
}

/* A process whose bytes end the child takes no other's dump along: those without an answer get a child each, until one of
 * these takes all of its time, too: they have the same user. */
static void running_finish(struct sw_batch *batch)
{
	struct sw_batch_group *group = &batch->running;
	struct sw_error err = {0};
	size_t done = group->n > 0 ? end(batch, group->captures, group->n, &err) : 0;
	bool alone = group->n == 1, late = false;
	for (size_t i = done; i < group->n && !batch->delivery->broken; i++) {
		const struct sw_capture *c = &group->captures[i];
		if (!alone && !late && begin(batch, c, 1, &err) == 0 && end(batch, c, 1, &err) == 1)
			continue;
		late = err.code == SW_E_TIMEOUT;
		batch->status =
			sw_status_worse(batch->status, sw_complain_error(c->subject.name, &err));
	}
	group_deinit(group);
}

/* The running child ends first: it has noted for text which processes were shown. */
static void open_start(struct sw_batch *batch)
{
	struct sw_error err = {0};
	running_finish(batch);
	if (batch->open.n == 0)
		return;
	if (begin(batch, batch->open.captures, batch->open.n, &err) == 0) {
		batch->running = batch->open;
	} else {
		for (size_t i = 0; i < batch->open.n; i++)
			batch->status = sw_status_worse(
				batch->status,
				sw_complain_error(batch->open.captures[i].subject.name, &err));
		group_deinit(&batch->open);
	}
	batch->open = (struct sw_batch_group){0};
}

void sw_batch_flush(struct sw_batch *batch)
{
	open_start(batch);
	running_finish(batch);
}

/* rights is the group's from here on. */
static void group_append(struct sw_batch_group *group, const struct sw_capture *c,
			 struct sw_text *rights)
{
	if (group->n == 0) {
		group->rights = *rights;
		*rights = (struct sw_text){0};
	}
	group->captures[group->n++] = *c;
	group->n_threads += c->snap != NULL ? c->snap->n_threads : 0;
}

int sw_batch_add(struct sw_batch *batch, const struct sw_subject *subject,
		 const struct sw_pipeline_options *how, const pid_t **ret_owners,
		 size_t *ret_n_owners, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text rights = {0};
	const struct sw_options *options = batch->delivery->options;
	struct sw_capture c;
	bool may = options->keep == NULL && subject->kind == SW_WANT_PID &&
		   sw_rights_read(subject->pid, &rights);
	int r = sw_capture_make(batch->session, subject, how, options, &c, err);
	if (r < 0)
		return r;
	if (!may)
		sw_text_deinit(&rights);
	else
		rights_settle(subject, &rights);
	if (batch->open.n > 0 && (c.snap == NULL || !fits(&batch->open, &c, &rights)))
		open_start(batch);
	group_append(&batch->open, &c, &rights);
	*ret_owners = c.owners;
	*ret_n_owners = c.n_owners;
	return 0;
}
