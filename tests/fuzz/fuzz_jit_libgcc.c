/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory whose bytes are the input: a list of libgcc begins there, or a tree, as the last byte says.
 * Threads are stopped where the input's first words say.
 */
#include "fuzz.h"
#include "jit_process.h"

#include <string.h>

enum { INPUT_MAX = 1 << 16, WORDS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t words[WORDS] = {0};
	if (size < sizeof(words) || size > INPUT_MAX)
		return 0;
	bool tree = data[size - 1] & 1;
	struct jit_process p = {.symbol = tree ? "registered_frames" : "unseen_objects",
				.symbol_bytes = tree ? 24 : 8,
				.data = data,
				.size = size};
	memcpy(words, data, sizeof(words));
	p.words[0] = JIT_PROCESS_HEAP + sizeof(words);
	for (size_t i = 0; i < JIT_PROCESS_THREADS; i++)
		p.starts[i] = words[i];
	for (size_t i = 0; i < JIT_PROCESS_STACK_WORDS; i++)
		p.stack[i] = i % 3 == 0 ? JIT_PROCESS_STACK + i * 8 : words[i % WORDS];
	jit_process_walk(&p);
	return 0;
}
