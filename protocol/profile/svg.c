/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A flame graph as one picture without scripts: what was on a CPU, or, where nothing was or the profile counts time,
 * everything, with what a thread was blocked in as its innermost frame. The root is at the bottom; a frame is as
 * wide as its share, and one that is narrower than a third of a pixel is left out. Names and numbers are in the
 * elements' titles, which browsers show under the pointer.
 */
#include "cleanup.h"
#include "profile/frame_name.h"
#include "profile/put.h"
#include "profile/view.h"
#include "profile/writers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	WIDTH_PX = 1200,
	MARGIN_PX = 10,
	ROW_PX = 17,
	HEAD_PX = 44,
	LETTER_PX = 7,  /* of the font below, on average */
	SMALLEST = 333, /* of a pixel's thousandths */
	PER_PX = 1000,
	DEPTH_MAX = 1024, /* rows of a picture */
};

/* Where a node of the profile is in the picture. */
struct box {
	uint64_t value, x, used; /* x: of the total; used: by children that have their place */
	uint32_t depth;
};

struct picture {
	struct sw_text *to;
	const struct sw_profile *tables; /* borrowed: the view's */
	struct box *boxes;               /* owned; of each node */
	uint64_t total;
	uint32_t depth; /* of the deepest that is drawn */
	bool cpu_only, by_time;
	const char *unit; /* static */
};

/* The characters that XML has a meaning for, and those that it forbids: U+FFFE and U+FFFF. */
static void put_xml(struct sw_text *to, const char *s, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bool strange = i + 2 < size && memcmp(s + i, "\xef\xbf", 2) == 0 &&
			       (unsigned char) s[i + 2] >= 0xbe;
		switch (s[i]) {
		case '<': sw_text_printf(to, "&lt;"); break;
		case '>': sw_text_printf(to, "&gt;"); break;
		case '&': sw_text_printf(to, "&amp;"); break;
		case '"': sw_text_printf(to, "&quot;"); break;
		default: sw_text_append(to, strange ? "?" : s + i, 1); break;
		}
		i += strange ? 2 : 0;
	}
}

/* The bytes of the first characters of s, at most so many. */
static size_t bytes_of(const char *s, size_t characters)
{
	size_t i = 0;
	for (; s[i] != '\0'; i++)
		if (((unsigned char) s[i] & 0xc0) != 0x80 && characters-- == 0)
			break;
	return i;
}

/* Thousandths of a pixel. */
static uint64_t px(const struct picture *p, uint64_t value)
{
	const uint64_t width = (uint64_t) (WIDTH_PX - 2 * MARGIN_PX) * PER_PX;
	return (uint64_t) ((double) value / (double) p->total * (double) width);
}

static void put_px(struct sw_text *to, uint64_t thousandths)
{
	sw_text_printf(to, "%" PRIu64 ".%02" PRIu64, thousandths / PER_PX,
		       thousandths % PER_PX / 10);
}

static bool is_drawn(const struct picture *p, size_t node)
{
	const struct box *b = &p->boxes[node];
	return b->value > 0 && b->depth < DEPTH_MAX && px(p, b->value) >= SMALLEST;
}

/* A parent's number is smaller than that of its children: a stack is added from its root on. */
static void layout(struct picture *p)
{
	const struct sw_profile *t = p->tables;
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(t, i);
		if (!p->cpu_only || row->state == SW_PROFILE_ON_CPU)
			p->boxes[row->node].value += p->by_time ? row->ns : row->count;
	}
	for (size_t i = t->nodes.n; i-- > 1;)
		p->boxes[sw_profile_node_at(t, i)->parent].value += p->boxes[i].value;
	p->total = p->boxes[0].value;
	for (size_t i = 1; i < t->nodes.n && p->total > 0; i++) {
		struct box *b = &p->boxes[i], *parent = &p->boxes[sw_profile_node_at(t, i)->parent];
		b->x = parent->x + parent->used;
		b->depth = parent->depth + 1;
		parent->used += b->value;
		if (is_drawn(p, i) && b->depth > p->depth)
			p->depth = b->depth;
	}
}

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261U; /* FNV-1a: colours are the same in every picture */
	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char) *s) * 16777619U;
	return h;
}

/* As in page.html: native code is warm, each language has a colour of its own, what is no code is grey. */
static void put_colour(const struct picture *p, const struct sw_profile_frame *f, const char *name)
{
	const char *kind = sw_profile_text_of(p->tables, f->kind);
	const char *module =
		sw_profile_text_of(p->tables, sw_profile_module_at(p->tables, f->module)->path);
	uint32_t hue = strcmp(kind, "native") == 0 ? 20 + hash(module) % 40 : 90 + hash(kind) % 190;
	bool is_mark = name[0] == '[';
	sw_text_printf(p->to, "hsl(%" PRIu32 ",%d%%,%" PRIu32 "%%)", hue, is_mark ? 0 : 62,
		       72 + hash(name) % 9);
}

static void put_amount(const struct picture *p, uint64_t value)
{
	if (p->by_time) {
		sw_put_ms(p->to, value);
		sw_text_printf(p->to, " ms");
	} else
		sw_text_printf(p->to, "%" PRIu64 " %s%s", value, p->unit, sw_plural(value));
	sw_text_printf(p->to, ", %.1f %%", 100.0 * (double) value / (double) p->total);
}

static void put_box(const struct picture *p, size_t node)
{
	const struct box *b = &p->boxes[node];
	const struct sw_profile_frame *f =
		sw_profile_frame_at(p->tables, sw_profile_node_at(p->tables, node)->frame);
	const char *name = node == 0 ? "all" : sw_profile_text_of(p->tables, f->function);
	uint64_t width = px(p, b->value);
	uint64_t x = px(p, b->x) + (uint64_t) MARGIN_PX * PER_PX;
	uint32_t y = HEAD_PX + (p->depth - b->depth) * ROW_PX;
	size_t space = (size_t) (width / PER_PX) / LETTER_PX, whole = strlen(name);
	sw_text_printf(p->to, "<g><title>");
	put_xml(p->to, name, whole);
	sw_text_printf(p->to, " (");
	put_amount(p, b->value);
	sw_text_printf(p->to, ")</title><rect x=\"");
	put_px(p->to, x);
	sw_text_printf(p->to, "\" y=\"%" PRIu32 "\" width=\"", y);
	put_px(p->to, width);
	sw_text_printf(p->to, "\" height=\"%d\" rx=\"1\" fill=\"", ROW_PX - 1);
	if (node == 0)
		sw_text_printf(p->to, "hsl(210,12%%,76%%)");
	else
		put_colour(p, f, name);
	sw_text_printf(p->to, "\"/>");
	size_t shown = space < 3 ? 0 : bytes_of(name, space);
	if (shown > 0 && shown < whole)
		shown = bytes_of(name, space - 1);
	if (shown > 0) {
		sw_text_printf(p->to, "<text x=\"");
		put_px(p->to, x + 3 * (uint64_t) PER_PX);
		sw_text_printf(p->to, "\" y=\"%" PRIu32 "\">", y + 12);
		put_xml(p->to, name, shown);
		sw_text_printf(p->to, "%s</text>", shown < whole ? "…" : "");
	}
	sw_text_printf(p->to, "</g>\n");
}

/* Whether it is a profile of the command on; else events count what is outstanding. */
static bool is_of_events(const struct sw_profile *profile)
{
	return profile->info.unit != NULL && strcmp(profile->info.unit, "event") == 0;
}

static void put_head(const struct picture *p, const struct sw_profile *profile)
{
	struct sw_text name = {0};
	uint32_t height = HEAD_PX + (p->depth + 1) * ROW_PX + MARGIN_PX;
	sw_text_printf(p->to,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu32
		       "\" width=\"%d\" height=\"%" PRIu32 "\">\n"
		       "<style>svg{background:#fff;font:12px ui-monospace,monospace}"
		       "text{fill:#111;pointer-events:none}.head{fill:#222}"
		       "g:hover rect{stroke:#000}"
		       "@media(prefers-color-scheme:dark){svg{background:#16181c}.head{fill:#ddd}"
		       "g:hover rect{stroke:#fff}}</style>\n"
		       "<text class=\"head\" x=\"%d\" y=\"24\">",
		       WIDTH_PX, height, WIDTH_PX, height, MARGIN_PX);
	sw_profile_process_name(&name, profile);
	p->to->failed |= name.failed;
	if (!name.failed)
		put_xml(p->to, name.data, name.size);
	sw_text_deinit(&name);
	if (p->total == 0)
		sw_text_printf(p->to, ": nothing was sampled");
	else {
		sw_text_printf(p->to, ": %s, ",
			       is_of_events(profile)        ? "all threads"
			       : profile->info.unit != NULL ? "outstanding"
			       : p->cpu_only                ? "on a CPU"
							    : "all threads");
		put_amount(p, p->total);
	}
	if (profile->info.unit != NULL && profile->info.n_lost > 0)
		sw_text_printf(p->to, "; %" PRIu64 " event%s lost", profile->info.n_lost,
			       sw_plural(profile->info.n_lost));
	if (profile->info.begin_ns > 0) {
		sw_text_printf(p->to, "; ");
		sw_put_time(p->to, profile->info.begin_ns);
	}
	sw_text_printf(p->to, "</text>\n");
}

static int draw(struct picture *p, const struct sw_profile *profile)
{
	p->boxes = calloc(p->tables->nodes.n + 1, sizeof(*p->boxes));
	if (p->boxes == NULL)
		return -SW_E_NOMEM;
	layout(p);
	put_head(p, profile);
	for (size_t i = 0; i < p->tables->nodes.n && p->total > 0; i++)
		if (is_drawn(p, i))
			put_box(p, i);
	sw_text_printf(p->to, "</svg>\n");
	free(p->boxes);
	return 0;
}

int sw_profile_svg(struct sw_text *text, const struct sw_profile *p,
		   const struct sw_profile_write_options *options)
{
	struct sw_profile_view v;
	(void) options;
	if (sw_profile_view_init(&v, p, NULL) < 0)
		return -SW_E_NOMEM;
	struct picture picture = {.to = text,
				  .by_time = v.by_time,
				  .unit = p->info.unit != NULL ? p->info.unit : "sample"};
	for (size_t i = 0; i < v.tables->rows.n && !v.by_time; i++)
		picture.cpu_only |= sw_profile_row_at(v.tables, i)->state == SW_PROFILE_ON_CPU;
	int r = picture.cpu_only ? 0 : sw_profile_view_mark_states(&v);
	picture.tables = v.tables;
	if (r == 0)
		r = draw(&picture, p);
	sw_profile_view_deinit(&v);
	return r;
}
