/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_WINDOW_CREATE_H
#define SW_CAPTURE_WINDOW_CREATE_H

#include "capture/window.h"

/* Makes space for the records. */
int sw_window_create(struct sw_snapshot *snap, struct sw_capture_space *space, struct sw_stop *stop,
		     struct sw_window **ret, struct sw_error *err);

#endif
