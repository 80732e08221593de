/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions by module, name and arity; schedulers by what they run. The structures of code were
 * copied: it may be unloaded. Atoms are never freed or moved.
 *
 * Source: erts/emulator/beam/atom.h, index.h and erl_term.h of OTP 25.
 */
#include "runtimes/beam/names.h"
#include "runtimes/beam/functions.h"
#include "runtimes/beam/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	ATOM_TAG = 0xb, /* of a term's lowest six bits */
	ATOM_TAG_BITS = 6,
	ATOM_BYTES_MAX = 1020, /* 255 characters of UTF-8 */
	SEGMENT_BITS = 10,
	ARITY_MAX = 255,
};

bool sw_beam_atom_read(const struct sw_beam *beam, uint64_t term, char *ret, size_t size)
{
	const struct sw_beam_layout *at = beam->found.layout;
	uint64_t table = beam->found.atoms_svma + beam->found.place->bias;
	uint64_t index = term >> ATOM_TAG_BITS, segments, segment, atom, name;
	uint32_t n;
	int16_t length;
	if ((term & ((1 << ATOM_TAG_BITS) - 1)) != ATOM_TAG ||
	    !sw_memory_read(beam->live, table + at->atoms_entries, &n, sizeof(n)) || index >= n ||
	    !sw_memory_u64(beam->live, table + at->atoms_segments, &segments) ||
	    !sw_memory_u64(beam->live, segments + (index >> SEGMENT_BITS) * 8, &segment) ||
	    !sw_memory_u64(beam->live, segment + index % (1 << SEGMENT_BITS) * 8, &atom) ||
	    !sw_memory_read(beam->live, atom + at->atom_length, &length, sizeof(length)) ||
	    length <= 0 || length > ATOM_BYTES_MAX || (size_t) length >= size ||
	    !sw_memory_u64(beam->live, atom + at->atom_name, &name) ||
	    !sw_memory_read(beam->live, name, ret, (size_t) length))
		return false;
	ret[length] = '\0';
	return true;
}

bool sw_beam_mfa_put(const struct sw_beam *beam, const uint64_t mfa[static 3], char *ret,
		     size_t size)
{
	char module[ATOM_BYTES_MAX + 1], function[ATOM_BYTES_MAX + 1];
	if (mfa[2] > ARITY_MAX || !sw_beam_atom_read(beam, mfa[0], module, sizeof(module)) ||
	    !sw_beam_atom_read(beam, mfa[1], function, sizeof(function)))
		return false;
	(void) snprintf(ret, size, "%s:%s/%" PRIu64, module, function, mfa[2]); /* cut to fit */
	return true;
}

void sw_beam_pid_put(const struct sw_beam *beam, uint64_t id, char *ret, size_t size)
{
	const struct sw_beam_layout *at = beam->found.layout;
	uint64_t number = sw_beam_id_number(at, &beam->ids, id);
	if (!beam->ids.known)
		(void) snprintf(ret, size, "<0.?.?>"); /* fits, as that below */
	else
		(void) snprintf(ret, size, "<0.%" PRIu64 ".%" PRIu64 ">",
				number & ((UINT64_C(1) << at->pid_number_bits) - 1),
				number >> at->pid_number_bits);
}

/* The text of an ErtsCodeMFA. */
static bool mfa_read(const struct sw_beam *beam, uint64_t avma, char *ret, size_t size)
{
	uint64_t mfa[3];
	return sw_memory_read(beam->memory, avma, mfa, sizeof(mfa)) &&
	       sw_beam_mfa_put(beam, mfa, ret, size);
}

/* Only of a call: between calls the machine notes no lines. */
static void line_read(const struct sw_beam *beam, uint64_t header, uint64_t number, uint64_t avma,
		      struct sw_description *ret)
{
	struct sw_beam_line line;
	if (!sw_beam_line_find(beam->memory, beam->found.layout, header, number, avma, &line))
		return;
	if (sw_beam_text_read(beam->memory, line.file, ret->file))
		ret->line = line.line;
	else
		ret->file[0] = '\0';
}

static bool function_read(const struct sw_beam *beam, uint64_t avma, bool at_call,
			  struct sw_description *ret)
{
	struct sw_beam_list list;
	uint64_t header, info, number;
	if (!sw_beam_list_read(beam->memory, &beam->found, &list) ||
	    !sw_beam_module_find(beam->memory, &list, avma, &header)) {
		(void) snprintf(ret->function, sizeof(ret->function),
				"[shared code of the JIT]"); /* fits */
		return true;
	}
	if (!sw_beam_info_find(beam->memory, beam->found.layout, header, avma, &info, &number) ||
	    !mfa_read(beam, info + beam->found.layout->info_mfa, ret->function,
		      sizeof(ret->function)))
		return false;
	ret->start_avma = info;
	if (at_call)
		line_read(beam, header, number, avma, ret);
	return true;
}

int sw_beam_names(struct sw_beam *beam, const struct sw_frame *frame, struct sw_description *ret)
{
	uint64_t avma = frame->pc_avma;
	if (frame->cookie != SW_BEAM_AT_NEXT && !(frame->flags & SW_FRAME_EXACT_PC))
		avma--;
	if (frame->cookie == SW_BEAM_MFA
		    ? !mfa_read(beam, frame->pc_avma, ret->function, sizeof(ret->function))
		    : !function_read(beam, avma, frame->cookie == SW_BEAM_AT_CALL, ret))
		(void) snprintf(ret->function, sizeof(ret->function),
				"[Erlang function]"); /* fits */
	return 1;
}

/* " in ets:select_delete/2": what a dirty scheduler executes, as process_info(Pid, current_function). What
 * does not fit is left out. */
static void current_put(const struct sw_beam *beam, const struct sw_beam_scheduler *s, char *ret,
			size_t size)
{
	static const char in[] = " in ";
	char name[2 * ATOM_BYTES_MAX + 8];
	uint64_t mfa;
	if (s->kind == SW_BEAM_NORMAL ||
	    !sw_memory_u64(beam->memory, s->process_avma + beam->found.layout->process_current,
			   &mfa) ||
	    mfa == 0 || mfa % 8 != 0 || !mfa_read(beam, mfa, name, sizeof(name)) ||
	    sizeof(in) + strlen(name) > size)
		return;
	memcpy(ret, in, sizeof(in) - 1);
	memcpy(ret + sizeof(in) - 1, name, strlen(name) + 1);
}

bool sw_beam_thread(struct sw_beam *beam, const struct sw_thread *thread,
		    struct sw_thread_info *ret)
{
	static const char *const kinds[] = {"scheduler", "dirty CPU scheduler",
					    "dirty I/O scheduler"};
	const struct sw_beam_scheduler *s = sw_beam_scheduler_of(beam, thread);
	if (s == NULL)
		return false;
	ret->runtime = "beam";
	ret->id = (int64_t) s->number;
	int n = snprintf(ret->name, sizeof(ret->name), "%s %" PRIu64, kinds[s->kind],
			 s->number); /* fits, as those below */
	char *rest = ret->name + n;
	size_t size = sizeof(ret->name) - (size_t) n;
	if (s->process_known) {
		char pid[40];
		sw_beam_pid_put(beam, s->process.id, pid, sizeof(pid));
		n = snprintf(rest, size, ", runs %s", pid);
		current_put(beam, s, rest + n, size - (size_t) n);
	} else if (s->process_avma != 0) {
		(void) snprintf(rest, size, ", runs a process");
	} else if (s->runs_port) {
		(void) snprintf(rest, size, ", runs a port");
	} else {
		ret->role = "idle";
	}
	return true;
}
