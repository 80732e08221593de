/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_NAMING_H
#define SW_CLI_NAMING_H

#include "common/options.h"
#include "run/fetcher.h"
#include "run/packager.h"

#include <snapwalk/naming.h>
#include <snapwalk/pipeline.h>

#include <limits.h>

enum { SW_NAMING_FILES = 64, SW_NAMING_SHOWN = 4 };

/* Names for dumps of one run of the command, and which files had none for them. */
struct sw_namer {
	const struct sw_options *options; /* borrowed */
	struct sw_session *session;       /* owned */
	struct sw_finder *finder;         /* owned */
	struct sw_fetcher fetcher;
	struct sw_packager packager;
	struct sw_naming naming;
	char cache[PATH_MAX]; /* of the debuginfod client; "": there is none */
	/* Files without names, by their build-ids: the first ones. */
	char *missing[SW_NAMING_FILES];  /* owned */
	char *names[SW_NAMING_FILES];    /* owned; the last parts of their paths */
	char *packages[SW_NAMING_FILES]; /* owned; that have their symbols; NULL: not known */
	size_t n_missing;
};

/* Whether names are asked for by an option: by the commands that else show dumps as they are. */
static inline bool sw_naming_is_asked(const struct sw_options *options)
{
	return options->n_from > 0 || options->debuginfod;
}

/* Before privileges are given up. SW_STATUS_COMPLETE; else what is wrong has been said. */
int sw_namer_begin(struct sw_namer *ret, const struct sw_options *options);
/* Adds names to a dump. 0; -SW_E_NOMEM. */
int sw_namer_report(struct sw_namer *namer, struct sw_report *report, struct sw_error *err);
/* Replaces a profile by one with names. Likewise. */
int sw_namer_profile(struct sw_namer *namer, struct sw_profile **profile, struct sw_error *err);
/* Says on standard error, once, which files had no names, and how to get them. */
void sw_namer_say_missing(const struct sw_namer *namer);
/* A namer that was never begun is zero-initialised, but for fetcher.fd and packager.fd, which are -EBADF. */
void sw_namer_end(struct sw_namer *namer);

#endif
