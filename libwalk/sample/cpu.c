/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Samples of CPU time: each is a thread with registers and stack, as the kernel copied them. The maps and
 * modules are of a look at the process that touches no thread; it is taken anew when code was mapped, and
 * when a sample is in code that it does not know.
 */
#include "sample/cpu.h"
#include "arena.h"
#include "capture/maps.h"
#include "capture/returns.h"
#include "arch/user_regs.h"
#include "cleanup.h"
#include "errors.h"
#include "events/events.h"
#include "events/operands.h"
#include "events/uprobes.h"
#include "iterate/read.h"
#include "iterate/tasks.h"
#include "process/proc.h"
#include "sample/borrowed.h"
#include "sample/called.h"
#include "sample/code.h"
#include "sample/light.h"
#include "sample/recipes.h"
#include "snapshot/snapshot.h"
#include "walk/active.h"
#include "walk/tables.h"

#include <fcntl.h>
#include <snapwalk/clock.h>
#include <snapwalk/host.h>
#include <snapwalk/sampler.h>
#include <string.h>

enum {
	BATCH = 64, /* threads of one snapshot */
	DEFAULT_STACK_BYTES = 16 << 10,
	NAMES_NS = 1000000000,     /* for so long a name of a thread is believed */
	UNKNOWN_NS = 1000000000,   /* maps are read again for unknown code once in so long, */
	CODE_NS = 20000000,        /* and so often when code was mapped */
	ANNOUNCED_NS = 1000000000, /* the least time between looks for runtimes that come later */
};

struct sw_cpu_sampler {
	struct sw_context *ctx;         /* borrowed */
	const struct sw_target *target; /* borrowed */
	struct sw_events *events;       /* owned */
	/* Owned: the kernel copies threads at events, what their interpreters have of frames, too; NULL: events have
	 * registers and stacks themselves, which is enough for native code. */
	struct sw_copies *copies;
	struct sw_recipe recipe; /* that the kernel has, if it has one */
	bool has_recipe;
	struct sw_copy copy;           /* the last one */
	struct sw_copy said;           /* the same with the parts that say what it is of */
	struct sw_uprobes probes;      /* owned: where functions are the events */
	struct sw_cpu_feed feed;       /* drain: NULL: it has events of its own */
	bool has_fed;                  /* copy is one that was handed over, and not looked at yet */
	bool changed;                  /* maps or program, since fed.drain was called last */
	uint32_t recipe_generation;    /* fed: of copies that were made by the recipe */
	uint64_t n_native;             /* fed: copies without what the recipe is for */
	struct sw_rests rests;         /* fed: of looks at memory that does not answer */
	uint64_t n_unanswered;         /* fed: copies that were left out for that */
	struct sw_capture_waits waits; /* of the last look at the maps */
	bool has_runtime;              /* fed: frames of which may be missing */
	struct sw_slots kept_native;   /* fed: as kept, of walks without runtimes */
	struct sw_event_place *places; /* owned: of them, without files */
	bool by_calls;                 /* the events are system calls: */
	struct sw_event_options wanted;
	struct sw_event happened; /* what the last copy is of */
	bool alone;               /* that has no stack */
	int elf_class;            /* of programs whose calls are events */
	struct sw_error
		no_stacks; /* why no event has a stack while snap is NULL, or had one; code 0: snap is there */
	bool lacks_stacks;       /* because of that some events had none, or will have none */
	int exec_link_fd;        /* owned: the iterator, of the first thread; -EBADF: none */
	uint64_t base_exec_id;   /* of the program that base is of; 0: not known */
	bool program_came;       /* it is another one by now: base is for the copies before that */
	struct sw_range *ranges; /* owned: SW_COPY_PARTS_MAX, of it */
	struct sw_slots kept;    /* of runtimes, by their ops: sw_snapshot_priv.kept */
	uint64_t first_exec_id;  /* of the first program; 0: not known */
	uint64_t exec_id;        /* of the program that the last copy is of */
	uint64_t exec_id_before,
		exec_id_old;      /* likewise before it; of those that have no maps any more */
	struct sw_snapshot *base; /* owned: maps and modules */
	struct sw_snapshot *snap; /* owned; borrows from it */
	struct sw_thread threads[BATCH];
	struct sw_sample_change changes[BATCH];
	size_t n;
	uint8_t *stacks; /* owned: of them */
	size_t stack_bytes;
	struct sw_events_sample event; /* is the first of the next batch */
	bool has_kept;
	bool has_copy;     /* it waits, as records of the kernel go before it */
	bool fixed;        /* maps and names are not read again */
	bool beside_looks; /* at threads that wait */
	bool base_old;
	bool code_came; /* since it was made */
	int64_t base_ns;
	struct sw_sample_code code;
	uint64_t generation, number;
	struct sw_error no_copies; /* why the kernel does not copy */
	uint64_t n_left;           /* samples that came after what is known was old */
	struct sw_map64 names;     /* tid -> index + 1 */
	struct name {
		int64_t read_ns;
		char comm[SW_COMM_MAX];
	} * all_names; /* owned */
	size_t n_names, names_max;
};

/* ---- maps and modules ------------------------------------------------------------------------ */

static void snapshot_drop(struct sw_cpu_sampler *s)
{
	sw_slots_deinit(&s->kept_native);
	sw_slots_deinit(&s->kept); /* before the snapshot that they are of */
	sw_borrowed_destroy(s->snap, false);
	s->snap = NULL;
	sw_snapshot_destroy(s->base);
	s->base = NULL;
	s->generation++;
}

/* Code other than native can only be sampled with the program in the kernel. */
static int native_check(const struct sw_cpu_sampler *s, struct sw_error *err)
{
	if (sw_light_is_possible(s->base, &sw_tables))
		return 0;
	if (s->no_copies.code != 0) {
		if (err != NULL)
			*err = s->no_copies;
		return -SW_E_INVALID;
	}
	return sw_fail(err, SW_E_INVALID,
		       "perf events give stacks of native code only, and process %d has "
		       "other",
		       (int) s->target->pid);
}

static int copies_open(struct sw_cpu_sampler *s, struct sw_error *err)
{
	struct sw_called_setup called;
	struct sw_copies_options how = {.stack_bytes = s->stack_bytes, .n_held = s->wanted.n_held};
	if (s->by_calls) {
		s->elf_class = s->base->process.elf_class;
		int r = sw_called_prepare(&s->wanted, s->elf_class == 32, &called, &how.calls, err);
		if (r < 0)
			return r;
		how.called = &called;
	}
	return sw_copies_open(&how, &s->copies, err);
}

static bool is_fed(const struct sw_cpu_sampler *s)
{
	return s->feed.drain != NULL;
}

/* Without a recipe there are native frames. */
static int recipe_lend(struct sw_cpu_sampler *s, struct sw_error *err)
{
	struct sw_recipe recipe = {0};
	s->no_copies = (struct sw_error){0};
	int r = sw_sample_recipe(s->base, &sw_tables, &recipe, &s->no_copies);
	if (r == 0 && recipe.steps.n_steps > 0)
		r = sw_copies_sample(s->copies, s->target->pid, &recipe.steps, &s->no_copies);
	s->has_recipe = r == 0 && recipe.steps.n_steps > 0;
	s->has_runtime =
		s->has_recipe ||
		(r < 0 && (r != -SW_E_INVALID || sw_sample_has_runtime(s->base, &sw_tables)));
	if (!s->has_recipe)
		sw_copies_know(s->copies, s->target->pid);
	s->recipe = s->has_recipe ? recipe : (struct sw_recipe){0};
	s->recipe_generation = s->has_recipe ? sw_copies_generation(s->copies, s->target->pid) : 0;
	return r == -SW_E_NOMEM ? sw_fail_nomem(err) : 0;
}

/* Events whose process is not read later: the kernel copies stacks of native code, and nothing of a runtime. */
static int fixed_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	static const struct sw_recipe none;
	if (!sw_light_is_possible(s->base, &sw_tables))
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "process %d has code other than native: its events have stacks "
			       "only where the process may be read at each of them",
			       (int) s->target->pid);
	int r = copies_open(s, err);
	if (r == 0)
		r = sw_copies_sample(s->copies, s->target->pid, &none.steps, err);
	return r;
}

/* The program is loaded once. Where that is refused, events without it have to do; system calls have no others. */
static int recipe_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	struct sw_recipe recipe = {0};
	if (is_fed(s))
		return recipe_lend(s, err);
	if (s->fixed && !s->by_calls) /* nothing of the process may be read later */
		return 0;
	if (s->fixed)
		return fixed_take(s, err);
	int r = sw_sample_recipe(s->base, &sw_tables, &recipe, &s->no_copies);
	if (r == 0 && s->copies == NULL)
		r = copies_open(s, &s->no_copies);
	if (r == 0 && s->has_recipe && memcmp(&recipe, &s->recipe, sizeof(recipe)) == 0)
		return 0;
	if (r == 0)
		r = sw_copies_sample(s->copies, s->target->pid, &recipe.steps, &s->no_copies);
	s->has_recipe = r == 0;
	s->recipe = recipe;
	/* Events that are open have the program: there is no way back. */
	if (r < 0 && (s->events != NULL || s->by_calls)) {
		if (err != NULL)
			*err = s->no_copies;
		return r;
	}
	if (r < 0) {
		sw_copies_close(s->copies);
		s->copies = NULL;
	}
	return r == -SW_E_NOMEM ? sw_fail_nomem(err) : 0;
}

/* Lends the copies to the snapshot. Constant things are read later, and proven again by who needs them. */
static void copies_lend(struct sw_cpu_sampler *s)
{
	struct sw_snapshot_priv *priv = s->snap->priv;
	priv->by_copies = true;
	priv->native_only = s->fixed;
	priv->unpublished = sw_sample_is_unpublished(s->base, &sw_tables);
	priv->kept = &s->kept;
	priv->task_fd = s->target->task_fd;
	if (s->base->priv->mem_fd >= 0 && !s->fixed)
		priv->mem_fd = fcntl(s->base->priv->mem_fd, F_DUPFD_CLOEXEC, 0);
	priv->live_dead = priv->mem_fd < 0;
	s->snap->ranges = s->ranges;
}

/* Which of the programs that a process becomes one after another it is now; 0: not known. */
static uint64_t exec_id_read(const struct sw_cpu_sampler *s)
{
	struct sw_iterate_record record;
	struct sw_iterate_pass pass = {0};
	sw_cleanup(sw_close_p) int fd = -EBADF;
	if (s->exec_link_fd < 0 || sw_iterate_open(s->exec_link_fd, &fd, NULL) < 0 ||
	    sw_iterate_read(fd, &record, 1, &pass) < 0 || pass.n != 1)
		return 0;
	return record.exec_id;
}

static int exec_link_open(struct sw_cpu_sampler *s, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int program_fd = -EBADF;
	int r = sw_iterate_load(SW_ITERATE_THREADS, &program_fd, err);
	return r < 0 ? r
		     : sw_iterate_link_thread(program_fd, s->target->pid, &s->exec_link_fd, err);
}

/* Takes the maps of one program, whose number is known then. */
static int maps_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	enum { TRIES = 4 };
	int r = 0;
	s->program_came = false;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = exec_id_read(s);
		snapshot_drop(s);
		s->waits = (struct sw_capture_waits){
			.most_ms =
				is_fed(s) ? sw_rests_patience_ms(s->feed.rests, sw_clock_ns()) : 0};
		r = sw_capture_maps(s->ctx, s->target, &s->waits, &s->base, err);
		s->base_exec_id = before == exec_id_read(s) ? before : 0;
		if (r < 0 || s->base_exec_id != 0 || !s->by_calls)
			break;
	}
	return r;
}

static int base_take(struct sw_cpu_sampler *s, struct sw_error *err)
{
	int r = maps_take(s, err);
	if (r < 0)
		return r;
	if (s->events != NULL && s->by_calls && s->base->process.elf_class != s->elf_class)
		return sw_fail(
			err, SW_E_INVALID,
			"process %d is a %d-bit program now, whose system calls are not followed",
			(int) s->target->pid, s->base->process.elf_class);
	r = s->copies != NULL || s->events == NULL ? recipe_take(s, err) : 0;
	/* Which ones a thread had at the instant of a sample nobody can tell afterwards; copies say it. Beside samples by the
	 * clock there are looks at threads that wait, which do not. */
	if (r == 0 && (s->copies == NULL || s->beside_looks) && sw_returns_page(s->base) != NULL)
		return sw_fail(err, SW_E_INVALID,
			       "a tool probes or has probed functions of process %d (uprobes), and "
			       "perf events do not "
			       "tell the return addresses that the kernel has replaced for it",
			       (int) s->target->pid);
	if (r == 0 && s->copies == NULL)
		r = native_check(s, err);
	if (r == 0)
		r = sw_borrowed_create(s->base, &s->snap, err);
	if (r < 0)
		return r;
	if (s->copies != NULL)
		copies_lend(s);
	else
		s->snap->priv->native_only = true;
	s->snap->threads = s->threads;
	s->base_old = s->code_came = false;
	s->base_ns = sw_clock_ns();
	return 0;
}

/* System calls go on without stacks where the process cannot be looked at any more: what was counted stays. */
static int base_renew(struct sw_cpu_sampler *s, struct sw_error *err)
{
	struct sw_error why = {0};
	int r = base_take(s, &why);
	if (r == 0)
		return 0;
	bool lives = sw_target_lives(s->target);
	if (!lives)
		r = sw_fail(&why, SW_E_EXITED, "process %d exited", (int) s->target->pid);
	if (!s->by_calls || r == -SW_E_NOMEM) {
		if (err != NULL)
			*err = why;
		return r;
	}
	snapshot_drop(s);
	s->base_old = s->code_came = false;
	s->base_ns = sw_clock_ns();
	s->no_stacks = why;
	s->lacks_stacks |= lives;
	return 0;
}

/* Where it failed, it is tried again only now and then. */
static bool base_is_due(const struct sw_cpu_sampler *s)
{
	const int64_t again_ns = INT64_C(10) * UNKNOWN_NS;
	if (s->base_old || s->snap != NULL)
		return s->base_old;
	return s->no_stacks.code == 0 ||
	       (sw_clock_ns() - s->base_ns >= again_ns && sw_target_lives(s->target));
}

/* ---- names ----------------------------------------------------------------------------------- */

/* A name that cannot be kept is read again, or unknown. */
static void name_keep(struct sw_cpu_sampler *s, pid_t tid, const char comm[static SW_COMM_MAX])
{
	enum { NAMES_MAX = 4096 };
	uint64_t index = 0;
	bool known = sw_map64_get(&s->names, (uint64_t) tid, &index);
	if (!known && s->fixed && s->n_names >= NAMES_MAX)
		return; /* those that are there could not be read again */
	if (!known && s->n_names >= NAMES_MAX) {
		sw_map64_deinit(&s->names);
		s->n_names = 0;
	}
	if (!known) {
		struct name *grown =
			sw_grow(s->all_names, s->n_names, &s->names_max, BATCH, sizeof(*grown));
		if (grown == NULL)
			return;
		s->all_names = grown;
		if (sw_map64_put(&s->names, (uint64_t) tid, s->n_names + 1) < 0)
			return;
		index = ++s->n_names;
	}
	s->all_names[index - 1].read_ns = sw_clock_ns();
	memcpy(s->all_names[index - 1].comm, comm, SW_COMM_MAX);
}

/* False: it is not there, or the thread is gone. */
static bool name_read(const struct sw_cpu_sampler *s, pid_t tid, char comm[static SW_COMM_MAX])
{
	char path[32], text[SW_COMM_MAX + 1] = "";
	(void) snprintf(path, sizeof(path), "%d/comm", (int) tid); /* fits */
	if (sw_proc_read_small(s->target->task_fd, path, text, sizeof(text)) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	memset(comm, 0, SW_COMM_MAX);
	(void) snprintf(comm, SW_COMM_MAX, "%.*s", SW_COMM_MAX - 1, text);
	return true;
}

static void name_find(struct sw_cpu_sampler *s, pid_t tid, char comm[static SW_COMM_MAX])
{
	uint64_t index = 0;
	const struct name *known =
		sw_map64_get(&s->names, (uint64_t) tid, &index) ? &s->all_names[index - 1] : NULL;
	bool old = known == NULL || sw_clock_ns() - known->read_ns >= NAMES_NS;
	if (old && !s->fixed && name_read(s, tid, comm))
		name_keep(s, tid, comm);
	else if (known != NULL) /* fresh; or it has ended: as it was */
		memcpy(comm, known->comm, SW_COMM_MAX);
	else
		memset(comm, 0, SW_COMM_MAX);
}

/* A record of the kernel says it. */
static void name_note(struct sw_cpu_sampler *s, const struct sw_events_sample *named)
{
	uint64_t index = 0;
	if (named->named_as == 0)
		name_keep(s, named->tid, named->comm);
	else if (sw_map64_get(&s->names, (uint64_t) named->named_as, &index)) {
		char comm[SW_COMM_MAX];
		memcpy(comm, s->all_names[index - 1].comm, SW_COMM_MAX);
		name_keep(s, named->tid, comm);
	}
}

/* Reads the names of all threads, as long as they can be read. */
static void names_read(struct sw_cpu_sampler *s)
{
	enum { THREADS_MAX = 4096 };
	char comm[SW_COMM_MAX];
	size_t n = 0;
	sw_cleanup(sw_free_p) pid_t *tids = calloc(THREADS_MAX, sizeof(*tids));
	if (tids == NULL || !sw_proc_tids(s->target->task_fd, tids, THREADS_MAX, &n))
		return;
	for (size_t i = 0; i < n && i < THREADS_MAX; i++)
		if (name_read(s, tids[i], comm))
			name_keep(s, tids[i], comm);
}

/* ---- create, destroy ------------------------------------------------------------------------- */

/* wanted: NULL: samples of CPU time. */
/* Breakpoints in the code of the process, where they are the events. */
static int probes_open(struct sw_cpu_sampler *s, struct sw_error *err)
{
	const struct sw_event_options *o = &s->wanted;
	const bool counts = o->what == SW_EVENT_PAIR_CALLS;
	const bool pairs = o->what == SW_EVENT_PAIRS || counts;
	if (!pairs && o->what != SW_EVENT_FUNCTION)
		return 0;
	return sw_uprobes_open(
		s->target, o->places, o->n_places,
		&(struct sw_uprobes_programs){.begin_fd = sw_copies_program(s->copies, 0),
					      .return_fd = (pairs && !counts) || o->at_return
								   ? sw_copies_program(s->copies, 1)
								   : -EBADF,
					      .release_fd = pairs ? sw_copies_program(s->copies, 2)
								  : -EBADF},
		&s->probes, err);
}

static int create(struct sw_context *ctx, struct sw_target *target,
		  const struct sw_events_options *options, unsigned flags,
		  const struct sw_event_options *wanted, struct sw_cpu_sampler **ret,
		  struct sw_error *err)
{
	size_t stack_bytes = options->stack_bytes;
	struct sw_cpu_sampler *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return sw_fail_nomem(err);
	s->ctx = ctx;
	s->target = target;
	s->exec_link_fd = -EBADF;
	s->by_calls = wanted != NULL;
	if (wanted != NULL)
		s->wanted = *wanted;
	s->fixed = (flags & SW_CPU_SAMPLER_FIXED) != 0;
	s->beside_looks = (flags & SW_CPU_SAMPLER_CLOCK) != 0;
	s->stack_bytes = stack_bytes == 0                    ? DEFAULT_STACK_BYTES
			 : stack_bytes < SW_EVENTS_STACK_MAX ? stack_bytes
							     : SW_EVENTS_STACK_MAX;
	s->stacks = malloc(BATCH * s->stack_bytes);
	s->ranges = calloc(SW_COPY_PARTS_MAX, sizeof(*s->ranges));
	int r = s->stacks == NULL || s->ranges == NULL ? sw_fail_nomem(err) : 0;
	if (r == 0 && s->by_calls)
		r = exec_link_open(s, err);
	if (r == 0)
		r = base_take(s, err);
	s->first_exec_id = s->base_exec_id;
	if (r == 0)
		r = sw_events_open(target,
				   &(struct sw_events_options){
					   .rate_hz = options->rate_hz,
					   .stack_bytes = s->stack_bytes,
					   .copies = s->copies,
					   .clock_only = (flags & SW_CPU_SAMPLER_CLOCK) != 0},
				   &s->events, err);
	if (r == 0 && s->by_calls)
		r = probes_open(s, err);
	if (r == 0 && s->by_calls && s->wanted.n_places > 0) {
		size_t bytes = s->wanted.n_places * sizeof(*s->places);
		s->places = malloc(bytes);
		if (s->places == NULL)
			r = sw_fail_nomem(err);
		else
			memcpy(s->places, s->wanted.places, bytes);
	}
	s->wanted.places = NULL; /* the caller's */
	if (r < 0) {
		sw_cpu_sampler_destroy(s);
		return r;
	}
	if (s->fixed) /* after the events: of those that begin now there is a record */
		names_read(s);
	/* The recipe for copies may have been read by a reader. */
	sw_pages_helpers_end(&s->base->priv->pages);
	*ret = s;
	return 0;
}

int sw_cpu_sampler_create(struct sw_context *ctx, struct sw_target *target, uint32_t rate_hz,
			  size_t stack_bytes, unsigned flags, struct sw_cpu_sampler **ret,
			  struct sw_error *err)
{
	const struct sw_events_options options = {.rate_hz = rate_hz, .stack_bytes = stack_bytes};
	return create(ctx, target, &options, flags, NULL, ret, err);
}

int sw_event_sampler_create(struct sw_context *ctx, struct sw_target *target,
			    const struct sw_event_options *options, struct sw_cpu_sampler **ret,
			    struct sw_error *err)
{
	enum { STACK_BYTES = 8 << 10 };
	const struct sw_events_options none = {
		.stack_bytes = options->stack_bytes != 0 ? options->stack_bytes : STACK_BYTES};
	return create(ctx, target, &none, options->fixed ? SW_CPU_SAMPLER_FIXED : 0, options, ret,
		      err);
}

int sw_cpu_sampler_create_fed(struct sw_context *ctx, struct sw_target *target,
			      const struct sw_cpu_feed *feed, struct sw_cpu_sampler **ret,
			      struct sw_error *err)
{
	struct sw_cpu_sampler *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return sw_fail_nomem(err);
	s->ctx = ctx;
	s->target = target;
	s->exec_link_fd = -EBADF;
	s->feed = *feed;
	s->copies = feed->copies;
	s->stack_bytes = feed->stack_bytes;
	s->base_old = true;
	s->ranges = calloc(SW_COPY_PARTS_MAX, sizeof(*s->ranges));
	if (s->ranges == NULL) {
		sw_cpu_sampler_destroy(s);
		return sw_fail_nomem(err);
	}
	*ret = s;
	return 0;
}

void sw_cpu_sampler_destroy(struct sw_cpu_sampler *s)
{
	if (s == NULL)
		return;
	sw_events_close(s->events);
	sw_uprobes_close(&s->probes);
	if (is_fed(s))
		sw_copies_forget(s->copies, s->target->pid);
	else
		sw_copies_close(s->copies);
	sw_close_p(&s->exec_link_fd);
	snapshot_drop(s);
	sw_map64_deinit(&s->names);
	free(s->all_names);
	free(s->places);
	free(s->ranges);
	free(s->stacks);
	free(s);
}

/* ---- samples --------------------------------------------------------------------------------- */

static bool has_thread(const struct sw_cpu_sampler *s, pid_t tid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->threads[i].tid == tid)
			return true;
	return false;
}

static bool has_replaced(const struct sw_copy *copy)
{
	for (size_t i = 0; i < copy->n_parts; i++)
		if (copy->parts[i].kind == SW_CALLED_RETURNS)
			return true;
	return false;
}

/* The bytes of a part of the stack: those of the record, or a copy where the kernel has replaced words of them. *used is
 * how much of the sampler's own space has been taken. */
static const uint8_t *stack_data(struct sw_cpu_sampler *s, const struct sw_copy_part *part,
				 size_t *used)
{
	if (!has_replaced(&s->said) || part->bytes > BATCH * s->stack_bytes - *used)
		return part->data;
	uint8_t *to = s->stacks + *used;
	memcpy(to, part->data, part->bytes);
	if (sw_called_put_back(&s->said, part->avma, to, part->bytes) == 0)
		return part->data;
	*used += part->bytes;
	return to;
}

/* The first part is the stack up to its end, or to a hole. */
static void copy_add(struct sw_cpu_sampler *s)
{
	const struct sw_copy *copy = &s->copy;
	struct sw_thread *t = &s->threads[0];
	struct sw_snapshot *snap = s->snap;
	*t = (struct sw_thread){.tid = (pid_t) copy->head.tid,
				.state = 'R',
				.captured = true,
				.captured_by = SW_CAPTURED_EVENT,
				.cpu_ns = -1,
				.stop_ns = -1};
	sw_arch_thread_fill(t, &copy->regs);
	t->stack_avma = t->stack_end_avma = t->regs.sp_avma;
	t->copy = copy;
	snap->n_ranges = 0;
	size_t used = 0;
	for (size_t i = 0; i < copy->n_parts; i++) {
		const struct sw_copy_part *part = &copy->parts[i];
		const uint8_t *data = part->kind == SW_SAMPLED_KIND_STACK
					      ? stack_data(s, part, &used)
					      : part->data;
		if (i == 0 && part->kind == SW_SAMPLED_KIND_STACK &&
		    part->avma <= t->regs.sp_avma) {
			t->stack_avma = part->avma;
			t->stack = data;
			t->stack_bytes = part->bytes;
			continue;
		}
		s->ranges[snap->n_ranges++] = (struct sw_range){part->avma, part->bytes, data};
	}
	const struct sw_map *map = sw_snapshot_map(snap, t->regs.sp_avma);
	if (map != NULL)
		t->stack_end_avma = map->end_avma;
	memcpy(t->comm, copy->head.comm, sizeof(copy->head.comm) - 1);
	if (!sw_active_renew(&s->kept))
		s->generation++; /* cookies mean something else now */
	s->n = 1;
}

static void thread_add(struct sw_cpu_sampler *s, const struct sw_events_sample *sample)
{
	uint8_t *stack = s->stacks + s->n * s->stack_bytes;
	struct sw_thread *t = &s->threads[s->n];
	size_t bytes = sample->stack_bytes < s->stack_bytes ? sample->stack_bytes : s->stack_bytes;
	memcpy(stack, sample->stack, bytes);
	*t = (struct sw_thread){.tid = sample->tid,
				.state = 'R',
				.captured = true,
				.captured_by = SW_CAPTURED_EVENT,
				.cpu_ns = -1,
				.stop_ns = -1,
				.stack = stack};
	sw_arch_thread_fill(t, &sample->regs);
	const struct sw_map *map = sw_snapshot_map(s->snap, t->regs.sp_avma);
	t->stack_avma = t->regs.sp_avma;
	t->stack_bytes = bytes;
	t->stack_end_avma = map != NULL ? map->end_avma : t->stack_avma + bytes;
	name_find(s, t->tid, t->comm);
	s->n++;
}

/* Whether a runtime has come that the maps do not have. Of all processes each is asked less often. */
static bool is_announced(struct sw_cpu_sampler *s)
{
	const int64_t every_ns = (is_fed(s) ? INT64_C(10) : 1) * ANNOUNCED_NS;
	return !s->fixed && sw_sample_code_is_announced(&s->code, s->target, s->base, every_ns);
}

static bool is_known_code(const struct sw_cpu_sampler *s, uint64_t pc)
{
	const struct sw_map *map = sw_snapshot_map(s->snap, pc);
	return map != NULL && (map->prot & SW_MAP_EXEC);
}

/* Copies of a program whose maps are not known any more are left out. */
static bool copy_next(struct sw_cpu_sampler *s)
{
	while (sw_copies_next(s->copies, &s->copy)) {
		if (s->exec_id_old == 0 || s->copy.head.exec_id != s->exec_id_old || s->by_calls)
			return true;
		s->n_left++;
	}
	return false;
}

/* Records of the kernel first: what a copy is of may be told by one that came before it. */
static enum sw_events_kind event_next(struct sw_cpu_sampler *s)
{
	enum sw_events_kind kind = sw_events_next(s->events, &s->event);
	if (kind != SW_EVENTS_NONE || s->copies == NULL)
		return kind;
	if (!s->has_copy && !copy_next(s))
		return SW_EVENTS_NONE;
	s->has_copy =
		s->copy.head.exec_id != s->exec_id && (s->copy.head.flags & SW_CALLED_ALONE) == 0;
	if (s->has_copy) {
		s->exec_id_before = s->exec_id;
		s->exec_id = s->copy.head.exec_id;
	}
	if (s->has_copy) /* of another program, whose record is there by now */
		return event_next(s);
	s->event = (struct sw_events_sample){.tid = (pid_t) s->copy.head.tid, .regs = s->copy.regs};
	return SW_EVENTS_SAMPLE;
}

/* Taken before it was known that there is an interpreter: what that has of frames is missing. */
static bool lacks_frames(const struct sw_cpu_sampler *s)
{
	return s->copies != NULL && s->recipe.steps.n_steps > 0 &&
	       (s->copy.head.flags & SW_SAMPLED_RECIPE) == 0;
}

/* Whether an event has no stack: it needs none; or that is of a program whose maps are not known any more, or lacks
 * frames. */
static bool is_alone(const struct sw_cpu_sampler *s)
{
	bool old = s->base_exec_id != 0 && s->copy.head.exec_id < s->base_exec_id;
	return (s->copy.head.flags & SW_CALLED_ALONE) != 0 || s->snap == NULL || old ||
	       lacks_frames(s);
}

/* Whether a copy is of a program that is newer than the maps. */
static bool is_newer(const struct sw_cpu_sampler *s)
{
	return s->base_exec_id != 0 ? s->copy.head.exec_id > s->base_exec_id : s->program_came;
}

/* A probe that the program declares has its arguments where it says. */
static void operands_take(struct sw_cpu_sampler *s)
{
	struct sw_event *e = &s->happened;
	if (s->places == NULL || e->kind != SW_EVENT_ENTERED || e->place >= s->wanted.n_places ||
	    !s->places[e->place].is_declared)
		return;
	const struct sw_event_place *place = &s->places[e->place];
	e->n_arguments = place->n_operands;
	for (size_t i = 0; i < place->n_operands; i++)
		if (!sw_operand_value(&place->operands[i], &s->copy, &e->arguments[i])) {
			e->arguments[i] = 0;
			e->arguments_unknown |= 1U << i;
		}
}

/* Takes the event of a copy, if it is of one. The parts that say it, and which return addresses have been replaced, go before
 * those of the process, and are no memory of that. */
static bool called_take(struct sw_cpu_sampler *s)
{
	bool taken = !s->by_calls || sw_called_read(&s->copy, &s->happened);
	s->happened.of_first = s->copy.head.exec_id <= s->first_exec_id;
	operands_take(s);
	s->said = s->copy;
	while (s->copy.n_parts > 0 && s->copy.parts[0].kind >= SW_CALLED_EVENT) {
		s->copy.parts++;
		s->copy.n_parts--;
	}
	return taken;
}

/* The last event of a process is walked by maps that were read while it was there. */
static bool is_due_for_death(const struct sw_cpu_sampler *s)
{
	return s->wanted.what == SW_EVENT_DEATH && s->code_came &&
	       sw_clock_ns() - s->base_ns > CODE_NS;
}

/* Fills the batch until there is nothing more, or the next sample is not for it: that one is kept. */
static void batch_fill(struct sw_cpu_sampler *s, bool *new_program)
{
	enum { NAMES_MAX = 65536 }; /* a process names its threads as fast as it likes */
	size_t n_names = 0;
	s->n = 0;
	s->alone = false;
	while (s->n < BATCH && !s->base_old && n_names < NAMES_MAX) {
		const bool again = s->has_kept;
		enum sw_events_kind kind = again ? SW_EVENTS_SAMPLE : event_next(s);
		s->has_kept = false;
		/* No call of another program may ever come: whether they are followed is seen now. */
		s->base_old = kind == SW_EVENTS_NONE && s->by_calls &&
			      (s->program_came || is_due_for_death(s));
		if (kind == SW_EVENTS_NONE)
			return;
		if (kind == SW_EVENTS_NAME) {
			name_note(s, &s->event);
			n_names++;
			continue;
		}
		if (kind != SW_EVENTS_SAMPLE) {
			s->code_came = true;
			if (kind == SW_EVENTS_PROGRAM)
				s->exec_id_old = s->has_copy ? s->exec_id_before : s->exec_id;
			s->program_came |= kind == SW_EVENTS_PROGRAM;
			/* Copies say themselves which program they are of. */
			s->base_old = kind == SW_EVENTS_PROGRAM && !s->by_calls;
			*new_program |= kind == SW_EVENTS_PROGRAM;
			continue;
		}
		if (s->copies != NULL && !again && !called_take(s)) {
			s->n_left++; /* nothing says what it is of */
			continue;
		}
		if (s->by_calls && is_alone(s)) {
			s->alone = true;
			s->lacks_stacks |=
				s->snap == NULL && (s->copy.head.flags & SW_CALLED_ALONE) == 0;
			return;
		}
		if (s->by_calls && is_newer(s)) {
			s->has_kept = s->base_old = true;
			return;
		}
		s->has_kept = has_thread(s, s->event.tid);
		if (s->has_kept)
			return;
		if (sw_arch_is_32bit(&s->event.regs) != (s->snap->process.elf_class == 32))
			continue; /* code of the other kind: Wine's new WoW64 */
		/* Code that came may be where other was: no sample is walked by old maps for long. */
		bool unknown = !is_known_code(s, s->event.regs.rip);
		if ((s->code_came || unknown) && !s->program_came &&
		    sw_clock_ns() - s->base_ns >
			    (unknown && !s->code_came ? UNKNOWN_NS : CODE_NS)) {
			s->has_kept = s->base_old = true;
			return;
		}
		if (!again && !s->program_came && is_announced(s)) {
			s->has_kept = s->base_old = true;
			return;
		}
		if (lacks_frames(s) && !s->by_calls) {
			s->n_left++;
			continue;
		}
		if (s->copies != NULL) { /* a snapshot is of one instant */
			copy_add(s);
			return;
		}
		thread_add(s, &s->event);
	}
}

void sw_cpu_sampler_feed(struct sw_cpu_sampler *s, const struct sw_copy *copy)
{
	s->n_left += s->has_fed;
	s->copy = *copy;
	s->has_fed = true;
}

void sw_cpu_sampler_note_code(struct sw_cpu_sampler *s, bool program)
{
	s->changed = s->code_came = true;
	s->program_came |= program;
}

const char *sw_cpu_sampler_no_recipe(const struct sw_cpu_sampler *s)
{
	return is_fed(s) && s->snap != NULL && s->no_copies.code != 0 ? s->no_copies.message : "";
}

uint64_t sw_cpu_sampler_native(const struct sw_cpu_sampler *s)
{
	return s->n_native;
}

uint64_t sw_cpu_sampler_unanswered(const struct sw_cpu_sampler *s)
{
	return s->n_unanswered;
}

/* The look that is over; what the recipe needed was waited for by what the maps have. */
static void rests_note(struct sw_cpu_sampler *s, int r)
{
	const struct sw_pages *pages = s->base != NULL ? &s->base->priv->pages : NULL;
	const struct sw_rests_look look = {.waited_ns = pages != NULL ? pages->waited_ns
								      : s->waits.waited_ns,
					   .copied_ns = pages != NULL ? pages->copied_ns
								      : s->waits.copied_ns,
					   .failed = r < 0};
	if (sw_rests_note(&s->rests, s->feed.rests, sw_clock_ns(), &look))
		s->n_unanswered += r < 0;
}

/*
 * Maps of the program that the copy is of. Which program they are of nobody can tell where it became another one
 * meanwhile: the copy is left out then, and the maps are read again for the next one. False: that is so.
 */
static int fed_renew(struct sw_cpu_sampler *s, bool *ret_usable, struct sw_error *err)
{
	s->changed = false;
	int r = base_take(s, err);
	rests_note(s, r);
	if (r < 0) {
		snapshot_drop(s);
		s->base_old = true;
		return r;
	}
	s->feed.drain(s->feed.arg);
	*ret_usable = !s->program_came;
	s->base_old = s->program_came;
	s->exec_id = s->copy.head.exec_id;
	return 0;
}

int sw_cpu_sampler_look(struct sw_cpu_sampler *s, uint64_t exec_id, struct sw_error *err)
{
	bool usable;
	s->copy.head.exec_id = exec_id;
	int r = fed_renew(s, &usable, err);
	return r == -SW_E_EXITED || r == -SW_E_NOMEM ? r : 0;
}

/* The copy that was handed over, unless it is of a program whose maps are gone. */
static int fed_take(struct sw_cpu_sampler *s, bool *ret_new_program, struct sw_error *err)
{
	const struct sw_sampled_head *head = &s->copy.head;
	bool usable = true;
	s->n = 0;
	if (!s->has_fed)
		return 0;
	s->has_fed = false;
	if (s->snap != NULL && head->exec_id < s->exec_id) {
		s->n_left++;
		return 0;
	}
	*ret_new_program = s->exec_id != 0 && head->exec_id != s->exec_id;
	bool unknown = s->snap != NULL && !is_known_code(s, s->copy.regs.rip);
	bool due = (s->code_came || unknown) &&
		   sw_clock_ns() - s->base_ns > (s->code_came ? CODE_NS : UNKNOWN_NS);
	due |= s->base_old || s->snap == NULL || s->program_came || *ret_new_program;
	due = due || is_announced(s);
	if (due && sw_clock_ns() < s->rests.until_ns) {
		*ret_new_program = false;
		s->n_left++;
		s->n_unanswered++;
		return 0;
	}
	if (due) {
		int r = fed_renew(s, &usable, err);
		if (r < 0)
			s->n_left++;
		if (r < 0)
			return r;
	}
	if (!usable || sw_arch_is_32bit(&s->copy.regs) != (s->snap->process.elf_class == 32)) {
		s->n_left++;
		return 0;
	}
	/* Runtimes may not look for what a recipe did not copy: the process runs on. */
	bool native = !s->has_recipe || lacks_frames(s) || head->generation != s->recipe_generation;
	s->n_native += native && s->has_runtime;
	s->snap->priv->native_only = native;
	s->snap->priv->lacks_runtime = native && s->has_runtime;
	s->snap->priv->kept = native ? &s->kept_native : &s->kept;
	copy_add(s);
	return 0;
}

/* Counts the samples that are there and cannot be walked any more. */
static void rest_count(struct sw_cpu_sampler *s)
{
	enum { RECORDS_MAX = 1 << 20 };
	enum sw_events_kind kind = SW_EVENTS_NONE;
	s->n_left += s->has_kept;
	s->has_kept = false;
	for (int i = 0; i < RECORDS_MAX; i++) {
		kind = event_next(s);
		if (kind == SW_EVENTS_NONE)
			break;
		s->n_left += kind == SW_EVENTS_SAMPLE;
	}
}

static int fail_old(struct sw_cpu_sampler *s, struct sw_error *err)
{
	rest_count(s);
	return sw_fail(err, SW_E_CHANGED, "process %d has other code now", (int) s->target->pid);
}

static void snapshot_finish(struct sw_cpu_sampler *s, int64_t time_ns)
{
	struct sw_snapshot *snap = s->snap;
	snap->n_threads = s->n;
	if (s->copies == NULL)
		snap->n_ranges = 0;
	snap->time_ns = time_ns;
	sw_snapshot_index_threads(snap);
}

int sw_cpu_sampler_next(struct sw_cpu_sampler *s, struct sw_sample *ret, struct sw_error *err)
{
	struct sw_sample sample = {.number = ++s->number, .time_ns = sw_realtime_ns()};
	if (s->fixed && s->base_old)
		return fail_old(s, err);
	if (is_fed(s)) {
		int r = fed_take(s, &sample.new_program, err);
		if (r < 0)
			return r;
	} else if (base_is_due(s)) {
		int r = base_renew(s, err);
		if (r == -SW_E_EXITED)
			rest_count(s);
		if (r < 0)
			return r;
	}
	if (s->copies != NULL && s->snap != NULL)
		sw_active_open(s->snap, &sw_tables);
	if (!is_fed(s))
		batch_fill(s, &sample.new_program);
	if (!is_fed(s) && s->n == 0 && !s->alone && !s->base_old && !sw_target_lives(s->target)) {
		batch_fill(s,
			   &sample.new_program); /* what it wrote before its end is there by now */
		if (s->n == 0 && !s->alone && !s->base_old)
			return sw_fail(err, SW_E_EXITED, "process %d exited", (int) s->target->pid);
	}
	struct sw_snapshot *snap = s->snap;
	if (snap != NULL)
		snapshot_finish(s, sample.time_ns);
	for (size_t i = 0; i < s->n; i++) {
		const struct sw_thread *t = &snap->threads[i];
		s->changes[i] = (struct sw_sample_change){.slot = (uint32_t) i,
							  .tid = t->tid,
							  .kind = SW_CHANGE_READ,
							  .activity = SW_ACTIVITY_ON_CPU};
		memcpy(s->changes[i].comm, t->comm, sizeof(t->comm));
	}
	sample.snap = s->n > 0 ? snap : NULL;
	sample.changes = s->changes;
	sample.n_changes = sample.n_threads = s->n;
	sample.generation = s->generation;
	sample.light = true;
	sample.kept = s->copies != NULL;
	sample.event_alone = s->alone;
	sample.more = !is_fed(s) && (s->n > 0 || s->alone || s->base_old);
	*ret = sample;
	return 0;
}

uint64_t sw_cpu_sampler_lost(const struct sw_cpu_sampler *s)
{
	struct sw_copies_counts counts = {0};
	if (is_fed(s)) /* the others are those of all processes */
		return s->n_left;
	if (s->copies != NULL)
		counts = sw_copies_counts(s->copies);
	return sw_events_lost(s->events) + s->n_left + counts.n_no_space + counts.n_nested;
}

bool sw_cpu_sampler_with_kernel(const struct sw_cpu_sampler *s)
{
	return is_fed(s) || sw_events_with_kernel(s->events);
}

const struct sw_event *sw_cpu_sampler_event(const struct sw_cpu_sampler *s)
{
	return &s->happened;
}

const char *sw_event_sampler_no_stacks(const struct sw_cpu_sampler *s)
{
	return s->lacks_stacks ? s->no_stacks.message : "";
}

bool sw_event_sampler_is_over(const struct sw_cpu_sampler *s)
{
	return sw_uprobes_are_over(&s->probes) && sw_target_lives(s->target);
}

bool sw_event_sampler_has_more(const struct sw_cpu_sampler *s)
{
	return s->copies != NULL && sw_copies_has_more(s->copies);
}

struct sw_event_cost sw_event_sampler_cost(const struct sw_cpu_sampler *s)
{
	struct sw_copies_counts counts = {0};
	if (s->copies != NULL)
		counts = sw_copies_counts(s->copies);
	return (struct sw_event_cost){
		.n_probed = counts.n_probed,
		.n_copied = counts.n_timed,
		.ns = counts.ns,
		.n_left_out = counts.n_left_out,
		.n_not_held = counts.n_not_held,
		.n_unsure = counts.n_unsure,
		.n_unknown = counts.n_unknown,
		.n_none = counts.n_none,
		.n_handing = counts.n_begun[0],
		.n_handing_stepped = counts.n_begun[SW_SAMPLED_STEPPED],
		.n_taking = counts.n_begun[SW_SAMPLED_RELEASES],
		.n_taking_stepped = counts.n_begun[SW_SAMPLED_RELEASES | SW_SAMPLED_STEPPED]};
}

int sw_event_sampler_held(const struct sw_cpu_sampler *s,
			  int (*tell)(void *arg, const struct sw_event_held *held), void *arg,
			  struct sw_error *err)
{
	enum { AT_ONCE = 256 };
	struct sw_called_outstanding held[AT_ONCE];
	sw_cleanup(sw_close_p) int fd = -EBADF;
	int r = sw_iterate_open(sw_copies_list(s->copies), &fd, err);
	for (long n = 1; r == 0 && n > 0;) {
		n = sw_iterate_read_held(fd, held, AT_ONCE);
		if (n < 0) {
			errno = (int) -n;
			return sw_fail_errno(err, SW_E_IO, "what is outstanding cannot be listed");
		}
		for (long i = 0; r == 0 && i < n; i++)
			if ((uint32_t) held[i].held.count > 0)
				r = tell(arg, &(struct sw_event_held){
						      .handle = held[i].key.handle,
						      .pair = (unsigned) held[i].key.pair,
						      .number = held[i].held.number,
						      .n = (uint32_t) held[i].held.count});
	}
	return r;
}

void sw_event_sampler_stop(struct sw_cpu_sampler *s)
{
	if (s->copies == NULL)
		return;
	sw_copies_stop(s->copies);
	sw_copies_end(s->copies);
}

void sw_event_sampler_drop(struct sw_cpu_sampler *s)
{
	rest_count(s);
}

bool sw_event_sampler_take_out(struct sw_cpu_sampler *s)
{
	return sw_uprobes_close_last(&s->probes);
}
