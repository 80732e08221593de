/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Generated code that is published through the GDB JIT interface and nowhere else.
 *
 *	jit_gdb OBJECT [ENTRIES [churn]]
 *
 * ENTRIES are published: the code that runs, copies of it for other addresses, one that is no ELF
 * file (as the BEAM's) and one without code (as numba's). churn: another thread goes on publishing, in
 * front and behind, and taking out again, as fast as it can; what it frees is overwritten.
 */
#include "symfile.h"

#include <pthread.h>

struct jit_descriptor __jit_debug_descriptor = {.version = 1};

static struct jit_entry *publish(const uint8_t *symfile, size_t size)
{
	struct jit_entry *e = malloc(sizeof(*e));
	if (e == NULL)
		symfile_die("malloc");
	*e = (struct jit_entry){.next = __jit_debug_descriptor.first,
				.symfile = symfile,
				.size = size};
	if (e->next != NULL)
		e->next->previous = e;
	__jit_debug_descriptor.relevant = e;
	__jit_debug_descriptor.first = e;
	return e;
}

static void withdraw(struct jit_entry *e)
{
	if (e->previous != NULL)
		e->previous->next = e->next;
	else
		__jit_debug_descriptor.first = e->next;
	if (e->next != NULL)
		e->next->previous = e->previous;
	__jit_debug_descriptor.relevant = e;
	memset((void *) (uintptr_t) e->symfile, 0xaa, e->size);
	free((void *) (uintptr_t) e->symfile);
	memset(e, 0xaa, sizeof(*e));
	free(e);
}

/* A copy for code elsewhere. */
static uint8_t *copy_for(const struct symfile *f, uint64_t address, uint64_t bytes)
{
	uint8_t *copy = malloc(f->size);
	if (copy == NULL)
		symfile_die("malloc");
	memcpy(copy, f->bytes, f->size);
	Elf64_Shdr *text = symfile_section(copy, ".text");
	text->sh_addr = address;
	if (bytes == 0)
		text->sh_size = 0;
	return copy;
}

static void *churn(void *arg)
{
	struct jit_entry *kept[16] = {0};
	for (uint64_t i = 0; !released; i++) {
		struct jit_entry **e = &kept[i * 7 % 16];
		uint64_t address = 0x200000000000 + i % 64 * SYMFILE_PAGE;
		if (*e != NULL)
			withdraw(*e);
		*e = publish(copy_for(arg, address, 1), ((struct symfile *) arg)->size);
	}
	return NULL;
}

static NOINLINE void run(generated *code)
{
	code(block);
	KEEP();
}

int main(int argc, char **argv)
{
	static const uint8_t foreign[] = "not an ELF file, but the maker knows what it is";
	struct symfile f;
	if (argc < 2)
		return 2;
	int entries = argc > 2 ? atoi(argv[2]) : 3;
	symfile_load(&f, argv[1]);
	publish(foreign, sizeof(foreign));
	publish(copy_for(&f, (uint64_t) (uintptr_t) f.code, 0), f.size);
	for (int i = 3; i <= entries / 2; i++)
		publish(copy_for(&f, 0x100000000000 + (uint64_t) i * SYMFILE_PAGE, 1), f.size);
	publish(f.bytes, f.size);
	for (int i = entries / 2 < 3 ? 3 : entries / 2 + 1; i < entries; i++)
		publish(copy_for(&f, 0x100000000000 + (uint64_t) i * SYMFILE_PAGE, 1), f.size);
	expect_stack("block inner middle outer run main");
	pthread_t thread;
	if (argc > 3 && pthread_create(&thread, NULL, churn, &f) != 0)
		symfile_die("pthread_create");
	ready();
	run(f.outer);
	return 0;
}
