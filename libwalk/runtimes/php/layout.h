/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PHP_LAYOUT_H
#define SW_PHP_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Where things are in one release series of PHP, in bytes. Offsets that are the same in all of them
 * are in enum sw_php_offset. */
struct sw_php_layout {
	unsigned major, minor;
	uint16_t current_execute_data; /* in zend_executor_globals */
	uint16_t op_last;              /* in zend_op_array, u32 */
	uint16_t op_opcodes;
	uint16_t op_filename;
	uint16_t op_line_start; /* u32; line_end follows it */
};

enum sw_php_offset {
	/* zend_execute_data */
	SW_PHP_ED_OPLINE = 0,
	SW_PHP_ED_FUNC = 24,
	SW_PHP_ED_THIS = 32,
	SW_PHP_ED_INFO = 40, /* u32: This.u1.type_info */
	SW_PHP_ED_PREV = 48,
	SW_PHP_ED_BYTES = 80,
	/* zend_generator */
	SW_PHP_GENERATOR_CALL = 56,      /* execute_data */
	SW_PHP_GENERATOR_PARENT = 152,   /* node.parent: who it yields from; NULL: it runs */
	SW_PHP_GENERATOR_FAKE = 184,     /* execute_fake */
	SW_PHP_GENERATOR_FAKE_OLD = 192, /* where node has a pointer more */
	/* zend_function */
	SW_PHP_FUNC_TYPE = 0, /* u8 */
	SW_PHP_FUNC_NAME = 8,
	SW_PHP_FUNC_SCOPE = 16,
	SW_PHP_FUNC_BYTES = 184, /* that are looked at */
	/* zend_class_entry */
	SW_PHP_CLASS_NAME = 8,
	SW_PHP_CLASS_BYTES = 16,
	/* zend_string */
	SW_PHP_STRING_LENGTH = 16,
	SW_PHP_STRING_TEXT = 24,
	/* zend_op */
	SW_PHP_OP_LINE = 24, /* u32 */
	SW_PHP_OP_CODE = 28, /* u8: SW_PHP_YIELD ... */
	SW_PHP_OP_BYTES = 32,
	/* sapi_globals_struct */
	SW_PHP_SAPI_CONTEXT = 0, /* of php-fpm its fcgi_request */
	SW_PHP_SAPI_METHOD = 8,  /* char *, as those that follow */
	SW_PHP_SAPI_QUERY = 16,
	SW_PHP_SAPI_SCRIPT = 40,
	SW_PHP_SAPI_URI = 48,
	SW_PHP_SAPI_STARTED = 436, /* u8 */
	SW_PHP_SAPI_BYTES = 440,
	/* fcgi_request */
	SW_PHP_FCGI_HAS_ENV = 8288, /* u32: 1 while it has variables */
	SW_PHP_FCGI_BUCKETS = 8296, /* fcgi_hash_bucket *[128] */
	/* fcgi_hash_bucket */
	SW_PHP_BUCKET_NAME_LENGTH = 4, /* u32 */
	SW_PHP_BUCKET_NAME = 8,
	SW_PHP_BUCKET_VALUE = 24,
	SW_PHP_BUCKET_NEXT = 32,
	SW_PHP_BUCKET_BYTES = 48,
};

enum {
	SW_PHP_CALL_TOP = 1 << 17, /* of ED_INFO: the last one of a run of execute_ex() */
	SW_PHP_CALL_GENERATOR = 1 << 24,
	SW_PHP_IS_OBJECT = 8, /* the lowest byte of ED_INFO */
	SW_PHP_INTERNAL_FUNCTION = 1,
	SW_PHP_USER_FUNCTION = 2,
	SW_PHP_EVAL_CODE = 4,
	/* Zend/zend_vm_opcodes.h of PHP 8.0 to 8.4. */
	SW_PHP_YIELD_FROM = 142,
	SW_PHP_YIELD = 160,
};

/* NULL: the series is not known. Static. */
const struct sw_php_layout *sw_php_layout_of(unsigned major, unsigned minor);

#endif
