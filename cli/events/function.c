/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process with privileges, which parses nothing of the files: that is done in probes/look_up.c. */
#include "events/function.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "errors.h"
#include "events/look_up.h"
#include "run/apart.h"
#include "run/output.h"
#include "utf8.h"

#include <snapwalk/clock.h>
#include <inttypes.h>
#include <string.h>

enum {
	LOOK_UP_S = 30, /* without --timeout */
	GRACE_S = 2,    /* for a process that ends by itself at its deadline */
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
	ANSWER_MAX = 1 << 20, /* bytes: at most SW_EVENT_PLACES_MAX lines */
};

void sw_function_keep(struct sw_function *f, const bool keep[static SW_EVENT_PLACES_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++) {
		if (!keep[i]) {
			sw_close_p(&f->places[i].file_fd);
			free(f->names[i]);
			continue;
		}
		f->places[n] = f->places[i];
		f->names[n] = f->names[i];
		f->start_avma[n] = f->start_avma[i];
		f->end_avma[n] = f->end_avma[i];
		f->wanted[n++] = f->wanted[i];
	}
	f->n = n;
}

void sw_function_deinit(struct sw_function *f)
{
	for (size_t i = 0; i < f->n; i++) {
		sw_close_p(&f->places[i].file_fd);
		free(f->names[i]);
	}
	for (size_t i = 0; i < f->n_missing; i++)
		free(f->missing[i].why);
	*f = (struct sw_function){0};
}

void sw_function_notice(const struct sw_function *f, const struct sw_subject *subject,
			struct sw_text *ret)
{
	size_t n_returns = 0;
	bool reentered = false;
	for (size_t i = 0; i < f->n; i++) {
		n_returns += f->places[i].n_returns;
		reentered |= f->places[i].reentered;
	}
	sw_text_printf(ret, "probes ");
	sw_utf8_append_plain(ret, f->names[0], strlen(f->names[0]));
	if (f->n > 1)
		sw_text_printf(ret, " at %zu places", f->n);
	if (n_returns > 0)
		sw_text_printf(ret, " and %zu return%s", n_returns, sw_plural(n_returns));
	sw_text_printf(ret, " in ");
	sw_utf8_append_plain(ret, f->module, strlen(f->module));
	if (f->places[0].semaphore_off != 0)
		sw_text_printf(ret, ", and counts its semaphore up");
	sw_text_printf(ret,
		       ": until this command ends the kernel has %s in the code of process %d\n",
		       f->n + n_returns > 1 ? "breakpoints" : "a breakpoint", (int) subject->pid);
	if (reentered)
		sw_text_printf(ret,
			       "a loop of the function comes back to its beginning: turns of the "
			       "loop are counted as calls\n");
}

void sw_function_json(const struct sw_function *f, struct sw_text *ret)
{
	sw_json_text_member(ret, "function", f->names[0]);
	sw_json_text_member(ret, "module", f->module);
	sw_text_printf(ret, ",\"changes_code\":true,\"places\":[");
	for (size_t i = 0; i < f->n; i++)
		sw_text_printf(ret,
			       "%s{\"file_offset\":%" PRIu64
			       ",\"emulated\":%s,\"reentered\":%s,\"returns\":%zu}",
			       i > 0 ? "," : "", f->places[i].file_off,
			       f->places[i].emulated ? "true" : "false",
			       f->places[i].reentered ? "true" : "false", f->places[i].n_returns);
	sw_text_append(ret, "]", 1);
}

/* Offsets from a place of the line on, which then begins behind them. */
static bool returns_take(const char **line, size_t at, struct sw_event_place *to)
{
	char *end;
	if (to->n_returns > SW_EVENT_RETURNS_MAX)
		return false;
	*line += at;
	for (size_t i = 0; i < to->n_returns; i++, *line = end + 1) {
		to->returns_off[i] = strtoull(*line, &end, 16);
		if (end == *line || *end != ' ')
			return false;
	}
	return true;
}

/* Operands, likewise. */
static bool operands_take(const char **line, struct sw_event_place *to)
{
	int declared, at = 0;
	if (sscanf(*line, "%d %" SCNx64 " %zu %n", &declared, &to->semaphore_off, &to->n_operands,
		   &at) != 3 ||
	    at == 0 || to->n_operands > SW_EVENT_ARGUMENTS)
		return false;
	to->is_declared = declared != 0;
	*line += at;
	for (size_t i = 0; i < to->n_operands; i++, *line += at) {
		struct sw_event_operand *o = &to->operands[i];
		int kind, is_signed;
		at = 0;
		if (sscanf(*line,
			   "%d %" SCNu8 " %d %" SCNu8 " %" SCNu8 " %" SCNu8 " %" SCNu8 " %" SCNd64
			   " %n",
			   &kind, &o->bytes, &is_signed, &o->shift, &o->base, &o->index, &o->scale,
			   &o->value, &at) != 8 ||
		    at == 0 || kind < 0 || kind > SW_EVENT_OPERAND_MEMORY || o->shift > 8 ||
		    o->bytes > 8)
			return false;
		o->kind = (enum sw_event_operand_kind) kind;
		o->is_signed = is_signed != 0;
	}
	return true;
}

/* The line of the other process is not believed: the kernel says what is mapped there. */
static int place_take(const struct sw_target *target, const char *line, struct sw_function *f,
		      struct sw_error *err)
{
	uint64_t start, end;
	struct sw_event_place place = {.file_fd = -EBADF};
	int emulated, reentered, at = 0;
	if (f->n == SW_EVENT_PLACES_MAX ||
	    sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %d %d %" SCNx64 " %zu %n", &start,
		   &end, &place.file_off, &emulated, &reentered, &place.returns_first,
		   &place.n_returns, &at) != 7 ||
	    at == 0 || !returns_take(&line, (size_t) at, &place) || !operands_take(&line, &place))
		return sw_fail(err, SW_E_INTERNAL, "what looked it up has written nonsense");
	place.emulated = emulated != 0;
	place.reentered = reentered != 0;
	place.file_fd = sw_target_map_file(target, start, end, err);
	if (place.file_fd < 0)
		return place.file_fd;
	f->places[f->n] = place;
	f->start_avma[f->n] = start;
	f->end_avma[f->n] = end;
	f->names[f->n] = strdup(line);
	f->places[f->n].name = f->names[f->n];
	return f->names[f->n++] == NULL ? sw_fail_nomem(err) : 0;
}

static int missing_take(const char *line, struct sw_function *f, struct sw_error *err)
{
	int at = 0, absent = 0;
	size_t wanted = 0;
	if (f->n_missing == SW_EVENT_PLACES_MAX ||
	    sscanf(line, "- %zu %d %n", &wanted, &absent, &at) != 2 || at == 0 ||
	    wanted >= SW_EVENT_PLACES_MAX)
		return sw_fail(err, SW_E_INTERNAL, "what looked it up has written nonsense");
	f->missing[f->n_missing].wanted = wanted;
	f->missing[f->n_missing].is_absent = absent != 0;
	f->missing[f->n_missing].why = strdup(line + at);
	return f->missing[f->n_missing++].why == NULL ? sw_fail_nomem(err) : 0;
}

/* Lines of several functions. */
static int all_take(const struct sw_target *target, struct sw_text *text, struct sw_function *f,
		    struct sw_error *err)
{
	char *rest = NULL;
	size_t wanted = 0;
	int r = 0;
	sw_text_append(text, "", 1);
	if (text->failed)
		return sw_fail_nomem(err);
	for (char *line = strtok_r(text->data, "\n", &rest); r == 0 && line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (line[0] == '-') {
			r = missing_take(line, f, err);
		} else if (line[0] == '=') {
			const char *module = strtok_r(NULL, "\n", &rest);
			wanted = strtoul(line + 1, NULL, 10);
			if (f->n == 0 && module != NULL)
				(void) snprintf(f->module, sizeof(f->module), "%s", module);
		} else {
			r = place_take(target, line, f, err);
			if (r == 0)
				f->wanted[f->n - 1] = wanted;
		}
	}
	return r;
}

static int places_take(const struct sw_target *target, struct sw_text *text, struct sw_function *f,
		       struct sw_error *err)
{
	char *rest = NULL;
	sw_text_append(text, "", 1);
	if (text->failed)
		return sw_fail_nomem(err);
	const char *module = strtok_r(text->data, "\n", &rest);
	int r = 0;
	(void) snprintf(f->module, sizeof(f->module), "%s", module != NULL ? module : "");
	for (const char *line; r == 0 && (line = strtok_r(NULL, "\n", &rest)) != NULL;)
		r = place_take(target, line, f, err);
	if (r == 0 && f->n == 0)
		r = sw_fail(err, SW_E_INTERNAL, "what looked it up has written nothing");
	return r;
}

/* 0: none. */
static int64_t deadline_of(const struct sw_options *options)
{
	if (!options->timeout_given)
		return sw_clock_ns() + (int64_t) LOOK_UP_S * NS_PER_S;
	return options->timeout_ms > 0 ? sw_clock_ns() + (int64_t) options->timeout_ms * NS_PER_MS
				       : 0;
}

/* The process without privileges writes what it has looked up. wanted: NULL: that of the options. */
static int looked_up(const struct sw_options *options, const struct sw_subject *subject,
		     const struct sw_function_wanted *wanted, size_t n_wanted, struct sw_text *text,
		     struct sw_function *ret)
{
	struct sw_error err = {0};
	struct sw_apart apart;
	struct sw_target *target = NULL;
	int status = SW_STATUS_COMPLETE;
	int r = sw_target_open(subject->pid, &target, &err);
	struct sw_look_up l = {.options = options,
			       .wanted = wanted,
			       .n_wanted = n_wanted,
			       .subject = subject,
			       .target = target,
			       .deadline_ns = deadline_of(options)};
	if (r == 0)
		r = sw_apart_start(&apart, sw_look_up, &l, &err);
	if (r == 0)
		r = sw_apart_finish_within(&apart,
					   l.deadline_ns > 0
						   ? l.deadline_ns + (int64_t) GRACE_S * NS_PER_S
						   : 0,
					   ANSWER_MAX, text, &status, &err);
	if (r == 0 && status == SW_STATUS_COMPLETE && !options->list)
		r = wanted != NULL ? all_take(target, text, ret, &err)
				   : places_take(target, text, ret, &err);
	if (target != NULL && !options->list)
		ret->starttime = sw_target_starttime(target);
	sw_target_close(target);
	return r < 0 ? sw_complain_error(subject->name, &err) : status;
}

int sw_function_find(const struct sw_options *options, const struct sw_subject *subject,
		     struct sw_function *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	*ret = (struct sw_function){0};
	return looked_up(options, subject, NULL, 0, &text, ret);
}

int sw_functions_find(const struct sw_options *options, const struct sw_subject *subject,
		      const struct sw_function_wanted *wanted, size_t n, struct sw_function *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	*ret = (struct sw_function){0};
	return looked_up(options, subject, wanted, n, &text, ret);
}

int sw_function_list(const struct sw_options *options)
{
	struct sw_subject subject;
	struct sw_error err = {0};
	struct sw_output output;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int status = sw_select_one(options, &subject);
	if (status == SW_STATUS_COMPLETE && options->format == SW_FORMAT_JSON)
		sw_text_printf(&text, "{\"schema\":\"snapwalk.usdt/1\",\"pid\":%d,\"probes\":[",
			       (int) subject.pid);
	if (status == SW_STATUS_COMPLETE)
		status = looked_up(options, &subject, NULL, 0, &text, NULL);
	if (status != SW_STATUS_COMPLETE)
		return status;
	if (options->format == SW_FORMAT_JSON)
		sw_text_append(&text, "]}\n", 3);
	if (text.size == 0)
		sw_text_printf(&text, "no probes are declared in what it has mapped\n");
	int r = text.failed ? sw_fail_nomem(&err) : sw_output_open(&output, options->output, &err);
	if (r < 0)
		return sw_complain_error(subject.name, &err);
	r = sw_output_write(&output, text.data, text.size, &err);
	if (r == 0)
		r = sw_output_commit(&output, &err);
	sw_output_deinit(&output);
	return r < 0 ? sw_complain_error(subject.name, &err) : SW_STATUS_COMPLETE;
}
