/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Alertmanager's webhook payload. A group of alerts is sent again whenever one of them changes, and
 * then has firing and resolved ones side by side: only the alerts' own status counts.
 */
#include "cleanup.h"
#include "errors.h"
#include "json_object.h"

#include <snapwalk/alerts.h>

#include <string.h>

enum { DEPTH_MAX = 8 }; /* payload, alerts, alert, labels, value are 5 */

/* NULL when it is no string of that length; there is no NUL inside. */
static const char *plain_string(struct json_object *value)
{
	if (!json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string_len(value) <= SW_ALERT_TEXT_MAX
		       ? json_object_get_string(value)
		       : NULL;
}

static int check_labels(struct json_object *labels, size_t index, struct sw_error *err)
{
	if (!json_object_is_type(labels, json_type_object))
		return sw_fail(err, SW_E_FORMAT, "alert %zu has no labels", index);
	if (json_object_object_length(labels) > SW_ALERT_LABELS_MAX)
		return sw_fail(err, SW_E_LIMIT, "alert %zu has more than %d labels", index,
			       SW_ALERT_LABELS_MAX);
	json_object_object_foreach(labels, name, value)
	{
		if (strlen(name) > SW_ALERT_TEXT_MAX || plain_string(value) == NULL)
			return sw_fail(err, SW_E_FORMAT,
				       "alert %zu: the label %.64s is not a short string", index,
				       name);
	}
	return 0;
}

/* A member that is a string or missing; null is missing. */
static int optional_string(struct json_object *object, const char *name, size_t index,
			   const char **ret, struct sw_error *err)
{
	struct json_object *value = json_object_object_get(object, name);
	*ret = NULL;
	if (value == NULL)
		return 0;
	*ret = plain_string(value);
	if (*ret == NULL)
		return sw_fail(err, SW_E_FORMAT, "alert %zu: %s is not a short string", index,
			       name);
	return 0;
}

static int parse_alert(struct json_object *object, size_t index, struct sw_alert *ret,
		       struct sw_error *err)
{
	if (!json_object_is_type(object, json_type_object))
		return sw_fail(err, SW_E_FORMAT, "alert %zu is not an object", index);
	const char *status = NULL;
	int r = optional_string(object, "status", index, &status, err);
	if (r == 0)
		r = optional_string(object, "fingerprint", index, &ret->fingerprint, err);
	if (r == 0)
		r = optional_string(object, "startsAt", index, &ret->starts_at, err);
	if (r < 0)
		return r;
	ret->firing = status != NULL && strcmp(status, "firing") == 0;
	if (!ret->firing && (status == NULL || strcmp(status, "resolved") != 0))
		return sw_fail(err, SW_E_FORMAT, "alert %zu is neither firing nor resolved", index);
	ret->labels = json_object_object_get(object, "labels");
	return check_labels(ret->labels, index, err);
}

static int parse_text(const char *text, size_t size, struct json_object **ret, struct sw_error *err)
{
	struct sw_error why;
	if (size > SW_ALERTS_BYTES_MAX)
		return sw_fail(err, SW_E_LIMIT, "the payload is longer than %d bytes",
			       SW_ALERTS_BYTES_MAX);
	/* senders put measured values beside the labels: of any size, and not looked at */
	int r = sw_json_object_read(text, size, DEPTH_MAX, true, ret, &why);
	return r == 0 ? 0 : sw_fail(err, -r, "the payload: %s", why.message);
}

/* The version says what the rest means; absent is what other senders of this format do. */
static int check_version(struct json_object *payload, struct sw_error *err)
{
	struct json_object *version = json_object_object_get(payload, "version");
	const char *text = plain_string(version);
	if (version != NULL && (text == NULL || strcmp(text, "4") != 0))
		return sw_fail(err, SW_E_FORMAT, "the payload is not of version 4");
	return 0;
}

static int parse_alerts(struct sw_alerts *a, struct sw_error *err)
{
	int r = check_version(a->payload, err);
	if (r < 0)
		return r;
	struct json_object *list = json_object_object_get(a->payload, "alerts");
	if (!json_object_is_type(list, json_type_array))
		return sw_fail(err, SW_E_FORMAT, "the payload has no alerts");
	size_t n = json_object_array_length(list);
	if (n > SW_ALERTS_MAX)
		return sw_fail(err, SW_E_LIMIT, "the payload has more than %d alerts",
			       SW_ALERTS_MAX);
	a->alerts = calloc(n > 0 ? n : 1, sizeof(*a->alerts));
	if (a->alerts == NULL)
		return sw_fail_nomem(err);
	for (; a->n_alerts < n && r == 0; a->n_alerts++)
		r = parse_alert(json_object_array_get_idx(list, a->n_alerts), a->n_alerts,
				&a->alerts[a->n_alerts], err);
	return r;
}

int sw_alerts_parse(const char *text, size_t size, struct sw_alerts *ret, struct sw_error *err)
{
	struct sw_alerts a = {0};
	int r = parse_text(text, size, &a.payload, err);
	if (r == 0)
		r = parse_alerts(&a, err);
	if (r < 0)
		sw_alerts_deinit(&a);
	else
		*ret = a;
	return r;
}

void sw_alerts_deinit(struct sw_alerts *alerts)
{
	(void) json_object_put(alerts->payload); /* NULL is legal */
	free(alerts->alerts);
	*alerts = (struct sw_alerts){0};
}

static bool add_string(struct json_object *object, const char *name, const char *value)
{
	struct json_object *string = json_object_new_string(value);
	if (string != NULL && json_object_object_add(object, name, string) == 0)
		return true;
	(void) json_object_put(string);
	return false;
}

struct json_object *sw_alert_trigger(const struct sw_alert *alert, const char *source)
{
	struct json_object *p = json_object_new_object();
	bool ok = p != NULL && add_string(p, "source", source) &&
		  add_string(p, "status", alert->firing ? "firing" : "resolved");
	if (ok && alert->fingerprint != NULL)
		ok = add_string(p, "fingerprint", alert->fingerprint);
	if (ok && alert->starts_at != NULL)
		ok = add_string(p, "starts_at", alert->starts_at);
	if (ok) {
		/* json-c counts references without atomics: a payload stays in its thread. */
		struct json_object *labels = json_object_get(alert->labels);
		ok = json_object_object_add(p, "labels", labels) == 0;
		if (!ok)
			(void) json_object_put(labels);
	}
	if (!ok) {
		(void) json_object_put(p); /* NULL is legal */
		p = NULL;
	}
	return p;
}
