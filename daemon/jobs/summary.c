/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A dump's summary: fields of its head, each checked, because a worker that parsed hostile files
 * wrote it. */
#include "jobs/summary.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/varlink.h>

#include <string.h>
#include <time.h>

enum { HEAD_DEPTH_MAX = 8, ID_MAX = 64 };

static struct json_object *member(struct json_object *object, const char *name, enum json_type type)
{
	struct json_object *value = NULL;
	if (!json_object_object_get_ex(object, name, &value) || !json_object_is_type(value, type))
		return NULL;
	return value;
}

static const char *string_of(struct json_object *object, const char *name)
{
	struct json_object *value = member(object, name, json_type_string);
	return value != NULL ? json_object_get_string(value) : NULL;
}

static int64_t int_of(struct json_object *object, const char *name)
{
	struct json_object *value = member(object, name, json_type_int);
	return value != NULL ? json_object_get_int64(value) : -1;
}

/* The id becomes a file's name. */
static bool id_is_good(const char *id)
{
	size_t length = id != NULL ? strlen(id) : 0;
	return length > 0 && length <= ID_MAX && id[0] != '.' &&
	       strspn(id, "0123456789abcdefT.-") == length;
}

bool sw_time_parse(const char *text, int64_t *ret_ns)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t fraction_ns = 0, unit_ns = 100000000, offset_s = 0;
	if (rest == NULL || tm.tm_year < 70 || tm.tm_year > 292)
		return false;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit_ns /= 10)
			fraction_ns += (*rest - '0') * unit_ns;
	int hours, minutes, used = 0;
	if ((*rest == '+' || *rest == '-') &&
	    sscanf(rest + 1, "%2d:%2d%n", &hours, &minutes, &used) == 2 && used == 5) {
		offset_s = (hours * 60 + minutes) * 60 * (*rest == '+' ? 1 : -1);
		rest += 6;
	} else if (*rest == 'Z')
		rest++;
	else
		return false;
	*ret_ns = ((int64_t) timegm(&tm) - offset_s) * 1000000000 + fraction_ns;
	return *rest == '\0';
}

/* Strings of Process that are null in a dump and not in the interface. */
static int without_null(struct json_object *process, const char *name)
{
	struct json_object *value = NULL;
	if (json_object_object_get_ex(process, name, &value) && value != NULL)
		return 0;
	value = json_object_new_string("");
	return value != NULL ? json_object_object_add(process, name, value) : -1;
}

static int add(struct json_object *to, const char *name, struct json_object *value)
{
	if (value != NULL && json_object_object_add(to, name, value) == 0)
		return 0;
	(void) json_object_put(value); /* NULL is fine */
	return -1;
}

static int add_shared(struct json_object *to, const char *name, struct json_object *value)
{
	return add(to, name, json_object_get(value));
}

static int fill(struct sw_dump *dump, struct json_object *head, int64_t n_threads, int64_t n_stacks)
{
	struct json_object *s = dump->summary = json_object_new_object();
	struct json_object *process = member(head, "process", json_type_object);
	struct json_object *reason = member(head, "reason", json_type_string);
	if (s == NULL || add_shared(s, "id", member(head, "id", json_type_string)) < 0 ||
	    (dump->profile && add(s, "kind", json_object_new_string(dump->kind->name)) < 0) ||
	    add_shared(s, "time", member(head, "time", json_type_string)) < 0 ||
	    (reason != NULL && add_shared(s, "reason", reason) < 0) ||
	    add_shared(s, "complete", member(head, "complete", json_type_boolean)) < 0 ||
	    without_null(process, "exe") < 0 || without_null(process, "cgroup") < 0 ||
	    add_shared(s, "process", process) < 0 ||
	    add_shared(s, "timings", member(head, "timings", json_type_object)) < 0 ||
	    add(s, "n_threads", json_object_new_int64(n_threads)) < 0 ||
	    add(s, "n_stacks", json_object_new_int64(n_stacks)) < 0 ||
	    add(s, "bytes", json_object_new_int64((int64_t) dump->size)) < 0 ||
	    add(s, "stored", json_object_new_boolean(false)) < 0)
		return -SW_E_NOMEM;
	dump->n_threads = n_threads;
	return 0;
}

/* The parts that the broker decides by. */
static int check(struct sw_dump *dump, struct json_object *head, struct sw_error *err)
{
	struct json_object *process = member(head, "process", json_type_object);
	struct json_object *timings = member(head, "timings", json_type_object);
	const char *time = string_of(head, "time");
	if (process == NULL || timings == NULL || time == NULL ||
	    member(head, "complete", json_type_boolean) == NULL ||
	    !sw_time_parse(time, &dump->time_ns))
		return sw_fail(err, SW_E_FORMAT, "the dump lacks what every dump has");
	const char *exe = string_of(process, "exe");
	int64_t pid = int_of(process, "pid"), uid = int_of(process, "uid");
	int64_t starttime = int_of(process, "starttime");
	dump->complete = json_object_get_boolean(json_object_object_get(head, "complete"));
	dump->id = string_of(head, "id");
	dump->comm = string_of(process, "comm");
	dump->exe = exe != NULL ? exe : "";
	dump->pid = (pid_t) pid;
	dump->uid = (uid_t) uid;
	dump->starttime = (uint64_t) starttime;
	dump->stopped_us = int_of(timings, "stopped_us");
	dump->total_us = int_of(timings, "total_us");
	if (!id_is_good(dump->id) || dump->comm == NULL || pid <= 0 || pid > INT32_MAX || uid < 0 ||
	    uid > UINT32_MAX || starttime < 0 || dump->stopped_us < 0 || dump->total_us < 0)
		return sw_fail(err, SW_E_FORMAT, "the dump's values are out of range");
	return 0;
}

int sw_summary_build(struct sw_dump *dump, int64_t n_threads, int64_t n_stacks,
		     struct sw_error *err)
{
	struct json_object *head;
	int r = sw_json_object_parse(dump->head, strlen(dump->head), HEAD_DEPTH_MAX, &head, err);
	if (r < 0)
		return r;
	/* exe and comm stay alive: the summary shares "id" and "process" with the head. */
	r = check(dump, head, err);
	if (r == 0 && fill(dump, head, n_threads, n_stacks) < 0)
		r = sw_fail_nomem(err);
	(void) json_object_put(head); /* the summary has references of its own */
	return r;
}
