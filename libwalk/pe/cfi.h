/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_CFI_H
#define SW_PE_CFI_H

#include "cfi/rule.h"
#include "snapshot/module.h"

/*
 * Call frame information of PE32 images for i386, which have no function tables: gcc and clang for Windows
 * write .eh_frame, where exceptions are thrown by it, and with -g .debug_frame; Wine's own DLLs have the
 * latter. Kept with the module, read from its file, made on first use.
 */
struct sw_pe_cfi;

/* NULL: the module is no such image, or there is no memory. */
struct sw_pe_cfi *sw_pe_cfi_get(struct sw_module *module);

enum sw_pe_row {
	SW_PE_ROW_FOUND,
	SW_PE_ROW_NONE, /* no entry covers it, or it says nothing there */
	SW_PE_ROW_BAD,  /* an entry covers it, but is malformed */
	SW_PE_ROW_NOMEM,
};

/* The rule for the instruction at rva; cached, failures too. *ret is valid until the next call. Addresses
 * in it count from where the linker put the image: add sw_pe_cfi_bias(). */
enum sw_pe_row sw_pe_cfi_row(struct sw_pe_cfi *cfi, uint32_t rva, const struct sw_cfi_rule **ret);
uint64_t sw_pe_cfi_bias(const struct sw_pe_cfi *cfi, uint64_t base_avma);

/* The function, [start, end), whose entry covers rva, and the section that has it (static). False: none
 * does. */
bool sw_pe_cfi_function(struct sw_pe_cfi *cfi, uint32_t rva, uint32_t *ret_start_rva,
			uint32_t *ret_end_rva, const char **ret_section);

#endif
