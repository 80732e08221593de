/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/deliver.h"
#include "cleanup.h"
#include "common/ascii.h"
#include "common/complain.h"
#include "run/sandbox.h"
#include "errors.h"
#include "map.h"
#include "text.h"
#include "utf8.h"

#include <string.h>
#include <sys/ioctl.h>

bool sw_delivery_color(const struct sw_options *o, const char *path, int fd)
{
	if (o->color != SW_COLOR_AUTO)
		return o->color == SW_COLOR_ALWAYS;
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR"); /* no-color.org: present and not empty */
	return path == NULL && isatty(fd) && term != NULL && strcmp(term, "dumb") != 0 &&
	       (no_color == NULL || no_color[0] == '\0');
}

/* The columns of the terminal; 0: files and pipes have no width. */
static size_t terminal_columns(const char *path)
{
	enum { WIDER = 2 }; /* "..." than the one character of a line that is cut */
	struct winsize size;
	if (path != NULL || !isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col > WIDER && sw_ascii_only(STDOUT_FILENO) ? size.ws_col - WIDER
								   : size.ws_col;
}

int sw_delivery_begin(struct sw_delivery *ret, const struct sw_options *options,
		      enum sw_format format, const char *path, struct sw_error *err)
{
	*ret = (struct sw_delivery){.options = options,
				    .format = format,
				    .color = sw_delivery_color(options, path, STDOUT_FILENO),
				    .columns = terminal_columns(path)};
	return sw_output_open(&ret->output, path, err);
}

int sw_delivery_begin_parsing(struct sw_delivery *ret, const struct sw_options *options)
{
	struct sw_error err = {0};
	int r = sw_delivery_begin(ret, options, options->format, options->output, &err);
	if (r == 0)
		r = sw_sandbox_entrust(options, &ret->output, &err);
	return r < 0 ? sw_complain_error(sw_delivery_name(ret), &err) : SW_STATUS_COMPLETE;
}

const char *sw_delivery_name(const struct sw_delivery *d)
{
	return d->output.path != NULL ? d->output.path : "standard output";
}

static bool is_filtered(const struct sw_options *o)
{
	return o->filter.states != NULL || o->filter.function != NULL || o->filter.name != NULL;
}

/* Several processes are shown, and those that are alike need not be. */
static bool is_brief(const struct sw_delivery *d)
{
	const struct sw_options *o = d->options;
	return d->format == SW_FORMAT_TEXT && !o->all && !o->verbose && !o->no_group &&
	       !is_filtered(o);
}

struct sw_delivery_seen sw_delivery_seen(const struct sw_delivery *d,
					 const struct sw_report *report)
{
	struct sw_delivery_seen seen = {.pid = report->process.pid};
	const char *call = NULL;
	if (!is_brief(d))
		return seen;
	seen.idle_id = sw_report_idle_id(report, &call);
	(void) snprintf(seen.comm, sizeof(seen.comm), "%s", report->process.comm);
	(void) snprintf(seen.call, sizeof(seen.call), "%s", call != NULL ? call : "");
	for (size_t i = 0; i < report->n_hints; i++)
		seen.hints_id = sw_mix_text(seen.hints_id, report->hints[i].message);
	return seen;
}

static bool are_new_hints(const struct sw_delivery *d, uint64_t id)
{
	for (size_t i = 0; i < d->n_hints; i++)
		if (d->hints[i] == id)
			return false;
	return true;
}

bool sw_delivery_note(struct sw_delivery *d, const struct sw_delivery_seen *seen)
{
	if (seen->hints_id != 0 && d->n_hints < SW_DELIVERY_ALIKE_MAX &&
	    are_new_hints(d, seen->hints_id))
		d->hints[d->n_hints++] = seen->hints_id;
	if (seen->idle_id == 0)
		return true;
	for (size_t i = 0; i < d->n_alike; i++) {
		struct sw_delivery_alike *a = &d->alike[i];
		if (a->id != seen->idle_id)
			continue;
		if (a->pid == seen->pid) /* another dump of it */
			return true;
		if (a->more < SW_DELIVERY_PIDS)
			a->pids[a->more] = seen->pid;
		a->more++;
		return false;
	}
	if (d->n_alike < SW_DELIVERY_ALIKE_MAX) {
		struct sw_delivery_alike *a = &d->alike[d->n_alike++];
		*a = (struct sw_delivery_alike){.id = seen->idle_id, .pid = seen->pid};
		memcpy(a->comm, seen->comm, sizeof(a->comm));
		memcpy(a->call, seen->call, sizeof(a->call));
	}
	return true;
}

/* The dump may be old: nothing is known of what its process does now. */
static bool is_kept(const struct sw_options *o)
{
	return (o->command->bit & (SW_FOR_SHOW | SW_FOR_SYMBOLIZE)) != 0 ||
	       (o->n_wants > 0 &&
		(o->wants[0].kind == SW_WANT_CORE || o->wants[0].kind == SW_WANT_FIXTURE));
}

static int render(const struct sw_delivery *d, const struct sw_report *report, char **ret,
		  size_t *size, struct sw_error *err)
{
	const struct sw_options *o = d->options;
	if (d->format == SW_FORMAT_JSON)
		return sw_report_json(report, ret, size, err);
	if (d->format == SW_FORMAT_HTML)
		return sw_report_html(report, ret, size, err);
	if (d->format == SW_FORMAT_FOLDED)
		return o->no_group ? sw_report_folded_threads(report, ret, size, err)
				   : sw_report_folded(report, ret, size, err);
	struct sw_text_options text = {.color = d->color,
				       .no_group = o->no_group,
				       .verbose = o->verbose,
				       .all = o->all || is_filtered(o),
				       .columns = d->columns,
				       .time = o->time,
				       .no_hints = d->hints_given,
				       .kept = is_kept(o)};
	return sw_report_text(report, &text, ret, size, err);
}

static size_t n_of(const struct sw_report *selected)
{
	return selected->n_threads + selected->n_stacks; /* those of goroutines have no thread */
}

size_t sw_delivery_matches(const struct sw_delivery *d, const struct sw_report *report)
{
	struct sw_report *selected;
	if (!is_filtered(d->options) ||
	    sw_report_select(report, &d->options->filter, &selected, NULL) < 0)
		return 0;
	size_t n = n_of(selected);
	sw_report_destroy(selected);
	return n;
}

static int render_selected(struct sw_delivery *d, const struct sw_report *report, char **ret,
			   size_t *size, struct sw_error *err)
{
	struct sw_report *selected;
	if (!is_filtered(d->options))
		return render(d, report, ret, size, err);
	int r = sw_report_select(report, &d->options->filter, &selected, err);
	if (r < 0)
		return r;
	d->n_matched += n_of(selected);
	r = render(d, selected, ret, size, err);
	sw_report_destroy(selected);
	return r;
}

/* JSON: one dump on each line. Text: an empty line between dumps. */
static int put(struct sw_delivery *d, const char *text, size_t size, struct sw_error *err)
{
	int r = 0;
	if (d->n_written > 0 && d->format == SW_FORMAT_TEXT)
		r = sw_output_write(&d->output, "\n", 1, err);
	if (r == 0)
		r = sw_output_write(&d->output, text, size, err);
	if (r == 0 && size > 0 && text[size - 1] != '\n')
		r = sw_output_write(&d->output, "\n", 1, err);
	d->n_written += r == 0;
	d->broken = r < 0 || d->output.reader_gone;
	return r;
}

/* Dumps that are shown or compared were made before, as core files were. */
static uint64_t causes_of(const struct sw_options *o)
{
	bool live = o->n_wants > 0 && o->wants[0].kind != SW_WANT_CORE &&
		    o->wants[0].kind != SW_WANT_FIXTURE;
	return (live ? 0 : SW_SAID_OF_FILE) | (geteuid() == 0 ? SW_SAID_TO_ROOT : 0) |
	       (o->snapshot.stack_bytes == SW_STACK_BYTES_MOST ? SW_SAID_AT_MOST : 0) |
	       (o->walk.max_frames == SW_MAX_FRAMES ? SW_SAID_AT_DEEPEST : 0) |
	       (o->walk.mode == SW_WALK_SCAN ? SW_SAID_OF_SCAN : 0);
}

/* Text on a terminal has it all: saying it twice helps nobody. */
static void say_what_is_missing(const struct sw_delivery *d, const char *about,
				const struct sw_report *report)
{
	bool seen = d->format == SW_FORMAT_TEXT && d->output.path == NULL && isatty(STDOUT_FILENO);
	if (!seen && (!report->complete || d->options->verbose))
		sw_complain_warnings(about, report, causes_of(d->options), d->options->verbose);
}

int sw_delivery_put(struct sw_delivery *d, const char *about, const struct sw_report *report,
		    const char *json, size_t json_size)
{
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	int r;
	(void) snprintf(d->about, sizeof(d->about), "%s", about); /* cut is fine */
	if (d->format == SW_FORMAT_HTML && d->n_written > 0) {
		sw_complain_for(about, "a page is of one dump, and there is one already", "usage",
				SW_SAID_OF_SEVERAL | SW_SAID_OF_FORMAT);
		return SW_STATUS_USAGE;
	}
	bool as_it_is = report == NULL || (d->format == SW_FORMAT_JSON && !is_filtered(d->options));
	if (report != NULL && is_brief(d)) {
		struct sw_delivery_seen seen = sw_delivery_seen(d, report);
		d->hints_given = !are_new_hints(d, seen.hints_id);
		if (!sw_delivery_note(d, &seen))
			return SW_STATUS_COMPLETE;
	}
	if (json != NULL && as_it_is)
		r = put(d, json, json_size, &err);
	else {
		r = render_selected(d, report, &text, &size, &err);
		if (r < 0)
			return sw_complain_error(about, &err);
		r = put(d, text, size, &err);
	}
	if (r < 0)
		return sw_complain_error(sw_delivery_name(d), &err);
	if (report == NULL)
		return SW_STATUS_COMPLETE;
	say_what_is_missing(d, about, report);
	return report->complete ? SW_STATUS_COMPLETE : SW_STATUS_MISSING;
}

/* A profile in a format that is no lines of text is the only one in its file. */
static bool check_profile(const struct sw_delivery *d, const char *about)
{
	const char *message = NULL;
	uint64_t causes = 0;
	enum sw_profile_format format = d->options->profile_format;
	if (is_filtered(d->options)) {
		message = "it is a profile: --state, --function and --thread are for dumps";
		causes = SW_SAID_OF_SELECTION;
	} else if (format > SW_PROFILE_JSON && d->n_written > 0) {
		message = "only one profile fits into this format";
		causes = SW_SAID_OF_PROFILE | SW_SAID_OF_SEVERAL;
	} else if ((format == SW_PROFILE_PPROF || format == SW_PROFILE_OTLP) &&
		   d->output.path == NULL && isatty(STDOUT_FILENO)) {
		message = "a terminal cannot show this format";
		causes = SW_SAID_OF_TERMINAL;
	}
	if (message != NULL)
		sw_complain_for(about, message, "usage", causes);
	return message == NULL;
}

static int write_profile(struct sw_delivery *d, const struct sw_profile *profile, const char *json,
			 size_t json_size, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *data = NULL;
	size_t size = 0;
	enum sw_profile_format format = d->options->profile_format;
	const struct sw_profile_write_options how = {.color = d->color,
						     .all = d->options->all,
						     .columns = d->columns};
	if (format == SW_PROFILE_JSON && json != NULL)
		return put(d, json, json_size, err);
	int r = sw_profile_write(profile, format, &how, &data, &size, err);
	if (r < 0 || format <= SW_PROFILE_JSON)
		return r < 0 ? r : put(d, data, size, err);
	r = sw_output_write(&d->output, data, size, err);
	d->n_written += r == 0;
	d->broken = r < 0 || d->output.reader_gone;
	return r;
}

int sw_delivery_put_profile(struct sw_delivery *d, const char *about,
			    const struct sw_profile *profile, const char *json, size_t json_size)
{
	struct sw_error err = {0};
	if (!check_profile(d, about))
		return SW_STATUS_USAGE;
	if (write_profile(d, profile, json, json_size, &err) < 0)
		return sw_complain_error(sw_delivery_name(d), &err);
	return sw_profile_is_complete(profile) ? SW_STATUS_COMPLETE : SW_STATUS_MISSING;
}

/* "no thread matches --state D, --thread 'worker-*'" */
static void say_nothing_matches(const struct sw_delivery *d)
{
	const struct sw_thread_filter *f = &d->options->filter;
	struct sw_text text = {0};
	sw_text_printf(&text, "no thread matches");
	if (f->states != NULL)
		sw_text_printf(&text, " --state %s", f->states);
	if (f->function != NULL)
		sw_text_printf(&text, " --function '%s'", f->function);
	if (f->name != NULL)
		sw_text_printf(&text, " --thread '%s'", f->name);
	sw_complain_for(d->n_written == 1 ? d->about : "all targets",
			text.failed ? "no thread matches" : text.data, "not_found",
			SW_SAID_OF_SELECTION);
	sw_text_deinit(&text);
}

/* "12 more processes of nginx are the same: sleeping in epoll_wait (1190 1191 …; --all shows them)"
 */
static int put_alike(struct sw_delivery *d, struct sw_error *err)
{
	struct sw_text text = {0};
	for (size_t i = 0; i < d->n_alike; i++) {
		const struct sw_delivery_alike *a = &d->alike[i];
		if (a->more == 0)
			continue;
		sw_text_printf(&text, "%s%zu more process%s of ", text.size == 0 ? "\n" : "",
			       a->more, a->more == 1 ? "" : "es");
		sw_utf8_append_plain(&text, a->comm, strlen(a->comm));
		sw_text_printf(&text, " %s the same: ", a->more == 1 ? "is" : "are");
		sw_text_printf(&text, a->call[0] != '\0' ? "sleeping in " : "sleeping");
		sw_utf8_append_plain(&text, a->call, strlen(a->call));
		sw_text_printf(&text, " (");
		for (size_t k = 0; k < a->more && k < SW_DELIVERY_PIDS; k++)
			sw_text_printf(&text, "%s%d", k > 0 ? " " : "", (int) a->pids[k]);
		sw_text_printf(&text, "%s; --all shows %s)\n",
			       a->more > SW_DELIVERY_PIDS ? " …" : "",
			       a->more == 1 ? "it" : "them");
	}
	int r = text.failed     ? sw_fail_nomem(err)
		: text.size > 0 ? sw_output_write(&d->output, text.data, text.size, err)
				: 0;
	sw_text_deinit(&text);
	return r;
}

int sw_delivery_end(struct sw_delivery *d, int status)
{
	struct sw_error err = {0};
	if (!d->broken && d->n_written > 0 && put_alike(d, &err) < 0)
		status = sw_status_worse(status, sw_complain_error(sw_delivery_name(d), &err));
	if (is_filtered(d->options) && d->n_written > 0 && d->n_matched == 0 && !d->broken) {
		say_nothing_matches(d);
		status = sw_status_worse(status, SW_STATUS_NOTHING);
	}
	bool failed = d->broken && !d->output.reader_gone;
	if (!failed && d->n_written > 0 && sw_output_commit(&d->output, &err) < 0)
		status = sw_status_worse(status, sw_complain_error(sw_delivery_name(d), &err));
	sw_output_deinit(&d->output);
	return status;
}
