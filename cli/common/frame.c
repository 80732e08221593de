/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/frame.h"
#include "parts.h"
#include "utf8.h"

#include <string.h>

const char *sw_frame_module_name(const struct sw_report *report, const struct sw_report_frame *f)
{
	return f->module >= 0 ? sw_path_name(report->modules[f->module].path) : "";
}

void sw_frame_put_name(struct sw_text *text, const struct sw_report *report,
		       const struct sw_report_frame *f)
{
	const char *module = sw_frame_module_name(report, f);
	if (f->function != NULL)
		sw_utf8_append_plain(text, f->function, strlen(f->function));
	else if (f->has_offset && module[0] != '\0') {
		sw_utf8_append_plain(text, module, strlen(module));
		sw_text_printf(text, "+0x%llx", (unsigned long long) f->offset);
	} else
		sw_text_printf(text, "0x%llx", (unsigned long long) f->pc_avma);
}
