/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Locations and resources as events, there and back. */
#include "names/kept.h"

#include <string.h>

#include "event/kinds.h"
#include "tap.h"

TEST("a location has the same frames after it was an event, however long its texts are")
{
	static const char path[] = "/a/path/of/a/library/of/some/length";

	for (size_t length = 1; length < sizeof(path); length++) {
		gt_autofree char *start = strndup(path, length);
		const struct gt_source_frame frames[] = {
			{.function = "inner", .file = "a.c", .line = 7, .inlined = true},
			{.function = "outer(int)", .symbol = "_Z5outeri", .offset = 9},
		};
		const struct gt_location location = {.path = start,
						     .offset = 5,
						     .address = 6,
						     .frames = frames,
						     .frame_count = 2};
		gt_autofree struct gt_event *event = gt_kept_location_event(3, 4, &location);
		struct gt_kept_location *kept = gt_kept_location_new((void *)event);

		CHECK_INT(gt_event_check(event, event->size), 0);
		CHECK_STR(kept->location.path, start);
		CHECK_INT(kept->location.offset, 5);
		CHECK_INT(kept->location.address, 6);
		CHECK_INT(kept->location.frame_count, 2);
		CHECK_STR(kept->location.frames[0].function, "inner");
		CHECK_STR(kept->location.frames[0].file, "a.c");
		CHECK_INT(kept->location.frames[0].line, 7);
		CHECK(kept->location.frames[0].inlined && !kept->location.frames[0].symbol);
		CHECK_STR(kept->location.frames[1].symbol, "_Z5outeri");
		CHECK_INT(kept->location.frames[1].offset, 9);
		CHECK(!kept->location.frames[1].file && !kept->location.frames[1].inlined);
		gt_kept_location_free(kept);
	}
}

TEST("a kernel has the same parameters and usages after it was an event")
{
	const struct gt_parameter parameters[] = {{0, 8, ".u64"}, {8, 4, NULL}};
	const struct gt_kernel_usage usages[] = {{75, 32, 0, GT_KERNEL_UNKNOWN}};
	const struct gt_kernel kernel = {.name = "k",
					 .parameters = parameters,
					 .parameter_count = 2,
					 .usages = usages,
					 .usage_count = 1,
					 .ptx_shared_bytes = 64};
	gt_autofree struct gt_event *event = gt_kept_resources_event(&kernel);
	gt_auto(parameters) struct gt_parameters *collection = gt_parameters_new();
	const struct gt_kernel *found;

	CHECK_INT(gt_kept_resources_add((void *)event, collection), 0);
	found = gt_parameters_find(collection, "k");
	CHECK(found && found->parameter_count == 2 && found->usage_count == 1);
	CHECK_STR(found->parameters[0].type, ".u64");
	CHECK(!found->parameters[1].type);
	CHECK_INT(found->parameters[1].offset, 8);
	CHECK_INT(found->usages[0].registers, 32);
	CHECK_INT(found->ptx_shared_bytes, 64);
}

TEST("events whose counts exceed them are ignored")
{
	const struct gt_kernel kernel = {.name = "k", .ptx_shared_bytes = 0};
	gt_autofree struct gt_event *event = gt_kept_resources_event(&kernel);
	gt_auto(parameters) struct gt_parameters *collection = gt_parameters_new();
	struct gt_event_resources *resources = (void *)event;

	for (uint32_t i = 0; i < 32; i++) {
		resources->parameters = 1u << i;
		resources->usages = 0;
		CHECK_INT(gt_kept_resources_add(resources, collection), 0);
		resources->parameters = 0;
		resources->usages = 1u << i;
		CHECK_INT(gt_kept_resources_add(resources, collection), 0);
	}
	CHECK_INT(gt_parameters_count(collection), 0);
}

TEST_MAIN
