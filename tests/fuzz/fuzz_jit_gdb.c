/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A symfile whose bytes are the input is published by a list at the input's end, and threads are
 * stopped in the code that it says it describes.
 */
#include "fuzz.h"
#include "jit_process.h"
#include "jit/gdb/symfile.h"

#include <string.h>

enum { LIST_BYTES = 128, INPUT_MAX = 1 << 16 };

static uint64_t list_word(const struct jit_process *p, size_t index)
{
	uint64_t word = 0;
	if (p->size >= LIST_BYTES)
		memcpy(&word, p->data + p->size - LIST_BYTES + index * 8, sizeof(word));
	return word;
}

struct starts {
	uint64_t *avma;
	size_t n;
};

static bool start_note(void *arg, struct sw_jit_code code)
{
	struct starts *s = arg;
	s->avma[s->n++] = code.start_avma + (code.end_avma - code.start_avma) / 2;
	return s->n < JIT_PROCESS_THREADS;
}

static bool input_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct jit_process *p = arg;
	uint64_t at = avma - JIT_PROCESS_HEAP;
	if (avma < JIT_PROCESS_HEAP || at > p->size || length > p->size - at)
		return false;
	memcpy(buffer, p->data + at, length);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sw_memory_ops ops = {.read = input_read};
	struct jit_process p = {.symbol = "__jit_debug_descriptor",
				.symbol_bytes = 24,
				.data = data,
				.size = size};
	struct starts starts = {.avma = p.starts};
	size_t budget = 1 << 20;
	if (size > INPUT_MAX)
		return 0;
	p.words[0] = 1; /* the version */
	p.words[2] = list_word(&p, 0);
	for (size_t i = 0; i < JIT_PROCESS_THREADS; i++)
		p.starts[i] = JIT_PROCESS_HEAP + i * 0x1000;
	(void) sw_jit_symfile_codes((struct sw_memory){&ops, &p}, JIT_PROCESS_HEAP, size, &budget,
				    start_note, &starts); /* else these stay */
	for (size_t i = 0; i < JIT_PROCESS_STACK_WORDS; i++)
		p.stack[i] = i % 3 == 0 ? JIT_PROCESS_STACK + i * 8 : list_word(&p, i % 16);
	jit_process_walk(&p);
	return 0;
}
