/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/host.h"
#include "cleanup.h"
#include "test.h"

static const struct sw_gate_hosts hosts = {.names = {"gate.example.org", "web1"}, .n = 2};

TEST(test_ours)
{
	static const char *const ours[] = {
		NULL,
		"localhost",
		"LocalHost",
		"localhost.",
		"localhost:9911",
		"localhost:",
		"127.0.0.1",
		"127.0.0.1:9911",
		"127.1.2.3:80",
		"[::1]",
		"[::1]:9911",
		"gate.example.org",
		"Gate.Example.Org:443",
		"gate.example.org.",
		"web1:9911",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(ours); i++)
		if (!sw_gate_host_is_ours(&hosts, ours[i]))
			fail_msg("'%s' was refused", ours[i]);
}

TEST(test_others)
{
	static const char *const others[] = {
		"",
		".",
		":9911",
		"evil.example",
		"evil.example:9911",
		"localhost.evil.example",
		"127.0.0.1.evil.example",
		"evil.localhost",
		"localhost:9911.evil.example",
		"localhost:9911:1",
		"localhost evil.example",
		"localhost@evil.example",
		"192.168.1.1",
		"0.0.0.0:9911",
		"128.0.0.1",
		"[::]",
		"[::1",
		"[::1]x",
		"[localhost]",
		"[gate.example.org]",
		"::1",
		"gate.example.org.evil.example",
		"web10",
		"web",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		if (sw_gate_host_is_ours(&hosts, others[i]))
			fail_msg("'%s' was taken", others[i]);
	/* Without names of its own, the gate has those of loopback alone. */
	assert_false(sw_gate_host_is_ours(&(struct sw_gate_hosts){.n = 0}, "web1"));
}

TEST(test_long)
{
	char header[1024];
	memset(header, 'a', sizeof(header));
	header[sizeof(header) - 1] = '\0';
	assert_false(sw_gate_host_is_ours(&hosts, header));
	assert_false(sw_gate_host_is_name(header));
}

TEST(test_names)
{
	static const char *const names[] = {"a", "web1", "gate.example.org", "under_score"};
	static const char *const others[] = {"",    "a:1", "127.0.0.1", "[::1]",
					     "::1", "a b", "http://a",  "*"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (!sw_gate_host_is_name(names[i]))
			fail_msg("'%s' was refused", names[i]);
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		if (sw_gate_host_is_name(others[i]))
			fail_msg("'%s' was taken", others[i]);
}
