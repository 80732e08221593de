/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The request that a thread serves, copied while nothing changes: its strings are the server's and are
 * overwritten by the next one. Only with --args.
 *
 * In the window: nothing is allocated, opened or parsed; the reads are bounded by what was set aside.
 */
#include "runtimes/php/request_window.h"
#include "runtimes/php/request.h"

#include <string.h>

static void string_copy(struct sw_capture *capture, uint64_t avma)
{
	const uint8_t *copy;
	size_t bytes = sw_php_request_part(avma, SW_PHP_REQUEST_STRING_MAX);
	if (avma == 0 || !sw_capture_copy(capture, avma, bytes, &copy) ||
	    memchr(copy, '\0', bytes) != NULL)
		return;
	avma += bytes;
	bytes = SW_PHP_REQUEST_STRING_MAX - bytes;
	if (bytes > 0)
		(void) sw_capture_copy(capture, avma, bytes, &copy); /* else it is not known */
}

/* REQUEST_URI among the variables of a FastCGI request. */
static void variables_copy(struct sw_capture *capture, uint64_t context)
{
	uint64_t bucket, name, value;
	const uint8_t *copy;
	if (context == 0 || context % 8 != 0 ||
	    !sw_capture_copy(capture, context + SW_PHP_FCGI_HAS_ENV, 4, &copy) ||
	    !sw_capture_copy(capture, context + SW_PHP_REQUEST_URI_BUCKET, 8, &copy))
		return;
	memcpy(&bucket, copy, sizeof(bucket));
	for (size_t i = 0; i < SW_PHP_BUCKETS_MAX && bucket != 0 && bucket % 8 == 0; i++) {
		if (!sw_capture_copy(capture, bucket, SW_PHP_BUCKET_BYTES, &copy))
			return;
		memcpy(&name, copy + SW_PHP_BUCKET_NAME, sizeof(name));
		memcpy(&value, copy + SW_PHP_BUCKET_VALUE, sizeof(value));
		memcpy(&bucket, copy + SW_PHP_BUCKET_NEXT, sizeof(bucket));
		if (!sw_capture_copy(capture, name, sizeof(SW_PHP_REQUEST_URI) - 1, &copy))
			return;
		if (memcmp(copy, SW_PHP_REQUEST_URI, sizeof(SW_PHP_REQUEST_URI) - 1) == 0) {
			string_copy(capture, value);
			return;
		}
	}
}

void sw_php_request_copy(struct sw_capture *capture, uint64_t sapi_avma)
{
	static const size_t strings[] = {SW_PHP_SAPI_METHOD, SW_PHP_SAPI_QUERY, SW_PHP_SAPI_SCRIPT,
					 SW_PHP_SAPI_URI};
	uint8_t sapi[SW_PHP_SAPI_BYTES];
	uint64_t avma;
	if (!sw_capture_wanted(capture, sapi_avma, sapi, sizeof(sapi))) {
		const uint8_t *copy;
		if (sapi_avma % 8 != 0 || !sw_capture_copy(capture, sapi_avma, sizeof(sapi), &copy))
			return;
		memcpy(sapi, copy, sizeof(sapi));
	}
	if (sapi[SW_PHP_SAPI_STARTED] != 1)
		return;
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		memcpy(&avma, sapi + strings[i], sizeof(avma));
		string_copy(capture, avma);
	}
	memcpy(&avma, sapi + SW_PHP_SAPI_CONTEXT, sizeof(avma));
	variables_copy(capture, avma);
}
