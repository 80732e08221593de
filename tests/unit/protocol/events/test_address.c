/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <snapwalk/event_text.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

TEST(test_families)
{
	char text[160];
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(5432)};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
	in.sin_addr.s_addr = htonl(0x0a000307);
	assert_true(sw_event_address(&in, sizeof(in), text, sizeof(text)));
	assert_string_equal(text, "10.0.3.7:5432");
	assert_false(sw_event_address(&in, sizeof(in) - 1, text, sizeof(text)));
	assert_true(sw_event_address(&un, offsetof(struct sockaddr_un, sun_path) + 6, text,
				     sizeof(text)));
	assert_string_equal(text, "/run/x");
	assert_true(sw_event_address(&un, offsetof(struct sockaddr_un, sun_path) + 4, text,
				     sizeof(text)));
	assert_string_equal(text, "/run");
	assert_false(sw_event_address(&un, 2, text, sizeof(text)));
	assert_false(sw_event_address("", 0, text, sizeof(text)));
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
	in6.sin6_addr = in6addr_loopback;
	assert_true(sw_event_address(&in6, sizeof(in6), text, sizeof(text)));
	assert_string_equal(text, "[::1]:80");
	assert_false(sw_event_address(&in6, sizeof(in6) - 1, text, sizeof(text)));
	struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0bus"};
	assert_true(sw_event_address(&abstract, offsetof(struct sockaddr_un, sun_path) + 4, text,
				     sizeof(text)));
	assert_string_equal(text, "@bus");
}
