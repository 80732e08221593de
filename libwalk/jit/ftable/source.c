/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables that JIT compilers register by <snapwalk/ftable.h>. They are found by a symbol or by a note
 * of the file, copied in the stop (jit/ftable/capture.c) and read from the copy
 * (jit/ftable/tables.c); what did not fit is read from the running process, and believed when its table is
 * still the one of the stop.
 */
#include "errors.h"
#include "jit/common/probe.h"
#include "jit/ftable/capture.h"
#include "jit/ftable/tables.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NOTES_MAX = 4096 }; /* of a file */

/* ---- which files have a registry: by a symbol, or by a note ----------------------------------------- */

/* The note of <snapwalk/ftable.h> in one segment of notes. */
static void notes_probe(struct sw_bytes notes, const struct sw_elf_segment *segment,
			struct sw_jit_probe *probe)
{
	static const char name[] = "snapwalk";
	struct sw_elf_note note;
	uint64_t off = 0, distance;
	for (size_t n = 0; n < NOTES_MAX && sw_elf_note(notes, segment->align, &off, &note); n++)
		if (note.type == SWFT_NOTE_TYPE && note.name.size == sizeof(name) &&
		    memcmp(note.name.data, name, sizeof(name)) == 0 &&
		    note.value.size == sizeof(distance) && sw_bytes_u64(note.value, 0, &distance))
			(void) sw_jit_probe_add(probe,
						segment->svma +
							(uint64_t) (note.value.data - notes.data) +
							distance,
						0); /* full: there are others */
}

static void ftable_probe(const struct sw_elf_symbols *symbols, struct sw_jit_probe *probe)
{
	struct sw_elf_symbol symbol;
	struct sw_elf_segment s;
	struct sw_bytes notes;
	/* A file with the symbol has notes, too, but the same one as each of its other files: the
	 * symbol is enough. */
	if (sw_elf_symbols_find(symbols, "snapwalk_ftable_v1", &symbol)) {
		(void) sw_jit_probe_add(probe, symbol.svma, 0); /* full: there are others */
		return;
	}
	for (uint32_t i = 0; sw_elf_segment(symbols->elf, i, &s); i++)
		if (s.type == PT_NOTE &&
		    sw_bytes_sub(symbols->elf->image, s.off, s.file_bytes, &notes))
			notes_probe(notes, &s, probe);
}

/* ---- around the stop ------------------------------------------------------------------------------ */

static int ftable_prepare(struct sw_jit_capture *c)
{
	if (c->n_roots == 0)
		return 0;
	*c->state = sw_arena_calloc(&c->capture->snap->priv->arena, 1,
				    sizeof(struct sw_ftable_copying));
	return *c->state != NULL ? 0 : -SW_E_NOMEM;
}

/* ---- after it ------------------------------------------------------------------------------------- */

static bool each_find(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma, void *arg)
{
	return sw_ftable_rule(st, t, avma, arg);
}

static bool ftable_find(void *state, uint64_t avma, struct sw_jit_entry *ret)
{
	return sw_ftable_about(state, avma, each_find, ret);
}

static bool each_describe(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
			  void *arg)
{
	return sw_ftable_name(st, t, avma, arg);
}

static int ftable_describe(void *state, uint64_t avma, struct sw_description *ret)
{
	return sw_ftable_about(state, avma, each_describe, ret) ? 1 : 0;
}

static const char *kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[SWFT_EH_FRAME] = "EH_FRAME",
		[SWFT_RUNTIME_FUNCTION] = "RUNTIME_FUNCTION",
		[SWFT_FRAME_POINTER] = "FRAME_POINTER",
		[SWFT_FIXED] = "FIXED",
		[SWFT_DEFERRED] = "DEFERRED",
	};
	return names[kind]; /* checked when it was parsed */
}

static bool each_explain(struct sw_ftable_all *st, struct sw_ftable_table *t, uint64_t avma,
			 void *arg)
{
	struct sw_text *text = arg;
	struct sw_description name = {0};
	(void) sw_ftable_name(st, t, avma, &name); /* "" when it has none */
	sw_text_printf(text,
		       "ftable: table %" PRIu64 " at 0x%" PRIx64 ", %s%s, [0x%" PRIx64
		       ", 0x%" PRIx64 "), %" PRIu64 " entries or bytes, %" PRIu64 " symbols%s%s",
		       t->t.id, t->t.record_avma, t->t.deferred ? "deferred: " : "",
		       kind_name(t->t.kind), t->t.start_avma, t->t.end_avma, t->t.count,
		       t->t.n_symbols, name.function[0] != '\0' ? ", " : "", name.function);
	if (t->t.deferred)
		sw_text_printf(text, ", format \"%s\"", t->t.format);
	sw_text_printf(text, "%s%s\n", t->problem != NULL ? ": " : "",
		       t->problem != NULL ? t->problem : "");
	return false; /* the next one, too */
}

static void ftable_explain(void *state, uint64_t avma, struct sw_text *text)
{
	(void) sw_ftable_about(state, avma, each_explain, text); /* all of them */
}

static size_t ftable_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	struct sw_ftable_all *st = state;
	size_t n = 0;
	if (st == NULL)
		return 0;
	sw_ftable_load(st);
	for (size_t i = 0; i < st->n_registries && n < max; i++) {
		const struct sw_ftable_registry *r = &st->registries[i];
		if (r->n == 0 && r->n_busy == 0 && r->n_bad == 0 && r->problem == NULL)
			continue; /* a library that can, in a program that does not */
		ret[n] = (struct sw_runtime){.name = "ftable", .entries = (int64_t) r->n};
		(void) snprintf(ret[n].where, sizeof(ret[n].where), "%s",
				sw_module_path(r->root->place->module)); /* cut is fine */
		if (r->problem != NULL || st->nomem)
			(void) snprintf(ret[n].problem, sizeof(ret[n].problem), "%s",
					st->nomem ? "not enough memory" : r->problem);
		else if (r->n_bad > 0)
			(void) snprintf(ret[n].problem, sizeof(ret[n].problem),
					"%zu of its tables are malformed", r->n_bad);
		else if (r->n_busy > 0)
			(void) snprintf(ret[n].problem, sizeof(ret[n].problem),
					"%zu of its tables were being changed", r->n_busy);
		n++;
	}
	return n;
}

const struct sw_jit_hook_ops sw_jit_ftable_hooks = {
	.name = "ftable",
	.probe = ftable_probe,
	.prepare = ftable_prepare,
	.capture = sw_ftable_capture,
};

const struct sw_jit_source_ops sw_jit_ftable = {
	.name = "ftable",
	.attach = sw_ftable_attach,
	.detach = sw_ftable_detach,
	.find = ftable_find,
	.describe = ftable_describe,
	.explain = ftable_explain,
	.recognise = ftable_recognise,
};
