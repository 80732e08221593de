/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/alerts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALERTS_MAX = 1024 };

struct sw_alert {
	TAILQ_ENTRY(sw_alert) link;
	char *key;               /* owned */
	struct json_object *ids; /* owned */
};

char *sw_alerts_key(const char *source, const char *fingerprint, const char *starts_at)
{
	char *key;
	/* The lengths keep apart what would read the same. */
	if (asprintf(&key, "%zu %zu %s%s%s", strlen(source), strlen(fingerprint), source,
		     fingerprint, starts_at != NULL ? starts_at : "") < 0)
		return NULL;
	return key;
}

struct json_object *sw_alerts_find(struct sw_broker *broker, const char *key)
{
	const struct sw_alert *alert;
	TAILQ_FOREACH_REVERSE(alert, &broker->alerts, sw_alert_list, link)
	if (strcmp(alert->key, key) == 0)
		return alert->ids;
	return NULL;
}

static void forget(struct sw_broker *broker, struct sw_alert *alert)
{
	TAILQ_REMOVE(&broker->alerts, alert, link);
	broker->n_alerts--;
	(void) json_object_put(alert->ids); /* perhaps not the last reference */
	free(alert->key);
	free(alert);
}

void sw_alerts_add(struct sw_broker *broker, const char *key, struct json_object *ids)
{
	struct sw_alert *alert = calloc(1, sizeof(*alert));
	if (alert == NULL || (alert->key = strdup(key)) == NULL) {
		free(alert);
		return;
	}
	alert->ids = json_object_get(ids);
	TAILQ_INSERT_TAIL(&broker->alerts, alert, link);
	if (++broker->n_alerts > ALERTS_MAX)
		forget(broker, TAILQ_FIRST(&broker->alerts));
}

void sw_alerts_clear(struct sw_broker *broker)
{
	while (!TAILQ_EMPTY(&broker->alerts))
		forget(broker, TAILQ_FIRST(&broker->alerts));
}
