/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile with names is made anew out of one without: its tables have no duplicates, and a frame may become several.
 *
 * Whether the pc of a frame is a return address follows from its place: that of the innermost frame, and of one that a
 * signal has interrupted, is none. The same frame may be both in two stacks, so that each node may become two.
 */
#include "naming/modules.h"
#include "cleanup.h"
#include "errors.h"
#include "naming/addresses.h"
#include "profile/tables.h"

#include <stdlib.h>
#include <string.h>

enum { UNSEEN = UINT32_MAX, NO_SPACE = UINT32_MAX - 1, WAYS = 2 };

/* How the pc of a node's frame is looked up. */
enum way { AS_CALL, AS_EXACT };

struct naming {
	const struct sw_naming *how;
	const struct sw_profile *from;
	struct sw_profile *to;      /* owned until the end */
	struct sw_module **modules; /* owned; of each module of from; NULL: its frames stay */
	uint64_t *biases; /* owned; of each module of from: by the frames that were found in it */
	bool *is_placed;  /* owned; of each module of from: there were such frames */
	uint64_t *svmas;  /* owned; of each frame of from: its address in the file */
	bool *is_found;   /* owned; of each frame of from: its file is looked at for names */
	struct sw_naming_addresses addresses;
	struct sw_symbols *symbols; /* owned */
	uint32_t *strings;          /* owned; what each became, or UNSEEN */
	uint32_t *threads;          /* owned; likewise, or NO_SPACE */
	uint32_t *nodes[WAYS];      /* owned; likewise */
	uint32_t *path;             /* owned; space for the nodes of one stack */
	bool failed;                /* out of memory */
};

static void naming_deinit(struct naming *n)
{
	free(n->modules);
	free(n->biases);
	free(n->is_placed);
	free(n->svmas);
	free(n->is_found);
	sw_naming_addresses_deinit(&n->addresses);
	free(n->strings);
	free(n->threads);
	free(n->nodes[AS_CALL]);
	free(n->nodes[AS_EXACT]);
	free(n->path);
	if (n->symbols != NULL)
		sw_symbols_destroy(n->symbols);
	sw_profile_destroy(n->to);
}

static uint32_t *unseen(struct naming *n, size_t count)
{
	uint32_t *all = malloc((count + 1) * sizeof(*all));
	n->failed |= all == NULL;
	for (size_t i = 0; all != NULL && i < count; i++)
		all[i] = UNSEEN;
	return all;
}

/* ---- which addresses ------------------------------------------------------------------------- */

static void modules_find(struct naming *n)
{
	const struct sw_profile *p = n->from;
	n->modules = calloc(p->modules.n + 1, sizeof(struct sw_module *));
	n->failed |= n->modules == NULL;
	for (size_t i = 1; i < p->modules.n && !n->failed; i++) {
		const struct sw_profile_module *m = sw_profile_module_at(p, i);
		const char *id = sw_profile_text_of(p, m->build_id);
		/* By its name alone only a file of which nothing else is known: of folded stacks. */
		if (id[0] == '\0' && (m->start_avma != 0 || m->end_avma != 0))
			id = NULL;
		n->failed = sw_naming_module(n->how, "elf", sw_profile_text_of(p, m->path), id,
					     &n->modules[i]) < 0;
	}
}

/* The address of a frame in its file. Offsets in mappings are those of the program's, of which files here say where it is. */
static bool svma_find(const struct naming *n, const struct sw_profile_frame *f, uint64_t *ret)
{
	const struct sw_profile_module *m = sw_profile_module_at(n->from, f->module);
	*ret = f->address;
	return !m->by_mapping ||
	       sw_finder_svma(n->how->finder, n->modules[f->module], m->mapping_off,
			      m->end_avma > m->start_avma ? m->end_avma - m->start_avma : 0,
			      f->address, ret);
}

static void frame_find(struct naming *n, size_t i)
{
	const struct sw_profile_frame *f = sw_profile_frame_at(n->from, i);
	const char *kind = sw_profile_text_of(n->from, f->kind);
	n->is_found[i] = n->modules[f->module] != NULL &&
			 !(f->flags & (SW_PROFILE_AVMA | SW_PROFILE_MARK)) &&
			 (strcmp(kind, "native") == 0 || strcmp(kind, "pe") == 0) &&
			 svma_find(n, f, &n->svmas[i]);
	if (!n->is_found[i])
		return;
	n->is_placed[f->module] = true;
	n->biases[f->module] =
		sw_profile_module_at(n->from, f->module)->bias + f->address - n->svmas[i];
}

static void frames_find(struct naming *n)
{
	const struct sw_profile *p = n->from;
	n->biases = calloc(p->modules.n, sizeof(*n->biases));
	n->is_placed = calloc(p->modules.n, sizeof(*n->is_placed));
	n->svmas = calloc(p->frames.n, sizeof(*n->svmas));
	n->is_found = calloc(p->frames.n, sizeof(*n->is_found));
	n->failed |= n->biases == NULL || n->is_placed == NULL || n->svmas == NULL ||
		     n->is_found == NULL;
	for (size_t i = 0; i < p->modules.n && !n->failed; i++)
		n->biases[i] = sw_profile_module_at(p, i)->bias;
	for (size_t i = 0; i < p->frames.n && !n->failed; i++)
		frame_find(n, i);
}

/* The address that a frame has in the new profile. */
static uint64_t address_put(const struct naming *n, const struct sw_profile_frame *f)
{
	const size_t i = (size_t) (f - sw_profile_frame_at(n->from, 0));
	if (n->is_found[i])
		return n->svmas[i];
	if (f->module == 0 || (f->flags & SW_PROFILE_AVMA))
		return f->address;
	return f->address + sw_profile_module_at(n->from, f->module)->bias - n->biases[f->module];
}

/* Whether a node's frame is one of machine code in a file that was looked for. */
static bool is_of_file(const struct naming *n, uint32_t node)
{
	return n->is_found[sw_profile_node_at(n->from, node)->frame];
}

static unsigned flags_of(const struct naming *n, uint32_t node)
{
	return sw_profile_frame_at(n->from, sw_profile_node_at(n->from, node)->frame)->flags;
}

static struct sw_address address_of(const struct naming *n, uint32_t node, enum way way)
{
	const uint32_t frame = sw_profile_node_at(n->from, node)->frame;
	const struct sw_profile_frame *f = sw_profile_frame_at(n->from, frame);
	return (struct sw_address){n->modules[f->module], n->svmas[frame] - (way == AS_CALL)};
}

/* An inlined call of a frame that is looked up: it is made anew with that frame. */
static bool is_made_anew(const struct naming *n, uint32_t node)
{
	return (flags_of(n, node) & SW_PROFILE_INLINED) && is_of_file(n, node);
}

static void addresses_add(struct naming *n, uint32_t node, enum way way)
{
	if (is_made_anew(n, node) || !is_of_file(n, node))
		return;
	const struct sw_address a = address_of(n, node, way);
	n->failed |= !sw_naming_addresses_add(&n->addresses, &a);
}

static void addresses_collect(struct naming *n)
{
	for (size_t i = 1; i < n->from->nodes.n && !n->failed; i++) {
		addresses_add(n, (uint32_t) i, AS_CALL);
		addresses_add(n, (uint32_t) i, AS_EXACT);
	}
}

/* ---- the tables ------------------------------------------------------------------------------ */

static uint32_t result(struct naming *n, int r, uint32_t index)
{
	n->failed |= r < 0;
	return r > 0 ? index : NO_SPACE;
}

static uint32_t text_put(struct naming *n, const char *text)
{
	uint32_t index = 0;
	int r = sw_profile_string_find(n->to, text, sw_profile_has_space(n->to), &index);
	return result(n, r, index);
}

static uint32_t string_put(struct naming *n, uint32_t string)
{
	if (n->strings[string] == UNSEEN)
		n->strings[string] = text_put(n, sw_profile_text_of(n->from, string));
	return n->strings[string];
}

static uint32_t module_put(struct naming *n, uint32_t module)
{
	struct sw_profile_module m = *sw_profile_module_at(n->from, module);
	uint32_t index = 0;
	if (module == 0)
		return 0;
	m.bias = n->biases[module];
	m.by_mapping &= !n->is_placed[module];
	m.path = string_put(n, m.path);
	m.build_id = string_put(n, m.build_id);
	if (m.path == NO_SPACE || m.build_id == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_module_find(n->to, &m, true, &index);
	return result(n, r, index);
}

/* The node below parent. symbol: NULL: the frame has no other name than it had. */
static uint32_t node_put(struct naming *n, uint32_t parent, const struct sw_profile_frame *from,
			 const struct sw_symbol *symbol, bool is_bare)
{
	struct sw_profile_frame f = *from;
	uint32_t node = 0;
	bool grow = sw_profile_has_space(n->to);
	f.address = address_put(n, from);
	f.kind = string_put(n, f.kind);
	f.module = module_put(n, f.module);
	f.function = is_bare ? 0 : string_put(n, f.function);
	f.file = is_bare ? 0 : string_put(n, f.file);
	if (is_bare)
		f.line = 0;
	if (symbol != NULL) {
		f.function = text_put(n, symbol->function);
		f.file = text_put(n, symbol->file);
		f.line = symbol->line;
		f.flags = (f.flags & ~(uint32_t) SW_PROFILE_INLINED) |
			  (symbol->inlined ? SW_PROFILE_INLINED : 0);
	}
	if (n->failed || f.kind == NO_SPACE || f.module == NO_SPACE || f.function == NO_SPACE ||
	    f.file == NO_SPACE)
		return NO_SPACE;
	int r = sw_profile_node_of_frame(n->to, parent, &f, grow, &node);
	return result(n, r, node);
}

/* A frame with its inlined calls, the outermost first. */
static uint32_t named_put(struct naming *n, uint32_t parent, uint32_t node, enum way way)
{
	const struct sw_profile_frame *f =
		sw_profile_frame_at(n->from, sw_profile_node_at(n->from, node)->frame);
	const struct sw_symbol *symbols = NULL;
	const struct sw_address a = address_of(n, node, way);
	uint64_t number;
	size_t n_symbols = 0;
	if (sw_naming_addresses_find(&n->addresses, &a, &number))
		n_symbols = sw_symbols_at(n->symbols, number, &symbols);
	/* A name that a file here does not have stays. */
	if (n_symbols == 0)
		return node_put(n, parent, f, NULL, false);
	for (size_t i = n_symbols; i > 0 && parent != NO_SPACE; i--)
		parent = node_put(n, parent, f, &symbols[i - 1], true);
	return parent;
}

static uint32_t node_make(struct naming *n, uint32_t parent, uint32_t node, enum way way)
{
	if (parent == NO_SPACE || is_made_anew(n, node))
		return parent;
	if (is_of_file(n, node))
		return named_put(n, parent, node, way);
	const struct sw_profile_frame *f =
		sw_profile_frame_at(n->from, sw_profile_node_at(n->from, node)->frame);
	return node_put(n, parent, f, NULL, false);
}

/* How a node is looked up that has another one inside of it. */
static enum way way_before(const struct naming *n, uint32_t inner, enum way way)
{
	if (is_made_anew(n, inner))
		return way; /* the same pc */
	return flags_of(n, inner) & SW_PROFILE_SIGNAL ? AS_EXACT : AS_CALL;
}

/* The node in the new profile of a stack of the old one. */
static uint32_t stack_put(struct naming *n, uint32_t node)
{
	size_t depth = 0;
	enum way way = AS_EXACT;
	/* From the innermost node to one that is known; a bit says how each is looked up. */
	while (node != 0 && n->nodes[way][node] == UNSEEN) {
		n->path[depth++] = node << 1 | way;
		const uint32_t outer = sw_profile_node_at(n->from, node)->parent;
		way = way_before(n, node, way);
		node = outer;
	}
	uint32_t at = node == 0 ? 0 : n->nodes[way][node];
	while (depth > 0 && !n->failed) {
		const uint32_t own = n->path[--depth] >> 1;
		const enum way how = n->path[depth] & 1 ? AS_EXACT : AS_CALL;
		at = node_make(n, at, own, how);
		n->nodes[how][own] = at;
	}
	return at;
}

static void processes_put(struct naming *n)
{
	for (size_t i = 0; i < n->from->processes.n && !n->failed; i++) {
		struct sw_profile_process process = *sw_profile_process_at(n->from, i);
		uint32_t index = 0;
		process.comm = string_put(n, process.comm);
		process.exe = string_put(n, process.exe);
		process.unit = string_put(n, process.unit);
		process.container = string_put(n, process.container);
		if (process.comm != NO_SPACE && process.exe != NO_SPACE &&
		    process.unit != NO_SPACE && process.container != NO_SPACE)
			n->failed |= sw_profile_process_find(n->to, &process, &index) < 0;
	}
}

static void attributes_put(struct naming *n)
{
	for (size_t i = 0; i < n->from->attributes.n && !n->failed; i++) {
		struct sw_profile_attribute attribute = *sw_profile_attribute_at(n->from, i);
		uint32_t index = 0;
		attribute.key = string_put(n, attribute.key);
		attribute.value = string_put(n, attribute.value);
		if (attribute.key != NO_SPACE && attribute.value != NO_SPACE)
			n->failed |= sw_profile_attribute_find(n->to, &attribute, &index) < 0;
	}
}

static void threads_put(struct naming *n)
{
	for (size_t i = 0; i < n->from->threads.n && !n->failed; i++) {
		struct sw_profile_thread thread = *sw_profile_thread_at(n->from, i);
		uint32_t index = 0;
		thread.key = string_put(n, thread.key);
		thread.name = string_put(n, thread.name);
		n->threads[i] = NO_SPACE;
		if (thread.key == NO_SPACE || thread.name == NO_SPACE)
			continue;
		int r = sw_profile_thread_find(n->to, &thread, true, &index);
		n->threads[i] = result(n, r, index);
	}
}

static void rows_put(struct naming *n)
{
	for (size_t i = 0; i < n->from->rows.n && !n->failed; i++) {
		const struct sw_profile_row *from = sw_profile_row_at(n->from, i);
		struct sw_profile_row row = {.thread = n->threads[from->thread],
					     .node = stack_put(n, from->node),
					     .wait = string_put(n, from->wait),
					     .state = from->state};
		uint32_t index = SW_PROFILE_NO_ROW;
		if (row.thread != NO_SPACE && row.node != NO_SPACE && row.wait != NO_SPACE)
			n->failed |= sw_profile_row_find(n->to, &row, &index) < 0;
		sw_profile_again(n->to, index, from->count, from->ns);
	}
}

static void tables_put(struct naming *n)
{
	const struct sw_profile *from = n->from;
	n->strings = unseen(n, from->strings.n);
	n->threads = unseen(n, from->threads.n);
	n->nodes[AS_CALL] = unseen(n, from->nodes.n);
	n->nodes[AS_EXACT] = unseen(n, from->nodes.n);
	n->path = unseen(n, from->nodes.n);
	if (n->failed)
		return;
	n->to->info = from->info;
	n->to->by_process = from->by_process;
	n->to->left_count = from->left_count;
	n->to->left_ns = from->left_ns;
	n->to->host = string_put(n, from->host);
	n->to->kernel = string_put(n, from->kernel);
	n->to->ended_early = string_put(n, from->ended_early);
	processes_put(n);
	attributes_put(n);
	threads_put(n);
	rows_put(n);
}

int sw_profile_symbolize(const struct sw_profile *profile, const struct sw_naming *how,
			 struct sw_profile **ret, struct sw_error *err)
{
	sw_cleanup(naming_deinit) struct naming n = {.how = how, .from = profile};
	int r = sw_profile_create(NULL, &n.to, err);
	if (r < 0)
		return r;
	modules_find(&n);
	if (!n.failed)
		frames_find(&n);
	if (!n.failed)
		addresses_collect(&n);
	if (!n.failed)
		n.failed = sw_symbolize_addresses(how->symbolizer, n.addresses.all, n.addresses.n,
						  &how->symbolize, &n.symbols, err) < 0;
	if (!n.failed)
		tables_put(&n);
	if (n.failed)
		return sw_fail_nomem(err);
	*ret = sw_take_ptr(n.to);
	return 0;
}

void sw_profile_nameless(const struct sw_profile *p,
			 void (*each)(void *arg, const char *path, const char *build_id), void *arg)
{
	for (size_t i = 1; i < p->frames.n; i++) {
		const struct sw_profile_frame *f = sw_profile_frame_at(p, i);
		const struct sw_profile_module *m = sw_profile_module_at(p, f->module);
		const char *id = sw_profile_text_of(p, m->build_id);
		if (f->function == 0 && f->module != 0 &&
		    !(f->flags & (SW_PROFILE_AVMA | SW_PROFILE_GUESS)))
			each(arg, sw_profile_text_of(p, m->path), id[0] != '\0' ? id : NULL);
	}
}
