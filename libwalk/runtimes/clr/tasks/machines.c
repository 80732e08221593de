/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state machine that C#'s compiler makes of "async Task Method()": a type <Method>d__3 in the
 * method's own one, with MoveNext() and the field <>1__state. At each await that suspends,
 * MoveNext() stores its number there:
 *
 *	ldarg.0; ldc.i4 N; dup; stloc.0; stfld <>1__state
 *
 * which tells where in its IL await N is. Other compilers make others: then the method has the name that it has.
 * Source: dotnet/roslyn v4.12, Lowering/AsyncRewriter/AsyncMethodToStateMachineRewriter.cs, GenerateAwaitForIncompleteTask(),
 * and Symbols/Synthesized/GeneratedNames.cs.
 */
#include "runtimes/clr/tasks/machines.h"
#include "cleanup.h"
#include "runtimes/clr/code/lines.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/remote.h"
#include "runtimes/clr/objects/find_classes.h"
#include "runtimes/clr/published/name_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	METHODS_MAX = 4096, /* of one type that are looked at */
	/* columns */
	TYPE_METHODS = 5,
	METHOD_NAME = 3,
	MEMBER_NAME = 1,
	TABLE_MEMBER = 0x0a,
	TABLE_FIELD = 0x04,
	/* II.25.4, III.3 */
	IL_MAX = 1 << 20,
	DUP = 0x25,
	STLOC_0 = 0x0a,
	STFLD = 0x7d,
	LDC_0 = 0x16,
	LDC_S = 0x1f,
	LDC = 0x20,
};

static bool string_is(const struct sw_clr_metadata *m, unsigned table, uint32_t rid,
		      unsigned column, const char *what)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	uint32_t index;
	return sw_clr_metadata_get(m, table, rid, column, &index) &&
	       sw_clr_metadata_string(m, index, &text) && !text.failed && text.size > 0 &&
	       strcmp(text.data, what) == 0;
}

static uint32_t method_find(const struct sw_clr_metadata *m, uint32_t type, const char *name)
{
	uint32_t first, end;
	if (m->tables[SW_CLR_TABLE_METHOD_PTR].rows > 0 ||
	    !sw_clr_metadata_get(m, SW_CLR_TABLE_TYPE_DEF, type, TYPE_METHODS, &first))
		return 0;
	if (type == m->tables[SW_CLR_TABLE_TYPE_DEF].rows ||
	    !sw_clr_metadata_get(m, SW_CLR_TABLE_TYPE_DEF, type + 1, TYPE_METHODS, &end))
		end = m->tables[SW_CLR_TABLE_METHOD].rows + 1;
	for (uint32_t rid = first; rid < end && rid - first < METHODS_MAX; rid++)
		if (string_is(m, SW_CLR_TABLE_METHOD, rid, METHOD_NAME, name))
			return rid;
	return 0;
}

/* "Type+<Method>d__3" -> "Type.Method"; false: it is not of that form. */
static bool method_of(char *name)
{
	char *last = strrchr(name, '+'), *end = NULL;
	if (last == NULL || last[1] != '<')
		return false;
	int depth = 0;
	for (char *p = last + 1; *p != '\0' && end == NULL; p++) {
		depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
		end = depth == 0 ? p : NULL;
	}
	if (end == NULL || end == last + 2 || end[1] != 'd' ||
	    (end[2] != '\0' && strncmp(end + 2, "__", 2) != 0))
		return false;
	memmove(last + 1, last + 2, (size_t) (end - last - 2));
	*last = '.';
	end[-1] = '\0';
	return true;
}

static const char *name_make(struct sw_clr_names *names, const struct sw_clr_machine *m)
{
	sw_cleanup(sw_text_deinit) struct sw_text type = {0};
	if (!sw_clr_type_def_name(&m->module->metadata, m->type_rid, false, &type) || type.failed ||
	    type.size == 0)
		return NULL;
	bool known = method_of(type.data);
	return sw_arena_printf(names->arena, "%s!%s%s",
			       *m->module->name != '\0' ? m->module->name : "?", type.data,
			       known ? "" : ".MoveNext");
}

/* SW_CLR_ABSENT: it has none of that name. */
static uint32_t field_off(struct sw_clr *clr, const struct sw_clr_classes *at,
			  const struct sw_clr_machine *m, const char *name)
{
	uint32_t rid = sw_clr_field_rid(&m->module->metadata, m->type_rid, name), offset;
	return rid != 0 && sw_clr_field_find(at, clr->memory, m->table_avma, rid, false, &offset)
		       ? offset
		       : (uint32_t) SW_CLR_ABSENT;
}

static bool machine_read(struct sw_clr *clr, size_t runtime, const struct sw_clr_classes *at,
			 struct sw_clr_machine *m)
{
	struct sw_clr_names *names = sw_clr_names_get(clr);
	uint32_t flags2;
	if (names == NULL || !sw_clr_u32(clr->memory, m->table_avma, at->table_flags2, &flags2))
		return false;
	m->module_avma = sw_clr_table_module(at, clr->memory, m->table_avma);
	m->module = sw_clr_module_get(names, &names->at[runtime], m->module_avma);
	m->type_rid = flags2 >> at->row_shift;
	if (sw_clr_row_overflows(m->type_rid, at->row_shift))
		return false;
	if (m->module == NULL || !m->module->has_metadata)
		return false;
	const struct sw_clr_metadata *metadata = &m->module->metadata;
	m->state_rid = sw_clr_field_rid(metadata, m->type_rid, "<>1__state");
	if (m->state_rid != 0 &&
	    !sw_clr_field_find(at, clr->memory, m->table_avma, m->state_rid, false, &m->state_off))
		m->state_rid = 0;
	m->promise_off = field_off(clr, at, m, "<>v__promiseOfValueOrEnd");
	m->builder_off = field_off(clr, at, m, "<>t__builder");
	m->move_next_rid = method_find(metadata, m->type_rid, "MoveNext");
	m->name = name_make(names, m);
	return m->name != NULL;
}

const struct sw_clr_machine *sw_clr_machine_get(struct sw_clr *clr, size_t runtime,
						const struct sw_clr_classes *at,
						struct sw_map64 *machines, uint64_t table_avma)
{
	uint64_t kept;
	if (sw_map64_get(machines, table_avma, &kept))
		return (const struct sw_clr_machine *) (uintptr_t) kept;
	struct sw_clr_machine *m = sw_arena_calloc(&clr->arena, 1, sizeof(*m));
	if (m == NULL)
		return NULL;
	m->table_avma = table_avma;
	if (!machine_read(clr, runtime, at, m))
		m = NULL;
	return sw_map64_put(machines, table_avma, (uintptr_t) m) < 0 ? NULL : m;
}

/* ---- where it is -------------------------------------------------------------------------------- */

static bool is_state_field(const struct sw_clr_machine *m, uint32_t token)
{
	uint32_t rid = token & SW_CLR_TOKEN_RID;
	if (token >> 24 == TABLE_FIELD)
		return rid == m->state_rid;
	/* The field of a generic type is named by a reference. */
	return token >> 24 == TABLE_MEMBER &&
	       string_is(&m->module->metadata, TABLE_MEMBER, rid, MEMBER_NAME, "<>1__state");
}

/* Whether what is stored by the instruction at il + at is that number: the constant before dup. */
static bool stores(const uint8_t *il, uint32_t at, int32_t state)
{
	int32_t wide;
	if (at < 7 || il[at - 1] != STLOC_0 || il[at - 2] != DUP)
		return false;
	if (state >= 0 && state <= 8)
		return il[at - 3] == LDC_0 + state;
	if (state >= INT8_MIN && state <= INT8_MAX)
		return il[at - 4] == LDC_S && (int8_t) il[at - 3] == state;
	memcpy(&wide, il + at - 6, sizeof(wide));
	return il[at - 7] == LDC && wide == state;
}

/* The one place at which the number is stored; false: there is none, or more of them. */
static bool await_find(const struct sw_clr_machine *m, const uint8_t *il, uint32_t bytes,
		       int32_t state, uint32_t *ret)
{
	bool found = false;
	for (uint32_t at = 0; bytes > 5 && at < bytes - 5; at++) {
		uint32_t token;
		if (il[at] != STFLD || !stores(il, at, state))
			continue;
		memcpy(&token, il + at + 1, sizeof(token));
		if (!is_state_field(m, token))
			continue;
		if (found)
			return false;
		*ret = at;
		found = true;
	}
	return found;
}

void sw_clr_machine_describe(struct sw_clr *clr, const struct sw_clr_machine *machine,
			     int32_t state, struct sw_description *ret)
{
	struct sw_clr_il il;
	uint32_t at;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", machine->name);
	if (state < 0 || machine->move_next_rid == 0 || !machine->module->has_image ||
	    !sw_clr_il_find(&machine->module->image, &machine->module->metadata,
			    machine->move_next_rid, &il) ||
	    il.bytes > IL_MAX)
		return;
	sw_cleanup(sw_free_p) uint8_t *bytes = malloc(il.bytes);
	if (bytes != NULL && sw_clr_read(clr->memory, il.avma, 0, bytes, il.bytes) &&
	    await_find(machine, bytes, il.bytes, state, &at))
		sw_clr_row_line(clr, machine->module_avma, machine->module, machine->move_next_rid,
				at, ret);
}
