/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_SHIP_SHARED_H
#define SW_DAEMON_SHIP_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * snapwalk-ship(8) is a few processes: a collector, which reads from the daemon, parses, and has no network; a sender for
 * each kind of batches, which has the network and its token, and parses nothing of a dump; and the one that started them,
 * which only watches. This memory is what they share; none believes a number in it for more than a count.
 */
enum sw_ship_kind { SW_SHIP_PROFILES, SW_SHIP_DUMPS, SW_SHIP_KINDS };

enum sw_ship_count {
	SW_SHIP_COLLECTED,  /* profiles or dumps that are in the spool, or were */
	SW_SHIP_SENT,       /* taken by the receiver */
	SW_SHIP_REJECTED,   /* refused by it, in a request that it took */
	SW_SHIP_REFUSED,    /* lost by a status that is final: 400, say */
	SW_SHIP_GONE,       /* lost: the daemon deleted them before they were read */
	SW_SHIP_TOO_LARGE,  /* lost: larger than a reply of the daemon, or than the spool */
	SW_SHIP_UNREADABLE, /* lost: not what they say they are */
	SW_SHIP_RETRIES,    /* requests that failed and were sent again */
	SW_SHIP_COUNTS,
};

struct sw_ship_shared {
	_Atomic uint64_t counts[SW_SHIP_KINDS][SW_SHIP_COUNTS];
	_Atomic uint64_t denied[SW_SHIP_KINDS]; /* 1: the last answer was 401 or 403 */
	_Atomic uint64_t spool_bytes, spool_files;
	_Atomic uint64_t spool_full; /* 1: the next batch has no space */
	_Atomic uint64_t connected;  /* 1: the daemon is there */
};

static inline void sw_ship_count(struct sw_ship_shared *shared, enum sw_ship_kind kind,
				 enum sw_ship_count count, uint64_t n)
{
	atomic_fetch_add(&shared->counts[kind][count], n);
}

#endif
