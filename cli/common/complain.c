/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything that is said on standard error. */
#include "common/ascii.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "cleanup.h"
#include "text.h"
#include "utf8.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARNINGS_SHOWN = 10 };

/* Wart: set once, before the command line is parsed. Each place that complains would have to be told, else. */
static bool as_json;
static bool ascii_out, ascii_err; /* likewise: sw_ascii_only() */

int sw_status_worse(int a, int b)
{
	static const int worst_first[] = {SW_STATUS_USAGE, SW_STATUS_DENIED, SW_STATUS_NOTHING,
					  SW_STATUS_MISSING};
	for (size_t i = 0; i < SW_ARRAY_SIZE(worst_first); i++)
		if (a == worst_first[i] || b == worst_first[i])
			return worst_first[i];
	return SW_STATUS_COMPLETE;
}

int sw_status_of(const struct sw_error *err)
{
	return err->code == SW_E_NOT_PERMITTED ? SW_STATUS_DENIED : SW_STATUS_NOTHING;
}

/* A process may be called "\033[2J": nothing of that may reach a terminal. */
static void append_visible(struct sw_text *line, const char *s, bool keep_newlines)
{
	for (size_t left = strlen(s); left > 0;) {
		size_t length = *s == '\n' && keep_newlines ? 1 : sw_utf8_plain_length(s, left);
		if (length == 0)
			sw_text_printf(line, "\\x%02x", (unsigned char) *s);
		sw_text_append(line, s, length);
		length += length == 0;
		s += length;
		left -= length;
	}
}

/* When there is no memory to do it better: of what is not ASCII only '?' remains. */
static void put_visible(FILE *to, const char *s, bool keep_newlines)
{
	for (; *s != '\0'; s++)
		(void) fputc((*s >= 0x20 && *s < 0x7f) || (*s == '\n' && keep_newlines) ? *s : '?',
			     to);
}

bool sw_print(FILE *to, const char *text, size_t size)
{
	sw_cleanup(sw_text_deinit) struct sw_text plain = {0};
	if (to == stderr ? ascii_err : ascii_out) {
		sw_ascii_append(&plain, text, size);
		text = plain.data;
		size = plain.size;
	}
	if (!plain.failed && size > 0)
		(void) fwrite(text, 1, size, to); /* main() checks at the end */
	return !plain.failed;
}

/* False: there is no memory for it. */
static bool print_text(FILE *to, const struct sw_text *text)
{
	return !text->failed && sw_print(to, text->data, text->size);
}

void sw_print_visible(FILE *to, const char *text)
{
	sw_cleanup(sw_text_deinit) struct sw_text visible = {0};
	append_visible(&visible, text, true);
	if (!print_text(to, &visible))
		put_visible(to, text, true);
}

static bool is_pid(const char *about)
{
	return about[0] != '\0' && about[strspn(about, "0123456789")] == '\0';
}

/* Remedies name the process "PID"; when it is known, the reader can copy the command as it is. */
static void append_remedy(struct sw_text *line, const char *about, const char *remedy)
{
	const char *name = is_pid(about) ? strstr(remedy, "PID") : NULL;
	if (name == NULL) {
		append_visible(line, remedy, false);
		return;
	}
	sw_text_append(line, remedy, (size_t) (name - remedy));
	append_visible(line, about, false);
	append_visible(line, name + strlen("PID"), false);
}

/* Messages of the library begin with the file they are about; that is said already. */
static const char *without_about(const char *message, const char *about)
{
	size_t length = strlen(about);
	bool repeats = length > 0 && strncmp(message, about, length) == 0 &&
		       strncmp(message + length, ": ", 2) == 0;
	return repeats ? message + length + 2 : message;
}

/* A complaint about the command itself has its name once. */
static bool is_ourselves(const char *about)
{
	return strcmp(about, "snapwalk") == 0;
}

/* The same line without memory for it. */
static void complain_plainly(const char *about, const char *message, const char *code,
			     const char *remedy)
{
	bool named = !is_ourselves(about);
	const char *const words[] = {"snapwalk: ",
				     named ? about : "",
				     named ? ": " : "",
				     message,
				     " (",
				     code,
				     ")",
				     remedy[0] != '\0' ? ": " : "",
				     remedy};
	for (size_t i = 0; i < SW_ARRAY_SIZE(words); i++)
		put_visible(stderr, words[i], false);
	(void) fputc('\n', stderr);
}

/* Complain as JSON, likewise without memory. */
static void complain_plainly_as_json(const char *about, const char *message, const char *code,
				     const char *remedy)
{
	const char *const members[][2] = {{"{\"about\":\"", about},
					  {"\",\"code\":\"", code},
					  {"\",\"message\":\"", message},
					  {"\",\"remedy\":\"", remedy}};
	size_t n = SW_ARRAY_SIZE(members) - (remedy[0] == '\0');
	for (size_t i = 0; i < n; i++) {
		(void) fputs(members[i][0], stderr);
		for (const char *s = members[i][1]; *s != '\0'; s++)
			(void) fputc(*s < 0x20 || *s >= 0x7f || *s == '"' || *s == '\\' ? '?' : *s,
				     stderr);
	}
	(void) fputs("\"}\n", stderr);
}

static void line_as_json(struct sw_text *line, const char *about, const char *message,
			 const char *code, const char *remedy)
{
	sw_cleanup(sw_text_deinit) struct sw_text advice = {0};
	append_remedy(&advice, about, remedy);
	sw_text_printf(line, "{\"about\":");
	sw_utf8_append_json_string(line, about);
	sw_json_text_member(line, "code", code);
	sw_json_text_member(line, "message", message);
	sw_json_text_member(line, "remedy", advice.size > 0 ? advice.data : NULL);
	sw_text_append(line, "}\n", 2);
	line->failed |= advice.failed;
}

static void line_as_text(struct sw_text *line, const char *about, const char *message,
			 const char *code, const char *remedy)
{
	sw_text_printf(line, "snapwalk: ");
	if (!is_ourselves(about)) {
		append_visible(line, about, false);
		sw_text_printf(line, ": ");
	}
	append_visible(line, message, false);
	sw_text_printf(line, " (%s)", code);
	if (remedy[0] != '\0')
		sw_text_printf(line, ": ");
	append_remedy(line, about, remedy);
	sw_text_append(line, "\n", 1);
}

void sw_complain_line(struct sw_text *ret, const char *about, const char *message, const char *code,
		      const char *remedy)
{
	const char *said = without_about(message, about);
	if (as_json)
		line_as_json(ret, about, said, code, remedy);
	else
		line_as_text(ret, about, said, code, remedy);
}

/* False: there is no memory for it. */
static bool complain_as_json(const char *about, const char *message, const char *code,
			     const char *remedy)
{
	sw_cleanup(sw_text_deinit) struct sw_text line = {0};
	line_as_json(&line, about, message, code, remedy);
	return print_text(stderr, &line);
}

void sw_complain_begin(int argc, char *const argv[])
{
	static const char long_name[] = "--format";
	as_json = false;
	ascii_out = sw_ascii_only(STDOUT_FILENO);
	ascii_err = sw_ascii_only(STDERR_FILENO);
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : "";
		bool names_next = strcmp(word, long_name) == 0 || strcmp(word, "-f") == 0;
		as_json |= strcmp(word, "--json") == 0 || strcmp(word, "--format=json") == 0 ||
			   strcmp(word, "-fjson") == 0 || (names_next && strcmp(next, "json") == 0);
	}
}

bool sw_complains_as_json(void)
{
	return as_json;
}

void sw_complain(const char *about, const char *message, const char *code, const char *remedy)
{
	sw_cleanup(sw_text_deinit) struct sw_text line = {0};
	sw_complain_line(&line, about, message, code, remedy);
	if (print_text(stderr, &line))
		return;
	if (as_json)
		complain_plainly_as_json(about, without_about(message, about), code, remedy);
	else
		complain_plainly(about, without_about(message, about), code, remedy);
}

void sw_complain_for(const char *about, const char *message, const char *code, uint64_t causes)
{
	sw_complain(about, message, code, sw_remedy(code, causes));
}

void sw_say(const char *about, const char *code, const char *format, ...)
{
	sw_cleanup(sw_free_p) char *message = NULL;
	va_list values;
	va_start(values, format);
	if (vasprintf(&message, format, values) < 0)
		message = NULL; /* vasprintf leaves it undefined */
	va_end(values);
	const char *said = message != NULL ? message : "there is no memory to say it";
	if (!as_json) {
		sw_print_visible(stderr, said);
		(void) fputc('\n', stderr);
	} else if (!complain_as_json(about, said, code, ""))
		complain_plainly_as_json(about, said, code, "");
}

/* A complaint is about a file when it names neither a process id nor this command itself. */
static bool is_file(const char *about)
{
	return !is_pid(about) && strcmp(about, "snapwalk") != 0;
}

static uint64_t cause_of_errno(int number)
{
	switch (number) {
	case ENOENT:
	case ENOTDIR: return SW_SAID_OF_ABSENT;
	case EACCES:
	case EPERM: return SW_SAID_OF_CLOSED;
	case ENOSPC:
	case EDQUOT: return SW_SAID_OF_FULL;
	case EEXIST: return SW_SAID_OF_THERE;
	case EISDIR: return SW_SAID_OF_DIRECTORY;
	default: return 0;
	}
}

/* As sw_apart_finish_within() says it, and capture/touch.c of the process that reads the data of runtimes. */
static uint64_t cause_of_filter(const char *message)
{
	char by_filter[32];
	(void) snprintf(by_filter, sizeof(by_filter), "killed by signal %d ", SIGSYS); /* fits */
	if (strstr(message, "sandbox, which does not permit system call ") != NULL)
		return SW_SAID_OF_TRAP;
	return strstr(message, by_filter) != NULL ? SW_SAID_OF_FILTER : 0;
}

/* The system's reason says more of a file than the code does. */
static const char *remedy_of(const char *about, const struct sw_error *err)
{
	bool file = is_file(about);
	uint64_t causes = (file ? SW_SAID_OF_FILE : 0) | (geteuid() == 0 ? SW_SAID_TO_ROOT : 0);
	causes |= cause_of_filter(err->message);
	if (err->code == SW_E_IO && file)
		causes |= cause_of_errno(err->sys_errno);
	return sw_remedy(sw_error_wire(err->code), causes);
}

int sw_complain_error(const char *about, const struct sw_error *err)
{
	sw_complain(about, err->message, sw_error_wire(err->code), remedy_of(about, err));
	return sw_status_of(err);
}

/* As capture/space.c says it of each stack that the limit has cut; else it was memory that could not be read. */
static bool limit_was_reached(const struct sw_report *report)
{
	for (size_t i = 0; i < report->n_warnings; i++)
		if (strstr(report->warnings[i].message, " bytes of the stack were copied") != NULL)
			return true;
	return false;
}

/* As runtimes say it of a stack that has more of their frames than they follow, and of what is published for OpenTelemetry. */
static uint64_t cause_of(const struct sw_report_warning *w)
{
	return cause_of_filter(w->message) |
	       (strstr(w->message, " that are followed") != NULL ? SW_SAID_OF_FOLLOWED : 0) |
	       (strstr(w->message, "the resource that it publishes") != NULL ? SW_SAID_OF_RESOURCE
									     : 0);
}

void sw_complain_warnings(const char *about, const struct sw_report *report, uint64_t causes,
			  bool all)
{
	causes |= limit_was_reached(report) ? 0 : SW_SAID_OF_UNREAD;
	size_t shown = report->n_warnings;
	if (!all && shown > WARNINGS_SHOWN)
		shown = WARNINGS_SHOWN;
	for (size_t i = 0; i < shown; i++) {
		const struct sw_report_warning *w = &report->warnings[i];
		/* the message names the thread */
		sw_complain_for(about, w->message, w->code, causes | cause_of(w));
	}
	if (report->n_warnings > shown) {
		char message[64];
		(void) snprintf(message, sizeof(message), "and %zu more warnings",
				report->n_warnings - shown);
		sw_complain_for(about, message, "warnings", 0);
	}
}

bool sw_complain_of_reader(const char *about, const struct sw_report *report)
{
	for (size_t i = 0; i < report->n_warnings; i++) {
		const struct sw_report_warning *w = &report->warnings[i];
		const uint64_t cause = cause_of_filter(w->message);
		if (cause == 0)
			continue;
		sw_complain_for(about, w->message, w->code, cause);
		return true;
	}
	return false;
}
