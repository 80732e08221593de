/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROVIDERS_H
#define SW_PROVIDERS_H

#include "provider.h"

/* All providers, in order of preference: providers.c. */
extern const struct sw_provider_ops *const sw_providers[];
extern const size_t sw_n_providers;

extern const struct sw_provider_ops sw_prov_runtime, sw_prov_minidebug, sw_prov_pe, sw_prov_dwarf;

#endif
