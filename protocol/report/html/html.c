/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A dump as one page that needs nothing else: page.html with the dump as JSON in it, and the first lines of its text,
 * so that the verdict is told in one place. Names never become markup: they are in the JSON, where '<' is escaped, and
 * the script only puts them as text.
 */
#include "cleanup.h"
#include "embed.h"
#include "errors.h"
#include "text.h"

#include <snapwalk/protocol.h>
#include <string.h>

SW_EMBED(dump_page_text, "protocol/report/html/page.html");

static const char place[] = "@DUMP@";

/* JSON has these characters only within strings, where the escape means the same. U+2028 and U+2029 end no line of a
 * JSON script element. */
static void put_escaped(struct sw_text *to, const char *json, size_t size)
{
	size_t from = 0;
	for (size_t i = 0; i < size; i++) {
		if (json[i] != '<' && json[i] != '>' && json[i] != '&')
			continue;
		sw_text_append(to, json + from, i - from);
		sw_text_printf(to, "\\u%04x", (unsigned) (unsigned char) json[i]);
		from = i + 1;
	}
	sw_text_append(to, json + from, size - from);
}

/* The text is plain: quotes and backslashes are all that JSON escapes of it. */
static void put_string(struct sw_text *to, const char *s, size_t size)
{
	struct sw_text json = {0};
	sw_text_append(&json, "\"", 1);
	for (size_t i = 0; i < size; i++) {
		if (s[i] == '"' || s[i] == '\\')
			sw_text_append(&json, "\\", 1);
		sw_text_append(&json, (unsigned char) s[i] < ' ' ? " " : s + i, 1);
	}
	sw_text_append(&json, "\"", 1);
	to->failed |= json.failed;
	if (!json.failed)
		put_escaped(to, json.data, json.size);
	sw_text_deinit(&json);
}

/* The lines of a paragraph; returns where the next one begins. */
static const char *put_paragraph(struct sw_text *to, const char *text)
{
	const char *comma = "";
	sw_text_printf(to, "[");
	while (*text != '\0' && *text != '\n') {
		size_t length = strcspn(text, "\n");
		sw_text_printf(to, "%s", comma);
		put_string(to, text, length);
		comma = ",";
		text += length + (text[length] == '\n');
	}
	sw_text_printf(to, "]");
	return text + strspn(text, "\n");
}

/* Which frames of each stack are hidden, by their indices. */
static void put_hidden(struct sw_text *to, const struct sw_report *report)
{
	for (size_t i = 0; i < report->n_stacks; i++) {
		const struct sw_report_stack *s = &report->stacks[i];
		const char *comma = "";
		sw_text_printf(to, i > 0 ? ",[" : "[");
		for (size_t at = 0; at < s->n_frames; at++) {
			if (!sw_frame_is_hidden(&s->frames[at]))
				continue;
			sw_text_printf(to, "%s%zu", comma, at);
			comma = ",";
		}
		sw_text_printf(to, "]");
	}
}

int sw_report_html(const struct sw_report *report, char **ret_text, size_t *ret_size,
		   struct sw_error *err)
{
	const struct sw_text_options how = {.no_hints = true, .kept = true};
	sw_cleanup(sw_free_p) char *json = NULL;
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t json_size = 0, text_size = 0;
	struct sw_text page = {0};
	const char *middle = strstr(dump_page_text, place);
	int r = sw_report_json(report, &json, &json_size, err);
	if (r == 0)
		r = sw_report_text(report, &how, &text, &text_size, err);
	if (r < 0)
		return r;
	sw_text_append(&page, dump_page_text, (size_t) (middle - dump_page_text));
	sw_text_printf(&page, "{\"head\":");
	const char *verdict = put_paragraph(&page, text);
	sw_text_printf(&page, ",\"verdict\":");
	(void) put_paragraph(&page, verdict);
	sw_text_printf(&page, ",\"hidden\":[");
	put_hidden(&page, report);
	sw_text_printf(&page, "],\"dump\":");
	put_escaped(&page, json, json_size);
	sw_text_printf(&page, "}");
	middle += sizeof(place) - 1;
	sw_text_append(&page, middle, strlen(middle));
	if (page.failed) {
		sw_text_deinit(&page);
		return sw_fail_nomem(err);
	}
	*ret_text = page.data;
	*ret_size = page.size;
	return 0;
}
