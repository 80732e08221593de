/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/objects/graph.h"
#include "map.h"
#include "runtimes/clr/metadata/remote.h"

#include <string.h>

enum { CHUNK_WORDS = 64 };

void sw_clr_graph_reset(struct sw_clr_graph *graph)
{
	if (graph->n > 0)
		memset(graph->seen, 0, sizeof(graph->seen));
	graph->n = 0;
	memset(graph->held, 0, sizeof(graph->held));
	graph->incomplete = false;
}

static void node_add(struct sw_clr_graph *g, uint64_t avma, uint8_t hops)
{
	const struct sw_clr_class *c;
	size_t i = (size_t) sw_mix64(avma) % SW_CLR_NODE_SLOTS;
	while (g->seen[i] != 0 && g->nodes[g->seen[i] - 1].avma != avma)
		i = (i + 1) % SW_CLR_NODE_SLOTS;
	if (g->seen[i] != 0 || (c = sw_clr_class_of(g->at, g->classes, g->memory, avma)) == NULL)
		return;
	bool leads = sw_clr_kind_leads(c->kind);
	if (!leads && (hops == 0 || c->component_bytes > 0))
		return;
	if (g->n == SW_CLR_NODES_MAX) {
		g->incomplete = true;
		return;
	}
	g->nodes[g->n] = (struct sw_clr_node){
		.avma = avma,
		.kind = leads ? c->kind : SW_CLR_OTHER,
		.hops = leads ? 0 : hops,
	};
	g->seen[i] = (uint32_t) ++g->n;
}

void sw_clr_graph_word(struct sw_clr_graph *graph, uint64_t word, uint8_t hops)
{
	if (sw_clr_may_be_object(graph, word))
		node_add(graph, word, hops);
}

bool sw_clr_may_be_object(const struct sw_clr_graph *graph, uint64_t avma)
{
	const struct sw_map *map =
		avma != 0 && avma % 8 == 0 ? sw_snapshot_map(graph->snap, avma) : NULL;
	if (map == NULL || !(map->prot & SW_MAP_WRITE) || map->prot & SW_MAP_SHARED ||
	    (map->path[0] != '\0' && strncmp(map->path, "[anon", 5) != 0))
		return false;
	size_t i = (size_t) (map - graph->snap->maps);
	return i < graph->n_stack_maps && !graph->stack_maps[i];
}

static void stack_add(struct sw_clr_graph *g, const struct sw_thread *thread,
		      struct sw_memory stacks)
{
	uint64_t words[CHUNK_WORDS], at = thread->regs.sp_avma & ~UINT64_C(7), end;
	if (__builtin_add_overflow(at, SW_CLR_ROOT_STACK_BYTES, &end) ||
	    end > thread->stack_end_avma)
		end = thread->stack_end_avma;
	while (at < end) {
		size_t n = sizeof(words) - at % sizeof(words);
		if (n > end - at)
			n = (size_t) (end - at);
		/* Copied memory may end anywhere. */
		if (!sw_memory_read(stacks, at, words, n) &&
		    !sw_memory_read(stacks, at, words, n = sizeof(*words)))
			return;
		for (size_t i = 0; i < n / 8; i++)
			sw_clr_graph_word(g, words[i], 0);
		at += n;
	}
}

static void stack_mark(struct sw_clr_graph *g, uint64_t sp_avma)
{
	const struct sw_map *map = sw_snapshot_map(g->snap, sp_avma);
	if (map != NULL && (size_t) (map - g->snap->maps) < g->n_stack_maps)
		g->stack_maps[map - g->snap->maps] = 1;
}

void sw_clr_graph_stacks(struct sw_clr_graph *graph)
{
	const struct sw_snapshot *snap = graph->snap;
	memset(graph->stack_maps, 0, graph->n_stack_maps);
	for (size_t i = 0; i < snap->n_threads; i++)
		if (snap->threads[i].stack_end_avma != 0) /* its registers are known */
			stack_mark(graph, snap->threads[i].regs.sp_avma);
}

void sw_clr_graph_roots(struct sw_clr_graph *graph, struct sw_memory stacks)
{
	const struct sw_snapshot *snap = graph->snap;
	sw_clr_graph_stacks(graph);
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *thread = &snap->threads[i];
		if (thread->stack_end_avma == 0)
			continue;
		for (unsigned r = 0; r < SW_REGS_MAX && r < 32; r++)
			if (thread->regs.known >> r & 1)
				sw_clr_graph_word(graph, thread->regs.val[r], 0);
		stack_add(graph, thread, stacks);
	}
	for (size_t i = 0; i < graph->at->n_slots; i++) {
		uint64_t *object = &graph->held[i];
		if (sw_memory_u64(graph->memory, graph->at->slots[i], object))
			sw_clr_graph_word(graph, *object, 1);
	}
}

static uint64_t scan_limit(const struct sw_clr_graph *g, uint64_t avma)
{
	for (size_t i = 0; i < SW_CLR_SLOTS_MAX; i++)
		if (g->held[i] == avma)
			return SW_CLR_SLOT_SCAN_BYTES;
	return SW_CLR_SCAN_BYTES;
}

/* How much of it are fields or elements, without the first word. */
static uint64_t bytes_of(struct sw_clr_graph *g, const struct sw_clr_node *node)
{
	const struct sw_clr_class *c = sw_clr_class_of(g->at, g->classes, g->memory, node->avma);
	uint32_t n;
	if (c == NULL)
		return 0;
	/* The header before it counts, too. */
	uint64_t bytes = c->base_bytes - 2 * SW_CLR_OBJECT_HEAD;
	if (c->component_bytes > 0) {
		if (!sw_clr_u32(g->memory, node->avma, SW_CLR_OBJECT_HEAD, &n))
			return 0;
		bytes += (uint64_t) n * c->component_bytes;
	}
	if (bytes > SW_CLR_SCAN_BYTES && bytes > scan_limit(g, node->avma)) {
		g->incomplete = true;
		bytes = scan_limit(g, node->avma);
	}
	return bytes;
}

/* Objects that hang on a task are looked at once: what others wait for is often among them. */
static uint8_t hops_after(const struct sw_clr_node *node)
{
	switch (node->kind) {
	case SW_CLR_OTHER: return (uint8_t) (node->hops - 1);
	case SW_CLR_ENGINE: return 2;
	default: return 1;
	}
}

static void node_scan(struct sw_clr_graph *g, struct sw_clr_node node)
{
	uint64_t words[CHUNK_WORDS], bytes = bytes_of(g, &node) & ~UINT64_C(7);
	uint8_t hops = hops_after(&node);
	for (uint64_t at = 0; at < bytes; at += sizeof(words)) {
		size_t n = bytes - at < sizeof(words) ? (size_t) (bytes - at) : sizeof(words);
		if (at > 0 && at % SW_CLR_SCAN_BYTES == 0 && !g->go_on(g->arg)) {
			g->incomplete = true;
			return;
		}
		if (!sw_clr_read(g->memory, node.avma, SW_CLR_OBJECT_HEAD + at, words, n))
			return;
		for (size_t i = 0; i < n / 8; i++)
			sw_clr_graph_word(g, words[i], hops);
	}
}

void sw_clr_graph_close(struct sw_clr_graph *graph)
{
	for (size_t i = 0; i < graph->n; i++) {
		if (!graph->go_on(graph->arg)) {
			graph->incomplete = true;
			return;
		}
		node_scan(graph, graph->nodes[i]);
	}
}
