/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/put.h"
#include "report/frame_kind.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sw_put(struct sw_text_writer *w, const char *fmt, ...)
{
	char buffer[512];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(buffer, sizeof(buffer), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t) n >= sizeof(buffer))
		w->text.failed = true; /* no format of ours is that long */
	else
		sw_text_append(&w->text, buffer, (size_t) n);
}

/* ECMA-48, 8.3.117 SGR; no colour of the background, which may be light or dark. */
void sw_style_begin(struct sw_text_writer *w, enum sw_style style)
{
	static const char *const sequences[] = {
		[SW_STYLE_BOLD] = "\033[1m",
		[SW_STYLE_DIM] = "\033[2m",
		[SW_STYLE_GUESS] = "\033[33m",
		[SW_STYLE_ALARM] = "\033[1;31m",
	};
	if (w->options->color)
		sw_text_append(&w->text, sequences[style], strlen(sequences[style]));
}

void sw_style_end(struct sw_text_writer *w)
{
	if (w->options->color)
		sw_text_append(&w->text, "\033[0m", 4);
}

void sw_put_styled(struct sw_text_writer *w, enum sw_style style, const char *fmt, ...)
{
	char buffer[512];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(buffer, sizeof(buffer), fmt, ap);
	va_end(ap);
	sw_style_begin(w, style);
	if (n < 0 || (size_t) n >= sizeof(buffer))
		w->text.failed = true; /* no format of ours is that long */
	else
		sw_text_append(&w->text, buffer, (size_t) n);
	sw_style_end(w);
}

void sw_put_number(struct sw_text_writer *w, size_t n)
{
	if (n >= 1000000)
		sw_put(w, "%zu,%03zu,%03zu", n / 1000000, n / 1000 % 1000, n % 1000);
	else if (n >= 1000)
		sw_put(w, "%zu,%03zu", n / 1000, n % 1000);
	else
		sw_put(w, "%zu", n);
}

void sw_put_foreign(struct sw_text_writer *w, const char *s)
{
	if (s != NULL)
		sw_utf8_append_plain(&w->text, s, strlen(s));
}

void sw_put_source(struct sw_text_writer *w, const struct sw_report_frame *f)
{
	if (f->file == NULL)
		return;
	sw_put(w, " ");
	sw_put_foreign(w, sw_base_name(f->file));
	if (f->line > 0)
		sw_put(w, ":%u", f->line);
}

void sw_put_seconds(struct sw_text_writer *w, int64_t ms)
{
	sw_put(w, "%" PRId64 ".%03d s", ms / 1000, (int) (ms % 1000));
}

void sw_put_gap(struct sw_text_writer *w, size_t columns, size_t wanted)
{
	sw_put(w, "%*s", (int) (columns + 2 <= wanted ? wanted - columns : 2), "");
}
