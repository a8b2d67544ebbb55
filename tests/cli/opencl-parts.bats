# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# GPU programs in the kernels of OpenCL programs that are linked, or created from SPIR-V and binaries,
# and on other devices, of which a layer of OpenCL's loader is a stand-in.

load helper
load opencl-kernels

test_program=$build/tests/programs/opencl_parts
standin=$build/tests/programs/libopencl-layer.so

# below COMMAND...: runs a command with the stand-in below gputap's layer.
below() {
	gputap run --gpu soft "$count" -- sh -c "OPENCL_LAYERS='$standin':\$OPENCL_LAYERS exec $*"
	expect_status 0
	expect_output_line '^right$'
}

# make_modules [STANDARD]: a file number.spv with the kernel that the test program launches, and
# number.bc, its SPIR, from standard input if the standard is given.
make_modules() {
	local version
	[ $# -gt 0 ] || printf '%s\n' '__kernel void number(__global int *numbers, int first) {' \
		'numbers[get_global_id(0)] = first + (int)get_global_id(0); }' >number.cl
	[ $# = 0 ] || cat >number.cl
	for version in -14 -15 -16 -17 -18 -19 ''; do
		command -v "clang$version" >/dev/null && command -v "llvm-spirv$version" >/dev/null && break
	done
	"clang$version" -c -x cl -cl-std="${1:-CL1.2}" -O0 -Xclang -disable-O0-optnone -target spir64 \
		-emit-llvm -Xclang -finclude-default-header -o clang.bc number.cl
	"llvm-spirv$version" --spirv-max-version=1.0 clang.bc -o number.spv
	"llvm-spirv$version" -r --spirv-target-env=CL1.2 number.spv -o number.bc
}

@test "programs that are compiled and linked are counted, with their headers and options" {
	expect_counts linked 64,64,4,4
	jq -e '.modules == 1 and .modules_patched == 1 and .kernels == 1' <<<"$coverage"
	expect_counts library 64,64,4,4
	expect_counts callback 128,128,8,8
	# What does not link is no program.
	expect_counts unlinked ''
	jq -e '.modules == 0' <<<"$coverage"
}

@test "a program from the bitcode of SPIR is counted, one from the device's own binary is binary only" {
	make_modules
	expect_counts bitcode 64,64,4,4
	gputap run --gpu soft "$count" -- "$test_program" binary
	expect_output_line '^right$'
	expect_output_line '4 of 4 values are zero'
	expect_error_line '^gputap: 2 modules: 1 patched \(1 side, 0 whole\), 0 SASS only, 1 binary only, 0 failed'
	expect_error_line '^gputap: 1 module loaded as it is: no portable intermediate code: it was created from a binary$'
	counted "$count" "$test_program" binary
	jq -e '.modules_binary_only == 1 and .modules_source_only == 0 and .modules_sass_only == 0' <<<"$coverage"
}

@test "kernels in C++ for OpenCL are counted" {
	make_modules clc++ <<-'END'
		template <typename T> struct pair {
			T first, second;
			T sum() const { return first + second; }
		};
		class adder {
			int total = 0;
		public:
			adder &add(int number) { total += number; return *this; }
			int get() const { return total; }
		};
		template <typename F> int apply(F function, int number) { return function(number); }
		kernel void number(global int *numbers, int first) {
			pair<int> both{first, (int)get_global_id(0)};
			numbers[get_global_id(0)] = apply([](int n) { return adder().add(n).get(); }, both.sum());
		}
	END
	below "$test_program" spirv
	expect_output_line '^  0: 64$'
	expect_error_line '^gputap: 1 module: 1 patched '
	expect_counts bitcode 64,64,4,4
}

@test "the kernels of two devices in one context are counted" {
	test_program=$build/tests/programs/opencl_devices
	expect_counts parts 128,128,8,8
}

@test "of devices on two platforms, one has programs where the other needs copies of the maps" {
	need_file /usr/lib/oclgrind/liboclgrind-rt-icd.so "Oclgrind (oclgrind)"
	mkdir vendors
	cp /etc/OpenCL/vendors/pocl.icd vendors/1.icd
	echo /usr/lib/oclgrind/liboclgrind-rt-icd.so >vendors/2.icd
	OCL_ICD_VENDORS=$PWD/vendors gputap run --gpu soft "$count" -- "$build/tests/programs/opencl_devices" all
	expect_status 0
	expect_output_line '^right$'
	expect_output_line '^2 devices$'
	expect_output_line '^  0: 64$'
	expect_error_line '^gputap: 2 modules: 1 patched '
	# The order of the platforms is that of the loader.
	expect_error_line '^gputap: 1 module loaded as it is: (the device needs copies of the maps, and others access them|the maps are copied to an OpenCL device, which needs them alone)$'
}

@test "clones of kernels and tasks are counted" {
	expect_counts clone 128,128,8,8
	expect_counts task 1,1,1,1
}

@test "a program that no GPU program matches is not compiled" {
	fake clang 'echo compiled >>compiled; exit 1'
	gputap run --gpu soft --kernel missing "$count" -- "$test_program" task
	expect_output_line '^right$'
	expect_error_line '^gputap: 1 module: 0 patched \(0 side, 0 whole\), 0 SASS only, 0 failed'
	[ ! -e compiled ]
	gputap run --gpu soft --kernel number "$count" -- "$test_program" task
	[ -e compiled ]
}

@test "a device that takes SPIR-V gets SPIR-V" {
	make_modules
	below "$test_program" spirv
	expect_output_line '^  0: 64$'
	expect_error_line '^gputap: 1 module: 1 patched '
	below "$test_program" linked
	expect_output_line '^  0: 64$'
}

@test "kernels of a device with system memory are allowed to access it" {
	make_modules
	export STANDIN_DEVICE=system
	below "$test_program" spirv
	expect_output_line '^  0: 64$'
	expect_error_line '^system memory 1$'
}

@test "a device that has memory of its own alone gets copies of the maps" {
	make_modules
	export STANDIN_DEVICE=separate
	below "$test_program" spirv
	expect_output_line '^  0: 64$'
	expect_error_line '^gputap: 1 module: 1 patched '
	expect_error_line '^gputap: 1 module for devices that do not access the memory of the process: '
	below "$test_program" clone
	expect_output_line '^  0: 128$'
	below "$build/tests/programs/opencl_launches" queued
	expect_output_line '^  0: 12800$'
}

@test "a layer that the environment names works beside gputap's" {
	make_modules
	OPENCL_LAYERS=$standin gputap run --gpu soft "$count" -- "$test_program" spirv
	expect_output_line '^right$'
	expect_output_line '^  0: 64$'
}

@test "GPU programs and host programs of one object work on an OpenCL program" {
	need_probes
	cat >both.c <<-'END'
		#include <linux/bpf.h>
		#include <bpf/bpf_helpers.h>
		struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __type(key, __u32); __type(value, __u64); } counts SEC(".maps");
		static inline int count(__u32 key) {
			__u64 *value = bpf_map_lookup_elem(&counts, &key);
			if (value) __sync_fetch_and_add(value, 1);
			return 0; }
		SEC("gpu/entry/*") int kernel(void *ctx) { return count(0); }
		SEC("uprobe/libOpenCL.so.1:clEnqueueNDRangeKernel") int launch(void *ctx) { return count(1); }
		char LICENSE[] SEC("license") = "GPL";
	END
	clang -g -O2 -target bpf -I/usr/include/x86_64-linux-gnu -c both.c -o both.o
	gputap run --gpu soft both.o -- "$test_program" linked
	expect_status 0
	expect_output_line '^right$'
	expect_output_line '^  0: 64$'
	expect_output_line '^  1: 1$'
}
