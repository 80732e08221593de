/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doctor/verdict.h"
#include "common/json_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sw_doctor_say(struct sw_doctor *d, enum sw_verdict verdict, const char *check,
		   const char *remedy, const char *fmt, ...)
{
	static const char *const words[] = {[SW_VERDICT_OK] = "ok",
					    [SW_VERDICT_NOTE] = "note",
					    [SW_VERDICT_REFUSED] = "refused"};
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	(void) vsnprintf(text, sizeof(text), fmt, ap); /* cut is fine: it is prose */
	va_end(ap);
	if (d->json) {
		sw_text_printf(&d->report, "%s{\"check\":\"%s\",\"verdict\":\"%s\"",
			       d->report.size > 0 ? "," : "", check, words[verdict]);
		sw_json_text_member(&d->report, "message", text);
		sw_json_text_member(&d->report, "remedy", remedy);
		sw_text_append(&d->report, "}", 1);
	} else {
		sw_text_printf(&d->report, "%-8s %-11s %s\n", words[verdict], check, text);
		if (remedy != NULL)
			sw_text_printf(&d->report, "%-20s -> %s\n", "", remedy);
	}
	d->n_refused += verdict == SW_VERDICT_REFUSED;
}

int64_t sw_status_field(const struct sw_text *status, const char *name, int base)
{
	size_t length = strlen(name);
	for (const char *line = status->data; line != NULL && *line != '\0';) {
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			return strtoll(line + length + 1, NULL, base);
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return -1;
}
