/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The variable that leads to a thread's record, in a library: built for each model of thread-local storage. */
#include "../span_record.h"

extern __thread struct span_record *volatile otel_thread_ctx_v1;
__thread struct span_record *volatile otel_thread_ctx_v1;

void span_library_attach(struct span_record *record);
void span_library_attach(struct span_record *record)
{
	otel_thread_ctx_v1 = record;
}
