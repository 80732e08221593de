/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Function, file and line of code objects. Their heads are of the instant at which nothing changed; what
 * they lead to is read afterwards. It is theirs if they are still in use when it has been read: then
 * they were so all the time.
 */
#include "runtimes/cpython/names.h"
#include "runtimes/cpython/gil.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/lines.h"
#include "runtimes/cpython/thread_names.h"
#include "snapshot/live.h"

#include <stdio.h>
#include <string.h>

enum {
	BYTES_SIZE = 16, /* of a bytes object */
	BYTES_DATA = 32,
	TABLE_BYTES_MAX = 1 << 20,
};

struct sw_cpython_named {
	char *function, *file; /* the arena's; NULL: unknown */
	uint32_t first_line;
	struct sw_bytes lines;
};

static char *string_read(struct sw_cpython *c, uint64_t avma, char *buffer, size_t size)
{
	return sw_cpython_string(&c->at, c->memory, avma, buffer, size)
		       ? sw_arena_strdup(&c->arena, buffer)
		       : NULL;
}

static void table_read(struct sw_cpython *c, uint64_t avma, struct sw_bytes *ret)
{
	uint64_t size;
	avma += c->at.layout.head_more;
	if (!sw_memory_u64(c->memory, avma + BYTES_SIZE, &size) || size > TABLE_BYTES_MAX)
		return;
	uint8_t *data = sw_arena_alloc(&c->arena, (size_t) size);
	if (data != NULL && sw_memory_read(c->memory, avma + BYTES_DATA, data, (size_t) size))
		*ret = (struct sw_bytes){data, (size_t) size};
}

bool sw_cpython_code_describe(struct sw_cpython *c, const struct sw_cpython_code *code,
			      int64_t offset, struct sw_description *ret)
{
	struct sw_bytes lines = {0};
	*ret = (struct sw_description){0};
	if (!sw_cpython_string(&c->at, c->memory, code->function_avma, ret->function,
			       sizeof(ret->function)))
		return false;
	/* The file name and the line are left out if they cannot be read. */
	(void) sw_cpython_string(&c->at, c->memory, code->filename_avma, ret->file,
				 sizeof(ret->file));
	table_read(c, code->lines_avma, &lines);
	ret->line = sw_cpython_line(c->at.layout.minor, lines, code->first_line, offset);
	return true;
}

static struct sw_cpython_named *code_name(struct sw_cpython *c,
					  const struct sw_cpython_position *position)
{
	uint64_t avma = position->code_avma;
	struct sw_description buffer;
	struct sw_cpython_code code, now;
	size_t live_before = c->source.live_reads;
	if (!sw_cpython_code_read(&c->at, c->memory, avma, &code) ||
	    c->source.live_reads != live_before ||
	    sw_cpython_code_identity(&code) != position->code_identity)
		return NULL; /* it may have been another one then */
	struct sw_cpython_named *named = sw_arena_calloc(&c->arena, 1, sizeof(*named));
	if (named == NULL)
		return NULL;
	named->function =
		string_read(c, code.function_avma, buffer.function, sizeof(buffer.function));
	named->file = string_read(c, code.filename_avma, buffer.file, sizeof(buffer.file));
	named->first_line = code.first_line;
	table_read(c, code.lines_avma, &named->lines);
	if (c->source.live_reads != live_before && c->snap->live &&
	    (!sw_cpython_code_read(&c->at, sw_live_memory(c->snap), avma, &now) ||
	     !sw_cpython_code_is(&code, &now)))
		return NULL;
	return named->function != NULL ? named : NULL;
}

int sw_cpython_names(struct sw_cpython *c, const struct sw_frame *frame, struct sw_description *ret)
{
	uint64_t kept;
	if (frame->cookie == 0 || frame->cookie > c->n_positions)
		return 0;
	const struct sw_cpython_position *position = &c->positions[frame->cookie - 1];
	uint64_t key = position->code_avma ^ sw_mix64(position->code_identity);
	if (!sw_map64_get(&c->named, key, &kept)) {
		kept = (uintptr_t) code_name(c, position);
		(void) sw_map64_put(&c->named, key, kept); /* else read again */
	}
	const struct sw_cpython_named *named = (const struct sw_cpython_named *) (uintptr_t) kept;
	if (named == NULL)
		return 0;
	(void) snprintf(ret->function, sizeof(ret->function), "%s", named->function);
	if (named->file != NULL)
		(void) snprintf(ret->file, sizeof(ret->file), "%s", named->file);
	ret->line = sw_cpython_line(c->at.layout.minor, named->lines, named->first_line,
				    position->offset);
	return 1;
}

bool sw_cpython_thread_note(struct sw_cpython *c, const struct sw_thread *thread,
			    struct sw_thread_info *ret)
{
	uint64_t number;
	for (size_t i = 0; i < c->n_threads; i++) {
		const struct sw_cpython_thread *t = &c->threads[i];
		if (t->id != thread->fs_base || t->id == 0)
			continue;
		*ret = (struct sw_thread_info){.runtime = "cpython", .id = -1};
		if (c->at.layout.thread_number != SW_CPYTHON_NONE &&
		    sw_memory_u64(c->memory, t->avma + c->at.layout.thread_number, &number) &&
		    number <= INT32_MAX)
			ret->id = (int64_t) number;
		if (sw_cpython_gil_holder(c, t->interp_avma) == t->avma)
			ret->mode = "holds_gil";
		(void) sw_cpython_thread_name(c, t, ret->name, sizeof(ret->name)); /* else "" */
		return true;
	}
	return false;
}
