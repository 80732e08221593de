/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/look_up.h"
#include "bytes.h"
#include "cleanup.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "errors.h"
#include "run/apart.h"
#include "run/output.h"
#include "run/sandbox.h"
#include "utf8.h"

#include <snapwalk/symbolize.h>
#include <inttypes.h>
#include <string.h>

static uint64_t causes_of(unsigned causes)
{
	static const struct {
		enum sw_probe_cause cause;
		uint64_t said;
	} known[] = {{SW_PROBE_OF_CODE, SW_SAID_OF_CODE},
		     {SW_PROBE_OF_SYMBOLS, SW_SAID_OF_SYMBOLS},
		     {SW_PROBE_OF_ADDRESS, SW_SAID_OF_ADDRESS},
		     {SW_PROBE_OF_DECLARED, SW_SAID_OF_DECLARED},
		     {SW_PROBE_OF_SEVERAL, SW_SAID_OF_SEVERAL}};
	uint64_t said = 0;
	for (size_t i = 0; i < SW_ARRAY_SIZE(known); i++)
		if (causes & known[i].cause)
			said |= known[i].said;
	return said;
}

/* Which probes files declare, as lines or as objects. */
struct list {
	bool as_json;
	size_t n; /* so far */
	struct sw_text *text;
};

static void list_put(void *arg, const char *module, const struct sw_event_probe *probe)
{
	struct list *l = arg;
	struct sw_text *text = l->text;
	l->n++;
	if (l->as_json) {
		sw_text_printf(text, "%s{\"file_offset\":%" PRIu64 ",\"semaphore\":%s",
			       l->n > 1 ? "," : "", probe->place.file_off,
			       probe->place.semaphore_off != 0 ? "true" : "false");
		sw_json_text_member(text, "module", module);
		sw_json_text_member(text, "provider", probe->provider);
		sw_json_text_member(text, "name", probe->name);
		sw_json_text_member(text, "operands", probe->operands);
		sw_text_append(text, "}", 1);
		return;
	}
	sw_utf8_append_plain(text, module, strlen(module));
	sw_text_append(text, ":", 1);
	sw_utf8_append_plain(text, probe->provider, strlen(probe->provider));
	sw_text_append(text, ":", 1);
	sw_utf8_append_plain(text, probe->name, strlen(probe->name));
	if (probe->operands[0] != '\0') {
		sw_text_append(text, "  ", 2);
		sw_utf8_append_plain(text, probe->operands, strlen(probe->operands));
	}
	sw_text_append(text, "\n", 1);
}

static int look_up(const struct sw_look_up *l, struct sw_text *text, struct sw_probe_why *why,
		   struct sw_error *err)
{
	struct sw_context *ctx = NULL;
	struct sw_symbolizer *symbolizer = NULL;
	struct sw_snapshot *snap = NULL;
	int r = sw_apart_drop_bpf(err);
	if (r == 0)
		r = sw_context_create(&ctx, err);
	if (r == 0)
		r = sw_symbolizer_create(ctx, &symbolizer, err);
	if (r == 0)
		r = sw_snapshot_maps(ctx, l->target, &snap, err);
	if (r == 0)
		r = sw_sandbox_enter(l->options, snap, err);
	if (r < 0)
		return r;
	struct list list = {.as_json = l->options->format == SW_FORMAT_JSON, .text = text};
	if (l->wanted == NULL)
		r = sw_probes_list(snap, l->options->event_module, list_put, &list, why, err);
	if (l->wanted == NULL)
		return r == 0 && text->failed ? sw_fail_nomem(err) : r;
	struct sw_probe_look_up asked = {.snap = snap,
					 .symbolizer = symbolizer,
					 .symbolize = l->options->symbolize,
					 .wanted = l->wanted,
					 .n_wanted = l->n_wanted};
	asked.symbolize.deadline_ns = l->deadline_ns;
	char *lines = NULL;
	size_t size = 0;
	r = sw_probes_look_up(&asked, &lines, &size, why, err);
	if (r == 0)
		sw_text_append(text, lines, size);
	return r == 0 && text->failed ? sw_fail_nomem(err) : r;
}

/* Nothing is freed: the process ends. */
int sw_look_up(void *arg, int fd)
{
	const struct sw_look_up *l = arg;
	struct sw_probe_why why = {0};
	struct sw_error err = {0};
	struct sw_text text = {0};
	if (look_up(l, &text, &why, &err) < 0) {
		const uint64_t causes = causes_of(why.causes);
		if (why.remedy[0] == '\0' && causes == 0)
			return sw_complain_error(l->subject->name, &err);
		const char *wire = sw_error_wire(err.code);
		sw_complain(l->subject->name, err.message, wire,
			    why.remedy[0] != '\0' ? why.remedy : sw_remedy(wire, causes));
		return why.is_bad_name ? SW_STATUS_USAGE : sw_status_of(&err);
	}
	return sw_write_all(fd, text.data, text.size) ? SW_STATUS_COMPLETE : SW_STATUS_NOTHING;
}
