/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_OTLP_H
#define SNAPWALK_OTLP_H

/**
 * Requests and answers of OTLP over HTTP, as protobuf: what a receiver of OpenTelemetry takes.
 * Source: open-telemetry/opentelemetry-proto v1.9.0, docs/specification.md and opentelemetry/proto/logs/v1/logs.proto.
 */

#include <snapwalk/protocol.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A dump as an ExportLogsServiceRequest with one record: its text is the body, its id the attribute log.record.uid, and
 * the process the resource. Requests one after the other are one request with all their records.
 *
 * @param report  Borrowed.
 * @param text    The body, which is cut at the NUL.
 * @param ret     The caller's; free().
 * @return 0; -SW_E_NOMEM.
 */
SW_PUBLIC int sw_otlp_log(const struct sw_report *report, const char *text, char **ret,
			  size_t *ret_size, struct sw_error *err);

/**
 * How many records, or profiles, a receiver has refused of a request that it took: partial_success of its answer. 0 also
 * for an answer that says nothing, or is not of this protocol.
 *
 * @param data  An ExportLogsServiceResponse or ExportProfilesServiceResponse, whoever wrote it.
 */
SW_PUBLIC uint64_t sw_otlp_rejected(const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif
