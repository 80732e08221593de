/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/profile_output.h"
#include "cleanup.h"
#include "common/complain.h"
#include "run/deliver.h"
#include "errors.h"
#include "run/sandbox.h"
#include "text.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { OLD_BYTES_MAX = 1 << 30 };

static bool on_terminal(const struct sw_profile_output *out)
{
	return out->output.path == NULL && isatty(STDOUT_FILENO);
}

static int read_old(const char *path, struct sw_text *text, struct sw_error *err)
{
	int r = sw_text_read_at(text, AT_FDCWD, path, OLD_BYTES_MAX);
	if (r == -SW_E_IO)
		return sw_fail_errno(err, SW_E_IO, "it cannot be read");
	return r < 0 ? sw_fail(err, -r, "it cannot be read") : 0;
}

int sw_profile_output_open(struct sw_profile_output *ret, const struct sw_options *options)
{
	struct sw_error err = {0};
	*ret = (struct sw_profile_output){.options = options, .output = {.fd = -EBADF}};
	if (options->diff != NULL && read_old(options->diff, &ret->old_text, &err) < 0)
		return sw_complain_error(options->diff, &err);
	if (sw_output_open(&ret->output, options->output, &err) < 0)
		return sw_complain_error(options->output, &err);
	/* The output of a program that was started is not mixed with a profile. */
	if (options->program != NULL && options->output == NULL)
		ret->output.fd = STDERR_FILENO;
	if (sw_sandbox_entrust(options, &ret->output, &err) < 0)
		return sw_complain_error(options->output, &err);
	/* People see text; what reads a pipe or a file are programs. */
	ret->format = options->format_given ? options->profile_format
		      : on_terminal(ret) || options->diff != NULL || ret->output.fd == STDERR_FILENO
			      ? SW_PROFILE_TEXT
			      : SW_PROFILE_FOLDED;
	if (on_terminal(ret) &&
	    (ret->format == SW_PROFILE_PPROF || ret->format == SW_PROFILE_OTLP)) {
		sw_complain_for("--format", "a terminal cannot show it", "usage",
				SW_SAID_OF_TERMINAL);
		return SW_STATUS_USAGE;
	}
	return SW_STATUS_COMPLETE;
}

int sw_profile_output_parse(struct sw_profile_output *out)
{
	const struct sw_text *text = &out->old_text;
	struct sw_error err = {0};
	if (out->options->diff != NULL &&
	    sw_profile_parse(text->size > 0 ? text->data : "", text->size, &out->old, &err) < 0)
		return sw_complain_error(out->options->diff, &err);
	sw_text_deinit(&out->old_text);
	return SW_STATUS_COMPLETE;
}

void sw_profile_output_deinit(struct sw_profile_output *out)
{
	sw_text_deinit(&out->old_text);
	sw_output_deinit(&out->output);
	sw_profile_destroy(out->old);
}

int sw_profile_output_write(struct sw_profile_output *out, const struct sw_profile *profile)
{
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *data = NULL;
	size_t size = 0;
	struct sw_profile_write_options how = {
		.old = out->old,
		.color = sw_delivery_color(out->options, out->output.path, out->output.fd),
		.all = out->options->all,
	};
	int r = sw_profile_write(profile, out->format, &how, &data, &size, &err);
	if (r == 0 && size > 0)
		r = sw_output_write(&out->output, data, size, &err);
	if (r == 0)
		r = sw_output_commit(&out->output, &err);
	const char *name = out->output.path != NULL ? out->output.path : "standard output";
	return r < 0 ? sw_complain_error(name, &err) : SW_STATUS_COMPLETE;
}
