/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* HTTP by libcurl, as narrow as it can be made: one URL, no redirect, no cookie, no other protocol, no compression of
 * answers, certificates verified, a limit on time, headers and body. */
#include "ship/http.h"
#include "ship/retry.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <snapwalk/clock.h>
#include <snapwalk/otlp.h>

#include <curl/curl.h>
#include <netdb.h>
#include <string.h>
#include <strings.h>

enum {
	HTTP_UNAUTHORIZED = 401,
	HTTP_FORBIDDEN = 403,
	HTTP_TIMEOUT = 408,
	HTTP_TOO_EARLY = 425,
	HTTP_TOO_MANY = 429,
	CONNECT_MAX_MS = 10 * 1000,
	HOST_MAX_BYTES = 256,
};

struct sw_ship_http {
	CURL *curl;                 /* owned */
	struct curl_slist *headers; /* owned; but that of the batch */
	char why[CURL_ERROR_SIZE];
	struct sw_text body;
	size_t header_bytes;
	struct sw_ship_answer *answer; /* borrowed; of the request under way */
};

bool sw_ship_denied(long status)
{
	return status == HTTP_UNAUTHORIZED || status == HTTP_FORBIDDEN;
}

enum sw_ship_verdict sw_ship_judge(long status)
{
	if (status >= 200 && status < 300)
		return SW_SHIP_TAKEN;
	/* A sender that is denied may be allowed later, and then with the same request. */
	if (sw_ship_denied(status) || status == HTTP_TIMEOUT || status == HTTP_TOO_EARLY ||
	    status == HTTP_TOO_MANY)
		return SW_SHIP_AGAIN;
	return status >= 400 && status < 500 ? SW_SHIP_REFUSAL : SW_SHIP_AGAIN;
}

/* ---- answers --------------------------------------------------------------------------------- */

void sw_ship_http_header(struct sw_ship_answer *answer, const char *line, size_t size,
			 int64_t now_s)
{
	enum { VALUE_MAX = 64 };
	static const char name[] = "Retry-After:";
	const size_t length = sizeof(name) - 1;
	char value[VALUE_MAX];
	if (size < length || strncasecmp(line, name, length) != 0 || size - length >= sizeof(value))
		return;
	memcpy(value, line + length, size - length);
	value[size - length] = '\0';
	answer->retry_after_ms = sw_ship_retry_after(value, now_s);
}

static size_t take_header(char *data, size_t one, size_t n, void *arg)
{
	struct sw_ship_http *http = arg;
	const size_t size = one * n;
	http->header_bytes += size;
	if (http->header_bytes > SW_SHIP_HEADERS_BYTES)
		return 0; /* ends it */
	sw_ship_http_header(http->answer, data, size, sw_realtime_ns() / 1000000000);
	return size;
}

static size_t take_body(char *data, size_t one, size_t n, void *arg)
{
	struct sw_ship_http *http = arg;
	const size_t size = one * n;
	if (size > SW_SHIP_ANSWER_MAX - http->body.size)
		return 0; /* ends it: the status is known */
	sw_text_append(&http->body, data, size);
	return size;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static bool add_header(struct sw_ship_http *http, const char *line)
{
	struct curl_slist *longer = curl_slist_append(http->headers, line);
	if (longer != NULL)
		http->headers = longer;
	return longer != NULL;
}

static bool add_token(struct sw_ship_http *http, const struct sw_ship_target *target)
{
	sw_cleanup(sw_text_deinit) struct sw_text line = {0};
	if (target->token == NULL)
		return true;
	if (target->user != NULL)
		return curl_easy_setopt(http->curl, CURLOPT_HTTPAUTH, (long) CURLAUTH_BASIC) ==
			       CURLE_OK &&
		       curl_easy_setopt(http->curl, CURLOPT_USERNAME, target->user) == CURLE_OK &&
		       curl_easy_setopt(http->curl, CURLOPT_PASSWORD, target->token) == CURLE_OK;
	sw_text_printf(&line, "Authorization: Bearer %s", target->token);
	bool added = !line.failed && add_header(http, line.data);
	if (line.data != NULL)
		explicit_bzero(line.data, line.size);
	return added;
}

static bool add_headers(struct sw_ship_http *http, const struct sw_ship_target *target)
{
	bool added = add_header(http, "Content-Type: application/x-protobuf") &&
		     add_header(http, "Content-Encoding: gzip") && add_header(http, "Expect:") &&
		     add_token(http, target);
	for (size_t i = 0; added && i < target->n_headers; i++)
		added = add_header(http, target->headers[i]);
	return added;
}

/* Sets an option of libcurl, unless an earlier one has failed. */
#define SET(option, value)                                              \
	do {                                                            \
		if (code == CURLE_OK)                                   \
			code = curl_easy_setopt(curl, option, (value)); \
	} while (0)

static CURLcode set_options(struct sw_ship_http *http, const struct sw_ship_target *target,
			    int64_t timeout_ms)
{
	CURL *curl = http->curl;
	CURLcode code = CURLE_OK;
	SET(CURLOPT_URL, target->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_PROXY, target->proxy != NULL ? target->proxy : "");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_NETRC, (long) CURL_NETRC_IGNORED);
	SET(CURLOPT_USERAGENT, "snapwalk-ship/" SW_VERSION);
	SET(CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	if (target->ca_file != NULL)
		SET(CURLOPT_CAINFO, target->ca_file);
	SET(CURLOPT_CONNECTTIMEOUT_MS,
	    (long) (timeout_ms < CONNECT_MAX_MS ? timeout_ms : CONNECT_MAX_MS));
	SET(CURLOPT_TIMEOUT_MS, (long) timeout_ms);
	SET(CURLOPT_ERRORBUFFER, http->why);
	SET(CURLOPT_HEADERFUNCTION, take_header);
	SET(CURLOPT_HEADERDATA, http);
	SET(CURLOPT_WRITEFUNCTION, take_body);
	SET(CURLOPT_WRITEDATA, http);
	return code;
}

/* Host and port of a URL; the port is that of its scheme when it says none. */
static uint16_t split(const char *url, char *host, size_t size)
{
	const bool is_tls = strncmp(url, "https:", 6) == 0;
	const char *begin = strstr(url, "://") + 3;
	size_t length = strcspn(begin, "/?#");
	const char *colon = memrchr(begin, ':', length), *bracket = memrchr(begin, ']', length);
	if (colon != NULL && bracket != NULL && bracket > colon)
		colon = NULL; /* of an IPv6 address */
	size_t host_length = colon != NULL ? (size_t) (colon - begin) : length;
	(void) snprintf(host, size, "%.*s", (int) host_length, begin); /* cut: is not found */
	unsigned long port = colon != NULL ? strtoul(colon + 1, NULL, 10) : is_tls ? 443 : 80;
	return port <= UINT16_MAX ? (uint16_t) port : 0;
}

uint16_t sw_ship_http_port(const struct sw_ship_target *target)
{
	char host[HOST_MAX_BYTES];
	return split(target->proxy != NULL ? target->proxy : target->url, host, sizeof(host));
}

static void look_up(const struct sw_ship_target *target)
{
	char host[HOST_MAX_BYTES];
	struct addrinfo *found = NULL;
	(void) split(target->proxy != NULL ? target->proxy : target->url, host, sizeof(host));
	if (getaddrinfo(host, NULL, NULL, &found) == 0) /* if not, it is tried again later */
		freeaddrinfo(found);
}

int sw_ship_http_create(const struct sw_ship_target *target, int64_t timeout_ms,
			struct sw_ship_http **ret, struct sw_error *err)
{
	struct sw_ship_http *http = calloc(1, sizeof(*http));
	if (http == NULL)
		return sw_fail_nomem(err);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    (http->curl = curl_easy_init()) == NULL || !add_headers(http, target)) {
		sw_ship_http_destroy(http);
		return sw_fail_nomem(err);
	}
	CURLcode code = set_options(http, target, timeout_ms);
	if (code != CURLE_OK) {
		sw_ship_http_destroy(http);
		return sw_fail(err, SW_E_INVALID, "%s: %s", target->url, curl_easy_strerror(code));
	}
	look_up(target);
	*ret = http;
	return 0;
}

int sw_ship_http_renew(struct sw_ship_http *http, const struct sw_ship_target *target,
		       struct sw_error *err)
{
	struct curl_slist *old = http->headers;
	http->headers = NULL;
	if (!add_headers(http, target)) {
		curl_slist_free_all(http->headers);
		http->headers = old;
		return sw_fail_nomem(err);
	}
	curl_slist_free_all(old);
	return 0;
}

void sw_ship_http_destroy(struct sw_ship_http *http)
{
	if (http == NULL)
		return;
	curl_easy_cleanup(http->curl);      /* NULL is legal */
	curl_slist_free_all(http->headers); /* likewise */
	sw_text_deinit(&http->body);
	free(http);
}

/* ---- a request ------------------------------------------------------------------------------- */

static CURLcode send_batch(struct sw_ship_http *http, const struct sw_ship_batch *batch)
{
	CURL *curl = http->curl;
	CURLcode code = CURLE_OK;
	char line[sizeof("Idempotency-Key: ") + SW_SHIP_KEY_SIZE];
	(void) snprintf(line, sizeof(line), "Idempotency-Key: %s", batch->key); /* fits */
	struct curl_slist key = {.data = line, .next = http->headers};
	SET(CURLOPT_HTTPHEADER, &key);
	SET(CURLOPT_POSTFIELDS, batch->body);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) batch->size);
	if (code == CURLE_OK)
		code = curl_easy_perform(curl);
	(void) curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL); /* line ends with this function */
	return code;
}

void sw_ship_http_post(struct sw_ship_http *http, const struct sw_ship_batch *batch,
		       struct sw_ship_answer *ret)
{
	*ret = (struct sw_ship_answer){0};
	http->answer = ret;
	http->header_bytes = http->body.size = 0;
	http->why[0] = '\0';
	CURLcode code = send_batch(http, batch);
	/* A status that came counts whatever came after it: the receiver has decided. But headers without an end are no
	 * answer, and the status of 100 Continue is not the last one. */
	if (http->header_bytes <= SW_SHIP_HEADERS_BYTES &&
	    curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &ret->status) != CURLE_OK)
		ret->status = 0;
	if (ret->status < 200)
		ret->status = 0;
	if (ret->status == 0)
		(void) snprintf(ret->why, sizeof(ret->why), "%s",
				http->why[0] != '\0' ? http->why
						     : curl_easy_strerror(code)); /* cut is fine */
	else if (code == CURLE_OK && sw_ship_judge(ret->status) == SW_SHIP_TAKEN)
		ret->rejected = sw_otlp_rejected(http->body.data, http->body.size);
	http->answer = NULL;
}
