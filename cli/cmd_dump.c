/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All threads of one or several targets, once. */
#include "commands.h"
#include "complain.h"
#include "obtain.h"
#include "output.h"

#include <string.h>

/* One run of the command over all its targets. */
struct dumper {
	const struct sw_options *options;
	struct sw_session session;
	struct sw_output output;
	size_t n_written;
	bool broken; /* the output failed: no use to go on */
	bool color;
};

static bool use_color(const struct sw_options *o)
{
	if (o->color != SW_COLOR_AUTO)
		return o->color == SW_COLOR_ALWAYS;
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR"); /* no-color.org: present and not empty */
	return o->output == NULL && isatty(STDOUT_FILENO) && term != NULL &&
	       strcmp(term, "dumb") != 0 && (no_color == NULL || no_color[0] == '\0');
}

static int render(const struct dumper *d, const struct sw_report *report, char **ret, size_t *size,
		  struct sw_error *err)
{
	const struct sw_options *o = d->options;
	if (o->format == SW_FORMAT_JSON)
		return sw_report_json(report, ret, size, err);
	if (o->format == SW_FORMAT_FOLDED)
		return sw_report_folded(report, ret, size, err);
	struct sw_text_options text = {.color = d->color,
				       .no_group = o->no_group,
				       .verbose = o->verbose};
	return sw_report_text(report, &text, ret, size, err);
}

/* JSON: one dump on each line. Text: an empty line between dumps. */
static int put(struct dumper *d, const char *text, size_t size, struct sw_error *err)
{
	int r = 0;
	if (d->n_written > 0 && d->options->format == SW_FORMAT_TEXT)
		r = sw_output_write(&d->output, "\n", 1, err);
	if (r == 0)
		r = sw_output_write(&d->output, text, size, err);
	if (r == 0 && size > 0 && text[size - 1] != '\n')
		r = sw_output_write(&d->output, "\n", 1, err);
	d->n_written += r == 0;
	d->broken = r < 0 || d->output.reader_gone;
	return r;
}

static const char *output_name(const struct sw_options *o)
{
	return o->output != NULL && strcmp(o->output, "-") != 0 ? o->output : "standard output";
}

/* Text on a terminal has it all: saying it twice helps nobody. */
static void say_what_is_missing(const struct sw_options *o, const struct sw_subject *subject,
				const struct sw_report *report)
{
	bool seen = o->format == SW_FORMAT_TEXT && o->output == NULL && isatty(STDOUT_FILENO);
	if (!seen && (!report->complete || o->verbose))
		sw_complain_warnings(subject->name, report, o->verbose);
}

static int dump_one(struct dumper *d, const struct sw_subject *subject, int64_t begin_ns)
{
	struct sw_error err = {0};
	struct sw_obtained got;
	int r = sw_obtain_report(&d->session, subject, d->options, begin_ns, d->n_written + 1, &got,
				 &err);
	if (r < 0)
		return sw_complain_error(subject->name, &err);
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	int status = got.report->complete ? SW_STATUS_COMPLETE : SW_STATUS_MISSING;
	const char *about = subject->name;
	r = render(d, got.report, &text, &size, &err);
	if (r == 0) {
		about = output_name(d->options);
		r = put(d, text, size, &err);
	}
	if (r < 0)
		status = sw_complain_error(about, &err);
	else
		say_what_is_missing(d->options, subject, got.report);
	sw_obtained_deinit(&got);
	return status;
}

static void show_progress(size_t done, size_t all)
{
	fprintf(stderr, "\r%zu of %zu targets%s", done, all, done == all ? "\r\033[K" : "");
}

static int dump_all(struct dumper *d, const struct sw_selection *selection)
{
	enum { PROGRESS_FROM = 16 }; /* fewer are done before anybody could read it */
	bool progress = selection->n_subjects >= PROGRESS_FROM && isatty(STDERR_FILENO) &&
			!isatty(STDOUT_FILENO);
	int status = SW_STATUS_COMPLETE;
	for (size_t i = 0; i < selection->n_subjects && !d->broken; i++) {
		int64_t begin_ns = i == 0 ? d->options->begin_ns : sw_now_ns();
		status = sw_status_worse(status, dump_one(d, &selection->subjects[i], begin_ns));
		if (progress)
			show_progress(i + 1, selection->n_subjects);
	}
	return status;
}

/* The file appears only if there is something in it. */
static int finish(struct dumper *d, int status)
{
	struct sw_error err = {0};
	bool failed = d->broken && !d->output.reader_gone;
	if (!failed && d->n_written > 0 && sw_output_commit(&d->output, &err) < 0)
		status = sw_status_worse(status, sw_complain_error(output_name(d->options), &err));
	sw_output_deinit(&d->output);
	return status;
}

int sw_cmd_dump(const struct sw_options *options)
{
	struct dumper d = {.options = options, .color = use_color(options)};
	struct sw_selection selection;
	struct sw_error err = {0};
	const char *about = "";
	int status;
	if (sw_select(options, &selection, &about, &err) < 0)
		status = sw_complain_error(about, &err);
	else if (sw_output_open(&d.output, options->output, &err) < 0)
		status = sw_complain_error(output_name(options), &err);
	else if (sw_session_init(&d.session, options, &err) < 0) {
		status = sw_complain_error("snapwalk", &err);
		sw_output_deinit(&d.output);
	} else {
		status = finish(&d, dump_all(&d, &selection));
		sw_session_deinit(&d.session);
	}
	sw_selection_deinit(&selection);
	return status;
}
