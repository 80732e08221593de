/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_PAIR_WORD_H
#define SW_CLI_PAIR_WORD_H

#include "common/options.h"

#include <snapwalk/event.h>

/*
 * Functions that hand out and take back, as they are given to leaks:
 *
 *	LIB:SSL_new+SSL_dup/SSL_free,SSL_CTX_new/SSL_CTX_free
 *	LIB:cudaMalloc@*arg0@size=arg1@ok=0/cudaFree
 *
 *	LIB:xmlReadFile@outside/xmlFreeDoc
 *
 * The handle that is handed out is the result, or what @argN or @*argN says; the one that is taken back is argument 0, or what
 * that says.
 */
struct sw_pair_function {
	const char *module; /* of the list; NULL: the program */
	const char *name;   /* likewise */
	unsigned pair;
	bool releases;
	struct sw_event_value handle, size;
	unsigned size_times; /* as of struct sw_event_place */
	bool only_zero;
	bool nests; /* it takes back, perhaps by another function of the pair: that is once */
	size_t after; /* index + 1 of another one, without which this one is not looked for; 0: it is */
	bool outside; /* calls from the file that the function is in do not count */
};

struct sw_pair_list {
	struct sw_pair_function all[SW_EVENT_PLACES_MAX];
	size_t n;
	unsigned n_pairs;
	bool is_file; /* what is not there is left out: libraries have versions */
	bool is_any;  /* pairs that are not there are no loss */
	char *texts[SW_EVENT_PLACES_MAX]; /* owned: names and modules point into them */
	size_t n_texts;
};

/**
 * Add the pairs of a text.
 *
 * @param module  Of functions without one, NULL: the program. Borrowed: it must outlive the list.
 * @return false: usage says why.
 */
bool sw_pair_parse(struct sw_pair_list *list, const char *text, const char *module,
		   struct sw_usage *usage);
/* A copy of a text that lives as long as the list; NULL: there is no memory for more. */
char *sw_pair_list_keep(struct sw_pair_list *list, const char *text);
/* NULL is allowed. */
void sw_pair_list_destroy(struct sw_pair_list *list);

#endif
