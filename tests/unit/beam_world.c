/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "beam_world.h"

#include <string.h>

void beam_world_put(struct beam_world *w, uint64_t avma, const void *bytes, size_t n)
{
	memcpy(w->data + (avma - BEAM_WORLD), bytes, n);
}

void beam_world_u64(struct beam_world *w, uint64_t avma, uint64_t value)
{
	beam_world_put(w, avma, &value, sizeof(value));
}

void beam_world_u32(struct beam_world *w, uint64_t avma, uint32_t value)
{
	beam_world_put(w, avma, &value, sizeof(value));
}

static uint64_t atom_put(struct beam_world *w, unsigned i, const char *text)
{
	uint64_t segment = BEAM_ATOMS + 0x200, atom = BEAM_ATOMS + 0x400 + 0x40 * i;
	uint64_t name = BEAM_ATOMS + 0x600 + 0x40 * i;
	int16_t length = (int16_t) strlen(text);
	beam_world_u64(w, segment + 8 * i, atom);
	beam_world_put(w, atom + w->beam.found.layout->atom_length, &length, sizeof(length));
	beam_world_u64(w, atom + w->beam.found.layout->atom_name, name);
	beam_world_put(w, name, text, (size_t) length);
	return (uint64_t) i << 6 | 0xb;
}

static void function_put(struct beam_world *w, unsigned i, uint64_t info, uint64_t name,
			 uint64_t arity)
{
	const struct sw_beam_layout *at = w->beam.found.layout;
	beam_world_u64(w, BEAM_MODULE + at->header_functions + 8 * i, info);
	beam_world_u64(w, info + at->info_mfa, 0 << 6 | 0xb);
	beam_world_u64(w, info + at->info_mfa + 8, name);
	beam_world_u64(w, info + at->info_mfa + 16, arity);
}

static void lines_put(struct beam_world *w)
{
	static const uint64_t addresses[] = {BEAM_F1 + 0x30, BEAM_F1 + 0x40, BEAM_F2 + 0x30,
					     BEAM_F2 + 0x50};
	static const uint32_t places[] = {10, 12, 0x12345, 0};
	static const char name[] = "c.erl";
	beam_world_u64(w, BEAM_MODULE + w->beam.found.layout->header_lines, BEAM_LINES);
	beam_world_u64(w, BEAM_LINES, BEAM_NAMES);
	beam_world_u64(w, BEAM_LINES + 8, 4);
	beam_world_u64(w, BEAM_LINES + 16, BEAM_PLACES);
	for (unsigned i = 0; i < 3; i++)
		beam_world_u64(w, BEAM_LINES + 24 + 8 * i, BEAM_ADDRESSES + 16 * i);
	beam_world_put(w, BEAM_ADDRESSES, addresses, sizeof(addresses));
	beam_world_put(w, BEAM_PLACES, places, sizeof(places));
	beam_world_u64(w, BEAM_NAMES, BEAM_NAME | 1);
	for (unsigned i = 0; i < sizeof(name) - 1; i++) {
		uint64_t cell = BEAM_NAME + 16 * i;
		beam_world_u64(w, cell, (uint64_t) name[i] << 4 | 0xf);
		beam_world_u64(w, cell + 8, i + 2 < sizeof(name) ? (cell + 16) | 1 : 0x3b);
	}
}

static void mfa_put(struct beam_world *w, uint64_t avma, unsigned name, uint64_t arity)
{
	beam_world_u64(w, avma, 0 << 6 | 0xb);
	beam_world_u64(w, avma + 8, (uint64_t) name << 6 | 0xb);
	beam_world_u64(w, avma + 16, arity);
}

static void process_put(struct beam_world *w, unsigned i)
{
	const struct sw_beam_layout *at = w->beam.found.layout;
	uint64_t process = BEAM_PROCESSES + BEAM_PROCESS_STRIDE * i,
		 stack = BEAM_STACKS + BEAM_STACK_STRIDE * i;
	const uint64_t words[BEAM_STACK_WORDS] = {0x1f, BEAM_F2 + 0x40, 0xdb, BEAM_F1 + 0x40,
						  BEAM_EXIT};
	beam_world_u64(w, BEAM_SLOTS + 8 * (1 + 3 * i), process); /* others are free */
	beam_world_u64(w, process, (uint64_t) (0x50 + i) << 4 | 0x3);
	beam_world_u64(w, process + at->process_stop, stack);
	beam_world_u64(w, process + at->process_hend, stack + sizeof(words));
	beam_world_u64(w, process + at->process_next, BEAM_F2 + 0x30);
	beam_world_u64(w, process + at->process_messages, i);
	mfa_put(w, process + at->process_initial, 1, 1);
	beam_world_put(w, stack, words, sizeof(words));
}

static void processes_put(struct beam_world *w)
{
	const struct sw_beam_layout *at = w->beam.found.layout;
	beam_world_u64(w, BEAM_TABLE + at->table_places, BEAM_SLOTS);
	beam_world_u32(w, BEAM_TABLE + at->table_n, BEAM_N_SLOTS);
	for (unsigned i = 0; i < BEAM_N_PROCESSES; i++)
		process_put(w, i);
	beam_world_u64(w, BEAM_PROCESSES + at->process_registered, BEAM_REGISTERED);
	beam_world_u64(w, BEAM_REGISTERED + 16, BEAM_PROCESSES);
	beam_world_u64(w, BEAM_REGISTERED + 32, 1 << 6 | 0xb);
	mfa_put(w, BEAM_MFA, 2, 2);
	for (unsigned kind = 0; kind < SW_BEAM_KINDS; kind++) {
		uint64_t scheduler = BEAM_SCHEDULERS + 0x100 * kind;
		w->beam.found.schedulers_svma[kind] = BEAM_VARIABLES + 16 * kind;
		w->beam.found.counts_svma[kind] = BEAM_VARIABLES + 16 * kind + 8;
		beam_world_u64(w, BEAM_VARIABLES + 16 * kind, scheduler);
		beam_world_u64(w, BEAM_VARIABLES + 16 * kind + 8, 1);
		beam_world_u64(w, scheduler + at->sched_tid, BEAM_FS_BASE + 0x1000 * kind);
		beam_world_u64(w, scheduler + at->sched_no, 1);
		beam_world_u64(w, scheduler + at->sched_dirty_no, 1);
	}
}

void beam_world_init(struct beam_world *w)
{
	uint32_t active = 1, n_atoms = 3;
	memset(w, 0, sizeof(*w));
	w->region = (struct fake_region){BEAM_WORLD, w->data, sizeof(w->data)};
	w->fake = (struct fake_memory){.regions = &w->region, .n_regions = 1};
	w->map = (struct sw_map){.start_avma = BEAM_MODULE,
				 .end_avma = BEAM_MODULE_END,
				 .prot = SW_MAP_READ | SW_MAP_EXEC,
				 .place = -1,
				 .path = ""};
	w->snap.priv = &w->priv;
	w->snap.maps = &w->map;
	w->snap.n_maps = 1;
	w->beam.snap = &w->snap;
	w->beam.memory = w->beam.live = fake_memory(&w->fake);
	w->beam.found = (struct sw_beam_found){.place = &w->place,
					       .layout = sw_beam_layout_of("25", "13.1.5"),
					       .release = "25",
					       .erts = "13.1.5",
					       .active_svma = BEAM_ACTIVE,
					       .ranges_svma = BEAM_LISTS,
					       .atoms_svma = BEAM_ATOMS,
					       .processes_svma = BEAM_TABLE};
	w->beam.exit_avma = BEAM_EXIT;
	w->beam.ids.known = true;
	beam_world_put(w, BEAM_ACTIVE, &active, sizeof(active));
	beam_world_u64(w, BEAM_LISTS + 32, BEAM_PAIRS);
	beam_world_u64(w, BEAM_LISTS + 40, 2);
	beam_world_u64(w, BEAM_PAIRS, 0x1000);
	beam_world_u64(w, BEAM_PAIRS + 8, 0x2000);
	beam_world_u64(w, BEAM_PAIRS + 16, BEAM_MODULE);
	beam_world_u64(w, BEAM_PAIRS + 24, BEAM_MODULE_END);
	beam_world_u64(w, BEAM_MODULE, 2);
	beam_world_put(w, BEAM_ATOMS + w->beam.found.layout->atoms_entries, &n_atoms,
		       sizeof(n_atoms));
	beam_world_u64(w, BEAM_ATOMS + w->beam.found.layout->atoms_segments, BEAM_ATOMS + 0x180);
	beam_world_u64(w, BEAM_ATOMS + 0x180, BEAM_ATOMS + 0x200);
	(void) atom_put(w, 0, "chain");
	function_put(w, 0, BEAM_F1, atom_put(w, 1, "f1"), 1);
	function_put(w, 1, BEAM_F2, atom_put(w, 2, "f2"), 2);
	lines_put(w);
	processes_put(w);
}
