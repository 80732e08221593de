/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Erlang's table of processes, and the processes in it, as anybody wrote them. The input is laid over a small
 * machine that is right, in parts: u16 offset / 4 | u8 length | bytes. Then all of them are copied as in the
 * window, listed and shown, and their frames named.
 */
#include "fuzz.h"
#include "beam_world.h"
#include "lay_over.h"

#include "runtimes/beam/all_processes.h"
#include "runtimes/beam/names.h"
#include "runtimes/beam/processes_window.h"
#include "runtimes/beam/window.h"

enum {
	READS_MAX = 400000,
	SHOWN_MAX = 64,
	FRAMES_MAX = 512,
};

static struct beam_world world;
static size_t copies;

/* Frames of one process, named as they come. */
struct naming_sink {
	struct sw_frame_sink sink;
	size_t n;
};

static bool frame_name(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	static struct sw_description d;
	struct naming_sink *s = (struct naming_sink *) sink;
	struct sw_frame frame = {.pc_avma = address_avma, .cookie = cookie};
	if (s->n++ < 4)
		(void) sw_beam_names(&world.beam, &frame, &d);
	return s->n < FRAMES_MAX;
}

static bool copy(struct sw_capture *c, uint64_t avma, size_t bytes, const uint8_t **ret_data)
{
	copies++;
	if (avma < BEAM_WORLD || bytes > BEAM_WORLD_BYTES ||
	    avma - BEAM_WORLD > BEAM_WORLD_BYTES - bytes)
		return false;
	*ret_data = world.data + (avma - BEAM_WORLD);
	return true;
}

static void copy_many(struct sw_capture *c, struct sw_capture_read *reads, size_t n)
{
	if (n > SW_CAPTURE_READS)
		__builtin_trap();
	for (size_t i = 0; i < n; i++) {
		const uint8_t *at;
		reads[i].ok = copy(c, reads[i].avma, reads[i].bytes, &at);
		if (reads[i].ok)
			reads[i].buffer = (void *) at;
	}
}

static void read_many(struct sw_capture *c, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		reads[i].ok = sw_memory_read(world.beam.memory, reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
}

static bool is_late(struct sw_capture *c)
{
	return false;
}

static void window_copy(void)
{
	static const struct sw_capture_ops ops = {.copy = copy,
						  .copy_many = copy_many,
						  .read_many = read_many,
						  .is_late = is_late};
	static struct sw_beam_window window;
	static void *found = &window;
	struct sw_capture capture = {.snap = &world.snap, .ops = &ops, .found = &found};
	window = (struct sw_beam_window){
		.found = world.beam.found,
		.capture = &capture,
		.pairs = world.data + (BEAM_PAIRS - BEAM_WORLD),
		.list = {BEAM_PAIRS, 2},
	};
	sw_beam_processes_copy(&capture, &window);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sw_thread thread = {.tid = 7, .fs_base = BEAM_FS_BASE, .captured = true};
	const char *why;
	beam_world_init(&world);
	world.snap.threads = &thread;
	world.snap.n_threads = 1;
	lay_over(world.data, sizeof(world.data), data, size);
	copies = 0;
	window_copy();
	size_t n = sw_beam_all_processes(&world.beam, &why);
	for (size_t i = 0; i < n && i < SHOWN_MAX; i++) {
		struct naming_sink sink = {.sink.add = frame_name};
		struct sw_runtime_task task = {0};
		(void) sw_beam_process_show(&world.beam, i, &task, &sink.sink);
	}
	sw_beam_all_processes_destroy(world.beam.processes);
	if (world.fake.reads > READS_MAX || copies > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	return 0;
}
