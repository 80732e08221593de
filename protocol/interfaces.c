/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The interface definitions, which are files of their own because other programs read them: put
 * into the library as they are, with a NUL behind. Paths are from the top of the source tree, where
 * everything is compiled; the Makefile knows that this file depends on them.
 *
 * The symbols are global, but hidden: with -flto the assembler's part may end up in another object
 * than the C code that refers to it (GCC 12 manual, "Optimize Options", -flto).
 */
#include <snapwalk/varlink.h>

#define EMBED(symbol, path)                                          \
	__asm__(".pushsection .rodata." #symbol ",\"a\",@progbits\n" \
		".globl " #symbol "\n"                               \
		".hidden " #symbol "\n"                              \
		".type " #symbol ", @object\n" #symbol ":\n"         \
		".incbin \"" path "\"\n"                             \
		".byte 0\n"                                          \
		".size " #symbol ", . - " #symbol "\n"               \
		".popsection\n");                                    \
	extern const char symbol[] __attribute__((visibility("hidden")))

EMBED(interface_snapwalk_text, "protocol/io.snapwalk.varlink");
EMBED(interface_service_text, "protocol/org.varlink.service.varlink");

const char *const sw_varlink_interface_snapwalk = interface_snapwalk_text;
const char *const sw_varlink_interface_service = interface_service_text;
