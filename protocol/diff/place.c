/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "diff/place.h"
#include "report/frame_kind.h"
#include "utf8.h"

#include <string.h>

static void put(struct sw_text *text, const char *s)
{
	sw_utf8_append_plain(text, s, strlen(s));
}

/* The address of a frame that is in no file is another one in each process. */
static void put_nameless(struct sw_text *text, const struct sw_report *r,
			 const struct sw_report_frame *f, bool same_process)
{
	if (same_process || (f->module >= 0 && f->has_offset))
		sw_frame_place_name(text, r, f);
	else
		put(text, "code in no file");
}

void sw_diff_put_frame(struct sw_text *text, const struct sw_report *r,
		       const struct sw_report_frame *f, bool same_process)
{
	/* The name of managed code says whose it is; a runtime may compile it anew, to another place. */
	bool module = f->module >= 0 && !sw_frame_is_managed(f);
	bool line = same_process && f->file != NULL && f->line > 0;
	if (f->function == NULL || f->function[0] == '\0') {
		put_nameless(text, r, f, same_process);
		return;
	}
	put(text, f->function);
	if (same_process && !line && module && f->has_offset && !f->inlined)
		sw_text_printf(text, "+%llu", (unsigned long long) f->function_offset);
	if (!line && !module)
		return;
	put(text, " (");
	if (line) {
		put(text, sw_base_name(f->file));
		sw_text_printf(text, ":%u%s", f->line, module ? ", " : "");
	}
	if (module)
		put(text, sw_base_name(r->modules[f->module].path));
	put(text, ")");
}
