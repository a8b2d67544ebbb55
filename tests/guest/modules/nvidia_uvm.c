// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A module with the name, the device file and the functions of NVIDIA's unified memory driver that
 * tracers attach to. Its ledger is /sys/kernel/debug/nvidia-uvm/calls.
 */
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "nvidia_ledger.h"

/* Neither inlined nor changed in their arguments: tracers see them as in the driver. */
#define TRACED noinline __noclone __used

static struct class *class;
static int major;

int uvm_open_entry(struct inode *inode, struct file *file);
int uvm_release_entry(struct inode *inode, struct file *file);
long uvm_unlocked_ioctl_entry(struct file *file, unsigned int cmd, unsigned long argument);
int uvm_mmap_entry(struct file *file, struct vm_area_struct *vma);
vm_fault_t uvm_vm_fault_wrapper_entry(struct vm_fault *fault);
void uvm_vm_open_managed_entry(struct vm_area_struct *vma);
void uvm_vm_close_managed_entry(struct vm_area_struct *vma);

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
