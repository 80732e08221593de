/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code whose call frame information is registered with libgcc and nowhere else.
 *
 *	jit_libgcc OBJECT [TABLES [sorted]]
 *
 * TABLES are registered: that of the code that runs, and copies. sorted: an exception was looked for,
 * after which libgcc (<= 12) keeps the tables in another list, sorted.
 */
#include "symfile.h"

extern void __register_frame(void *begin);
extern void *_Unwind_FindEnclosingFunction(void *pc);

static void table_copy(const struct symfile *f)
{
	struct symfile copy = *f;
	copy.code = mmap(NULL, SYMFILE_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (copy.code == MAP_FAILED)
		symfile_die("mmap");
	__register_frame(symfile_eh_frame(&copy));
}

static NOINLINE void run(generated *code)
{
	code(block);
	KEEP();
}

int main(int argc, char **argv)
{
	struct symfile f;
	if (argc < 2)
		return 2;
	int tables = argc > 2 ? atoi(argv[2]) : 1;
	symfile_load(&f, argv[1]);
	for (int i = 1; i < tables; i += 2)
		table_copy(&f);
	__register_frame(symfile_eh_frame(&f));
	for (int i = 2; i < tables; i += 2)
		table_copy(&f);
	if (argc > 3)
		printf("found %p\n", _Unwind_FindEnclosingFunction(f.code + 1));
	expect_stack("block inner middle outer run main");
	ready();
	run(f.outer);
	return 0;
}
