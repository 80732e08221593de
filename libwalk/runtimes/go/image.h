/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_IMAGE_H
#define SW_GO_IMAGE_H

#include "formats/elf_file.h"
#include "runtimes/go/pclntab.h"

enum { SW_GO_M_BYTES_MAX = 2048 /* of m, that are looked at: its size since 1.22 or so */ };

/* How code of a program finds its goroutine: by a word of the thread's static TLS. */
enum sw_go_tls {
	SW_GO_TLS_NONE,   /* not found */
	SW_GO_TLS_OFFSET, /* at fs base + tls_value */
	SW_GO_TLS_SLOT,   /* at fs base + the word at svma tls_value, which ld.so fills */
};

/* The file of a Go program or library, without the process. */
struct sw_go_image {
	struct sw_go_pclntab table;   /* over the file's bytes */
	uint64_t text_svma, end_svma; /* of Go code: [text, end) */
	uint64_t gofunc_svma;         /* what funcdata is counted from; 0: not found */
	enum sw_go_tls tls;
	int64_t tls_value;
	uint64_t gsignal_off; /* in m; 0: not found */
	uint64_t vdso_off;    /* in m, of vdsoSP, behind which is vdsoPC; 0: not found */
	char version[64];     /* "1.19.8"; "" when it is not written */
};

/* Whether the names of its sections say that it has Go code, or it has none: a look at their headers. */
bool sw_go_image_probe(const struct sw_elf *elf);

/* False when the file has no Go code, or of a version that is not known. */
bool sw_go_image_read(const struct sw_elf *elf, struct sw_go_image *ret);

/* The first function of that name with these flags, among the runtime's. */
bool sw_go_image_named(const struct sw_go_image *image, const char *name, uint8_t flags,
		       struct sw_go_func *ret);

/* The code of a function in the file; nothing when it is not there. */
struct sw_bytes sw_go_image_code(const struct sw_elf *elf, const struct sw_go_image *image,
				 const struct sw_go_func *func);

/* A word of the image as it is in memory before the program runs, but for the bias. Looks through the
 * file's relocations. */
bool sw_go_image_word(const struct sw_elf *elf, uint64_t svma, uint64_t *ret);

/* The function that has the code. */
bool sw_go_image_func(const struct sw_go_image *image, uint64_t svma, struct sw_go_func *ret);

#endif
