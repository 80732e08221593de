/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code by what its makers publish of it: one unwinder over a table of sources (jit.h). Per
 * address the first source that knows it says how to step; when its step leads nowhere, the next one
 * is asked.
 */
#include "jit.h"
#include "arch.h"
#include "cleanup.h"
#include "errors.h"
#include "jit_cfi.h"
#include "module.h"
#include "rule_step.h"
#include "runtime_names.h"
#include "snapshot.h"
#include "unwinder.h"

#include <inttypes.h>

extern const struct sw_unwinder_ops sw_unwind_jit;
extern const struct sw_jit_source_ops sw_jit_ftable;
extern const struct sw_jit_source_ops sw_jit_gdb;
extern const struct sw_jit_source_ops sw_jit_libgcc;
extern const struct sw_jit_source_ops sw_jit_jitdump;
extern const struct sw_jit_source_ops sw_jit_perfmap;
extern const struct sw_jit_source_ops sw_jit_trampoline;

const struct sw_jit_source_ops *const sw_jit_sources[] = {
	/* best first */
	&sw_jit_ftable,     &sw_jit_gdb,     &sw_jit_libgcc, &sw_jit_jitdump,
	&sw_jit_trampoline, &sw_jit_perfmap, NULL, /* the end */
};

/* Wire names, in the same order. */
static const char *const source_names[] = {
	"ftable", "jit-gdb", "jit-libgcc", "jitdump", "trampoline", "perf-map", NULL,
};

const size_t sw_n_jit_sources = SW_ARRAY_SIZE(sw_jit_sources) - 1;

_Static_assert(SW_ARRAY_SIZE(sw_jit_sources) == SW_ARRAY_SIZE(source_names), "one name for each");
_Static_assert(SW_ARRAY_SIZE(sw_jit_sources) <= SW_JIT_SOURCES_MAX, "room for each");

/* Anchors of one source: a file that is mapped thousands of times has as many, and each is followed in
 * the stop. */
enum { RULES_MAX = 65536, ANCHORS_MAX = 256 };

/* ---- what leads to registries ---------------------------------------------------------------- */

/* What is kept in a module's slot: made once per file. */
struct jit_module {
	struct {
		uint64_t svma, detail;
		uint8_t source;
	} found[SW_JIT_ANCHORS_MAX];
	size_t n;
};

struct sw_jit_probe {
	struct jit_module *module;
	uint8_t source;
	const char *const *names; /* of variables; NULL: none are wanted */
	void (*each)(struct sw_jit_probe *probe, const char *name,
		     const struct sw_elf_symbol *symbol);
};

bool sw_jit_probe_add(struct sw_jit_probe *probe, uint64_t svma, uint64_t detail)
{
	struct jit_module *m = probe->module;
	if (m->n == SW_JIT_ANCHORS_MAX)
		return false;
	m->found[m->n].svma = svma;
	m->found[m->n].detail = detail;
	m->found[m->n].source = probe->source;
	m->n++;
	return true;
}

void sw_jit_probe_variables(struct sw_jit_probe *probe, const char *const names[],
			    void (*each)(struct sw_jit_probe *probe, const char *name,
					 const struct sw_elf_symbol *symbol))
{
	probe->names = names;
	probe->each = each;
}

static void variable_found(void *arg, const char *name, const struct sw_elf_symbol *symbol)
{
	struct sw_jit_probe *probe = arg;
	probe->each(probe, name, symbol);
}

static void symbols_probe(const struct sw_elf_symbols *symbols, struct jit_module *module)
{
	struct sw_jit_probe probes[SW_JIT_SOURCES_MAX];
	struct sw_elf_wanted wanted[SW_JIT_SOURCES_MAX];
	size_t n_wanted = 0;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_probe *p = &probes[i];
		*p = (struct sw_jit_probe){.module = module, .source = (uint8_t) i};
		if (sw_jit_sources[i]->probe != NULL)
			sw_jit_sources[i]->probe(symbols, p);
		if (p->names != NULL)
			wanted[n_wanted++] = (struct sw_elf_wanted){p->names, variable_found, p};
	}
	sw_elf_symbols_variables(symbols, wanted, n_wanted);
}

/* NULL when there is no memory. */
static const struct jit_module *module_probe(struct sw_module *module)
{
	void **slot = sw_module_slot(module, &sw_unwind_jit);
	if (slot == NULL || *slot != NULL)
		return slot != NULL ? *slot : NULL;
	struct jit_module *m = calloc(1, sizeof(*m));
	if (m == NULL)
		return NULL;
	struct sw_elf_symbols symbols;
	struct sw_bytes image;
	image.data = sw_module_image(module, &image.size);
	if (image.data != NULL && sw_elf_symbols_open(image, &symbols))
		symbols_probe(&symbols, m);
	*slot = m;
	return m;
}

/* The anchors of all sources, one source after the other. */
struct anchors {
	struct sw_jit_anchor *all;
	size_t n;
	size_t first[SW_JIT_SOURCES_MAX], count[SW_JIT_SOURCES_MAX];
	bool limited; /* there are more */
};

/* Adds those of one source; counts only while all is NULL. */
static void anchors_collect(const struct sw_snapshot *snap, size_t source, struct anchors *a)
{
	size_t first = a->n;
	a->first[source] = first;
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_place *place = &snap->places[i];
		if (sw_module_kind(place->module) != SW_MODULE_ELF)
			continue;
		const struct jit_module *m = module_probe(place->module);
		for (size_t k = 0; m != NULL && k < m->n; k++) {
			if (m->found[k].source != source || !sw_place_resolve(place, snap))
				continue;
			if (a->n - first == ANCHORS_MAX) {
				a->limited = true;
				break;
			}
			if (a->all != NULL)
				a->all[a->n] = (struct sw_jit_anchor){.avma = m->found[k].svma +
									      place->bias,
								      .detail = m->found[k].detail,
								      .place = place};
			a->n++;
		}
	}
	a->count[source] = a->n - first;
}

static void anchors_walk(const struct sw_snapshot *snap, struct anchors *a)
{
	a->n = 0;
	for (size_t i = 0; i < sw_n_jit_sources; i++)
		anchors_collect(snap, i, a);
}

/* From the snapshot's arena when there is one. */
static int anchors_make(const struct sw_snapshot *snap, struct sw_arena *arena, struct anchors *a)
{
	*a = (struct anchors){0};
	anchors_walk(snap, a);
	a->all = sw_arena_calloc(arena, a->n + 1, sizeof(*a->all));
	if (a->all == NULL)
		return -SW_E_NOMEM;
	anchors_walk(snap, a);
	return 0;
}

/* ---- before and in the stop ------------------------------------------------------------------ */

struct hook_state {
	struct anchors anchors;
	void *sources[SW_JIT_SOURCES_MAX];
};

void *sw_jit_hook_state(const struct sw_snapshot *snap, const struct sw_jit_source_ops *source)
{
	for (size_t i = 0; snap->priv->hook_states != NULL && i < sw_n_unwinders; i++) {
		const struct hook_state *h = snap->priv->hook_states[i];
		for (size_t k = 0;
		     sw_unwinders[i] == &sw_unwind_jit && h != NULL && k < sw_n_jit_sources; k++)
			if (sw_jit_sources[k] == source)
				return h->sources[k];
	}
	return NULL;
}

static struct sw_jit_capture source_capture(struct sw_capture *capture, size_t i)
{
	struct hook_state *h = *capture->state;
	return (struct sw_jit_capture){.capture = capture,
				       .anchors = h->anchors.all + h->anchors.first[i],
				       .n_anchors = h->anchors.count[i],
				       .state = &h->sources[i]};
}

static int jit_prepare(struct sw_capture *capture)
{
	struct sw_arena *arena = &capture->snap->priv->arena;
	struct hook_state *h = sw_arena_calloc(arena, 1, sizeof(*h));
	if (h == NULL || anchors_make(capture->snap, arena, &h->anchors) < 0)
		return -SW_E_NOMEM;
	*capture->state = h;
	int r = h->anchors.limited ? -SW_E_LIMIT : 0;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_capture c = source_capture(capture, i);
		int one = sw_jit_sources[i]->prepare != NULL ? sw_jit_sources[i]->prepare(&c) : 0;
		r = r < 0 ? r : one;
	}
	return r;
}

static int jit_capture(struct sw_capture *capture)
{
	int r = 0;
	if (*capture->state == NULL) /* prepare had no memory */
		return -SW_E_NOMEM;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_capture c = source_capture(capture, i);
		int one = sw_jit_sources[i]->capture != NULL ? sw_jit_sources[i]->capture(&c) : 0;
		r = r < 0 ? r : one;
	}
	return r;
}

/* ---- after the stop -------------------------------------------------------------------------- */

struct jit_state {
	const struct sw_snapshot *snap;
	struct sw_arena arena; /* anchors, rules */
	struct anchors anchors;
	void *sources[SW_JIT_SOURCES_MAX];
	/* By source: address -> rule's address, or minus an error (SW_E_*). */
	struct sw_map64 rules[SW_JIT_SOURCES_MAX];
	size_t n_rules;
};

static void jit_detach(void *state)
{
	struct jit_state *st = state;
	if (st == NULL)
		return;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		if (sw_jit_sources[i]->detach != NULL)
			sw_jit_sources[i]->detach(st->sources[i]);
		sw_map64_deinit(&st->rules[i]);
	}
	sw_arena_deinit(&st->arena);
	free(st);
}

static int jit_attach(const struct sw_snapshot *snap, void **ret_state)
{
	struct jit_state *st = calloc(1, sizeof(*st));
	if (st == NULL)
		return -SW_E_NOMEM;
	st->snap = snap;
	int r = anchors_make(snap, &st->arena, &st->anchors);
	for (size_t i = 0; r == 0 && i < sw_n_jit_sources; i++)
		if (sw_jit_sources[i]->attach != NULL)
			r = sw_jit_sources[i]->attach(snap, st->anchors.all + st->anchors.first[i],
						      st->anchors.count[i], &st->sources[i]);
	if (r < 0) {
		jit_detach(st);
		return r;
	}
	*ret_state = st;
	return 0;
}

static bool source_find(struct jit_state *st, size_t i, uint64_t avma, struct sw_jit_entry *ret)
{
	*ret = (struct sw_jit_entry){0};
	return sw_jit_sources[i]->find != NULL &&
	       sw_jit_sources[i]->find(st->sources[i], avma, ret) && avma >= ret->start_avma &&
	       avma < ret->end_avma;
}

/* The rule for an address, made once: 0 or minus an error. */
static int rule_get(struct jit_state *st, size_t i, const struct sw_jit_entry *entry, uint64_t avma,
		    const struct sw_cfi_rule **ret)
{
	uint64_t value;
	if (sw_map64_get(&st->rules[i], avma, &value)) {
		if (value <= INT8_MAX)
			return -(int) value;
		*ret = (const struct sw_cfi_rule *) (uintptr_t) value;
		return 0;
	}
	if (st->n_rules >= RULES_MAX)
		return -SW_E_LIMIT;
	int r = sw_jit_cfi_rule(&entry->cfi, entry->cfi_off, avma, &st->arena, ret);
	value = r == 0 ? (uintptr_t) *ret : (uintptr_t) -r;
	if (sw_map64_put(&st->rules[i], avma, value) == 0) /* else it is made again */
		st->n_rules++;
	return r;
}

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

static enum sw_step cfi_step(struct jit_state *st, size_t i, const struct sw_jit_entry *entry,
			     struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_cfi_rule *rule;
	switch (rule_get(st, i, entry, cursor->lookup_avma, &rule)) {
	case 0: break;
	case -SW_E_NOT_FOUND: return SW_STEP_DECLINE;
	case -SW_E_NOMEM: return fail(ret, SW_END_INTERNAL, "not enough memory");
	case -SW_E_LIMIT:
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "the generated code's call frame information is over a limit");
	default:
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "the generated code's call frame information is malformed");
	}
	return sw_step_by_cfi(rule, 0, cursor, ret);
}

/* CFA = register + offset; the return address is below it, and the caller's rbp below that when
 * the register is rbp. */
static enum sw_step plain_step(struct sw_cursor *cursor, unsigned reg, uint64_t offset,
			       struct sw_stepped *ret)
{
	uint64_t base, words[2];
	if (!sw_regs_get(&cursor->regs, reg, &base))
		return fail(ret, SW_END_NO_UNWIND_INFO,
			    "the generated code's frame pointer was lost");
	uint64_t cfa = base + offset;
	bool has_fp = reg == SW_ARCH_FP;
	uint64_t at = cfa - (has_fp ? 2 : 1) * SW_ARCH_WORD;
	if (!sw_memory_read(cursor->memory, at, words, has_fp ? 16 : 8))
		return fail(ret, sw_cursor_memory_end(cursor, at),
			    "the return address could not be read");
	ret->regs = cursor->regs;
	ret->regs.known &= has_fp ? 0 : sw_arch_preserved();
	if (has_fp)
		sw_regs_set(&ret->regs, SW_ARCH_FP, words[0]);
	sw_regs_set(&ret->regs, SW_ARCH_SP, cfa);
	sw_regs_set(&ret->regs, SW_ARCH_RA, words[has_fp]);
	return SW_STEP_OK;
}

/* Code with frame pointers, in a prologue or an epilogue perhaps. */
static enum sw_step fp_step(struct sw_cursor *cursor, struct sw_stepped *ret)
{
	enum sw_fp_place place = cursor->exact_pc
					 ? sw_arch_fp_place(cursor->memory, cursor->regs.pc_avma)
					 : SW_FP_IN_BODY;
	uint64_t rbp;
	enum sw_step step;
	switch (place) {
	case SW_FP_IN_BODY: return plain_step(cursor, SW_ARCH_FP, 2 * SW_ARCH_WORD, ret);
	case SW_FP_AT_ENTRY: return plain_step(cursor, SW_ARCH_SP, SW_ARCH_WORD, ret);
	case SW_FP_PUSHED: break;
	}
	if (!sw_memory_u64(cursor->memory, cursor->regs.sp_avma, &rbp))
		return fail(ret, sw_cursor_memory_end(cursor, cursor->regs.sp_avma),
			    "the caller's frame pointer could not be read");
	step = plain_step(cursor, SW_ARCH_SP, 2 * SW_ARCH_WORD, ret);
	if (step == SW_STEP_OK)
		sw_regs_set(&ret->regs, SW_ARCH_FP, rbp);
	return step;
}

/* x64 unwind information of code that runs on Linux. Where it lies is the target's memory. */
static struct sw_pe_env pe_env(const struct sw_jit_entry *entry, struct sw_memory memory)
{
	return (struct sw_pe_env){.memory = memory,
				  .base_avma = entry->base_avma,
				  .rules = SW_PE_CLR_SYSV};
}

static enum sw_step pe_step(const struct sw_jit_entry *entry, struct sw_cursor *cursor,
			    struct sw_stepped *ret)
{
	struct sw_pe_env env = pe_env(entry, cursor->memory);
	struct sw_pe_function function = entry->function;
	env.exact_pc = cursor->exact_pc;
	if (!sw_pe_function_resolve(&env, &function))
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "the generated code's entry in its function table is malformed");
	return sw_step_of_pe(sw_pe_step(&env, &function, &cursor->regs, &ret->regs), &env, cursor,
			     ret);
}

/* Holds everywhere but at RET, where what the code had reserved is given back. */
static enum sw_step fixed_step(struct sw_cursor *cursor, const struct sw_jit_entry *entry,
			       struct sw_stepped *ret)
{
	bool at_return =
		cursor->exact_pc && sw_arch_at_return(cursor->memory, cursor->regs.pc_avma);
	return plain_step(cursor, SW_ARCH_SP, at_return ? SW_ARCH_WORD : entry->cfa_offset, ret);
}

static enum sw_step entry_step(struct jit_state *st, size_t i, const struct sw_jit_entry *entry,
			       struct sw_cursor *cursor, struct sw_stepped *ret)
{
	switch (entry->how) {
	case SW_JIT_CFI: return cfi_step(st, i, entry, cursor, ret);
	case SW_JIT_FRAME_POINTER: return fp_step(cursor, ret);
	case SW_JIT_FIXED_CFA: return fixed_step(cursor, entry, ret);
	case SW_JIT_END: return SW_STEP_END;
	case SW_JIT_PE: return pe_step(entry, cursor, ret);
	case SW_JIT_UNKNOWN: break;
	}
	return SW_STEP_DECLINE;
}

/* What generated code publishes may be stale or wrong, and another source may know better. Between
 * stacks (fibers, coroutines) any direction is right. */
static bool leads_somewhere(const struct sw_cursor *cursor, const struct sw_stepped *s)
{
	uint64_t lookup_avma = s->regs.pc_avma - !(s->flags & SW_FRAME_EXACT_PC);
	const struct sw_map *map = sw_snapshot_map(cursor->snap, lookup_avma);
	uint64_t from = cursor->regs.sp_avma, to = s->regs.sp_avma;
	return map != NULL && (map->prot & SW_MAP_EXEC) &&
	       (to > from ||
		sw_snapshot_map(cursor->snap, to) != sw_snapshot_map(cursor->snap, from));
}

static enum sw_step jit_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct jit_state *st = state;
	struct sw_stepped failed = {0};
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		struct sw_stepped s = {.end = ret->end};
		if (!source_find(st, i, cursor->lookup_avma, &entry))
			continue;
		enum sw_step step = entry_step(st, i, &entry, cursor, &s);
		if (step == SW_STEP_OK && !s.callee_signal && !leads_somewhere(cursor, &s))
			step = fail(&s, SW_END_BAD_UNWIND_INFO,
				    "the generated code's tables lead nowhere");
		/* Not on any stack: no table that is right asks for that. Others may know better. */
		if (step == SW_STEP_FAIL && s.end == SW_END_MEMORY)
			s.end = SW_END_BAD_UNWIND_INFO;
		if (step == SW_STEP_OK || step == SW_STEP_END) {
			*ret = s;
			ret->source = (uint8_t) i;
			if (entry.live)
				ret->flags |= SW_FRAME_LIVE_READ;
			return step;
		}
		if (step == SW_STEP_FAIL && failed.why == NULL)
			failed = s;
	}
	if (failed.why == NULL)
		return SW_STEP_DECLINE;
	*ret = failed;
	return SW_STEP_FAIL;
}

static bool jit_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	struct jit_state *st = state;
	struct sw_description name;
	(void) ret_cookie; /* the address says all */
	/* V8 also publishes what is compiled into its file: that has a name there. */
	if (cursor->place != NULL && sw_module_kind(cursor->place->module) == SW_MODULE_ELF)
		return false;
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		if (source_find(st, i, cursor->lookup_avma, &entry))
			return true;
		if (sw_jit_sources[i]->find != NULL || sw_jit_sources[i]->describe == NULL)
			continue;
		/* One that has only names. */
		name.function[0] = '\0';
		if (sw_jit_sources[i]->describe(st->sources[i], cursor->lookup_avma, &name) == 1)
			return true;
	}
	return false;
}

static int jit_describe(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	struct jit_state *st = state;
	for (size_t i = 0; i < sw_n_jit_sources; i++)
		if (sw_jit_sources[i]->describe != NULL &&
		    sw_jit_sources[i]->describe(st->sources[i], sw_frame_lookup_avma(frame), ret) ==
			    1)
			return 1;
	return 0;
}

static size_t jit_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	struct jit_state *st = state;
	size_t n = 0;
	for (size_t i = 0; st != NULL && i < sw_n_jit_sources; i++)
		if (sw_jit_sources[i]->recognise != NULL)
			n += sw_jit_sources[i]->recognise(st->sources[i], ret + n, max - n);
	if (st != NULL)
		n += sw_runtime_names(st->snap, ret + n, max - n);
	return n;
}

static void explain_rule(struct jit_state *st, size_t i, const struct sw_jit_entry *entry,
			 uint64_t avma, struct sw_text *text)
{
	const struct sw_cfi_rule *rule;
	int r = rule_get(st, i, entry, avma, &rule);
	if (r == 0) {
		sw_text_printf(text, "rule: ");
		sw_cfi_rule_print(rule, text);
		sw_text_printf(text, "\n");
	} else {
		sw_text_printf(text, "rule: %s\n",
			       r == -SW_E_NOT_FOUND ? "none: the entry says nothing of the CFA"
						    : sw_error_text(r));
	}
}

static void explain_pe(struct jit_state *st, const struct sw_jit_entry *entry, struct sw_text *text)
{
	struct sw_snapshot_memory memory = {.snap = st->snap};
	struct sw_pe_env env = pe_env(entry, sw_snapshot_memory(&memory));
	struct sw_pe_function function = entry->function;
	if (sw_pe_function_resolve(&env, &function))
		sw_pe_function_print(&env, &function, text);
	else
		sw_text_printf(text, "rule: malformed\n");
}

static void explain_entry(struct jit_state *st, size_t i, const struct sw_jit_entry *entry,
			  uint64_t avma, struct sw_text *text)
{
	sw_text_printf(text, "%s: [0x%" PRIx64 ", 0x%" PRIx64 ")%s%s\n", source_names[i],
		       entry->start_avma, entry->end_avma, entry->where != NULL ? ", " : "",
		       entry->where != NULL ? entry->where : "");
	switch (entry->how) {
	case SW_JIT_CFI: explain_rule(st, i, entry, avma, text); break;
	case SW_JIT_FRAME_POINTER:
		sw_text_printf(text, "rule: rbp = [rbp], ra = [rbp+8], CFA = rbp+16\n");
		break;
	case SW_JIT_FIXED_CFA:
		sw_text_printf(text, "rule: CFA = rsp+%" PRIu32 ", ra = [CFA-8]\n",
			       entry->cfa_offset);
		break;
	case SW_JIT_PE: explain_pe(st, entry, text); break;
	case SW_JIT_END: sw_text_printf(text, "rule: nothing called it\n"); break;
	case SW_JIT_UNKNOWN: sw_text_printf(text, "rule: none\n"); break;
	}
}

static void jit_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			struct sw_text *text)
{
	struct jit_state *st = state;
	(void) snap; /* attach has it */
	for (size_t i = 0; i < sw_n_jit_sources; i++) {
		struct sw_jit_entry entry;
		if (source_find(st, i, avma, &entry))
			explain_entry(st, i, &entry, avma, text);
		if (sw_jit_sources[i]->explain != NULL)
			sw_jit_sources[i]->explain(st->sources[i], avma, text);
	}
}

const struct sw_unwinder_ops sw_unwind_jit = {
	.name = "jit",
	.kind = "jit",
	.trust = SW_TRUST_JIT,
	.weak_trust = SW_TRUST_JIT,
	/* ELF: what its own tables do not cover may be published, too (V8's builtins). */
	.kinds = SW_CODE_JIT | SW_CODE_ANON | SW_CODE_ELF,
	.sources = source_names,
	.prepare = jit_prepare,
	.capture = jit_capture,
	.attach = jit_attach,
	.detach = jit_detach,
	.step = jit_step,
	.owns = jit_owns,
	.describe = jit_describe,
	.recognise = jit_recognise,
	.explain = jit_explain,
	.module_forget = free,
};
