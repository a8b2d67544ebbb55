/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tables of the format "sqlite". docs/export.md describes them. */
#pragma once

/* TABLE(name, number of columns, their definitions) */
#define SQLITE_TABLES(TABLE)                                                                       \
	TABLE(metadata, 2, "key TEXT PRIMARY KEY, value")                                          \
	TABLE(processes, 8,                                                                        \
	      "pid INTEGER PRIMARY KEY, name TEXT, parent INTEGER, command TEXT, "                 \
	      "container TEXT, machine INTEGER, machine_pid INTEGER, rank INTEGER")                \
	TABLE(threads, 5, "pid INTEGER, tid INTEGER, calls INTEGER, first INTEGER, last INTEGER")  \
	TABLE(calls, 25,                                                                           \
	      "id INTEGER PRIMARY KEY, time INTEGER, duration INTEGER, pid INTEGER, "              \
	      "tid INTEGER, depth INTEGER, library TEXT, name TEXT, result TEXT, "                 \
	      "result_number INTEGER, failed INTEGER, unfinished INTEGER, device INTEGER, "        \
	      "context TEXT, stream TEXT, bytes INTEGER, direction TEXT, kernel TEXT, "            \
	      "grid TEXT, block TEXT, blocks INTEGER, threads INTEGER, shared INTEGER, "           \
	      "stack INTEGER, arguments TEXT")                                                     \
	TABLE(gpu_operations, 21,                                                                  \
	      "number INTEGER PRIMARY KEY, operation TEXT, time INTEGER, duration INTEGER, "       \
	      "basis TEXT, error INTEGER, shares INTEGER, submitted INTEGER, released INTEGER, "   \
	      "pid INTEGER, tid INTEGER, device INTEGER, context TEXT, stream TEXT, "              \
	      "kernel TEXT, bytes INTEGER, call_time INTEGER, wait_tid INTEGER, "                  \
	      "wait_time INTEGER, wait_end INTEGER, previous INTEGER")                             \
	TABLE(gpu_dependencies, 2, "number INTEGER, on_number INTEGER")                            \
	TABLE(stacks, 4, "id INTEGER PRIMARY KEY, pid INTEGER, number TEXT, truncated INTEGER")    \
	TABLE(frames, 8,                                                                           \
	      "stack INTEGER, position INTEGER, address TEXT, module TEXT, function TEXT, "        \
	      "file TEXT, line INTEGER, inlined INTEGER")                                          \
	TABLE(events, 9,                                                                           \
	      "id INTEGER PRIMARY KEY, time INTEGER, duration INTEGER, pid INTEGER, "              \
	      "tid INTEGER, source TEXT, name TEXT, failed INTEGER, details TEXT")                 \
	TABLE(counters, 4, "time INTEGER, name TEXT, device INTEGER, value INTEGER")               \
	TABLE(losses, 7,                                                                           \
	      "source TEXT, seen INTEGER, recorded INTEGER, unfinished INTEGER, lost INTEGER, "    \
	      "filtered INTEGER, unattributed INTEGER")                                            \
	TABLE(gaps, 5, "pid INTEGER, process TEXT, library TEXT, start INTEGER, end INTEGER")

/* After the rows, which are written faster without. */
#define SQLITE_INDICES                                                                             \
	"CREATE INDEX calls_by_thread ON calls(pid, tid, time);"                                   \
	"CREATE INDEX calls_by_name ON calls(name);"                                               \
	"CREATE INDEX operations_by_stream ON gpu_operations(pid, context, stream, time);"         \
	"CREATE INDEX operations_by_call ON gpu_operations(pid, tid, call_time);"                  \
	"CREATE INDEX events_by_thread ON events(pid, tid, time);"                                 \
	"CREATE INDEX events_by_name ON events(name);"                                             \
	"CREATE INDEX frames_by_stack ON frames(stack, position);"                                 \
	"CREATE INDEX counters_by_name ON counters(name, device, time);"

#define SQLITE_VIEWS                                                                               \
	"CREATE VIEW arguments AS SELECT calls.id AS call, json_each.id AS position, "             \
	"json_each.key AS name, json_each.value AS value "                                         \
	"FROM calls, json_each(calls.arguments);"                                                  \
	"CREATE VIEW submissions AS SELECT calls.id AS call, gpu_operations.number AS number "     \
	"FROM gpu_operations JOIN calls ON calls.pid = gpu_operations.pid "                        \
	"AND calls.tid = gpu_operations.tid AND calls.time = gpu_operations.call_time "            \
	"AND calls.depth = 0;"
