// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A DRM driver without a device: two rings of the DRM scheduler, each with a timer as its engine
 * that raises an interrupt of the driver when a job is done, and a CRTC with a timer as its vblank
 * interrupt. It keeps a ledger of what happened, with which tests compare what a tracer shows
 * (fakegpu.h).
 *
 * Each event of the scheduler is bracketed by two stamps (CLOCK_MONOTONIC): the queue event lies
 * between `queue`, the run event between `run`, the done event between `done`.
 */
#include <drm/drm_crtc.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_mode_config.h>
#include <drm/drm_plane.h>
#include <drm/drm_vblank.h>
#include <drm/gpu_scheduler.h>
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sync_file.h>
#include <linux/vmalloc.h>

#include "fakegpu.h"

#define MAX_JOBS 65536
#define MAX_VBLANKS 16384
#define MAX_DEPENDENCIES 2
#define VBLANK_NS 16666667

static unsigned int timeout_ms = 500;
module_param(timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "time limit of a job");

static unsigned int vblank_skip;
module_param(vblank_skip, uint, 0644);
MODULE_PARM_DESC(vblank_skip, "miss the interrupt of every n-th vblank; 0: of none");

/* The ledger. */

struct fence_key {
	u64 context, seqno;
};

struct stamps {
	u64 before, after;
};

struct job_record {
	struct fence_key key; /* of the finished fence */
	struct fence_key hw;  /* of the engine's fence */
	struct fence_key dependencies[MAX_DEPENDENCIES];
	unsigned int ring, dependency_count;
	pid_t pid, tid;
	char comm[TASK_COMM_LEN];
	struct stamps queue, run, done;
	struct stamps interrupt; /* 0: none completed it */
	u64 timeout;
	int error;
};

struct vblank_record {
	u64 sequence;
	struct stamps event;
};

struct fence_totals {
	atomic64_t created, enabled, signaled, released, waits;
};

static struct {
	struct job_record *jobs;
	struct vblank_record *vblanks;
	atomic_t job_count, vblank_count;
	atomic_t pending; /* jobs that are not done */
	struct fence_totals hw, flood;
	struct dentry *directory;
} ledger;

/* The device. */

struct fake_ring {
	struct drm_gpu_scheduler sched;
	spinlock_t lock; /* of all below, and of the fences */
	struct list_head queue;
	struct hrtimer engine;
	bool busy;
	bool held;         /* the engine starts no job */
	atomic64_t raised; /* when the engine raised its interrupt; 0: it has not */
	u64 context, seqno;
	const char *name;
};

struct fake_gpu {
	struct drm_device drm;
	struct drm_crtc crtc;
	struct drm_plane plane;
	struct hrtimer vblank;
	u32 frame;
	int irq; /* of the engines; 0: none */
	struct fake_ring rings[FAKEGPU_RINGS];
};

struct fake_fence {
	struct dma_fence base;
	spinlock_t own_lock;
	struct fence_totals *totals;
	const char *timeline;
	struct list_head node;  /* of fake_ring.queue */
	struct fake_ring *ring; /* NULL: it is no job's */
	bool awaited;
	struct job_record *record;
	u64 duration_ns;
	bool hangs;
};

struct fake_job {
	struct drm_sched_job base;
	struct dma_fence_cb finished;
	struct job_record *record;
	struct fake_fence *hw; /* held */
	u64 duration_ns;
	bool hangs;
};

struct fake_file {
	struct mutex lock;
	struct drm_sched_entity entities[FAKEGPU_RINGS];
	struct dma_fence *last[FAKEGPU_RINGS];
	bool holds; /* at least one ring */
};

static struct platform_device *platform;
static struct fake_gpu *gpu;

static void setup_timer(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{
#ifdef HRTIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = function;
#endif
}

/* Fences */

static struct fake_fence *to_fake_fence(struct dma_fence *fence)
{
	return container_of(fence, struct fake_fence, base);
}

static const char *fence_driver(struct dma_fence *fence)
{
	return "fakegpu";
}

static const char *fence_timeline(struct dma_fence *fence)
{
	return to_fake_fence(fence)->timeline;
}

/*
 * Start the first job of the queue, with the ring's lock held. The scheduler must wait for its
 * fence: else it would complete the job in its thread and not in the interrupt.
 */
static void start_engine(struct fake_ring *ring)
{
	struct fake_fence *first = list_first_entry_or_null(&ring->queue, struct fake_fence, node);

	if (!first || !first->awaited || first->hangs || ring->busy || ring->held)
		return;
	ring->busy = true;
	hrtimer_start(&ring->engine, ns_to_ktime(first->duration_ns), HRTIMER_MODE_REL);
}

static bool fence_enable_signaling(struct dma_fence *base)
{
	struct fake_fence *fence = to_fake_fence(base);

	atomic64_inc(&fence->totals->enabled);
	fence->awaited = true;
	if (fence->ring)
		start_engine(fence->ring);
	return true;
}

static void fence_release(struct dma_fence *fence)
{
	atomic64_inc(&to_fake_fence(fence)->totals->released);
	dma_fence_free(fence);
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_driver,
	.get_timeline_name = fence_timeline,
	.enable_signaling = fence_enable_signaling,
	.release = fence_release,
};

/* `lock` is NULL for a lock of the fence's own. */
static struct fake_fence *new_fence(struct fence_totals *totals, const char *timeline,
				    spinlock_t *lock, u64 context, u64 seqno)
{
	struct fake_fence *fence = kzalloc(sizeof(*fence), GFP_ATOMIC);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->own_lock);
	INIT_LIST_HEAD(&fence->node);
	fence->totals = totals;
	fence->timeline = timeline;
	dma_fence_init(&fence->base, &fence_ops, lock ? lock : &fence->own_lock, context, seqno);
	atomic64_inc(&totals->created);
	return fence;
}

static void signal_fence(struct fake_fence *fence)
{
	atomic64_inc(&fence->totals->signaled);
	dma_fence_signal(&fence->base);
}

/* The engine */

/* Signal the fence of a job that has left the queue. */
static void complete_job(struct fake_fence *fence)
{
	fence->record->done.before = ktime_get_ns();
	signal_fence(fence);
	dma_fence_put(&fence->base);
}

/* Complete the job of an engine that has raised its interrupt. */
static void handle_ring(struct fake_ring *ring, u64 begin)
{
	u64 raised = atomic64_xchg(&ring->raised, 0);
	struct fake_fence *done;
	unsigned long flags;

	if (!raised)
		return;
	spin_lock_irqsave(&ring->lock, flags);
	ring->busy = false;
	done = list_first_entry_or_null(&ring->queue, struct fake_fence, node);
	if (done && !done->hangs)
		list_del_init(&done->node);
	else
		done = NULL;
	spin_unlock_irqrestore(&ring->lock, flags);
	if (done) {
		done->record->interrupt = (struct stamps){raised, begin};
		complete_job(done);
	}
	spin_lock_irqsave(&ring->lock, flags);
	start_engine(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
}

static irqreturn_t handle_interrupt(int irq, void *unused)
{
	u64 begin = ktime_get_ns();
	int i;

	for (i = 0; i < FAKEGPU_RINGS; i++)
		handle_ring(&gpu->rings[i], begin);
	return IRQ_HANDLED;
}

/*
 * The engine: its timer's interrupt raises that of the device. On several CPUs the one of a ring
 * could be lost while another CPU handles that of the other ring: guests have one.
 */
static enum hrtimer_restart on_engine_done(struct hrtimer *timer)
{
	struct fake_ring *ring = container_of(timer, struct fake_ring, engine);

	atomic64_set(&ring->raised, ktime_get_ns());
	generic_handle_irq(gpu->irq);
	return HRTIMER_NORESTART;
}

/* The scheduler's operations */

static struct fake_job *to_fake_job(struct drm_sched_job *job)
{
	return container_of(job, struct fake_job, base);
}

/* The last one to be asked before the run event: no other dependency is left. */
static struct dma_fence *prepare_job(struct drm_sched_job *base, struct drm_sched_entity *entity)
{
	to_fake_job(base)->record->run.before = ktime_get_ns();
	return NULL;
}

static struct dma_fence *run_job(struct drm_sched_job *base)
{
	struct fake_job *job = to_fake_job(base);
	struct fake_ring *ring = container_of(base->sched, struct fake_ring, sched);
	struct fake_fence *fence;
	unsigned long flags;

	job->record->run.after = ktime_get_ns();
	fence = new_fence(&ledger.hw, ring->name, &ring->lock, ring->context, ring->seqno + 1);
	if (!fence)
		return ERR_PTR(-ENOMEM);
	ring->seqno++;
	fence->ring = ring;
	fence->record = job->record;
	fence->duration_ns = job->duration_ns;
	fence->hangs = job->hangs;
	job->record->hw = (struct fence_key){ring->context, ring->seqno};
	job->hw = fence;
	dma_fence_get(&fence->base); /* of the job */
	dma_fence_get(&fence->base); /* of the scheduler */
	spin_lock_irqsave(&ring->lock, flags);
	list_add_tail(&fence->node, &ring->queue);
	spin_unlock_irqrestore(&ring->lock, flags);
	return &fence->base;
}

static enum drm_gpu_sched_stat end_hanging_job(struct drm_sched_job *base)
{
	struct fake_job *job = to_fake_job(base);
	struct fake_ring *ring = container_of(base->sched, struct fake_ring, sched);
	unsigned long flags;
	bool queued;

	spin_lock_irqsave(&ring->lock, flags);
	queued = job->hw && !list_empty(&job->hw->node) && !ring->held;
	if (queued)
		list_del_init(&job->hw->node);
	start_engine(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
#ifndef SCHED_NO_HANG
	/* The scheduler has taken it from the list of jobs that it frees when they are done. */
	spin_lock(&base->sched->job_list_lock);
	list_add(&base->list, &base->sched->pending_list);
	spin_unlock(&base->sched->job_list_lock);
#endif
	if (queued) {
		job->record->timeout = ktime_get_ns();
		job->record->error = -ETIME;
		dma_fence_set_error(&job->hw->base, -ETIME);
		complete_job(job->hw);
	}
#ifdef SCHED_NO_HANG
	return DRM_GPU_SCHED_STAT_NO_HANG;
#else
	return DRM_GPU_SCHED_STAT_NOMINAL;
#endif
}

static void free_job(struct drm_sched_job *base)
{
	struct fake_job *job = to_fake_job(base);

	if (job->hw)
		dma_fence_put(&job->hw->base);
	drm_sched_job_cleanup(base);
	kfree(job);
}

static const struct drm_sched_backend_ops sched_ops = {
#ifdef SCHED_PREPARE_JOB
	.prepare_job = prepare_job,
#else
	.dependency = prepare_job,
#endif
	.run_job = run_job,
	.timedout_job = end_hanging_job,
	.free_job = free_job,
};

/* Submitting */

static struct job_record *new_record(unsigned int ring)
{
	unsigned int number = atomic_inc_return(&ledger.job_count) - 1;
	struct job_record *record;

	if (number >= MAX_JOBS) {
		atomic_dec(&ledger.job_count);
		return NULL;
	}
	record = &ledger.jobs[number];
	memset(record, 0, sizeof(*record));
	record->ring = ring;
	record->pid = task_tgid_nr(current);
	record->tid = task_pid_nr(current);
	get_task_comm(record->comm, current);
	atomic_inc(&ledger.pending);
	return record;
}

static void on_finished(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct fake_job *job = container_of(callback, struct fake_job, finished);

	job->record->done.after = ktime_get_ns();
	atomic_dec(&ledger.pending);
}

static int init_job(struct fake_job *job, struct drm_sched_entity *entity, struct drm_file *file)
{
#if defined(SCHED_JOB_CLIENT)
	return drm_sched_job_init(&job->base, entity, 1, file, file->client_id);
#elif defined(SCHED_JOB_CREDITS)
	return drm_sched_job_init(&job->base, entity, 1, file);
#else
	return drm_sched_job_init(&job->base, entity, file);
#endif
}

/* Add a dependency; takes over the reference. */
static int add_dependency(struct fake_job *job, struct dma_fence *fence)
{
	struct job_record *record = job->record;

	record->dependencies[record->dependency_count++] =
		(struct fence_key){fence->context, fence->seqno};
	return drm_sched_job_add_dependency(&job->base, fence);
}

/* Add the dependencies that are asked for. `first` is set for the first job of a submit. */
static int add_dependencies(struct fake_job *job, struct fake_file *file,
			    const struct fakegpu_submit *submit, bool first)
{
	struct dma_fence *other = file->last[!submit->ring];
	struct dma_fence *fence;
	int err;

	if (submit->flags & FAKEGPU_AFTER_OTHER && other) {
		err = add_dependency(job, dma_fence_get(other));
		if (err)
			return err;
	}
	if (!first || submit->in_fence < 0)
		return 0;
	fence = sync_file_get_fence(submit->in_fence);
	return fence ? add_dependency(job, fence) : -EINVAL;
}

static void push_job(struct fake_job *job, struct fake_file *file, unsigned int ring)
{
	struct job_record *record = job->record;
	struct dma_fence *finished;

	drm_sched_job_arm(&job->base);
	finished = &job->base.s_fence->finished;
	record->key = (struct fence_key){finished->context, finished->seqno};
	dma_fence_put(file->last[ring]);
	file->last[ring] = dma_fence_get(finished);
	dma_fence_add_callback(finished, &job->finished, on_finished);
	record->queue.before = ktime_get_ns();
	drm_sched_entity_push_job(&job->base);
	record->queue.after = ktime_get_ns();
}

static int submit_job(struct drm_file *drm_file, const struct fakegpu_submit *submit, bool first)
{
	struct fake_file *file = drm_file->driver_priv;
	struct fake_job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int err = -ENOMEM;

	if (!job)
		return err;
	job->duration_ns = submit->duration_us * 1000ull;
	job->hangs = submit->flags & FAKEGPU_HANG;
	err = init_job(job, &file->entities[submit->ring], drm_file);
	if (err)
		goto free;
	job->record = new_record(submit->ring);
	if (!job->record) {
		err = -ENOSPC;
		goto cleanup;
	}
	err = add_dependencies(job, file, submit, first);
	if (err)
		goto discard;
	push_job(job, file, submit->ring);
	return 0;
discard:
	atomic_dec(&ledger.pending);
	job->record->error = err;
cleanup:
	drm_sched_job_cleanup(&job->base);
free:
	kfree(job);
	return err;
}

static int return_fence(struct fakegpu_submit *submit, struct dma_fence *fence)
{
	struct sync_file *sync_file;
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		return fd;
	sync_file = sync_file_create(fence);
	if (!sync_file) {
		put_unused_fd(fd);
		return -ENOMEM;
	}
	fd_install(fd, sync_file->file);
	submit->out_fence = fd;
	return 0;
}

static void hold_ring(struct fake_file *file, struct fake_ring *ring)
{
	unsigned long flags;

	file->holds = true;
	spin_lock_irqsave(&ring->lock, flags);
	ring->held = true;
	spin_unlock_irqrestore(&ring->lock, flags);
}

static void release_rings(void)
{
	unsigned long flags;
	int i;

	for (i = 0; i < FAKEGPU_RINGS; i++) {
		struct fake_ring *ring = &gpu->rings[i];

		spin_lock_irqsave(&ring->lock, flags);
		ring->held = false;
		start_engine(ring);
		spin_unlock_irqrestore(&ring->lock, flags);
	}
}

static int submit_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct fakegpu_submit *submit = data;
	struct fake_file *file = drm_file->driver_priv;
	struct dma_fence *last;
	unsigned int i;
	int err = 0;

	if (submit->ring >= FAKEGPU_RINGS || submit->count == 0 || submit->count > MAX_JOBS)
		return -EINVAL;
	mutex_lock(&file->lock);
	if (submit->flags & FAKEGPU_HOLD)
		hold_ring(file, &gpu->rings[submit->ring]);
	for (i = 0; i < submit->count && !err; i++)
		err = submit_job(drm_file, submit, i == 0);
	last = file->last[submit->ring];
	if (last) {
		submit->context = last->context;
		submit->seqno = last->seqno;
	}
	if (!err && submit->flags & FAKEGPU_OUT_FENCE)
		err = return_fence(submit, last);
	mutex_unlock(&file->lock);
	return err;
}

static int wait_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct fakegpu_wait *wait = data;
	struct fake_file *file = drm_file->driver_priv;
	struct dma_fence *fence;
	long left;

	if (wait->ring >= FAKEGPU_RINGS)
		return -EINVAL;
	mutex_lock(&file->lock);
	fence = dma_fence_get(file->last[wait->ring]);
	if (file->holds)
		release_rings();
	file->holds = false;
	mutex_unlock(&file->lock);
	if (!fence)
		return 0;
	left = dma_fence_wait_timeout(fence, true, msecs_to_jiffies(wait->timeout_ms));
	dma_fence_put(fence);
	return left < 0 ? left : left == 0 ? -ETIME : 0;
}

/* Whether the scheduler's callback is on the list of the fence that an entity's job depends on. */
static bool is_blocked(const struct drm_sched_entity *entity)
{
	const struct list_head *node = &entity->cb.node;

	return READ_ONCE(node->next) && READ_ONCE(node->next) != node;
}

static int release_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct fakegpu_release *release = data;
	struct fake_file *file = drm_file->driver_priv;
	u64 end = ktime_get_ns() + release->timeout_ms * 1000000ull;

	if (release->ring >= FAKEGPU_RINGS)
		return -EINVAL;
	while (!is_blocked(&file->entities[release->ring])) {
		if (ktime_get_ns() > end)
			return -ETIME;
		if (msleep_interruptible(1))
			return -EINTR;
	}
#ifdef SCHED_WORK
	/* Newer schedulers report the dependency after they have added the callback. */
	flush_work(&gpu->rings[release->ring].sched.work_run_job);
#endif
	release_rings();
	return 0;
}

/* Many fences */

struct flood_work {
	struct work_struct work;
	struct fake_fence *fence;
};

static void signal_later(struct work_struct *work)
{
	signal_fence(container_of(work, struct flood_work, work)->fence);
}

static int flood_one(u64 context, u64 seqno, bool wait)
{
	struct fake_fence *fence = new_fence(&ledger.flood, "flood", NULL, context, seqno);
	struct flood_work later = {.fence = fence};

	if (!fence)
		return -ENOMEM;
	dma_fence_enable_sw_signaling(&fence->base);
	if (wait) {
		INIT_WORK_ONSTACK(&later.work, signal_later);
		schedule_work(&later.work);
		atomic64_inc(&ledger.flood.waits);
		dma_fence_wait(&fence->base, false);
		flush_work(&later.work);
		destroy_work_on_stack(&later.work);
	} else {
		signal_fence(fence);
	}
	dma_fence_put(&fence->base);
	return 0;
}

static int fences_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct fakegpu_fences *fences = data;
	unsigned int i;
	int err = 0;

	fences->context = dma_fence_context_alloc(1);
	for (i = 0; i < fences->count && !err; i++) {
		err = flood_one(fences->context, i + 1, fences->wait);
		cond_resched();
	}
	return err;
}

/* Configuration space */

static int read_config(struct pci_bus *bus, struct fakegpu_config *config)
{
	u8 byte = 0;
	u16 word = 0;

	switch (config->size) {
	case 1:
		config->result = pci_bus_read_config_byte(bus, config->devfn, config->reg, &byte);
		config->value = byte;
		return 0;
	case 2:
		config->result = pci_bus_read_config_word(bus, config->devfn, config->reg, &word);
		config->value = word;
		return 0;
	case 4:
		config->result =
			pci_bus_read_config_dword(bus, config->devfn, config->reg, &config->value);
		return 0;
	}
	return -EINVAL;
}

static int write_config(struct pci_bus *bus, struct fakegpu_config *config)
{
	unsigned int devfn = config->devfn, reg = config->reg, value = config->value;

	switch (config->size) {
	case 1:
		config->result = pci_bus_write_config_byte(bus, devfn, reg, value);
		return 0;
	case 2:
		config->result = pci_bus_write_config_word(bus, devfn, reg, value);
		return 0;
	case 4:
		config->result = pci_bus_write_config_dword(bus, devfn, reg, value);
		return 0;
	}
	return -EINVAL;
}

static int config_ioctl(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct fakegpu_config *config = data;
	struct pci_bus *bus = pci_find_bus(config->domain, config->bus);

	if (!bus)
		return -ENODEV;
	return config->write ? write_config(bus, config) : read_config(bus, config);
}

/* Files */

static int open_file(struct drm_device *drm, struct drm_file *drm_file)
{
	struct fake_file *file = kzalloc(sizeof(*file), GFP_KERNEL);
	int err = 0, i;

	if (!file)
		return -ENOMEM;
	mutex_init(&file->lock);
	for (i = 0; i < FAKEGPU_RINGS && !err; i++) {
		struct drm_gpu_scheduler *sched = &gpu->rings[i].sched;

		err = drm_sched_entity_init(&file->entities[i], DRM_SCHED_PRIORITY_NORMAL, &sched,
					    1, NULL);
	}
	if (err)
		kfree(file);
	else
		drm_file->driver_priv = file;
	return err;
}

static void close_file(struct drm_device *drm, struct drm_file *drm_file)
{
	struct fake_file *file = drm_file->driver_priv;
	int i;

	if (file->holds)
		release_rings();
	for (i = 0; i < FAKEGPU_RINGS; i++) {
		drm_sched_entity_destroy(&file->entities[i]);
		dma_fence_put(file->last[i]);
	}
	kfree(file);
}

static const struct drm_ioctl_desc ioctls[] = {
	DRM_IOCTL_DEF_DRV(FAKEGPU_SUBMIT, submit_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(FAKEGPU_WAIT, wait_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(FAKEGPU_FENCES, fences_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(FAKEGPU_CONFIG, config_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(FAKEGPU_RELEASE, release_ioctl, DRM_RENDER_ALLOW),
};

static const struct file_operations file_ops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
#ifdef FOP_UNSIGNED_OFFSET
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
};

static const struct drm_driver driver = {
	.driver_features = DRIVER_GEM | DRIVER_MODESET | DRIVER_RENDER | DRIVER_SYNCOBJ,
	.open = open_file,
	.postclose = close_file,
	.ioctls = ioctls,
	.num_ioctls = ARRAY_SIZE(ioctls),
	.fops = &file_ops,
	.name = "fakegpu",
	.desc = "GPU of tests",
#ifdef DRM_DRIVER_DATE
	.date = "20260101",
#endif
	.major = 1,
};

/* The CRTC */

static enum hrtimer_restart on_vblank(struct hrtimer *timer)
{
	unsigned int number;
	struct vblank_record *record;
	bool missed = vblank_skip && (gpu->frame + 1) % vblank_skip == 0;

	hrtimer_forward_now(timer, ns_to_ktime(VBLANK_NS));
	gpu->frame++;
	if (missed)
		return HRTIMER_RESTART;
	number = atomic_read(&ledger.vblank_count);
	record = number < MAX_VBLANKS ? &ledger.vblanks[number] : NULL;
	if (record)
		record->event.before = ktime_get_ns();
	if (drm_crtc_handle_vblank(&gpu->crtc) && record) {
		record->sequence = drm_crtc_vblank_count(&gpu->crtc);
		record->event.after = ktime_get_ns();
		atomic_inc(&ledger.vblank_count);
	}
	return HRTIMER_RESTART;
}

static int enable_vblank(struct drm_crtc *crtc)
{
	hrtimer_start(&gpu->vblank, ns_to_ktime(VBLANK_NS), HRTIMER_MODE_REL);
	return 0;
}

static void disable_vblank(struct drm_crtc *crtc)
{
	hrtimer_try_to_cancel(&gpu->vblank);
}

static u32 frame_counter(struct drm_crtc *crtc)
{
	return gpu->frame;
}

static const struct drm_crtc_funcs crtc_funcs = {
	.destroy = drm_crtc_cleanup,
	.enable_vblank = enable_vblank,
	.disable_vblank = disable_vblank,
	.get_vblank_counter = frame_counter,
};

static const struct drm_plane_funcs plane_funcs = {.destroy = drm_plane_cleanup};
static const struct drm_mode_config_funcs mode_funcs = {};
static const u32 formats[] = {DRM_FORMAT_XRGB8888};

static int init_crtc(void)
{
	struct drm_device *drm = &gpu->drm;
	int err = drmm_mode_config_init(drm);

	if (err)
		return err;
	drm->mode_config.funcs = &mode_funcs;
	drm->mode_config.max_width = 4096;
	drm->mode_config.max_height = 4096;
	err = drm_universal_plane_init(drm, &gpu->plane, 1, &plane_funcs, formats, 1, NULL,
				       DRM_PLANE_TYPE_PRIMARY, NULL);
	if (err)
		return err;
	err = drm_crtc_init_with_planes(drm, &gpu->crtc, &gpu->plane, NULL, &crtc_funcs, NULL);
	if (err)
		return err;
	err = drm_vblank_init(drm, 1);
	drm->max_vblank_count = 0xffffffff;
	return err;
}

/* debugfs */

static void show_stamps(struct seq_file *file, const char *name, const struct stamps *stamps)
{
	seq_printf(file, ",\"%s\":[%llu,%llu]", name, stamps->before, stamps->after);
}

static int jobs_show(struct seq_file *file, void *unused)
{
	unsigned int count = atomic_read(&ledger.job_count), i, k;

	for (i = 0; i < count; i++) {
		const struct job_record *job = &ledger.jobs[i];

		seq_printf(file, "{\"ring\":\"%s\",\"context\":%llu,\"seqno\":%llu",
			   gpu->rings[job->ring].name, job->key.context, job->key.seqno);
		seq_printf(file, ",\"hw_context\":%llu,\"hw_seqno\":%llu", job->hw.context,
			   job->hw.seqno);
		seq_printf(file, ",\"pid\":%d,\"tid\":%d,\"comm\":\"%s\"", job->pid, job->tid,
			   job->comm);
		show_stamps(file, "queue", &job->queue);
		show_stamps(file, "run", &job->run);
		show_stamps(file, "done", &job->done);
		show_stamps(file, "interrupt", &job->interrupt);
		seq_printf(file, ",\"irq\":%d,\"timeout\":%llu,\"error\":%d,\"dependencies\":[",
			   gpu->irq, job->timeout, job->error);
		for (k = 0; k < job->dependency_count; k++)
			seq_printf(file, "%s[%llu,%llu]", k ? "," : "",
				   job->dependencies[k].context, job->dependencies[k].seqno);
		seq_puts(file, "]}\n");
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(jobs);

static int vblanks_show(struct seq_file *file, void *unused)
{
	unsigned int count = atomic_read(&ledger.vblank_count), i;

	for (i = 0; i < count; i++) {
		seq_printf(file, "{\"crtc\":0,\"sequence\":%llu", ledger.vblanks[i].sequence);
		show_stamps(file, "event", &ledger.vblanks[i].event);
		seq_puts(file, "}\n");
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vblanks);

static void show_totals(struct seq_file *file, const char *timeline, struct fence_totals *totals)
{
	seq_printf(file,
		   "{\"timelines\":\"%s\",\"created\":%lld,\"enabled\":%lld,\"signaled\":%lld",
		   timeline, (long long)atomic64_read(&totals->created),
		   (long long)atomic64_read(&totals->enabled),
		   (long long)atomic64_read(&totals->signaled));
	seq_printf(file, ",\"released\":%lld,\"waits\":%lld}\n",
		   (long long)atomic64_read(&totals->released),
		   (long long)atomic64_read(&totals->waits));
}

static int fences_show(struct seq_file *file, void *unused)
{
	show_totals(file, "rings", &ledger.hw);
	show_totals(file, "flood", &ledger.flood);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fences);

static ssize_t reset_ledger(struct file *file, const char __user *text, size_t size, loff_t *at)
{
	if (atomic_read(&ledger.pending))
		return -EBUSY;
	atomic_set(&ledger.job_count, 0);
	atomic_set(&ledger.vblank_count, 0);
	memset(&ledger.hw, 0, sizeof(ledger.hw));
	memset(&ledger.flood, 0, sizeof(ledger.flood));
	return size;
}

static const struct file_operations reset_ops = {
	.owner = THIS_MODULE,
	.write = reset_ledger,
};

static int init_ledger(void)
{
	ledger.jobs = vzalloc(array_size(MAX_JOBS, sizeof(*ledger.jobs)));
	ledger.vblanks = vzalloc(array_size(MAX_VBLANKS, sizeof(*ledger.vblanks)));
	if (!ledger.jobs || !ledger.vblanks)
		return -ENOMEM;
	ledger.directory = debugfs_create_dir("fakegpu", NULL);
	debugfs_create_file("jobs", 0444, ledger.directory, NULL, &jobs_fops);
	debugfs_create_file("vblanks", 0444, ledger.directory, NULL, &vblanks_fops);
	debugfs_create_file("fences", 0444, ledger.directory, NULL, &fences_fops);
	debugfs_create_file("reset", 0200, ledger.directory, NULL, &reset_ops);
	return 0;
}

static void free_ledger(void)
{
	debugfs_remove_recursive(ledger.directory);
	vfree(ledger.jobs);
	vfree(ledger.vblanks);
}

/* Loading and unloading */

static int init_sched(struct fake_ring *ring)
{
	const long timeout = msecs_to_jiffies(timeout_ms);
	struct device *device = &platform->dev;
#ifdef SCHED_INIT_ARGS
	const struct drm_sched_init_args args = {
		.ops = &sched_ops,
#ifdef SCHED_ARGS_HAVE_RQS
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
		.credit_limit = 2,
		.timeout = timeout,
		.name = ring->name,
		.dev = device,
	};

	return drm_sched_init(&ring->sched, &args);
#elif defined(SCHED_INIT_CREDITS)
	return drm_sched_init(&ring->sched, &sched_ops, NULL, DRM_SCHED_PRIORITY_COUNT, 2, 0,
			      timeout, NULL, NULL, ring->name, device);
#else
	return drm_sched_init(&ring->sched, &sched_ops, 2, 0, timeout, NULL, NULL, ring->name,
			      device);
#endif
}

/* An interrupt of its own, that no hardware raises. */
static int init_interrupt(void)
{
	/* Without an owner: its handler would keep this module from being unloaded. */
	int irq = __irq_alloc_descs(-1, 0, 1, NUMA_NO_NODE, NULL, NULL);
	int err;

	if (irq < 0)
		return irq;
	irq_set_chip_and_handler(irq, &dummy_irq_chip, handle_simple_irq);
	err = request_irq(irq, handle_interrupt, 0, "fakegpu", NULL);
	if (err)
		irq_free_desc(irq);
	else
		gpu->irq = irq;
	return err;
}

static void stop_interrupt(void)
{
	free_irq(gpu->irq, NULL);
	irq_free_desc(gpu->irq);
}

static void stop_rings(int count)
{
	while (count-- > 0) {
		drm_sched_fini(&gpu->rings[count].sched);
		hrtimer_cancel(&gpu->rings[count].engine);
	}
}

static int init_rings(void)
{
	static const char *const names[FAKEGPU_RINGS] = {"render", "copy"};
	int i, err;

	for (i = 0; i < FAKEGPU_RINGS; i++) {
		struct fake_ring *ring = &gpu->rings[i];

		ring->name = names[i];
		ring->context = dma_fence_context_alloc(1);
		spin_lock_init(&ring->lock);
		INIT_LIST_HEAD(&ring->queue);
		setup_timer(&ring->engine, on_engine_done);
		err = init_sched(ring);
		if (err) {
			stop_rings(i);
			return err;
		}
	}
	return 0;
}

static int init_gpu(void)
{
	int err;

	if (!devres_open_group(&platform->dev, NULL, GFP_KERNEL))
		return -ENOMEM;
	gpu = devm_drm_dev_alloc(&platform->dev, &driver, struct fake_gpu, drm);
	if (IS_ERR(gpu))
		return PTR_ERR(gpu);
	setup_timer(&gpu->vblank, on_vblank);
	err = init_interrupt();
	if (err)
		return err;
	err = init_rings();
	if (err) {
		stop_interrupt();
		return err;
	}
	err = init_crtc();
	if (!err)
		err = drm_dev_register(&gpu->drm, 0);
	if (err) {
		stop_rings(FAKEGPU_RINGS);
		stop_interrupt();
	}
	return err;
}

static int __init load_module(void)
{
	int err = init_ledger();

	if (err)
		goto free;
	platform = platform_device_register_simple("fakegpu", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(platform)) {
		err = PTR_ERR(platform);
		goto free;
	}
	err = init_gpu();
	if (err)
		goto unregister;
	drm_crtc_vblank_on(&gpu->crtc);
	return 0;
unregister:
	platform_device_unregister(platform);
free:
	free_ledger();
	return err;
}

static void __exit unload_module(void)
{
	drm_crtc_vblank_off(&gpu->crtc);
	hrtimer_cancel(&gpu->vblank);
	drm_dev_unregister(&gpu->drm);
	stop_rings(FAKEGPU_RINGS);
	stop_interrupt();
	platform_device_unregister(platform);
	free_ledger();
	rcu_barrier(); /* fences are freed after a grace period */
}

module_init(load_module);
module_exit(unload_module);
MODULE_DESCRIPTION("GPU of tests");
MODULE_LICENSE("Dual BSD/GPL");
