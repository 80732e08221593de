/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_RETURNS_H
#define SW_CAPTURE_RETURNS_H

#include "capture/take.h"

/*
 * While a tool probes the returns of functions (uretprobes), the kernel has replaced their return addresses by
 * that of a page of its own, [uprobes], and keeps them. The copies of stacks get them back, where the task
 * iterator tells them: of threads that did not run since.
 */

/* After the windows, before the iterator is closed: asks the kernel, where the process has that page. */
void sw_returns_read(struct sw_take *take);

/* When the copies are the snapshot's. */
void sw_returns_put_back(struct sw_take *take);

#endif
