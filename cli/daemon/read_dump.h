/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DAEMON_READ_DUMP_H
#define SW_CLI_DAEMON_READ_DUMP_H

#include "common/options.h"
#include "daemon/kept.h"
#include "text.h"

/*
 * Dumps and profiles that a word of the command line names: of a file of JSON, with a slash or
 *".json" at its end, all that it has, one after the other; one of a file of pprof; or one that the daemon keeps.
 *
 *	open, of each word -> sw_sandbox_enter_parsing() -> next until no more
 */
struct sw_read_dump {
	const char *word;           /* borrowed */
	char id[SW_KEPT_ID_SIZE];   /* the daemon's; of a file "" */
	struct sw_text text;        /* JSON as it came */
	size_t begin, end;          /* of this dump's in it */
	bool begun;                 /* these are of a dump */
	struct sw_report *report;   /* owned; NULL: as_it_is, not parsed yet, or a profile */
	struct sw_profile *profile; /* owned; NULL: not parsed yet, or a dump */
	struct sw_profile_left_out left_out; /* of the profile, where the format is another one */
	bool is_foreign; /* the text is no JSON of ours, but of another format */
	bool as_it_is;   /* the daemon's, complete, and asked for as JSON: not parsed */
};

/* Reads it. SW_STATUS_COMPLETE; else what was wrong has been said. */
int sw_read_dump_open(struct sw_read_dump *ret, const struct sw_options *options, const char *word);
/* For messages: the file, or the whole id. */
const char *sw_read_dump_name(const struct sw_read_dump *dump);
/* Whether there is one more than those that sw_read_dump_next() gave. */
bool sw_read_dump_more(const struct sw_read_dump *dump);
/* Parses it: report, begin and end are of the next dump. Likewise. */
int sw_read_dump_next(struct sw_read_dump *dump);
/* The same without a complaint. 0; -SW_E_FORMAT; -SW_E_NOMEM. */
int sw_read_dump_parse(struct sw_read_dump *dump, struct sw_error *err);
/* The only one there is, and a dump; others are errors. Likewise. */
int sw_read_dump_only(struct sw_read_dump *dump);
void sw_read_dump_deinit(struct sw_read_dump *dump);

#endif
