/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/config.h"
#include "cleanup.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>

TEST(test_all_keys)
{
	static const char text[] = "# a comment\n"
				   "[Ship]\n"
				   "Spool = /srv/spool\r\n"
				   "SpoolMax=2G\n"
				   "TimeoutSec=7\n"
				   "RetryMinMs=20\n"
				   "RetryMaxSec=3\n"
				   "; another\n"
				   "[Profiles]\n"
				   "URL=https://one.example/p?a=b\n"
				   "Header=X-Scope-OrgID: 1\n"
				   "Header=X-Other: a = b\n"
				   "Proxy=http://proxy.example:3128\n"
				   "[Dumps]\n"
				   "URL=http://[::1]:4318/v1/logs\n"
				   "TokenFile=/srv/token\n"
				   "User=123\n"
				   "CAFile=/srv/ca.pem";
	struct sw_ship_config c = {.retry_max_ms = 1, .spool = NULL};
	assert_int_equal(sw_ship_config_parse(&c, text, "ship.conf", NULL), 0);
	assert_string_equal(c.spool, "/srv/spool");
	assert_int_equal(c.spool_bytes_max, INT64_C(2) << 30);
	assert_int_equal(c.timeout_ms, 7000);
	assert_int_equal(c.retry_min_ms, 20);
	assert_int_equal(c.retry_max_ms, 3000);
	const struct sw_ship_target *t = &c.targets[SW_SHIP_PROFILES];
	assert_string_equal(t->url, "https://one.example/p?a=b");
	assert_int_equal(t->n_headers, 2);
	assert_string_equal(t->headers[1], "X-Other: a = b");
	assert_string_equal(t->proxy, "http://proxy.example:3128");
	assert_null(t->token_file);
	t = &c.targets[SW_SHIP_DUMPS];
	assert_string_equal(t->url, "http://[::1]:4318/v1/logs");
	assert_string_equal(t->token_file, "/srv/token");
	assert_string_equal(t->user, "123");
	assert_string_equal(t->ca_file, "/srv/ca.pem");
	sw_ship_config_deinit(&c);
}

TEST(test_mistakes)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"URL=https://x/\n", "c:1: the key is in no section: 'URL'"},
		{"[Ship]\nURL=https://x/\n", "c:2: [Ship] has no such key: 'URL'"},
		{"[ship]\n", "c:1: there is no such section: '[ship]'"},
		{"[Dumps]\nURL\n", "c:2: this is neither a section nor KEY=VALUE: 'URL'"},
		{"[Dumps]\nURL=\n", "c:2: give a URL that begins with https:// or http://: ''"},
		{"[Dumps]\nURL=https:///x\n",
		 "c:2: give a URL that begins with https:// or http://: 'https:///x'"},
		{"[Dumps]\nTokenFile=token\n", "c:2: a path begins with /: 'token'"},
		{"[Dumps]\nHeader=A\n", "c:2: a header is 'Name: value': 'A'"},
		{"[Dumps]\nHeader=A B: c\n", "c:2: a header is 'Name: value': 'A B: c'"},
		{"[Dumps]\nHeader=A: b\x01\n", "c:2: this is no value: 'A: b\x01'"},
		{"[Dumps]\nUser=x\n", "c: User= needs TokenFile="},
		{"[Ship]\nSpoolMax=1000\n",
		 "c:2: this number is out of range, or has another unit: '1000'"},
		{"[Ship]\nSpoolMax=99999999T\n",
		 "c:2: this number is out of range, or has another unit: '99999999T'"},
		{"[Ship]\nSpoolMax=-1M\n", "c:2: this is no number: '-1M'"},
		{"[Ship]\nTimeoutSec=0\n",
		 "c:2: this number is out of range, or has another unit: '0'"},
		{"[Ship]\nTimeoutSec=5K\n",
		 "c:2: this number is out of range, or has another unit: '5K'"},
		{"[Ship]\nRetryMinMs=2000\nRetryMaxSec=1\n",
		 "c: RetryMinMs= is above RetryMaxSec="},
		{"[Dumps]\nURL=http://127.0.0.1.example/\nTokenFile=/x\n",
		 "c: a token is sent by https:// only, or to this machine"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_ship_config c = {.retry_min_ms = 1, .retry_max_ms = 1000};
		struct sw_error err = {0};
		assert_int_equal(sw_ship_config_parse(&c, cases[i].text, "c", &err), -SW_E_INVALID);
		assert_string_equal(err.message, cases[i].message);
		sw_ship_config_deinit(&c);
	}
}

TEST(test_headers_max)
{
	char text[1024] = "[Dumps]\n";
	for (int i = 0; i <= SW_SHIP_HEADERS_MAX; i++)
		strcat(text, "Header=A: b\n");
	struct sw_ship_config c = {.retry_max_ms = 1};
	struct sw_error err = {0};
	assert_int_equal(sw_ship_config_parse(&c, text, "c", &err), -SW_E_INVALID);
	assert_string_equal(err.message, "c:10: there are too many headers: 'A: b'");
	assert_int_equal(c.targets[SW_SHIP_DUMPS].n_headers, SW_SHIP_HEADERS_MAX);
	sw_ship_config_deinit(&c);
}

/* The result for a file of a token with these bytes and this mode. */
static int load(const char *content, mode_t mode, char **ret, struct sw_error *err)
{
	char path[] = "/tmp/ship-token-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
	struct sw_ship_config c = {0};
	c.targets[SW_SHIP_DUMPS].url = strdup("https://x/");
	c.targets[SW_SHIP_DUMPS].token_file = strdup(path);
	int r = sw_ship_config_tokens(&c, err);
	*ret = r == 0 ? strdup(c.targets[SW_SHIP_DUMPS].token) : NULL;
	sw_ship_config_forget(&c, SW_SHIP_DUMPS);
	assert_true(r < 0 || c.targets[SW_SHIP_DUMPS].token != NULL);
	sw_ship_config_forget(&c, SW_SHIP_PROFILES);
	assert_null(c.targets[SW_SHIP_DUMPS].token);
	sw_ship_config_deinit(&c);
	assert_int_equal(unlink(path), 0);
	return r;
}

TEST(test_tokens)
{
	static const struct {
		const char *content;
		mode_t mode;
		int result;
	} cases[] = {
		{"secret\nsecond\n", 0600, 0},
		{"secret", 0400, 0},
		{"secret\r\n", 0600, 0},
		{"secret\n", 0640, -SW_E_NOT_PERMITTED},
		{"secret\n", 0604, -SW_E_NOT_PERMITTED},
		{"secret\n", 0620, -SW_E_NOT_PERMITTED},
		{"", 0600, -SW_E_FORMAT},
		{"\nsecret\n", 0600, -SW_E_FORMAT},
		{"two words\n", 0600, -SW_E_FORMAT},
		{"secret\x7f\n", 0600, -SW_E_FORMAT},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		sw_cleanup(sw_free_p) char *token = NULL;
		struct sw_error err = {0};
		assert_int_equal(load(cases[i].content, cases[i].mode, &token, &err),
				 cases[i].result);
		if (cases[i].result == 0)
			assert_string_equal(token, "secret");
	}
}

TEST(test_renew)
{
	char path[] = "/tmp/ship-token-XXXXXX";
	struct sw_ship_target target = {.token_file = path};
	struct sw_error err = {0};
	bool changed = false;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "first\n", 6), 6);
	assert_int_equal(sw_ship_config_renew(&target, &changed, &err), 0);
	assert_true(changed);
	assert_int_equal(sw_ship_config_renew(&target, &changed, &err), 0);
	assert_false(changed);
	assert_int_equal(ftruncate(fd, 0), 0); /* the file is being written */
	assert_int_equal(sw_ship_config_renew(&target, &changed, &err), -SW_E_FORMAT);
	assert_string_equal(target.token, "first");
	assert_int_equal(pwrite(fd, "second\n", 7, 0), 7);
	assert_int_equal(sw_ship_config_renew(&target, &changed, &err), 0);
	assert_true(changed);
	assert_string_equal(target.token, "second");
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
	free(target.token);
}
