/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_LIBRARY_H
#define SW_CPYTHON_LIBRARY_H

#include <stdbool.h>

/* Whether a file is of Python's own library, in which its modules lie: lib/python3.11/, python311.zip/, Lib/. Programs have files
 * of these names, too, in folders of theirs; what such a function does is not known. */
bool sw_cpython_is_of_library(const char *file, const char *name);

#endif
