/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_PROFILE_OUTPUT_H
#define SW_CLI_PROFILE_OUTPUT_H

#include "common/options.h"
#include "run/output.h"
#include "text.h"

#include <snapwalk/profile.h>

/* Where a profile goes, and what it is compared with. */
struct sw_profile_output {
	const struct sw_options *options; /* borrowed */
	struct sw_output output;
	struct sw_text old_text;
	struct sw_profile *old; /* owned; NULL without --diff */
	enum sw_profile_format format;
};

/* Before anything is sampled: opens the file, reads that of --diff. An exit status; what is wrong
 * was said. */
int sw_profile_output_open(struct sw_profile_output *ret, const struct sw_options *options);
/* With what is left of privileges: parses what was read. Likewise. */
int sw_profile_output_parse(struct sw_profile_output *out);
void sw_profile_output_deinit(struct sw_profile_output *out);

/* An exit status; what is wrong was said. */
int sw_profile_output_write(struct sw_profile_output *out, const struct sw_profile *profile);

#endif
