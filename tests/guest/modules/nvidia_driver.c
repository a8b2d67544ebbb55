// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A module with the name, the device files, the tracepoint and the functions of NVIDIA's driver
 * that tracers attach to: same names and arguments, other contents. Its ledger is
 * /sys/kernel/debug/nvidia/calls. A write to /sys/kernel/debug/nvidia/do makes happen what no
 * system call causes, see `actions`; one line per write:
 *
 *     isr COUNT, msix COUNT     interrupts, each with its bottom half; of device COUNT % 2
 *     xid CODE TEXT             the tracepoint and the line in the kernel's log
 *     xid-log CODE TEXT         only the line, as the proprietary module
 *     suspend, resume           each device
 *     p2p ADDRESS LENGTH        p2p_get_pages, p2p_dma_map_pages
 *     strcpy SIZE, memcpy SIZE, memset SIZE
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "nvidia_ledger.h"

#define CREATE_TRACE_POINTS
#include "nvidia_trace.h"

#define MAJOR_NUMBER 195
#define CONTROL_MINOR 255
#define DEVICES 2
#define IRQ_NUMBER 42
#define P2P_PAGE_SIZE 65536

/* Neither inlined nor changed in their arguments: tracers see them as in the driver. */
#define TRACED noinline __noclone __used

/* Of the driver's public header nv-p2p.h. */
struct nvidia_p2p_page_table {
	u32 version;
	u32 page_size;
	struct nvidia_p2p_page **pages;
	u32 entries;
	u8 *gpu_uuid;
};

struct nvidia_p2p_dma_mapping {
	u32 version;
	u32 page_size_type;
	u32 entries;
	u64 *dma_addresses;
	void *private;
	struct pci_dev *pci_dev;
};

struct nvidia_device {
	unsigned int minor;
	struct hrtimer interrupt;
	struct work_struct bottom_half;
	struct completion done;
	bool msix;
};

static struct nvidia_device devices[DEVICES];
static struct pci_dev *pci_device; /* any */
static struct class *class;
static char text_from[4096], text_to[4096];

int nvidia_open(struct inode *inode, struct file *file);
int nvidia_close(struct inode *inode, struct file *file);
long nvidia_unlocked_ioctl(struct file *file, unsigned int cmd, unsigned long argument);
int nvidia_mmap(struct file *file, struct vm_area_struct *vma);
__poll_t nvidia_poll(struct file *file, poll_table *table);
vm_fault_t nvidia_fault(struct vm_fault *fault);
void nvidia_vma_open(struct vm_area_struct *vma);
void nvidia_vma_release(struct vm_area_struct *vma);
irqreturn_t nvidia_isr(int irq, void *argument);
irqreturn_t nvidia_isr_msix(int irq, void *argument);
irqreturn_t nvidia_isr_kthread_bh(int irq, void *data);
int nvidia_p2p_get_pages(u64 token, u32 va_space, u64 address, u64 length,
			 struct nvidia_p2p_page_table **table, void (*release)(void *), void *data);
int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *table,
			     struct nvidia_p2p_dma_mapping **mapping);
int nvidia_suspend(struct device *device, int action, bool is_procfs);
int nvidia_resume(struct device *device, int action) asm("nvidia_resume.isra.0");
char *nvlink_strcpy(char *to, const char *from);
void *nvlink_memcpy(void *to, const void *from, size_t size);
void *nvlink_memset(void *to, int value, size_t size);

/* System calls */

TRACED int nvidia_open(struct inode *inode, struct file *file)
{
	ledger_leave(ledger_enter("nvidia_open", iminor(inode), 0, 0), 0);
	return 0;
}

TRACED int nvidia_close(struct inode *inode, struct file *file)
{
	ledger_leave(ledger_enter("nvidia_close", iminor(inode), 0, 0), 0);
	return 0;
}

TRACED long nvidia_unlocked_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	struct ledger_record *record =
		ledger_enter("nvidia_unlocked_ioctl", iminor(file_inode(file)), cmd, argument);
	long result = _IOC_TYPE(cmd) == 'F' ? 0 : -EINVAL;

	ledger_leave(record, result);
	return result;
}

TRACED __poll_t nvidia_poll(struct file *file, poll_table *table)
{
	ledger_leave(ledger_enter("nvidia_poll", iminor(file_inode(file)), 0, 0), EPOLLIN);
	return EPOLLIN;
}

static u64 vma_size(const struct vm_area_struct *vma)
{
	return vma->vm_end - vma->vm_start;
}

static u64 vma_offset(const struct vm_area_struct *vma)
{
	return (u64)vma->vm_pgoff << PAGE_SHIFT;
}

TRACED void nvidia_vma_open(struct vm_area_struct *vma)
{
	ledger_leave(ledger_enter("nvidia_vma_open", vma_offset(vma), vma_size(vma), 0), 0);
}

TRACED void nvidia_vma_release(struct vm_area_struct *vma)
{
	ledger_leave(ledger_enter("nvidia_vma_release", vma_offset(vma), vma_size(vma), 0), 0);
}

TRACED vm_fault_t nvidia_fault(struct vm_fault *fault)
{
	struct ledger_record *record =
		ledger_enter("nvidia_fault", fault->address, fault->flags, 0);
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);

	fault->page = page;
	ledger_leave(record, page ? 0 : VM_FAULT_OOM);
	return page ? 0 : VM_FAULT_OOM;
}

static const struct vm_operations_struct vma_ops = {
	.open = nvidia_vma_open,
	.close = nvidia_vma_release,
	.fault = nvidia_fault,
};

TRACED int nvidia_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct ledger_record *record = ledger_enter("nvidia_mmap", iminor(file_inode(file)),
						    vma_offset(vma), vma_size(vma));

	vma->vm_ops = &vma_ops;
	nvidia_vma_open(vma);
	ledger_leave(record, 0);
	return 0;
}

/* Interrupts */

TRACED irqreturn_t nvidia_isr(int irq, void *argument)
{
	struct nvidia_device *device = argument;

	ledger_leave(ledger_enter("nvidia_isr", device->minor, irq, 0), IRQ_WAKE_THREAD);
	return IRQ_WAKE_THREAD;
}

TRACED irqreturn_t nvidia_isr_msix(int irq, void *argument)
{
	struct nvidia_device *device = argument;

	ledger_leave(ledger_enter("nvidia_isr_msix", device->minor, irq, 0), IRQ_WAKE_THREAD);
	return IRQ_WAKE_THREAD;
}

TRACED irqreturn_t nvidia_isr_kthread_bh(int irq, void *data)
{
	struct nvidia_device *device = data;

	ledger_leave(ledger_enter("nvidia_isr_kthread_bh", device->minor, irq, 0), IRQ_HANDLED);
	return IRQ_HANDLED;
}

static void run_bottom_half(struct work_struct *work)
{
	struct nvidia_device *device = container_of(work, struct nvidia_device, bottom_half);

	nvidia_isr_kthread_bh(IRQ_NUMBER + device->minor, device);
	complete(&device->done);
}

static enum hrtimer_restart on_interrupt(struct hrtimer *timer)
{
	struct nvidia_device *device = container_of(timer, struct nvidia_device, interrupt);
	int irq = IRQ_NUMBER + device->minor;

	if ((device->msix ? nvidia_isr_msix(irq, device) : nvidia_isr(irq, device)) ==
	    IRQ_WAKE_THREAD)
		schedule_work(&device->bottom_half);
	return HRTIMER_NORESTART;
}

static int interrupt_devices(unsigned int count, bool msix)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct nvidia_device *device = &devices[i % DEVICES];

		device->msix = msix;
		reinit_completion(&device->done);
		hrtimer_start(&device->interrupt, ns_to_ktime(20000), HRTIMER_MODE_REL);
		wait_for_completion(&device->done);
	}
	return 0;
}

/* Errors, power management, peer-to-peer, strings */

static int report_xid(u32 code, const char *text, bool only_log)
{
	ledger_leave(ledger_enter("xid", code, only_log, 0), 0);
	pr_err("NVRM: Xid (PCI:%s): %u, %s\n", pci_name(pci_device), code, text);
	if (!only_log)
		trace_nvidia_dev_xid(pci_device, code, text);
	return 0;
}

TRACED int nvidia_suspend(struct device *device, int action, bool is_procfs)
{
	struct ledger_record *record = ledger_enter("nvidia_suspend", action, is_procfs, 0);

	udelay(200);
	ledger_leave(record, 0);
	return 0;
}

TRACED int nvidia_resume(struct device *device, int action)
{
	struct ledger_record *record = ledger_enter("nvidia_resume", action, 0, 0);

	udelay(300);
	ledger_leave(record, 0);
	return 0;
}

TRACED int nvidia_p2p_get_pages(u64 token, u32 va_space, u64 address, u64 length,
				struct nvidia_p2p_page_table **table, void (*release)(void *),
				void *data)
{
	struct ledger_record *record = ledger_enter("nvidia_p2p_get_pages", address, length,
						    DIV_ROUND_UP(length, P2P_PAGE_SIZE));
	int result = address % P2P_PAGE_SIZE || !length ? -EINVAL : 0;

	if (!result) {
		*table = kzalloc(sizeof(**table), GFP_KERNEL);
		result = *table ? 0 : -ENOMEM;
	}
	if (!result) {
		(*table)->page_size = 1;
		(*table)->entries = DIV_ROUND_UP(length, P2P_PAGE_SIZE);
	}
	ledger_leave(record, result);
	return result;
}

TRACED int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *table,
				    struct nvidia_p2p_dma_mapping **mapping)
{
	struct ledger_record *record =
		ledger_enter("nvidia_p2p_dma_map_pages", table->entries, pci_dev_id(peer), 0);

	*mapping = kzalloc(sizeof(**mapping), GFP_KERNEL);
	if (*mapping)
		(*mapping)->entries = table->entries;
	ledger_leave(record, *mapping ? 0 : -ENOMEM);
	return *mapping ? 0 : -ENOMEM;
}

static int use_p2p(u64 address, u64 length)
{
	struct nvidia_p2p_page_table *table = NULL;
	struct nvidia_p2p_dma_mapping *mapping = NULL;
	int err = nvidia_p2p_get_pages(0, 0, address, length, &table, NULL, NULL);

	if (!err)
		err = nvidia_p2p_dma_map_pages(pci_device, table, &mapping);
	kfree(mapping);
	kfree(table);
	return err;
}

TRACED char *nvlink_strcpy(char *to, const char *from)
{
	char *result = strcpy(to, from);

	ledger_leave(
		ledger_enter("nvlink_strcpy", (unsigned long)to, (unsigned long)from, strlen(from)),
		(long)result);
	return result;
}

TRACED void *nvlink_memcpy(void *to, const void *from, size_t size)
{
	void *result = memcpy(to, from, size);

	ledger_leave(ledger_enter("nvlink_memcpy", (unsigned long)to, (unsigned long)from, size),
		     (long)result);
	return result;
}

TRACED void *nvlink_memset(void *to, int value, size_t size)
{
	void *result = memset(to, value, size);

	ledger_leave(ledger_enter("nvlink_memset", (unsigned long)to, value, size), (long)result);
	return result;
}

/* Actions */

static int do_isr(u64 count, u64 unused, const char *text)
{
	return interrupt_devices(count, false);
}

static int do_msix(u64 count, u64 unused, const char *text)
{
	return interrupt_devices(count, true);
}

static int do_xid(u64 code, u64 unused, const char *text)
{
	return report_xid(code, text, false);
}

static int do_xid_log(u64 code, u64 unused, const char *text)
{
	return report_xid(code, text, true);
}

static int do_suspend(u64 unused, u64 unused_too, const char *text)
{
	return nvidia_suspend(&pci_device->dev, 1, false);
}

static int do_resume(u64 unused, u64 unused_too, const char *text)
{
	return nvidia_resume(&pci_device->dev, 1);
}

static int do_p2p(u64 address, u64 length, const char *text)
{
	return use_p2p(address, length);
}

static int do_strcpy(u64 size, u64 unused, const char *text)
{
	size = min_t(u64, size, sizeof(text_from) - 1);
	memset(text_from, 'x', size);
	text_from[size] = '\0';
	nvlink_strcpy(text_to, text_from);
	return 0;
}

static int do_memcpy(u64 size, u64 unused, const char *text)
{
	nvlink_memcpy(text_to, text_from, min_t(u64, size, sizeof(text_to)));
	return 0;
}

static int do_memset(u64 size, u64 value, const char *text)
{
	nvlink_memset(text_to, value, min_t(u64, size, sizeof(text_to)));
	return 0;
}

static const struct {
	const char *name;
	int (*run)(u64 first, u64 second, const char *text);
} actions[] = {
	{"isr", do_isr},         {"msix", do_msix},     {"xid", do_xid}, {"xid-log", do_xid_log},
	{"suspend", do_suspend}, {"resume", do_resume}, {"p2p", do_p2p}, {"strcpy", do_strcpy},
	{"memcpy", do_memcpy},   {"memset", do_memset},
};

static ssize_t write_action(struct file *file, const char __user *user, size_t size, loff_t *at)
{
	char line[128] = "", name[16] = "";
	u64 first = 0, second = 0;
	int text = 0, err;
	size_t i;

	if (size >= sizeof(line) || copy_from_user(line, user, size))
		return -EINVAL;
	strim(line);
	if (sscanf(line, "%15s %lli %n%lli", name, &first, &text, &second) < 1)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(name, actions[i].name) == 0) {
			err = actions[i].run(first, second, line + text);
			return err ? err : size;
		}
	}
	return -EINVAL;
}

static const struct file_operations action_ops = {
	.owner = THIS_MODULE,
	.write = write_action,
};

/* Loading and unloading */

static const struct file_operations file_ops = {
	.owner = THIS_MODULE,
	.open = nvidia_open,
	.release = nvidia_close,
	.unlocked_ioctl = nvidia_unlocked_ioctl,
	.compat_ioctl = nvidia_unlocked_ioctl,
	.mmap = nvidia_mmap,
	.poll = nvidia_poll,
};

static void init_device(struct nvidia_device *device, unsigned int minor)
{
	device->minor = minor;
	INIT_WORK(&device->bottom_half, run_bottom_half);
	init_completion(&device->done);
#ifdef HRTIMER_SETUP
	hrtimer_setup(&device->interrupt, on_interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&device->interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	device->interrupt.function = on_interrupt;
#endif
	device_create(class, NULL, MKDEV(MAJOR_NUMBER, minor), NULL, "nvidia%u", minor);
}

static int __init load_module(void)
{
	unsigned int i;
	int err = ledger_init("nvidia");

	if (err)
		goto free;
	err = __register_chrdev(MAJOR_NUMBER, 0, 256, "nvidia", &file_ops);
	if (err < 0)
		goto free;
#ifdef CLASS_CREATE_NAME
	class = class_create("nvidia");
#else
	class = class_create(THIS_MODULE, "nvidia");
#endif
	if (IS_ERR(class)) {
		err = PTR_ERR(class);
		goto unregister;
	}
	pci_device = pci_get_device(PCI_ANY_ID, PCI_ANY_ID, NULL);
	device_create(class, NULL, MKDEV(MAJOR_NUMBER, CONTROL_MINOR), NULL, "nvidiactl");
	for (i = 0; i < DEVICES; i++)
		init_device(&devices[i], i);
	debugfs_create_file("do", 0200, ledger.directory, NULL, &action_ops);
	return 0;
unregister:
	__unregister_chrdev(MAJOR_NUMBER, 0, 256, "nvidia");
free:
	ledger_free();
	return err;
}

static void __exit unload_module(void)
{
	unsigned int i;

	for (i = 0; i < DEVICES; i++) {
		hrtimer_cancel(&devices[i].interrupt);
		cancel_work_sync(&devices[i].bottom_half);
		device_destroy(class, MKDEV(MAJOR_NUMBER, i));
	}
	device_destroy(class, MKDEV(MAJOR_NUMBER, CONTROL_MINOR));
	class_destroy(class);
	__unregister_chrdev(MAJOR_NUMBER, 0, 256, "nvidia");
	pci_dev_put(pci_device);
	ledger_free();
}

module_init(load_module);
module_exit(unload_module);
MODULE_DESCRIPTION("NVIDIA's driver, for tests of tracers");
MODULE_VERSION("0.0-test");
MODULE_LICENSE("Dual BSD/GPL");
