# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Failed calls, and what else is odd, of programs that do such things.

load helper

setup() {
	need_probes
	need_file "$examples/failures" "example (clang for PTX)"
	cd "$BATS_TEST_TMPDIR" || return
}

errors() {
	gputap errors --json -o errors.json "$@"
	output=$(cat errors.json)
}

# The line of failures.cu on which this stands.
line_of() {
	grep -nF "$1" "$root/examples/failures.cu" | head -n 1 | cut -d: -f1
}

@test "the failed calls of examples/failures are reported by name, error and site" {
	errors -- "$examples/failures"
	expect_status 0
	expect_json '.[0].errors | map([.function, .error, .count]) | sort == [
		["cudaDeviceSynchronize", "cudaErrorIllegalAddress", 1],
		["cudaFree", "cudaErrorInvalidValue", 1],
		["cudaFree", "cudaErrorInvalidValue", 1],
		["cudaLaunchKernel", "cudaErrorInvalidConfiguration", 1],
		["cudaMalloc", "cudaErrorIllegalAddress", 1],
		["cudaMalloc", "cudaErrorMemoryAllocation", 1],
		["cudaSetDevice", "cudaErrorInvalidDevice", 1]]'
	expect_json '.[0].errors | all(.sticky == (.error == "cudaErrorIllegalAddress"))'
	gputap errors -o errors.txt -- "$examples/failures"
	grep -qE "cudaSetDevice +cudaErrorInvalidDevice +[0-9]+ +failures +main \(failures\.cu:$(line_of 'cudaSetDevice(1000)')\)$" errors.txt ||
		fail "$(cat errors.txt)"
}

@test "the launch that caused an error that stays is named, and where it was made" {
	errors -- "$examples/failures"
	expect_json '.[0].findings[0] | .finding == "sticky_error" and .evidence ==
		"cudaErrorIllegalAddress, first returned by cudaDeviceSynchronize; probably caused by the launch of store(int*)"'
	line=$(line_of 'store<<<1, 32>>>')
	expect_json ".[0].findings[0].stack.frames | any(.function == \"main\" and .line == $line)"
}

@test "a finding's callers are those who wrote its place; -v shows the stubs, too" {
	gputap errors --stack dwarf -o errors.txt -- "$examples/failures"
	[ "$(grep -A 1 'first returned by' errors.txt | tail -n 1)" = "  at main (failures.cu:$(line_of 'store<<<1, 32>>>'))" ] ||
		fail "$(cat errors.txt)"
	gputap errors -v --stack dwarf -o errors.txt -- "$examples/failures"
	grep -A 1 'first returned by' errors.txt | grep -q '^  at __device_stub__' || fail "$(cat errors.txt)"
}

@test "memory freed twice and a pointer from nowhere are findings" {
	errors -- "$examples/failures"
	expect_json '.[0].findings | map([.finding, .count]) ==
		[["sticky_error", 1], ["freed_twice", 1], ["freed_foreign", 1]]'
}

@test "a program without errors has none" {
	gputap errors -o errors.txt -- "$examples/streams"
	expect_status 0
	[ "$(head -n 1 errors.txt)" = 'No call failed.' ]
}

@test "by process the places of an error are one row" {
	errors --by process -- "$examples/failures"
	expect_json '.[0].errors | map(select(.function == "cudaFree")) | length == 1 and .[0].count == 2'
}

# finding NAME: its count, function, bytes and the line of habits.cu; "none" if there is none.
finding() {
	jq -r --arg name "$1" '[.findings[] | select(.finding == $name)] | if length == 1 then .[0] |
		"\(.count) \(.function) \(.bytes) \(first(.stack.frames[] | select(.wrapper | not) | select(.file // "" | endswith("habits.cu")) | .line))"
		else "\(length) of them" end' errors.json
}

habit_line() {
	grep -nF "$1" "$root/tests/programs/habits.cu" | head -n 1 | cut -d: -f1
}

@test "habits are reported with count, site and one sentence of advice each" {
	need_file "$build/tests/programs/habits" "program of CUDA (clang for PTX)"
	errors -- "$build/tests/programs/habits"
	expect_status 0
	[ "$(finding allocation_in_loop)" = "40 cudaMalloc 327680 $(habit_line 'cudaMalloc(&memory, 8192)')" ] ||
		fail "$(finding allocation_in_loop)"
	[ "$(finding sync_after_launch)" = "30 cudaDeviceSynchronize 0 $(habit_line 'CHECK(cudaDeviceSynchronize')" ] ||
		fail "$(finding sync_after_launch)"
	[ "$(finding tiny_copies)" = "100 cudaMemcpy 1600 $(habit_line 'CHECK(cudaMemcpy(')" ] || fail "$(finding tiny_copies)"
	[ "$(finding small_launches)" = "5 cudaLaunchKernel 0 $(habit_line 'count<<<1, 8>>>')" ] || fail "$(finding small_launches)"
	expect_json '[.[0].findings[] | select(.finding == "allocation_retried")] | map(.count) | add == 2'
	expect_json '.[0].findings | map(.finding) | unique | length == 5'
	expect_json '.[0].findings | all((.advice | endswith(".")) and (.evidence | length > 20) and .process == "habits")'
}

@test "what eight threads of four processes fail at is counted as they count it" {
	mix=$build/tests/programs/mix
	need_file "$mix" "program of CUDA (clang for PTX)"
	gputap errors --by process --json -o errors.json -- "$mix" 500 8 4
	expected=$(jq -cS --slurp '[.[] | {pid, failed: (.failed_launches + .failed_allocations + .foreign_frees)}] |
		sort_by(.pid)' <<<"$output")
	found=$(jq -cS '[.errors | group_by(.pid)[] | {pid: .[0].pid, failed: (map(.count) | add)}] | sort_by(.pid)' errors.json)
	[ "$found" = "$expected" ] || fail "found $found, not $expected"
}

# watched N: a program that makes N calls that succeed and one that fails, of functions that are not
# traced by default.
build_watched() {
	need_command cc
	cat >watched.c <<-'EOF'
		#include <cuda_runtime_api.h>
		#include <stdlib.h>
		__attribute__((noinline)) static int fail(void)
		{
			int value;
			return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, 0, 32, 0) + cudaGetLastError();
		}
		int main(int count, char **arguments)
		{
			int value;
			for (int i = atoi(arguments[1]); i; i--)
				if (cudaDriverGetVersion(&value))
					return 1;
			return !fail();
		}
	EOF
	cc -g -O1 -fno-omit-frame-pointer "-I$root/softgpu/include" watched.c -o watched \
		"$softgpu/libcudart.so.13"
}

@test "failed calls of functions that are not traced by default are errors, too" {
	build_watched
	for method in fp dwarf; do
		errors --stack $method -- ./watched 5
		expect_status 0
		expect_json '.[0].errors | map([.function, .count, .stack.frames[0].function]) ==
			[["cudaOccupancyMaxActiveBlocksPerMultiprocessor", 1, "fail"]]'
	done
	errors --attach perf -- ./watched 5
	expect_json '.[0].errors | map([.function, .count]) == [["cudaOccupancyMaxActiveBlocksPerMultiprocessor", 1]]'
	gputap trace -c -f cudaOccupancyMaxActiveBlocksPerMultiprocessor,cudaDriverGetVersion -- ./watched 5
	expect_error_line '^ *1 +1 .*cudaOccupancyMaxActiveBlocksPerMultiprocessor$'
	expect_error_line '^ *5 +0 .*cudaDriverGetVersion$'
}

@test "only failed calls of functions that are not traced by default are recorded" {
	build_watched
	gputap errors -- ./watched 1000
	expect_error_line '^Complete: 1 call, none lost\.$'
}

@test "of a capture, errors says that only recorded calls are known" {
	build_watched
	gputap trace -o run.gtap -- ./watched 5
	gputap errors --from run.gtap
	expect_output_line '^No (recorded call failed|failed call was seen)\.$'
}
