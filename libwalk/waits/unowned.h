/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_UNOWNED_H
#define SW_WAITS_UNOWNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Things that threads wait for and that nobody owns: what the kernel says of them, in words. */
enum { SW_UNOWNED_TEXT_BYTES = 160 };

/* "expires in 17 min", "is not armed", by /proc/PID/fdinfo. False: it is not known. */
bool sw_timerfd_text(int proc_fd, int64_t fd, char ret[static SW_UNOWNED_TEXT_BYTES]);

/* The same by the text of that file: proc(5), it_value. */
bool sw_timerfd_parse(const char *text, char ret[static SW_UNOWNED_TEXT_BYTES]);

/*
 * "queue 5, key 0x4d2, 3 messages, last sent by process 99" or "set 7, key 0, 2 semaphores", by
 * /proc/sysvipc; the number alone where the process has another IPC namespace. The process that
 * sent or received last owns nothing: it may never do so again. sends: it waits for space for a
 * message, not for one.
 */
void sw_ipc_text(int proc_fd, bool messages, int id, bool sends,
		 char ret[static SW_UNOWNED_TEXT_BYTES]);

/* The same by a line of /proc/sysvipc/msg or sem. False: it is of another one. */
bool sw_ipc_parse(const char *line, bool messages, int id, bool sends,
		  char ret[static SW_UNOWNED_TEXT_BYTES]);

#endif
