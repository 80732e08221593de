/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parameters of a method, out of its signature, and the types that instances of methods are made
 * of in ReadyToRun images.
 * Source: ECMA-335 II.23.2; dotnet/runtime, docs/design/coreclr/botr/readytorun-format.md and
 * src/coreclr/vm/zapsig.cpp.
 */
#include "runtimes/clr/metadata/signature.h"
#include "bytes.h"
#include "cleanup.h"
#include "runtimes/clr/metadata/tables.h"
#include "runtimes/clr/metadata/names.h"

enum {
	METHOD_SIGNATURE = 4, /* column */
	SIGNATURE_MAX = 1024, /* bytes that are looked at */
	DEPTH_MAX = 16,       /* types in types */
	PARAMETERS_MAX = 64,  /* that are shown */
	TYPES_MAX = 128,      /* in one signature */
	TEXT_MAX = 2048,

	CALL_GENERIC = 0x10,
	/* II.23.1.16; primitives have no name here */
	ELEMENT_PTR = 0x0f,
	ELEMENT_BYREF = 0x10,
	ELEMENT_VALUETYPE = 0x11,
	ELEMENT_CLASS = 0x12,
	ELEMENT_VAR = 0x13,
	ELEMENT_ARRAY = 0x14,
	ELEMENT_GENERICINST = 0x15,
	ELEMENT_FNPTR = 0x1b,
	ELEMENT_SZARRAY = 0x1d,
	ELEMENT_MVAR = 0x1e,
	ELEMENT_CMOD_REQD = 0x1f,
	ELEMENT_CMOD_OPT = 0x20,
	ELEMENT_CANON = 0x3e, /* ReadyToRun: any reference type; CANON_ZAPSIG */
	ELEMENT_SENTINEL = 0x41,
	ELEMENT_PINNED = 0x45,
};

enum names {
	NAMES_BRIEF, /* List`1 */
	NAMES_FULL,  /* System.Collections.Generic.List`1; of ReadyToRun signatures */
	NAMES_NONE,  /* only where the type ends; the same */
};

struct reader {
	const struct sw_clr_metadata *metadata; /* NULL with NAMES_NONE */
	enum names names;
	uint32_t method_rid, type_rid;
	struct sw_bytes blob;
	uint64_t at;
	unsigned n_types;
	struct sw_text *text;
};

const char *sw_clr_primitive_name(unsigned element_type)
{
	static const char *const names[] = {
		[0x01] = "void",   [0x02] = "bool",   [0x03] = "char",           [0x04] = "sbyte",
		[0x05] = "byte",   [0x06] = "short",  [0x07] = "ushort",         [0x08] = "int",
		[0x09] = "uint",   [0x0a] = "long",   [0x0b] = "ulong",          [0x0c] = "float",
		[0x0d] = "double", [0x0e] = "string", [0x16] = "TypedReference", [0x18] = "nint",
		[0x19] = "nuint",  [0x1c] = "object",
	};
	return element_type < SW_ARRAY_SIZE(names) ? names[element_type] : NULL;
}

static bool number_read(struct reader *r, uint32_t *ret)
{
	return sw_clr_number_read(r->blob, &r->at, ret, NULL);
}

/* TypeDefOrRefOrSpecEncoded, II.23.2.8. */
static bool token_read(struct reader *r, struct sw_text *text)
{
	uint32_t token;
	bool brief = r->names == NAMES_BRIEF;
	if (!number_read(r, &token) || (!brief && (token & 3) > 1))
		return false;
	if (r->names == NAMES_NONE)
		return true;
	switch (token & 3) {
	case 0: return sw_clr_type_def_name(r->metadata, token >> 2, brief, text);
	case 1: return sw_clr_type_ref_name(r->metadata, token >> 2, brief, text);
	default:
		sw_text_append(text, "?", 1); /* a TypeSpec: only in modifiers */
		return true;
	}
}

static bool type_read(struct reader *r, struct sw_text *text, unsigned depth);

/* II.23.2.13: rank, sizes, lower bounds. */
static bool array_shape_read(struct reader *r, struct sw_text *text)
{
	uint32_t rank, n, ignored;
	if (!number_read(r, &rank) || rank == 0 || rank > 32)
		return false;
	for (int part = 0; part < 2; part++) {
		if (!number_read(r, &n) || n > rank)
			return false;
		for (uint32_t i = 0; i < n; i++)
			if (!number_read(r, &ignored))
				return false;
	}
	sw_text_append(text, "[", 1);
	for (uint32_t i = 1; i < rank; i++)
		sw_text_append(text, ",", 1);
	sw_text_append(text, rank == 1 ? "*]" : "]", rank == 1 ? 2 : 1);
	return true;
}

static bool instance_read(struct reader *r, struct sw_text *text, unsigned depth)
{
	uint32_t kind, n;
	if (!number_read(r, &kind) || (kind != ELEMENT_CLASS && kind != ELEMENT_VALUETYPE) ||
	    !token_read(r, text) || !number_read(r, &n) || n > PARAMETERS_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		sw_text_append(text, i == 0 ? "[" : ",", 1);
		if (!type_read(r, text, depth + 1))
			return false;
	}
	sw_text_append(text, "]", 1);
	return true;
}

/* A pointer to a function is told from others by what it takes and gives, but that is too long. */
static bool function_read(struct reader *r, struct sw_text *text, unsigned depth)
{
	sw_cleanup(sw_text_deinit) struct sw_text unused = {0};
	uint32_t call, n;
	if (!number_read(r, &call) || call & CALL_GENERIC || !number_read(r, &n))
		return false;
	for (uint32_t i = 0; i <= n && i <= PARAMETERS_MAX; i++)
		if (!type_read(r, &unused, depth + 1))
			return false;
	sw_text_printf(text, "delegate*");
	return n <= PARAMETERS_MAX;
}

static bool type_read(struct reader *r, struct sw_text *text, unsigned depth)
{
	static const char canon[] = "System.__Canon";
	uint32_t element, n;
	if (depth > DEPTH_MAX || ++r->n_types > TYPES_MAX || text->size > TEXT_MAX ||
	    !number_read(r, &element))
		return false;
	const char *name = sw_clr_primitive_name(element);
	if (name != NULL) {
		sw_text_append(text, name, strlen(name));
		return true;
	}
	if (r->names != NAMES_BRIEF &&
	    (element == ELEMENT_VAR || element == ELEMENT_MVAR || element == ELEMENT_FNPTR))
		return false; /* an instance has no parameters left */
	switch (element) {
	case ELEMENT_CANON:
		sw_text_append(text, canon, sizeof(canon) - 1);
		return r->names != NAMES_BRIEF;
	case ELEMENT_CMOD_REQD:
	case ELEMENT_CMOD_OPT: return number_read(r, &n) && type_read(r, text, depth + 1);
	case ELEMENT_PINNED:
	case ELEMENT_SENTINEL: return type_read(r, text, depth + 1);
	case ELEMENT_VALUETYPE:
	case ELEMENT_CLASS: return token_read(r, text);
	case ELEMENT_VAR:
	case ELEMENT_MVAR:
		if (!number_read(r, &n))
			return false;
		sw_clr_generic_param_name(r->metadata, element == ELEMENT_MVAR,
					  element == ELEMENT_MVAR ? r->method_rid : r->type_rid, n,
					  text);
		return true;
	case ELEMENT_GENERICINST: return instance_read(r, text, depth);
	case ELEMENT_FNPTR: return function_read(r, text, depth);
	default: break;
	}
	if ((element != ELEMENT_PTR && element != ELEMENT_BYREF && element != ELEMENT_SZARRAY &&
	     element != ELEMENT_ARRAY) ||
	    !type_read(r, text, depth + 1))
		return false;
	if (element == ELEMENT_ARRAY)
		return array_shape_read(r, text);
	sw_text_append(text,
		       element == ELEMENT_PTR     ? "*"
		       : element == ELEMENT_BYREF ? "&"
						  : "[]",
		       element == ELEMENT_SZARRAY ? 2 : 1);
	return true;
}

/* II.23.2.1 MethodDefSig. */
static bool parameters_read(struct reader *r)
{
	sw_cleanup(sw_text_deinit) struct sw_text unused = {0};
	uint32_t call, n;
	if (!number_read(r, &call) || (call & CALL_GENERIC && !number_read(r, &n)) ||
	    !number_read(r, &n) || !type_read(r, &unused, 0))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			sw_text_append(r->text, ", ", 2);
		if (i == PARAMETERS_MAX || !type_read(r, r->text, 0))
			return false;
	}
	return true;
}

bool sw_clr_method_def_parameters(const struct sw_clr_metadata *m, uint32_t rid,
				  struct sw_text *text)
{
	uint8_t bytes[SIGNATURE_MAX];
	uint32_t index;
	struct reader r = {.metadata = m,
			   .method_rid = rid,
			   .type_rid = sw_clr_method_owner(m, rid),
			   .blob = {.data = bytes},
			   .text = text};
	sw_text_append(text, "(", 1);
	bool good = sw_clr_metadata_get(m, SW_CLR_TABLE_METHOD, rid, METHOD_SIGNATURE, &index) &&
		    sw_clr_metadata_blob(m, index, bytes, sizeof(bytes), &r.blob.size) &&
		    parameters_read(&r);
	sw_text_printf(text, good ? ")" : "...)");
	return good;
}

bool sw_clr_instance_type_read(const struct sw_clr_metadata *m, struct sw_bytes blob, uint64_t *at,
			       struct sw_text *text)
{
	struct reader r = {.metadata = m,
			   .names = m != NULL ? NAMES_FULL : NAMES_NONE,
			   .blob = blob,
			   .at = *at,
			   .text = text};
	if (!type_read(&r, text, 0))
		return false;
	*at = r.at;
	return true;
}
