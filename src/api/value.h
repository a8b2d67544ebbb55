/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finding the values of arguments in a record. Nothing outside the record is ever read. */
#pragma once

#include "api/layout.h"
#include "event/event.h"

/* Bytes of a record, of which as many belong to a value as its type says. */
struct gt_api_value {
	const struct gt_api_type *type;
	const uint8_t *data;
	size_t size; /* bytes that are there; fewer than the type's, or 0: not captured */
};

/* A record that is being decoded. */
struct gt_api_record {
	const struct gt_api_function *function;
	const struct gt_event_call *call;
	struct gt_api_layout layout;
	size_t words; /* that are in the record */
	bool returned;
	bool succeeded;                       /* what the call gave back may be shown */
	const struct gt_api_strings *strings; /* that it was given; NULL: not told */
};

void gt_api_open_record(struct gt_api_record *ret_record, const struct gt_api_function *function,
			const struct gt_event_call *call, enum gt_machine machine);

/* The argument as passed; a structure passed by reference is that structure. */
struct gt_api_value gt_api_argument_value(const struct gt_api_record *record, unsigned argument);
/* What the argument points to, if it was copied: the structure read, the result given back. */
struct gt_api_value gt_api_pointed_value(const struct gt_api_record *record, unsigned argument);
/*
 * The string that an argument points to, and whether it goes on; NULL: it was not told, or the
 * argument is none.
 */
const char *gt_api_text(const struct gt_api_record *record, unsigned argument, bool *ret_cut);
/* Element `index` of an array of sizes (GT_ROLE_SIZES); false if it was not copied. */
bool gt_api_size_at(const struct gt_api_record *record, unsigned argument, uint64_t index,
		    uint64_t *ret_size);
/* Element `index` of a field of a structure. */
struct gt_api_value gt_api_field_value(const struct gt_api_value *structure,
				       const struct gt_api_field *field, unsigned index);

/* Whether all of a value that is no structure is there; then its bits (signed ones extended). */
bool gt_api_load(const struct gt_api_value *value, uint64_t *ret_number);
bool gt_api_load_double(const struct gt_api_value *value, double *ret_number);

/* The enumerator of exactly this value, or NULL. */
const struct gt_api_enumerator *gt_api_enumerator(const struct gt_api_type *type, uint64_t value);
/* Adds the name of an enumeration's value ("a|b" for flags), or its number. */
void gt_api_add_enumerator(struct gt_strbuf *buffer, const struct gt_api_type *type,
			   uint64_t value);

/*
 * The name of a stream that CUDA has without making it: "legacy" or "per-thread", also for 0 in a
 * call whose default stream is the thread's own. NULL: it is a handle, or 0 in any other call.
 */
const char *gt_api_stream_name(const struct gt_api_record *record,
			       const struct gt_api_value *value);
const char *gt_api_stream_label(const struct gt_event_call *call, uint64_t stream);

/* Whether the live view takes a structure apart. */
bool gt_api_has_labels(const struct gt_api_type *type);
/* enum cudaMemcpyKind of a copy, or -1 if this is none or nothing tells. */
int gt_api_record_direction(const struct gt_api_record *record);
