/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_STOP_THREADS_H
#define SW_STOP_THREADS_H

#include "stop/stop.h"

/* Parts of the stop's session, in the helper: what the process's own directory says of its threads. */

/* As many threads as we know of. */
bool sw_stop_all_known(const struct sw_stop *s);

/* Adds threads that are not known yet. */
void sw_stop_list_new(struct sw_stop *s);

/*
 * A thread that ended after it was listed gave its id free, maybe to a thread of another program,
 * which we then hold. This shows as a wrong count; the directory of the process tells which.
 */
bool sw_stop_is_foreign(const struct sw_stop *s, const struct sw_tracee *t);

/* Whether the process, as it stands, may be copied. */
bool sw_stop_is_permitted(const struct sw_stop *s);

#endif
