/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_ERRNO_NAME_H
#define SW_CLI_ERRNO_NAME_H

/* "EMFILE" of 24; static. NULL: it has no name. */
const char *sw_errno_name(int number);
/* 24 of "EMFILE"; 0: there is no such name. */
int sw_errno_number(const char *name);

#endif
