/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EMBED_H
#define SW_EMBED_H

/*
 * Files that are put into the library as they are, with a NUL behind. Paths are from the top of the
 * source tree, where everything is compiled; the Makefile knows which object depends on which file.
 *
 * The symbols are global, but hidden: with -flto the assembler's part may end up in another object
 * than the C code that refers to it (GCC 12 manual, "Optimize Options", -flto).
 */
#define SW_EMBED(symbol, path)                                       \
	__asm__(".pushsection .rodata." #symbol ",\"a\",@progbits\n" \
		".globl " #symbol "\n"                               \
		".hidden " #symbol "\n"                              \
		".type " #symbol ", @object\n" #symbol ":\n"         \
		".incbin \"" path "\"\n"                             \
		".byte 0\n"                                          \
		".size " #symbol ", . - " #symbol "\n"               \
		".popsection\n");                                    \
	extern const char symbol[] __attribute__((visibility("hidden")))

#endif
