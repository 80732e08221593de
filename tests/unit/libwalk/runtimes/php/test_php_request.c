/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/php/request: the request that a thread serves, over made structures. */
#include "php_world.h"
#include "runtimes/php/request.h"
#include "test.h"

static struct php_world world;
static struct sw_served served;

static int setup(void **state)
{
	php_world_init(&world);
	return 0;
}

static bool ask(void)
{
	memset(&served, 0, sizeof(served));
	return sw_php_request(&world.php, &world.thread, &served);
}

TEST_WITH(test_fastcgi, setup, NULL)
{
	assert_true(ask());
	assert_string_equal(served.runtime, "php");
	assert_string_equal(served.method, "GET");
	assert_string_equal(served.uri, "/cart/7?id=7");
	assert_string_equal(served.script, "/srv/a.php");
}

/* Another server, or a request without the variable: what the server has made of it. */
TEST_WITH(test_other_server, setup, NULL)
{
	php_world_u32(&world, PHP_FCGI + SW_PHP_FCGI_HAS_ENV, 0);
	assert_true(ask());
	assert_string_equal(served.uri, "/index.php?q=1");
	php_world_u32(&world, PHP_FCGI + SW_PHP_FCGI_HAS_ENV, 1);
	php_world_u32(&world, PHP_BUCKETS + 0x40 + SW_PHP_BUCKET_NAME_LENGTH, 12);
	assert_true(ask());
	assert_string_equal(served.uri, "/index.php?q=1");
	php_world_u64(&world, PHP_SAPI + SW_PHP_SAPI_QUERY, 0);
	php_world_u64(&world, PHP_SAPI + SW_PHP_SAPI_CONTEXT, 0x10); /* nowhere */
	assert_true(ask());
	assert_string_equal(served.uri, "/index.php");
}

TEST_WITH(test_none, setup, NULL)
{
	world.data[PHP_SAPI + SW_PHP_SAPI_STARTED - PHP_WORLD] = 0;
	assert_false(ask()); /* between two */
	world.data[PHP_SAPI + SW_PHP_SAPI_STARTED - PHP_WORLD] = 1;
	assert_true(ask());
	world.priv.hooks_torn = true;
	assert_false(ask());
	world.priv.hooks_torn = false;
	world.php.found.sapi_svma = 0;
	assert_false(ask());
	world.php.found.sapi_svma = 0x1000; /* nowhere */
	assert_false(ask());
}

/* All threads see the same variables: the one that runs PHP serves it. */
TEST_WITH(test_which_thread, setup, NULL)
{
	world.snap.n_threads = 2;
	assert_false(ask());
	world.php.chain.tid = world.thread.tid;
	assert_false(ask());
	world.php.chain.n_native = 1;
	assert_true(ask());
	world.thread.tid++;
	assert_false(ask());
}

/* ZTS: each thread has its own. */
TEST_WITH(test_threads, setup, NULL)
{
	enum { SLOT = PHP_WORLD + 0x5f00, OFFSET = PHP_WORLD + 0x5f10 };
	world.php.found.threads = true;
	world.php.found.sapi_svma = OFFSET;
	world.php.found.thread_offset = -16;
	world.snap.n_threads = 2;
	assert_false(ask()); /* no thread of PHP */
	world.thread.fs_base = SLOT + 16;
	php_world_u64(&world, SLOT, PHP_WORLD);
	php_world_u64(&world, OFFSET, PHP_SAPI - PHP_WORLD);
	assert_true(ask());
	assert_string_equal(served.uri, "/cart/7?id=7");
}

/* Longer than what is read, over the end of a page: cut, and not within a character. */
TEST_WITH(test_long, setup, NULL)
{
	uint64_t uri = PHP_WORLD + 0x4e80;
	memset(world.data + uri - PHP_WORLD, 'x', 0x5f00 - 0x4e80);
	php_world_u64(&world, PHP_BUCKETS + 0x40 + SW_PHP_BUCKET_VALUE, uri);
	memcpy(world.data + uri + 1019 - PHP_WORLD, "ä", 2);
	assert_true(ask());
	assert_int_equal(strlen(served.uri), 1019 + 3);
	assert_string_equal(served.uri + 1018, "x…");
	php_world_u64(&world, PHP_SAPI + SW_PHP_SAPI_METHOD, uri);
	assert_true(ask());
	assert_string_equal(served.method, "xxxxxxxxxxxx…");
	/* The page behind it cannot be read. */
	world.region.size = 0x5000;
	assert_true(ask());
	assert_string_equal(served.uri, "/index.php?q=1");
	assert_string_equal(served.method, "");
}

TEST_WITH(test_circle, setup, NULL)
{
	php_world_u64(&world, PHP_BUCKETS + SW_PHP_BUCKET_NEXT, PHP_BUCKETS);
	assert_true(ask());
	assert_string_equal(served.uri, "/index.php?q=1");
}
