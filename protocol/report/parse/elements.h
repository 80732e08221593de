/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PARSE_ELEMENTS_H
#define SW_PARSE_ELEMENTS_H

#include "report/parse/fields.h"

/* From p->from, the dump's process. */
void sw_parse_crash(struct sw_report_parser *p);
void sw_parse_resource(struct sw_report_parser *p);
void sw_parse_limits(struct sw_report_parser *p);
void sw_parse_runtimes(struct sw_report_parser *p);
/* From p->from, the dump: what tasks wait for. */
void sw_parse_task_waits(struct sw_report_parser *p);
/* From p->from, the dump: deadlocks and root holders. */
void sw_parse_wait_graph(struct sw_report_parser *p);
void sw_parse_hints(struct sw_report_parser *p);
/* From p->from, the element, into the report's array, at index: modules before threads before
 * stacks, because they say which they mean by index or tid. */
void sw_parse_module(struct sw_report_parser *p, size_t index);
void sw_parse_thread(struct sw_report_parser *p, size_t index);
void sw_parse_stack(struct sw_report_parser *p, size_t index);
void sw_parse_warning(struct sw_report_parser *p, size_t index);
/* When all have been read. */
void sw_parse_check_threads(struct sw_report_parser *p);

#endif
