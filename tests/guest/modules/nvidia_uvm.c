// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A module with the name, the device file and the functions of NVIDIA's unified memory driver that
 * tracers attach to. Its ledger is /sys/kernel/debug/nvidia-uvm/calls. A write of a number to
 * /sys/kernel/debug/nvidia-uvm/gpu-faults makes as many faults of a GPU, on consecutive pages.
 */
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "nvidia_ledger.h"

/* Neither inlined nor changed in their arguments: tracers see them as in the driver. */
#define TRACED noinline __noclone __used

#define GPU_FAULT_ADDRESS 0x7f1200000000
#define UVM_CPU 0
#define UVM_GPU 1

enum uvm_perf_event {
	UVM_PERF_EVENT_BLOCK_MUNMAP = 2, /* as in the drivers 535 and 550 */
	UVM_PERF_EVENT_MODULE_UNLOAD = 5,
	UVM_PERF_EVENT_FAULT,
	UVM_PERF_EVENT_MIGRATION,
};

struct uvm_fault_buffer_entry {
	u64 fault_address;
};

/* The part for faults. */
struct uvm_perf_event_data {
	void *va_space, *va_block;
	u32 processor, preferred_location;
	union {
		struct uvm_fault_buffer_entry *entry; /* of a GPU */
		u64 address;                          /* of a CPU */
	};
};

static struct class *class;
static int major;

int uvm_open_entry(struct inode *inode, struct file *file);
int uvm_release_entry(struct inode *inode, struct file *file);
long uvm_unlocked_ioctl_entry(struct file *file, unsigned int cmd, unsigned long argument);
int uvm_mmap_entry(struct file *file, struct vm_area_struct *vma);
vm_fault_t uvm_vm_fault_wrapper_entry(struct vm_fault *fault);
void uvm_vm_open_managed_entry(struct vm_area_struct *vma);
void uvm_vm_close_managed_entry(struct vm_area_struct *vma);
void uvm_perf_event_notify(void *va_space_events, enum uvm_perf_event event,
			   struct uvm_perf_event_data *data);

TRACED void uvm_perf_event_notify(void *va_space_events, enum uvm_perf_event event,
				  struct uvm_perf_event_data *data)
{
	u64 address = data->processor == UVM_CPU ? data->address : data->entry->fault_address;

	ledger_leave(ledger_enter("uvm_perf_event_notify", event, data->processor, address), 0);
}

/* By which tracers know these numbers from those of earlier drivers. */
TRACED static void thrashing_block_munmap_cb(enum uvm_perf_event event,
					     struct uvm_perf_event_data *data)
{
}

TRACED int uvm_open_entry(struct inode *inode, struct file *file)
{
	ledger_leave(ledger_enter("uvm_open_entry", iminor(inode), 0, 0), 0);
	return 0;
}

TRACED int uvm_release_entry(struct inode *inode, struct file *file)
{
	ledger_leave(ledger_enter("uvm_release_entry", iminor(inode), 0, 0), 0);
	return 0;
}

TRACED long uvm_unlocked_ioctl_entry(struct file *file, unsigned int cmd, unsigned long argument)
{
	ledger_leave(ledger_enter("uvm_unlocked_ioctl_entry", cmd, argument, 0), 0);
	return 0;
}

TRACED vm_fault_t uvm_vm_fault_wrapper_entry(struct vm_fault *fault)
{
	struct ledger_record *record =
		ledger_enter("uvm_vm_fault_wrapper_entry", fault->address, fault->flags, 0);
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct uvm_perf_event_data data = {.processor = UVM_CPU, .address = fault->address};

	uvm_perf_event_notify(NULL, UVM_PERF_EVENT_FAULT, &data);
	fault->page = page;
	ledger_leave(record, page ? 0 : VM_FAULT_OOM);
	return page ? 0 : VM_FAULT_OOM;
}

TRACED void uvm_vm_open_managed_entry(struct vm_area_struct *vma)
{
	ledger_leave(ledger_enter("uvm_vm_open_managed_entry", vma->vm_start, vma->vm_end, 0), 0);
}

TRACED void uvm_vm_close_managed_entry(struct vm_area_struct *vma)
{
	ledger_leave(ledger_enter("uvm_vm_close_managed_entry", vma->vm_start, vma->vm_end, 0), 0);
}

static const struct vm_operations_struct vma_ops = {
	.open = uvm_vm_open_managed_entry,
	.close = uvm_vm_close_managed_entry,
	.fault = uvm_vm_fault_wrapper_entry,
};

TRACED int uvm_mmap_entry(struct file *file, struct vm_area_struct *vma)
{
	struct ledger_record *record = ledger_enter("uvm_mmap_entry", vma->vm_pgoff, vma->vm_start,
						    vma->vm_end - vma->vm_start);

	vma->vm_ops = &vma_ops;
	ledger_leave(record, 0);
	return 0;
}

/* Faults of a GPU; a migration follows each. */

struct fault_batch {
	struct work_struct work;
	unsigned int count;
};

/* In a kernel thread, as the bottom half of the driver. */
static void handle_batch(struct work_struct *work)
{
	struct fault_batch *batch = container_of(work, struct fault_batch, work);
	unsigned int i;

	for (i = 0; i < batch->count; i++) {
		struct uvm_fault_buffer_entry entry = {GPU_FAULT_ADDRESS + i * PAGE_SIZE};
		struct uvm_perf_event_data data = {.processor = UVM_GPU, .entry = &entry};
		struct uvm_fault_buffer_entry none = {0};
		struct uvm_perf_event_data other = {.processor = UVM_GPU, .entry = &none};

		uvm_perf_event_notify(NULL, UVM_PERF_EVENT_MODULE_UNLOAD, &other);
		uvm_perf_event_notify(NULL, UVM_PERF_EVENT_FAULT, &data);
		uvm_perf_event_notify(NULL, UVM_PERF_EVENT_MIGRATION, &data);
	}
}

static ssize_t write_gpu_faults(struct file *file, const char __user *user, size_t size, loff_t *at)
{
	struct fault_batch batch;
	int err = kstrtouint_from_user(user, size, 0, &batch.count);

	if (err)
		return err;
	INIT_WORK_ONSTACK(&batch.work, handle_batch);
	schedule_work(&batch.work);
	flush_work(&batch.work);
	destroy_work_on_stack(&batch.work);
	return size;
}

static const struct file_operations gpu_fault_ops = {
	.owner = THIS_MODULE,
	.write = write_gpu_faults,
};

static const struct file_operations file_ops = {
	.owner = THIS_MODULE,
	.open = uvm_open_entry,
	.release = uvm_release_entry,
	.unlocked_ioctl = uvm_unlocked_ioctl_entry,
	.mmap = uvm_mmap_entry,
};

static int __init load_module(void)
{
	int err = ledger_init("nvidia-uvm");

	if (err)
		goto free;
	major = err = register_chrdev(0, "nvidia-uvm", &file_ops);
	if (err < 0)
		goto free;
#ifdef CLASS_CREATE_NAME
	class = class_create("nvidia-uvm");
#else
	class = class_create(THIS_MODULE, "nvidia-uvm");
#endif
	if (IS_ERR(class)) {
		err = PTR_ERR(class);
		goto unregister;
	}
	device_create(class, NULL, MKDEV(major, 0), NULL, "nvidia-uvm");
	debugfs_create_file("gpu-faults", 0200, ledger.directory, NULL, &gpu_fault_ops);
	return 0;
unregister:
	unregister_chrdev(major, "nvidia-uvm");
free:
	ledger_free();
	return err;
}

static void __exit unload_module(void)
{
	device_destroy(class, MKDEV(major, 0));
	class_destroy(class);
	unregister_chrdev(major, "nvidia-uvm");
	ledger_free();
}

module_init(load_module);
module_exit(unload_module);
MODULE_DESCRIPTION("NVIDIA's unified memory driver, for tests of tracers");
MODULE_LICENSE("Dual BSD/GPL");
