/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the frames of a virtual thread are that no thread carries:
 *
 *	VirtualThread.cont -> Continuation.tail -> StackChunk.parent -> ...
 *
 *	a chunk		fields of the object | words of a stack, of which [sp, bottom) are in use
 *
 * The stack is as it was, with addresses in it that are counted in words from where they stand: the interpreter's links to the
 * caller's frame, to the caller's sp and to its own variables.
 *
 *	at s		[s - 8] return address into the frame that begins at s, [s - 16] its fp, if it is the interpreter's
 *	compiled	the next one begins at s + the size of its frame
 *	interpreted	fp - 24 method, fp - 64 bytecode, fp - 56 variables, fp - 8 the caller's sp, fp + 8 return address
 *
 * Source: src/java.base/share/classes/jdk/internal/vm/StackChunk.java, src/hotspot/share/oops/stackChunkOop.hpp,
 * src/hotspot/share/runtime/stackChunkFrameStream.inline.hpp of jdk-25.0.3.
 */
#include "runtimes/hotspot/virtual/chunk.h"
#include "cleanup.h"
#include "runtimes/hotspot/structures/code.h"
#include "runtimes/hotspot/structures/fields.h"

#include <stdlib.h>
#include <string.h>

enum {
	CHUNKS_MAX = 64,
	WORDS_MAX = 1 << 17, /* of one */
	FRAMES_MAX = 4096,
	LAYOUT_FLAGS = 7, /* of Klass._layout_helper, whose rest is the size of an object */
	METHOD_OFF = -24,
	BCP_OFF = -64,
	LOCALS_OFF = -56,
	SENDER_SP_OFF = -8,
	RETURN_OFF = 8,
};

struct chunk {
	uint64_t start_avma; /* of its stack */
	uint32_t size, sp, bottom;
	uint64_t parent;
	uint64_t *words; /* owned */
};

struct reading {
	struct sw_hotspot *h;
	const struct sw_hotspot_objects *o;
	struct sw_memory m;
	uint64_t good_mask;
	sw_hotspot_chunk_frame_fn *fn;
	void *arg;
	size_t n_frames;
	bool enough;
};

static bool pointer(const struct reading *r, uint64_t object, const char *klass_name,
		    const char *name, const char *signature, uint64_t *ret)
{
	struct sw_hotspot_field field = {name, signature, SW_HOTSPOT_NONE};
	uint64_t klass = sw_hotspot_class_of(r->o, r->m, object);
	klass = klass != 0 ? sw_hotspot_class_named(r->h, klass, klass_name) : 0;
	if (klass == 0)
		return false;
	sw_hotspot_fields_find(r->h, klass, &field, 1);
	return field.offset != SW_HOTSPOT_NONE &&
	       sw_hotspot_pointer_current(r->o, r->good_mask, r->m,
					  object + (uint64_t) field.offset, ret);
}

static bool head_read(const struct reading *r, uint64_t object, struct chunk *ret)
{
	struct sw_hotspot_field fields[] = {{"sp", "I", SW_HOTSPOT_NONE},
					    {"bottom", "I", SW_HOTSPOT_NONE},
					    {"size", "I", SW_HOTSPOT_NONE}};
	uint64_t klass = sw_hotspot_class_of(r->o, r->m, object);
	uint32_t bytes;
	if (klass == 0 ||
	    sw_hotspot_class_named(r->h, klass, "jdk/internal/vm/StackChunk") != klass)
		return false;
	sw_hotspot_fields_find(r->h, klass, fields, SW_ARRAY_SIZE(fields));
	if (!sw_hotspot_u32(r->m, object, fields[0].offset, &ret->sp) ||
	    !sw_hotspot_u32(r->m, object, fields[1].offset, &ret->bottom) ||
	    !sw_hotspot_u32(r->m, object, fields[2].offset, &ret->size) ||
	    !sw_hotspot_u32(r->h->memory, klass, r->h->at.klass_layout, &bytes) ||
	    ret->sp > ret->bottom || ret->bottom > ret->size || ret->size > WORDS_MAX ||
	    !pointer(r, object, "jdk/internal/vm/StackChunk", "parent",
		     "Ljdk/internal/vm/StackChunk;", &ret->parent))
		return false;
	ret->start_avma = object + (bytes & ~(uint32_t) LAYOUT_FLAGS);
	return true;
}

static bool words_read(const struct reading *r, struct chunk *c)
{
	c->words = calloc((size_t) c->size + 1, sizeof(*c->words));
	return c->words != NULL &&
	       sw_memory_read(r->m, c->start_avma, c->words, c->size * sizeof(*c->words));
}

/* The same head and the same words, when they are read again. */
static bool is_still(const struct reading *r, uint64_t object, const struct chunk *c)
{
	struct chunk again = {0};
	bool same = head_read(r, object, &again) && again.start_avma == c->start_avma &&
		    again.sp == c->sp && again.bottom == c->bottom && again.size == c->size &&
		    again.parent == c->parent && words_read(r, &again) &&
		    memcmp(again.words, c->words, c->size * sizeof(*c->words)) == 0;
	free(again.words);
	return same;
}

static bool word(const struct chunk *c, uint64_t avma, uint64_t *ret)
{
	uint64_t index = (avma - c->start_avma) / 8;
	if (avma < c->start_avma || avma % 8 != 0 || index >= c->size)
		return false;
	*ret = c->words[index];
	return true;
}

/* An address that is counted in words from another one. */
static bool relative(const struct chunk *c, uint64_t from, uint64_t avma, uint64_t *ret)
{
	uint64_t n;
	if (!word(c, avma, &n))
		return false;
	*ret = from + 8 * n;
	return true;
}

/* *ret_last: its variables are the last thing on the stack of the chunk. */
static bool interpreted_step(struct reading *r, const struct chunk *c, uint64_t *s, uint64_t *pc,
			     bool *ret_last)
{
	uint64_t fp, method, bcp, locals, end = c->start_avma + 8 * (uint64_t) c->bottom;
	if (!relative(c, *s - 16, *s - 16, &fp) || fp <= *s - 16 ||
	    !word(c, fp + (uint64_t) METHOD_OFF, &method) ||
	    !word(c, fp + (uint64_t) BCP_OFF, &bcp) ||
	    !relative(c, fp, fp + (uint64_t) LOCALS_OFF, &locals))
		return false;
	r->enough = !r->fn(r->arg, *pc, method, bcp);
	*ret_last = locals + 8 >= end;
	if (*ret_last)
		return true;
	if (!word(c, fp + RETURN_OFF, pc))
		return false;
	const struct sw_hotspot_blob *caller = sw_hotspot_blob_at(r->h, *pc);
	if (caller == NULL)
		return false;
	if (caller->kind == SW_HOTSPOT_INTERPRETER) {
		*s = fp + 16;
		return true;
	}
	return relative(c, fp, fp + (uint64_t) SENDER_SP_OFF, s) && *s > fp;
}

static bool compiled_step(struct reading *r, const struct chunk *c,
			  const struct sw_hotspot_blob *blob, uint64_t *s, uint64_t *pc)
{
	uint64_t original;
	if (blob->frame_bytes == 0 || blob->frame_bytes % 8 != 0)
		return false;
	if (sw_hotspot_is_deopt_handler(blob, *pc) && blob->orig_pc_off >= 0 &&
	    word(c, *s + (uint64_t) blob->orig_pc_off, &original) && original >= blob->code_avma &&
	    original < blob->code_end_avma)
		*pc = original;
	/* Stubs by which a thread leaves say nothing. */
	if (blob->kind == SW_HOTSPOT_COMPILED || blob->kind == SW_HOTSPOT_NATIVE)
		r->enough = !r->fn(r->arg, *pc, 0, 0);
	*s += blob->frame_bytes;
	return true;
}

static bool chunk_walk(struct reading *r, const struct chunk *c)
{
	uint64_t s = c->start_avma + 8 * (uint64_t) c->sp, pc;
	uint64_t end = c->start_avma + 8 * (uint64_t) c->bottom;
	if (s == end)
		return true; /* it is empty */
	if (!word(c, s - 8, &pc))
		return false;
	while (s < end && !r->enough) {
		const struct sw_hotspot_blob *blob = sw_hotspot_blob_at(r->h, pc);
		bool last = false;
		if (blob == NULL || ++r->n_frames > FRAMES_MAX)
			return false;
		if (blob->kind == SW_HOTSPOT_INTERPRETER) {
			if (!interpreted_step(r, c, &s, &pc, &last))
				return false;
			if (last)
				return true;
		} else if (!compiled_step(r, c, blob, &s, &pc) ||
			   (s < end && !word(c, s - 8, &pc))) {
			return false;
		}
	}
	return true;
}

bool sw_hotspot_chunk_frames(struct sw_hotspot *h, const struct sw_hotspot_thread_layout *layout,
			     struct sw_memory memory, uint64_t object,
			     sw_hotspot_chunk_frame_fn *fn, void *arg)
{
	struct sw_hotspot_collector collector;
	sw_hotspot_collector_read(&h->at, h->place->bias, &layout->objects, memory, &collector);
	struct reading r = {.h = h,
			    .o = &layout->objects,
			    .m = memory,
			    .good_mask = collector.good_mask,
			    .fn = fn,
			    .arg = arg};
	uint64_t continuation, chunk;
	if (collector.at_work ||
	    !pointer(&r, object, "java/lang/VirtualThread", "cont",
		     "Ljdk/internal/vm/Continuation;", &continuation) ||
	    !pointer(&r, continuation, "jdk/internal/vm/Continuation", "tail",
		     "Ljdk/internal/vm/StackChunk;", &chunk))
		return false;
	for (size_t i = 0; i < CHUNKS_MAX; i++) {
		struct chunk c = {0};
		if (chunk == 0 || r.enough)
			return r.n_frames > 0;
		bool ok = head_read(&r, chunk, &c) && words_read(&r, &c) && chunk_walk(&r, &c) &&
			  is_still(&r, chunk, &c);
		free(c.words);
		if (!ok)
			return false;
		chunk = c.parent;
	}
	return false;
}
