/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The changes as JSON: everything that the text says, and what did not change. */
#include "errors.h"
#include "json_object.h"
#include "report/activity.h"
#include "utf8.h"

#include <snapwalk/diff.h>
#include <json-c/json.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct writer {
	struct sw_text text;
	struct sw_text clean; /* a string that is being added */
	bool failed;
};

/* Consumes value; NULL: no memory. */
static void add(struct writer *w, struct json_object *to, const char *key,
		struct json_object *value)
{
	if (to != NULL && value != NULL && json_object_object_add(to, key, value) == 0)
		return;
	(void) json_object_put(value); /* NULL is legal */
	w->failed = true;
}

static void add_int(struct writer *w, struct json_object *to, const char *key, int64_t value)
{
	add(w, to, key, json_object_new_int64(value));
}

static struct json_object *string(struct writer *w, const char *value)
{
	w->clean.size = 0;
	sw_utf8_append(&w->clean, value, strlen(value));
	return w->clean.failed ? NULL : json_object_new_string(w->clean.data);
}

static void add_id(struct writer *w, struct json_object *to, const char *key,
		   const struct sw_report_stack *stack)
{
	char id[24];
	if (stack == NULL)
		return;
	(void) snprintf(id, sizeof(id), "%016" PRIx64, stack->id); /* fits */
	add(w, to, key, json_object_new_string(id));
}

/* Put an element of an array, or a member that is an object. */
static void put(struct writer *w, const char *before, struct json_object *object)
{
	sw_text_append(&w->text, before, strlen(before));
	sw_json_object_append(&w->text, object);
	if (!w->text.failed && w->text.size > 0 && w->text.data[w->text.size - 1] == '\n')
		w->text.size--;
}

static struct json_object *dump_of(struct writer *w, const struct sw_report *r)
{
	struct json_object *o = json_object_new_object();
	add(w, o, "id", string(w, r->id));
	add_int(w, o, "time_ns", r->time_ns);
	add_int(w, o, "pid", r->process.pid);
	add_int(w, o, "starttime", (int64_t) r->process.starttime);
	add(w, o, "comm", string(w, r->process.comm));
	add_int(w, o, "n_threads", (int64_t) r->n_threads);
	add_int(w, o, "n_stacks", (int64_t) r->n_stacks);
	add(w, o, "complete", json_object_new_boolean(r->complete));
	return o;
}

static struct json_object *thread_of(struct writer *w, const struct sw_diff *d,
				     const struct sw_diff_thread *t)
{
	struct json_object *o = json_object_new_object();
	const struct sw_report_thread *one = t->after != NULL ? t->after : t->before;
	add_int(w, o, "tid", one->tid);
	add(w, o, "comm", string(w, one->comm));
	add(w, o, "change", json_object_new_string(sw_diff_change_name(t->change)));
	if (t->before != NULL)
		add_id(w, o, "stack_before", sw_stack_of(d->before, t->before));
	if (t->after != NULL)
		add_id(w, o, "stack_after", sw_stack_of(d->after, t->after));
	if (t->before != NULL && t->after != NULL && t->before->cpu_ns >= 0 &&
	    t->after->cpu_ns >= t->before->cpu_ns)
		add_int(w, o, "cpu_ns", t->after->cpu_ns - t->before->cpu_ns);
	return o;
}

static struct json_object *owner_of(struct writer *w, const struct sw_report_wait *wait)
{
	struct json_object *o = json_object_new_object();
	if (wait->owner_pid != 0)
		add_int(w, o, "pid", wait->owner_pid);
	if (wait->owner_tid != 0)
		add_int(w, o, "tid", wait->owner_tid);
	return o;
}

static struct json_object *lock_of(struct writer *w, const struct sw_diff_lock *lock)
{
	struct json_object *o = json_object_new_object(), *still = json_object_new_array();
	const struct sw_report_wait *wait = lock->after != NULL ? lock->after : lock->before;
	char address[24];
	add(w, o, "kind", string(w, wait->kind));
	if (wait->has_address) {
		(void) snprintf(address, sizeof(address), "0x%" PRIx64, wait->address_avma);
		add(w, o, "address", json_object_new_string(address));
	}
	if (lock->before != NULL)
		add(w, o, "owner_before", owner_of(w, lock->before));
	if (lock->after != NULL)
		add(w, o, "owner_after", owner_of(w, lock->after));
	add(w, o, "held", json_object_new_boolean(lock->held));
	add_int(w, o, "waiting_before", (int64_t) lock->n_before);
	add_int(w, o, "waiting_after", (int64_t) lock->n_after);
	for (size_t i = 0; i < lock->n_still && still != NULL; i++) {
		struct json_object *tid = json_object_new_int64(lock->still[i]);
		if (tid == NULL || json_object_array_add(still, tid) < 0)
			w->failed = true;
	}
	add(w, o, "still", still);
	return o;
}

static struct json_object *group_of(struct writer *w, const struct sw_diff_group *g)
{
	struct json_object *o = json_object_new_object();
	const struct sw_report_stack *stack = g->after != NULL ? g->after : g->before;
	add_id(w, o, "id", stack);
	add_int(w, o, "threads_before", (int64_t) g->n_before);
	add_int(w, o, "threads_after", (int64_t) g->n_after);
	return o;
}

int sw_diff_json(const struct sw_diff *diff, char **ret_text, size_t *ret_size,
		 struct sw_error *err)
{
	struct writer w = {0};
	sw_text_printf(&w.text, "{\"schema\":\"" SW_DIFF_SCHEMA "\",\"before\":");
	put(&w, "", dump_of(&w, diff->before));
	put(&w, ",\"after\":", dump_of(&w, diff->after));
	sw_text_printf(&w.text, ",\"same_process\":%s,\"elapsed_ms\":%" PRId64 ",\"threads\":[",
		       diff->same_process ? "true" : "false",
		       (diff->after->time_ns - diff->before->time_ns) / 1000000);
	for (size_t i = 0; i < diff->n_threads; i++)
		put(&w, i > 0 ? "," : "", thread_of(&w, diff, &diff->threads[i]));
	sw_text_printf(&w.text, "],\"locks\":[");
	for (size_t i = 0; i < diff->n_locks; i++)
		put(&w, i > 0 ? "," : "", lock_of(&w, &diff->locks[i]));
	sw_text_printf(&w.text, "],\"groups\":[");
	for (size_t i = 0; i < diff->n_groups; i++)
		put(&w, i > 0 ? "," : "", group_of(&w, &diff->groups[i]));
	sw_text_printf(&w.text, "]}\n");
	sw_text_deinit(&w.clean);
	if (w.failed || w.text.failed) {
		sw_text_deinit(&w.text);
		return sw_fail_nomem(err);
	}
	*ret_size = w.text.size;
	*ret_text = w.text.data;
	return 0;
}
