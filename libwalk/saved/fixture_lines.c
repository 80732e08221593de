/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes a fixture's lines and the memory that they tell of; the format is in saved/fixture_records.c. */
#include "saved/fixture_lines.h"
#include "saved/fixture_save.h"
#include "snapshot/live.h"
#include "bytes.h"

#include <inttypes.h>
#include <string.h>

enum { HOLE_BYTES = 4096 };

static bool all_zero(const uint8_t *p, size_t size)
{
	return size == 0 || (p[0] == 0 && memcmp(p, p + 1, size - 1) == 0);
}

/* Appends to the memory file; blocks of zeros become holes (a core's stacks are mostly that). */
static bool put_memory(struct sw_fixture_saver *s, const uint8_t *data, size_t size,
		       uint64_t *ret_off)
{
	*ret_off = s->memory_bytes;
	s->memory_bytes += size;
	while (size > 0) {
		size_t n = size < HOLE_BYTES ? size : HOLE_BYTES;
		if (all_zero(data, n) ? lseek(s->memory_fd, (off_t) n, SEEK_CUR) < 0
				      : !sw_write_all(s->memory_fd, data, n))
			return false;
		data += n;
		size -= n;
	}
	return true;
}

static bool save_live_range(void *arg, const struct sw_range *range)
{
	struct sw_fixture_saver *s = arg;
	uint64_t off;
	if (!put_memory(s, range->data, range->bytes, &off))
		return false;
	sw_text_printf(&s->text, "range 0x%" PRIx64 " %zu %" PRIu64 "\n", range->start_avma,
		       range->bytes, off);
	return true;
}

bool sw_fixture_save_ranges(struct sw_fixture_saver *s)
{
	const struct sw_snapshot *snap = s->snap;
	const struct sw_snapshot_priv *priv = snap->priv;
	/* Where there is a reader, it knows whether something seemed to run. */
	if (priv->hooks_torn || (priv->copier_pool != NULL && !priv->hooks_whole))
		sw_text_printf(&s->text, "torn\n");
	/* Memory that was read of the running process so far is needed to walk and name without
	 * it. */
	if (!sw_live_each(snap, save_live_range, s))
		return false;
	for (size_t i = 0; i < snap->n_ranges; i++) {
		const struct sw_range *r = &snap->ranges[i];
		if (!put_memory(s, r->data, r->bytes, &s->range_off[i]))
			return false;
		sw_text_printf(&s->text, "range 0x%" PRIx64 " %zu %" PRIu64 "\n", r->start_avma,
			       r->bytes, s->range_off[i]);
	}
	return true;
}

/* The stacks of core files lie in their ranges: these bytes are not written twice. */
static bool stack_in_range(const struct sw_fixture_saver *s, const struct sw_thread *t,
			   uint64_t *ret_off)
{
	const struct sw_snapshot *snap = s->snap;
	size_t low = 0, high = snap->n_ranges;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (snap->ranges[middle].start_avma <= t->stack_avma)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	const struct sw_range *r = &snap->ranges[low - 1];
	uint64_t skip = t->stack_avma - r->start_avma;
	if (skip > r->bytes || t->stack_bytes > r->bytes - skip || t->stack != r->data + skip)
		return false;
	*ret_off = s->range_off[low - 1] + skip;
	return true;
}

/* The wait of a thread beside its system call; false with errno. */
static bool save_wait(struct sw_fixture_saver *s, const struct sw_thread *t)
{
	uint64_t off = 0;
	if (!t->captured || t->captured_by == SW_CAPTURED_CORE)
		return true;
	if (!put_memory(s, t->wait, t->wait_bytes, &off))
		return false;
	sw_text_printf(&s->text, "wait %" PRId64 " %d %zu %" PRIu64 " %" PRIu32 "\n", t->since_ns,
		       t->stayed, t->wait_bytes, off, t->instant);
	return true;
}

/* The context of a thread: what it publishes of its request; false with errno. */
static bool save_context(struct sw_fixture_saver *s, const struct sw_thread *t)
{
	uint64_t off = 0;
	if (!t->captured || t->context_bytes == 0)
		return true;
	if (!put_memory(s, t->context, t->context_bytes, &off))
		return false;
	sw_text_printf(&s->text, "context %zu %" PRIu64 "\n", t->context_bytes, off);
	return true;
}

bool sw_fixture_save_threads(struct sw_fixture_saver *s)
{
	for (size_t i = 0; i < s->snap->n_threads; i++) {
		const struct sw_thread *t = &s->snap->threads[i];
		uint64_t off = 0;
		if (t->stack_bytes > 0 && !stack_in_range(s, t, &off) &&
		    !put_memory(s, t->stack, t->stack_bytes, &off))
			return false;
		const char state[] = {t->state, '\0'};
		sw_text_printf(&s->text, "thread %d %d %d 0x%x", t->tid, t->captured, t->reason,
			       t->flags);
		sw_fixture_put_string(&s->text, state);
		sw_text_printf(&s->text,
			       " %" PRId64 " %d %" PRId64 " %" PRId64 " 0x%" PRIx64 " 0x%" PRIx64,
			       t->syscall, t->interrupted, t->cpu_ns, t->stop_ns, t->fs_base,
			       t->gs_base);
		sw_text_printf(&s->text, " 0x%" PRIx64 " 0x%" PRIx64 " %zu %" PRIu64, t->stack_avma,
			       t->stack_end_avma, t->stack_bytes, off);
		sw_fixture_put_string(&s->text, t->comm);
		sw_fixture_put_string(&s->text, t->wchan);
		sw_text_printf(&s->text, "\nregs 0x%x 0x%" PRIx64 " 0x%" PRIx64, t->regs.known,
			       t->regs.pc_avma, t->regs.sp_avma);
		for (unsigned k = 0; k < SW_REGS_MAX; k++)
			sw_text_printf(&s->text, " 0x%" PRIx64, t->regs.val[k]);
		sw_text_append(&s->text, "\n", 1);
		if (t->own_tid != 0)
			sw_text_printf(&s->text, "owntid %d\n", t->own_tid);
		if (!save_wait(s, t) || !save_context(s, t))
			return false;
	}
	return true;
}

void sw_fixture_save_process(struct sw_fixture_saver *s)
{
	const struct sw_snapshot *snap = s->snap;
	const struct sw_process *p = &snap->process;
	const struct sw_times *t = &snap->times;
	sw_text_printf(&s->text, SW_FIXTURE_FIRST_LINE "\narch x86_64\n");
	sw_text_printf(&s->text, "process %d %d %u %" PRIu64 " %" PRId64 " %d", p->pid, p->ppid,
		       p->uid, p->starttime, p->uptime_ms, p->elf_class);
	sw_fixture_put_string(&s->text, p->comm);
	sw_fixture_put_string(&s->text, p->exe);
	sw_fixture_put_string(&s->text, p->cgroup);
	sw_text_printf(&s->text,
		       "\ntime %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
		       " %zu\n",
		       snap->time_ns, t->attach_ns, t->stopped_ns, t->longest_thread_ns, t->copy_ns,
		       t->take_ns, snap->interrupted_calls);
	const struct sw_crash *c = &snap->crash;
	if (c->exception != 0)
		sw_text_printf(&s->text, "exception %u %d %d 0x%" PRIx64 " %d %d\n", c->exception,
			       c->tid, c->has_address, c->address_avma, (int) c->access,
			       c->stack_overflow);
	if (c->signal != 0)
		sw_text_printf(&s->text, "crash %d %d %d %d %d 0x%" PRIx64 " %d %d %u\n", c->signal,
			       c->tid, c->has_code, c->code, c->has_address, c->address_avma,
			       (int) c->access, c->sender_pid, c->sender_uid);
}

void sw_fixture_save_maps(struct sw_fixture_saver *s)
{
	for (size_t i = 0; i < s->snap->n_maps; i++) {
		const struct sw_map *m = &s->snap->maps[i];
		sw_text_printf(&s->text,
			       "map 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " %" PRIu64
			       " %u %u 0x%x %d",
			       m->start_avma, m->end_avma, m->file_off, m->inode, m->dev_major,
			       m->dev_minor, m->prot, m->place);
		sw_fixture_put_string(&s->text, m->path);
		sw_text_append(&s->text, "\n", 1);
	}
}

void sw_fixture_save_warnings(struct sw_fixture_saver *s)
{
	for (size_t i = 0; i < s->snap->n_warnings; i++) {
		const struct sw_warning *w = &s->snap->warnings[i];
		sw_text_printf(&s->text, "warning %d %d %d", (int) w->code, w->tid, w->reason);
		sw_fixture_put_string(&s->text, w->message);
		sw_text_append(&s->text, "\n", 1);
	}
}
