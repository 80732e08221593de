/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_PREPARE_H
#define SW_DAEMON_PREPARE_H

#include "config/settings.h"

/*
 * Find out at the start, before anything is done, what the configuration means; --check-config does
 * nothing else. A mistake in a setting that protects (User=, Group=, TriggerUser=, Deny=,
 * RequireSameNamespace=, RequireExe=) is an error, and so is a command of OnDump= that could not be
 * run; other mistakes are said and counted (config->n_problems). note is told what is no mistake,
 * but has a consequence; NULL: nobody is told.
 */
int sw_prepare(struct sw_config *config, sw_config_say_fn *say, sw_config_say_fn *note, void *arg,
	       struct sw_error *err);

#endif
