/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "probe/source.h"

/* clang-format off */
static const struct gt_source *const sources[] = {
	&gt_source_cuda,
	&gt_source_cublas,
	&gt_source_cudnn,
	&gt_source_nccl,
	&gt_source_opencl,
	&gt_source_hip,
	&gt_source_hiprtc,
	&gt_source_rocblas,
	&gt_source_miopen,
	&gt_source_level_zero,
	&gt_source_process,
	&gt_source_sched,
	&gt_source_fault,
	&gt_source_block,
	&gt_source_cgroup,
	&gt_source_power,
	&gt_source_fence,
	&gt_source_drm,
	&gt_source_i915,
	&gt_source_xe,
	&gt_source_amdgpu,
	&gt_source_vblank,
	&gt_source_pcie,
	&gt_source_nvidia,
	&gt_source_nvlink,
	&gt_source_nvml,
	&gt_source_syscall,
};
/* clang-format on */

const struct gt_source *const *gt_sources(size_t *ret_count)
{
	*ret_count = gt_countof(sources);
	return sources;
}

const struct gt_source *gt_source_find(const char *name)
{
	for (size_t i = 0; i < gt_countof(sources); i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i];
	return NULL;
}
