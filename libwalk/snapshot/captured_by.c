/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of dumps for who has captured a thread: an object of its own, as those who only read dumps need no other. */
#include <snapwalk/snapshot.h>

#include <stddef.h>

const char *sw_captured_by_name(enum sw_captured_by by)
{
	switch (by) {
	case SW_CAPTURED_NOT: return NULL;
	case SW_CAPTURED_ITERATOR: return "iterator";
	case SW_CAPTURED_PTRACE: return "ptrace";
	case SW_CAPTURED_CORE: return "core";
	case SW_CAPTURED_FIXTURE: return "fixture";
	case SW_CAPTURED_EVENT: return "event";
	}
	return NULL;
}
