/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/host.h"
#include "cleanup.h"

#include <arpa/inet.h>
#include <string.h>

enum { NAME_SIZE = 256 }; /* a name in the DNS is shorter: RFC 1035, 2.3.4 */

static const char name_bytes[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

bool sw_gate_host_is_name(const char *name)
{
	struct in_addr address;
	size_t length = strlen(name);
	return length > 0 && length < NAME_SIZE && strspn(name, name_bytes) == length &&
	       inet_pton(AF_INET, name, &address) != 1;
}

/* The host of "HOST" or "HOST:PORT" (RFC 9110, 7.2), without brackets and without the dot that may end a name. */
static bool host_of(const char *header, char ret[static NAME_SIZE], bool *ret_is_v6)
{
	*ret_is_v6 = header[0] == '[';
	const char *begin = header + *ret_is_v6;
	size_t length = strcspn(begin, *ret_is_v6 ? "]" : ":");
	const char *after = begin + length;
	if (*ret_is_v6 && *after++ != ']')
		return false;
	if (*after == ':')
		after += 1 + strspn(after + 1, "0123456789");
	if (*after != '\0' || length == 0 || length >= NAME_SIZE)
		return false;
	memcpy(ret, begin, length);
	if (!*ret_is_v6 && ret[length - 1] == '.')
		length--;
	ret[length] = '\0';
	return true;
}

static bool is_loopback(const char *host, bool is_v6)
{
	struct in6_addr v6;
	struct in_addr v4;
	if (is_v6)
		return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
	return inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool sw_gate_host_is_ours(const struct sw_gate_hosts *hosts, const char *header)
{
	char host[NAME_SIZE];
	bool is_v6;
	if (header == NULL)
		return true;
	if (!host_of(header, host, &is_v6))
		return false;
	if (is_loopback(host, is_v6) || (!is_v6 && strcasecmp(host, "localhost") == 0))
		return true;
	for (size_t i = 0; i < hosts->n && !is_v6; i++)
		if (strcasecmp(host, hosts->names[i]) == 0)
			return true;
	return false;
}
