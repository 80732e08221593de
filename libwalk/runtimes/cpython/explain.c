/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An address of the interpreter is explained: as an instruction, which is what frames have for
 * their pc, or as a code object. It is searched among what the threads execute; where instructions
 * are part of their code object (3.11 on), also by what stands before them. All is read while the
 * process runs: a result counts if the same is read once more at the end.
 */
#include "runtimes/cpython/explain.h"
#include "runtimes/cpython/functions.h"
#include "runtimes/cpython/names.h"
#include "runtimes/cpython/structures/code.h"
#include "snapshot/live.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <inttypes.h>
#include <string.h>

enum {
	OBJECT_TYPE = 8,
	OBJECT_SIZE = 16,
	INSTRUCTION_BYTES = 2,
	CODE_BYTES_MAX = 1 << 22, /* of its instructions */
	BACK_BYTES_MAX = 1 << 15, /* that are looked at before an address */
	BACK_PART_WORDS = 128,
};

/* A code object, where its instructions are. */
struct instructions {
	struct sw_cpython_code code;
	uint64_t start_avma, bytes;
};

static bool instructions_read(const struct sw_cpython *c, uint64_t code_avma,
			      const struct sw_cpython_frame *frame, struct instructions *ret)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	uint64_t sized = code_avma, n;
	if (!sw_cpython_code_read(&c->at, c->memory, code_avma, &ret->code) ||
	    !sw_cpython_code_start(&c->at, c->memory, &ret->code, frame, &ret->start_avma))
		return false;
	if (l->pairing == SW_CPYTHON_BY_CONTENT)
		sized = ret->code.instructions_avma;
	if (!sw_memory_u64(c->memory, sized + OBJECT_SIZE + l->head_more, &n) || n > CODE_BYTES_MAX)
		return false;
	ret->bytes = l->pairing == SW_CPYTHON_BY_CONTENT ? n : n * INSTRUCTION_BYTES;
	return true;
}

static bool is_within(const struct instructions *i, uint64_t avma)
{
	return avma - i->start_avma < i->bytes || avma == i->code.avma;
}

/* False: it has gone meanwhile. */
static bool instructions_put(struct sw_cpython *c, const struct instructions *i, uint64_t avma,
			     struct sw_text *text)
{
	struct sw_description d;
	struct sw_cpython_code now;
	bool inside = avma - i->start_avma < i->bytes;
	int64_t offset = inside ? (int64_t) (avma - i->start_avma) : -1;
	if (!sw_cpython_code_describe(c, &i->code, offset, &d) ||
	    (c->snap->live &&
	     (!sw_cpython_code_read(&c->at, sw_live_memory(c->snap), i->code.avma, &now) ||
	      !sw_cpython_code_is(&i->code, &now))))
		return false;
	sw_text_printf(text, "code object 0x%" PRIx64, i->code.avma);
	if (inside)
		sw_text_printf(text, ", bytecode offset %" PRId64 " of %" PRIu64, offset, i->bytes);
	sw_text_printf(text, ": %s", d.function);
	if (d.file[0] != '\0')
		sw_text_printf(text, " at %s:%" PRIu32, d.file,
			       inside ? d.line : i->code.first_line);
	sw_text_printf(text, ", CPython %s\n", c->at.version);
	return true;
}

/* Frames of this thread state; false: none has to do with the address. */
static bool thread_explain(struct sw_cpython *c, const struct sw_cpython_thread *thread,
			   uint64_t avma, struct sw_text *text)
{
	struct sw_cpython_chain *chain = &c->chain;
	sw_cpython_chain_reset(chain);
	c->thread = NULL; /* the chain is none of a thread that is walked */
	sw_cpython_chain_add(&c->at, c->memory, thread->avma, NULL, chain);
	for (size_t i = 0; i < chain->n_frames; i++) {
		const struct sw_cpython_frame *f = &chain->frames[i];
		struct instructions of;
		bool is_frame = f->avma == avma;
		if (!instructions_read(c, f->code_avma, f, &of) ||
		    (!is_frame && !is_within(&of, avma)))
			continue;
		if (is_frame)
			sw_text_printf(text, "frame, which executes ");
		return instructions_put(c, &of, is_frame ? f->code_avma : avma, text);
	}
	return false;
}

/* The code object before an address that has it among its instructions. */
static bool before_explain(struct sw_cpython *c, uint64_t avma, struct sw_text *text)
{
	const struct sw_cpython_layout *l = &c->at.layout;
	uint64_t words[BACK_PART_WORDS], type_off = OBJECT_TYPE + l->head_more;
	const struct sw_cpython_frame none = {0};
	for (uint64_t back = 0; back < BACK_BYTES_MAX && back + sizeof(words) < avma;
	     back += sizeof(words)) {
		uint64_t from = (avma & ~UINT64_C(7)) + 8 - back - sizeof(words);
		if (!sw_memory_read(c->memory, from, words, sizeof(words)))
			return false;
		for (size_t i = BACK_PART_WORDS; i > 0; i--) {
			struct instructions of;
			if (words[i - 1] == c->at.code_type_avma &&
			    instructions_read(c, from + 8 * (i - 1) - type_off, &none, &of))
				return is_within(&of, avma) && instructions_put(c, &of, avma, text);
		}
	}
	return false;
}

static void function_explain(const struct sw_cpython *c, uint64_t avma, struct sw_text *text)
{
	switch (sw_cpython_function(c->functions, avma - c->at.place->bias)) {
	case SW_CPYTHON_LOOP:
		sw_text_printf(text, "the loop of the interpreter, %s\n", c->at.version);
		break;
	case SW_CPYTHON_GLUE:
		sw_text_printf(text, "calls and starts functions, %s\n", c->at.version);
		break;
	case SW_CPYTHON_OTHER:
	case SW_CPYTHON_UNNAMED: break;
	}
}

void sw_cpython_explain(struct sw_cpython *c, uint64_t avma, struct sw_text *text)
{
	const struct sw_place *place = c->at.place;
	if (!c->usable)
		return;
	if (avma >= place->start_avma && avma < place->end_avma) {
		function_explain(c, avma, text);
		return;
	}
	for (size_t i = 0; i < c->n_threads; i++)
		if (thread_explain(c, &c->threads[i], avma, text))
			return;
	if (c->at.layout.pairing != SW_CPYTHON_BY_CONTENT)
		(void) before_explain(c, avma, text); /* none: it is something else */
}
