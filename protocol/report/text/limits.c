/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits that the process is at, by the numbers of the kernel. */
#include "report/text/limits.h"
#include "cleanup.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	NEAR_PERCENT = 95,      /* of a limit: near enough to be told */
	THROTTLED_PERCENT = 10, /* of the periods */
};

static bool is_near(int64_t used, int64_t limit, int percent)
{
	return limit > 0 && (double) used * 100 >= (double) limit * percent;
}

/* Begins a part of the line. */
static void begin(struct sw_text_writer *w, size_t *n)
{
	sw_put(w, (*n)++ > 0 ? " · " : "");
}

static void put_of(struct sw_text_writer *w, size_t *n, int64_t used, int64_t limit,
		   const char *what)
{
	begin(w, n);
	sw_put_number(w, (size_t) used);
	sw_put(w, " of ");
	sw_put_number(w, (size_t) limit);
	sw_put(w, " %s", what);
}

static void put_bytes(struct sw_text_writer *w, int64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double value = (double) bytes;
	size_t unit = 0;
	while (value >= 1024 && unit + 1 < SW_ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	sw_put(w, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* The cache, which the kernel can take back at any time, is no lack of memory. */
static void put_memory(struct sw_text_writer *w, size_t *n, const struct sw_process_limits *l)
{
	int64_t needed = l->memory_bytes - l->memory_cache_bytes;
	if (!is_near(needed, l->memory_limit_bytes, NEAR_PERCENT))
		return; /* a kill alone may be long ago */
	begin(w, n);
	sw_put(w, "memory of the control group %.1f %% of ",
	       (double) needed * 100 / (double) l->memory_limit_bytes);
	put_bytes(w, l->memory_limit_bytes);
	if (l->memory_kills > 0)
		sw_put(w, ", %" PRId64 " process%s killed for lack of memory so far",
		       l->memory_kills, l->memory_kills == 1 ? " was" : "es were");
}

/* "0.2", "1.25", "128" */
static void put_cpus(struct sw_text_writer *w, double cpus)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%.2f", cpus);
	while (n > 0 && text[n - 1] == '0')
		n--;
	if (n > 0 && text[n - 1] == '.')
		n--;
	sw_put(w, "%.*s", n, text);
}

/* The kernel counts since the group was made: the sentence says so, because the time may be long past. */
static void put_cpu(struct sw_text_writer *w, size_t *n, const struct sw_process_limits *l)
{
	if (!is_near(l->cpu_throttled, l->cpu_periods, THROTTLED_PERCENT))
		return;
	begin(w, n);
	sw_put(w, "the control group has used all of its ");
	put_cpus(w, (double) l->cpu_quota_us / (double) l->cpu_period_us);
	sw_put(w,
	       " CPU%s in %" PRId64 " of %" PRId64
	       " periods since it was made, its threads waited %.1f s for that",
	       sw_plural(l->cpu_quota_us == l->cpu_period_us ? 1 : 2), l->cpu_throttled,
	       l->cpu_periods, (double) l->cpu_throttled_us / 1e6);
}

void sw_text_limits(struct sw_text_writer *w)
{
	const struct sw_process_limits *l = &w->report->process.limits;
	size_t n = 0;
	if (is_near(l->descriptors, l->descriptors_limit, NEAR_PERCENT))
		put_of(w, &n, l->descriptors, l->descriptors_limit, "descriptors are open");
	if (is_near(l->maps, l->maps_limit, NEAR_PERCENT))
		put_of(w, &n, l->maps, l->maps_limit, "mappings");
	if (is_near(l->tasks, l->tasks_limit, NEAR_PERCENT)) {
		put_of(w, &n, l->tasks, l->tasks_limit, "threads of the control group");
		if (l->tasks_refused > 0)
			sw_put(w, ", %" PRId64 " refused", l->tasks_refused);
	}
	put_memory(w, &n, l);
	put_cpu(w, &n, l);
	sw_put(w, n > 0 ? "\n" : "");
}
