/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_VARLINK_MESSAGE_H
#define SW_VARLINK_MESSAGE_H

#include <snapwalk/varlink.h>

/* The part that calls and answers share: their outer objects. */

/* Adds a member; the name is a literal. Consumes the value, also on failure: NULL for either was for
 * want of memory. */
bool sw_varlink_member_add(struct json_object *message, const char *name,
			   struct json_object *value);

/* A member of the outer object by its name, which is gone from there afterwards: what stays is
 * unknown. NULL: it is absent or null, which is the same (UAPI.20, "Nullable Fields"). The caller's;
 * json_object_put(). */
struct json_object *sw_varlink_member_take(struct json_object *message, const char *name);

/* The same as parameters, of which absent and {} are the same. -SW_E_FORMAT: no object. */
int sw_varlink_parameters_take(struct json_object *message, struct json_object **ret,
			       struct sw_error *err);

/* A flag: absent is false. -SW_E_FORMAT: not a boolean. */
int sw_varlink_flag_take(struct json_object *message, const char *name, bool *ret,
			 struct sw_error *err);

/* A name "interface.Name". -SW_E_FORMAT; -SW_E_NOT_FOUND: it is absent. */
int sw_varlink_name_take(struct json_object *message, const char *name, char **ret,
			 struct sw_error *err);

/* The rest may be extensions of vendors, with a '.' in their names (UAPI.20, "Vendor Extensions").
 * -SW_E_FORMAT: there is another member. */
int sw_varlink_rest_check(struct json_object *message, struct sw_error *err);

/* Consumes the outer object, also on failure. The message with its NUL. */
int sw_varlink_message_text(struct json_object *message, char **ret_message, size_t *ret_size);

/* A call: consumes parameters, also on failure. */
int sw_varlink_call_text(const char *method, struct json_object *parameters, bool more,
			 char **ret_message, size_t *ret_size);

#endif
