/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_MEMORY_CALIBRATED_CODE_H
#define SW_CLI_MEMORY_CALIBRATED_CODE_H

#include <stdint.h>

/*
 * Functions that a probe is measured at, in a file for each kind of machine: one hands out what it is given, and two take it back. The
 * kernel executes the first instruction of the first two by itself, and steps that of the last.
 */
uint64_t sw_calibrated_hand(uint64_t handle);
extern const char sw_calibrated_hand_ret[]; /* its only RET */
void sw_calibrated_take(uint64_t handle);
uint64_t sw_calibrated_step(uint64_t handle);

#endif
