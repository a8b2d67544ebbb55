# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# GPU programs in the kernels of small OpenCL programs of the kinds that public samples have: these
# print the same results, to the bit, and each site is patched or rejected. Needs no GPU.

load helper
load opencl-kernels

# patched MODULES COMMAND…: on all samples. The report is $output; so many modules have programs.
patched() {
	run_samples "${@:2}" --gpu soft --json
	expect_error_line "^gputap: 11 modules: $1 patched \($1 side, 0 whole\), 0 SASS only, 0 failed; "
	[[ $stderr =~ ' compiled; '([0-9]+)' sites: '([0-9]+)' patched, '([0-9]+)' rejected' ]]
	((BASH_REMATCH[1] == BASH_REMATCH[2] + BASH_REMATCH[3] && BASH_REMATCH[2] > 0))
}

# The launches of all samples: kernel, work-items and work-groups of each.
all_launches='[["histogram", 256, 4], ["scan", 512, 8], ["add_sums", 512, 8], ["bitonic", 128, 2],
	["nbody", 128, 4], ["mandelbrot", 1024, 32], ["transpose", 1536, 6], ["stencil", 1024, 16],
	["search", 4096, 32], ["reduction", 512, 8], ["scale", 1024, 16], ["scale", 1024, 16],
	["scale", 1024, 16], ["scale", 1024, 16], ["convolve", 512, 8]]'

@test "samples of OpenCL have the same results with programs at the ends of work-items and groups" {
	patched 11 run "$count"
	# Work-items at the start and at the end, work-groups, and warps.
	expect_json '.[0].maps[0].entries | map(.value) == [14336, 14336, 192, 448]'
	expect_json '.[0].coverage | .kernels == 12 and .found == 48 and .patched == 48'
}

@test "samples of OpenCL have the same results in memtrace, which sees their accesses" {
	# The kernel that accesses images alone has no access of memory.
	patched 10 memtrace
	expect_json '.[0].accesses | map(select(.function == "transpose") | [.ptx, .requests, .bytes]) ==
		[["OpLoad", 1536, 12288], ["OpStore", 1536, 12288], ["OpLoad", 1536, 12288], ["OpStore", 1536, 12288]]'
	expect_json '.[0].accesses | map(select(.function == "stencil")) == []'
}

@test "samples of OpenCL have the same results in threadhist, which counts their work-items" {
	patched 11 threadhist
	expect_json '.[0].threads | map(.entries) | add == 14336'
}

@test "samples of OpenCL have the same results in kernelretsnoop and blocktime, which see their launches" {
	need_cycle_counter
	patched 11 kernelretsnoop
	expect_json ".[0].launches | map([.kernel, .threads, .blocks]) == $all_launches"
	patched 11 blocktime
	expect_json ".[0].launches | map([.kernel, .blocks]) == ($all_launches | map([.[0], .[2]]))"
}

# PoCL did not compile kernels with barriers in loops whose first block had become large.
@test "samples of OpenCL have the same results in divergence, which counts their branches" {
	patched 9 divergence
	expect_json '.[0].branches | map(select(.function == "scan") | [.executions, .taken]) ==
		[[3584, 3072], [3072, 504], [512, 8], [3584, 3072], [3072, 504]]'
	# A pass for each work-group before it.
	expect_json '.[0].branches | map(select(.function == "add_sums") | [.executions, .taken]) == [[2304, 1792]]'
}

@test "samples of OpenCL have the same results while they are traced, and each launch has its name" {
	need_probes
	run_samples kernels --json -o kernels.json
	output=$(cat kernels.json)
	expect_json ".[0].kernels | map({(.kernel): .launches}) | add ==
		($all_launches | group_by(.[0]) | map({(.[0][0]): length}) | add)"
}
