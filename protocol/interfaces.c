/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The interface definitions, which are files of their own because other programs read them. */
#include "embed.h"

#include <snapwalk/varlink.h>

SW_EMBED(interface_snapwalk_text, "protocol/io.snapwalk.varlink");
SW_EMBED(interface_service_text, "protocol/org.varlink.service.varlink");

const char *const sw_varlink_interface_snapwalk = interface_snapwalk_text;
const char *const sw_varlink_interface_service = interface_service_text;
