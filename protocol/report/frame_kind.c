/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The meaning of a frame to people: a guess, somebody else's code, the C library's. */
#include "report/frame_kind.h"
#include "cleanup.h"
#include "parts.h"
#include "utf8.h"

#include <string.h>

bool sw_is_compilers_suffix(const char *rest)
{
	static const char *const suffixes[] = {".isra",     ".constprop", ".part",
					       ".lto_priv", ".llvm",      ".cold"};
	while (*rest == '.') {
		size_t i = 0;
		while (i < SW_ARRAY_SIZE(suffixes) && !sw_begins_with(rest, suffixes[i]))
			i++;
		if (i == SW_ARRAY_SIZE(suffixes))
			return false;
		rest += strlen(suffixes[i]);
		if (*rest == '.') /* its number */
			rest += 1 + strspn(rest + 1, "0123456789");
	}
	return *rest == '\0';
}

const char *sw_base_name(const char *path)
{
	/* A module that only a Windows process itself names has a path of drives and backslashes.
	 */
	bool drive = path[0] != '\0' && path[1] == ':' && path[2] == '\\';
	const char *slash = strrchr(path, drive ? '\\' : '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

const char *sw_guess_name(const char *trust)
{
	static const struct {
		const char *trust, *name;
	} guesses[] = {
		{"frame_pointer", "frame pointer"},
		{"scan_verified", "scan, verified"},
		{"scan", "scan"},
	};
	for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++)
		if (strcmp(trust, guesses[i].trust) == 0)
			return guesses[i].name;
	return NULL;
}

bool sw_frame_is_hidden(const struct sw_report_frame *frame)
{
	return frame->internal && !frame->signal && !frame->may_miss &&
	       sw_guess_name(frame->trust) == NULL;
}

/* As a frame's place says: a call leaves its return address, and a signal the next instruction. */
static bool is_exact_by_place(const struct sw_report_frame *frames, size_t number)
{
	while (number > 0 && frames[number - 1].inlined)
		number--;
	return number == 0 || frames[number - 1].signal;
}

bool sw_frame_is_exact(const struct sw_report_frame *frames, size_t number)
{
	signed char said = frames[number].exact_pc;
	return said != 0 ? said > 0 : is_exact_by_place(frames, number);
}

bool sw_frame_is_of_file(const struct sw_report_frame *f)
{
	return f->module >= 0 && f->has_offset &&
	       (strcmp(f->kind, "native") == 0 || strcmp(f->kind, "pe") == 0);
}

void sw_frames_mark_exact(struct sw_report_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!sw_frame_is_of_file(&frames[i]) ||
		    (frames[i].exact_pc > 0) == is_exact_by_place(frames, i))
			frames[i].exact_pc = 0;
}

void sw_frame_place_name(struct sw_text *text, const struct sw_report *report,
			 const struct sw_report_frame *frame)
{
	if (frame->module >= 0 && frame->has_offset) {
		const char *base = sw_base_name(report->modules[frame->module].path);
		sw_utf8_append_plain(text, base, strlen(base));
		sw_text_printf(text, "+%#llx", (unsigned long long) frame->offset);
	} else {
		sw_text_printf(text, "%#llx", (unsigned long long) frame->pc_avma);
	}
}

bool sw_frame_is_managed(const struct sw_report_frame *f)
{
	static const char *const others[] = {"native", "pe", "jit", "kernel", "unknown"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		if (strcmp(f->kind, others[i]) == 0)
			return false;
	return true;
}

bool sw_frame_is_libc(const struct sw_report *r, const struct sw_report_frame *f)
{
	static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-", "[vdso]"};
	if (f->module < 0)
		return false;
	const char *base = sw_base_name(r->modules[f->module].path);
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

const char *sw_frame_method(const struct sw_report_frame *f)
{
	size_t n = strcspn(f->function, "!(");
	return f->function[n] == '!' && sw_frame_is_managed(f) ? f->function + n + 1 : f->function;
}

size_t sw_own_frame(const struct sw_report *r, const struct sw_report_stack *s, size_t at)
{
	for (; at < s->n_frames; at++) {
		const struct sw_report_frame *f = &s->frames[at];
		if (f->function != NULL && f->function[0] != '\0' && !f->inlined && !f->internal &&
		    !sw_frame_is_libc(r, f))
			break;
	}
	return at;
}

/* Functions that wait for nothing but the time, on whatever their runtime chose. */
static const struct {
	const char *kind, *function; /* of the frame */
} sleeps[] = {
	{"jvm", "java.lang.Thread.sleep"},       /* to JDK 18 */
	{"jvm", "java.lang.Thread.sleep0"},      /* to JDK 20 */
	{"jvm", "java.lang.Thread.sleepNanos0"}, /* since */
	{"clr", "System.Threading.Thread.Sleep"},
	{"clr", "System.Threading.Thread.SleepInternal"},
	{"ruby", "sleep"}, /* of C: without a file */
};

/* A method of .NET has its parameters behind the name. */
static bool is_sleep_function(const struct sw_report_frame *f)
{
	const char *name = sw_frame_method(f);
	const size_t size = strcspn(name, "(");
	for (size_t i = 0; i < SW_ARRAY_SIZE(sleeps); i++)
		if (strlen(sleeps[i].function) == size &&
		    strncmp(name, sleeps[i].function, size) == 0 &&
		    strcmp(f->kind, sleeps[i].kind) == 0)
			return true;
	return false;
}

bool sw_frame_is_sleep(const struct sw_report_frame *f)
{
	return f->line == 0 && is_sleep_function(f);
}

bool sw_report_is_at_sleep(const struct sw_report_stack *s)
{
	enum { MANAGED_SEEN = 3 }; /* the function that sleeps, and what it calls */
	size_t n_managed = 0;
	for (size_t i = 0; s != NULL && i < s->n_frames && n_managed < MANAGED_SEEN; i++) {
		const struct sw_report_frame *f = &s->frames[i];
		if (!sw_frame_is_managed(f) || f->internal || f->function == NULL)
			continue;
		n_managed++;
		/* A function of Ruby's users may have that name, too. */
		if (strcmp(f->kind, "ruby") == 0 ? sw_frame_is_sleep(f) : is_sleep_function(f))
			return true;
	}
	return false;
}
