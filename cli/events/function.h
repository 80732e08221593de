/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EVENT_FUNCTION_H
#define SW_CLI_EVENT_FUNCTION_H

#include "common/options.h"
#include "run/select.h"
#include "text.h"

struct sw_function_wanted {
	const char *module; /* NULL: the program */
	const char *name;
	bool at_return; /* where it returns, too */
	bool optional;  /* it may be missing */
	size_t after; /* index + 1 of another one before it: where that is missing, this one is, too; 0: none */
};

/* Where the function of a command line is in a process; or several functions. */
struct sw_function {
	struct sw_event_place places[SW_EVENT_PLACES_MAX]; /* their files are owned */
	size_t n;
	char module[64];                  /* the name of its file */
	uint64_t starttime;               /* of the process that was looked at */
	char *names[SW_EVENT_PLACES_MAX]; /* owned: of each place, as people write it */
	/* Indices of several wanted functions: which of them each place is of, and which are missing. */
	size_t wanted[SW_EVENT_PLACES_MAX];
	/* The mapping of each: [start, end) of code of that file. */
	uint64_t start_avma[SW_EVENT_PLACES_MAX], end_avma[SW_EVENT_PLACES_MAX];
	struct {
		size_t wanted;
		char *why;      /* owned */
		bool is_absent; /* there is no such function; else it is there, and cannot be probed */
		bool is_of_other; /* it is there, and is followed by another name, or for another pair */
	} missing[SW_EVENT_PLACES_MAX];
	size_t n_missing;
};

/*
 * Looks the function of options->event_name up, by a process that has given its privileges up; the files of its code are
 * opened by this one, which parses nothing of them.
 *
 * @return SW_STATUS_*; complains by itself. *ret is valid either way.
 */
int sw_function_find(const struct sw_options *options, const struct sw_subject *subject,
		     struct sw_function *ret);
/* The same for several functions, at most SW_EVENT_PLACES_MAX, which are looked up by one process. */
int sw_functions_find(const struct sw_options *options, const struct sw_subject *subject,
		      const struct sw_function_wanted *wanted, size_t n, struct sw_function *ret);
/* Writes which probes the process declares (USDT). SW_STATUS_*; complains by itself. */
int sw_function_list(const struct sw_options *options);
/* The notice that comes first: which code is changed. */
void sw_function_notice(const struct sw_function *function, const struct sw_subject *subject,
			struct sw_text *ret);
/* ,"function":NAME,"module":NAME,"places":[...] */
void sw_function_json(const struct sw_function *function, struct sw_text *ret);
/* Keeps the places whose flags are set, in their order, and gives the others up. */
void sw_function_keep(struct sw_function *function, const bool keep[static SW_EVENT_PLACES_MAX]);
void sw_function_deinit(struct sw_function *function);

#endif
