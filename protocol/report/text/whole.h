/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_WHOLE_H
#define SW_TEXT_WHOLE_H

#include "report/text/put.h"

/* Lines of what the process as a whole suffers from: collections of garbage, event loops that a function holds
 * up; and pools of which all threads are at work. */
void sw_text_whole(struct sw_text_writer *w);

#endif
