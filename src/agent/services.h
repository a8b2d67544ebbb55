/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libgputap-agent.so does for libgputap-calls.so, which hooks the functions of APIs, and for
 * libgputap-opencl.so, the layer of OpenCL's loader.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_agent_ring;
struct gt_agent_call_table;
struct gt_agent_exchange;
struct gt_agent_area;

/* Replace a function that a program has looked up by its name; see gt_call_wrap. */
typedef void *gt_agent_wrap_function(const char *symbol, void *function, const void *caller);

struct gt_agent_services {
	/* Not hooked. */
	void *(*dlopen)(const char *path, int mode);
	void *(*dlsym)(void *handle, const char *name);
	/* As gt_agent_ring, but waits for another thread that asks for the ring. */
	const struct gt_agent_ring *(*wait_for_ring)(void);
	/* Ask for the table of calls, once, and map it. NULL: calls are not recorded. */
	const struct gt_agent_call_table *(*request_calls)(size_t *ret_size);
	/* In the child after fork. */
	void (*forked)(void);
	void (*set_wrap)(gt_agent_wrap_function *wrap);
	/* For libgputap-opencl.so: gt_agent_map_on_host, gt_agent_host_areas, gt_agent_ask_program,
	 * gt_agent_finish, gt_agent_ask_names. */
	bool (*map_on_host)(int *ret_error);
	size_t (*host_areas)(struct gt_agent_area *ret_areas);
	void (*ask_program)(const void *data, size_t size, uint32_t form,
			    struct gt_agent_exchange *ret_exchange);
	void (*finish)(struct gt_agent_exchange *exchange, int error, bool keep);
	bool (*ask_names)(const char *list, size_t size);
};

__attribute__((visibility("default"))) const struct gt_agent_services *gt_agent_services(void);

/* Inside the agent: `function`, or what stands for it where calls are traced. */
void gt_agent_set_wrap(gt_agent_wrap_function *wrap);
void *gt_agent_wrap(const char *symbol, void *function, const void *caller);
void *gt_agent_real_dlopen(const char *path, int mode);
