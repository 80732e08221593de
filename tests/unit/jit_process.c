/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit_process.h"
#include "arch/arch.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"
#include "walk/walker.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { SYMBOL = 0x1000, PROGRAM_BYTES = 0x2000 };

/* The smallest file with the variable: header, symbol, its names, section headers. */
static uint8_t *program_make(const char *name, size_t bytes, size_t *ret_size)
{
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Sym symbols[2];
		char names[64];
		Elf64_Shdr sections[4];
	} *p = calloc(1, sizeof(*p));
	if (p == NULL || strlen(name) + 2 > sizeof(p->names))
		abort();
	p->ehdr = (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT},
			       .e_type = ET_DYN,
			       .e_machine = EM_X86_64,
			       .e_version = EV_CURRENT,
			       .e_shoff = (uint64_t) ((uint8_t *) p->sections - (uint8_t *) p),
			       .e_shentsize = sizeof(Elf64_Shdr),
			       .e_shnum = 4};
	p->symbols[1] = (Elf64_Sym){.st_name = 1,
				    .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
				    .st_shndx = 3,
				    .st_value = SYMBOL,
				    .st_size = bytes};
	memcpy(p->names + 1, name, strlen(name));
	p->sections[1] =
		(Elf64_Shdr){.sh_type = SHT_SYMTAB,
			     .sh_offset = (uint64_t) ((uint8_t *) p->symbols - (uint8_t *) p),
			     .sh_size = sizeof(p->symbols),
			     .sh_link = 2};
	p->sections[2] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB,
			     .sh_offset = (uint64_t) ((uint8_t *) p->names - (uint8_t *) p),
			     .sh_size = sizeof(p->names)};
	p->sections[3] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_WRITE};
	*ret_size = sizeof(*p);
	return (uint8_t *) p;
}

/* All memory is executable: what is tried is tables, not maps. */
static void maps_fill(struct sw_snapshot *snap)
{
	snap->maps[0] = (struct sw_map){.start_avma = 0x1000,
					.end_avma = JIT_PROCESS_PROGRAM,
					.prot = SW_MAP_EXEC,
					.place = -1,
					.path = ""};
	snap->maps[1] = (struct sw_map){.start_avma = JIT_PROCESS_PROGRAM,
					.end_avma = JIT_PROCESS_PROGRAM + PROGRAM_BYTES,
					.prot = SW_MAP_READ | SW_MAP_EXEC,
					.path = "/bin/jit"};
	snap->maps[2] = (struct sw_map){.start_avma = JIT_PROCESS_PROGRAM + PROGRAM_BYTES,
					.end_avma = INT64_MAX,
					.prot = SW_MAP_READ | SW_MAP_WRITE | SW_MAP_EXEC,
					.place = -1,
					.path = ""};
	snap->n_maps = 3;
}

static void thread_fill(struct sw_snapshot *snap, uint64_t pc, const uint64_t *stack)
{
	size_t i = snap->n_threads;
	struct sw_thread *t = &snap->threads[snap->n_threads++];
	t->tid = (pid_t) i + 1;
	t->captured = true;
	t->stack_avma = JIT_PROCESS_STACK;
	t->stack_end_avma = JIT_PROCESS_STACK + JIT_PROCESS_STACK_WORDS * 8;
	t->stack_bytes = JIT_PROCESS_STACK_WORDS * 8;
	t->stack = (const uint8_t *) stack;
	for (unsigned r = 0; r < SW_ARCH_RA; r++)
		sw_regs_set(&t->regs, r, JIT_PROCESS_STACK + 8 * r * (i + 1));
	sw_regs_set(&t->regs, SW_ARCH_SP, JIT_PROCESS_STACK + 16 * i);
	sw_regs_set(&t->regs, SW_ARCH_RA, pc);
}

static void walk(struct sw_snapshot *snap)
{
	static const struct sw_walk_options options = {.max_frames = 16};
	struct sw_walks *walks;
	struct sw_description *d = malloc(sizeof(*d));
	if (d == NULL || sw_walk_all(snap, &options, &walks, NULL) < 0)
		abort();
	for (size_t i = 0; i < walks->n_walks; i++) {
		char *text = NULL;
		for (size_t k = 0; k < walks->walks[i].n_frames; k++)
			(void) sw_walk_describe(walks, &walks->walks[i].frames[k], d);
		if (sw_explain(snap, walks->walks[i].frames[0].pc_avma, &text, NULL) == 0)
			free(text);
	}
	sw_walks_destroy(walks);
	free(d);
}

void jit_process_walk(const struct jit_process *p)
{
	struct sw_context *ctx = NULL;
	struct sw_snapshot *snap = NULL;
	struct sw_module *module;
	size_t bytes;
	uint8_t *program = program_make(p->symbol, p->symbol_bytes, &bytes);
	if (sw_context_create(&ctx, NULL) < 0 || sw_snapshot_create(ctx, &snap, NULL) < 0 ||
	    sw_context_module_memory(ctx, SW_MODULE_ELF, "/bin/jit", false, program, bytes, NULL,
				     &module) < 0)
		abort();
	struct sw_arena *arena = &snap->priv->arena;
	snap->maps = sw_arena_calloc(arena, 3, sizeof(*snap->maps));
	snap->places = sw_arena_calloc(arena, 1, sizeof(*snap->places));
	snap->threads = sw_arena_calloc(arena, JIT_PROCESS_THREADS, sizeof(*snap->threads));
	snap->ranges = sw_arena_calloc(arena, 2, sizeof(*snap->ranges));
	if (snap->maps == NULL || snap->places == NULL || snap->threads == NULL ||
	    snap->ranges == NULL)
		abort();
	maps_fill(snap);
	snap->places[0] = (struct sw_place){.module = module,
					    .start_avma = JIT_PROCESS_PROGRAM,
					    .end_avma = JIT_PROCESS_PROGRAM + PROGRAM_BYTES,
					    .bias = JIT_PROCESS_PROGRAM,
					    .resolved = 1};
	snap->n_places = 1;
	snap->ranges[0] = (struct sw_range){JIT_PROCESS_PROGRAM + SYMBOL, p->symbol_bytes,
					    (const uint8_t *) p->words};
	snap->ranges[1] = (struct sw_range){JIT_PROCESS_HEAP, p->size, p->data};
	snap->n_ranges = 2;
	for (size_t i = 0; i < JIT_PROCESS_THREADS; i++)
		thread_fill(snap, p->starts[i], p->stack);
	sw_snapshot_index(snap);
	walk(snap);
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
}
