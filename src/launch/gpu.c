/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "launch/gpu.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/installed.h"
#include "base/strbuf.h"
#include "elf/elf.h"

#define TEXTS_LIMIT (64u << 20) /* bytes of a program's constants that are looked through */

const char *const gt_gpu_names[] = {
	[GT_GPU_AUTO] = "auto",
	[GT_GPU_NVIDIA] = "nvidia",
	[GT_GPU_SOFT] = "soft",
	NULL,
};

int gt_gpu_parse(const char *text, enum gt_gpu *ret_gpu)
{
	for (size_t i = 0; gt_gpu_names[i]; i++) {
		if (strcmp(text, gt_gpu_names[i]))
			continue;
		*ret_gpu = i;
		return 0;
	}
	return -EINVAL;
}

bool gt_gpu_has_nvidia(void)
{
	return !access("/dev/nvidiactl", F_OK) || !access("/proc/driver/nvidia/version", F_OK) ||
	       !access("/dev/dxg", F_OK); /* the Windows driver, seen from WSL 2 */
}

int gt_gpu_soft_directory(char **ret_directory, struct gt_diag *diag)
{
	const char *chosen = secure_getenv("GPUTAP_SOFTGPU");
	int error = chosen ? gt_installed_try(chosen, "libcuda.so.1", ret_directory)
			   : gt_installed_directory("softgpu", "softgpu", "libcuda.so.1",
						    ret_directory);

	if (!error)
		return 0;
	return gt_diag(diag, -ENOENT, "gpu", chosen,
		       "the software GPU's libraries were not found: build them with 'make', or "
		       "set GPUTAP_SOFTGPU to their directory");
}

int gt_gpu_driver_library(enum gt_gpu gpu, char **ret_path, struct gt_diag *diag)
{
	gt_autofree char *directory = NULL;
	gt_auto_strbuf path = GT_STRBUF_INIT;
	int error;

	if (gpu == GT_GPU_NVIDIA || (gpu == GT_GPU_AUTO && gt_gpu_has_nvidia())) {
		*ret_path = NULL;
		return 0;
	}
	error = gt_gpu_soft_directory(&directory, diag);
	if (error)
		return error;
	gt_strbuf_printf(&path, "%s/libcuda.so.1", directory);
	*ret_path = gt_strbuf_steal(&path);
	return *ret_path ? 0 : gt_diag(diag, -ENOMEM, "gpu", NULL, "out of memory");
}

static bool has(struct gt_elf *elf, const char *name)
{
	const struct gt_elf_symbol *const *symbols;

	return gt_elf_lookup(elf, name, &symbols) > 0;
}

static bool has_text(const struct gt_file *bytes, const char *text)
{
	return memmem(bytes->data, bytes->size, text, strlen(text) + 1);
}

/*
 * Without symbols a runtime inside is recognised by what it looks up in the driver: NVIDIA's asks
 * for its private tables by cuGetExportTable (in libcudart_static.a of CUDA 13.0), which the
 * software GPU's own does not. A program without kernels (`nvcc` keeps them in .nv_fatbin) is left
 * alone.
 */
static bool has_nameless_runtime(struct gt_elf *elf)
{
	gt_auto_file texts = {0};
	uint64_t offset, size;

	return gt_elf_info(elf)->stripped && !gt_elf_section(elf, ".nv_fatbin", &offset, &size) &&
	       !gt_elf_read_section(elf, ".rodata", TEXTS_LIMIT, &texts, NULL) &&
	       has_text(&texts, "cuGetExportTable") && has_text(&texts, "libcuda.so.1");
}

static bool has_static_runtime(struct gt_elf *elf)
{
	/* The software GPU's own, recognised by its table of the driver, may use it. */
	if (has(elf, "cudaLaunchKernel") && has(elf, "cudaMalloc"))
		return !has(elf, "sg_driver");
	return has_nameless_runtime(elf);
}

enum gt_gpu_verdict gt_gpu_decide(enum gt_gpu gpu, const char *program)
{
	gt_auto(elf) struct gt_elf *elf = NULL;

	if (gpu == GT_GPU_NVIDIA || (gpu == GT_GPU_AUTO && gt_gpu_has_nvidia()))
		return GT_GPU_AS_IT_IS;
	if (!gt_elf_open(program, &elf, NULL) && has_static_runtime(elf))
		return GT_GPU_RELINK;
	return GT_GPU_USE_SOFT;
}
