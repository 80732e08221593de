/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/text_tree.h"
#include "cleanup.h"
#include "profile/margin.h"
#include "report/frame_kind.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	PERMILLE_MIN = 10, /* of the state: smaller ones are left out */
	LINES_MAX = 120,
	LEVELS_MAX = 30, /* of branches; each takes two columns */
	CHAIN_SHOWN = 3, /* names in one line */
	CHILDREN_MAX = 1000,
};

/* A node of the view with what is in it and below, of one group. */
struct branch {
	uint64_t value;
	uint32_t first_child, next; /* nodes; 0: none */
};

struct tree {
	struct sw_text *to;
	const struct sw_profile_view *view;
	const struct sw_profile *t;
	const struct sw_profile_write_options *options;
	struct branch *branches; /* owned; of each node */
	uint64_t whole;
	size_t lines;
	bool cut;
};

static bool is_shown(const struct tree *tree, uint64_t value)
{
	return value > 0 &&
	       (tree->options->all || (double) value * 1000 >= (double) tree->whole * PERMILLE_MIN);
}

static int compare_nodes(const void *a, const void *b, void *arg)
{
	const struct tree *tree = arg;
	uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
	uint64_t vx = tree->branches[x].value, vy = tree->branches[y].value;
	if (vx != vy)
		return vx < vy ? 1 : -1;
	return (x > y) - (x < y);
}

/* The children that are shown, the largest first. */
static size_t children_of(const struct tree *tree, uint32_t node, uint32_t *ret)
{
	size_t n = 0;
	for (uint32_t c = tree->branches[node].first_child; c != 0 && n < CHILDREN_MAX;
	     c = tree->branches[c].next)
		if (is_shown(tree, tree->branches[c].value))
			ret[n++] = c;
	if (n > 1)
		qsort_r(ret, n, sizeof(*ret), compare_nodes, (void *) (uintptr_t) tree);
	return n;
}

static const struct sw_profile_frame *frame_of(const struct tree *tree, uint32_t node)
{
	return sw_profile_frame_at(tree->t, sw_profile_node_at(tree->t, node)->frame);
}

/* The end of the chain of only children from node on; *ret_n its nodes. */
static uint32_t chain_end(const struct tree *tree, uint32_t node, size_t *ret_n)
{
	*ret_n = 1;
	for (;;) {
		uint32_t child = tree->branches[node].first_child, only = 0;
		for (; child != 0; child = tree->branches[child].next)
			if (tree->branches[child].value == tree->branches[node].value)
				only = child;
		if (only == 0)
			return node;
		node = only;
		++*ret_n;
	}
}

static void put_name(struct tree *tree, uint32_t node)
{
	const char *name = sw_profile_text_of(tree->t, frame_of(tree, node)->function);
	sw_text_append(tree->to, name, strlen(name));
}

/* "main > … 3 frames > run > parse  parser.c:118": the last ones of a chain say most. */
static void put_chain(struct tree *tree, uint32_t begin, uint32_t end, size_t n)
{
	uint32_t last[CHAIN_SHOWN - 1], at = end;
	size_t shown = n <= CHAIN_SHOWN ? n - 1 : CHAIN_SHOWN - 1;
	for (size_t i = shown; i > 0; i--) {
		last[i - 1] = at;
		at = sw_profile_node_at(tree->t, at)->parent;
	}
	put_name(tree, begin);
	if (n > CHAIN_SHOWN)
		sw_text_printf(tree->to, " > … %zu frame%s", n - CHAIN_SHOWN,
			       sw_plural(n - CHAIN_SHOWN));
	for (size_t i = 0; i < shown; i++) {
		sw_text_printf(tree->to, " > ");
		put_name(tree, last[i]);
	}
	const struct sw_profile_frame *f = frame_of(tree, end);
	if (f->file != 0)
		sw_text_printf(tree->to, "  %s",
			       sw_base_name(sw_profile_text_of(tree->t, f->file)));
	if (f->file != 0 && f->line != 0)
		sw_text_printf(tree->to, ":%" PRIu32, f->line);
}

/* "57.9 % ±12  " */
static void put_share(struct tree *tree, uint64_t value)
{
	sw_text_printf(tree->to, "%5.1f %%", 100.0 * (double) value / (double) tree->whole);
	if (!tree->view->by_time)
		sw_text_printf(tree->to, " ±%-2.0f",
			       sw_profile_margin(value, tree->whole, tree->view->n_rounds));
	sw_text_append(tree->to, "  ", 2);
}

static int put_branch(struct tree *tree, uint32_t node, size_t level);

static int put_children(struct tree *tree, uint32_t node, size_t level)
{
	sw_cleanup(sw_free_p) uint32_t *children = calloc(CHILDREN_MAX, sizeof(*children));
	if (children == NULL)
		return -SW_E_NOMEM;
	size_t n = children_of(tree, node, children);
	tree->cut |= n > 0 && level > LEVELS_MAX;
	for (size_t i = 0; i < n && level <= LEVELS_MAX; i++)
		if (put_branch(tree, children[i], level) < 0)
			return -SW_E_NOMEM;
	return 0;
}

static int put_branch(struct tree *tree, uint32_t node, size_t level)
{
	size_t n;
	if (tree->lines >= LINES_MAX && !tree->options->all) {
		tree->cut = true;
		return 0;
	}
	uint32_t end = chain_end(tree, node, &n);
	put_share(tree, tree->branches[node].value);
	sw_text_printf(tree->to, "%*s", (int) (2 * level), "");
	put_chain(tree, node, end, n);
	sw_text_printf(tree->to, "\n");
	tree->lines++;
	return put_children(tree, end, level + 1);
}

/* ---- groups ---------------------------------------------------------------------------------- */

struct group {
	uint32_t name; /* string */
	uint64_t value;
	size_t n_threads;
};

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

static bool is_in(const struct tree *tree, const struct sw_profile_row *row,
		  enum sw_profile_state state)
{
	return row->state == state && !sw_profile_view_is_old(tree->view, row);
}

/* Nodes come behind their parents: from the last to the first everything is added up. */
static void branches_fill(struct tree *tree, enum sw_profile_state state, uint32_t group)
{
	size_t n = tree->t->nodes.n;
	memset(tree->branches, 0, n * sizeof(*tree->branches));
	for (size_t i = 0; i < tree->t->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(tree->t, i);
		if (is_in(tree, row, state) && tree->view->groups[row->thread] == group)
			tree->branches[row->node].value += sw_profile_view_value(tree->view, row);
	}
	for (size_t i = n - 1; i > 0; i--) {
		uint32_t parent = sw_profile_node_at(tree->t, i)->parent;
		if (tree->branches[i].value == 0)
			continue;
		tree->branches[parent].value += tree->branches[i].value;
		tree->branches[i].next = tree->branches[parent].first_child;
		tree->branches[parent].first_child = (uint32_t) i;
	}
}

/* Groups by share; their number. */
static size_t groups_make(struct tree *tree, enum sw_profile_state state, struct group *groups,
			  bool *seen, uint32_t *by_string)
{
	size_t n = 0;
	for (size_t i = 0; i < tree->t->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(tree->t, i);
		if (!is_in(tree, row, state))
			continue;
		uint32_t name = tree->view->groups[row->thread];
		if (by_string[name] == 0) {
			groups[n++] = (struct group){.name = name};
			by_string[name] = (uint32_t) n;
		}
		struct group *group = &groups[by_string[name] - 1];
		group->value += sw_profile_view_value(tree->view, row);
		group->n_threads += !seen[row->thread];
		seen[row->thread] = true;
		tree->whole += sw_profile_view_value(tree->view, row);
	}
	if (n > 1)
		qsort(groups, n, sizeof(*groups), compare_groups);
	return n;
}

static int put_group(struct tree *tree, enum sw_profile_state state, const struct group *group)
{
	bool color = tree->options->color;
	if (!is_shown(tree, group->value) || (tree->lines >= LINES_MAX && !tree->options->all)) {
		tree->cut = true;
		return 0;
	}
	sw_text_printf(tree->to, "%s", color ? "\033[1m" : "");
	put_share(tree, group->value);
	sw_text_printf(tree->to, "%s", sw_profile_text_of(tree->t, group->name));
	if (group->n_threads > 1)
		sw_text_printf(tree->to, " (%zu threads)", group->n_threads);
	sw_text_printf(tree->to, "%s\n", color ? "\033[0m" : "");
	tree->lines++;
	branches_fill(tree, state, group->name);
	return put_children(tree, 0, 1);
}

int sw_profile_text_tree(struct sw_text *text, const struct sw_profile_view *view,
			 enum sw_profile_state state,
			 const struct sw_profile_write_options *options)
{
	const struct sw_profile *t = view->tables;
	struct tree tree = {.to = text, .view = view, .t = t, .options = options};
	sw_cleanup(sw_free_p) struct group *groups = calloc(t->threads.n + 1, sizeof(*groups));
	sw_cleanup(sw_free_p) bool *seen = calloc(t->threads.n + 1, sizeof(*seen));
	sw_cleanup(sw_free_p) uint32_t *by_string = calloc(t->strings.n + 1, sizeof(*by_string));
	tree.branches = calloc(t->nodes.n + 1, sizeof(*tree.branches));
	int r = -SW_E_NOMEM;
	if (groups != NULL && seen != NULL && by_string != NULL && tree.branches != NULL) {
		size_t n = groups_make(&tree, state, groups, seen, by_string);
		r = 0;
		for (size_t i = 0; i < n && r == 0; i++)
			r = put_group(&tree, state, &groups[i]);
	}
	free(tree.branches);
	if (tree.cut)
		sw_text_printf(text, "         … what is small is left out (--all)\n");
	return r;
}
