/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf_names.h"
#include "languages.h"
#include "cleanup.h"
#include "dwarf/deadline.h"
#include "text.h"

#include <dwarf.h>
#include <string.h>

enum {
	NAME_BYTES_MAX = 1 << 14,
	ORIGINS_MAX = 16,     /* abstract instance, specification, ... */
	SCOPES_MAX = 1 << 18, /* of one unit */
	SCOPES_DEPTH_MAX = 32,
	DIES_MAX = 1 << 24,           /* looked at for them */
	SCOPES_DEADLINE_EVERY = 4096, /* DIEs */
	INDEXES_MAX = 64,             /* units that functions of one unit come from */
};

/* A DIE whose children have its name before theirs. */
struct scope {
	uint64_t start_off, end_off; /* of its DIEs in .debug_info; a child's end may be too late */
	size_t parent;               /* index + 1; 0: the unit itself */
	Dwarf_Die die;
};

struct sw_scope_index {
	Dwarf_CU *unit;
	struct scope *scopes; /* owned, by start_off: parents before children */
	size_t n, capacity;
	size_t dies;
	bool stopped;
};

void sw_dwarf_names_deinit(struct sw_dwarf_names *names)
{
	for (size_t i = 0; i < names->n_indexes; i++)
		free(names->indexes[i].scopes);
	free(names->indexes);
}

static const char *attr_text(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

/* Functions are scopes too: lambdas and local classes live in them. */
static bool is_scope(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_module:
	case DW_TAG_subprogram: return dwarf_haschildren(die) == 1;
	default: return false;
	}
}

/* Add a scope; returns its index + 1, or 0 when there is no space: names stay short, which is no
 * reason to fail. */
static size_t scope_add(struct sw_scope_index *index, Dwarf_Die *die, size_t parent)
{
	if (index->n == index->capacity) {
		size_t capacity = index->capacity == 0 ? 64 : index->capacity * 2;
		if (capacity > SCOPES_MAX)
			return 0;
		struct scope *grown = reallocarray(index->scopes, capacity, sizeof(*grown));
		if (grown == NULL)
			return 0;
		index->scopes = grown;
		index->capacity = capacity;
	}
	index->scopes[index->n++] = (struct scope){dwarf_dieoffset(die), UINT64_MAX, parent, *die};
	return index->n;
}

/* Records the scopes below a DIE. Does not look into functions: they are long, and what is in them
 * needs no more than their name. */
static void scopes_collect(struct sw_scope_index *index, Dwarf_Die *die, size_t parent, int depth,
			   int64_t deadline_ns)
{
	Dwarf_Die child;
	size_t open = 0; /* the scope that the next sibling ends */
	if (depth == SCOPES_DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		index->dies++;
		if (index->dies == DIES_MAX ||
		    (index->dies % SCOPES_DEADLINE_EVERY == 0 && sw_deadline_passed(deadline_ns)))
			index->stopped = true;
		if (index->stopped)
			return;
		if (open != 0)
			index->scopes[open - 1].end_off = dwarf_dieoffset(&child);
		open = is_scope(&child) ? scope_add(index, &child, parent) : 0;
		if (open != 0 && dwarf_tag(&child) != DW_TAG_subprogram)
			scopes_collect(index, &child, open, depth + 1, deadline_ns);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static const struct sw_scope_index *index_of(struct sw_dwarf_names *names, Dwarf_CU *unit)
{
	for (size_t i = 0; i < names->n_indexes; i++)
		if (names->indexes[i].unit == unit)
			return &names->indexes[i];
	if (names->n_indexes == INDEXES_MAX)
		return NULL;
	struct sw_scope_index *grown =
		reallocarray(names->indexes, names->n_indexes + 1, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	names->indexes = grown;
	struct sw_scope_index *index = &grown[names->n_indexes++];
	*index = (struct sw_scope_index){.unit = unit};
	Dwarf_Die die;
	if (dwarf_cu_die(unit, &die, NULL, NULL, NULL, NULL, NULL, NULL) != NULL)
		scopes_collect(index, &die, 0, 0, names->deadline_ns);
	return index;
}

/* The innermost scope of a DIE that is not the DIE itself: index + 1, 0 for none. */
static size_t scope_find(const struct sw_scope_index *index, uint64_t off)
{
	size_t low = 0, high = index->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (index->scopes[middle].start_off < off)
			low = middle + 1;
		else
			high = middle;
	}
	/* The scope at low is the last one that starts before; parents that end before do not hold
	 * it, nor does what is in them. */
	size_t found = low;
	for (size_t at = low; at != 0; at = index->scopes[at - 1].parent)
		if (index->scopes[at - 1].end_off <= off)
			found = index->scopes[at - 1].parent;
	return found;
}

/* Where the function is declared: the end of its chain of origins. */
static void declaration_find(Dwarf_Die *die)
{
	for (int i = 0; i < ORIGINS_MAX; i++) {
		Dwarf_Attribute attr;
		Dwarf_Die next;
		if (dwarf_attr(die, DW_AT_abstract_origin, &attr) == NULL &&
		    dwarf_attr(die, DW_AT_specification, &attr) == NULL)
			return;
		if (dwarf_formref_die(&attr, &next) == NULL)
			return;
		*die = next;
	}
}

/* The scopes of a DIE, innermost first; a method defined outside its class goes on with the class. */
static size_t chain_find(const struct sw_scope_index *index, Dwarf_Die die,
			 const struct scope **chain)
{
	size_t n = 0;
	while (n < SCOPES_DEPTH_MAX) {
		declaration_find(&die);
		if (die.cu != index->unit)
			break;
		size_t at = scope_find(index, dwarf_dieoffset(&die));
		if (at == 0)
			break;
		for (; at != 0 && n < SCOPES_DEPTH_MAX; at = index->scopes[at - 1].parent)
			chain[n++] = &index->scopes[at - 1];
		die = chain[n - 1]->die;
		if (dwarf_tag(&die) != DW_TAG_subprogram)
			break;
	}
	return n;
}

static void text_add(struct sw_text *text, const char *s)
{
	sw_text_append(text, s, strnlen(s, NAME_BYTES_MAX));
}

/* scope::scope::name */
static int qualified_name(struct sw_dwarf_names *names, Dwarf_Die *die, const char *name,
			  const char **ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	const struct scope *chain[SCOPES_DEPTH_MAX];
	Dwarf_Die declaration = *die;
	declaration_find(&declaration);
	const struct sw_scope_index *index = index_of(names, declaration.cu);
	size_t n = index != NULL ? chain_find(index, declaration, chain) : 0;
	while (n > 0) {
		Dwarf_Die scope = chain[--n]->die;
		const char *part = attr_text(&scope, DW_AT_name);
		if (part == NULL && dwarf_tag(&scope) == DW_TAG_namespace)
			part = "(anonymous namespace)";
		if (part == NULL)
			continue;
		text_add(&text, part);
		text_add(&text, "::");
	}
	text_add(&text, name);
	*ret = text.failed ? NULL : sw_arena_strndup(names->arena, text.data, text.size);
	return *ret != NULL ? 0 : -SW_E_NOMEM;
}

/* How a DIE's own name becomes the function's. */
enum naming {
	NAMING_PLAIN,  /* C: a nested function is the only one with a scope; as gdb shows it */
	NAMING_SCOPES, /* scope::name */
	NAMING_ADA,    /* GNAT's names have the scopes: package__procedure */
};

static enum naming naming_of(Dwarf_Die *die)
{
	Dwarf_Die unit;
	if (dwarf_cu_die(die->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) == NULL)
		return NAMING_PLAIN;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler: return NAMING_PLAIN;
	case DW_LANG_Ada83:
	case DW_LANG_Ada95: return NAMING_ADA;
	default: return NAMING_SCOPES;
	}
}

int sw_dwarf_name(struct sw_dwarf_names *names, Dwarf_Die *die, struct sw_symbol *symbol)
{
	/* A linkage name counts only if it demangles: C compilers also write assembler aliases. */
	const char *linkage = attr_text(die, DW_AT_linkage_name);
	if (linkage == NULL)
		linkage = attr_text(die, DW_AT_MIPS_linkage_name);
	sw_cleanup(sw_free_p) char *demangled = linkage != NULL ? sw_demangle(linkage) : NULL;
	if (demangled != NULL) {
		symbol->function = sw_arena_strdup(names->arena, demangled);
		symbol->mangled = sw_arena_strdup(names->arena, linkage);
		return symbol->function != NULL && symbol->mangled != NULL ? 0 : -SW_E_NOMEM;
	}
	const char *name = attr_text(die, DW_AT_name);
	if (name == NULL)
		return 0;
	enum naming naming = naming_of(die);
	if (naming == NAMING_SCOPES)
		return qualified_name(names, die, name, &symbol->function);
	sw_cleanup(sw_free_p) char *ada = naming == NAMING_ADA ? sw_demangle_ada(name, true) : NULL;
	if (ada != NULL)
		name = ada;
	symbol->function = sw_arena_strndup(names->arena, name, strnlen(name, NAME_BYTES_MAX));
	return symbol->function != NULL ? 0 : -SW_E_NOMEM;
}
