/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy that is made while nothing changes: the schedulers, the processes that they run, the
 * stacks of both, and for each function on them what its name needs.
 *
 * In the window: nothing is allocated, opened or parsed; the reads are bounded by what was set aside.
 */
#include "runtimes/beam/window.h"
#include "cleanup.h"
#include "map.h"
#include "runtimes/beam/lines.h"
#include "runtimes/beam/processes_window.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum {
	STACK_BYTES_MAX = 256 << 10, /* of a process's stack whose functions are looked for */
	BELOW_BYTES = 64 << 10,      /* how much longer it may be than the process says */
	TOP_WORDS = 8, /* in which calls of shared code leave words that look like terms */
	THREAD_STACK_MAX = 64 << 20,
	PAIR_BYTES = 16,
};

static bool bytes_read(struct sw_capture *capture, uint64_t avma, void *ret, size_t n, bool keep)
{
	const uint8_t *copy;
	if (!keep)
		return sw_capture_read(capture, avma, ret, n);
	if (!sw_capture_copy(capture, avma, n, &copy))
		return false;
	memcpy(ret, copy, n);
	return true;
}

/* The stacks of a scheduler's thread that the walk needs besides the one that it is on. */
static void stacks_add(struct sw_capture *capture, size_t n, const struct sw_beam_window *w,
		       const struct sw_beam_scheduler *s)
{
	const struct sw_thread *t = &capture->snap->threads[n];
	const struct sw_beam_process *p = &s->process;
	uint64_t begun = s->registers_avma + w->found.layout->return_off;
	if (!s->process_known)
		return;
	if (sw_beam_is_on_process(s, t->regs.sp_avma)) {
		sw_capture_stack_known(capture, n, p->hend_avma);
		if (begun < t->fs_base && t->fs_base - begun < THREAD_STACK_MAX)
			(void) sw_capture_stack(capture, begun, t->fs_base); /* else: cut */
		return;
	}
	uint64_t from = p->stop_avma > BELOW_BYTES ? p->stop_avma - BELOW_BYTES : 0;
	(void) sw_capture_stack(capture, from > p->htop_avma ? from : p->htop_avma, p->hend_avma);
}

/* True on first sight of an address. */
static bool is_new(struct sw_beam_window *w, uint64_t avma)
{
	size_t i = (size_t) sw_mix64(avma) % SW_BEAM_SEEN_SLOTS;
	while (w->seen[i] != 0 && w->seen[i] != avma)
		i = (i + 1) % SW_BEAM_SEEN_SLOTS;
	if (w->seen[i] == avma || w->n_seen >= SW_BEAM_SEEN_SLOTS / 2)
		return false;
	w->seen[i] = avma;
	w->n_seen++;
	return true;
}

static uint64_t word_of(const uint8_t *bytes, uint64_t i)
{
	uint64_t word;
	memcpy(&word, bytes + i * 8, sizeof(word));
	return word;
}

uint64_t sw_beam_window_module(const struct sw_beam_window *w, uint64_t avma)
{
	uint64_t low = 0, high = w->pairs != NULL ? w->list.n : 0;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (avma < word_of(w->pairs, 2 * middle))
			high = middle;
		else if (avma >= word_of(w->pairs, 2 * middle + 1))
			low = middle + 1;
		else
			return word_of(w->pairs, 2 * middle);
	}
	return 0;
}

static const struct sw_beam_header *header_copy(struct sw_capture *capture,
						struct sw_beam_window *w, uint64_t avma)
{
	struct sw_beam_header *h = &w->headers[w->n_headers];
	const struct sw_beam_layout *at = w->found.layout;
	for (size_t i = 0; i < w->n_headers; i++)
		if (w->headers[i].avma == avma)
			return &w->headers[i];
	if (w->n_headers == SW_ARRAY_SIZE(w->headers) || avma % 8 != 0 ||
	    !sw_capture_read(capture, avma, &h->n, 8) || h->n > SW_BEAM_FUNCTIONS_MAX ||
	    !sw_capture_copy(capture, avma, at->header_functions + (size_t) h->n * 8, &h->copy))
		return NULL;
	h->avma = avma;
	w->n_headers++;
	return h;
}

/* sw_memory_ops.read: copies what is read. */
static bool copying_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_beam_window *w = arg;
	return avma != 0 && bytes_read(w->capture, avma, buffer, length, true);
}

void sw_beam_window_function(struct sw_capture *capture, struct sw_beam_window *w, uint64_t avma)
{
	const struct sw_beam_layout *at = w->found.layout;
	uint64_t module = is_new(w, avma) ? sw_beam_window_module(w, avma) : 0, low = 0, info = 0;
	const struct sw_beam_header *h = module != 0 ? header_copy(capture, w, module) : NULL;
	const uint8_t *copy;
	for (uint64_t high = h != NULL ? h->n : 0; low < high;) {
		uint64_t middle = low + (high - low) / 2;
		uint64_t start = word_of(h->copy + at->header_functions, middle);
		if (avma < start) {
			high = middle;
		} else {
			info = start;
			low = middle + 1;
		}
	}
	static const struct sw_memory_ops ops = {.read = copying_read};
	const struct sw_memory copying = {&ops, w};
	char file[SW_BEAM_FILE_MAX + 1];
	struct sw_beam_line line;
	/* The memory `copying` copies whatever these functions read. */
	if (info != 0 && sw_beam_line_find(copying, at, module, low - 1, avma, &line) &&
	    is_new(w, line.file))
		(void) sw_beam_text_read(copying, line.file, file);
	if (info != 0 && info % 8 == 0 && is_new(w, info))
		(void) sw_capture_copy(capture, info, at->info_mfa + SW_BEAM_MFA_BYTES,
				       &copy); /* else it has no name */
}

static void process_copy(struct sw_capture *capture, struct sw_beam_window *w,
			 const struct sw_thread *t, const struct sw_beam_scheduler *s)
{
	const struct sw_beam_process *p = &s->process;
	bool here = sw_beam_is_on_process(s, t->regs.sp_avma);
	uint64_t at = here ? t->regs.sp_avma & ~UINT64_C(7) : p->stop_avma, word;
	size_t words = sizeof(w->chunk) / 8, left = STACK_BYTES_MAX / 8;
	if (!here && at - p->htop_avma < BELOW_BYTES)
		at = p->htop_avma;
	else if (!here)
		at -= BELOW_BYTES;
	for (size_t done = 0; at < p->hend_avma && left > 0; left -= words) {
		if (words > left)
			words = left;
		if (words > (p->hend_avma - at) / 8)
			words = (size_t) (p->hend_avma - at) / 8;
		if (!sw_capture_read(capture, at, w->chunk, words * 8))
			return;
		for (size_t i = 0; i < words; i++, done++)
			if (((w->chunk[i] & 3) == 0 || done < TOP_WORDS) &&
			    sw_beam_window_module(w, w->chunk[i]) != 0)
				sw_beam_window_function(capture, w, w->chunk[i] - 1);
		at += words * 8;
	}
	if (!here && sw_capture_read(capture, s->registers_avma - 8, &word, 8))
		sw_beam_window_function(capture, w, word - 1); /* that called a C function */
}

/* Which function a dirty scheduler executes: it has no frame. */
static void current_copy(struct sw_capture *capture, const struct sw_beam_window *w,
			 uint64_t process_avma)
{
	uint64_t mfa;
	const uint8_t *copy;
	if (bytes_read(capture, process_avma + w->found.layout->process_current, &mfa, sizeof(mfa),
		       true) &&
	    mfa != 0 && mfa % 8 == 0)
		(void) sw_capture_copy(capture, mfa, SW_BEAM_MFA_BYTES, &copy); /* else not told */
}

static void scheduler_look(struct sw_capture *capture, struct sw_beam_window *w, int kind,
			   uint64_t avma, bool keep)
{
	uint8_t bytes[SW_BEAM_SCHED_BYTES], process[SW_BEAM_PROCESS_BYTES];
	struct sw_beam_scheduler s;
	size_t n = 0;
	if (!bytes_read(capture, avma, bytes, sizeof(bytes), keep))
		return;
	while (n < capture->snap->n_threads &&
	       !sw_beam_scheduler_parse(w->found.layout, (enum sw_beam_kind) kind, bytes,
					capture->snap->threads[n].fs_base, &s))
		n++;
	if (n == capture->snap->n_threads || s.process_avma == 0 || s.process_avma % 8 != 0 ||
	    !bytes_read(capture, s.process_avma, process, sizeof(process), keep))
		return;
	s.process_known = sw_beam_process_parse(w->found.layout, process, &s.process);
	if (s.process_known && keep && kind != SW_BEAM_NORMAL)
		current_copy(capture, w, s.process_avma);
	if (!s.process_known || kind != SW_BEAM_NORMAL)
		return;
	const struct sw_thread *t = &capture->snap->threads[n];
	if (!keep) {
		stacks_add(capture, n, w, &s);
		return;
	}
	if (sw_beam_is_code(capture->snap, t->regs.pc_avma))
		sw_beam_window_function(capture, w, t->regs.pc_avma);
	process_copy(capture, w, t, &s);
}

static void schedulers_look(struct sw_capture *capture, struct sw_beam_window *w, bool keep)
{
	const struct sw_beam_found *f = &w->found;
	for (int kind = 0; kind < SW_BEAM_KINDS; kind++) {
		uint64_t array, n,
			at[2] = {f->schedulers_svma[kind] + f->place->bias,
				 f->counts_svma[kind] + f->place->bias};
		if (!sw_capture_read(capture, at[0], &array, 8) ||
		    !sw_capture_read(capture, at[1], &n, 8))
			continue;
		for (uint64_t i = 0; i < n && i < SW_BEAM_SCHEDULERS_MAX; i++)
			scheduler_look(capture, w, kind, array + i * f->layout->sched_stride, keep);
	}
}

int sw_beam_stacks(struct sw_capture *capture)
{
	struct sw_beam_window *w = *capture->found;
	if (w != NULL)
		schedulers_look(capture, w, false);
	return 0;
}

static bool modules_fit(struct sw_capture *capture, uint64_t n)
{
	if (n <= SW_BEAM_MODULES_MAX)
		return true;
	sw_snapshot_note_limit(capture->snap,
			       "erlang: functions have no names, as it has more than 8192 modules");
	return false;
}

static void list_copy(struct sw_capture *capture, struct sw_beam_window *w)
{
	uint64_t bias = w->found.place->bias, list[2];
	uint32_t active;
	if (sw_capture_wanted(capture, w->found.active_svma + bias, &active, sizeof(active)) &&
	    active < SW_BEAM_LISTS &&
	    sw_capture_wanted(capture,
			      w->found.ranges_svma + bias + active * SW_BEAM_LIST_WORDS * 8, list,
			      sizeof(list)) &&
	    modules_fit(capture, list[1]) && list[0] % 8 == 0 &&
	    sw_capture_copy(capture, list[0], (size_t) list[1] * PAIR_BYTES, &w->pairs))
		w->list = (struct sw_beam_list){list[0], list[1]};
	else
		w->pairs = NULL;
}

int sw_beam_in_window(struct sw_capture *capture)
{
	struct sw_beam_window *w = *capture->found;
	if (w == NULL)
		return 0;
	memset(w->seen, 0, sizeof(w->seen)); /* the window may be repeated */
	w->n_seen = w->n_headers = 0;
	w->capture = capture;
	list_copy(capture, w);
	schedulers_look(capture, w, true);
	if (capture->snap->priv->tasks) { /* last: what threads need comes first */
		w->whole = sw_capture_is_whole(capture);
		sw_beam_processes_copy(capture, w);
	}
	return 0;
}
