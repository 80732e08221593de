/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_step PID BEGIN END EVERY [stack:... ...] [switch:...|tables:...] [START-END ...]: single-steps a process from
 * BEGIN to END and walks its stack at every EVERYth instruction, at all in the ranges, and more often while a walk may be
 * ahead (below). The oracle is a shadow stack: each call instruction pushes its return address, and what the stack pointer has passed
 * is popped. The walk must equal it, by tables alone.
 * longjmp's tables show the jump as done as soon as its registers are loaded, and libgcc is shown in the
 * handler of an exception as soon as it begins to load them: such walks are kept until the jump is done
 * and must equal the shadow stack then.
 *
 * stack:START-END:FIRST:ROOT is another stack that the process goes to and comes from, in code without tables at
 * switch:START-END, or at tables:START-END, whose tables do not tell of each instruction; each has a shadow of its own.
 * FIRST is where it begins, ROOT what it returns to.
 *
 * Where not each instruction is looked at, a function that was called and has returned LEAP_AFTER times is run to its
 * return: an exception calls the same small functions of libgcc thousands of times.
 *
 * Between two steps the process is let go with a SIGSTOP, so that it stands at the instruction while
 * the snapshot is taken as of any other stopped process. The ranges are counted: how often the pc
 * was in one (PLT stubs). Prints "armed" when the process may run towards BEGIN, then
 *
 *	mismatch ...
 *	steps N mismatches N ranges N ahead N
 */
#include <snapwalk/walk.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
	SHADOW_MAX = 256,
	MISMATCHES_SHOWN = 10,
	MISMATCHES_MAX = 100,
	STEPS_MAX = 200000,
	INSTRUCTION_MAX = 15,
	EARLY_SHARE = 32,
	AHEAD_WALKS_MAX = 2500, /* more: jumps never come to where walks say that they go */
	LEAP_AFTER = 3,
	LEAP_EVERY = 8, /* and more: functions are run */
	CALLEES_MAX = 4096,
	STACKS_MAX = 4,
	CS_32BIT = 0x23, /* Linux 6.1, arch/x86/include/asm/segment.h, __USER32_CS */
};

struct range {
	uint64_t start, end;
};

struct shadow {
	struct {
		uint64_t slot, address, callee;
	} calls[SHADOW_MAX]; /* outermost first */
	size_t depth;
	struct range stack;
	uint64_t first, root; /* where it begins, by a jump, and where its function returns to */
};

struct callee {
	uint64_t address; /* 0: free */
	size_t calls, returns;
};

struct stepper {
	pid_t pid;
	struct sw_context *ctx;
	struct sw_target *target;
	struct shadow stacks[STACKS_MAX + 1], *now; /* the first one: of all other stacks */
	size_t n_stacks;
	struct range switches; /* code that goes from one to another */
	bool has_tables;       /* it: tables may answer, too */
	struct user_regs_struct regs;
	bool is_32bit;
	size_t word_bytes;
	uint8_t code[INSTRUCTION_MAX + 1];
	size_t steps, mismatches;
	struct callee callees[CALLEES_MAX]; /* by a hash of the address */
	uint64_t early[SHADOW_MAX];         /* callers in walks that may be ahead of a jump */
	uint64_t early_sp;
	size_t n_early, early_walks, ahead_walks;
};

static void die(const char *what)
{
	printf("error %s\n", what);
	exit(1);
}

static void read_memory(const struct stepper *s, uint64_t address, void *buffer, size_t bytes)
{
	struct iovec to = {buffer, bytes}, from = {(void *) address, bytes};
	if (process_vm_readv(s->pid, &to, 1, &from, 1, 0) < 1)
		die("process_vm_readv");
}

static void wait_stop(const struct stepper *s)
{
	int status;
	if (waitpid(s->pid, &status, __WALL) != s->pid || !WIFSTOPPED(status))
		die("waitpid");
}

/* A stopped process traps by itself when it is seized; an interrupt would be a second trap, in place
 * of the next instruction. */
static void hold(const struct stepper *s, bool running)
{
	if (ptrace(PTRACE_SEIZE, s->pid, NULL, NULL) != 0)
		die("PTRACE_SEIZE");
	if (running)
		ptrace(PTRACE_INTERRUPT, s->pid, NULL, NULL);
	wait_stop(s);
}

static char state_of(const struct stepper *s)
{
	char path[64], line[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", s->pid);
	FILE *file = fopen(path, "re");
	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		die("stat");
	fclose(file);
	return strrchr(line, ')')[2];
}

static bool in_range(uint64_t address, const struct range *range)
{
	return address >= range->start && address < range->end;
}

static void stack_find(struct stepper *s)
{
	s->now = &s->stacks[0];
	for (size_t i = 1; i <= s->n_stacks; i++)
		if (in_range(s->regs.rsp - 1, &s->stacks[i].stack))
			s->now = &s->stacks[i];
}

/* Let go so that not one instruction runs: the signal is delivered first. */
static void let_go_stopped(const struct stepper *s)
{
	if (ptrace(PTRACE_DETACH, s->pid, NULL, (void *) (long) SIGSTOP) != 0)
		die("PTRACE_DETACH");
	while (state_of(s) != 'T')
		(void) sched_yield();
}

/* Puts stepper and program on one CPU: nobody wakes another CPU for each turn. */
static void share_cpu(const struct stepper *s)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0 ||
	    sched_setaffinity(s->pid, sizeof(one), &one) != 0)
		die("sched_setaffinity");
}

static void run_to(const struct stepper *s, uint64_t address)
{
	long word = ptrace(PTRACE_PEEKTEXT, s->pid, (void *) address, NULL);
	ptrace(PTRACE_POKETEXT, s->pid, (void *) address, (void *) ((word & ~0xffL) | 0xcc));
	ptrace(PTRACE_CONT, s->pid, NULL, NULL);
	wait_stop(s);
	ptrace(PTRACE_POKETEXT, s->pid, (void *) address, (void *) word);
	struct user_regs_struct regs;
	ptrace(PTRACE_GETREGS, s->pid, NULL, &regs);
	if (regs.rip != address + 1)
		die("the breakpoint was not reached");
	regs.rip = address;
	ptrace(PTRACE_SETREGS, s->pid, NULL, &regs);
}

static struct callee *callee_of(struct stepper *s, uint64_t address)
{
	size_t i = address % CALLEES_MAX;
	for (size_t n = 0; s->callees[i].address != 0 && s->callees[i].address != address; n++) {
		if (n == CALLEES_MAX)
			die("too many functions");
		i = (i + 1) % CALLEES_MAX;
	}
	s->callees[i].address = address;
	return &s->callees[i];
}

static void look(struct stepper *s)
{
	ptrace(PTRACE_GETREGS, s->pid, NULL, &s->regs);
	memset(s->code, 0, sizeof(s->code));
	read_memory(s, s->regs.rip, s->code, INSTRUCTION_MAX);
	s->is_32bit = s->regs.cs == CS_32BIT;
	s->word_bytes = s->is_32bit ? 4 : 8;
}

/* Intel SDM vol. 2: CALL is E8 or FF /2, behind any of these prefixes. */
static bool is_call(const struct stepper *s)
{
	const uint8_t *code = s->code;
	while (*code == 0x66 || *code == 0xf2 || *code == 0x3e ||
	       (!s->is_32bit && (*code & 0xf0) == 0x40))
		code++;
	return code[0] == 0xe8 || (code[0] == 0xff && (code[1] & 0x38) == 0x10);
}

static void push(struct stepper *s, uint64_t slot)
{
	uint64_t address = 0;
	if (s->now->depth == SHADOW_MAX)
		die("the shadow stack is full");
	read_memory(s, slot, &address, s->word_bytes);
	s->now->calls[s->now->depth].callee = s->regs.rip;
	s->now->calls[s->now->depth].slot = slot;
	s->now->calls[s->now->depth++].address = address;
}

static void step(struct stepper *s)
{
	bool call = is_call(s);
	if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL) != 0)
		die("PTRACE_SINGLESTEP");
	wait_stop(s);
	look(s);
	stack_find(s);
	/* A function that goes to another stack may have taken the return address for its jump. */
	bool begins =
		s->now->first != 0 && s->regs.rip >= s->now->first && s->regs.rip < s->now->root;
	while (s->now->depth > 0 && (begins || !in_range(s->regs.rip, &s->switches)) &&
	       s->now->calls[s->now->depth - 1].slot < s->regs.rsp) {
		s->now->depth--;
		if (s->now->calls[s->now->depth].address == s->regs.rip)
			callee_of(s, s->now->calls[s->now->depth].callee)->returns++;
	}
	if (call) {
		push(s, s->regs.rsp);
		callee_of(s, s->regs.rip)->calls++;
	}
	s->steps++;
}

/* At the first instruction of a function of which enough was seen: runs it to its return, unless it is there again in a
 * call of its own, whose frames are stepped through. */
static void leap(struct stepper *s)
{
	if (s->now->depth == 0 || s->now->calls[s->now->depth - 1].slot != s->regs.rsp ||
	    s->now->calls[s->now->depth - 1].callee != s->regs.rip)
		return;
	struct callee *callee = callee_of(s, s->regs.rip);
	if (callee->returns < LEAP_AFTER || callee->returns + 1 != callee->calls)
		return;
	run_to(s, s->now->calls[s->now->depth - 1].address);
	look(s);
	if (s->regs.rsp <= s->now->calls[s->now->depth - 1].slot)
		die("a function that was run has not returned");
	s->now->depth--;
	callee->returns++;
}

static bool walk_equals(const struct stepper *s, const struct sw_walk *walk)
{
	if (walk->end != SW_END_COMPLETE || walk->n_frames != s->now->depth + 1 ||
	    walk->frames[0].pc_avma != s->regs.rip)
		return false;
	for (size_t i = 0; i < s->now->depth; i++) {
		bool switches = in_range(walk->frames[i].pc_avma, &s->switches);
		if (walk->frames[i + 1].pc_avma != s->now->calls[s->now->depth - 1 - i].address ||
		    (walk->frames[i + 1].trust !=
			     (switches ? SW_TRUST_INSTRUCTIONS : SW_TRUST_CFI) &&
		     !(switches && s->has_tables && walk->frames[i + 1].trust == SW_TRUST_CFI)))
			return false;
	}
	return true;
}

static void print_mismatch(struct stepper *s, const struct sw_walk *walk)
{
	if (s->mismatches++ >= MISMATCHES_SHOWN)
		return;
	printf("mismatch step %zu end %s %s\n", s->steps, sw_end_name(walk->end),
	       walk->why == NULL ? "" : walk->why);
	for (size_t i = 0; i < walk->n_frames || i < s->now->depth + 1; i++) {
		const struct sw_frame *frame = i < walk->n_frames ? &walk->frames[i] : NULL;
		uint64_t wanted = i == 0               ? s->regs.rip
				  : i <= s->now->depth ? s->now->calls[s->now->depth - i].address
						       : 0;
		printf("mismatch   got %#llx %s %s+%#llx wanted %#llx\n",
		       frame == NULL ? 0ULL : (unsigned long long) frame->pc_avma,
		       frame == NULL ? "-" : sw_trust_name(frame->trust),
		       frame == NULL || frame->place == NULL ? "-"
							     : sw_module_path(frame->place->module),
		       frame == NULL || frame->place == NULL
			       ? 0ULL
			       : (unsigned long long) (frame->pc_avma - frame->place->bias),
		       (unsigned long long) wanted);
	}
}

/* The frame from which on a walk may be ahead: the functions that jump come before it. */
static size_t early_begin(const struct stepper *s, const struct sw_walk *walk)
{
	size_t k = 1;
	while (k < walk->n_frames && k <= s->now->depth &&
	       walk->frames[k].pc_avma == s->now->calls[s->now->depth - k].address &&
	       walk->frames[k].trust == SW_TRUST_CFI)
		k++;
	return k < walk->n_frames && walk->frames[k].trust == SW_TRUST_INSTRUCTIONS ? k : 1;
}

/* Keeps a walk that may be ahead. False: it is not like those before it. */
static bool early_keep(struct stepper *s, const struct sw_walk *walk)
{
	size_t k = early_begin(s, walk), n = walk->n_frames - k;
	if (walk->end != SW_END_COMPLETE || n == 0 || n > SHADOW_MAX ||
	    (s->early_walks > 0 && (n != s->n_early || walk->frames[k].sp_avma != s->early_sp)))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct sw_frame *frame = &walk->frames[k + i];
		if ((i > 0 && frame->trust != SW_TRUST_CFI) ||
		    (i == 0 && frame->trust > SW_TRUST_INSTRUCTIONS) ||
		    (s->early_walks > 0 && s->early[i] != frame->pc_avma))
			return false;
		s->early[i] = frame->pc_avma;
	}
	s->n_early = n;
	s->early_sp = walk->frames[k].sp_avma;
	s->early_walks++;
	s->ahead_walks++;
	return true;
}

/* The jump is done when the process is where the kept walks said: all else must fit, too. */
static void early_settle(struct stepper *s)
{
	if (s->early_walks == 0 || s->early[0] != s->regs.rip || s->early_sp != s->regs.rsp ||
	    s->n_early != s->now->depth + 1)
		return;
	for (size_t i = 1; i < s->n_early; i++)
		if (s->early[i] != s->now->calls[s->now->depth - i].address)
			return;
	s->early_walks = 0;
}

/* The first walk gives what lies outside BEGIN: from then on the shadow stack is independent. */
static void adopt(struct stepper *s, const struct sw_walk *walk)
{
	if (walk->n_frames < 3)
		die("the first walk does not reach main");
	for (size_t i = walk->n_frames - 1; i >= 2 && s->now->depth < SHADOW_MAX; i--) {
		s->now->calls[s->now->depth].slot = walk->frames[i].sp_avma - s->word_bytes;
		s->now->calls[s->now->depth++].address = walk->frames[i].pc_avma;
	}
	push(s, s->regs.rsp);
}

static void compare(struct stepper *s)
{
	struct sw_error err = {0};
	struct sw_snapshot *snap = NULL;
	struct sw_walks *walks = NULL;
	const struct sw_snapshot_options patient = {.max_stop_ms = 60000}; /* not tested here */
	if (sw_snapshot_take(s->ctx, s->target, &patient, &snap, &err) != 0 ||
	    sw_walk_all(snap, NULL, &walks, &err) != 0)
		die(err.message);
	if (walks->n_walks != 1)
		die("the thread was not captured");
	if (s->steps == 0)
		adopt(s, &walks->walks[0]);
	if (!walk_equals(s, &walks->walks[0]) && !early_keep(s, &walks->walks[0]))
		print_mismatch(s, &walks->walks[0]);
	sw_walks_destroy(walks);
	sw_snapshot_destroy(snap);
}

static bool in_ranges(uint64_t pc, char **ranges)
{
	for (; *ranges != NULL; ranges++) {
		char *dash;
		uint64_t start = strtoull(*ranges, &dash, 16);
		if (pc >= start && pc < strtoull(dash + 1, NULL, 16))
			return true;
	}
	return false;
}

static struct range range_of(const char *text, char **ret_end)
{
	uint64_t start = strtoull(text, ret_end, 16);
	return (struct range){start, strtoull(*ret_end + 1, ret_end, 16)};
}

/* stack:START-END:FIRST:ROOT, switch:START-END or tables:START-END. False: it is something else. */
static bool stack_or_switch(struct stepper *s, const char *text)
{
	char *end;
	bool tables = strncmp(text, "tables:", 7) == 0;
	if (tables || strncmp(text, "switch:", 7) == 0) {
		s->switches = range_of(text + 7, &end);
		s->has_tables = tables;
		return true;
	}
	if (strncmp(text, "stack:", 6) != 0)
		return false;
	if (s->n_stacks == STACKS_MAX)
		die("too many stacks");
	struct shadow *stack = &s->stacks[++s->n_stacks];
	stack->stack = range_of(text + 6, &end);
	stack->first = strtoull(end + 1, &end, 16);
	stack->root = strtoull(end + 1, &end, 16);
	stack->calls[0].slot = stack->stack.end;
	stack->calls[0].address = stack->root;
	stack->calls[1].address = stack->first;
	stack->depth = 2;
	return true;
}

int main(int argc, char **argv)
{
	struct sw_error err = {0};
	if (argc < 5)
		return 2;
	struct stepper s = {.pid = atoi(argv[1]), .now = &s.stacks[0]};
	char **ranges = argv + 5;
	while (*ranges != NULL && stack_or_switch(&s, *ranges))
		ranges++;
	uint64_t end = strtoull(argv[3], NULL, 16);
	if (sw_context_create(&s.ctx, &err) != 0 || sw_target_open(s.pid, &s.target, &err) != 0)
		die(err.message);
	share_cpu(&s);
	hold(&s, true);
	printf("armed\n");
	fflush(stdout);
	run_to(&s, strtoull(argv[2], NULL, 16));
	look(&s);
	size_t counted = 0, every = strtoul(argv[4], NULL, 10);
	if (every == 0)
		return 2;
	while (s.steps < STEPS_MAX && s.ahead_walks < AHEAD_WALKS_MAX &&
	       s.mismatches < MISMATCHES_MAX && s.regs.rip != end) {
		early_settle(&s);
		bool in_range = in_ranges(s.regs.rip, ranges);
		counted += in_range;
		if (in_range ||
		    s.steps % (s.early_walks > 0 ? 1 + every / EARLY_SHARE : every) == 0) {
			let_go_stopped(&s);
			compare(&s);
			hold(&s, false);
		}
		if (every >= LEAP_EVERY && s.early_walks == 0)
			leap(&s);
		if (s.regs.rip != end)
			step(&s);
	}
	let_go_stopped(&s);
	for (size_t i = 0; s.early_walks > 0 && i < s.n_early; i++)
		printf("mismatch   kept walk %#llx\n", (unsigned long long) s.early[i]);
	printf("steps %zu mismatches %zu ranges %zu ahead %zu\n", s.steps,
	       s.mismatches + s.early_walks, counted, s.ahead_walks);
	sw_target_close(s.target);
	sw_context_destroy(s.ctx);
	return s.steps == STEPS_MAX;
}
