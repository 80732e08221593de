/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_PARSER_H
#define SW_DAEMON_WORKER_PARSER_H

#include "worker/profile.h"

/*
 * The process that walks and names the samples of a series, without capabilities, while the worker that it was
 * forked from takes them:
 *
 *	worker to parser	SW_PARSER_SAMPLE with what sw_sampler_pack() made; SW_PARSER_END with a struct
 *				sw_worker_round, once
 *	parser to worker	SW_PARSER_DONE with a struct sw_parser_done after each sample, the first one, which
 *				it has from the beginning, too; after the end SW_WORKER_DUMP or SW_WORKER_FAILED
 *
 * Headers are struct sw_worker_event. The worker believes nothing of what comes.
 */
struct sw_parser_done {
	int32_t code; /* 0 or -SW_E_* */
	/* A thread whose walk ended at code that the maps do not have; 0: none did. The worker looks soon whether the process has
	 * other maps by then, however many threads there are. */
	int32_t unknown_tid;
};

struct sw_parser {
	struct sw_worker *worker;
	struct sw_sampler *sampler;
	struct sw_sample first;
	int from_fd, to_fd; /* pipes: from the worker, to it */
};

/* The pipes of one side, and in the worker which process has the others. */
struct sw_parser_child {
	pid_t pid; /* 0: this is the parser */
	int to_fd, from_fd;
	int pidfd; /* of the parser, in the worker */
};

/* Returns 0 in both processes, or -SW_E_LIMIT: then there is no pipe, and no process, or one that ends when it reads or
 * writes. The parser ends with the worker. */
int sw_parser_fork(struct sw_parser_child *ret, struct sw_error *err);

/* In the forked process: closes what only the worker needs, as the iterator, the stream to the broker, the turns. */
void sw_parser_leave(struct sw_worker *worker);

/* The whole life of the parser, in the forked process. */
__attribute__((noreturn)) void sw_parser_run(struct sw_parser *parser);

/* The worker's: what a parser made, a dump or the profile, goes to the broker within limits. Its failure is
 * ours then. */
int sw_parser_pass(const struct sw_worker *worker, int from_fd, struct sw_error *err);
/* The error of a parser that sends a failure instead of a result, or is gone. */
int sw_parser_failure(int from_fd, const struct sw_worker_event *event, struct sw_error *err);
int sw_parser_is_gone(struct sw_error *err);

#endif
