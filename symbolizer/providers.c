/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prov_symtab.h"
#include "providers.h"
#include "unit.h"
#include "cleanup.h"

/*
 * In order of preference. The symbol tables come from complete to partial: a separate file is only
 * looked for, and .gnu_debugdata only decompressed, when an address is still without a name.
 */
const struct sw_provider_ops *const sw_providers[] = {
	&sw_prov_runtime,   &sw_prov_symtab, &sw_prov_debugfile, &sw_prov_dynsym,
	&sw_prov_minidebug, &sw_prov_pe,     &sw_prov_dwarf,
};
const size_t sw_n_providers = SW_ARRAY_SIZE(sw_providers);

_Static_assert(SW_ARRAY_SIZE(sw_providers) <= SW_PROVIDERS_MAX, "units have a slot for each");
