/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_PAIR_FILE_H
#define SW_CLI_PAIR_FILE_H

#include "common/options.h"
#include "common/pair_word.h"

/* Words of leaks --of that are no list of pairs, by enum sw_leaks_of. */
extern const char *const sw_leaks_words[SW_LEAKS_PAIRS];

/*
 * Files of pairs of functions, leaks.d/NAME.conf:
 *
 *	# comment
 *	Library=libssl.so
 *	Pair=SSL_new+SSL_dup/SSL_free
 *
 * Library is of the lines behind it; without one it is the program.
 */

/**
 * Add the pairs of a file.
 *
 * @param name  A path that ends in ".conf"; or a name: NAME.conf of the administrator, or that of the package.
 * @return false: usage says why, "FILE:LINE".
 */
bool sw_pair_file_read(struct sw_pair_list *list, const char *name, struct sw_usage *usage);

#endif
