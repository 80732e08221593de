/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EVENT_WORD_H
#define SW_CLI_EVENT_WORD_H

#include "common/options.h"

/*
 * The event of a command line: "syscall:NAME" or "syscall:NAME fd=2 arg1=0x10". Fills options->event_call, which is
 * borrowed from text, and options->event. False with usage filled.
 */
bool sw_event_parse(struct sw_options *options, const char *text, struct sw_usage *usage);

/* Finish an event by options that came behind its word. */
void sw_event_finish(struct sw_options *options);

#endif
