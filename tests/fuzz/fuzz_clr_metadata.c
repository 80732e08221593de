/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Metadata and PE images of .NET assemblies that anybody wrote: every type, method and signature of
 * the first rows is named. The input is metadata, or an image, which begins with "MZ" or zeros.
 */
#include "fuzz.h"
#include "runtimes/clr/metadata/image.h"
#include "fake.h"
#include "runtimes/clr/metadata/names.h"
#include "runtimes/clr/metadata/signature.h"

#include <string.h>

enum {
	ROWS = 24,
	READS_MAX = 600000, /* for one name: 128 types, each with a generic parameter to look for */
	TEXT_MAX = 256 * 1024,
};

static void ended(struct fake_memory *fake, struct sw_text *text)
{
	if (fake->reads > READS_MAX || text->size > TEXT_MAX)
		__builtin_trap(); /* every loop has a limit */
	for (size_t i = 0; i < text->size; i++)
		if (text->data[i] == '\0' || text->data[i] == '\n')
			__builtin_trap(); /* a name is one line */
	sw_text_deinit(text);
	fake->reads = 0;
}

static void names(const struct sw_clr_metadata *m, struct fake_memory *fake)
{
	struct sw_text text = {0};
	for (uint32_t i = 0; i < ROWS; i++) {
		(void) sw_clr_type_def_name(m, i, i % 2 == 0, &text);
		ended(fake, &text);
		(void) sw_clr_type_ref_name(m, i, i % 2 == 0, &text);
		ended(fake, &text);
		(void) sw_clr_method_owner(m, i);
		(void) sw_clr_method_def_name(m, i, &text);
		ended(fake, &text);
		(void) sw_clr_method_def_parameters(m, i, &text);
		ended(fake, &text);
		sw_clr_generic_param_name(m, i % 2, i / 2, i % 3, &text);
		ended(fake, &text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fake_region region = {0x10000, data, size};
	struct fake_memory fake = {&region, 1, 0};
	struct sw_memory memory = fake_memory(&fake);
	struct sw_clr_metadata m;
	if (sw_clr_metadata_open(memory, region.start_avma, size, &m))
		names(&m, &fake);
	for (int mapped = 0; mapped < 2; mapped++)
		if (sw_clr_image_metadata(memory, region.start_avma, mapped, &m))
			names(&m, &fake);
	return 0;
}
