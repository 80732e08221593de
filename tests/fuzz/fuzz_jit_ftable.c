/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Registries of function tables. The input is the target's memory from BASE on, with the registry at
 * its start: once as a copy and once as a running process, in which every read also changes a byte.
 */
#include "fuzz.h"
#include "jit/ftable/source.h"
#include "fake.h"
#include "jit/ftable/read.h"
#include "jit/common/source.h"

enum { BASE = 0x10000, LOOKED_AT = 16 };

struct input {
	uint8_t *data; /* owned */
	size_t size, reads;
	bool changes;
};

static bool input_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct input *in = arg;
	if (avma < BASE || avma - BASE > in->size || length > in->size - (avma - BASE))
		return false;
	if (length == 0)
		return true;
	memcpy(buffer, in->data + (avma - BASE), length);
	if (in->changes && in->size > 0)
		in->data[in->reads++ * 31 % in->size]++;
	return true;
}

static void read_tables(struct input *in, bool running)
{
	static const struct sw_memory_ops ops = {.read = input_read};
	struct input empty = {0};
	struct sw_ftables t = {0};
	size_t left = SW_FTABLE_RECORDS_BYTES;
	if (sw_ftables_read((struct sw_memory){&ops, running ? &empty : in},
			    (struct sw_memory){running ? &ops : NULL, in}, BASE, &left, &t) == 0)
		for (size_t i = 0; i < t.n; i++) {
			check(t.all[i].start_avma < t.all[i].end_avma);
			check(t.all[i].kind >= SWFT_EH_FRAME && t.all[i].kind <= SWFT_DEFERRED);
			check(t.all[i].live == running);
		}
	sw_ftables_deinit(&t);
}

/* Through the source: what it finds is about the address. */
static void look(void *state, uint64_t avma)
{
	static struct sw_description name;
	struct sw_jit_entry entry = {0};
	struct sw_text text = {0};
	name = (struct sw_description){0};
	if (sw_jit_ftable.find(state, avma, &entry))
		check(entry.how <= SW_JIT_UNKNOWN);
	if (sw_jit_ftable.describe(state, avma, &name) == 1)
		check(name.function[0] != '\0');
	sw_jit_ftable.explain(state, avma, &text);
	sw_text_deinit(&text);
}

static void ask(const uint8_t *data, size_t size)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	struct sw_place *place =
		fake_snapshot_module(snap, SW_MODULE_ELF, "/x", 0, 0x1000, 0x2000, NULL, 0);
	const struct sw_jit_root root = {.avma = BASE, .place = place};
	struct sw_runtime runtime;
	void *state = NULL;
	fake_snapshot_range(snap, BASE, data, size);
	fake_snapshot_finish(snap);
	if (sw_jit_ftable.attach(snap, &root, 1, NULL, &state) == 0) {
		for (uint64_t i = 0; i < LOOKED_AT; i++)
			look(state, BASE + i * (size / LOOKED_AT + 1));
		(void) sw_jit_ftable.recognise(state, &runtime, 1);
		sw_jit_ftable.detach(state);
	}
	fake_snapshot_destroy(snap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.data = malloc(size + 1), .size = size};
	if (in.data == NULL)
		return 0;
	memcpy(in.data, data, size);
	read_tables(&in, false);
	in.changes = true;
	read_tables(&in, true);
	free(in.data);
	ask(data, size);
	return 0;
}
