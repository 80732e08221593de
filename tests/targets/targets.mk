# SPDX-License-Identifier: LGPL-2.1-or-later
# Programs that the live tests look at. targets/NAME.c becomes $(BUILD)/tests/targets/NAME with
# debug information and -O2; variants with other flags are listed below the generic rule.
# Targets are never built with sanitizers.

T := $(BUILD)/tests/targets
TARGET_CFLAGS := -std=gnu17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -pthread
TARGETS := $(patsubst tests/targets/%.c,$(T)/%,$(sort $(wildcard tests/targets/*.c)))

$(T)/%: tests/targets/%.c $(wildcard tests/targets/*.h) tests/targets/targets.mk
	@mkdir -p $(@D)
	$(CC) $(TARGET_CFLAGS) -o $@ $< -lm -lrt

.PHONY: targets
targets: $(TARGETS)
