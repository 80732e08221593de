/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: Zend/zend_compile.h and Zend/zend_globals.h of PHP 8.0 to 8.4. 8.2 was compared with the
 * headers of Debian's php8.2-dev 8.2.36. sapi_globals_struct (main/SAPI.h) is the same in 8.2 and 8.4,
 * and fcgi_request is that of main/fastcgi.c of 8.2. Builds with ZEND_RC_DEBUG or ZEND_DEBUG are no others.
 */
#include "runtimes/php/layout.h"
#include "cleanup.h"

static const struct sw_php_layout layouts[] = {
	{8, 0, 488, 68, 72, 144, 152},  {8, 1, 488, 68, 72, 144, 152},
	{8, 2, 488, 80, 88, 152, 160},  {8, 3, 488, 76, 80, 144, 152},
	{8, 4, 488, 96, 104, 168, 176},
};

const struct sw_php_layout *sw_php_layout_of(unsigned major, unsigned minor)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(layouts); i++)
		if (layouts[i].major == major && layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}
