/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The result of each system call in each of our processes: filters.txt beside this file, which has
 * to be the same. Each filter is followed here as the kernel does, for each number; where an
 * argument decides, for all values of it.
 *
 * Called with a path, writes the table there instead.
 */
#include "cleanup.h"
#include "copier/reader.h"
#include "gate/filter.h"
#include "ship/filter.h"
#include "process/expendable.h"
#include "sandbox/seccomp.h"
#include "syscall_name.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <confine/seccomp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <snapwalk/clock.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
	CALLS_MAX = 512, /* x32 has calls of its own from here on */
	FAR_CALL = 9999,
	X32_BIT = 0x40000000,
	PROGRAM_MAX = 4096, /* BPF_MAXINSNS */
	PATH_TEXT = 256,
	LINE_MAX_BYTES = 8192,
};
static const int64_t PATIENCE_NS = INT64_C(60) * 1000 * 1000 * 1000;

/* The filter of the role that comes next; its number of instructions is set last. Shared with processes that a role makes. */
static struct entered {
	struct sock_filter filter[PROGRAM_MAX];
	_Atomic unsigned short len;
} * entered;

/* The C library's: a filter is not entered, but kept. */
int prctl(int option, ...)
{
	va_list ap;
	long a[4];
	va_start(ap, option);
	for (size_t i = 0; i < SW_ARRAY_SIZE(a); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (option != PR_SET_SECCOMP)
		return (int) syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
	const struct sock_fprog *program = (const struct sock_fprog *) a[1];
	memcpy(entered->filter, program->filter, program->len * sizeof(entered->filter[0]));
	entered->len = program->len;
	return 0;
}

/* ---- roles -------------------------------------------------------------------------------------- */

static int parser(struct sw_error *err)
{
	return sw_seccomp_parser(0, err);
}

/* The child that opens files with the permissions of the owner. */
static int owner_files(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_TRAPS, err);
}

static int files(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_FILES, err);
}

static int terminal(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_TERMINAL | SW_SECCOMP_TRAPS, err);
}

/* The same in a child, whose parent says how it ended. */
static int apart(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_TERMINAL, err);
}

/* dump --keep, record */
static int keeper(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_TERMINAL | SW_SECCOMP_FILES | SW_SECCOMP_TRAPS, err);
}

static int keeper_apart(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_TERMINAL | SW_SECCOMP_FILES, err);
}

static int sampler(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_TERMINAL | SW_SECCOMP_CAPTURE | SW_SECCOMP_TRAPS, err);
}

/* sample --all */
static int host(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_TERMINAL | SW_SECCOMP_CAPTURE | SW_SECCOMP_PROCESSES |
					 SW_SECCOMP_TRAPS,
				 err);
}

static int top(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_TERMINAL | SW_SECCOMP_CAPTURE | SW_SECCOMP_SCREEN |
					 SW_SECCOMP_TRAPS,
				 err);
}

/* The process that makes system calls which may not end, when it is to make few of them. */
static int expendable(struct sw_error *err)
{
	struct sw_expendable *e = NULL;
	int r = sw_expendable_start(NULL, 0, &e, err);
	if (r < 0)
		return r;
	bool ok = sw_expendable_confine(e);
	return sw_expendable_end(e) && ok ? 0 : -1;
}

static void read_nothing(void *arg, struct sw_memory memory, const struct sw_copier_channel *told)
{
}

/* The process that reads the data of a runtime. */
static int reader(struct sw_error *err)
{
	const struct sw_copier_job job = {.run = read_nothing};
	const int64_t deadline_ns = sw_clock_ns() + PATIENCE_NS;
	struct sw_copier copier;
	int r = sw_copier_create(&job, 1, &copier, err);
	if (r < 0)
		return r;
	while (entered->len == 0 && sw_clock_ns() < deadline_ns)
		(void) poll(NULL, 0, 1);
	sw_copier_destroy(&copier);
	return 0;
}

static int spawner(struct sw_error *err)
{
	return sw_seccomp_spawner(false, false, err);
}

/* Unless Events= is "no". */
static int programs(struct sw_error *err)
{
	return sw_seccomp_spawner(true, false, err);
}

/* Unless FunctionEvents= is "no". */
static int probes(struct sw_error *err)
{
	return sw_seccomp_spawner(true, true, err);
}

/* A worker that has probes in code. */
static int probing(struct sw_error *err)
{
	return sw_seccomp_parser(SW_SECCOMP_ITERATES, err);
}

static const struct {
	const char *name;
	int (*enter)(struct sw_error *err);
} roles[] = {
	{"parser", parser},
	{"unpacker", files},
	{"files", owner_files},
	{"dump", terminal},
	{"apart", apart},
	{"keep", keeper},
	{"keep-apart", keeper_apart},
	{"sample", sampler},
	{"host", host},
	{"top", top},
	{"expendable", expendable},
	{"reader", reader},
	{"spawner", spawner},
	{"programs", programs},
	{"probes", probes},
	{"prober", sw_seccomp_prober},
	{"probing", probing},
	{"captures", sw_seccomp_no_programs},
	{"broker", sw_seccomp_broker},
	{"commands", sw_seccomp_program},
	{"gate", sw_gate_filter_enter},
	{"ship-watch", sw_ship_filter_watch},
	{"ship-read", sw_ship_filter_collect},
	{"ship-send", sw_ship_filter_send},
};

/* ---- following a filter ------------------------------------------------------------------------- */

/* The value that the next instruction has: of the call, or of an argument, of which nothing is known. */
struct value {
	bool known;
	uint32_t word,
		mask; /* known: the value. Else its offset in struct seccomp_data, and what was masked */
};

static const char *action_name(uint32_t action, char *space, size_t size)
{
	switch (action) {
	case SECCOMP_RET_ALLOW: return "+";
	case SECCOMP_RET_KILL_PROCESS: return "KILL";
	case SECCOMP_RET_TRAP: return "TRAP";
	case SECCOMP_RET_ERRNO | EPERM: return "-";
	case SECCOMP_RET_ERRNO | ENOSYS: return "ENOSYS";
	default:
		(void) snprintf(space, size, "%#x", action); /* fits */
		return space;
	}
}

static void put_condition(char *text, const struct value *v, uint32_t wanted)
{
	size_t n = strlen(text);
	const char *and = n > 0 ? " and " : "";
	unsigned off = v->word - (unsigned) offsetof(struct seccomp_data, args);
	const char *half = off % 8 != 0 ? "'" : ""; /* the upper one */
	char value[32];
	(void) snprintf(value, sizeof(value), "%#x", wanted);
	if (wanted == (uint32_t) getpid())
		strcpy(value, "our pid");
	if (v->mask == UINT32_MAX)
		(void) snprintf(text + n, PATH_TEXT - n, "%s%u%s=%s", and, off / 8, half, value);
	else
		(void) snprintf(text + n, PATH_TEXT - n, "%s%u%s&%#x=%s", and, off / 8, half,
				v->mask, value);
}

static bool compares(uint16_t code, uint32_t left, uint32_t right)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ: return left == right;
	case BPF_JGE: return left >= right;
	default: fail_msg("an instruction that filters do not use: %#x", code); return false;
	}
}

/*
 * Each way to an end: "conditions: action", the first that holds counts. A condition that does not hold leads to the
 * next rule, whichever of a rule it is.
 */
static void follow(uint32_t arch, uint32_t number, char *ret)
{
	size_t pc = 0, next = 0;
	struct value a = {.known = true};
	char path[PATH_TEXT] = "", space[16];
	ret[0] = '\0';
	for (;;) {
		assert_true(pc < entered->len);
		const struct sock_filter *i = &entered->filter[pc++];
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			a = (struct value){.word = i->k, .mask = UINT32_MAX};
			if (i->k == offsetof(struct seccomp_data, arch))
				a = (struct value){.known = true, .word = arch};
			else if (i->k == offsetof(struct seccomp_data, nr))
				a = (struct value){.known = true, .word = number};
			else
				assert_true(i->k >= offsetof(struct seccomp_data, args));
			break;
		case BPF_ALU:
			assert_int_equal(i->code, BPF_ALU | BPF_AND | BPF_K);
			assert_false(a.known);
			a.mask &= i->k;
			break;
		case BPF_JMP:
			if (a.known) {
				pc += compares(i->code, a.word, i->k) ? i->jt : i->jf;
				break;
			}
			assert_int_equal(BPF_OP(i->code), BPF_JEQ);
			if (path[0] == '\0')
				next = pc + i->jf;
			assert_int_equal(next, pc + i->jf);
			put_condition(path, &a, i->k);
			pc += i->jt;
			break;
		case BPF_RET: {
			size_t n = strlen(ret);
			(void) snprintf(ret + n, LINE_MAX_BYTES - n, "%s%s%s%s", n > 0 ? "; " : "",
					path, path[0] != '\0' ? ": " : "",
					action_name(i->k, space, sizeof(space)));
			if (path[0] == '\0')
				return;
			path[0] = '\0';
			pc = next;
			break;
		}
		default: fail_msg("an instruction that filters do not use: %#x", i->code);
		}
	}
}

/* ---- the table ---------------------------------------------------------------------------------- */

static char lines[CALLS_MAX][SW_ARRAY_SIZE(roles)][LINE_MAX_BYTES];

static void others_are_refused(const char *role)
{
	char text[LINE_MAX_BYTES];
	for (uint32_t n = 0; n < CALLS_MAX; n++) {
		follow(AUDIT_ARCH_X86_64, n | X32_BIT, text);
		if (strcmp(text, "KILL") != 0)
			fail_msg("%s: call %u of x32: %s", role, n, text);
		follow(AUDIT_ARCH_I386, n, text);
		if (strcmp(text, "KILL") != 0)
			fail_msg("%s: call %u of i386: %s", role, n, text);
	}
}

static void table_make(void)
{
	struct sw_error err = {0};
	char far[LINE_MAX_BYTES];
	for (size_t r = 0; r < SW_ARRAY_SIZE(roles); r++) {
		entered->len = 0;
		assert_int_equal(roles[r].enter(&err), 0);
		assert_int_not_equal(entered->len, 0);
		for (uint32_t n = 0; n < CALLS_MAX; n++)
			follow(AUDIT_ARCH_X86_64, n, lines[n][r]);
		others_are_refused(roles[r].name);
		follow(AUDIT_ARCH_X86_64, FAR_CALL, far);
		assert_string_equal(far, lines[CALLS_MAX - 1][r]);
	}
}

/* A row is a name, and what becomes of the call in each role; "?": the lines at the end say. */
static void row_put(FILE *to, const char *name, uint32_t n)
{
	(void) fprintf(to, "%-24s", name);
	for (size_t r = 0; r < SW_ARRAY_SIZE(roles); r++)
		(void) fprintf(to, " %-10s", strchr(lines[n][r], ':') != NULL ? "?" : lines[n][r]);
	(void) fputc('\n', to);
}

static bool same_row(uint32_t a, uint32_t b)
{
	for (size_t r = 0; r < SW_ARRAY_SIZE(roles); r++)
		if (strcmp(lines[a][r], lines[b][r]) != 0)
			return false;
	return true;
}

static void table_put(FILE *to)
{
	(void) fputs(
		"# SPDX-License-Identifier: LGPL-2.1-or-later\n"
		"# Written by tests/unit/daemon/sandbox/test_filters.c: + passes, - fails "
		"with EPERM, KILL "
		"kills the process,\n"
		"# TRAP, too, after the process has said so.\n"
		"# ?: its arguments decide, as the lines at the end say: the first part that "
		"holds.\n"
		"# 0=1: the lower half of the first argument is 1; 0': its upper half; 0&3=0: "
		"has none of "
		"these bits.\n"
		"#\n"
		"# parser: of the daemon's workers and series. files: the command's child that "
		"opens "
		"files with the owner's permissions.\n"
		"# unpacker: also the daemon's.\n"
		"# dump: also verify, show, diff, symbolize, explain. apart: a child that does "
		"this for several processes,\n"
		"# and for merge, and what looks functions up for on and leaks. keep: dump "
		"--keep, record; keep-apart likewise.\n"
		"# sample: also dump --burst, on, leaks. host: sample "
		"--all. top: top on a terminal.\n"
		"# expendable: what looks at memory and names that may not answer. reader: of "
		"PHP's data.\n"
		"# spawner: also its workers until they have captured, and what captures for a "
		"series. commands: what executes\n"
		"# commands of OnDump= and debuginfod-find, and these.\n"
		"# No filter: mcp, which executes snapwalk with all of its user's rights; doctor, "
		"list and others that parse nothing of a target.\n",
		to);
	(void) fprintf(to, "%-24s", "");
	for (size_t r = 0; r < SW_ARRAY_SIZE(roles); r++)
		(void) fprintf(to, " %-10s", roles[r].name);
	(void) fputc('\n', to);
	uint32_t unnamed = CALLS_MAX;
	for (uint32_t n = 0; n < CALLS_MAX; n++) {
		char number[32];
		const char *name = sw_syscall_name(n);
		if (name == NULL && unnamed < CALLS_MAX && same_row(n, unnamed))
			continue;
		if (name == NULL)
			unnamed = n;
		(void) snprintf(number, sizeof(number), "(unnamed from %u)", n); /* fits */
		row_put(to, name != NULL ? name : number, n);
	}
	for (size_t r = 0; r < SW_ARRAY_SIZE(roles); r++)
		for (uint32_t n = 0; n < CALLS_MAX; n++)
			if (strchr(lines[n][r], ':') != NULL)
				(void) fprintf(to, "%s %s  %s\n", roles[r].name, sw_syscall_name(n),
					       lines[n][r]);
}

static const char kept_path[] = SW_TESTS_DIR "/unit/daemon/sandbox/filters.txt";
static const char *write_path;

static void without_spaces_at_end(char *line)
{
	size_t n = strcspn(line, "\n");
	while (n > 0 && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
}

static void test_table(void **state)
{
	sw_cleanup(sw_free_p) char *text = NULL;
	size_t size = 0;
	table_make();
	FILE *to = open_memstream(&text, &size);
	assert_non_null(to);
	table_put(to);
	assert_int_equal(fclose(to), 0);
	sw_cleanup(sw_fclose_p) FILE *kept = fopen(write_path != NULL ? write_path : kept_path,
						   write_path != NULL ? "we" : "re");
	assert_non_null(kept);
	unsigned number = 0, n_other = 0;
	char *rest = text;
	for (char *line;
	     (line = strsep(&rest, "\n")) != NULL && (rest != NULL || line[0] != '\0');) {
		char theirs[LINE_MAX_BYTES] = "";
		number++;
		without_spaces_at_end(line);
		if (write_path != NULL) {
			(void) fprintf(kept, "%s\n", line);
			continue;
		}
		if (fgets(theirs, sizeof(theirs), kept) == NULL)
			theirs[0] = '\0';
		without_spaces_at_end(theirs);
		if (strcmp(line, theirs) != 0 && n_other++ < 20)
			print_error("line %u\n  kept: %s\n  is:   %s\n", number, theirs, line);
	}
	char more[LINE_MAX_BYTES];
	if (write_path == NULL && (n_other > 0 || fgets(more, sizeof(more), kept) != NULL))
		fail_msg("%u lines of filters.txt are not what the filters do", n_other);
}

/* A new pid namespace gives numbers that commands and options of calls have, too: a child with a greater one does the
 * work, and its parents hand its status on. */
static bool has_own_number(int *ret_status)
{
	enum { NO_CONSTANT = 4097 };
	for (pid_t pid = getpid(); pid < NO_CONSTANT;) {
		pid = fork();
		if (pid == 0 && getpid() < NO_CONSTANT)
			_exit(0);
		if (pid == 0)
			return true;
		if (pid < 0 || waitpid(pid, ret_status, 0) != pid || pid >= NO_CONSTANT)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	int status = 0;
	if (!has_own_number(&status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
	};
	write_path = argc > 1 ? argv[1] : NULL;
	entered = mmap(NULL, sizeof(*entered), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (entered == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
