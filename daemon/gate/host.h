/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_HOST_H
#define SW_DAEMON_GATE_HOST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A page of any web site can have a browser of this machine send requests to the gate and read the answers, when the
 * site's own name is made to lead to 127.0.0.1 (DNS rebinding). The header Host has that name then.
 */
enum { SW_GATE_HOSTS_MAX = 16 };

/* Names that the gate has besides those of loopback. Zero-initialised is empty. */
struct sw_gate_hosts {
	const char *names[SW_GATE_HOSTS_MAX]; /* borrowed */
	size_t n;
};

/* Whether a name can stand in a URL and in the header Host: no port, no address. */
bool sw_gate_host_is_name(const char *name);
/* Whether a request with this header Host is for us: "localhost", an address of loopback, or a name of hosts, with any
 * port. A client that sends no Host (NULL) is no browser. */
bool sw_gate_host_is_ours(const struct sw_gate_hosts *hosts, const char *header);

#endif
