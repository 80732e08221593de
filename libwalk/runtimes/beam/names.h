/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BEAM_NAMES_H
#define SW_BEAM_NAMES_H

#include "runtimes/beam/beam.h"

/* Cookies. */
enum {
	SW_BEAM_AT_CALL = 1, /* the frame waits for a function of Erlang */
	SW_BEAM_AT_NEXT = 2, /* it goes on at its address */
	SW_BEAM_MFA = 3,     /* its address is an ErtsCodeMFA */
};

enum {
	SW_BEAM_TERM_BYTES = 1021, /* an atom as text: 255 characters of UTF-8 */
	SW_BEAM_MFA_TEXT_BYTES = 2 * SW_BEAM_TERM_BYTES + 8,
};

/* The text of an atom. */
bool sw_beam_atom_read(const struct sw_beam *beam, uint64_t term, char *ret, size_t size);
/* "lists:map/2" of module, function and arity. */
bool sw_beam_mfa_put(const struct sw_beam *beam, const uint64_t mfa[static 3], char *ret,
		     size_t size);
/* "<0.123.0>" of a process's id; "<0.?.?>" where that cannot be told. */
void sw_beam_pid_put(const struct sw_beam *beam, uint64_t id, char *ret, size_t size);

/* sw_runtime_ops.names: "lists:map/2". */
int sw_beam_names(struct sw_beam *beam, const struct sw_frame *frame, struct sw_description *ret);

/* sw_runtime_ops.thread: "scheduler 3, runs <0.123.0>". */
bool sw_beam_thread(struct sw_beam *beam, const struct sw_thread *thread,
		    struct sw_thread_info *ret);

#endif
