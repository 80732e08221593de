/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_PROBES_H
#define SNAPWALK_PROBES_H

/*
 * Where functions are in a process, by their names, and what breakpoints there cost it. One process without privileges
 * looks them up (sw_probes_look_up()); who puts the breakpoints there parses nothing of the files, and takes its lines
 * (sw_function_take()).
 */

#include <snapwalk/event.h>
#include <snapwalk/symbolize.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A function that is looked up, or a probe that a program declares. */
struct sw_function_wanted {
	const char *
		module; /* a path, or the name of a library: "libssl" is libssl.so.3; NULL: the program */
	const char *name; /* of a probe: NAME, PROVIDER__NAME or PROVIDER:NAME */
	bool is_declared; /* it is a probe (USDT) */
	bool at_return;   /* where it returns, too */
	bool optional;    /* it may be missing */
	size_t after; /* index + 1 of another one before it: where that is missing, this one is, too; 0: none */
	const char *
		prefix; /* before "MODULE:NAME", as people write it: "func:", "usdt:"; NULL: it is of a pair */
};

/**
 * The parts of "LIB:SYMBOL", or of "SYMBOL", in which "::" is no colon but of a name of C++.
 *
 * @param ret_module_length  Of LIB; 0: there is none.
 * @param ret_name           Within text.
 * @return false: no symbol is named, or a library by nothing.
 */
SW_PUBLIC bool sw_probe_split(const char *text, size_t *ret_module_length, const char **ret_name);

/** A look-up. Everything is borrowed. */
struct sw_probe_look_up {
	const struct sw_snapshot *snap; /* of sw_snapshot_maps() */
	struct sw_symbolizer *symbolizer;
	struct sw_symbolize_options symbolize;   /* with a deadline */
	const struct sw_function_wanted *wanted; /* at most SW_EVENT_PLACES_MAX */
	size_t n_wanted;
};

/** The subjects of a failure. */
enum sw_probe_cause {
	SW_PROBE_OF_CODE = 1 << 0,     /* code that cannot be probed */
	SW_PROBE_OF_SYMBOLS = 1 << 1,  /* names that only debug files have */
	SW_PROBE_OF_ADDRESS = 1 << 2,  /* an address of code */
	SW_PROBE_OF_DECLARED = 1 << 3, /* probes that a file declares */
	SW_PROBE_OF_SEVERAL = 1 << 4,  /* several, where one is wanted */
};

/** A failure beside its error. */
struct sw_probe_why {
	unsigned causes;  /* enum sw_probe_cause */
	bool is_bad_name; /* what is wanted is the name of nothing that is there */
	char remedy[384]; /* what to do about it; "": the causes say it */
};

/**
 * Look functions up in the files of a process. Parses: not for a process with privileges.
 *
 * @param ret_text  For sw_function_take(). The caller's; free(). Set only on success.
 * @param why       Set only on failure.
 * @return 0; -SW_E_NOT_FOUND; -SW_E_INVALID; -SW_E_UNSUPPORTED; -SW_E_LIMIT; -SW_E_IO; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_probes_look_up(const struct sw_probe_look_up *asked, char **ret_text,
				size_t *ret_size, struct sw_probe_why *why, struct sw_error *err);
/**
 * Tell which probes (USDT) the files of a process declare. Parses, too.
 *
 * @param name  Of a library, as of struct sw_function_wanted; NULL: all files.
 * @param each  Told of each place of each probe, with the name of its file.
 * @return As sw_probes_look_up().
 */
SW_PUBLIC int sw_probes_list(const struct sw_snapshot *snap, const char *name,
			     void (*each)(void *arg, const char *module,
					  const struct sw_event_probe *probe),
			     void *arg, struct sw_probe_why *why, struct sw_error *err);

/** Functions that were looked up. */
struct sw_function {
	struct sw_event_place places[SW_EVENT_PLACES_MAX]; /* their files are owned */
	size_t n;
	char module[64];                    /* the name of the first one's file */
	uint64_t starttime;                 /* of the process that was looked at */
	char *names[SW_EVENT_PLACES_MAX];   /* owned: of each place, as people write it */
	size_t wanted[SW_EVENT_PLACES_MAX]; /* of each place: index of the function that it is of */
	/* The mapping of each: [start, end) of code of that file. */
	uint64_t start_avma[SW_EVENT_PLACES_MAX], end_avma[SW_EVENT_PLACES_MAX];
	struct {
		size_t wanted;
		char *why;      /* owned */
		bool is_absent; /* there is no such function; else it is there, and cannot be probed */
		bool is_of_other; /* it is there, and is followed by another name, or for another pair */
	} missing[SW_EVENT_PLACES_MAX];
	size_t n_missing;
};

/**
 * Take what a process without privileges has looked up, and open the files of that code. The text is not believed: the
 * kernel says which file is mapped where.
 *
 * @param snap  Of sw_snapshot_maps(): its files are for a caller who may not follow the links of /proc/PID/map_files
 *              (CAP_CHECKPOINT_RESTORE). NULL: none.
 * @param text  Terminated; is written to.
 * @param ret   Zero-initialised; valid also on failure: sw_function_deinit().
 * @return 0; -SW_E_INTERNAL: the text is nonsense; -SW_E_NOT_PERMITTED, -SW_E_IO: a file cannot be had; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_function_take(const struct sw_target *target, const struct sw_snapshot *snap,
			       char *text, struct sw_function *ret, struct sw_error *err);
/** Keep the places whose flags are set, in their order, and give the others up. */
SW_PUBLIC void sw_function_keep(struct sw_function *function, const bool *keep);
SW_PUBLIC void sw_function_deinit(struct sw_function *function);

/**
 * The time that breakpoints take of a process: measured at code of our own before there are any in the process, and held
 * below a share of a CPU.
 *
 *	sw_overhead_begin, sw_overhead_end, sw_overhead_is_above ..., sw_overhead_deinit
 *
 * Zero-initialised it has not begun.
 */
struct sw_overhead {
	struct sw_event_measuring measuring;
	struct sw_event_probe_cost cost; /* usual figures where is_usual */
	bool is_usual;                   /* it could not be measured */
	uint32_t max_percent;            /* that was asked for; 0: the shares below */
	double breakpoint_ns;            /* a mean one of the functions */
	/* Time that was taken above each share, and when that was. */
	double above_ns, above_own_ns, spent_ns;
	int64_t at_ns, cpu_ns; /* at_ns 0: never */
};

/** Begin to measure, beside what this process does next. */
SW_PUBLIC void sw_overhead_begin(struct sw_overhead *overhead);
/** Wait for the figures. function: what will have breakpoints. */
SW_PUBLIC void sw_overhead_end(struct sw_overhead *overhead, const struct sw_function *function);
/** The same of figures that were measured before; cost NULL: they could not be measured. */
SW_PUBLIC void sw_overhead_set(struct sw_overhead *overhead, const struct sw_event_probe_cost *cost,
			       const struct sw_function *function);
/** Time of one call of the function of a place: its beginning, and one return where these are probed. */
SW_PUBLIC double sw_overhead_call_ns(const struct sw_overhead *overhead,
				     const struct sw_event_place *place);
SW_PUBLIC void sw_overhead_deinit(struct sw_overhead *overhead);

enum {
	SW_OVERHEAD_PERCENT = 5 /* of a CPU */,
	SW_OVERHEAD_OWN_PERCENT = 50 /* of what the process uses */
};

/**
 * Look at the time that breakpoints have taken so far.
 *
 * @param cpu_ns    CPU time of the process; below 0: not known.
 * @param spent_ns  It grows.
 * @return true: it is more than SW_OVERHEAD_PERCENT of a CPU by half a second, or more than SW_OVERHEAD_OWN_PERCENT of the
 *         CPU time of the process, which may get less than a CPU, by a tenth of one. With max_percent: it has added more than
 *         that to the CPU time that the process uses by itself, by a tenth of a second, and more than 0.2 % of a CPU. Shares
 *         that were not used before do not count.
 */
SW_PUBLIC bool sw_overhead_is_above(struct sw_overhead *overhead, int64_t now_ns, int64_t cpu_ns,
				    double spent_ns);
/** The time that breakpoints have taken by what the kernel has counted. */
SW_PUBLIC double sw_overhead_spent_ns(const struct sw_overhead *overhead,
				      const struct sw_event_cost *cost);

#ifdef __cplusplus
}
#endif

#endif
