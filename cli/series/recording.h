/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_RECORDING_H
#define SW_CLI_RECORDING_H

#include "run/select.h"

#include <snapwalk/recorder.h>

/* The options of a recorder as the command line says. */
struct sw_recorder_options sw_recording_options(const struct sw_options *options);

/* A recorder of a process, as the command line says. @return 0, or as sw_target_open() and
 * sw_recorder_create(). */
int sw_recording_open(const struct sw_subject *subject, const struct sw_options *options,
		      struct sw_session *session, const struct sw_recorder_sink *sink,
		      struct sw_recorder **ret, struct sw_error *err);

#endif
