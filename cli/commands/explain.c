/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The explanation of an address: module, unwinders' entries, symbol. */
#include "commands/commands.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "errors.h"
#include "run/obtain.h"
#include "run/sandbox.h"
#include "daemon/read_dump.h"
#include "text.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The vdso and vsyscall. */
static bool is_kernels(const char *name)
{
	return strncmp(name, "[v", 2) == 0;
}

static bool is_memfd(const char *name)
{
	static const char prefix[] = "/memfd:";
	return strncmp(name, prefix, sizeof(prefix) - 1) == 0;
}

/*
 * Whether an address is in executable memory of no file, as code that runtimes make. A change until
 * the capture does no harm: threads are missing from what is told, or are captured for nothing.
 */
static bool is_made_code(pid_t pid, uint64_t avma)
{
	char path[32], line[8192], access[5];
	(void) snprintf(path, sizeof(path), "/proc/%d/maps", (int) pid);
	sw_cleanup(sw_fclose_p) FILE *maps = fopen(path, "re");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		uint64_t start, end, inode;
		int name = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64 " %n", &start,
			   &end, access, &inode, &name) == 4 &&
		    avma >= start && avma < end)
			return access[2] == 'x' &&
			       (inode == 0 ? !is_kernels(line + name) : is_memfd(line + name));
	}
	return false;
}

/* Only the maps are of interest: hold one thread, copy little. Code of a runtime is explained by who executes it: all
 * threads are captured. A leader that has exited cannot be held; then all are, too. */
static int obtain_maps(struct sw_session *session, const struct sw_subject *subject,
		       const struct sw_options *options, struct sw_pipeline *ret,
		       struct sw_error *err)
{
	struct sw_pipeline_options how = sw_obtain_options(options, options->begin_ns);
	struct sw_pipeline_options narrow = how;
	how.last = narrow.last = SW_PIPELINE_TAKE;
	if (subject->kind == SW_WANT_PID && narrow.snapshot.tids == NULL &&
	    !is_made_code(subject->pid, options->address_avma)) {
		narrow.snapshot.tids = &subject->pid;
		narrow.snapshot.n_tids = 1;
		if (sw_obtain_confined(session, subject, options, &narrow, ret, err) == 0)
			return 0;
	}
	return sw_obtain_confined(session, subject, options, &how, ret, err);
}

static void append_symbol(struct sw_text *text, const struct sw_symbol *s)
{
	sw_text_printf(text, "symbol    %s", s->function != NULL ? s->function : "?");
	if (!s->inlined)
		sw_text_printf(text, "+%" PRIu64, s->function_offset);
	if (s->file != NULL)
		sw_text_printf(text, " at %s:%" PRIu32, s->file, s->line);
	sw_text_printf(text, " (%s)%s\n", sw_symbol_source_name(s->source),
		       s->inlined ? ", inlined into" : "");
}

/* A line of the text is "WHO: WORDS". */
static void put_facts(struct sw_text *json, const char *text)
{
	size_t n = 0;
	sw_text_printf(json, ",\"facts\":[");
	for (const char *line = text; *line != '\0';) {
		size_t length = strcspn(line, "\n"), name = strcspn(line, ":\n");
		const char *words = line + name + strspn(line + name, ": ");
		sw_cleanup(sw_free_p) char *by = strndup(line, name);
		sw_cleanup(sw_free_p) char *said =
			words < line + length ? strndup(words, (size_t) (line + length - words))
					      : strdup("");
		if (by == NULL || said == NULL) {
			json->failed = true;
			return;
		}
		sw_text_printf(json, "%s{\"by\":", n++ > 0 ? "," : "");
		sw_utf8_append_json_string(json, by);
		sw_json_text_member(json, "text", said);
		sw_text_printf(json, "}");
		line += length + (line[length] == '\n');
	}
	sw_text_printf(json, "]");
}

static void put_symbol(struct sw_text *json, const struct sw_symbol *s)
{
	sw_text_printf(json, "{\"source\":");
	sw_utf8_append_json_string(json, sw_symbol_source_name(s->source));
	sw_json_text_member(json, "function", s->function);
	if (!s->inlined)
		sw_text_printf(json, ",\"function_offset\":%" PRIu64, s->function_offset);
	sw_json_text_member(json, "file", s->file);
	if (s->file != NULL)
		sw_text_printf(json, ",\"line\":%" PRIu32, s->line);
	sw_text_printf(json, ",\"inlined\":%s}", s->inlined ? "true" : "false");
}

/* The explanation of an address, in one of two forms. */
struct told {
	bool json;
	struct sw_text text;
};

static void tell_names(struct told *told, const struct sw_symbol *found, size_t n)
{
	struct sw_text *text = &told->text;
	if (told->json)
		sw_text_printf(text, ",\"symbols\":[");
	for (size_t i = 0; i < n; i++) {
		if (!told->json) {
			append_symbol(text, &found[i]);
			continue;
		}
		sw_text_printf(text, i > 0 ? "," : "");
		put_symbol(text, &found[i]);
	}
	if (told->json)
		sw_text_printf(text, "]");
	else if (n == 0)
		sw_text_printf(text, "symbol    none\n");
}

/* The symbolizer names the frames of walks; the address becomes a walk of one frame. */
static int append_names(struct sw_session *session, const struct sw_snapshot *snap,
			const struct sw_options *options, struct told *told, struct sw_error *err)
{
	struct sw_frame frame = {
		.pc_avma = options->address_avma,
		.place = sw_snapshot_place(snap, options->address_avma),
		.flags = SW_FRAME_EXACT_PC,
	};
	struct sw_walk walk = {.frames = &frame, .n_frames = 1, .end = SW_END_COMPLETE};
	struct sw_walks walks = {.snap = snap, .walks = &walk, .n_walks = 1};
	struct sw_symbolize_options symbolize = options->symbolize;
	symbolize.deadline_ns = sw_deadline_ns(options, options->begin_ns);
	sw_cleanup(sw_symbols_destroy_p) struct sw_symbols *symbols = NULL;
	struct sw_symbolizer *symbolizer;
	int r = sw_session_symbolizer(session, &symbolizer, err);
	if (r == 0)
		r = sw_symbolize(symbolizer, &walks, &symbolize, &symbols, err);
	if (r < 0)
		return r;
	const struct sw_symbol *found = NULL;
	size_t n = sw_symbols_find(symbols, &frame, &found);
	tell_names(told, found, n);
	return 0;
}

static int tell(struct sw_session *session, const struct sw_snapshot *snap,
		const struct sw_options *options, const char *text, struct sw_error *err)
{
	struct told told = {.json = options->format == SW_FORMAT_JSON};
	int r = 0;
	if (told.json) {
		sw_text_printf(&told.text,
			       "{\"schema\":\"" SW_EXPLAIN_SCHEMA "\",\"address\":\"0x%" PRIx64
			       "\"",
			       options->address_avma);
		put_facts(&told.text, text);
	} else
		sw_text_append(&told.text, text, strlen(text));
	if (options->symbolize.level != SW_SYMBOLS_NONE)
		r = append_names(session, snap, options, &told, err);
	if (told.json)
		sw_text_printf(&told.text, "}\n");
	if (r == 0 && told.text.failed)
		r = sw_fail_nomem(err);
	if (r == 0)
		sw_print_visible(stdout, told.text.data);
	sw_text_deinit(&told.text);
	return r;
}

static int explain(struct sw_session *session, const struct sw_subject *subject,
		   const struct sw_options *options)
{
	struct sw_error err = {0};
	sw_cleanup(sw_pipeline_deinit) struct sw_pipeline taken = {0};
	if (obtain_maps(session, subject, options, &taken, &err) < 0)
		return sw_complain_error(subject->name, &err);
	sw_cleanup(sw_free_p) char *text = NULL;
	int r = sw_explain(taken.snap, options->address_avma, &text, &err);
	if (r == -SW_E_NOT_FOUND) {
		char about[32]; /* with 0x: digits alone would look like a process */
		(void) snprintf(about, sizeof(about), "0x%" PRIx64, options->address_avma);
		sw_complain_for(about, err.message, sw_error_wire(r), SW_SAID_OF_ADDRESS);
		return SW_STATUS_NOTHING;
	}
	if (r == 0)
		r = tell(session, taken.snap, options, text, &err);
	return r < 0 ? sw_complain_error(subject->name, &err) : SW_STATUS_COMPLETE;
}

/* ---- a lock ------------------------------------------------------------------------------- */

static int explain_lock(const struct sw_options *options, const char *about,
			const struct sw_report *report)
{
	struct sw_text_options how = {.color = sw_delivery_color(options, NULL, STDOUT_FILENO)};
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	int r = options->format == SW_FORMAT_JSON
			? sw_report_lock_json(report, options->address_avma, &text, &size, &err)
			: sw_report_lock(report, options->address_avma, &how, &text, &size, &err);
	if (r == -SW_E_NOT_FOUND) {
		sw_complain_for(about, err.message, sw_error_wire(r), SW_SAID_OF_LOCK);
		return SW_STATUS_NOTHING;
	}
	if (r < 0)
		return sw_complain_error(about, &err);
	if (!sw_print(stdout, text, size)) {
		(void) sw_fail_nomem(&err);
		return sw_complain_error(about, &err);
	}
	return report->complete ? SW_STATUS_COMPLETE : SW_STATUS_MISSING;
}

static int explain_lock_live(struct sw_session *session, const struct sw_subject *subject,
			     const struct sw_options *options)
{
	struct sw_pipeline_options how = sw_obtain_options(options, options->begin_ns);
	sw_cleanup(sw_pipeline_deinit) struct sw_pipeline got = {0};
	struct sw_error err = {0};
	how.snapshot.peers = true;
	if (sw_obtain_confined(session, subject, options, &how, &got, &err) < 0)
		return sw_complain_error(subject->name, &err);
	return explain_lock(options, subject->name, got.report);
}

static int explain_lock_dumped(const struct sw_options *options)
{
	struct sw_read_dump dump;
	struct sw_error err = {0};
	int status = sw_read_dump_open(&dump, options, options->words[0]);
	if (status == SW_STATUS_COMPLETE && sw_sandbox_enter_parsing(options, &err) < 0)
		status = sw_complain_error("snapwalk", &err);
	if (status == SW_STATUS_COMPLETE)
		status = sw_read_dump_only(&dump);
	if (status == SW_STATUS_COMPLETE)
		status = explain_lock(options, dump.word, dump.report);
	sw_read_dump_deinit(&dump);
	return status;
}

int sw_cmd_explain(const struct sw_options *options)
{
	struct sw_subject subject;
	if (options->n_words > 0)
		return explain_lock_dumped(options);
	int status = sw_select_one(options, &subject);
	if (status != SW_STATUS_COMPLETE)
		return status;
	struct sw_session *session;
	struct sw_error err = {0};
	if (sw_session_create(&session, &err) < 0)
		return sw_complain_error("snapwalk", &err);
	status = options->lock ? explain_lock_live(session, &subject, options)
			       : explain(session, &subject, options);
	sw_session_destroy(session);
	return status;
}
