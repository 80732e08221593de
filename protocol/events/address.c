/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <snapwalk/event_text.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

bool sw_event_address(const void *bytes, size_t size, char *ret, size_t ret_size)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_storage any = {0};
	memcpy(&any, bytes, size < sizeof(any) ? size : sizeof(any));
	if (any.ss_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *in = (const struct sockaddr_in *) &any;
		(void) inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)); /* cannot fail */
		(void) snprintf(ret, ret_size, "%s:%u", text, (unsigned) ntohs(in->sin_port));
		return true;
	}
	if (any.ss_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *) &any;
		(void) inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof(text)); /* cannot fail */
		(void) snprintf(ret, ret_size, "[%s]:%u", text, (unsigned) ntohs(in->sin6_port));
		return true;
	}
	if (any.ss_family == AF_UNIX && size > offsetof(struct sockaddr_un, sun_path)) {
		const struct sockaddr_un *un = (const struct sockaddr_un *) &any;
		size_t n = size - offsetof(struct sockaddr_un, sun_path);
		if (n > sizeof(un->sun_path))
			n = sizeof(un->sun_path);
		bool abstract = un->sun_path[0] == '\0' && n > 1;
		size_t length = strnlen(un->sun_path + abstract, n - abstract);
		(void) snprintf(ret, ret_size, "%s%.*s", abstract ? "@" : "", (int) length,
				un->sun_path + abstract);
		return length > 0;
	}
	return false;
}
