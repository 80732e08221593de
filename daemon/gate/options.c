/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The gate's command line. */
#include "gate/options.h"
#include "cleanup.h"
#include "errors.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

static const char default_socket[] = "/run/snapwalk/io.snapwalk";
static const char default_token_file[] = SW_SYSCONFDIR "/snapwalk/gate.token";

static int parse_port(const char *text, in_port_t *ret, struct sw_error *err)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long port = strtoul(text, NULL, 10);
	if (digits == 0 || digits > 5 || text[digits] != '\0' || port > UINT16_MAX)
		return sw_fail(err, SW_E_INVALID, "'%s' is no port: give 1 to 65535", text);
	*ret = htons((uint16_t) port);
	return 0;
}

/* The address before the last colon, without brackets; "" when there is none. */
static void address_of(const char *text, const char *colon, char *ret, size_t size)
{
	const char *begin = text;
	const char *end = colon != NULL ? colon : text;
	if (end - begin >= 2 && begin[0] == '[' && end[-1] == ']') {
		begin++;
		end--;
	}
	(void) snprintf(ret, size, "%.*s", (int) (end - begin), begin); /* cut: no address then */
}

/* The token goes over the wire as it is, and no certificate protects it. */
int sw_gate_listen_parse(const char *text, struct sockaddr_storage *ret, socklen_t *ret_size,
			 struct sw_error *err)
{
	const char *colon = strrchr(text, ':');
	char address[INET6_ADDRSTRLEN + 1];
	in_port_t port = 0;
	int r = parse_port(colon != NULL ? colon + 1 : text, &port, err);
	if (r < 0)
		return r;
	address_of(text, colon, address, sizeof(address));
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = port};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = port};
	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bool is_v6 = strchr(address, ':') != NULL;
	bool valid = address[0] == '\0' || (is_v6 ? inet_pton(AF_INET6, address, &v6.sin6_addr)
						  : inet_pton(AF_INET, address, &v4.sin_addr)) == 1;
	bool loopback = is_v6 ? IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)
			      : ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	if (!valid)
		return sw_fail(err, SW_E_INVALID, "'%s' is no address: give 127.0.0.1:PORT", text);
	if (!loopback)
		return sw_fail(err, SW_E_INVALID,
			       "'%s' is not a loopback address: give 127.0.0.1:PORT, and put a "
			       "proxy with TLS before it",
			       text);
	*ret = (struct sockaddr_storage){0};
	*ret_size = is_v6 ? sizeof(v6) : sizeof(v4);
	memcpy(ret, is_v6 ? (void *) &v6 : (void *) &v4, *ret_size);
	return 0;
}

/* systemd hands secrets over in a directory (LoadCredential=, systemd.exec(5)). */
static int default_token(struct sw_gate_options *o, struct sw_error *err)
{
	const char *credentials = getenv("CREDENTIALS_DIRECTORY");
	if (o->token_file != NULL)
		return 0;
	if (credentials == NULL)
		o->token_file = strdup(default_token_file);
	else if (asprintf(&o->token_file, "%s/token", credentials) < 0)
		o->token_file = NULL;
	return o->token_file == NULL ? sw_fail_nomem(err) : 0;
}

static int take_host(struct sw_gate_options *o, const char *name, struct sw_error *err)
{
	if (!sw_gate_host_is_name(name))
		return sw_fail(err, SW_E_INVALID, "'%s' is no name: give one without a port", name);
	if (o->hosts.n == SW_GATE_HOSTS_MAX)
		return sw_fail(err, SW_E_INVALID, "more than %d names: give fewer --host",
			       SW_GATE_HOSTS_MAX);
	o->hosts.names[o->hosts.n++] = name;
	return 0;
}

static int take_option(struct sw_gate_options *o, int letter, char **argv, struct sw_error *err)
{
	switch (letter) {
	case 'l': return sw_gate_listen_parse(optarg, &o->listen, &o->listen_size, err);
	case 'H': return take_host(o, optarg, err);
	case 's': o->socket_path = optarg; return 0;
	case 't':
		free(o->token_file);
		o->token_file = strdup(optarg);
		return o->token_file == NULL ? sw_fail_nomem(err) : 0;
	case 'h': o->help = true; return 0;
	case 'V': o->version = true; return 0;
	case ':':
		return sw_fail(err, SW_E_INVALID, "%s: a value is missing: see --help",
			       argv[optind - 1]);
	default:
		return sw_fail(err, SW_E_INVALID, "%s: no such option: see --help",
			       argv[optind - 1]);
	}
}

int sw_gate_options_parse(int argc, char **argv, struct sw_gate_options *ret, struct sw_error *err)
{
	static const struct option longs[] = {
		{"listen", required_argument, NULL, 'l'},
		{"host", required_argument, NULL, 'H'},
		{"socket", required_argument, NULL, 's'},
		{"token-file", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	const char *socket_path = getenv("SNAPWALK_SOCKET");
	*ret = (struct sw_gate_options){.socket_path = default_socket};
	if (socket_path != NULL && socket_path[0] != '\0')
		ret->socket_path = socket_path;
	int r = sw_gate_listen_parse("9911", &ret->listen, &ret->listen_size, err);
	opterr = 0;
	optind = 0; /* glibc: start afresh */
	for (int letter; r == 0;) {
		letter = getopt_long(argc, argv, ":hV", longs, NULL);
		if (letter == -1)
			break;
		r = take_option(ret, letter, argv, err);
	}
	if (r == 0 && optind < argc)
		r = sw_fail(err, SW_E_INVALID, "%s: it takes options only: see --help",
			    argv[optind]);
	return r < 0 ? r : default_token(ret, err);
}

void sw_gate_options_deinit(struct sw_gate_options *options)
{
	free(options->token_file);
	*options = (struct sw_gate_options){0};
}

void sw_gate_options_help(void)
{
	printf("Usage: snapwalk-gate [OPTION...]\n\n"
	       "Takes Alertmanager's webhooks over HTTP on loopback and passes them on to\n"
	       "snapwalkd; hands out profiles of processes that its rules name.\n\n"
	       "Options:\n"
	       "  --listen [ADDRESS:]PORT   a loopback address (default 127.0.0.1:%d)\n"
	       "  --host NAME               answer requests for that name, too, as a proxy may\n"
	       "                            send them (up to %d times)\n"
	       "  --socket PATH             of snapwalkd (default: the environment's\n"
	       "                            SNAPWALK_SOCKET, else\n"
	       "                            %s)\n"
	       "  --token-file FILE         the token that clients have to know (default:\n"
	       "                            'token' in $CREDENTIALS_DIRECTORY, else\n"
	       "                            %s)\n"
	       "  -h, --help                this help\n"
	       "  -V, --version             the version\n\n"
	       "Requests: POST /alertmanager, GET /debug/pprof/profile and GET\n"
	       "/debug/pprof/goroutine (with the token), GET /metrics, GET /healthz.\n",
	       SW_GATE_PORT, SW_GATE_HOSTS_MAX, default_socket, default_token_file);
}
