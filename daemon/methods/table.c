/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/table.h"
#include "methods/service.h"

/* A new method is one line here, one function, and its text in io.snapwalk.varlink. */
const struct sw_method sw_method_table[] = {
	{SW_INTERFACE ".Capture", sw_method_capture, false},
	{SW_INTERFACE ".Sample", sw_method_sample, true},
	{SW_INTERFACE ".Profile", sw_method_profile, false},
	{SW_INTERFACE ".Events", sw_method_events, true},
	{SW_INTERFACE ".Trigger", sw_method_trigger, false},
	{SW_INTERFACE ".List", sw_method_list, false},
	{SW_INTERFACE ".Read", sw_method_read, false},
	{SW_INTERFACE ".Delete", sw_method_delete, false},
	{SW_INTERFACE ".Pin", sw_method_pin, false},
	{SW_INTERFACE ".Subscribe", sw_method_subscribe, true},
	{SW_INTERFACE ".Status", sw_method_status, false},
	{SW_SERVICE ".GetInfo", sw_method_get_info, false},
	{SW_SERVICE ".GetInterfaceDescription", sw_method_get_interface, false},
	{0},
};
