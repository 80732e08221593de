/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Registries of generated code that lie.
 *
 *	hostile_registries OBJECT HOW
 *
 * The code that runs is published nowhere, so that whoever looks for its tables asks them all.
 */
#include "symfile.h"

struct jit_descriptor __jit_debug_descriptor = {.version = 1};

/* The object of __register_frame_info(): gcc 12, unwind-dw2-fde.h; longer in no version. */
struct object {
	uint64_t pc_begin, tbase, dbase, what, flags;
	struct object *next;
	uint64_t spare[2];
};
extern void __register_frame_info(const void *begin, struct object *object);

enum {
	MANY = 70000,
	COPIES = 2000,
	COPIES_FEW = 60,
	COPIES_MANY = 2000,
	ARRAY = 4096,
	ARRAYS = 1000,
	COPY_BYTES = 1 << 20,
	WILD = 0x123456789000
};

extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden"))); /* the linker's */

static struct symfile file;
static uint32_t frame[8]
	__attribute__((aligned(8))) = {16}; /* an entry of 16 bytes, then the end */
static struct object objects[2];

static struct jit_entry *entries(size_t n, const void *symfile, uint64_t size)
{
	struct jit_entry *e = calloc(n, sizeof(*e));
	if (e == NULL)
		symfile_die("calloc");
	for (size_t i = 0; i < n; i++)
		e[i] = (struct jit_entry){.next = i + 1 < n ? &e[i + 1] : NULL,
					  .previous = i > 0 ? &e[i - 1] : NULL,
					  .symfile = symfile,
					  .size = size};
	__jit_debug_descriptor.first = e;
	__jit_debug_descriptor.relevant = e;
	return e;
}

static const void *wild(uint64_t address)
{
	return (const void *) (uintptr_t) address;
}

/* A file whose code is said to be everywhere, and whose tables are garbage. */
static void everywhere(size_t n)
{
	Elf64_Shdr *text = symfile_section(file.bytes, ".text");
	Elf64_Shdr *table = symfile_section(file.bytes, ".eh_frame");
	text->sh_addr = 1;
	text->sh_size = UINT64_MAX - 1;
	memset(file.bytes + table->sh_offset + 4, 0xa5, table->sh_size - 4);
	entries(n, file.bytes, file.size);
}

static void headers_lie(void)
{
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *) file.bytes;
	ehdr->e_shnum = 65535;
	entries(MANY / 2, file.bytes, file.size);
}

/* The last word of the last entry is behind the end of the memory. */
static void torn(void)
{
	uint8_t *page = mmap(NULL, 2 * SYMFILE_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || munmap(page + SYMFILE_PAGE, SYMFILE_PAGE) < 0)
		symfile_die("mmap");
	entries(2, file.bytes, file.size)[1].next =
		(struct jit_entry *) (void *) (page + SYMFILE_PAGE - 24);
}

/* Make a further copy of the program, as far as it is mapped from its file. */
static void copy_make(int fd, const Elf64_Phdr *phdrs, size_t n)
{
	size_t at = (size_t) ((const uint8_t *) &__jit_debug_descriptor - __ehdr_start);
	uint8_t *copy = mmap(NULL, COPY_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < n && copy != MAP_FAILED; i++) {
		size_t down = phdrs[i].p_vaddr % SYMFILE_PAGE;
		int prot = phdrs[i].p_flags & PF_X   ? PROT_READ | PROT_EXEC
			   : phdrs[i].p_flags & PF_W ? PROT_READ | PROT_WRITE
						     : PROT_READ;
		if (phdrs[i].p_type == PT_LOAD &&
		    mmap(copy + phdrs[i].p_vaddr - down, phdrs[i].p_filesz + down, prot,
			 MAP_PRIVATE | MAP_FIXED, fd,
			 (off_t) (phdrs[i].p_offset - down)) == MAP_FAILED)
			symfile_die("mmap");
	}
	if (copy == MAP_FAILED)
		symfile_die("mmap");
	memcpy(copy + at, &__jit_debug_descriptor, sizeof(__jit_debug_descriptor));
}

/* Each has a descriptor that leads to the same list. */
static void copies(size_t n_entries)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *) (const void *) __ehdr_start;
	const Elf64_Phdr *phdrs =
		(const Elf64_Phdr *) (const void *) (__ehdr_start + ehdr->e_phoff);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	entries(n_entries, file.bytes, file.size);
	for (size_t i = 0; i < COPIES; i++)
		copy_make(fd, phdrs, ehdr->e_phnum);
}

static void registered(void)
{
	__register_frame_info(frame, &objects[0]);
	__register_frame_info(frame, &objects[1]);
}

/* Objects of arrays, all of the same table. */
static void same_table(void)
{
	static const uint32_t *array[ARRAY]; /* the last one is NULL */
	struct object *many = calloc(ARRAYS, sizeof(*many));
	if (many == NULL)
		symfile_die("calloc");
	for (size_t i = 0; i + 1 < ARRAY; i++)
		array[i] = frame;
	for (size_t i = 0; i < ARRAYS; i++)
		many[i] = (struct object){.what = (uint64_t) (uintptr_t) array,
					  .flags = 2,
					  .next = i + 1 < ARRAYS ? &many[i + 1] : NULL};
	objects[0].next = many;
}

static int lie(const char *how)
{
	if (strcmp(how, "cycle") == 0) {
		struct jit_entry *e = entries(3, file.bytes, file.size);
		e[2].next = &e[1];
	} else if (strcmp(how, "self") == 0) {
		struct jit_entry *e = entries(1, file.bytes, file.size);
		e->next = e;
	} else if (strcmp(how, "wild") == 0) {
		entries(2, file.bytes, file.size)[1].next = (struct jit_entry *) wild(WILD);
	} else if (strcmp(how, "kernel") == 0) {
		__jit_debug_descriptor.first = (struct jit_entry *) wild(UINT64_MAX - 7);
	} else if (strcmp(how, "torn") == 0) {
		torn();
	} else if (strcmp(how, "many") == 0) {
		entries(MANY, file.bytes, file.size);
	} else if (strcmp(how, "sizes") == 0) {
		struct jit_entry *e = entries(4, file.bytes, UINT64_MAX);
		e[1].size = UINT64_C(1) << 40;
		e[2].symfile = wild(WILD);
		e[3].symfile = wild(UINT64_MAX - 63);
	} else if (strcmp(how, "version") == 0) {
		entries(1, file.bytes, file.size);
		__jit_debug_descriptor.version = 77;
	} else if (strcmp(how, "headers") == 0) {
		headers_lie();
	} else if (strcmp(how, "everywhere") == 0) {
		everywhere(1000);
	} else if (strcmp(how, "copies") == 0) {
		copies(COPIES_FEW);
	} else if (strcmp(how, "copies-many") == 0) {
		copies(COPIES_MANY);
	} else if (strcmp(how, "libgcc-cycle") == 0) {
		registered();
		objects[0].next = &objects[1];
	} else if (strcmp(how, "libgcc-wild") == 0) {
		registered();
		objects[0].next = (struct object *) wild(WILD);
	} else if (strcmp(how, "libgcc-what") == 0) {
		registered();
		objects[0].what = WILD;
	} else if (strcmp(how, "libgcc-sorted") == 0) {
		registered();
		objects[0].flags |= 1;
		objects[0].what = WILD;
	} else if (strcmp(how, "libgcc-array") == 0) {
		registered();
		objects[0].flags |= 2;
		objects[0].what = (uint64_t) (uintptr_t) file.code;
	} else if (strcmp(how, "libgcc-same") == 0) {
		registered();
		same_table();
	} else if (strcmp(how, "libgcc-length") == 0) {
		registered();
		frame[0] = 0xfffffff0;
	} else {
		return 0;
	}
	return 1;
}

static NOINLINE void run(generated *code)
{
	code(block);
	KEEP();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	symfile_load(&file, argv[1]);
	generated *code = file.outer;
	if (!lie(argv[2]))
		return 2;
	expect_stack("block inner middle outer run main");
	ready();
	run(code);
	return 0;
}
