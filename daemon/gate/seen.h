/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_GATE_SEEN_H
#define SW_DAEMON_GATE_SEEN_H

#include <snapwalk/alerts.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SW_GATE_SEEN = 1024 }; /* alerts remembered */

/* A ring: the oldest goes first. Zero-initialised is a valid empty one. */
struct sw_gate_seen {
	uint64_t keys[SW_GATE_SEEN];
	size_t n, next;
};

/* Fingerprint and start together: the same alert may fire anew. 0: it cannot be told apart. */
uint64_t sw_gate_seen_key(const struct sw_alert *alert);
bool sw_gate_seen_has(const struct sw_gate_seen *seen, uint64_t key);
void sw_gate_seen_add(struct sw_gate_seen *seen, uint64_t key);

#endif
