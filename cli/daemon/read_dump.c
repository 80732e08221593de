/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/read_dump.h"
#include "cleanup.h"
#include "common/complain.h"
#include "daemon/complaint.h"
#include "daemon/dump.h"
#include "daemon/kept.h"
#include "errors.h"
#include "json.h"
#include "text.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_BYTES_MAX = 1 << 30, DEPTH_MAX = 16 };

/* An id has neither a slash nor this ending. Any other word that may be an id is a file when there
 * is one of that name: ids and the words for them are left to those. */
static bool is_file(const char *word)
{
	static const char ending[] = ".json";
	size_t length = strlen(word), n = sizeof(ending) - 1;
	struct stat st;
	if (strcmp(word, "latest") != 0 && word[strspn(word, "0123456789")] != '\0' &&
	    stat(word, &st) == 0 && S_ISREG(st.st_mode))
		return true;
	return strchr(word, '/') != NULL || (length > n && strcmp(word + length - n, ending) == 0);
}

static int read_file(const char *path, struct sw_text *text)
{
	struct sw_error err = {0};
	int r = sw_text_read_at(text, AT_FDCWD, path, FILE_BYTES_MAX);
	if (r == -SW_E_IO)
		(void) sw_fail_errno(&err, SW_E_IO, "it cannot be read");
	else if (r < 0)
		(void) sw_fail(&err, -r, "it cannot be read");
	return r < 0 ? sw_complain_error(path, &err) : SW_STATUS_COMPLETE;
}

static int read_kept(struct sw_read_dump *ret, const struct sw_options *options)
{
	struct sw_daemon_dump dump;
	struct sw_complaint why;
	int status = sw_kept_find(options, ret->word, ret->id);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (!sw_daemon_read(options, ret->id, &dump, &why))
		return sw_complain_about(ret->id, &why);
	ret->as_it_is = dump.report == NULL && !dump.profile;
	ret->report = sw_take_ptr(dump.report);
	ret->text = (struct sw_text){.data = sw_take_ptr(dump.text),
				     .size = dump.size,
				     .capacity = dump.size + 1};
	sw_daemon_dump_deinit(&dump);
	return status;
}

int sw_read_dump_open(struct sw_read_dump *ret, const struct sw_options *options, const char *word)
{
	*ret = (struct sw_read_dump){.word = word};
	return is_file(word) ? read_file(word, &ret->text) : read_kept(ret, options);
}

const char *sw_read_dump_name(const struct sw_read_dump *dump)
{
	return dump->id[0] != '\0' ? dump->id : dump->word;
}

bool sw_read_dump_more(const struct sw_read_dump *dump)
{
	return !dump->begun || dump->end < dump->text.size;
}

/* Each dump is on a line of its own, or the only one, written over many. */
static size_t end_find(const struct sw_read_dump *dump)
{
	static const char between[] = "}\n{";
	const struct sw_text *text = &dump->text;
	const char *found = text->size > dump->end
				    ? memmem(text->data + dump->end, text->size - dump->end,
					     between, sizeof(between) - 1)
				    : NULL;
	return found != NULL ? (size_t) (found - text->data) + 2 : text->size;
}

/* The first member says what it is: its value, in quotes; size 0: it has none. */
static struct sw_json_part schema_of(const char *json, size_t size)
{
	static const char schema[] = "schema";
	struct sw_json_scan scan = sw_json_scan_begin(json, size, DEPTH_MAX);
	struct sw_json_part name, value;
	bool found = scan.close == '}' && sw_json_scan_next(&scan, &name, &value, NULL) > 0 &&
		     name.size == sizeof(schema) - 1 && memcmp(name.data, schema, name.size) == 0;
	return found ? value : (struct sw_json_part){0};
}

static bool begins_with(struct sw_json_part part, const char *begin)
{
	return part.size >= strlen(begin) && memcmp(part.data, begin, strlen(begin)) == 0;
}

/* The command that prints JSON of this schema, which is no dump; NULL: it may be a dump. */
static const char *printed_by(struct sw_json_part schema)
{
	static const struct {
		const char *begin, *command;
	} others[] = {
		{"\"snapwalk.leaks/", "leaks"},
		{"\"snapwalk.event", "on"}, /* snapwalk.events, and snapwalk.event of each */
		{"\"snapwalk.probe/", "on"},
		{"\"snapwalk.death/", "on"},
		{"\"snapwalk.usdt/", "on"},
		{"\"snapwalk.merge/", "merge"},
		{"\"snapwalk.explain/", "explain"},
		{"\"snapwalk.doctor/", "doctor"},
		{"\"snapwalk.top/", "top"},
		{"\"snapwalk.verify/", "verify"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		if (begins_with(schema, others[i].begin))
			return others[i].command;
	return NULL;
}

static void parsed_free(struct sw_read_dump *dump)
{
	if (dump->report != NULL)
		sw_report_destroy(sw_take_ptr(dump->report));
	sw_profile_destroy(sw_take_ptr(dump->profile)); /* NULL is fine */
}

/* All of the text. */
static int pprof_parse(struct sw_read_dump *dump, struct sw_error *err)
{
	dump->end = dump->text.size;
	dump->is_foreign = true;
	return sw_profile_parse_pprof(dump->text.data, dump->text.size, &dump->profile,
				      &dump->left_out, err);
}

int sw_read_dump_parse(struct sw_read_dump *dump, struct sw_error *err)
{
	bool is_done = !dump->begun && (dump->report != NULL || dump->as_it_is);
	dump->begun = true;
	dump->begin = dump->end;
	dump->end = end_find(dump);
	if (is_done)
		return 0;
	parsed_free(dump);
	if (sw_profile_is_pprof(dump->text.data, dump->text.size))
		return pprof_parse(dump, err);
	if (sw_profile_is_folded(dump->text.data, dump->text.size)) {
		dump->end = dump->text.size;
		dump->is_foreign = true;
		return sw_profile_parse_folded(dump->text.data, dump->text.size, &dump->profile,
					       err);
	}
	const char *json = dump->text.size > 0 ? dump->text.data + dump->begin : "";
	size_t size = dump->end - dump->begin;
	struct sw_json_part schema = schema_of(json, size);
	const char *command = printed_by(schema);
	if (command != NULL)
		return sw_fail(err, SW_E_FORMAT, "it is what 'snapwalk %s' prints, not a dump",
			       command);
	return begins_with(schema, "\"snapwalk.profile/")
		       ? sw_profile_parse(json, size, &dump->profile, err)
		       : sw_report_parse(json, size, &dump->report, err);
}

static void put_left(struct sw_text *what, size_t n, const char *one, const char *several)
{
	if (n > 0)
		sw_text_printf(what, "%s%zu %s", what->size > 0 ? ", " : "left out: ", n,
			       n == 1 ? one : several);
}

static void say_left_out(const struct sw_read_dump *dump)
{
	const struct sw_profile_left_out *left = &dump->left_out;
	sw_cleanup(sw_text_deinit) struct sw_text what = {0}, states = {0};
	put_left(&what, left->n_values, "kind of values", "kinds of values");
	put_left(&what, left->n_labels, "label", "labels");
	put_left(&what, left->n_comments, "comment", "comments");
	if (what.size > 0 || what.failed)
		sw_complain_for(sw_read_dump_name(dump),
				what.failed ? "something is left out" : what.data, "unsupported",
				SW_SAID_OF_PROFILE);
	if (left->n_states == 0)
		return;
	sw_text_printf(&states, "%zu sample%s without a state: shown as on a CPU", left->n_states,
		       sw_plural(left->n_states));
	sw_complain_for(sw_read_dump_name(dump),
			states.failed ? "samples without a state: shown as on a CPU" : states.data,
			"unsupported", SW_SAID_OF_PROFILE | SW_SAID_OF_CPU);
}

int sw_read_dump_next(struct sw_read_dump *dump)
{
	struct sw_error err = {0};
	int r = sw_read_dump_parse(dump, &err);
	if (r < 0)
		return sw_complain_error(sw_read_dump_name(dump), &err);
	say_left_out(dump);
	return SW_STATUS_COMPLETE;
}

int sw_read_dump_only(struct sw_read_dump *dump)
{
	dump->as_it_is = false;
	int status = sw_read_dump_next(dump);
	if (status == SW_STATUS_COMPLETE && dump->profile != NULL) {
		sw_complain_for(sw_read_dump_name(dump), "it is a profile, not a dump", "usage",
				SW_SAID_OF_PROFILE);
		return SW_STATUS_USAGE;
	}
	if (status != SW_STATUS_COMPLETE || !sw_read_dump_more(dump))
		return status;
	sw_complain_for(sw_read_dump_name(dump), "it has several dumps", "usage",
			SW_SAID_OF_SEVERAL);
	return SW_STATUS_USAGE;
}

void sw_read_dump_deinit(struct sw_read_dump *dump)
{
	sw_text_deinit(&dump->text);
	parsed_free(dump);
}
