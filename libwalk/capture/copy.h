/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_COPY_H
#define SW_CAPTURE_COPY_H

#include "capture/space.h"

/* Cuts space->parts, from the first one that is given, to what will come: pages that are in memory, where others may
 * never come. Also in the stop, before the parts get their places. */
void sw_capture_parts_trim(struct sw_capture_space *space, size_t from);

/* Copies space->parts, from the first one that is given, which have their places, until the deadline. Also in the stop. */
void sw_capture_parts_copy(struct sw_capture_space *space, size_t from);

/* Reads for ourselves, as sw_capture_reads() does for hooks. */
void sw_capture_reads_make(struct sw_capture_space *space, struct sw_capture_read *reads, size_t n);

/* Operations of hooks in the window: see unwind/capture.h. */
bool sw_capture_copy_range(struct sw_capture *capture, uint64_t avma, size_t bytes,
			   const uint8_t **ret_data);
void sw_capture_copies(struct sw_capture *capture, struct sw_capture_read *reads, size_t n);
bool sw_capture_is_over(struct sw_capture *capture);
bool sw_capture_wanted_find(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes);
bool sw_capture_in_stack_find(struct sw_capture *capture, uint64_t avma, void *buffer,
			      size_t bytes);
void sw_capture_reads(struct sw_capture *capture, struct sw_capture_read *reads, size_t n);

#endif
