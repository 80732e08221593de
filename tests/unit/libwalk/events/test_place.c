/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a function is probed: only at instructions that each call comes to once, with its arguments and its stack. */
#include "events/place.h"
#include "errors.h"
#include "test.h"

#include <elf.h>

enum { AVMA = 0x401000 };

#define PLACE(...)                                                                       \
	place_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), \
		 &emulated, &reentered)

static size_t place_of(const uint8_t *code, size_t n, bool *ret_emulated, bool *ret_reentered)
{
	struct sw_probe_place place = sw_place_find((struct sw_bytes){code, n}, AVMA);
	*ret_emulated = place.emulated;
	*ret_reentered = place.reentered;
	return place.at;
}

TEST(test_the_first_instruction)
{
	bool emulated, reentered;
	assert_int_equal(PLACE(0x55, 0xc3), 0); /* push %rbp; ret */
	assert_true(emulated);
	assert_int_equal(PLACE(0x41, 0x57, 0xc3), 0); /* push %r15; ret */
	assert_true(emulated);
	assert_int_equal(PLACE(0xe9, 0x10, 0, 0, 0), 0); /* jmp */
	assert_true(emulated);
	assert_int_equal(PLACE(0xc3), 0); /* ret */
	assert_false(emulated);
	assert_int_equal(PLACE(0x48, 0x89, 0xf8, 0xc3), 0); /* mov %rdi, %rax; ret */
	assert_false(emulated);
	assert_int_equal(PLACE(0x66, 0x90, 0xc3), 0); /* a NOP with a prefix */
	assert_false(emulated);
}

TEST(test_a_later_one)
{
	bool emulated, reentered;
	/* endbr64; push %rbp; ret */
	assert_int_equal(PLACE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xc3), 4);
	assert_true(emulated);
	/* test %rdi, %rdi; je; push: the branch */
	assert_int_equal(PLACE(0x48, 0x85, 0xff, 0x74, 0x01, 0x55, 0xc3), 3);
	assert_true(emulated);
	/* test %rdi, %rdi; je with 32 bits; ret */
	assert_int_equal(PLACE(0x48, 0x85, 0xff, 0x0f, 0x84, 0, 0, 0, 0, 0xc3), 3);
	assert_true(emulated);
	/* xor %eax, %eax; jmp with 8 bits; ret */
	assert_int_equal(PLACE(0x31, 0xc0, 0xeb, 0, 0xc3), 2);
	assert_true(emulated);
	/* xor %eax, %eax; call */
	assert_int_equal(PLACE(0x31, 0xc0, 0xe8, 0, 0, 0, 0, 0xc3), 2);
	assert_true(emulated);
}

TEST(test_what_must_not_be_before)
{
	bool emulated, reentered;
	/* mov %rax to one of the six registers of arguments; push: the argument has changed */
	static const uint8_t moved[6][3] = {{0x48, 0x89, 0xc7}, {0x48, 0x89, 0xc6},
					    {0x48, 0x89, 0xc2}, {0x48, 0x89, 0xc1},
					    {0x49, 0x89, 0xc0}, {0x49, 0x89, 0xc1}};
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(PLACE(moved[i][0], moved[i][1], moved[i][2], 0x55, 0xc3), 0);
		assert_false(emulated);
	}
	/* mov %rax, %r10; push: no argument */
	assert_int_equal(PLACE(0x49, 0x89, 0xc2, 0x55, 0xc3), 3);
	assert_true(emulated);
	/* sub $8, %rsp; nop: the return address is elsewhere */
	assert_int_equal(PLACE(0x48, 0x83, 0xec, 0x08, 0x90, 0xc3), 0);
	assert_false(emulated);
	/* A NOP of five bytes, which kernels before 6.16 step; ret */
	assert_int_equal(PLACE(0x0f, 0x1f, 0x44, 0, 0, 0xc3), 0);
	assert_false(emulated);
	/* endbr64; NOP of five bytes; push %rbp; ret */
	assert_int_equal(PLACE(0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0, 0x55, 0xc3), 9);
	assert_true(emulated);
}

TEST(test_code_that_comes_back)
{
	bool emulated, reentered;
	/* xor %eax, %eax; 2: nop; jne 2b; ret */
	assert_int_equal(PLACE(0x31, 0xc0, 0x90, 0x75, 0xfd, 0xc3), 0);
	assert_false(emulated);
	assert_false(reentered);
	/* 1: dec %ecx; jne 1b; ret */
	assert_int_equal(PLACE(0xff, 0xc9, 0x75, 0xfc, 0xc3), 0);
	assert_true(reentered);
	/* push %rax; pop %rax; dec %ecx; jne to the push; ret */
	assert_int_equal(PLACE(0x50, 0x58, 0xff, 0xc9, 0x75, 0xfa, 0xc3), 0);
	assert_true(emulated && reentered);
	/* xor %eax, %eax; push %rax; jne to the beginning: not the push, which has as many turns */
	assert_int_equal(PLACE(0x31, 0xc0, 0x50, 0x75, 0xfb, 0xc3), 0);
	assert_true(reentered);
	/* xor %eax, %eax; nop; 3: dec %ecx; jne 3b; ret */
	assert_int_equal(PLACE(0x31, 0xc0, 0x90, 0xff, 0xc9, 0x75, 0xfc, 0xc3), 2);
	assert_true(emulated);
	/* The last byte is no instruction: whether a jump comes back is not known. */
	assert_int_equal(PLACE(0x31, 0xc0, 0x90, 0x06), 0);
	assert_false(emulated);
	/* Cut after the prefix: no instruction at all. */
	assert_int_equal(PLACE(0x48), 0);
	assert_false(emulated);
}

TEST(test_go)
{
	bool emulated, reentered;
	/* cmp 0x10(%r14), %rsp; jbe 1f; push %rbp; pop %rbp; ret; 1: call; jmp to the beginning */
	assert_int_equal(PLACE(0x49, 0x3b, 0x66, 0x10, 0x76, 0x03, 0x55, 0x5d, 0xc3, 0xe8, 0, 0, 0,
			       0, 0xeb, 0xf0),
			 6);
	assert_true(emulated);
	assert_false(reentered);
	/* The same with sub $8, %rsp in place of the push. */
	assert_int_equal(PLACE(0x49, 0x3b, 0x66, 0x10, 0x76, 0x05, 0x48, 0x83, 0xec, 0x08, 0xc3,
			       0xe8, 0, 0, 0, 0, 0xeb, 0xee),
			 6);
	assert_false(emulated);
	assert_false(reentered);
	/* The jump leads behind the beginning: the branch is not followed. */
	assert_int_equal(PLACE(0x49, 0x3b, 0x66, 0x10, 0x76, 0x03, 0x55, 0x5d, 0xc3, 0xe8, 0, 0, 0,
			       0, 0xeb, 0xf4),
			 0);
	assert_false(emulated);
}

TEST(test_no_file)
{
	static const uint8_t image[64] = "\177ELF";
	struct sw_event_place place;
	struct sw_error err;
	assert_int_equal(sw_event_place_of(image, sizeof(image), AVMA, 8, &place, &err),
			 -SW_E_UNSUPPORTED);
	assert_int_equal(sw_event_returns_of(image, sizeof(image), AVMA, 8, &place, &err),
			 -SW_E_UNSUPPORTED);
	assert_int_equal(sw_event_place_of(NULL, 0, AVMA, 8, &place, &err), -SW_E_UNSUPPORTED);
}

TEST(test_a_file)
{
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr loaded;
		uint8_t code[16];
	} file = {.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(Elf64_Ehdr),
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 1},
		  .loaded = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = AVMA},
		  .code = {0x31, 0xc0, 0x55, 0xc3}}; /* xor %eax, %eax; push %rbp; ret */
	struct sw_event_place place;
	struct sw_error err;
	file.loaded.p_filesz = file.loaded.p_memsz = sizeof(file);
	uint64_t code_off = sizeof(file.header) + sizeof(file.loaded), svma = AVMA + code_off;
	assert_int_equal(sw_event_place_of(&file, sizeof(file), svma, 4, &place, &err), 0);
	assert_true(place.emulated);
	assert_int_equal(place.file_fd, -EBADF);
	assert_int_equal(place.file_off, code_off + 2);
	assert_int_equal(sw_event_place_of(&file, sizeof(file), 1, 4, &place, &err), -SW_E_INVALID);
	file.header.e_machine = EM_AARCH64;
	assert_int_equal(sw_event_place_of(&file, sizeof(file), svma, 4, &place, &err),
			 -SW_E_UNSUPPORTED);
}
