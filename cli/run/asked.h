/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_ASKED_H
#define SW_CLI_ASKED_H

#include <snapwalk/error.h>

/*
 * Starts a child that answers questions by a socket of messages (SOCK_SEQPACKET).
 *
 * @param child   Called in the child with its end of the socket. The child ends when it returns.
 * @param ret_fd  Our end, owned by the caller; its end is seen by the child.
 * @return 0; -SW_E_IO.
 */
int sw_asked_start(void (*child)(const void *arg, int fd), const void *arg, int *ret_fd,
		   struct sw_error *err);

#endif
