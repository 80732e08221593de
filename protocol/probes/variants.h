/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROBES_VARIANTS_H
#define SW_PROBES_VARIANTS_H

#include "probes/matching.h"

/*
 * A C++ compiler makes several functions of one constructor or destructor, which one name means: the deleting destructor (D0)
 * destroys and gives the memory back, the complete one (D1, C1) is of whole objects, the base one (D2, C2) of parts of
 * others. Itanium C++ ABI, 5.1.4.3. One of them may call another one, or have its code within itself.
 */

/* Takes those out that call another one, so that each object is counted once. image: of the module's file. */
void sw_variants_drop_callers(struct sw_matching *matching, const void *image, size_t image_size);

#endif
