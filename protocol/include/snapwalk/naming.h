/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_NAMING_H
#define SNAPWALK_NAMING_H

/* Names for dumps whose processes, or whose files, were elsewhere. */

#include <snapwalk/finder.h>
#include <snapwalk/profile.h>
#include <snapwalk/protocol.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where names come from. */
struct sw_naming {
	struct sw_symbolizer *symbolizer; /* borrowed */
	struct sw_finder *finder;         /* borrowed; the symbolizer has it, too */
	struct sw_symbolize_options symbolize;
};

/**
 * Give the frames of a report functions, files, lines and inlined calls, and make anew what depends on names: what
 * threads wait for, who waits for whom, hints. The report is then what it would have been, had the files been there when
 * it was made.
 *
 * Names of which files here know less than the report does stay as they are. Files are those that have the build-ids of the
 * report's modules.
 *
 * @param report  As sw_report_parse() gave it. Of no use after a failure, but for sw_report_destroy().
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_report_symbolize(struct sw_report *report, const struct sw_naming *naming,
				  struct sw_error *err);

/**
 * Make a profile with names out of one without. Waits stay as they were when the samples were taken.
 *
 * @param profile  Borrowed; not changed.
 * @param ret      Free with sw_profile_destroy().
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_profile_symbolize(const struct sw_profile *profile, const struct sw_naming *naming,
				   struct sw_profile **ret, struct sw_error *err);
/** Tell the file of each frame without a name; the same several times. build_id: NULL: it has none. */
SW_PUBLIC void sw_profile_nameless(const struct sw_profile *profile,
				   void (*each)(void *arg, const char *path, const char *build_id),
				   void *arg);

#ifdef __cplusplus
}
#endif

#endif
