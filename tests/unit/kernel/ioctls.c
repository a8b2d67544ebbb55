/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of ioctl commands by the kind of file. */
#include "kernel/ioctls.h"

#include <asm/ioctls.h>
#include <linux/types.h>

#include "tap.h"

static const char *nvidia(__u32 command)
{
	return gt_ioctl_name(GT_IOCTL_NVIDIA, command);
}

TEST("commands of NVIDIA's driver are found by type and number, whatever their size")
{
	CHECK_STR(nvidia(0xc020462a), "NV_ESC_RM_CONTROL");
	CHECK_STR(nvidia(0xc010462a), "NV_ESC_RM_CONTROL");
	CHECK_STR(nvidia(0xc030462b), "NV_ESC_RM_ALLOC");
	CHECK_STR(nvidia(_IOWR('F', GT_NV_ESC_IOCTL_XFER_CMD, __u64)), "NV_ESC_IOCTL_XFER_CMD");
	CHECK(!nvidia(0xc0204600 | 0xff));
	CHECK(!nvidia(0xc020472a));
}

TEST("commands of UVM are plain numbers")
{
	CHECK_STR(gt_ioctl_name(GT_IOCTL_UVM, 0x30000001), "UVM_INITIALIZE");
	CHECK_STR(gt_ioctl_name(GT_IOCTL_UVM, 1), "UVM_RESERVE_VA");
	CHECK_STR(gt_ioctl_name(GT_IOCTL_UVM, 25), "UVM_REGISTER_GPU_VASPACE");
	CHECK(!gt_ioctl_name(GT_IOCTL_UVM, 0x10001));
	CHECK(!gt_ioctl_name(GT_IOCTL_NVIDIA, 25));
}

TEST("drivers of DRM have the same numbers for different commands, and those of DRM")
{
	CHECK_STR(gt_ioctl_name(GT_IOCTL_DRM, 0xc0406400), "DRM_IOCTL_VERSION");
	CHECK_STR(gt_ioctl_name(GT_IOCTL_I915, 0xc0406400), "DRM_IOCTL_VERSION");
	CHECK_STR(gt_ioctl_name(GT_IOCTL_AMDGPU, 0xc0206440), "DRM_IOCTL_AMDGPU_GEM_CREATE");
	CHECK_STR(gt_ioctl_name(GT_IOCTL_XE, 0xc0186440), "DRM_IOCTL_XE_DEVICE_QUERY");
	CHECK(!gt_ioctl_name(GT_IOCTL_DRM, 0xc0186440));
}

TEST("of two commands with the same number, the one with this direction and size is found")
{
	CHECK_STR(gt_ioctl_name(GT_IOCTL_I915, 0x40406469), "DRM_IOCTL_I915_GEM_EXECBUFFER2");
	CHECK_STR(gt_ioctl_name(GT_IOCTL_I915, 0xc0406469), "DRM_IOCTL_I915_GEM_EXECBUFFER2_WR");
}

TEST("commands of KFD and of other files are those of the headers")
{
	CHECK_STR(gt_ioctl_name(GT_IOCTL_KFD, 0xc0584b02), "AMDKFD_IOC_CREATE_QUEUE");
	CHECK_STR(gt_ioctl_name(GT_IOCTL_OTHER, TCGETS), "TCGETS");
	CHECK_STR(gt_ioctl_name(GT_IOCTL_NVIDIA, FIOCLEX), "FIOCLEX");
	CHECK(!gt_ioctl_name(GT_IOCTL_OTHER, 0xc020462a));
	CHECK(!gt_ioctl_name(GT_IOCTL_FILES, TCGETS));
}

TEST("commands of the resource manager are found by their number")
{
	CHECK_STR(gt_rm_control_name(0x20800102), "NV2080_CTRL_CMD_GPU_GET_INFO_V2");
	CHECK_STR(gt_rm_control_name(0), "NV0000_CTRL_CMD_NULL");
	CHECK(!gt_rm_control_name(0x20800003));
	CHECK(!gt_rm_control_name(~0U));
}

TEST("a file is recognized by its module, its major number and its path")
{
	CHECK_INT(gt_ioctl_file("nvidia", 195, "/dev/nvidiactl"), GT_IOCTL_NVIDIA);
	CHECK_INT(gt_ioctl_file("nvidia_uvm", 508, "/dev/nvidia-uvm"), GT_IOCTL_UVM);
	CHECK_INT(gt_ioctl_file("", 508, "/dev/nvidia-uvm"), GT_IOCTL_UVM);
	CHECK_INT(gt_ioctl_file("", 508, "/host/dev/nvidia0"), GT_IOCTL_NVIDIA);
	CHECK_INT(gt_ioctl_file("", 195, ""), GT_IOCTL_NVIDIA);
	CHECK_INT(gt_ioctl_file("i915", 226, "/dev/dri/renderD128"), GT_IOCTL_I915);
	CHECK_INT(gt_ioctl_file("", 226, "/dev/dri/renderD128"), GT_IOCTL_DRM);
	CHECK_INT(gt_ioctl_file("unheard_of", 226, ""), GT_IOCTL_DRM);
	CHECK_INT(gt_ioctl_file("amdgpu", 235, "/dev/kfd"), GT_IOCTL_KFD);
	CHECK_INT(gt_ioctl_file("", 0, "/home/nvidia-smi"), GT_IOCTL_OTHER);
	CHECK_INT(gt_ioctl_file("", 0, ""), GT_IOCTL_OTHER);
}

TEST_MAIN
