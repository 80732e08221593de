/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_EPILOGUE_H
#define SW_HOTSPOT_EPILOGUE_H

#include "runtimes/hotspot/frame.h"

/*
 * For code that was interrupted while it takes its frame down: when nothing but instructions that do so
 * lie between pc and ret, the caller is what they lead to. False: there are others.
 */
bool sw_hotspot_epilogue(const struct sw_hotspot_frame *f, struct sw_hotspot_caller *ret);

#endif
