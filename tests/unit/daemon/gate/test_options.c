/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/options.h"
#include "cleanup.h"
#include "test.h"

#include <arpa/inet.h>

static void good_address(const char *text, const char *address, unsigned port)
{
	struct sockaddr_storage at;
	socklen_t size;
	char got[INET6_ADDRSTRLEN];
	struct sw_error err = {0};
	if (sw_gate_listen_parse(text, &at, &size, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	memcpy(&v4, &at, sizeof(v4));
	memcpy(&v6, &at, sizeof(v6));
	bool is_v6 = at.ss_family == AF_INET6;
	assert_int_equal(size, is_v6 ? sizeof(v6) : sizeof(v4));
	assert_non_null(inet_ntop(at.ss_family,
				  is_v6 ? (void *) &v6.sin6_addr : (void *) &v4.sin_addr, got,
				  sizeof(got)));
	assert_string_equal(got, address);
	assert_int_equal(ntohs(is_v6 ? v6.sin6_port : v4.sin_port), port);
}

static void bad_address(const char *text, const char *message)
{
	struct sockaddr_storage at;
	socklen_t size;
	struct sw_error err = {0};
	assert_int_equal(sw_gate_listen_parse(text, &at, &size, &err), -SW_E_INVALID);
	assert_string_equal(err.message, message);
}

TEST(test_addresses)
{
	good_address("9911", "127.0.0.1", 9911);
	good_address(":0", "127.0.0.1", 0);
	good_address("127.1.2.3:65535", "127.1.2.3", 65535);
	good_address("[::1]:80", "::1", 80);
	good_address("::1:80", "::1", 80);
}

/* The token would go over the network as it is. */
TEST(test_only_loopback)
{
	static const char remedy[] = " is not a loopback address: give 127.0.0.1:PORT, and put a "
				     "proxy with TLS before it";
	static const char *const open[] = {"0.0.0.0:9911", "192.0.2.1:9911", "[::]:9911",
					   "[2001:db8::1]:9911", "[::ffff:192.0.2.1]:9911"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(open); i++) {
		char message[256];
		(void) snprintf(message, sizeof(message), "'%s'%s", open[i], remedy);
		bad_address(open[i], message);
	}
	bad_address("localhost:9911", "'localhost:9911' is no address: give 127.0.0.1:PORT");
	bad_address("127.0.0.1:", "'' is no port: give 1 to 65535");
	bad_address("127.0.0.1:65536", "'65536' is no port: give 1 to 65535");
	bad_address("99999999999", "'99999999999' is no port: give 1 to 65535");
	bad_address("-1", "'-1' is no port: give 1 to 65535");
}

static int parse(struct sw_gate_options *o, struct sw_error *err, int argc, ...)
{
	char *argv[8] = {(char *) "snapwalk-gate"};
	va_list ap;
	va_start(ap, argc);
	for (int i = 1; i <= argc; i++)
		argv[i] = va_arg(ap, char *);
	va_end(ap);
	return sw_gate_options_parse(argc + 1, argv, o, err);
}

TEST(test_options)
{
	struct sw_gate_options o;
	struct sw_error err = {0};
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
	assert_int_equal(unsetenv("SNAPWALK_SOCKET"), 0);
	assert_int_equal(parse(&o, &err, 0), 0);
	assert_string_equal(o.socket_path, "/run/snapwalk/io.snapwalk");
	assert_string_equal(o.token_file, SW_SYSCONFDIR "/snapwalk/gate.token");
	sw_gate_options_deinit(&o);
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/run/credentials/gate", 1), 0);
	assert_int_equal(setenv("SNAPWALK_SOCKET", "/tmp/s", 1), 0);
	assert_int_equal(parse(&o, &err, 0), 0);
	assert_string_equal(o.socket_path, "/tmp/s");
	assert_string_equal(o.token_file, "/run/credentials/gate/token");
	sw_gate_options_deinit(&o);
	assert_int_equal(parse(&o, &err, 4, "--socket", "/x", "--token-file=/y", "--listen=1"), 0);
	assert_string_equal(o.socket_path, "/x");
	assert_string_equal(o.token_file, "/y");
	sw_gate_options_deinit(&o);
	assert_int_equal(parse(&o, &err, 2, "--host=gate.example.org", "--host=web1"), 0);
	assert_int_equal(o.hosts.n, 2);
	assert_string_equal(o.hosts.names[1], "web1");
	sw_gate_options_deinit(&o);
	assert_int_equal(parse(&o, &err, 1, "--host=web1:9911"), -SW_E_INVALID);
	assert_string_equal(err.message, "'web1:9911' is no name: give one without a port");
	sw_gate_options_deinit(&o);
	assert_int_equal(parse(&o, &err, 1, "--port"), -SW_E_INVALID);
	assert_string_equal(err.message, "--port: no such option: see --help");
	sw_gate_options_deinit(&o);
	assert_int_equal(parse(&o, &err, 1, "--socket"), -SW_E_INVALID);
	assert_string_equal(err.message, "--socket: a value is missing: see --help");
	sw_gate_options_deinit(&o);
	assert_int_equal(parse(&o, &err, 1, "9911"), -SW_E_INVALID);
	assert_string_equal(err.message, "9911: it takes options only: see --help");
	sw_gate_options_deinit(&o);
}
