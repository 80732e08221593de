/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A JIT compiler that writes files, as runtimes do for perf: a perf map or a jitdump.
 *
 *	jit_files map [NAME]	code with frame pointers; names in /tmp/perf-PID.map, or in NAME
 *	jit_files dump DIR	code that uses rbp for other things; DIR/jit-PID.dump has names, lines
 *				and call frame information
 *
 * Its stack is "block, inner, outer, run, main".
 */
#include "jit_code.h"
#include "target.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>

enum { REGION_BYTES = 4096, HDR_BYTES = 20, CODE_ALIGN = 8 };

static uint8_t *region;

static NOINLINE void wait_here(struct step *rest)
{
	(void) rest;
	ready();
	block();
	KEEP();
}

static NOINLINE void run(void)
{
	struct step steps[] = {{NULL}, {wait_here}};
	void (*outer)(struct step *);
	void *code = region + CODE_BYTES, *inner = region;
	memcpy(&outer, &code, sizeof(outer));
	memcpy(&steps[0].call, &inner, sizeof(inner));
	outer(steps);
	KEEP();
}

/* An older line for the same code comes first, and the last one is cut. */
static void write_map(const char *name, size_t code_bytes)
{
	FILE *f = fopen(name, "we");
	if (f == NULL) {
		perror(name);
		exit(1);
	}
	fprintf(f, "%" PRIxPTR " %x old_code\n", (uintptr_t) region, REGION_BYTES);
	fprintf(f, "%" PRIxPTR " %zx map_inner\n", (uintptr_t) region, code_bytes);
	fprintf(f, "0x%" PRIxPTR " 0x%zx map_outer file.x:3\n", (uintptr_t) region + CODE_BYTES,
		code_bytes);
	fprintf(f, "%" PRIxPTR " %x cut", (uintptr_t) region, REGION_BYTES);
	fclose(f);
}

static void put_words(FILE *f, const uint64_t *words, size_t n)
{
	fwrite(words, sizeof(*words), n, f);
}

static void put_record(FILE *f, uint32_t kind, size_t bytes)
{
	uint32_t head[4] = {kind, (uint32_t) bytes + sizeof(head), 0, 0};
	fwrite(head, sizeof(head), 1, f);
}

/* .eh_frame as if it lay behind the code, at the next multiple of 8. */
static void put_unwinding(FILE *f, size_t code_bytes)
{
	uint8_t bytes[EH_CIE_BYTES + EH_FDE_BYTES + HDR_BYTES] = {0};
	uint64_t words[3] = {sizeof(bytes), HDR_BYTES, 0};
	uint32_t eh_frame_off = (uint32_t) ((code_bytes + CODE_ALIGN - 1) & -(size_t) CODE_ALIGN);
	eh_cie_write(bytes);
	eh_fde_write(bytes + EH_CIE_BYTES, bytes, bytes);
	put32(bytes + EH_CIE_BYTES + 8, 0 - (eh_frame_off + EH_CIE_BYTES + 8));
	put_record(f, 4, sizeof(words) + sizeof(bytes));
	put_words(f, words, 3);
	fwrite(bytes, sizeof(bytes), 1, f);
}

static void put_function(FILE *f, unsigned index, size_t code_bytes, const char *name)
{
	static const char file[] = "source.x";
	uint64_t start = (uint64_t) (uintptr_t) region + index * CODE_BYTES;
	uint64_t debug[2] = {start, 1}, entry[2] = {start, 10 * (index + 1)};
	uint64_t load[5] = {0, start, start, code_bytes, index};
	put_record(f, 2, sizeof(debug) + sizeof(entry) + sizeof(file));
	put_words(f, debug, 2);
	put_words(f, entry, 2);
	fwrite(file, sizeof(file), 1, f);
	put_unwinding(f, code_bytes);
	put_record(f, 0, sizeof(load) + strlen(name) + 1 + code_bytes);
	put_words(f, load, 5);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(region + index * CODE_BYTES, code_bytes, 1, f);
}

/* Mapped executable, so that it is found. */
static void write_dump(const char *directory, size_t code_bytes)
{
	char name[4096];
	static const uint32_t head[10] = {0x4a695444, 1, 40, 62};
	snprintf(name, sizeof(name), "%s/jit-%d.dump", directory, (int) getpid());
	FILE *f = fopen(name, "w+e");
	if (f == NULL) {
		perror(name);
		exit(1);
	}
	fwrite(head, sizeof(head), 1, f);
	put_function(f, 0, code_bytes, "dump_inner");
	put_function(f, 1, code_bytes, "dump_outer");
	fflush(f);
	if (mmap(NULL, REGION_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) ==
	    MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	printf("dump %s\n", name);
	fclose(f);
}

int main(int argc, char **argv)
{
	bool dump = argc > 2 && strcmp(argv[1], "dump") == 0;
	enum code_kind kind = dump ? CODE_EH_FRAME : CODE_FRAME_POINTER;
	char name[64];
	region = region_map(REGION_BYTES);
	(void) code_write(region, kind);
	size_t bytes = code_write(region + CODE_BYTES, kind);
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int) getpid());
	if (dump)
		write_dump(argv[2], bytes);
	else
		write_map(argc > 2 ? argv[2] : name, bytes);
	run();
	return 0;
}
