/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Alerts acted on. The daemon keeps the same memory; this one spares it the repetitions that a
 * group of alerts brings at every interval.
 */

#include "gate/seen.h"
#include <string.h>
#include <xxhash.h>

uint64_t sw_gate_seen_key(const struct sw_alert *alert)
{
	if (alert->fingerprint == NULL || alert->starts_at == NULL)
		return 0;
	uint64_t key = XXH3_64bits(alert->fingerprint, strlen(alert->fingerprint));
	key = XXH3_64bits_withSeed(alert->starts_at, strlen(alert->starts_at), key);
	return key != 0 ? key : 1;
}

bool sw_gate_seen_has(const struct sw_gate_seen *seen, uint64_t key)
{
	for (size_t i = 0; i < seen->n && key != 0; i++)
		if (seen->keys[i] == key)
			return true;
	return false;
}

void sw_gate_seen_add(struct sw_gate_seen *seen, uint64_t key)
{
	if (key == 0 || sw_gate_seen_has(seen, key))
		return;
	seen->keys[seen->next] = key;
	seen->next = (seen->next + 1) % SW_GATE_SEEN;
	if (seen->n < SW_GATE_SEEN)
		seen->n++;
}
