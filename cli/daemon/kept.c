/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/kept.h"
#include "cleanup.h"
#include "daemon/row.h"
#include "errors.h"
#include "utf8.h"

#include <string.h>

enum {
	SILENCE_MS = 30000,
	SHOWN = 10,              /* dumps that the word may mean */
	PART_MIN = 4,            /* letters of a part that is looked for in the middle of ids */
	WHOLE_TAIL = 8,          /* digits of the random number that ends an id */
	PID_MAX_LIMIT = 1 << 22, /* include/linux/threads.h: an id is never so small a number */
};

/* 20261120T103550.084579-4242-0123abcd: nothing else can begin so. */
static bool is_whole(const char *word)
{
	const char *tail = strrchr(word, '-');
	return tail != NULL && strlen(tail + 1) == WHOLE_TAIL &&
	       tail[1 + strspn(tail + 1, "0123456789abcdef")] == '\0' &&
	       strspn(word, "0123456789") == 8 && word[8] == 'T' && strchr(word, '-') != tail;
}

/* The process id that the word is; 0 when it is not a process id. */
static int64_t pid_of(const char *word)
{
	size_t digits = strspn(word, "0123456789");
	int64_t n = digits > 0 && digits <= 7 && word[digits] == '\0' ? atoll(word) : 0;
	return n <= PID_MAX_LIMIT ? n : 0;
}

struct finding {
	const char *word;
	size_t n;
	bool part;  /* the word may be anywhere in an id */
	bool exact; /* the word is a whole id, even if another id begins with it */
	char id[SW_KEPT_ID_SIZE];
	struct sw_text rows; /* owned */
};

static bool take(void *arg, struct json_object *parameters, struct sw_complaint *why)
{
	struct finding *f = arg;
	struct json_object *summary = json_object_object_get(parameters, "summary");
	const char *id = sw_json_string(summary, "id");
	(void) why;
	if (id[0] == '\0' || f->exact || (f->part && strstr(id, f->word) == NULL))
		return true;
	f->exact = strcmp(id, f->word) == 0;
	if (f->n++ == 0 || f->exact)
		(void) snprintf(f->id, sizeof(f->id), "%s", id);
	if (f->n <= SHOWN)
		sw_row(&f->rows, summary);
	return true;
}

/* part: all dumps are asked for, and the daemon's answer is searched. */
static struct json_object *parameters_of(const char *word, bool part)
{
	struct json_object *p = json_object_new_object();
	sw_cleanup(sw_free_p) char *begin = strdup(word);
	int64_t pid = pid_of(word);
	bool latest = strcmp(word, "latest") == 0, ok = begin != NULL;
	if (ok)
		sw_utf8_make_plain(begin); /* with other characters no id begins */
	if (ok && pid > 0)
		ok = sw_json_add(p, "pid", json_object_new_int64(pid));
	else if (ok && !latest && !part)
		ok = sw_json_add(p, "id", json_object_new_string(begin));
	if (ok && !part)
		ok = sw_json_add(p, "limit",
				 json_object_new_int64(latest || pid > 0 ? 1 : SHOWN + 1));
	if (!ok) {
		(void) json_object_put(p); /* NULL is legal */
		p = NULL;
	}
	return p;
}

static int say_none(const char *word)
{
	struct sw_error err = {.code = SW_E_NOT_FOUND};
	char message[96] = "there is no such dump, or it is not for you";
	uint64_t causes = SW_SAID_OF_KEPT;
	if (strcmp(word, "latest") == 0 || pid_of(word) > 0) {
		(void) snprintf(message, sizeof(message),
				"the daemon keeps no dump%s that you may see",
				pid_of(word) > 0 ? " of this process" : "");
		causes |= SW_SAID_OF_NEWEST;
	}
	sw_complain_for(word, message, sw_error_wire(SW_E_NOT_FOUND), causes);
	return sw_status_of(&err);
}

static int say_several(const struct finding *f)
{
	char message[64];
	struct sw_text text = {0};
	(void) snprintf(message, sizeof(message), "%s%d dumps %s", f->n > SHOWN ? "more than " : "",
			(int) (f->n > SHOWN ? SHOWN : f->n),
			f->part ? "have that in their ids" : "begin so");
	sw_complain_for(f->word, message, "usage", SW_SAID_OF_KEPT);
	if (sw_complains_as_json())
		return SW_STATUS_USAGE;
	sw_row_header(&text);
	if (!text.failed && !f->rows.failed) {
		sw_print_visible(stderr, text.data);
		sw_print_visible(stderr, f->rows.data);
	}
	sw_text_deinit(&text);
	return SW_STATUS_USAGE;
}

static bool may_be_part(const char *word)
{
	return pid_of(word) == 0 && strcmp(word, "latest") != 0 && strlen(word) >= PART_MIN;
}

int sw_kept_find(const struct sw_options *options, const char *word,
		 char ret_id[static SW_KEPT_ID_SIZE])
{
	struct finding f = {.word = word};
	struct sw_complaint why;
	int status = SW_STATUS_COMPLETE;
	/* Asked for as it is: then it is one call, which a daemon of an earlier version has, too.
	 */
	if (is_whole(word) && strlen(word) < SW_KEPT_ID_SIZE) {
		memcpy(ret_id, word, strlen(word) + 1);
		return status;
	}
	/* Longer than any id, which List would call a mistake; or every id. */
	if (strlen(word) > 64 || word[0] == '\0')
		return say_none(word);
	bool ok = sw_daemon_call(options, "io.snapwalk.List", parameters_of(word, false), true,
				 SILENCE_MS, take, &f, &why);
	f.part = ok && f.n == 0 && may_be_part(word);
	if (f.part)
		ok = sw_daemon_call(options, "io.snapwalk.List", parameters_of(word, true), true,
				    SILENCE_MS, take, &f, &why);
	if (!ok)
		status = sw_complain_about(word, &why);
	else if (f.n == 0)
		status = say_none(word);
	else if (f.n > 1 && !f.exact)
		status = say_several(&f);
	else
		memcpy(ret_id, f.id, sizeof(f.id));
	sw_text_deinit(&f.rows);
	return status;
}

static bool take_nothing(void *arg, struct json_object *parameters, struct sw_complaint *why)
{
	(void) arg;
	(void) parameters;
	(void) why;
	return true;
}

int sw_kept_change(const struct sw_options *options, const char *method, const char *id,
		   const char *name, bool value)
{
	struct json_object *p = json_object_new_object();
	struct sw_complaint why;
	sw_cleanup(sw_free_p) char *copy = strdup(id);
	bool ok = copy != NULL;
	if (ok)
		sw_utf8_make_plain(copy);
	ok = ok && sw_json_add(p, "id", json_object_new_string(copy)) &&
	     (name == NULL || sw_json_add(p, name, json_object_new_boolean(value)));
	if (!ok) {
		(void) json_object_put(p); /* NULL is legal */
		p = NULL;
	}
	if (sw_daemon_call(options, method, p, false, SILENCE_MS, take_nothing, NULL, &why))
		return SW_STATUS_COMPLETE;
	return sw_complain_about(id, &why);
}

int sw_kept_say(const struct sw_options *options, const char *what, const char *id)
{
	struct sw_text text = {0};
	struct sw_error err = {0};
	if (options->format == SW_FORMAT_JSON) {
		sw_text_printf(&text, "{\"%s\":", what);
		sw_utf8_append_json_string(&text, id);
		sw_text_printf(&text, "}\n");
	} else
		sw_text_printf(&text, "%s %s\n", what, id);
	if (text.failed)
		(void) sw_fail_nomem(&err);
	else
		sw_print_visible(stdout, text.data);
	sw_text_deinit(&text);
	return err.code != 0 ? sw_complain_error(id, &err) : SW_STATUS_COMPLETE;
}
