/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pairs of functions: what some hand out, and what others take back. */
#ifndef SW_CLI_PAIRS_H
#define SW_CLI_PAIRS_H

#include "events/held.h"

extern const struct sw_held_kind sw_held_pairs;

/*
 * Looks the functions of options->pairs up. Pairs of a file of which one half is not there are left out.
 *
 * @return SW_STATUS_*; complains by itself. *ret is valid either way: sw_function_deinit().
 */
int sw_pairs_find(const struct sw_options *options, const struct sw_subject *subject,
		  struct sw_function *ret);
/* The same, where nothing may be there: then *ret has no places, and nothing is complained of. */
int sw_pairs_look(const struct sw_options *options, const struct sw_subject *subject,
		  struct sw_function *ret);
/* The notice that comes first: which code is changed. */
void sw_pairs_notice(const struct sw_event_run *run, struct sw_text *ret);
/* Pairs of the list that are followed, in one file at least. */
unsigned sw_pairs_followed(const struct sw_event_run *run);
/* Whether these are all that are wanted. */
bool sw_pairs_are_all(const struct sw_event_run *run);
/* SW_STATUS_MISSING, and a complaint, where they are not. */
int sw_pairs_missing(const struct sw_event_run *run);
/* Members: changes_code, functions, not_followed, pairs, pairs_followed. */
void sw_pairs_json(const struct sw_event_run *run, struct sw_text *ret);
/* Figures of the end, for people and as members. */
void sw_pairs_figures(const struct sw_held *held, struct sw_text *ret);
void sw_pairs_figures_json(const struct sw_held *held, struct sw_text *ret);

#endif
