# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Programs that use Level Zero, on a driver for tests that executes kernels by OpenCL (PoCL).

load helper
load opencl-kernels

example=$build/examples/level-zero/level-zero-vectoradd

setup() {
	export POCL_CACHE_DIR=$BATS_TEST_TMPDIR
	export ZE_ENABLE_ALT_DRIVERS=$build/tests/programs/level_zero/libze_standin.so
	cd "$BATS_TEST_TMPDIR" || return
	need_file "$ZE_ENABLE_ALT_DRIVERS" "driver of Level Zero for tests (libze-dev, ocl-icd-opencl-dev)"
	need_file "$example" "Level Zero example (libze-dev, clang-14, llvm-spirv-14)"
	clinfo -l 2>/dev/null | grep -q Device || skip "no OpenCL device (pocl-opencl-icd, clinfo)"
}

@test "a program of Level Zero that executes a kernel is traced: its module, kernel and launch" {
	need_probes
	gputap trace -e level-zero -- "$example"
	expect_status 0
	expect_output_line '^262144 sums are right$'
	expect_error_line ' zeModuleCreate .* returned=Success phModule=0x'
	expect_error_line ' zeCommandListAppendLaunchKernel .* grid=1024x1x1 .*block=256x1x1 kernel=add\(0x[0-9a-f]+, 0x[0-9a-f]+, 0x[0-9a-f]+, 0x40000\)'
	expect_error_line '^gputap: 28 calls: 28 complete, 0 unfinished, 0 lost$'
}
