/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_REQUEST_H
#define SW_PHP_REQUEST_H

#include "runtimes/php/php.h"

#define SW_PHP_REQUEST_URI "REQUEST_URI"

enum {
	SW_PHP_REQUEST_STRING_MAX = 1024, /* bytes with the NUL; longer ones are cut */
	SW_PHP_BUCKETS_MAX = 64,          /* variables with one hash that are looked at */
	/* The hash of "REQUEST_URI": FCGI_HASH_FUNC (main/fastcgi.h) is 'U' * 4 + 'R' * 16 + 'I' *
	 * 4 + 11. */
	SW_PHP_REQUEST_URI_HASH = 'U' * 4 + 'R' * 16 + 'I' * 4 + 11,
	SW_PHP_REQUEST_URI_BUCKET = SW_PHP_FCGI_BUCKETS + SW_PHP_REQUEST_URI_HASH % 128 * 8,
};

/* Bytes of a string that are read at once: those behind may lie in a page that is not there. */
static inline size_t sw_php_request_part(uint64_t avma, size_t bytes)
{
	size_t here = 4096 - (size_t) (avma % 4096);
	return here < bytes ? here : bytes;
}

/* sw_runtime_ops.request. */
bool sw_php_request(const struct sw_php *php, const struct sw_thread *thread,
		    struct sw_served *ret);

#endif
