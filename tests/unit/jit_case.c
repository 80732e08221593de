/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit_case.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

static void put(struct eh_make *eh, const void *bytes, size_t size)
{
	assert_true(size <= sizeof(eh->bytes) - eh->size);
	memcpy(eh->bytes + eh->size, bytes, size);
	eh->size += size;
}

static void put_value(struct eh_make *eh, uint64_t value, size_t size)
{
	put(eh, &value, size);
}

static size_t begin(struct eh_make *eh)
{
	size_t at = eh->size;
	put_value(eh, 0, 4);
	return at;
}

static size_t end(struct eh_make *eh, size_t at)
{
	while (eh->size % 8 != 4)
		put_value(eh, DW_CFA_nop, 1);
	uint32_t length = (uint32_t) (eh->size - at - 4);
	memcpy(eh->bytes + at, &length, sizeof(length));
	return at;
}

static size_t cie(struct eh_make *eh, uint8_t encoding, bool empty)
{
	static const uint8_t head[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1};
	static const uint8_t rows[] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};
	size_t at = begin(eh);
	put_value(eh, 0, 4);
	put(eh, head, sizeof(head));
	put_value(eh, encoding, 1);
	put(eh, rows, empty ? 0 : sizeof(rows));
	return end(eh, at);
}

size_t eh_make_cie(struct eh_make *eh, uint8_t encoding)
{
	return cie(eh, encoding, false);
}

size_t eh_make_empty_cie(struct eh_make *eh, uint8_t encoding)
{
	return cie(eh, encoding, true);
}

size_t eh_make_fde(struct eh_make *eh, size_t cie_off, uint8_t encoding, uint64_t start,
		   uint64_t bytes, const uint8_t *rows, size_t n_rows)
{
	size_t at = begin(eh);
	size_t width = (encoding & 0x0f) == DW_EH_PE_udata4 || (encoding & 0x0f) == DW_EH_PE_sdata4
			       ? 4
			       : 8;
	put_value(eh, eh->size - cie_off, 4);
	switch (encoding & 0x70) {
	case DW_EH_PE_pcrel: start -= eh->avma + eh->size; break;
	case DW_EH_PE_textrel: start -= eh->text_avma; break;
	case DW_EH_PE_datarel: start -= eh->data_avma; break;
	default: break;
	}
	put_value(eh, start, width);
	put_value(eh, bytes, width);
	put_value(eh, 0, 1); /* augmentation data: none */
	put(eh, rows, n_rows);
	return end(eh, at);
}

void eh_make_end(struct eh_make *eh)
{
	put_value(eh, 0, 4);
}

struct sw_cfi_section eh_section(const struct eh_make *eh)
{
	return (struct sw_cfi_section){.bytes = {eh->bytes, eh->size},
				       .svma = eh->avma,
				       .text_svma = eh->text_avma,
				       .data_svma = eh->data_avma};
}
