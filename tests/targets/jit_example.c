/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An example of a JIT compiler that registers its code by <snapwalk/ftable.h>: every kind of table,
 * symbols, growth, a table that comes later. Each thread runs two functions of one kind and waits in
 * the inner one's call, so that a stack is
 *
 *	block, KIND_inner, KIND_outer, run
 *
 * The code of most kinds uses rbp for other things: without its table the way out is lost. Prints
 * "jit TID INNER OUTER" for each thread.
 *
 *	jit_example [before]	before: the deferred table is not there yet when it waits
 */
#include "jit_code.h"
#include "target.h"

#include <pthread.h>
#include <stdbool.h>

enum { REGION_BYTES = 16384, TABLES_OFF = 8192, NAMES_BYTES = 64 };

struct jit {
	const char *kind;
	void (*compile)(struct jit *jit);
	uint8_t *region;	      /* code; its tables begin at TABLES_OFF */
	struct swft_symbol symbols[2];
	char names[NAMES_BYTES];
	struct swft_table *table;
};

static bool before;
static pthread_barrier_t running;

/* Two functions of one form, inner first; their symbols and names. */
static struct swft_desc emit(struct jit *jit, enum code_kind form, enum swft_kind kind)
{
	static const char *const functions[] = {"inner", "outer"};
	struct swft_desc d;
	size_t names = sizeof("example.jit");
	memset(&d, 0, sizeof(d));
	memcpy(jit->names, "example.jit", names);
	for (unsigned i = 0; i < 2; i++) {
		jit->symbols[i].offset = i * CODE_BYTES;
		jit->symbols[i].bytes = (uint32_t) code_write(jit->region + i * CODE_BYTES, form);
		jit->symbols[i].name = (uint32_t) names;
		jit->symbols[i].file = 0;
		jit->symbols[i].line = 10 * (i + 1);
		names += 1 + (size_t) snprintf(jit->names + names, sizeof(jit->names) - names,
					       "%s_%s", jit->kind, functions[i]);
	}
	d.kind = kind;
	d.start = jit->region;
	d.bytes = 2 * CODE_BYTES;
	d.symbols = jit->symbols;
	d.n_symbols = 2;
	d.names = jit->names;
	d.names_bytes = names;
	return d;
}

/* Code that never pushes anything but a fixed number of bytes. */
static void compile_fixed(struct jit *jit)
{
	struct swft_desc d = emit(jit, CODE_FIXED, SWFT_FIXED);
	d.cfa_offset = FIXED_FRAME;
	jit->table = swft_add(&d);
}

/* Code that keeps frame pointers: the range says all. */
static void compile_frame_pointer(struct jit *jit)
{
	struct swft_desc d = emit(jit, CODE_FRAME_POINTER, SWFT_FRAME_POINTER);
	jit->table = swft_add(&d);
}

static size_t write_eh_frame(struct jit *jit)
{
	uint8_t *cie = jit->region + TABLES_OFF, *fde = cie + EH_CIE_BYTES;
	eh_cie_write(cie);
	eh_fde_write(fde, cie, jit->region);
	eh_fde_write(fde + EH_FDE_BYTES, cie, jit->region + CODE_BYTES);
	return EH_CIE_BYTES + 2 * EH_FDE_BYTES;
}

/* A table that grows: at first there is the entry of one function, then that of the other. */
static void compile_eh_frame(struct jit *jit)
{
	struct swft_desc d = emit(jit, CODE_EH_FRAME, SWFT_EH_FRAME);
	size_t bytes = write_eh_frame(jit), names = d.names_bytes;
	d.data = jit->region + TABLES_OFF;
	d.count = bytes - EH_FDE_BYTES;
	d.n_symbols = 1;
	d.names_bytes = jit->symbols[1].name;
	jit->table = swft_add(&d);
	swft_grow(jit->table, bytes, 0, 2, names);
}

/* Tables of x64 Windows: addresses from a base, in front of the code here. */
static void compile_runtime_function(struct jit *jit)
{
	struct swft_desc d = emit(jit, CODE_RUNTIME_FUNCTION, SWFT_RUNTIME_FUNCTION);
	uint8_t *info = jit->region + TABLES_OFF, *entries = info + UNWIND_INFO_BYTES;
	unwind_info_write(info);
	for (uint32_t i = 0; i < 2; i++) {
		put32(entries + 12 * i, i * CODE_BYTES);
		put32(entries + 12 * i + 4, i * CODE_BYTES + jit->symbols[i].bytes);
		put32(entries + 12 * i + 8, TABLES_OFF);
	}
	d.base = jit->region;
	d.data = entries;
	d.count = 2;
	d.info = info;
	d.info_bytes = UNWIND_INFO_BYTES;
	jit->table = swft_add(&d);
}

/* The code runs, and its table is written only when somebody has time for it. */
static void compile_deferred(struct jit *jit)
{
	struct swft_desc d = emit(jit, CODE_EH_FRAME, SWFT_DEFERRED);
	d.format = SWFT_FORMAT_EH_FRAME;
	jit->table = swft_add(&d);
	if (!before)
		swft_fill(jit->table, jit->region + TABLES_OFF, write_eh_frame(jit));
}

static struct jit jits[] = {
	{.kind = "fixed", .compile = compile_fixed},
	{.kind = "frame_pointer", .compile = compile_frame_pointer},
	{.kind = "eh_frame", .compile = compile_eh_frame},
	{.kind = "runtime_function", .compile = compile_runtime_function},
	{.kind = "deferred", .compile = compile_deferred},
};

enum { JITS = sizeof(jits) / sizeof(jits[0]) };

/* The function that the generated code calls. */
static NOINLINE void wait_here(struct step *rest)
{
	(void) rest;
	pthread_barrier_wait(&running);
	block();
	KEEP();
}

static NOINLINE void run(struct jit *jit)
{
	struct step steps[] = {{NULL}, {wait_here}, {NULL}};
	void (*outer)(struct step *);
	void *code = jit->region + CODE_BYTES, *inner = jit->region;
	memcpy(&outer, &code, sizeof(outer));
	memcpy(&steps[0].call, &inner, sizeof(inner));
	outer(steps);
	KEEP();
}

static void *thread(void *arg)
{
	struct jit *jit = arg;
	char functions[2 * NAMES_BYTES];
	snprintf(functions, sizeof(functions), "%s_inner %s_outer", jit->kind, jit->kind);
	printf("jit %ld %s\n", syscall(SYS_gettid), functions);
	run(jit);
	return NULL;
}

int main(int argc, char **argv)
{
	before = argc > 1 && strcmp(argv[1], "before") == 0;
	pthread_barrier_init(&running, NULL, JITS + 1);
	for (unsigned i = 0; i < JITS; i++) {
		pthread_t id;
		jits[i].region = region_map(REGION_BYTES);
		jits[i].compile(&jits[i]);
		if (jits[i].table == NULL || pthread_create(&id, NULL, thread, &jits[i]) != 0)
			return 1;
	}
	pthread_barrier_wait(&running);
	ready();
	block();
	return 0;
}
