/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/hotspot/window.h"
#include "runtimes/hotspot/code.h"
#include "runtimes/hotspot/find.h"

#include <snapwalk/error.h>

int sw_hotspot_before(struct sw_capture *capture)
{
	(void) capture;
	return 0;
}

int sw_hotspot_in_window(struct sw_capture *capture)
{
	(void) capture;
	return 0;
}
