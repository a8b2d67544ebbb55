# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The target spirv: modules of SPIR-V, and their execution on an OpenCL device. PoCL is one on the
# CPU; it takes SPIR-V that llvm-spirv converts. Needs no privileges and no GPU.

load helper

setup_file() {
	# The cache of PoCL would grow with every run.
	export POCL_KERNEL_CACHE=0
}

need_opencl() {
	clinfo -l 2>/dev/null | grep -q Device || skip 'there is no OpenCL device (clinfo -l)'
	local tool
	for tool in llvm-spirv-14 llvm-spirv-15 llvm-spirv; do
		command -v "$tool" >/dev/null && return
	done
	skip 'llvm-spirv is not installed'
}

# program SOURCE: compiles eBPF with the declarations of gputap's header.
program() {
	printf '#include <gputap/bpf.h>\n%s\nchar LICENSE[] SEC("license") = "GPL";\n' "$1" \
		>"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
}

# on_both ARGUMENTS…: runs exec on the interpreter, then on an OpenCL device; the results must be equal.
on_both() {
	gputap exec "$@"
	expect_status 0
	local first=$output
	gputap exec --on opencl "$@"
	expect_status 0
	[ "$output" = "$first" ] || fail "the interpreter prints: $first"
}

@test "compile --target spirv writes a module that spirv-val accepts" {
	need_command spirv-val
	local name
	for name in hotloop threadhist divergence stall; do
		gputap compile --target spirv "$build/programs/$name.bpf.o" -o "$BATS_TEST_TMPDIR/out.spv"
		expect_status 0
		spirv-val --target-env spv1.0 "$BATS_TEST_TMPDIR/out.spv"
	done
	# Each program is a kernel.
	spirv-dis "$BATS_TEST_TMPDIR/out.spv" | grep -q 'OpEntryPoint Kernel .* "gputap_'
}

@test "compile --target spirv writes the same module every time" {
	gputap compile --target spirv "$build/programs/stall.bpf.o" -o "$BATS_TEST_TMPDIR/one.spv"
	gputap compile --target spirv "$build/programs/stall.bpf.o" -o "$BATS_TEST_TMPDIR/two.spv"
	cmp "$BATS_TEST_TMPDIR/one.spv" "$BATS_TEST_TMPDIR/two.spv"
}

@test "the host sets addresses of maps by specialization constants" {
	need_command spirv-dis
	program 'GPUTAP_ARRAY(first, unsigned long long, 4); GPUTAP_ARRAY(second, unsigned long long, 4);
		SEC("gpu/run") long run(void *memory) { unsigned int key = 1;
			bpf_map_add(&first, &key, 1); bpf_map_add(&second, &key, 2); return 0; }'
	gputap compile --target spirv "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/out.spv"
	expect_status 0
	run spirv-dis "$BATS_TEST_TMPDIR/out.spv"
	expect_output_line 'OpDecorate %.* SpecId 0$'
	expect_output_line 'OpDecorate %.* SpecId 2$'
	expect_output_line 'OpSpecConstant %ulong 0$'
}

@test "compile --target spirv rejects by name what OpenCL does not have" {
	program 'SEC("gpu/run") long run(void *memory) { return bpf_warp_ballot(1); }'
	gputap compile --target spirv "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/out.spv"
	expect_status 1
	[[ $stderr == 'gputap: run: insn 1: the target spirv does not support warp_ballot, which needs values of other lanes'* ]]
	program 'SEC("gpu/run") long run(void *memory) { return bpf_get_globaltimer(); }'
	gputap compile --target spirv "$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/out.spv"
	expect_status 1
	[[ $stderr == 'gputap: run: insn 0: the target spirv does not have a clock of the device'* ]]
}

# need_sub_groups: an OpenCL device that exchanges values between work-items.
need_sub_groups() {
	need_opencl
	clinfo 2>/dev/null | grep 'Device Extensions' | grep -w cl_khr_subgroup_shuffle |
		grep -qw cl_khr_subgroup_ballot ||
		skip 'no OpenCL device has cl_khr_subgroup_ballot and cl_khr_subgroup_shuffle (PoCL 6 does)'
}

warp_program() {
	program 'GPUTAP_ARRAY(sums, unsigned long long, 256);
		SEC("gpu/run") long mask(void *memory) { return bpf_warp_active_mask(); }
		SEC("gpu/run") long ballot(void *memory) {
			unsigned long votes = 0;
			for (int i = 0; i < 7; i++)
				votes = votes * 3 + bpf_warp_ballot((bpf_get_lane_id() >> (i % 5)) & 1);
			return votes; }
		SEC("gpu/run") long shuffle(void *memory) {
			return bpf_warp_shuffle(bpf_flat_thread_id() * 0x100000001ULL,
				bpf_get_lane_id() + 9); }
		SEC("gpu/run") long sum(void *memory) {
			return bpf_warp_sum(bpf_flat_thread_id() * 0x10000000ULL); }
		SEC("gpu/memory.warp/*") long lanes(struct gputap_context *ctx) {
			unsigned int warp = bpf_flat_warp_id() & 255;
			unsigned long value = bpf_warp_lane_value(GPUTAP_LANE_THREAD_X, 3) +
				1000 * bpf_warp_distinct(GPUTAP_LANE_THREAD_X, 1) +
				1000000 * bpf_warp_stride(GPUTAP_LANE_THREAD_X);
			bpf_map_add(&sums, &warp, ctx->mask + value);
			return value; }
		SEC("gpu/run") long some(void *memory) {
			return bpf_get_lane_id() & 1 ? bpf_warp_active_mask() : 5; }'
}

# words MODULE: its instructions, without the ids.
words() {
	spirv-dis --no-header --no-indent "$1" | sed -E 's/%[A-Za-z0-9_]+ = //'
}

@test "compile --features sub-groups writes operations of sub-groups that spirv-val accepts" {
	need_command spirv-val
	need_command spirv-dis
	local out=$BATS_TEST_TMPDIR/out.spv features
	warp_program
	for features in sub-groups sub-groups,sub-groups-of-32; do
		gputap compile --target spirv --features "$features" "$BATS_TEST_TMPDIR/program.o" -o "$out"
		expect_status 0
		spirv-val --target-env spv1.3 "$out"
	done
	run words "$out"
	expect_output_line '^OpGroupNonUniformBallot %v4uint %uint_3 '
	expect_output_line '^OpGroupNonUniformShuffle %ulong %uint_3 |^OpGroupNonUniformShuffle %uint %uint_3 '
	expect_output_line '^OpExecutionMode %gputap_ballot SubgroupSize 32$'
	gputap compile --target spirv --features sub-groups --prog sum "$BATS_TEST_TMPDIR/program.o" -o "$out"
	run words "$out"
	expect_no_output_line OpExecutionMode
	expect_no_output_line SubgroupDispatch
	# What needs no sub-groups has none.
	gputap compile --target spirv --features sub-groups,sub-groups-of-32 \
		"$build/programs/hotloop.bpf.o" -o "$out"
	expect_status 0
	run words "$out"
	expect_no_output_line 'Subgroup|GroupNonUniform'
	spirv-val --target-env spv1.0 "$out"
}

@test "compile --features uniform-sub-groups rejects the mask of lanes that diverge" {
	warp_program
	gputap compile --target spirv --features uniform-sub-groups --prog some \
		"$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/out.spv"
	expect_status 1
	[[ $stderr == 'gputap: some: insn '*': the target spirv does not have the mask of active lanes where they diverge (the device has uniform-sub-groups)'* ]]
	gputap compile --target spirv --features sub-groups --prog some \
		"$BATS_TEST_TMPDIR/program.o" -o "$BATS_TEST_TMPDIR/out.spv"
	expect_status 0
}

@test "compile --features with a clock reads it in its scope, and still rejects nanoseconds" {
	need_command spirv-dis
	local out=$BATS_TEST_TMPDIR/out.spv
	program 'SEC("gpu/run") long ticks(void *memory) { return bpf_clock64(); }
		SEC("gpu/run") long random(void *memory) { return bpf_get_prandom_u32(); }
		SEC("gpu/run") long time(void *memory) { return bpf_get_globaltimer(); }'
	gputap compile --target spirv --prog ticks "$BATS_TEST_TMPDIR/program.o" -o "$out"
	expect_status 1
	[[ $stderr == 'gputap: ticks: insn 0: the target spirv does not have a clock of the device'* ]]
	gputap compile --target spirv --features device-clock --prog ticks "$BATS_TEST_TMPDIR/program.o" -o "$out"
	expect_status 0
	run words "$out"
	expect_output_line '^OpCapability ShaderClockKHR$'
	expect_output_line '^OpExtension "SPV_KHR_shader_clock"$'
	expect_output_line '^OpReadClockKHR %ulong %uint_1$'
	gputap compile --target spirv --features device-clock,sub-group-clock --prog random \
		"$BATS_TEST_TMPDIR/program.o" -o "$out"
	expect_status 0
	run words "$out"
	expect_output_line '^OpReadClockKHR %ulong %uint_3$'
	[ "$(grep -c OpExtension <<<"$output")" = 1 ]
	gputap compile --target spirv --features device-clock,sub-group-clock --prog time \
		"$BATS_TEST_TMPDIR/program.o" -o "$out"
	expect_status 1
	[[ $stderr == 'gputap: time: insn 0: the target spirv does not have a clock of the device in nanoseconds'* ]]
}

@test "compile --features names what it does not know, and is for the target spirv" {
	warp_program
	gputap compile --target spirv --features sub-groups,clocks "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 2
	expect_error "gputap: invalid value 'clocks' for --features (one of: sub-groups, uniform-sub-groups, sub-groups-of-32, sub-group-clock, device-clock) (try 'gputap compile --help')"
	gputap compile --features sub-groups "$BATS_TEST_TMPDIR/program.o" -o -
	expect_status 2
	expect_error "gputap: --features needs --target spirv (try 'gputap compile --help')"
}

@test "exec --on opencl exchanges values between work-items where the device has sub-groups" {
	need_sub_groups
	local name block
	warp_program
	for name in mask ballot shuffle sum lanes; do
		for block in 32 8x4 5x3x2; do
			on_both --prog "$name" --grid 3 --block "$block" --all --maps \
				"$BATS_TEST_TMPDIR/program.o"
		done
	done
}

@test "exec --on opencl reads clocks, by a counter that a kernel was seen to read" {
	need_opencl
	need_cycle_counter
	local before between after
	program 'SEC("gpu/run") long run(void *memory) { return bpf_get_globaltimer(); }'
	# The interpreter reads CLOCK_MONOTONIC.
	before=$("$build/gputap" exec "$BATS_TEST_TMPDIR/program.o")
	gputap exec --on opencl "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	between=$output
	after=$("$build/gputap" exec "$BATS_TEST_TMPDIR/program.o")
	((0x$before < 0x$between && 0x$between < 0x$after)) || fail "$before, $between, $after"
	program 'SEC("gpu/run") long run(void *memory) {
		unsigned long long clock = bpf_clock64(), time = bpf_ktime_get_ns();
		return (bpf_clock64() >= clock) + 2 * (bpf_ktime_get_ns() >= time) +
			4 * (bpf_get_prandom_u32() != bpf_get_prandom_u32()); }'
	gputap exec --on opencl "$BATS_TEST_TMPDIR/program.o"
	expect_output 7
}

@test "exec --on opencl prints what the interpreter prints" {
	need_opencl
	program 'GPUTAP_ARRAY(sums, unsigned long long, 4);
		GPUTAP_MAP(seen, GPUTAP_MAP_HASH, unsigned int, unsigned long long, 256);
		SEC("gpu/run") long run(unsigned char *memory, unsigned long size) {
			unsigned int key = bpf_flat_thread_id() & 3, thread = bpf_flat_thread_id();
			bpf_map_add(&sums, &key, thread);
			bpf_map_add(&seen, &thread, 1);
			if (size == 4) memory[thread & 3] = (thread & 3) + 1;
			return thread * 16; }'
	on_both --grid 2x2 --block 4x2x3 --all --mem 00000000 --show-memory \
		"$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^95: 5f0$'
	expect_output_line '01 ?02 ?03 ?04'
	gputap exec --grid 2x2 --block 4x2x3 --maps "$BATS_TEST_TMPDIR/program.o" --mem 00000000
	local first
	first=$(sort <<<"$output")
	gputap exec --on opencl --grid 2x2 --block 4x2x3 --maps "$BATS_TEST_TMPDIR/program.o" \
		--mem 00000000
	[ "$(sort <<<"$output")" = "$first" ]
}

@test "exec --on opencl runs programs once per warp or block by their level" {
	need_opencl
	program 'GPUTAP_ARRAY(hits, unsigned long long, 4);
		SEC("gpu/entry.warp/*") long warp(struct gputap_context *ctx) {
			unsigned int key = ctx->warp;
			bpf_map_add(&hits, &key, 1);
			return ctx->mask; }
		SEC("gpu/exit.block/*") long block(struct gputap_context *ctx) {
			unsigned int key = 3;
			bpf_map_add(&hits, &key, ctx->block_size_x);
			return bpf_flat_block_id() + 0x10; }'
	on_both --prog warp --grid 2 --block 40 --all --maps "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^0: ffffffff$'
	expect_output_line '^3: ff$'
	expect_output_line '^  1: 2$'
	expect_no_output_line '^4: '
	on_both --prog block --grid 2 --block 40 --all --maps "$BATS_TEST_TMPDIR/program.o"
	expect_output_line '^1: 11$'
	expect_output_line '^  3: 80$'
}

@test "maps on the host are served, and rings and texts are read, while OpenCL runs a program" {
	need_opencl
	program 'GPUTAP_MAP(seen, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 64);
		GPUTAP_RING(records, 65536);
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = bpf_flat_thread_id();
			unsigned long long value = 7 + key, *found, *record;
			bpf_map_update_elem(&seen, &key, &value, 0);
			found = bpf_map_lookup_elem(&seen, &key);
			record = bpf_ringbuf_reserve(&records, 8, 0);
			if (record) { *record = key; bpf_ringbuf_submit(record, 0); }
			if (!key) bpf_printk("thread %d", key);
			return found ? *found : 0; }'
	gputap exec --on opencl --block 32 --all --maps "$BATS_TEST_TMPDIR/program.o"
	expect_status 0
	expect_output_line '^31: 26$'
	[[ $stderr == *'thread 0'* ]]
	gputap exec --on opencl --block 32 --maps --json "$BATS_TEST_TMPDIR/program.o"
	expect_json '.[0] | .on == "opencl" and (.devices[0].name | length) > 0 and
		.devices[0].calls_lost == 0 and
		(.devices[0].maps | map({(.name): (.entries | length)}) | add) == {"seen": 32, "records": 32}'
}

@test "gpurun --on opencl counts the bytes of a file" {
	need_opencl
	gputap gpurun --on interp --block 32 --mem-file "$root/LICENSE" "$build/examples/histogram.bpf.o"
	expect_status 0
	local first=$output
	gputap gpurun --on opencl --block 32 --mem-file "$root/LICENSE" "$build/examples/histogram.bpf.o"
	expect_status 0
	[ "$output" = "$first" ]
}

# on_oclgrind OBJECT OPTIONS…: exec on the simulator, which reports no access outside of its memory.
on_oclgrind() {
	need_file /usr/lib/oclgrind/liboclgrind-rt-icd.so "Oclgrind (oclgrind)"
	: >"$BATS_TEST_TMPDIR/reports"
	OCL_ICD_VENDORS=/usr/lib/oclgrind/liboclgrind-rt-icd.so OCLGRIND_LOG=$BATS_TEST_TMPDIR/reports \
		gputap exec --on opencl "${@:2}" "$1"
	[ ! -s "$BATS_TEST_TMPDIR/reports" ] || fail "$(head -n 20 "$BATS_TEST_TMPDIR/reports")"
}

@test "exec --on opencl copies the maps to a device with memory of its own, and reports it" {
	need_opencl
	program 'GPUTAP_MAP(seen, GPUTAP_MAP_HASH, unsigned int, unsigned long long, 64);
		GPUTAP_RING(records, 4096);
		unsigned long long sum = 5;
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = bpf_flat_thread_id() & 63;
			unsigned long long value = 7 + key, *found, *record;
			bpf_map_update_elem(&seen, &key, &value, 0);
			found = bpf_map_lookup_elem(&seen, &key);
			record = bpf_ringbuf_reserve(&records, 8, 0);
			if (record) { *record = key; bpf_ringbuf_submit(record, 0); }
			__sync_fetch_and_add(&sum, key);
			if (!key) bpf_printk("thread %d", key);
			return found ? *found : 0; }'
	on_oclgrind "$BATS_TEST_TMPDIR/program.o" --block 32 --all --maps --json
	expect_status 0
	expect_error 'gputap: Oclgrind Simulator does not access the memory of this process: the maps are copied to it before the program runs, and back at its end'
	expect_json '.[0].devices[0] | .results[31] == "0x26" and .output == "thread 0\n"'
	expect_json '.[0].devices[0].maps | map({(.name): (.entries | length)}) | add |
		.seen == 32 and .records == 32'
	expect_json '.[0] | [.devices[0].maps[], .shared[]] | map(select(.name | test("data"))) |
		map(.entries[].value.sum) == [501]'
}

@test "exec --on opencl rejects maps on the host for a device with memory of its own" {
	need_opencl
	program 'GPUTAP_MAP(seen, GPUTAP_MAP_LRU_HASH, unsigned int, unsigned long long, 64);
		SEC("gpu/run") long run(void *memory) {
			unsigned int key = 1;
			return bpf_map_lookup_elem(&seen, &key) != 0; }'
	on_oclgrind "$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_error_line '^gputap: insn [0-9]+: a map on the host needs a device that accesses the memory of the process$'
}

@test "exec --on opencl reports what is missing" {
	need_opencl
	local hex='b7000000070000009500000000000000'
	mkdir "$BATS_TEST_TMPDIR/empty"
	OCL_ICD_VENDORS="$BATS_TEST_TMPDIR/empty" gputap exec --raw --on opencl <<<"$hex"
	expect_status 1
	[[ $stderr == 'gputap: there is no OpenCL device: install a driver, or pocl-opencl-icd for the CPU'* ]]
	gputap exec --raw --on opencl --device 77 <<<"$hex"
	expect_status 1
	[[ $stderr == 'gputap: there is no OpenCL device 77: '*' numbered from 0' ]]
	gputap exec --raw --on opencl:77 <<<"$hex"
	expect_status 1
	[[ $stderr == 'gputap: there is no OpenCL device 77: '* ]]
	gputap exec --raw --on opencl:0 <<<"$hex"
	expect_status 0
	expect_output 7
	gputap exec --raw --on gpu:0 <<<"$hex"
	expect_status 2
	expect_error "gputap: invalid value 'gpu:0' for --on (one of: interp, gpu, opencl, opencl:N) (try 'gputap exec --help')"
	gputap exec --raw --on opencl:0 --device 0 <<<"$hex"
	expect_status 2
	observe env PATH="$BATS_TEST_TMPDIR/empty" "$build/gputap" exec --raw --on opencl <<<"$hex"
	expect_status 1
	[[ $stderr == *'install llvm-spirv-14 or newer' ]]
}

@test "exec --on opencl gives up on a program that takes too long" {
	need_opencl
	program 'SEC("gpu/run") long run(unsigned long *memory, unsigned long size) {
			unsigned long sum = 0;
			for (unsigned i = 0; i < 100000 && size >= 8; i++)
				sum += __sync_fetch_and_add(memory, 1);
			return sum; }'
	gputap exec --on opencl --grid 4096 --block 256 --mem-size 64 --time-limit 200ms \
		"$BATS_TEST_TMPDIR/program.o"
	expect_status 1
	expect_error_line 'the program did not end within 200 ms'
}
