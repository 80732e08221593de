/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/alerts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALERTS_MAX = 1024 };

struct sw_acted_alert {
	TAILQ_ENTRY(sw_acted_alert) link;
	char *key;               /* owned */
	struct json_object *ids; /* owned */
};

void sw_acted_alerts_init(struct sw_acted_alerts *alerts)
{
	*alerts = (struct sw_acted_alerts){0};
	TAILQ_INIT(&alerts->list);
}

char *sw_acted_alerts_key(const char *source, const char *fingerprint, const char *starts_at)
{
	char *key;
	/* The lengths keep apart what would read the same. */
	if (asprintf(&key, "%zu %zu %s%s%s", strlen(source), strlen(fingerprint), source,
		     fingerprint, starts_at != NULL ? starts_at : "") < 0)
		return NULL;
	return key;
}

struct json_object *sw_acted_alerts_find(struct sw_acted_alerts *alerts, const char *key)
{
	const struct sw_acted_alert *alert;
	TAILQ_FOREACH_REVERSE(alert, &alerts->list, sw_acted_alert_list, link)
	if (strcmp(alert->key, key) == 0)
		return alert->ids;
	return NULL;
}

static void forget(struct sw_acted_alerts *alerts, struct sw_acted_alert *alert)
{
	TAILQ_REMOVE(&alerts->list, alert, link);
	alerts->n--;
	(void) json_object_put(alert->ids); /* perhaps not the last reference */
	free(alert->key);
	free(alert);
}

void sw_acted_alerts_add(struct sw_acted_alerts *alerts, const char *key, struct json_object *ids)
{
	struct sw_acted_alert *alert = calloc(1, sizeof(*alert));
	if (alert == NULL || (alert->key = strdup(key)) == NULL) {
		free(alert);
		return;
	}
	alert->ids = json_object_get(ids);
	TAILQ_INSERT_TAIL(&alerts->list, alert, link);
	if (++alerts->n > ALERTS_MAX)
		forget(alerts, TAILQ_FIRST(&alerts->list));
}

void sw_acted_alerts_deinit(struct sw_acted_alerts *alerts)
{
	while (!TAILQ_EMPTY(&alerts->list))
		forget(alerts, TAILQ_FIRST(&alerts->list));
}
