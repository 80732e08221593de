/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/php/copied.h"
#include "bytes.h"
#include "cleanup.h"
#include "runtimes/php/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FUNCTIONS_MAX = 1 << 16,
	POSITIONS_MAX = 1 << 18,
	INSTRUCTIONS_MAX = 1 << 15, /* of one function */
	TRIES_MAX = 8,              /* to read its lines */
};

/* The identity of a string, and its text, "" when it is not known. */
struct text {
	uint64_t hash, length;
	char bytes[SW_PHP_STRING_MAX];
};

/* The identity of a function. */
struct head {
	struct sw_bytes bytes; /* of the copy */
	uint8_t type;
	uint64_t scope_avma, name_avma, class_name_avma, file_avma; /* 0: none */
	uint32_t line_start, line_end;
	uint64_t opcodes_avma;
	uint32_t n_opcodes;
};

uint64_t sw_php_string_hash(const char *text, size_t length)
{
	uint64_t hash = 5381;
	for (size_t i = 0; i < length; i++)
		hash = hash * 33 + (uint64_t) (int64_t) (signed char) text[i];
	return hash | UINT64_C(1) << 63;
}

void sw_php_copied_deinit(struct sw_php_copied *c)
{
	free(c->functions);
	free(c->positions);
	sw_map64_deinit(&c->by_identity);
	sw_map64_deinit(&c->by_spot);
	sw_arena_deinit(&c->arena);
}

void sw_php_copied_begin(struct sw_php_copied *c)
{
	memset(c->seen, 0, sizeof(c->seen));
}

bool sw_php_copied_has_space(const struct sw_php_copied *c)
{
	return c->n_functions < FUNCTIONS_MAX && c->n_positions < POSITIONS_MAX;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* The length and the hash that a string has in the copy. PHP has the hash of each name; 0: it has none. */
static bool string_head(const struct sw_php_copied_source *from, uint64_t avma, struct text *ret)
{
	enum { HASH = 8 };
	return avma % 8 == 0 && sw_memory_u64(from->copied, avma + HASH, &ret->hash) &&
	       sw_memory_u64(from->copied, avma + SW_PHP_STRING_LENGTH, &ret->length);
}

/* The text of a string: from the copy, or as it is by now if that has the hash. False: it is not known. */
static bool string_read(const struct sw_php_copied_source *from, uint64_t avma, struct text *ret)
{
	ret->bytes[0] = '\0';
	if (!string_head(from, avma, ret) || ret->length == 0 || ret->length >= SW_PHP_STRING_MAX)
		return false;
	size_t length = (size_t) ret->length;
	uint64_t at = avma + SW_PHP_STRING_TEXT;
	bool found = sw_memory_read(from->copied, at, ret->bytes, length) ||
		     (ret->hash != 0 && sw_memory_read(from->later, at, ret->bytes, length) &&
		      sw_php_string_hash(ret->bytes, length) == ret->hash);
	ret->bytes[found ? length : 0] = '\0';
	return ret->bytes[0] != '\0';
}

/* False: the copy does not have it. */
static bool string_identify(const struct sw_php_copied_source *from, uint64_t avma, uint64_t *hash)
{
	struct text text; /* its bytes are not needed as a rule */
	text.hash = text.length = 0;
	if (avma != 0 && !string_head(from, avma, &text))
		return false;
	if (avma != 0 && text.hash == 0 && string_read(from, avma, &text))
		text.hash = sw_php_string_hash(text.bytes, (size_t) text.length);
	*hash = sw_mix64(*hash ^ text.hash);
	*hash = sw_mix64(*hash ^ text.length);
	return true;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void head_parse(const struct sw_php_layout *at, struct sw_bytes b, struct head *ret)
{
	*ret = (struct head){.bytes = b};
	(void) sw_bytes_u8(b, SW_PHP_FUNC_TYPE, &ret->type); /* all of it is there */
	(void) sw_bytes_u64(b, SW_PHP_FUNC_NAME, &ret->name_avma);
	(void) sw_bytes_u64(b, SW_PHP_FUNC_SCOPE, &ret->scope_avma);
	if (ret->type == SW_PHP_INTERNAL_FUNCTION)
		return;
	(void) sw_bytes_u64(b, at->op_filename, &ret->file_avma);
	(void) sw_bytes_u32(b, at->op_line_start, &ret->line_start);
	(void) sw_bytes_u32(b, at->op_line_start + sizeof(uint32_t), &ret->line_end);
	(void) sw_bytes_u64(b, at->op_opcodes, &ret->opcodes_avma);
	(void) sw_bytes_u32(b, at->op_last, &ret->n_opcodes);
}

/* 0: the copy does not have all that makes it. */
static uint64_t identity_of(const struct sw_php_copied_source *from, struct head *head,
			    bool outermost)
{
	uint64_t hash = sw_mix64(head->type | (uint64_t) outermost << 8);
	if (head->scope_avma != 0 &&
	    (head->scope_avma % 8 != 0 ||
	     !sw_memory_u64(from->copied, head->scope_avma + SW_PHP_CLASS_NAME,
			    &head->class_name_avma)))
		return 0;
	if (!string_identify(from, head->name_avma, &hash) ||
	    !string_identify(from, head->class_name_avma, &hash) ||
	    !string_identify(from, head->file_avma, &hash))
		return 0;
	hash = sw_mix64(hash ^ ((uint64_t) head->line_start << 32 | head->line_end));
	hash = sw_mix64(hash ^ head->opcodes_avma);
	return sw_mix64(hash ^ head->n_opcodes) | 1;
}

static char *function_name(struct sw_php_copied *c, const struct sw_php_copied_source *from,
			   const struct head *head, bool outermost)
{
	struct text name, class_name;
	char both[2 * SW_PHP_STRING_MAX + 2];
	if (head->type == SW_PHP_EVAL_CODE || head->name_avma == 0)
		return sw_arena_strdup(&c->arena, head->type == SW_PHP_EVAL_CODE ? "{eval}"
						  : outermost                    ? "{main}"
										 : "{include}");
	if (!string_read(from, head->name_avma, &name))
		return NULL;
	if (head->scope_avma == 0)
		return sw_arena_strdup(&c->arena, name.bytes);
	if (!string_read(from, head->class_name_avma, &class_name))
		return NULL;
	(void) snprintf(both, sizeof(both), "%s::%s", class_name.bytes, name.bytes); /* fits */
	return sw_arena_strdup(&c->arena, both);
}

/* SIZE_MAX: no memory. */
static size_t function_add(struct sw_php_copied *c, const struct sw_php_copied_source *from,
			   const struct head *head, uint64_t identity, bool outermost)
{
	struct text file;
	struct sw_php_copied_function *grown =
		sw_grow(c->functions, c->n_functions, &c->functions_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return SIZE_MAX;
	c->functions = grown;
	if (sw_map64_put(&c->by_identity, identity, c->n_functions) < 0)
		return SIZE_MAX;
	struct sw_php_copied_function *f = &grown[c->n_functions];
	*f = (struct sw_php_copied_function){.identity = identity,
					     .function = function_name(c, from, head, outermost),
					     .line_start = head->line_start,
					     .line_end = head->line_end};
	if (head->file_avma != 0 && string_read(from, head->file_avma, &file))
		f->file = sw_arena_strdup(&c->arena, file.bytes);
	return c->n_functions++;
}

/* The function of a call. SIZE_MAX: it is not known. */
static size_t function_get(struct sw_php_copied *c, const struct sw_php_copied_source *from,
			   const struct sw_php_call *call, bool outermost)
{
	uint8_t bytes[SW_PHP_FUNC_BYTES];
	struct head head;
	uint64_t index, avma = call->func_avma | outermost;
	size_t slot = (size_t) (sw_mix64(avma) % SW_PHP_COPIED_SEEN);
	if (c->seen[slot].function_avma == avma)
		return (size_t) c->seen[slot].index;
	if (!sw_memory_read(from->copied, call->func_avma, bytes, sizeof(bytes)))
		return SIZE_MAX;
	head_parse(from->layout, (struct sw_bytes){bytes, sizeof(bytes)}, &head);
	uint64_t identity = identity_of(from, &head, outermost);
	if (identity == 0)
		return SIZE_MAX;
	if (!sw_map64_get(&c->by_identity, identity, &index)) {
		index = function_add(c, from, &head, identity, outermost);
	} else if (c->functions[index].function == NULL) {
		/* The function's name could not be read when it was met first. */
		c->functions[index].function = function_name(c, from, &head, outermost);
	}
	if (index != SIZE_MAX) {
		c->seen[slot].function_avma = avma;
		c->seen[slot].index = index;
	}
	return (size_t) index;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Whether the function is still what the copy has: then its instructions have been its own all the time. */
static bool is_still(const struct sw_php_copied_source *from, const struct sw_php_call *call)
{
	uint8_t then[SW_PHP_FUNC_BYTES], now[SW_PHP_FUNC_BYTES];
	struct head a, b;
	if (!sw_memory_read(from->copied, call->func_avma, then, sizeof(then)) ||
	    !sw_memory_read(from->later, call->func_avma, now, sizeof(now)))
		return false;
	head_parse(from->layout, (struct sw_bytes){then, sizeof(then)}, &a);
	head_parse(from->layout, (struct sw_bytes){now, sizeof(now)}, &b);
	return a.type == b.type && a.name_avma == b.name_avma && a.scope_avma == b.scope_avma &&
	       a.file_avma == b.file_avma && a.line_start == b.line_start &&
	       a.line_end == b.line_end && a.opcodes_avma == b.opcodes_avma &&
	       a.n_opcodes == b.n_opcodes;
}

static void lines_read(struct sw_php_copied *c, const struct sw_php_copied_source *from,
		       const struct sw_php_call *call, struct sw_php_copied_function *f)
{
	uint64_t n = (call->opcodes_end_avma - call->opcodes_avma) / SW_PHP_OP_BYTES;
	f->tries++;
	if (n == 0 || n > INSTRUCTIONS_MAX)
		return;
	size_t size = (size_t) n * SW_PHP_OP_BYTES;
	sw_cleanup(sw_free_p) uint8_t *bytes = malloc(size);
	uint32_t *lines =
		bytes != NULL ? sw_arena_calloc(&c->arena, (size_t) n, sizeof(*lines)) : NULL;
	if (lines == NULL || !sw_memory_read(from->later, call->opcodes_avma, bytes, size) ||
	    !is_still(from, call))
		return;
	for (size_t i = 0; i < n; i++)
		(void) sw_bytes_u32((struct sw_bytes){bytes, size},
				    i * SW_PHP_OP_BYTES + SW_PHP_OP_LINE, &lines[i]); /* fits */
	f->lines = lines;
	f->n_lines = (uint32_t) n;
}

/* 0: not known. Where it is not known where the function is, but all of it is in one line, that is it. */
static uint32_t line_of(struct sw_php_copied *c, const struct sw_php_copied_source *from,
			const struct sw_php_call *call, struct sw_php_copied_function *f,
			uint64_t opline_avma)
{
	uint32_t only = f->line_start == f->line_end ? f->line_start : 0;
	if (opline_avma == 0 || call->type == SW_PHP_INTERNAL_FUNCTION)
		return only;
	if (f->lines == NULL && f->tries < TRIES_MAX)
		lines_read(c, from, call, f);
	uint64_t i = (opline_avma - call->opcodes_avma) / SW_PHP_OP_BYTES;
	return f->lines != NULL && i < f->n_lines ? f->lines[i] : only;
}

/* ---- what others call ------------------------------------------------------------------------ */

uint64_t sw_php_copied_cookie(struct sw_php_copied *c, const struct sw_php_copied_source *from,
			      const struct sw_php_call *call, uint64_t opline_avma, bool outermost)
{
	uint64_t found;
	size_t index = function_get(c, from, call, outermost);
	if (index == SIZE_MAX)
		return 0;
	struct sw_php_copied_function *f = &c->functions[index];
	uint32_t line = line_of(c, from, call, f, opline_avma);
	uint64_t key = (uint64_t) index << 32 | line;
	if (sw_map64_get(&c->by_spot, key + 1, &found))
		return found + 1;
	struct sw_php_copied_position *grown =
		sw_grow(c->positions, c->n_positions, &c->positions_capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return 0;
	c->positions = grown;
	if (sw_map64_put(&c->by_spot, key + 1, c->n_positions) < 0)
		return 0;
	c->positions[c->n_positions++] = (struct sw_php_copied_position){(uint32_t) index, line};
	return c->n_positions;
}

int sw_php_copied_names(const struct sw_php_copied *c, const struct sw_frame *frame,
			struct sw_description *ret)
{
	if (frame->cookie == 0 || frame->cookie > c->n_positions)
		return 0;
	const struct sw_php_copied_position *at = &c->positions[frame->cookie - 1];
	const struct sw_php_copied_function *f = &c->functions[at->function];
	if (f->function == NULL)
		return 0;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", f->function);
	(void) snprintf(ret->file, sizeof(ret->file), "%s", f->file != NULL ? f->file : "");
	ret->line = f->file != NULL ? at->line : 0;
	return 1;
}
