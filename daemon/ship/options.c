/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/options.h"
#include "errors.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char default_socket[] = "/run/snapwalk/io.snapwalk";
static const char default_config[] = SW_SYSCONFDIR "/snapwalk/ship.conf";

static int take_option(struct sw_ship_options *o, int letter, char **argv, struct sw_error *err)
{
	switch (letter) {
	case 's': o->socket_path = optarg; return 0;
	case 'c': o->config_path = optarg; return 0;
	case 'S': o->status = true; return 0;
	case 'C': o->check = true; return 0;
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

int sw_ship_options_parse(int argc, char **argv, struct sw_ship_options *ret, struct sw_error *err)
{
	static const struct option longs[] = {
		{"socket", required_argument, NULL, 's'},
		{"config", required_argument, NULL, 'c'},
		{"status", no_argument, NULL, 'S'},
		{"check-config", no_argument, NULL, 'C'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	const char *socket_path = getenv("SNAPWALK_SOCKET");
	*ret = (struct sw_ship_options){.socket_path = default_socket,
					.config_path = default_config};
	if (socket_path != NULL && socket_path[0] != '\0')
		ret->socket_path = socket_path;
	int r = 0;
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
	return r;
}

void sw_ship_options_help(void)
{
	printf("Usage: snapwalk-ship [OPTION...]\n\n"
	       "Sends the profiles and dumps that snapwalkd keeps to receivers of\n"
	       "OpenTelemetry, by OTLP over HTTP.\n\n"
	       "Options:\n"
	       "  --config FILE    where to send what (default:\n"
	       "                   %s)\n"
	       "  --socket PATH    of snapwalkd (default: the environment's\n"
	       "                   SNAPWALK_SOCKET, else %s)\n"
	       "  --check-config   only say whether the configuration can be used\n"
	       "  --status         print what was sent, is waiting and was lost\n"
	       "  -h, --help       this help\n"
	       "  -V, --version    the version\n",
	       default_config, default_socket);
}
