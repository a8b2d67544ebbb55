# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The GPU programs that ship, each a command with a report, on the software GPU. Needs no
# privileges and no GPU.

load helper

tool() {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	gputap "$1" --gpu soft "${@:2}"
	expect_status 0
}

@test "threadhist finds the thread that has less work than the others" {
	tool threadhist -- "$examples/uneven"
	expect_output "$(
		cat <<-'END'
			uneven: 1000000 products are right
			5 threads, 5 entries, 999995 loop iterations
			imbalance: thread 4 has 157891 loop iterations, 75 % of the 210526 of thread 0; the median is 210526
			     ITERATIONS                THREADS
			      131072 .. 262143              5  ########################################
		END
	)"
}

@test "threadhist --json has the counts of every thread" {
	tool threadhist --json -- "$examples/uneven"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].threads | map(.loops) == [210526, 210526, 210526, 210526, 157891]'
	expect_json '.[0].threads | map(.entries) == [1, 1, 1, 1, 1]'
	expect_json '.[0].coverage | .found == 2 and .patched == 2 and .reasons == []'
}

@test "-o writes the report to a file, apart from what the command prints" {
	gputap memtrace --gpu soft --json -o "$BATS_TEST_TMPDIR/report" -- \
		sh -c "$examples/vectoradd; printf 'no newline'"
	expect_status 0
	[ "${output##*$'\n'}" = 'no newline' ] || fail "the command's output is not as it was"
	output=$(<"$BATS_TEST_TMPDIR/report")
	expect_json '.[0].coverage.patched > 0'
	gputap memtrace --gpu soft -o "$BATS_TEST_TMPDIR/none/report" -- true
	expect_status 1
	expect_error "gputap: $BATS_TEST_TMPDIR/none/report: No such file or directory"
}

@test "threadhist reports a kernel without loops" {
	tool threadhist -- "$examples/vectoradd"
	expect_output_line '^262144 threads, 262144 entries, 0 loop iterations$'
	expect_output_line '^no thread went back to the start of a loop$'
}

# two_loops LINE-INFORMATION: thread n goes back 3 times in the first loop and n times in the second one.
two_loops() {
	local file= first= second= last=
	[ "$1" = none ] || file='.file 1 "loops.cu"' first='.loc 1 70 3' second='.loc 1 80 3' last='.loc 1 90 3'
	ptx_program ".version 7.8
		.target sm_75
		.address_size 64
		$file
		.visible .entry k0(.param .u64 p) {
			.reg .pred %p<3>; .reg .b32 %r<3>;
			mov.u32 %r1, %tid.x; mov.u32 %r2, 0;
			$first
		first: setp.lt.u32 %p1, %r2, 3; add.u32 %r2, %r2, 1;
			@%p1 bra first; // the first one
			mov.u32 %r2, 0;
		second: $second
			setp.lt.u32 %p2, %r2, %r1; add.u32 %r2, %r2, 1;
			@%p2 bra second; // the second one
			setp.eq.u32 %p1, %r1, 0;
			@%p1 ret;
			$last
			ret;
		}" 1
}

# iterations_at LINE: of each thread, as threadhist --line counts them.
iterations_at() {
	tool threadhist --json --line "$1" -- "$BATS_TEST_TMPDIR/kernels"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].threads | map(.entries) == [range(32) | 1]'
}

@test "threadhist --line counts the loop of a line of the source" {
	two_loops source
	iterations_at 70
	expect_json '.[0].threads | map(.loops) == [range(32) | 3]'
	iterations_at 80
	expect_json '.[0].threads | map(.loops) == [range(32)]'
	expect_json '.[0].threads | map(.executions) == [range(32) | . + 1]'
	# Lines of the PTX text are those of no loop then.
	iterations_at "$(grep -n 'the second one' "$BATS_TEST_TMPDIR/kernels.ptx" | cut -d: -f1)"
	expect_json '.[0].threads | map(.loops) == [range(32) | 0]'
	tool threadhist --line 71 -- "$BATS_TEST_TMPDIR/kernels"
	expect_output_line "^no thread executed line 71 or went back to the start of a loop on it: 'gputap hotloop' shows the lines of loops\$"
	tool threadhist --line 90 -- "$BATS_TEST_TMPDIR/kernels"
	expect_output_line '^32 threads, 32 entries, 0 loop iterations, 31 executions of line 90$'
	expect_output_line '^imbalance: thread 0 has 0 executions, 0 % of the 1 of thread 1; the median is 1$'
	tool threadhist -- "$BATS_TEST_TMPDIR/kernels"
	expect_output_line '^32 threads, 32 entries, 592 loop iterations$'
}

@test "threadhist --line counts the loop of a line of PTX without line information" {
	local line
	two_loops none
	line=$(grep -n 'the second one' "$BATS_TEST_TMPDIR/kernels.ptx" | cut -d: -f1)
	iterations_at "$line"
	expect_json '.[0].threads | map(.loops) == [range(32)]'
	iterations_at 80
	expect_json '.[0].threads | map(.loops) == [range(32) | 0]'
}

@test "threadhist rejects lines that no file has" {
	gputap threadhist --line 4294967296 -- true
	expect_status 2
	expect_error_line '^gputap: --line is at most 4294967295 '
}

@test "cudacounter counts threads, blocks and their times by kernel" {
	tool cudacounter -- "$examples/vectoradd"
	expect_output_line '^ENTRIES +EXITS +BLOCKS +TIME +TIME/BLOCK +CYCLES/WARP +KERNEL$'
	expect_output_line '^ +262144 +262144 +1024 +[1-9][0-9.]* [mµ]?s +[1-9][0-9.]* [mµn]?s +[1-9][0-9]* +add$'
}

@test "names of kernels have their parameters only where they differ in these alone" {
	cat >"$BATS_TEST_TMPDIR/alike.cu" <<-'END'
		#include <cuda_runtime.h>
		__global__ void scale(float *) {}
		__global__ void scale(double *) {}
		__global__ void other(float *) {}
		int main()
		{
			scale<<<1, 32>>>((float *)nullptr);
			scale<<<2, 32>>>((double *)nullptr);
			other<<<3, 32>>>((float *)nullptr);
			return cudaDeviceSynchronize();
		}
	END
	"$root/tools/softcc" --build "$build" -o "$BATS_TEST_TMPDIR/alike" "$BATS_TEST_TMPDIR/alike.cu"
	tool cudacounter -- "$BATS_TEST_TMPDIR/alike"
	expect_output_line '^ +32 +32 +1 .* scale\(float\*\)$'
	expect_output_line '^ +64 +64 +2 .* scale\(double\*\)$'
	expect_output_line '^ +96 +96 +3 .* other$'
	tool kernelretsnoop -- "$BATS_TEST_TMPDIR/alike"
	expect_output_line ' scale\(double\*\)$'
	expect_output_line '^scale\(float\*\): the lanes of each warp exit together \(1 warps\)$'
	expect_output_line '^other: the lanes of each warp exit together \(3 warps\)$'
	tool blocktime -- "$BATS_TEST_TMPDIR/alike"
	expect_output_line ' scale\(double\*\)$'
	tool cudacounter --json -- "$BATS_TEST_TMPDIR/alike"
	expect_json '.[0].kernels | map(.kernel) | sort == ["_Z5otherPf", "_Z5scalePd", "_Z5scalePf"]'
}

@test "names of device functions have their parameters only where they differ in these alone" {
	cat >"$BATS_TEST_TMPDIR/device.cu" <<-'END'
		#include <cuda_runtime.h>
		__device__ float floats[32];
		__device__ double doubles[32];
		__device__ __noinline__ void fill(float *to) { to[threadIdx.x] = 1; }
		__device__ __noinline__ void fill(double *to) { to[threadIdx.x] = 2; }
		__global__ void both(float *to) { fill(to); fill(doubles); floats[threadIdx.x] = 3; }
		int main()
		{
			float *to;

			cudaMalloc(&to, 32 * sizeof(*to));
			both<<<1, 32>>>(to);
			return cudaDeviceSynchronize();
		}
	END
	"$root/tools/softcc" --build "$build" -o "$BATS_TEST_TMPDIR/device" "$BATS_TEST_TMPDIR/device.cu"
	tool memtrace -- "$BATS_TEST_TMPDIR/device"
	expect_output_line ' fill\(float\*\) '
	expect_output_line ' fill\(double\*\) '
	expect_output_line ' both '
}

@test "cudacounter --json has a warp's cycles as a sum, and cuda-counter is its other name" {
	tool cuda-counter --json -- "$examples/matmul"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].kernels | length == 1'
	expect_json '.[0].kernels[0] | .entries == 16384 and .exits == 16384 and .blocks == 64 and
		.warps == 512 and .cycles > 512 and .time > 0 and .block_time > 64'
}

@test "cudacounter: a kernel runs at least as long as its blocks do on average, or has no times" {
	export SOFTGPU_TIME=virtual
	local example
	for example in matmul vectoradd; do # of as many blocks as it has groups, and of more
		tool cudacounter --json -- "$examples/$example"
		output=$(grep '^{' <<<"$output")
		expect_json '.[0].kernels[0] | .block_time > 0 and .time >= .block_time / .blocks and
			.time < 2 * .block_time'
	done
	# Threads that do not return.
	ptx_program ".version 7.0
		.target sm_75
		.address_size 64
		.visible .entry k0(.param .u64 p) { trap; ret; }" 1
	gputap cudacounter --gpu soft -- "$BATS_TEST_TMPDIR/kernels"
	expect_output_line '^ +32 +0 +1 +- +- +0 +k0$'
	gputap cudacounter --gpu soft --json -- "$BATS_TEST_TMPDIR/kernels"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].kernels[0] | .exits == 0 and .time == null and .block_time == null'
}

@test "the counts are those of all launches and kernels of a program" {
	tool cudacounter --json -- "$examples/newlaunch"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].kernels | map(.entries) == [3072]'
}

@test "threadhist reports what it has no room for" {
	tool threadhist --threads 262000 -- "$examples/vectoradd"
	expect_output_line '^262144 threads, 262144 entries, 0 loop iterations$'
	expect_no_output_line '^not counted'
	tool threadhist --threads 1024 -- "$examples/vectoradd"
	expect_output_line '^1024 threads, 1024 entries, 0 loop iterations$'
	expect_output_line '^not counted: 261120 entries and loop iterations of threads beyond --threads$'
	tool threadhist --json --threads 1024 -- "$examples/vectoradd"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].not_counted == 261120'
}

@test "cudacounter reports kernels that it has no counters for" {
	need_command gcc
	gcc -x c -I "$root/softgpu/include" -o "$BATS_TEST_TMPDIR/many" - -L "$softgpu" \
		-l:libcuda.so.1 <<-'END'
		#include <cuda.h>
		#include <stdio.h>
		int main(void) {
			char text[200];
			CUcontext context;
			CUmodule module;
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			for (int i = 0; i < 4100; i++) {
				/* The same text would be the same kernel. */
				sprintf(text, ".version 7.8\n.target sm_75\n.address_size 64\n"
					".visible .entry k()\n{\n\tret;\n}\n// %d\n", i);
				if (cuModuleLoadData(&module, text))
					return 1;
				cuModuleUnload(module);
			}
			return 0;
		}
	END
	gputap cudacounter --gpu soft -- "$BATS_TEST_TMPDIR/many"
	expect_status 0
	expect_output_line '^not counted: 4 kernels that were loaded after the first 4096$'
	gputap cudacounter --gpu soft --json -- "$BATS_TEST_TMPDIR/many"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].kernels_not_counted == 4'
}

@test "a tool needs a command, and gives its exit status" {
	gputap threadhist
	expect_status 2
	expect_error "gputap: a command is needed: -- CMD (try 'gputap threadhist --help')"
	gputap cudacounter -- sh -c 'exit 9'
	expect_status 9
}

@test "kernelretsnoop finds the lane that exits later than the others of its warp" {
	tool kernelretsnoop -- "$examples/lateexit"
	expect_output_line '^lateexit: 16 sums are right$'
	expect_output_line '^ +1 +512 +16 +16 +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]* .* sum_rows$'
	expect_output_line '^ +2 +384 +12 +12 +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]* .* sum_rows$'
	expect_output_line '^sum_rows: 28 of 28 warps exit in parts$'
	expect_output_line '^  lane 0 \|\.{31}@\| 31   the slowest is lane 31: [1-9][0-9]* cycles after the first on average, the last in 28 of 28 warps$'
	expect_output_line '^         \|#{31}\.\| \+0 cycles$'
	# 32 iterations of some instructions.
	expect_output_line '^         \|\.{31}#\| \+[1-9][0-9]{2,} cycles$'
}

@test "kernelretsnoop --json keeps the launches of a kernel apart" {
	tool kernelretsnoop --json -- "$examples/lateexit"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].launches | map(.threads) == [512, 384] and map(.warps) == [16, 12] and
		map(.split_warps) == [16, 12] and map(.blocks) == [8, 3] and
		map(.block_size) == [[64, 1, 1], [128, 1, 1]]'
	expect_json '.[0].launches | all(.lanes[31].last == .split_warps and .lanes[30].last == 0 and
		.lanes[31].delay_cycles > 100 * .split_warps and .lanes[30].delay_cycles == 0 and
		(.slowest_warp.groups | map(.lanes)) == ["0x7fffffff", "0x80000000"])'
	expect_json '.[0].launches[0].last <= .[0].launches[1].first'
	expect_json '.[0] | .records_lost == 0 and .records_malformed == 0 and .blocks_open == 0 and
		.not_counted == 0'
}

@test "kernelretsnoop --each has the exit of every thread once" {
	# What the program prints could be within a line.
	tool kernelretsnoop --each --json -- sh -c '"$1" >/dev/null' sh "$examples/lateexit"
	output=$(grep '^{"exit"' <<<"$output")
	expect_json 'length == 896 and (map([.launch, .block, .thread]) | unique | length) == 896'
	expect_json 'group_by([.launch, .block, (.thread[0] / 32 | floor)]) | length == 28 and
		all(max_by(.clock).thread[0] % 32 == 31)'
}

@test "kernelretsnoop loses nothing of a million threads of which each exits alone" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	cat >"$BATS_TEST_TMPDIR/fan.cu" <<-'END'
		#include <cuda_runtime.h>
		__global__ void fan_out(volatile int *sink) {
			for (int k = 0; k < 32; k++) {
				if (threadIdx.x % 32 == k) return;
				sink[k] = 1;
			}
		}
		int main() {
			int *sink;
			cudaMalloc(&sink, 32 * sizeof(*sink));
			fan_out<<<4096, 256>>>(sink);
			return cudaDeviceSynchronize();
		}
	END
	"$root/tools/softcc" --build "$build" -o "$BATS_TEST_TMPDIR/fan" "$BATS_TEST_TMPDIR/fan.cu"
	tool kernelretsnoop --json -- "$BATS_TEST_TMPDIR/fan"
	expect_json '.[0] | .records_lost == 0 and .blocks_open == 0 and (.launches | length) == 1'
	expect_json '.[0].launches[0] | .threads == 1048576 and .blocks == 4096 and .split_warps == 32768'
}

@test "kernelretsnoop reports a kernel whose lanes exit together, and blocks that do not end" {
	tool kernelretsnoop -- "$examples/vectoradd"
	expect_output_line '^add: the lanes of each warp exit together \(8192 warps\)$'
	cat >"$BATS_TEST_TMPDIR/trap.cu" <<-'END'
		#include <cuda_runtime.h>
		__global__ void stop(int *) { if (threadIdx.x >= 32) __builtin_trap(); }
		int main() { stop<<<1, 64>>>(nullptr); cudaDeviceSynchronize(); return 0; }
	END
	"$root/tools/softcc" --build "$build" -o "$BATS_TEST_TMPDIR/trap" "$BATS_TEST_TMPDIR/trap.cu"
	tool kernelretsnoop -- "$BATS_TEST_TMPDIR/trap"
	expect_output_line '^1 blocks are not counted: threads of theirs did not exit, or their records were dropped$'
}

@test "blocktime has the SM and the times of each block, and a picture of the schedule" {
	tool blocktime -- "$examples/longblock"
	expect_output_line '^longblock: 64 sums are right$'
	expect_output_line '^LAUNCH +BLOCKS +THREADS +SHARED +TIME +BLOCK MED +MAX +SMS +BUSY +BALANCE +OCCUPANCY +ACHIEVED +KERNEL$'
	expect_output_line '^ +1 +64 +64 +0 B .* 4 +[0-9]+ % +[0-9]+ % +≤ 100 % +[0-9]+ %  sum_triangle$'
	expect_output_line '^the blocks of launch 1, sum_triangle, that run at once on each SM; a column is .*$'
	# A row for each SM, of which one begins at the start and one ends at the end.
	[ "$(grep -cE '^    [0-3] \|[ .0-9+]{64}\|$' <<<"$output")" = 4 ]
	expect_output_line '^    [0-3] \|[^ ]'
	expect_output_line '^    [0-3] \|.*[^ ]\|$'
	expect_output_line '^slowest blocks: \([0-9]+,0,0\) on SM [0-3] '
}

@test "blocktime --each --json has every block once, on the SM that ran it" {
	tool blocktime --each --json -- "$examples/longblock"
	each=$(grep '^{"block_time"' <<<"$output") output=$(grep '^{"launches"' <<<"$output")
	# The software GPU runs block n on multiprocessor n % 4.
	jq -se 'length == 64 and (map(.block[0]) | sort) == [range(64)] and
		all(.sm == .block[0] % 4 and .start <= .end and .launch == 1)' <<<"$each"
	expect_json '.[0].launches | length == 1 and (.[0] | .blocks == 64 and .block_threads == 64 and
		.blocks_open == 0 and (.sms | map(.blocks)) == [16, 16, 16, 16] and .busy > 0 and .busy <= 1 and
		.balance > 0 and .balance <= 1)'
	expect_json '.[0] | .records_lost == 0 and .records_malformed == 0 and .not_counted == 0'
	[ "$(jq -s 'map(.end - .start) | add' <<<"$each")" = \
		"$(jq '[.launches[0].sms[].block_ns] | add' <<<"$output")" ]
}

@test "blocktime has the theoretical occupancy by threads and shared memory" {
	tool blocktime --json -- "$examples/matmul"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].launches[0] | .block_threads == 256 and .block_shared == 2048 and
		(.occupancy | .capability == 90 and .max_blocks == 8 and .limit == "warps" and
		.theoretical == 1 and .registers == null and .achieved > 0 and .achieved <= 1)'
	SOFTGPU_ARCH=75 tool blocktime --json -- "$examples/matmul"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].launches[0].occupancy | .capability == 75 and .max_blocks == 4'
}

@test "blocktime has the registers of a kernel that is compiled for the device, not of its patched form" {
	local registers
	need_command nvcc
	cd "$BATS_TEST_TMPDIR"
	nvcc -std=c++17 -cudart shared -gencode arch=compute_90,code='[sm_90,compute_90]' \
		-maxrregcount 40 -Xptxas -v -o matmul "$root/examples/matmul.cu" >log 2>&1
	registers=$(sed -n 's/.* Used \([0-9]*\) registers.*/\1/p' log | sort -n | tail -n 1)
	tool blocktime --json -- ./matmul
	output=$(grep '^{' <<<"$output")
	expect_json ".[0].launches[0].occupancy | .registers == $registers and .theoretical <= 1"
	tool blocktime -- ./matmul
	expect_output_line '^ +1 .* [0-9]+ % +[0-9]+ % +[0-9]+ % +[0-9]+ % +multiply$'
	# A device for which there is PTX alone.
	SOFTGPU_ARCH=100 tool blocktime --json -- ./matmul
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].launches[0].occupancy | . == null or .registers == null'
}

# Where names of registers are compared.
need_clang_14() {
	[[ $(clang --version) == *"version 14."* ]] || skip "another clang has other names of registers"
}

# The first row of an array of a report whose kernel and instruction match, in JSON.
site() {
	jq -c --arg kernel "$2" --arg ptx "$3" \
		".$1[] | select((.function | test(\$kernel)) and (.ptx | test(\$ptx)))" \
		<<<"$(grep '^{' <<<"$output")" | head -n 1
}

# expect_site ARRAY KERNEL INSTRUCTION CONDITION: on that row.
expect_site() {
	local row
	row=$(site "$1" "$2" "$3")
	[ -n "$row" ] || fail "there is no $3 in $2"
	jq -e "$4" >/dev/null <<<"$row" || fail "not true of $row: $4"
}

@test "memtrace counts sectors, strides and bank conflicts of each instruction" {
	tool memtrace --json -- "$examples/transpose"
	expect_output_line '^transpose: 3 x 256 x 256 numbers are right$'
	# 65,536 numbers: 2048 requests of 32 lanes each, of 4 bytes.
	local all='.requests == 2048 and .lanes == 65536 and .bytes == 262144'
	local whole='.sectors == 8192 and .min_sectors == 8192 and .unit == 2048 and .passes == 0'
	expect_site accesses transpose_plain '^ld\.global' "$all and $whole"
	expect_site accesses transpose_plain '^st\.global' "$all and .sectors == 65536 and
		.min_sectors == 8192 and .strided == 2048 and .stride == 1024 and .same_stride == 2048"
	for kernel in transpose_shared transpose_padded; do
		expect_site accesses $kernel '^ld\.global' "$all and $whole"
		expect_site accesses $kernel '^st\.global' "$all and $whole"
		expect_site accesses $kernel '^st\.shared' "$all and .unit == 2048 and .passes == 2048 and
			.min_passes == 2048 and .sectors == 0"
	done
	expect_site accesses transpose_shared '^ld\.shared' "$all and .stride == 128 and
		.passes == 65536 and .min_passes == 2048"
	expect_site accesses transpose_padded '^ld\.shared' "$all and .stride == 132 and
		.passes == 2048 and .min_passes == 2048"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0] | (.accesses | length) == 10 and .sites_not_counted == 0 and .status == 0'
}

@test "memtrace shows the costly accesses first, with their source lines" {
	local store load
	need_clang_14
	store=$(grep -n 'to\[x \* n + row\]' "$root/examples/transpose.cu" | cut -d: -f1)
	load=$(grep -n 'tile\[threadIdx.x\]' "$root/examples/transpose.cu" | cut -d: -f1)
	tool memtrace --top 2 -- "$examples/transpose"
	expect_output "$(
		cat <<-END
			transpose: 3 x 256 x 256 numbers are right
			REQUESTS  LANES    BYTES  SECTORS  MIN  BANKS  PATTERN      AT               KERNEL            INSTRUCTION
			    2048   32.0  256 KiB     32.0  4.0         stride 1024  transpose.cu:$store  transpose_plain   st.global.f32 [%rd11], %f1;
			    2048   32.0  256 KiB                 32.0  stride 128   transpose.cu:$load  transpose_shared  ld.shared.f32 %f2, [%rd17];
		END
	)"
}

@test "memtrace --by line and divergence --by instruction have other rows" {
	local line
	line=$(grep -n 'sum += tile_a' "$root/examples/matmul.cu" | cut -d: -f1)
	# 128 x 128 threads, each with 128 loads from either tile, however the loop is unrolled.
	tool memtrace --json --by line -- "$examples/matmul"
	expect_site accesses multiply '^ld\.shared' ".source[0].line == $line and
		.requests == 131072 and .passes == 131072 and .instructions >= 2"
	tool memtrace --by line -- "$examples/matmul"
	expect_output_line "matmul\\.cu:$line +multiply +ld\\.shared\\.f32, [0-9]+ instructions\$"
	# The condition of the outer loop is tested before it and in it.
	line=$(grep -n 'for (int first = 0' "$root/examples/matmul.cu" | cut -d: -f1)
	tool divergence --json -- "$examples/matmul"
	local rows=".[0].branches | map(select(.source[0].line == $line))"
	output=$(grep '^{' <<<"$output")
	expect_json "$rows | length == 1 and .[0].instructions == 2 and .[0].executions == 4608"
	tool divergence --json --by instruction -- "$examples/matmul"
	output=$(grep '^{' <<<"$output")
	expect_json "$rows | map(.executions) | sort == [512, 4096]"
	gputap memtrace --by file -- true
	expect_status 2
	expect_error "gputap: invalid value 'file' for --by (one of: instruction, line) (try 'gputap memtrace --help')"
	gputap hotloop --by line -- true
	expect_status 2
}

@test "mem_trace is another name of memtrace, and atomic operations are accesses" {
	tool mem_trace --json -- "$examples/reduce"
	# One lane of each of 256 warps, and of each of 32 blocks.
	expect_site accesses reduce 'atom.*max' '.requests == 256 and .lanes == 256 and
		.sectors == 256 and .unit + .broadcast + .strided + .irregular == 0'
	expect_site accesses reduce 'atom.*add' '.requests == 32 and .bytes == 128'
}

@test "divergence counts the lanes that take each branch, and where they diverge" {
	tool divergence --json -- "$examples/reduce"
	local line
	# "if (lane == 0)" in each of 256 warps: one lane, or 31, take the branch.
	line=$(grep -n 'if (lane == 0) {' "$root/examples/reduce.cu" | cut -d: -f1)
	output=$(grep '^{' <<<"$output")
	expect_json ".[0].branches[] | select(.source[0].line == $line) |
		.executions == 256 and .lanes == 8192 and .divergent == 256 and
		(.taken == 256 or .taken == 31 * 256)"
	# "if (warp == 0)": no warp diverges.
	line=$(grep -n 'if (warp == 0) {' "$root/examples/reduce.cu" | cut -d: -f1)
	expect_json ".[0].branches[] | select(.source[0].line == $line) |
		.executions == 256 and .taken == 7 * 1024 and .divergent == 0"
	expect_json '.[0].branches | map(.divergent) | . == (sort | reverse)'
}

@test "hotloop counts the iterations of each loop, and the fewest and most of an entry" {
	tool hotloop --json -- "$examples/uneven"
	# Threads 0 to 3 run 210527 iterations, thread 4 the other 157892.
	expect_site loops scale_chunks 'bra' '.iterations == 1000000 and .entries == 5 and
		.min_trips == 157892 and .max_trips == 210527 and
		.back_edges == 999995 and .warp_back_edges == 210526'
	tool hotloop -- "$examples/uneven"
	expect_output_line '^ITERATIONS +ENTRIES +TRIPS +MIN +MAX +WARPS +LANES +AT +KERNEL +INSTRUCTION$'
	expect_output_line '^ +1000000 +5 +200000\.0 +157892 +210527 +210526 +4\.7 +uneven\.cu:[0-9]+ +scale_chunks +'
	tool hotloop -- "$examples/vectoradd"
	expect_output_line '^ITERATIONS +WARPS +LANES +AT +KERNEL +INSTRUCTION$'
}

@test "a loop without a conditional branch, and one with another label in it, have iterations" {
	need_command gcc
	gcc -x c -I "$root/softgpu/include" -o "$BATS_TEST_TMPDIR/loops" - -L "$softgpu" \
		-l:libcuda.so.1 <<-'END'
		#include <cuda.h>
		int main(void) {
			static const char text[] = ".version 7.8\n.target sm_75\n.address_size 64\n"
				".visible .entry k()\n{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<3>;\n"
				"\tmov.u32 %r1, 0;\nouter:\n\tadd.u32 %r1, %r1, 1;\n"
				"\tmov.u32 %r2, 0;\ninner:\n\tadd.u32 %r2, %r2, 1;\n$L__tmp0:\n"
				"\tsetp.eq.u32 %p1, %r2, 3;\n\t@%p1 bra next;\n\tbra inner;\n"
				"next:\n\tsetp.lt.u32 %p2, %r1, 5;\n\t@%p2 bra outer;\n\tret;\n}\n";
			CUcontext context;
			CUmodule module;
			CUfunction kernel;
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			if (cuModuleLoadData(&module, text) || cuModuleGetFunction(&kernel, module, "k"))
				return 1;
			cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, 0, 0, 0);
			return cuCtxSynchronize();
		}
	END
	tool hotloop --json -- "$BATS_TEST_TMPDIR/loops"
	# 64 threads: 5 times round the outer loop, and each time 3 times round the inner one.
	expect_site loops k '^bra inner' '.iterations == 960 and .entries == 320 and
		.min_trips == 3 and .max_trips == 3 and .back_edges == 640 and .warp_back_edges == 20'
	expect_site loops k 'bra outer' '.iterations == 320 and .entries == 64 and .back_edges == 256 and
		.min_trips == 5 and .max_trips == 5'
}

@test "the fewest and the most iterations are those of all launches, and of an entry that ends at once" {
	tool hotloop --json -- sh -c "'$examples/longblock' && '$examples/reduce' && '$examples/longblock'"
	# Rows of 1 to 63 numbers, one for each thread, and one of 4194304 numbers for 64 threads; twice.
	expect_site loops sum_triangle 'bra' '.min_trips == 1 and .max_trips == 65536 and
		.entries == 2 * (2016 + 64) and .iterations == 2 * (2016 + 4194304)'
	# 1000003 numbers, 8192 threads: 122 or 123 for each.
	expect_site loops reduce 'bra' '.min_trips == 122 and .max_trips == 123 and .entries == 8192 and
		.iterations == 1000003'
}

# loop_entered_by BRANCHES: a kernel whose loop has its condition before its body, and how it is entered.
loop_entered_by() {
	ptx_program "
		.version 7.8
		.target sm_75
		.address_size 64
		.visible .entry k0(.param .u64 p)
		{
			.reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %rd<2>;
			ld.param.u64 %rd1, [p];
			setp.eq.u64 %p2, %rd1, 0;
			mov.u32 %r1, 0;
			$1
		body:
			add.u32 %r1, %r1, 1;
		test:
			setp.lt.u32 %p1, %r1, 7;
			@%p1 bra body;
			ret;
		}" 1
}

@test "a loop whose condition comes after its body in the text has entries" {
	loop_entered_by 'bra test;'
	tool hotloop --json -- "$BATS_TEST_TMPDIR/kernels"
	expect_site loops k0 'bra' '.iterations == 256 and .back_edges == 224 and .entries == 32 and
		.min_trips == 8 and .max_trips == 8'
	expect_error_line ' 0 rejected$'
}

@test "a loop that is entered in two places has no entries, and is reported as rejected" {
	loop_entered_by '@%p2 bra body; bra test;'
	tool hotloop --json -- "$BATS_TEST_TMPDIR/kernels"
	expect_site loops k0 'bra body' '.iterations == 224 and .back_edges == 224 and .entries == null and
		.min_trips == null and .max_trips == null'
	expect_error_line ' 1 rejected$'
}

@test "rows of a module that is loaded twice are one" {
	tool memtrace --json -- sh -c "'$examples/vectoradd' && '$examples/vectoradd'"
	output=$(grep '^{' <<<"$output")
	expect_json '.[0].accesses | length == 3 and all(.requests == 16384 and .bytes == 2097152)'
}

@test "tools show the source lines of programs that nvcc built, and inlined calls" {
	[ -x "$examples/nvcc-transpose" ] ||
		flock "$build" ninja -C "$build" --quiet examples/nvcc-transpose 2>/dev/null || skip "there is no nvcc"
	tool memtrace --json -- "$examples/nvcc-transpose"
	expect_output_line '^transpose: 3 x 256 x 256 numbers are right$'
	local tile call
	tile=$(grep -n 'tile\[threadIdx.x\]' "$root/examples/transpose.cu" | cut -d: -f1)
	call=$(grep -n 'transpose_tile<0>' "$root/examples/transpose.cu" | cut -d: -f1)
	expect_site accesses transpose_shared '^ld\.shared' ".passes == 65536 and .stride == 128 and
		(.source | map(.line)) == [$tile, $call] and (.source[0].function | test(\"transpose_tile\")) and
		(.source[0].file | test(\"/transpose.cu\"))"
	tool memtrace -- "$examples/nvcc-transpose"
	expect_output_line "32\\.0 +stride 128 +transpose\\.cu:$tile < transpose\\.cu:$call +transpose_shared +ld\\.shared"
}

@test "tools about instructions leave the results of every example as they are" {
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	local name tool expected
	for name in vectoradd vectoradd-static driver newlaunch matmul reduce streams uneven transpose; do
		on_softgpu "$examples/$name"
		expected=$(grep -v ' ms$' <<<"$output")
		for tool in memtrace divergence hotloop; do
			gputap "$tool" --gpu soft --json -- "$examples/$name"
			expect_status 0
			[ "$(grep -v -e ' ms$' -e '^{' <<<"$output")" = "$expected" ] ||
				fail "$tool changes what $name prints"
			expect_error_line ' 0 failed; .* 0 rejected$'
		done
	done
}

@test "README shows what threadhist prints" {
	local shown
	shown=$(sed -n '/^    \$ gputap threadhist/,/^    …/p' "$root/README.md" | sed '1d;$d; s/^    //')
	[ "$(wc -l <<<"$shown")" -ge 2 ]
	tool threadhist -- "$examples/uneven"
	while IFS= read -r line; do
		grep -qxF -- "$line" <<<"$output" || fail "threadhist does not print: $line"
	done <<<"$shown"
}

@test "docs/gpu-tools.md shows what memtrace, divergence and hotloop print" {
	local name shown
	need_clang_14
	for name in memtrace divergence hotloop; do
		shown=$(sed -n "/^    \$ gputap $name/,/^\$/p" "$root/docs/gpu-tools.md" |
			sed -n '2,$s/^    \([^…]\)/\1/p')
		[ "$(wc -l <<<"$shown")" -ge 2 ] || fail "the documentation shows nothing of $name"
		tool "$name" -- "$examples/$(sed -n "s,^    \$ gputap $name -- build/examples/,,p" \
			"$root/docs/gpu-tools.md")"
		while IFS= read -r line; do
			grep -qxF -- "$line" <<<"$output" || fail "$name does not print: $line"
		done <<<"$shown"
	done
}

# ptx_program TEXT LAUNCHES: a program that loads PTX text and launches kernels k0, k1 … of it, each
# with a warp and a pointer to 64 KiB.
ptx_program() {
	need_command gcc
	printf '%s\n' "$1" >"$BATS_TEST_TMPDIR/kernels.ptx"
	"$root/tools/bytes" "$BATS_TEST_TMPDIR/kernels.ptx" >"$BATS_TEST_TMPDIR/kernels.inc"
	gcc -x c -I "$root/softgpu/include" -I "$BATS_TEST_TMPDIR" -DLAUNCHES="$2" \
		-o "$BATS_TEST_TMPDIR/kernels" - -L "$softgpu" -l:libcuda.so.1 <<-'END'
		#include <cuda.h>
		#include <stdio.h>
		static const unsigned char text[] = {
		#include "kernels.inc"
		0};
		int main(void) {
			CUcontext context;
			CUmodule module;
			CUfunction kernel;
			CUdeviceptr memory;
			void *arguments[] = {&memory};
			cuInit(0);
			cuDevicePrimaryCtxRetain(&context, 0);
			cuCtxSetCurrent(context);
			if (cuMemAlloc(&memory, 1 << 16) || cuModuleLoadData(&module, text))
				return 1;
			for (int i = 0; i < LAUNCHES; i++) {
				char name[8];
				snprintf(name, sizeof(name), "k%d", i);
				if (cuModuleGetFunction(&kernel, module, name) ||
				    cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0))
					return 1;
			}
			return cuCtxSynchronize();
		}
	END
}

@test "memtrace counts wide accesses, local memory, copies, broadcasts and lanes that are off" {
	ptx_program '
		.version 7.8
		.target sm_80
		.address_size 64
		.visible .entry k0(.param .u64 p)
		{
			.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
			.local .align 4 .b8 own[4];
			.shared .align 16 .b8 tile[2048];
			ld.param.u64 %rd1, [p];
			mov.u32 %r1, %tid.x;
			mul.wide.u32 %rd2, %r1, 16;
			add.s64 %rd3, %rd1, %rd2;
			mov.u32 %r2, tile;
			mad.lo.u32 %r3, %r1, 16, %r2;
			ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd3];
			st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};
			ld.shared.v2.u32 {%r4, %r5}, [%r3];
			cp.async.ca.shared.global [%r3], [%rd3], 8;
			st.local.u32 [own], %r4;
			ld.global.u32 %r4, [%rd1];
			setp.lt.u32 %p1, %r1, 5;
			@%p1 st.global.u16 [%rd3], %r5;
			mul.wide.u32 %rd4, %r1, 4;
			sub.s64 %rd5, %rd1, %rd4;
			st.global.u32 [%rd5+256], %r4;
			and.b32 %r5, %r1, 3;
			mul.lo.u32 %r5, %r5, %r1;
			mul.wide.u32 %rd6, %r5, 32;
			add.s64 %rd6, %rd6, %rd1;
			red.global.add.u32 [%rd6], 1;
			ret;
		}' 1
	tool memtrace --json -- "$BATS_TEST_TMPDIR/kernels"
	expect_site accesses k0 '^ld\.global\.v4' '.requests == 1 and .bytes == 512 and .unit == 1 and
		.sectors == 16 and .min_sectors == 16'
	# Quarters of a warp access 128 bytes each.
	expect_site accesses k0 '^st\.shared\.v4' '.bytes == 512 and .passes == 4 and .min_passes == 4'
	# The 16 lanes of a half access 8 of every 16 bytes: two in each bank.
	expect_site accesses k0 '^ld\.shared\.v2' '.bytes == 256 and .stride == 16 and .passes == 4 and
		.min_passes == 2'
	expect_site accesses k0 '^cp\.async' '.bytes == 256 and .sectors == 16 and .min_sectors == 8 and
		.stride == 16'
	expect_site accesses k0 '^st\.local' '.bytes == 128 and .sectors == 0 and .passes == 0'
	expect_site accesses k0 '^ld\.global\.u32' '.broadcast == 1 and .sectors == 1 and .min_sectors == 1'
	# Lanes 0 to 4, 16 bytes apart, in three sectors.
	expect_site accesses k0 '^@%p1 st\.global' '.lanes == 5 and .bytes == 10 and .sectors == 3 and
		.min_sectors == 1'
	expect_site accesses k0 '^st\.global\.u32' '.stride == -4 and .sectors == 5 and .min_sectors == 4'
	# Lane n accesses sector n % 4 * n: 23 different ones.
	expect_site accesses k0 '^red' '.irregular == 1 and .sectors == 23 and .min_sectors == 3'
}

@test "tools report sites that they have no counters for" {
	local text=$'.version 7.8\n.target sm_75\n.address_size 64' branches
	branches=$(for ((i = 0; i < 1000; i++)); do printf '@%%p1 bra l%d;\nl%d:\n' $i $i; done)
	for ((i = 0; i < 33; i++)); do
		text+=$'\n'".visible .entry k$i(.param .u64 p)"$'\n{\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n'
		text+=$'mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 8;\n'$branches$'\nret;\n}'
	done
	ptx_program "$text" 33
	tool divergence --top 2 -- "$BATS_TEST_TMPDIR/kernels"
	expect_output_line '^ +1 +32\.0 +25\.0 % +1 +100\.0 % +PTX [0-9]+ +k0 +@%p1 bra l0;$'
	expect_output_line '^not counted: 232 sites of modules that were loaded when the map was full$'
	tool divergence --json --top 3 -- "$BATS_TEST_TMPDIR/kernels"
	expect_json '.[0] | (.branches | length) == 3 and .sites_not_counted == 232'
}

@test "stall has the executions and the cycles of each line with a load or a barrier" {
	tool stall --json -- "$examples/matmul"
	output=$(grep '^{' <<<"$output")
	# 64 blocks of 8 warps go through 8 tiles: 2 loads, 2 barriers, and 16 times 2 shared loads.
	expect_json '.[0].waits | map({key: (.source[0].line | tostring), value: .executions}) |
		from_entries == {"30": 4096, "31": 4096, "33": 4096, "35": 131072, "37": 4096}'
	expect_json '.[0].waits | map(.cycles) == (map(.cycles) | sort | reverse) and
		all(.cycles >= .executions and .max >= .cycles / .executions)'
	# A load takes some instructions on the software GPU, which has no latency.
	expect_json '.[0].waits | map(select(.ptx | startswith("ld.global"))) | length == 2 and all(.max < 50)'
	tool stall -- "$examples/matmul"
	expect_output_line '^ *CYCLES +EXECUTIONS +MEAN +MAX +AT +KERNEL +INSTRUCTION$'
	expect_output_line '^ *[0-9]+ +4096 +[0-9.]+ +[0-9]+  matmul\.cu:33 +multiply +bar\.sync 0;$'
}

@test "stall finds the barrier at which a warp waits for another one" {
	cat >"$BATS_TEST_TMPDIR/late.cu" <<-'END'
		#include <cuda_runtime.h>
		__global__ void late(volatile int *p) {
			if (threadIdx.x >= 32)
				for (int i = 0; i < 1000; i++)
					*p = i;
			__syncthreads();
			*p = 1;
			__syncthreads();
		}
		int main() {
			int *p;
			cudaMalloc(&p, 4);
			late<<<1, 64>>>(p);
			return cudaDeviceSynchronize();
		}
	END
	need_file "$examples/vectoradd" "example (no clang that makes PTX)"
	"$root/tools/softcc" --build "$build" --line-info -o "$BATS_TEST_TMPDIR/late" \
		"$BATS_TEST_TMPDIR/late.cu"
	tool stall --json -- "$BATS_TEST_TMPDIR/late"
	expect_json '.[0].waits | length == 2 and map(.executions) == [2, 2] and
		map(.source[0].line) == [6, 8] and .[0].max > 1000 and .[1].max < 1000'
}

@test "messages do not split the lines that a tool prints to the same file" {
	local both=$BATS_TEST_TMPDIR/both
	ptx_program ".version 7.0
		.target sm_75
		.address_size 64
		.visible .entry k0(.param .u64 p) {
			.reg .u32 %v; .reg .u64 %a;
			ld.param.u64 %a, [p];
			$(for i in {1..80}; do echo "st.global.u32 [%a+$((i * 4))], %v;"; done)
			ret;
		}" 1
	"$build/gputap" memtrace --gpu soft --by instruction -- "$BATS_TEST_TMPDIR/kernels" >"$both" 2>&1
	[ "$(wc -c <"$both")" -gt 4096 ] # more than stdio writes at once
	[ "$(grep -c '^gputap: ' "$both")" = "$(grep -c 'gputap: ' "$both")" ] || fail "$(cat "$both")"
}
