/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_SIGNATURE_H
#define SW_CLR_SIGNATURE_H

#include "runtimes/clr/metadata/tables.h"

/* Types as signatures in blobs have them: ECMA-335 6th edition, II.23.2. */

/*
 * "(int, List`1[T]&)": the parameters of a method, with types as C# spells those that have a keyword
 * and without namespaces. False, with what was understood and "...)", when it cannot be read.
 */
bool sw_clr_method_def_parameters(const struct sw_clr_metadata *m, uint32_t rid,
				  struct sw_text *text);

/*
 * A type at *at, which is moved behind it, of the signature of an instance in a ReadyToRun image:
 * "System.Collections.Generic.List`1[System.__Canon]". Without metadata only where it ends; text gets
 * something all the same. False: it is not of a kind that is known.
 */
bool sw_clr_instance_type_read(const struct sw_clr_metadata *m, struct sw_bytes blob, uint64_t *at,
			       struct sw_text *text);

/* The keyword for a CorElementType that needs no more; NULL: it does. Source: ECMA-335 II.23.1.16 */
const char *sw_clr_primitive_name(unsigned element_type);

#endif
