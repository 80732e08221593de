/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Erlang's machine whose structures and code anybody wrote. The input is laid over a small one that is
 * right, in parts: u16 offset / 4 | u8 length | bytes. Then functions are named, and return addresses are
 * looked for from both of them, on the process's stack and from a C function's place.
 */
#include "fuzz.h"
#include "beam_world.h"
#include "lay_over.h"

#include "runtimes/beam/flow.h"
#include "runtimes/beam/names.h"

enum { READS_MAX = 200000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t places[] = {BEAM_F1 + 0x28, BEAM_F2 + 0x28, BEAM_F2 + 0x30};
	static struct beam_world w;
	static struct sw_description d;
	struct sw_beam_scheduler s;
	struct sw_beam_process p;
	beam_world_init(&w);
	lay_over(w.data, sizeof(w.data), data, size);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct sw_frame frame = {.pc_avma = places[i] + 0x19, .cookie = SW_BEAM_AT_CALL};
		struct sw_beam_flow flow = {.beam = &w.beam,
					    .memory = w.beam.memory,
					    .header_avma = BEAM_MODULE,
					    .pc_avma = places[i],
					    .in_c = i == 2,
					    .saved_known = true,
					    .saved_avma = BEAM_STACK,
					    .stop_avma = BEAM_STACK,
					    .sp_avma = BEAM_STACK};
		uint64_t slot, sp;
		(void) sw_beam_names(&w.beam, &frame, &d);
		(void) sw_beam_flow_return(&flow, &slot, &sp);
	}
	(void) sw_beam_scheduler_parse(w.beam.found.layout, SW_BEAM_NORMAL, w.data, 0x7000, &s);
	(void) sw_beam_process_parse(w.beam.found.layout, w.data, &p);
	if (w.fake.reads > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	return 0;
}
