/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the functions of these modules did: one record per call, between whose stamps
 * (CLOCK_MONOTONIC) the body ran. A tracer sees the call enter before and return after them.
 */
#ifndef NVIDIA_LEDGER_H
#define NVIDIA_LEDGER_H

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#define LEDGER_MAX 65536

struct ledger_record {
	const char *function;
	u64 before, after;
	pid_t pid, tid;
	char comm[TASK_COMM_LEN];
	u64 values[3]; /* what they are depends on the function */
	s64 result;
};

struct ledger {
	struct ledger_record *records;
	atomic_t count;
	struct dentry *directory;
};

static struct ledger ledger;

/* Add a record; NULL when the ledger is full. */
static struct ledger_record *ledger_enter(const char *function, u64 first, u64 second, u64 third)
{
	unsigned int number = atomic_inc_return(&ledger.count) - 1;
	struct ledger_record *record;

	if (number >= LEDGER_MAX) {
		atomic_dec(&ledger.count);
		return NULL;
	}
	record = &ledger.records[number];
	record->function = function;
	record->pid = task_tgid_nr(current);
	record->tid = task_pid_nr(current);
	memcpy(record->comm, current->comm, sizeof(record->comm));
	record->values[0] = first;
	record->values[1] = second;
	record->values[2] = third;
	record->result = 0;
	record->after = 0;
	record->before = ktime_get_ns();
	return record;
}

static void ledger_leave(struct ledger_record *record, s64 result)
{
	if (!record)
		return;
	record->result = result;
	record->after = ktime_get_ns();
}

static int ledger_show(struct seq_file *file, void *unused)
{
	unsigned int count = atomic_read(&ledger.count), i;

	for (i = 0; i < count; i++) {
		const struct ledger_record *record = &ledger.records[i];

		seq_printf(file, "{\"function\":\"%s\",\"pid\":%d,\"tid\":%d,\"comm\":\"%s\"",
			   record->function, record->pid, record->tid, record->comm);
		seq_printf(file,
			   ",\"time\":[%llu,%llu],\"values\":[%llu,%llu,%llu],\"result\":%lld}\n",
			   record->before, record->after, record->values[0], record->values[1],
			   record->values[2], record->result);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ledger);

static ssize_t ledger_reset(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	atomic_set(&ledger.count, 0);
	return size;
}

static const struct file_operations ledger_reset_ops = {
	.owner = THIS_MODULE,
	.write = ledger_reset,
};

static int ledger_init(const char *name)
{
	ledger.records = vzalloc(array_size(LEDGER_MAX, sizeof(*ledger.records)));
	if (!ledger.records)
		return -ENOMEM;
	ledger.directory = debugfs_create_dir(name, NULL);
	debugfs_create_file("calls", 0444, ledger.directory, NULL, &ledger_fops);
	debugfs_create_file("reset", 0200, ledger.directory, NULL, &ledger_reset_ops);
	return 0;
}

static void ledger_free(void)
{
	debugfs_remove_recursive(ledger.directory);
	vfree(ledger.records);
}

#endif
