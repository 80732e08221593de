/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The shipper's parsers: of an answer of the daemon, a configuration, a file of the spool, a header of HTTP, the body of an
 * answer. The first byte says which. */
#include "fuzz.h"
#include "ship/config.h"
#include "ship/convert.h"
#include "ship/http.h"
#include "ship/status.h"
#include "cleanup.h"

#include <snapwalk/otlp.h>

#include <string.h>

static void convert(enum sw_ship_kind kind, const char *text, size_t size)
{
	sw_cleanup(sw_free_p) char *request = NULL, *packed = NULL;
	size_t request_size = 0, packed_size = 0;
	struct sw_error err = {0};
	int r = sw_ship_convert(kind, "an-id", text, size, &request, &request_size, &err);
	check(r == 0 || (err.code == -r && err.message[0] != '\0'));
	if (r == 0) {
		check(request_size > 0);
		check(sw_ship_pack(request, request_size, &packed, &packed_size, &err) == 0);
		check(packed_size > 0);
	}
}

static void configure(const char *text)
{
	struct sw_ship_config config = {.retry_max_ms = 1000};
	struct sw_error err = {0};
	int r = sw_ship_config_parse(&config, text, "fuzz", &err);
	check(r == 0 || (r == -SW_E_INVALID && err.message[0] != '\0'));
	for (size_t i = 0; r == 0 && i < SW_SHIP_KINDS; i++)
		if (config.targets[i].url != NULL)
			(void) sw_ship_http_port(&config.targets[i]); /* any is one */
	sw_ship_config_deinit(&config);
}

static void parse_batch(const char *data, size_t size)
{
	struct sw_ship_batch batch = {0};
	struct sw_error err = {0};
	int r = sw_ship_batch_parse(data, size, &batch, &err);
	check(r == 0 || (r == -SW_E_FORMAT && err.message[0] != '\0'));
	if (r == 0) {
		check(batch.n_ids > 0 && batch.n_ids <= SW_SHIP_BATCH_IDS && batch.size < size);
		for (size_t i = 0; i < batch.n_ids; i++)
			check(sw_ship_id_valid(batch.ids[i].text));
	}
	sw_ship_batch_deinit(&batch);
}

static void take_header(const char *line, size_t size)
{
	struct sw_ship_answer answer = {0};
	sw_ship_http_header(&answer, line, size, 1795000000);
	check(answer.retry_after_ms >= 0 && answer.retry_after_ms <= INT64_C(1000) * INT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sw_ship_shared shared;
	if (size == 0)
		return 0;
	const char *rest = (const char *) data + 1;
	sw_cleanup(sw_free_p) char *text = strndup(rest, size - 1);
	check(text != NULL);
	switch (data[0]) {
	case 'p': convert(SW_SHIP_PROFILES, rest, size - 1); break;
	case 'd': convert(SW_SHIP_DUMPS, rest, size - 1); break;
	case 'c': configure(text); break;
	case 'b': parse_batch(rest, size - 1); break;
	case 'h': take_header(rest, size - 1); break;
	case 's': sw_ship_status_read(text, &shared); break;
	case 'a': (void) sw_otlp_rejected(rest, size - 1); break; /* any number is one */
	default: break;
	}
	return 0;
}
