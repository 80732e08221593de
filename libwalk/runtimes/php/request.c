/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The request that a thread serves.
 *
 * Source: main/SAPI.h, main/main.c and main/fastcgi.c of PHP 8.2: SG(sapi_started) is set while there is
 * one, and the server's strings live as long. SG(request_info).request_uri is what the server has made
 * of the URI: of php-fpm that is SCRIPT_NAME, so that a program that answers all URIs has one only. What
 * the client asked for is then the FastCGI variable REQUEST_URI; its name proves that it was found.
 */
#include "runtimes/php/request.h"

#include <string.h>

static const char cut[] = "…";

/* Text that ends with a NUL, "" when there is none. */
static void string_read(const struct sw_php *php, uint64_t avma, char *ret, size_t size)
{
	char text[SW_PHP_REQUEST_STRING_MAX + sizeof(cut)];
	size_t n = 0;
	ret[0] = '\0';
	while (avma != 0 && n < SW_PHP_REQUEST_STRING_MAX) {
		size_t part = sw_php_request_part(avma + n, SW_PHP_REQUEST_STRING_MAX - n);
		if (!sw_memory_read(php->memory, avma + n, text + n, part))
			return;
		const char *end = memchr(text + n, '\0', part);
		n = end != NULL ? (size_t) (end - text) : n + part;
		if (end != NULL)
			break;
	}
	bool whole = n < size && n < SW_PHP_REQUEST_STRING_MAX;
	if (!whole) {
		size_t space = size < sizeof(text) ? size : sizeof(text);
		n = n < space - sizeof(cut) ? n : space - sizeof(cut);
		/* not within a character */
		while (n > 0 && ((uint8_t) text[n] & 0xc0) == 0x80)
			n--;
		memcpy(text + n, cut, sizeof(cut) - 1);
		n += sizeof(cut) - 1;
	}
	memcpy(ret, text, n);
	ret[n] = '\0';
}

/* The URI of a FastCGI request; "" if the request is of another kind or has no such variable. */
static void uri_read(const struct sw_php *php, uint64_t context, char *ret, size_t size)
{
	char name[sizeof(SW_PHP_REQUEST_URI) - 1];
	uint64_t bucket, name_avma, value;
	uint32_t has_env, hash, length;
	ret[0] = '\0';
	if (context == 0 || context % 8 != 0 ||
	    !sw_memory_read(php->memory, context + SW_PHP_FCGI_HAS_ENV, &has_env, 4) ||
	    has_env != 1 ||
	    !sw_memory_u64(php->memory, context + SW_PHP_REQUEST_URI_BUCKET, &bucket))
		return;
	for (size_t i = 0; i < SW_PHP_BUCKETS_MAX && bucket != 0 && bucket % 8 == 0; i++) {
		if (!sw_memory_read(php->memory, bucket, &hash, sizeof(hash)) ||
		    !sw_memory_read(php->memory, bucket + SW_PHP_BUCKET_NAME_LENGTH, &length, 4) ||
		    !sw_memory_u64(php->memory, bucket + SW_PHP_BUCKET_NAME, &name_avma) ||
		    !sw_memory_u64(php->memory, bucket + SW_PHP_BUCKET_VALUE, &value) ||
		    !sw_memory_u64(php->memory, bucket + SW_PHP_BUCKET_NEXT, &bucket) ||
		    !sw_memory_read(php->memory, name_avma, name, sizeof(name)))
			return;
		if (hash != SW_PHP_REQUEST_URI_HASH || length != sizeof(name) ||
		    memcmp(name, SW_PHP_REQUEST_URI, sizeof(name)) != 0)
			continue;
		string_read(php, value, ret, size);
		return;
	}
}

/* Whether it is this thread's, where all of them see the same globals: then one of them runs PHP. */
static bool is_its(const struct sw_php *php, const struct sw_thread *thread)
{
	return php->found.threads || php->snap->n_threads == 1 ||
	       (php->chain.tid == thread->tid && php->chain.n_native > 0);
}

/* sapi_globals of the thread; 0: it has none. */
static uint64_t sapi_of(const struct sw_php *php, const struct sw_thread *thread)
{
	const struct sw_php_found *f = &php->found;
	uint64_t avma = f->sapi_svma + f->place->bias, own, offset;
	if (!f->threads)
		return avma;
	uint64_t slot = thread->fs_base + (uint64_t) f->thread_offset;
	if (thread->fs_base == 0 || !sw_memory_u64(php->memory, slot, &own) || own == 0 ||
	    !sw_memory_u64(php->memory, avma, &offset))
		return 0;
	return own + offset;
}

static void member_read(const struct sw_php *php, uint64_t avma, char *ret, size_t size)
{
	uint64_t string;
	ret[0] = '\0';
	if (sw_memory_u64(php->memory, avma, &string))
		string_read(php, string, ret, size);
}

bool sw_php_request(const struct sw_php *php, const struct sw_thread *thread, struct sw_served *ret)
{
	uint64_t context, sapi;
	uint8_t started;
	if (php->found.layout == NULL || php->found.sapi_svma == 0 || php->snap->priv->hooks_torn ||
	    !thread->captured || !is_its(php, thread))
		return false;
	sapi = sapi_of(php, thread);
	if (sapi == 0 || sapi % 8 != 0 ||
	    !sw_memory_read(php->memory, sapi + SW_PHP_SAPI_STARTED, &started, 1) || started != 1)
		return false;
	ret->runtime = "php";
	member_read(php, sapi + SW_PHP_SAPI_METHOD, ret->method, sizeof(ret->method));
	member_read(php, sapi + SW_PHP_SAPI_SCRIPT, ret->script, sizeof(ret->script));
	if (sw_memory_u64(php->memory, sapi + SW_PHP_SAPI_CONTEXT, &context))
		uri_read(php, context, ret->uri, sizeof(ret->uri));
	if (ret->uri[0] == '\0') {
		char query[SW_PHP_REQUEST_STRING_MAX];
		member_read(php, sapi + SW_PHP_SAPI_URI, ret->uri, sizeof(ret->uri));
		member_read(php, sapi + SW_PHP_SAPI_QUERY, query, sizeof(query));
		size_t n = strlen(ret->uri);
		if (n > 0 && query[0] != '\0' && n + 1 + strlen(query) < sizeof(ret->uri)) {
			ret->uri[n] = '?';
			memcpy(ret->uri + n + 1, query, strlen(query) + 1);
		} else if (n > 0 && query[0] != '\0' && n + 1 + sizeof(cut) <= sizeof(ret->uri)) {
			ret->uri[n] = '?';
			memcpy(ret->uri + n + 1, cut, sizeof(cut));
		}
	}
	return ret->uri[0] != '\0' || ret->script[0] != '\0';
}
