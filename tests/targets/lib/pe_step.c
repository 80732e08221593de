/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Windows program that runs its own functions one instruction at a time and writes what a step out
 * of each must give. The truth comes from no unwinder: at the first instruction of a function the
 * return address, the stack pointer above it and the registers that a function must preserve are
 * the caller's, and they must come out at every later instruction of it.
 *
 * To stdout, one record in a line, numbers in hexadecimal; a register "=" is as in the record before:
 *
 *	base AVMA                 the image that the next two are about
 *	table RVA ENTRIES
 *	image RVA BYTES           code and tables
 *	word AVMA VALUE           the stack from here on
 *	caller N REGISTERS MACHINE   rip rsp rbx rbp rsi rdi r12-r15; MACHINE 1: it was interrupted
 *	outer N M                 the caller of caller N is caller M
 *	step N REGISTERS          an instruction; the caller is N
 *
 * With the argument "library" it runs functions of Wine's libraries instead.
 *
 * Words of the stack are only written if they hold what caller N had in a register, or what becomes
 * of it: that is all that can be needed, and those values are unlike others.
 */
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RIP,
	RSP,
	RBX,
	RBP,
	RSI,
	RDI,
	R12,
	REGS = R12 + 4,
	DEPTH_MAX = 256,
	SEEN_MAX = 1 << 16,
	WORDS_MAX = 1 << 14,
	IMAGE_LINE = 64, /* longer than an epilogue */
	IMAGES_MAX = 8,
	/* Return address and the four words that are the callee's; or a machine frame. */
	ABOVE_SLOT = 48,
	TRAP_FLAG = 0x100,
	STACK_BYTES = 6 << 20,
};

struct caller {
	uint64_t regs[REGS];
	uint64_t slot; /* of the return address: when rsp is above, it was left */
	unsigned number;
	int machine;
};

static struct {
	struct caller callers[DEPTH_MAX]; /* outermost first */
	unsigned depth, n_callers;
	uint64_t before[REGS]; /* at the last instruction */
	uint64_t shown[REGS];  /* in the last record that has registers */
	int after_call;        /* which was a call */
	uint64_t (*seen)[REGS];
	struct {
		uint64_t address, value;
	} words[WORDS_MAX];
	unsigned n_words;
	unsigned long n_steps;
	struct image {
		uint64_t base;
		uint32_t size;
		uint8_t *printed;     /* lines */
	} images[IMAGES_MAX], *image; /* the last one in a record */
	unsigned n_images;
} state;

/* pe_step_frames.S */
extern const char step_machine_entry[], step_machine_error_entry[], step_over[];
extern void (*const step_functions[])(void); /* ends with NULL */
void step_run(void (*function)(void));
/* pe_step_library.c */
void step_library(void);

static void print_regs(const uint64_t *regs)
{
	for (int i = 0; i < REGS; i++)
		if (regs[i] == state.shown[i])
			printf(" =");
		else
			printf(" %llx", (unsigned long long) regs[i]);
	memcpy(state.shown, regs, sizeof(state.shown));
}

static void print_image(uint32_t rva, uint32_t bytes)
{
	const uint8_t *base = (const uint8_t *) (uintptr_t) state.image->base;
	for (uint32_t at = 0; at < bytes; at++) {
		if (at % IMAGE_LINE == 0)
			printf("%simage %x ", at > 0 ? "\n" : "", rva + at);
		printf("%02x", base[rva + at]);
	}
	printf("\n");
}

static void select_image(struct image *image)
{
	if (state.image != image)
		printf("base %llx\n", (unsigned long long) image->base);
	state.image = image;
}

/* Code of an image may be stepped through from now on. NULL: the program's own. */
static void add_image(const char *name)
{
	const char *base = (const char *) GetModuleHandleA(name);
	if (base == NULL || state.n_images == IMAGES_MAX)
		ExitProcess(4);
	const IMAGE_NT_HEADERS *nt =
		(const IMAGE_NT_HEADERS *) (base + ((const IMAGE_DOS_HEADER *) base)->e_lfanew);
	const IMAGE_DATA_DIRECTORY *table =
		&nt->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
	struct image *image = &state.images[state.n_images++];
	image->base = (uintptr_t) base;
	image->size = nt->OptionalHeader.SizeOfImage;
	image->printed = calloc(1, image->size / IMAGE_LINE + 1);
	if (image->printed == NULL)
		ExitProcess(4);
	select_image(image);
	printf("table %lx %lx\n", table->VirtualAddress, table->Size / 12);
	const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(nt);
	for (int i = 0; i < nt->FileHeader.NumberOfSections; i++, section++)
		if (memcmp(section->Name, ".pdata", 7) == 0 ||
		    memcmp(section->Name, ".xdata", 7) == 0)
			print_image(section->VirtualAddress, section->Misc.VirtualSize);
}

/* The code around an instruction, in lines, each once. */
static void print_code(uint64_t rip)
{
	unsigned n = 0;
	while (n < state.n_images && rip - state.images[n].base >= state.images[n].size)
		n++;
	if (n == state.n_images)
		ExitProcess(5);
	select_image(&state.images[n]);
	uint32_t line = (uint32_t) (rip - state.image->base) / IMAGE_LINE;
	for (uint32_t i = line - 1; i <= line + 1; i++) {
		if (!state.image->printed[i])
			print_image(i * IMAGE_LINE, IMAGE_LINE);
		state.image->printed[i] = 1;
	}
}

/* Writes a word that is new, or that changed. */
static void print_word(uint64_t address, uint64_t value)
{
	unsigned i = 0;
	while (i < state.n_words && state.words[i].address != address)
		i++;
	if (i == WORDS_MAX)
		ExitProcess(3);
	if (i < state.n_words && state.words[i].value == value)
		return;
	state.n_words += i == state.n_words;
	state.words[i].address = address;
	state.words[i].value = value;
	printf("word %llx %llx\n", (unsigned long long) address, (unsigned long long) value);
}

static void print_words(uint64_t rsp, const struct caller *caller)
{
	uint64_t end = caller->slot + ABOVE_SLOT;
	for (unsigned i = 0; i < state.n_words; i++) {
		uint64_t address = state.words[i].address;
		if (address >= rsp && address < end)
			print_word(address, *(const uint64_t *) (uintptr_t) address);
	}
	for (uint64_t address = rsp; address < end; address += 8) {
		uint64_t value = *(const uint64_t *) (uintptr_t) address;
		for (int i = 0; i < REGS; i++)
			if (value == caller->regs[i]) {
				print_word(address, value);
				break;
			}
	}
}

static void enter(const uint64_t *regs, int machine, uint64_t error_bytes)
{
	const uint64_t *stack = (const uint64_t *) (uintptr_t) (regs[RSP] + error_bytes);
	if (state.depth == DEPTH_MAX)
		ExitProcess(3);
	struct caller *c = &state.callers[state.depth++];
	memcpy(c->regs, regs, sizeof(c->regs));
	c->regs[RIP] = stack[0];
	c->regs[RSP] = machine ? stack[3] : regs[RSP] + 8;
	c->slot = regs[RSP] + error_bytes;
	c->machine = machine;
	c->number = state.n_callers++;
	printf("caller %x", c->number);
	print_regs(c->regs);
	printf(" %d\n", machine);
	if (state.depth > 1) {
		print_words(c->regs[RSP], &c[-1]); /* what is_new() left out */
		printf("outer %x %x\n", c->number, c[-1].number);
	}
}

/* The same instruction with the same registers is one record: loops that probe the stack. */
static int is_new(const uint64_t *regs)
{
	uint64_t hash = 0;
	for (int i = 0; i < REGS; i++)
		hash = (hash ^ regs[i]) * UINT64_C(0x9e3779b97f4a7c15) >> 7;
	for (unsigned i = hash % SEEN_MAX;; i = (i + 1) % SEEN_MAX) {
		if (state.seen[i][RIP] == 0) {
			memcpy(state.seen[i], regs, sizeof(state.seen[i]));
			return 1;
		}
		if (memcmp(state.seen[i], regs, sizeof(state.seen[i])) == 0)
			return 0;
	}
}

static int is_call(const uint8_t *code)
{
	code += (*code & 0xf0) == 0x40;
	return *code == 0xe8 || (*code == 0xff && (code[1] >> 3 & 7) == 2);
}

static LONG CALLBACK on_step(EXCEPTION_POINTERS *exception)
{
	if (exception->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP)
		return EXCEPTION_CONTINUE_SEARCH;
	CONTEXT *c = exception->ContextRecord;
	const uint64_t regs[REGS] = {c->Rip, c->Rsp, c->Rbx, c->Rbp, c->Rsi,
				     c->Rdi, c->R12, c->R13, c->R14, c->R15};
	if (c->Rip == (uintptr_t) step_over) {
		state.depth = 0;
		state.after_call = 0;
		c->EFlags &= ~(DWORD) TRAP_FLAG;
		return EXCEPTION_CONTINUE_EXECUTION;
	}
	while (state.depth > 0 && c->Rsp > state.callers[state.depth - 1].slot)
		state.depth--;
	if (state.after_call && c->Rsp == state.before[RSP] - 8)
		enter(regs, 0, 0);
	else if (c->Rip == (uintptr_t) step_machine_entry)
		enter(regs, 1, 0);
	else if (c->Rip == (uintptr_t) step_machine_error_entry)
		enter(regs, 1, 8);
	if (state.depth > 0 && is_new(regs)) {
		const struct caller *caller = &state.callers[state.depth - 1];
		print_code(c->Rip);
		print_words(c->Rsp, caller);
		printf("step %x", caller->number);
		print_regs(regs);
		printf("\n");
		state.n_steps++;
	}
	memcpy(state.before, regs, sizeof(regs));
	state.after_call = is_call((const uint8_t *) (uintptr_t) c->Rip);
	c->EFlags |= TRAP_FLAG;
	return EXCEPTION_CONTINUE_EXECUTION;
}

/* Frames of more than a page must find the stack there. */
static void __attribute__((noinline)) touch_stack(void)
{
	volatile char stack[STACK_BYTES];
	stack[0] = 0; /* libgcc's ___chkstk_ms touches all pages above */
	(void) stack[0];
}

int main(int argc, char **argv)
{
	static char buffer[1 << 20];
	(void) _setmode(1, _O_BINARY);
	(void) setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)); /* at worst it is slow */
	state.seen = calloc(SEEN_MAX, sizeof(*state.seen));
	if (state.seen == NULL)
		return 1;
	touch_stack();
	int library = argc > 1 && strcmp(argv[1], "library") == 0;
	add_image(NULL);
	if (library) {
		add_image("ntdll");
		add_image("kernel32");
		add_image("kernelbase");
		add_image("msvcrt");
	}
	AddVectoredExceptionHandler(1, on_step);
	for (size_t i = 0; !library && step_functions[i] != NULL; i++)
		step_run(step_functions[i]);
	if (library)
		step_run(step_library);
	printf("end %lu\n", state.n_steps);
	return 0;
}
