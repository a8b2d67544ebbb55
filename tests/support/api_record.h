/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Records of calls built by hand, and what they are decoded to, for the tests of src/api. */
#pragma once

#include "api/value.h"
#include "tap.h"

/* A record being built: what a probe would write on this machine. */
struct built {
	const struct gt_api_function *function;
	struct gt_api_layout layout;
	uint64_t copies[GT_PLAN_MAX_COPIES][GT_PLAN_MAX_COPIED];
	union {
		struct gt_event_call call;
		uint64_t space[128];
	};
};

static inline const struct gt_api_function *row(const char *name)
{
	int number = gt_api_find(name);

	if (number < 0) {
		TAP_FAIL("no row for %s", name);
		number = 0;
	}
	return gt_api_function((unsigned)number);
}

static inline struct built begin(const char *name)
{
	struct built built = {.function = row(name)};

	gt_api_lay_out(built.function, GT_MACHINE_HERE, &built.layout);
	built.call.head.kind = GT_EVENT_entry;
	built.call.slots = (__u8)(built.layout.plan.registers + built.layout.plan.stack);
	for (unsigned i = 0; i < built.call.slots; i++)
		built.call.words[i] = 0xdddddddddddddddd; /* what nobody set */
	return built;
}

static inline unsigned argument_of(const struct built *built, const char *name)
{
	for (unsigned i = 0; i < built->function->argument_count; i++)
		if (!strcmp(built->function->arguments[i].name, name))
			return i;
	TAP_FAIL("%s has no argument %s", built->function->name, name);
	return 0;
}

/* An argument that is passed; what is shorter than its slots leaves the rest as it was. */
static inline void pass_bytes(struct built *built, const char *name, const void *data, size_t size)
{
	const struct gt_api_location *location = &built->layout.locations[argument_of(built, name)];

	if (location->reference) {
		memcpy(built->copies[location->copy], data, size);
		built->call.copied |= (__u8)(1u << location->copy);
	} else {
		memcpy(&built->call.words[location->slot], data, size);
	}
}

static inline void pass(struct built *built, const char *name, uint64_t value)
{
	const struct gt_api_type *type = built->function->arguments[argument_of(built, name)].type;

	pass_bytes(built, name, &value, type->size);
}

/* Memory behind an argument. */
static inline void point(struct built *built, const char *name, const void *data, size_t size)
{
	const struct gt_api_location *location = &built->layout.locations[argument_of(built, name)];

	if (location->copy < 0) {
		TAP_FAIL("%s is not copied", name);
		return;
	}
	memcpy(built->copies[location->copy], data, size);
	built->call.copied |= (__u8)(1u << location->copy);
}

static inline void back(struct built *built, uint64_t result)
{
	built->call.head.kind = GT_EVENT_call;
	built->call.result = result;
}

/* Puts the copies behind the slots and says how long the record is. */
static inline const struct gt_event_call *finish(struct built *built)
{
	unsigned words = built->call.slots;

	for (unsigned i = 0; i < built->layout.plan.copies; i++) {
		unsigned count = (built->layout.plan.copy[i].bytes + 7u) / 8;

		if (!(built->call.copied & 1u << i))
			continue;
		memcpy(&built->call.words[words], built->copies[i], count * 8);
		words += count;
	}
	built->call.head.size = (__u16)(sizeof(built->call) + words * 8);
	return &built->call;
}

/* The finished record, decoded; valid until the next one. */
static inline const struct gt_call *decoded(struct built *built)
{
	static struct gt_call call;

	gt_call_decode(&call, &built->layout, finish(built));
	return &call;
}

static char text[4096]; /* of the last thing decoded */

static inline const char *keep(struct gt_strbuf *buffer)
{
	snprintf(text, sizeof(text), "%s", gt_strbuf_string(buffer));
	return text;
}

static inline const char *details(struct built *built)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;

	if (built->call.head.kind == GT_EVENT_entry)
		gt_call_format_entry(&buffer, decoded(built));
	else
		gt_call_format_return(&buffer, decoded(built));
	return keep(&buffer);
}

static inline const char *arguments(struct built *built)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;

	gt_call_format_arguments(&buffer, decoded(built));
	return keep(&buffer);
}

static inline const char *json(struct built *built)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;
	struct gt_json writer = GT_JSON_INIT(&buffer);

	gt_call_json_arguments(&writer, NULL, decoded(built));
	return keep(&buffer);
}

static inline const char *result(const char *name, uint64_t value, bool in_short)
{
	gt_auto_strbuf buffer = GT_STRBUF_INIT;

	gt_api_format_result(&buffer, row(name), value, in_short);
	return keep(&buffer);
}

static inline void pass_launch(struct built *call)
{
	pass_bytes(call, "gridDim", (uint32_t[]){4, 1, 1}, 12);
	pass_bytes(call, "blockDim", (uint32_t[]){256, 2, 1}, 12);
	pass(call, "args", 0x7ffc00003000);
	pass(call, "sharedMem", 1024);
	pass(call, "stream", 0);
}

/* cudaLaunchConfig_t, and CUlaunchConfig with its names. */
struct launch_config {
	uint32_t grid[3], block[3];
	uint64_t shared, stream, attributes;
	uint32_t count, padding;
};
