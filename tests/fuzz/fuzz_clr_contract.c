/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The contract of a .NET runtime, which describes its structures: JSON out of its memory. */
#include "fuzz.h"
#include "runtimes/clr/published/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t pointers[] = {0, 0x1000, UINT64_MAX};
	struct sw_clr_contract contract;
	struct sw_clr_layout layout;
	const char *why = NULL;
	char text[192] = "";
	uint64_t value;
	uint32_t number;
	if (sw_clr_contract_parse((const char *) data, size, pointers, 3, &contract, &why) < 0) {
		if (why == NULL)
			abort(); /* whoever refuses says why */
		return 0;
	}
	if (!sw_clr_layout_resolve(&contract, &layout, text, sizeof(text)) && text[0] == '\0')
		abort();
	(void) sw_clr_field(&contract, "A", "x", &number); /* only that they end */
	(void) sw_clr_field(&contract, "A", "y", &number);
	(void) sw_clr_size(&contract, "A", &number);
	static const char *const globals[] = {"a", "b", "c", "d", "e", "AppDomain"};
	for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
		(void) sw_clr_global(&contract, globals[i], &value);
	(void) sw_clr_version(&contract, "Loader", &value);
	sw_clr_contract_deinit(&contract);
	return 0;
}
