/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_SERVICE_H
#define SW_CONFINE_SERVICE_H

#include <snapwalk/error.h>

/*
 * The calling process, which must have one thread, is a service that needs no privilege: it becomes that user, where it is
 * root's, loses all capabilities, cannot get others, and nobody but root may look at its memory. Where there is no such user
 * it becomes "nobody", who may own files on some systems: a user of its own is better.
 */
int sw_confine_service(const char *user, struct sw_error *err);

#endif
