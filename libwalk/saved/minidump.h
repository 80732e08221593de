/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_H
#define SW_MINIDUMP_H

#include "saved/minidump_images.h"
#include "snapshot/snapshot.h"

/*
 * Fill a snapshot from a minidump, whose bytes are those of snap->priv->file. name is for messages.
 * 0; -SW_E_FORMAT; -SW_E_ARCH; -SW_E_NOMEM.
 */
int sw_minidump_fill(struct sw_snapshot *snap, const char *name,
		     const struct sw_minidump_images *images, struct sw_error *err);

#endif
