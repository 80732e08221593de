/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_LAYOUT_H
#define SW_GO_LAYOUT_H

#include "runtimes/go/image.h"

/* Where the list of all goroutines is, and what it says of each: read out of the runtime's own code. */
struct sw_go_layout {
	uint64_t length_svma, list_svma; /* of runtime.allglen and runtime.allgptr */
	/* In g. Behind the status are stackLock, goid, schedlink, waitsince and waitreason. */
	uint64_t status_off;
	uint64_t created_off;  /* gopc; 0: not found */
	bool has_parent;       /* before gopc is parentGoid: since 1.21 */
	uint64_t g_bytes;      /* of g, up to what is looked at */
	uint64_t reasons_svma; /* runtime.waitReasonStrings; 0: not found */
};

enum {
	SW_GO_G_BYTES_MAX = 512,
	SW_GO_REASONS_MAX = 128,     /* runtime.waitReason is a byte; 1.26 has 42 */
	SW_GO_REASON_BYTES_MAX = 64, /* of one text */
};

/* False: the program does not say where its goroutines are. */
bool sw_go_layout_read(const struct sw_elf *elf, const struct sw_go_image *image,
		       struct sw_go_layout *ret);

/* The text of a wait reason, as the runtime writes it; false: it has none, or is not known. */
bool sw_go_reason(const struct sw_elf *elf, const struct sw_go_layout *layout, uint8_t reason,
		  char ret[static SW_GO_REASON_BYTES_MAX]);

#endif
