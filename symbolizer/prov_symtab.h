/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROV_SYMTAB_H
#define SW_PROV_SYMTAB_H

#include "provider.h"

extern const struct sw_provider_ops sw_prov_symtab, sw_prov_debugfile, sw_prov_dynsym;

#endif
