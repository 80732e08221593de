/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The frames of one stack in the text. */
#include "report/text/frames.h"
#include "report/activity.h"
#include "cleanup.h"
#include "report/builder.h"
#include "report/frame_kind.h"
#include "report/text/where.h"
#include "report/text/put.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

enum {
	NAME_COLUMNS = 44, /* longer names push the rest of the line to the right */
	PLACE_COLUMNS = 20,
	/* On a terminal, longer names lose their middle, unless verbose: what is left of a line
	 * when the rest of it is shown, too. */
	NAME_SHOWN_MIN = 40,
	BESIDE_NAME_COLUMNS = 48,
	NAME_TAIL_BYTES = 24,
	PERIOD_MAX = 8,   /* calls in one round of a recursion */
	FOLD_MIN = 6,     /* frames left out, at least */
	INNERMOST = 2,    /* shown of those inside of the program's language, where not all are */
	LEFT_OUT_MIN = 2, /* frames at the end of a stack are not worth a line that says so */
};

/* The table of one stack. */
struct table {
	size_t name_columns, place_columns;
	struct sw_text name, place; /* owned, reused for each frame */
};

size_t sw_put_names(struct sw_text_writer *w, const struct sw_report_stack *stack, size_t at,
		    size_t most)
{
	size_t n = 0;
	for (size_t i = at; i < stack->n_frames && n < most; i++) {
		const struct sw_report_frame *f = &stack->frames[i];
		if (sw_frame_is_hidden(f))
			continue;
		sw_put(w, "%s%s", n++ > 0 ? " < " : "", sw_guess_name(f->trust) != NULL ? "?" : "");
		if (f->function != NULL)
			sw_put_foreign(w, f->function);
		else
			sw_frame_place_name(&w->text, w->report, f);
	}
	return n;
}

void sw_put_own_names(struct sw_text_writer *w, const struct sw_report_stack *stack, size_t at,
		      size_t most)
{
	for (size_t i = 0; i < most; i++, at++) {
		at = sw_own_frame(w->report, stack, at);
		if (at == stack->n_frames)
			break;
		sw_put(w, i == 0 ? "  " : " < ");
		sw_put_foreign(w, stack->frames[at].function);
	}
}

/* How many bytes of a name are shown. */
static size_t name_shown(const struct sw_text_writer *w)
{
	if (w->options->verbose || w->options->columns == 0)
		return SIZE_MAX;
	return w->options->columns < NAME_SHOWN_MIN + BESIDE_NAME_COLUMNS
		       ? NAME_SHOWN_MIN
		       : w->options->columns - BESIDE_NAME_COLUMNS;
}

/* Cuts at characters: a tail never begins inside of one. */
static void name_shorten(struct sw_text *text, const char *name, size_t size, size_t shown)
{
	size_t head = shown - NAME_TAIL_BYTES, tail = size - NAME_TAIL_BYTES;
	while (head > 0 && ((unsigned char) name[head] & 0xc0) == 0x80)
		head--;
	while (tail < size && ((unsigned char) name[tail] & 0xc0) == 0x80)
		tail++;
	sw_utf8_append_plain(text, name, head);
	sw_text_append(text, "…", strlen("…"));
	sw_utf8_append_plain(text, name + tail, size - tail);
}

/*
 * A runtime may tell a method by "assembly!Namespace.Type.Method(parameters)". *ret is where the
 * method begins; how long the assembly's name is, 0 when there is none.
 */
static size_t assembly_size(const struct sw_report_frame *f, const char **ret)
{
	size_t n = f->function != NULL ? strcspn(f->function, "!(") : 0;
	*ret = f->function;
	if (n == 0 || f->function[n] != '!' || f->function[n + 1] == '\0' ||
	    !sw_frame_is_managed(f))
		return 0;
	*ret += n + 1;
	return n;
}

/* A name that is too long loses the parameters of a managed method first, which say least. */
static void function_text(const struct sw_text_writer *w, const struct sw_report_frame *f,
			  struct sw_text *ret)
{
	const char *name;
	size_t assembly = assembly_size(f, &name), size = strlen(name);
	size_t shown = name_shown(w);
	if (size <= shown) {
		sw_utf8_append_plain(ret, name, size);
		return;
	}
	size_t method = assembly > 0 ? strcspn(name, "(") : size;
	bool cut = method + 2 < size; /* not "()" */
	size = cut ? method : size;
	if (size > shown)
		name_shorten(ret, name, size, shown);
	else
		sw_utf8_append_plain(ret, name, size);
	if (cut)
		sw_text_printf(ret, "(…)");
}

/* A function that the runtime executes without code of its own. V8's frame of such a one is in
 * node's file: that of the interpreter's builtins. */
static bool is_interpreted(const struct sw_report_frame *f)
{
	return f->function_offset == 0 && sw_frame_is_managed(f) &&
	       (f->module < 0 || (strcmp(f->kind, "v8js") == 0 && f->file != NULL));
}

/* The first column, without colour: "main+42", "libc.so.6+0x29d90". */
static void name_text(const struct sw_text_writer *w, const struct sw_report_frame *f,
		      struct sw_text *ret)
{
	ret->size = 0;
	if (f->function == NULL || f->function[0] == '\0') {
		sw_frame_place_name(ret, w->report, f);
		return;
	}
	function_text(w, f, ret);
	if (w->options->verbose && f->signature != NULL)
		sw_utf8_append_plain(ret, f->signature, strlen(f->signature));
	/* The offset of an inlined call is that of the function around it; that of an interpreted
	 * one is not known, or says nothing. */
	if (!f->inlined && !is_interpreted(f))
		sw_text_printf(ret, "+%llu", (unsigned long long) f->function_offset);
}

/* The name of the language, for people. */
static const char *language_name(const char *kind)
{
	static const struct {
		const char *kind, *name;
	} languages[] = {
		{"clr", ".NET"},
		{"jvm", "java"},
		{"cpython", "python"},
		{"v8js", "javascript"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(languages); i++)
		if (strcmp(kind, languages[i].kind) == 0)
			return languages[i].name;
	return kind;
}

/* Generated code that lies in no file of its own: what its memory is called tells nobody whose it is. */
static bool is_in_memory(const struct sw_text_writer *w, const struct sw_report_frame *f)
{
	return sw_frame_is_managed(f) &&
	       (f->module < 0 || strcmp(w->report->modules[f->module].format, "anon") == 0);
}

/* The first column has its module: that stands once, as its name may be long. */
static bool is_named_by_module(const struct sw_report_frame *f)
{
	return (f->function == NULL || f->function[0] == '\0') && f->module >= 0 && f->has_offset;
}

/* The owner of the code: the second column. For managed code it is the assembly, wherever it was
 * compiled to. */
static void place_text(const struct sw_text_writer *w, const struct sw_report_frame *f,
		       struct sw_text *ret)
{
	const char *name;
	size_t assembly = assembly_size(f, &name);
	ret->size = 0;
	if (f->inlined)
		sw_text_printf(ret, "(inlined)");
	else if (is_named_by_module(f))
		sw_text_printf(ret, "%s", "");
	else if (assembly > 0)
		sw_utf8_append_plain(ret, f->function, assembly);
	else if (is_interpreted(f) || is_in_memory(w, f))
		sw_text_printf(ret, "(%s)", language_name(f->kind));
	else if (f->module < 0)
		sw_text_printf(ret, "(no module)");
	else
		sw_utf8_append_plain(ret, sw_base_name(w->report->modules[f->module].path),
				     strlen(sw_base_name(w->report->modules[f->module].path)));
}

static void put_place(struct sw_text_writer *w, const struct sw_report_frame *f,
		      struct table *table)
{
	struct sw_text *place = &table->place;
	place_text(w, f, place);
	w->text.failed |= place->failed;
	if (place->failed)
		return;
	bool ours = place->size > 0 && place->data[0] == '(';
	if (ours)
		sw_style_begin(w, SW_STYLE_DIM);
	sw_text_append(&w->text, place->data, place->size);
	if (ours)
		sw_style_end(w);
	if (f->file == NULL)
		return;
	sw_put_gap(w, sw_utf8_columns(place->data, place->size), table->place_columns + 2);
	sw_put_foreign(w, w->options->verbose ? f->file : sw_base_name(f->file));
	if (f->line > 0)
		sw_put(w, ":%u", f->line);
}

static void put_marks(struct sw_text_writer *w, const struct sw_report_frame *f)
{
	const char *guess = sw_guess_name(f->trust);
	if (guess != NULL)
		sw_put_styled(w, SW_STYLE_GUESS, "  [guess: %s]", guess);
	if (f->live_read)
		sw_put_styled(w, SW_STYLE_GUESS, "  [read after the stop]");
	if (f->signal)
		sw_put_styled(w, SW_STYLE_BOLD, "  [signal handler called]");
}

static void put_details(struct sw_text_writer *w, const struct sw_report_frame *f)
{
	sw_style_begin(w, SW_STYLE_DIM);
	sw_put(w, "        pc %#llx", (unsigned long long) f->pc_avma);
	if (f->has_offset)
		sw_put(w, ", offset %#llx", (unsigned long long) f->offset);
	sw_put(w, ", %s, by %s, trust %s", f->kind, f->by, f->trust);
	if (f->tier != NULL) {
		sw_put(w, ", ");
		sw_put_foreign(w, f->tier);
	}
	if (f->line_offset >= 0)
		sw_put(w, ", line %d of the function", f->line_offset + 1);
	sw_style_end(w);
	sw_put(w, "\n");
}

static void put_frame(struct sw_text_writer *w, const struct sw_report_frame *f, size_t number,
		      struct table *table)
{
	struct sw_text *name = &table->name;
	bool guess = f->after_guess || sw_guess_name(f->trust) != NULL;
	if (f->may_miss)
		sw_put_styled(w, SW_STYLE_GUESS, "       … frames may be missing here\n");
	name_text(w, f, name);
	w->text.failed |= name->failed;
	if (name->failed)
		return;
	sw_put_styled(w, SW_STYLE_DIM, "  #%-3zu", number);
	sw_put(w, "%s", guess ? "?" : " ");
	sw_style_begin(w, guess ? SW_STYLE_GUESS : SW_STYLE_BOLD);
	sw_text_append(&w->text, name->data, name->size);
	sw_style_end(w);
	if (!is_named_by_module(f) || f->file != NULL) {
		sw_put_gap(w, sw_utf8_columns(name->data, name->size), table->name_columns + 2);
		put_place(w, f, table);
	}
	put_marks(w, f);
	sw_put(w, "\n");
	if (w->options->verbose && !f->inlined)
		put_details(w, f);
}

/* Looks the same in the text. */
static bool same_frame(const struct sw_report_frame *a, const struct sw_report_frame *b)
{
	return a->module == b->module && sw_same_text(a->function, b->function) &&
	       (a->function != NULL || a->pc_avma == b->pc_avma) && a->line == b->line &&
	       sw_same_text(a->file, b->file) && a->inlined == b->inlined &&
	       a->signal == b->signal && a->live_read == b->live_read &&
	       a->may_miss == b->may_miss && a->after_guess == b->after_guess &&
	       (a->function_offset == b->function_offset || a->inlined) &&
	       strcmp(a->trust, b->trust) == 0;
}

/* The frames of a stack that are shown, with their numbers. */
struct shown {
	const struct sw_report_frame **frames; /* owned */
	size_t *numbers;                       /* owned */
	size_t n;
	size_t n_left_out, behind; /* so many are missing before frames[behind] */
};

static void shown_deinit(struct shown *shown)
{
	free(shown->frames);
	free(shown->numbers);
}

/* Numbers are those of all frames: they tell where some were left out. */
static bool shown_init(const struct sw_text_writer *w, const struct sw_report_stack *stack,
		       struct shown *ret)
{
	*ret = (struct shown){
		.frames = calloc(stack->n_frames + 1, sizeof(*ret->frames)),
		.numbers = calloc(stack->n_frames + 1, sizeof(*ret->numbers)),
	};
	if (ret->frames == NULL || ret->numbers == NULL) {
		shown_deinit(ret);
		return false;
	}
	for (size_t i = 0; i < stack->n_frames; i++) {
		if (!w->options->verbose && sw_frame_is_hidden(&stack->frames[i]))
			continue;
		if (stack->n_left_out > 0 && i >= stack->left_out_before && ret->n_left_out == 0) {
			ret->n_left_out = stack->n_left_out;
			ret->behind = ret->n;
		}
		ret->frames[ret->n] = &stack->frames[i];
		ret->numbers[ret->n++] = i + ret->n_left_out;
	}
	if (stack->n_left_out > 0 && ret->n_left_out == 0) {
		ret->n_left_out = stack->n_left_out; /* and none of those behind is shown */
		ret->behind = ret->n;
	}
	return true;
}

/* Rounds of a recursion after the first, when frames repeat from at on in rounds of period. */
static size_t rounds(const struct shown *s, size_t at, size_t period)
{
	size_t same = 0, end = s->n_left_out > 0 && at < s->behind ? s->behind : s->n;
	while (at + period + same < end &&
	       same_frame(s->frames[at + same], s->frames[at + period + same]))
		same++;
	return same / period;
}

/* The frames that can be left out after the first round of a recursion; 0 when there is no
 * recursion. */
static size_t fold(const struct shown *s, size_t at, size_t *ret_period)
{
	for (size_t period = 1; period <= PERIOD_MAX; period++) {
		size_t folded = rounds(s, at, period) * period;
		if (folded < FOLD_MIN)
			continue;
		*ret_period = period;
		return folded;
	}
	return 0;
}

static void put_folded(struct sw_text_writer *w, const struct shown *s, size_t at, size_t folded,
		       size_t period)
{
	size_t from = s->numbers[at], to = s->numbers[at + folded - 1];
	sw_style_begin(w, SW_STYLE_DIM);
	if (period == 1)
		sw_put(w, "       … %zu more of the same (#%zu to #%zu)\n", folded, from, to);
	else
		sw_put(w, "       … %zu more rounds of these %zu (#%zu to #%zu)\n", folded / period,
		       period, from, to);
	sw_style_end(w);
}

static size_t wider(size_t columns, size_t other, size_t limit)
{
	size_t widest = columns > other ? columns : other;
	return widest < limit ? widest : limit;
}

static void measure(const struct sw_text_writer *w, const struct shown *shown, size_t from,
		    size_t most, struct table *t)
{
	for (size_t i = from; i < shown->n && i - from < most; i++) {
		const struct sw_report_frame *f = shown->frames[i];
		name_text(w, f, &t->name);
		place_text(w, f, &t->place);
		if (t->name.failed || t->place.failed)
			return;
		t->name_columns = wider(t->name_columns,
					sw_utf8_columns(t->name.data, t->name.size), NAME_COLUMNS);
		t->place_columns =
			wider(t->place_columns, sw_utf8_columns(t->place.data, t->place.size),
			      PLACE_COLUMNS);
	}
}

/* How many of the innermost frames are the C library's and the runtime's, before the program's own.
 */
static size_t leading(const struct sw_text_writer *w, const struct sw_report_stack *stack,
		      const struct shown *shown)
{
	size_t own = sw_own_frame(w->report, stack, 0), n = 0;
	while (own < stack->n_frames && n < shown->n && shown->frames[n] < &stack->frames[own] &&
	       (shown->frames[n]->internal || sw_frame_is_libc(w->report, shown->frames[n])))
		n++;
	return n;
}

/* The first frame of the part that the verdict names, where it is not among the innermost; 0: it is, or there is none. */
static size_t named(const struct sw_text_writer *w, const struct sw_report_stack *stack,
		    const struct shown *shown, size_t end)
{
	bool running = stack->n_threads > 0 && w->report->threads[stack->threads[0]].state == 'R';
	size_t where = sw_where_index(w->report, stack, running);
	for (size_t i = end; i < shown->n && where < stack->n_frames; i++)
		if (shown->frames[i] == &stack->frames[where])
			return i;
	return 0;
}

static void put_left_out(struct sw_text_writer *w, const struct shown *shown)
{
	if (shown->n_left_out > 0)
		sw_put_styled(w, SW_STYLE_ALARM, "       … %zu frames are left out (frame_limit)\n",
			      shown->n_left_out);
}

/* At most so many lines, unless what is left out were a line or two; from that one on. How many
 * frames are left out behind them. */
static size_t put_shown(struct sw_text_writer *w, const struct shown *shown, size_t at, size_t most,
			struct table *table)
{
	size_t lines = 0;
	while (at < shown->n && (lines < most || shown->n - at <= LEFT_OUT_MIN)) {
		size_t period = 1;
		if (at == shown->behind)
			put_left_out(w, shown);
		size_t folded = w->options->verbose ? 0 : fold(shown, at, &period);
		for (size_t i = 0; i < period; i++) {
			const struct sw_report_frame *f = shown->frames[at + i];
			put_frame(w, f, shown->numbers[at + i], table);
		}
		at += period;
		if (folded > 0)
			put_folded(w, shown, at, folded, period);
		at += folded;
		lines += period + (folded > 0);
	}
	return shown->n - at;
}

static void put_not_shown(struct sw_text_writer *w, size_t n)
{
	if (n > 0)
		sw_put_styled(w, SW_STYLE_DIM, "       … %zu frame%s (--all)\n", n, sw_plural(n));
}

/* The innermost frames; where those of the program's language are further out, some of either. Returns where the part
 * ends that was shown last. */
static size_t put_some(struct sw_text_writer *w, const struct sw_report_stack *stack,
		       const struct shown *shown, size_t most)
{
	size_t first = most < shown->n ? leading(w, stack, shown) : 0;
	struct table table = {0};
	first = first > LEFT_OUT_MIN ? first : 0;
	put_not_shown(w, first);
	size_t further = most < shown->n ? named(w, stack, shown, first + most) : 0;
	measure(w, shown, first, further > 0 ? INNERMOST : most, &table);
	if (further > 0) {
		struct shown inner = *shown;
		inner.n = first + INNERMOST;
		measure(w, shown, further, most - INNERMOST, &table);
		(void) put_shown(w, &inner, first, INNERMOST, &table); /* none is left out */
		put_not_shown(w, further - inner.n);
		first = further;
		most -= INNERMOST;
	}
	size_t left_out = put_shown(w, shown, first, most, &table);
	sw_text_deinit(&table.name);
	sw_text_deinit(&table.place);
	return shown->n - left_out;
}

/* Without numbers: those are of the frames of the process, with and without them. */
static void put_kernel(struct sw_text_writer *w, const struct sw_report_stack *stack)
{
	for (size_t i = 0; i < stack->n_kernel_frames; i++) {
		const struct sw_report_frame *f = &stack->kernel_frames[i];
		sw_put_styled(w, SW_STYLE_DIM, "  kernel ");
		sw_put_foreign(w, f->function);
		sw_put(w, "+%llu\n", (unsigned long long) f->function_offset);
	}
}

/* The machine whose frames are left out. */
static const char *machine_name(const struct sw_report_stack *stack)
{
	for (size_t i = 0; i < stack->n_frames; i++) {
		if (strcmp(stack->frames[i].kind, "jvm") == 0)
			return "VM";
		if (strcmp(stack->frames[i].kind, "clr") == 0)
			return "runtime";
	}
	return "interpreter";
}

void sw_text_frames(struct sw_text_writer *w, const struct sw_report_stack *stack)
{
	sw_text_frames_some(w, stack, SIZE_MAX);
}

void sw_text_frames_some(struct sw_text_writer *w, const struct sw_report_stack *stack,
			 size_t most_lines)
{
	struct shown shown;
	if (!shown_init(w, stack, &shown)) {
		w->text.failed = true;
		return;
	}
	put_kernel(w, stack);
	if (stack->n_trimmed > 0)
		sw_put_styled(w, SW_STYLE_DIM, "       … %zu frame%s of no module left out\n",
			      stack->n_trimmed, sw_plural(stack->n_trimmed));
	size_t end = put_some(w, stack, &shown, most_lines);
	if (shown.behind >= end)
		put_left_out(w, &shown); /* not among what was shown */
	put_not_shown(w, shown.n - end);
	size_t hidden = stack->n_frames - shown.n;
	shown_deinit(&shown);
	if (hidden > 0)
		sw_put_styled(w, SW_STYLE_DIM, "       … %zu frame%s of the %s (-v)\n", hidden,
			      sw_plural(hidden), machine_name(stack));
	if (strcmp(stack->end, "complete") == 0) {
		if (stack->why != NULL) {
			sw_style_begin(w, SW_STYLE_DIM);
			sw_put(w, "       … ");
			sw_put_foreign(w, stack->why);
			sw_style_end(w);
			sw_put(w, "\n");
		}
		return;
	}
	if (stack->n_left_out > 0)
		return; /* said where they are */
	sw_style_begin(w, SW_STYLE_ALARM);
	sw_put(w, "       the stack is cut here (%s)", stack->end);
	if (stack->why != NULL) {
		sw_put(w, ": ");
		sw_put_foreign(w, stack->why);
	}
	sw_style_end(w);
	sw_put(w, "\n");
}
