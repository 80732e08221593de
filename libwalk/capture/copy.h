/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_COPY_H
#define SW_CAPTURE_COPY_H

#include "capture/room.h"

/* Cuts room->pieces to what will come: pages that are in memory, where others may never come. Also in
 * the stop, before the pieces get their places. */
void sw_capture_pieces_trim(struct sw_capture_room *room);

/* Copies room->pieces, which have their places, until the deadline. Also in the stop. */
void sw_capture_pieces_copy(struct sw_capture_room *room);

/* Operations of hooks in the window: see unwind/capture.h. */
bool sw_capture_copy_range(struct sw_capture *capture, uint64_t avma, size_t bytes,
			   const uint8_t **ret_data);
bool sw_capture_wanted_find(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes);
void sw_capture_reads(struct sw_capture *capture, struct sw_capture_read *reads, size_t n);

#endif
