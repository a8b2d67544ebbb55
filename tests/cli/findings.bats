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

@test "the failed calls of examples/failures are told by name, error and place" {
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
		told "$(cat errors.txt)"
}

@test "the launch that caused an error that stays is named, and where it was made" {
	errors -- "$examples/failures"
	expect_json '.[0].findings[0] | .finding == "sticky_error" and .evidence ==
		"cudaErrorIllegalAddress, first told by cudaDeviceSynchronize; probably by the launch of store(int*)"'
	line=$(line_of 'store<<<1, 32>>>')
	expect_json ".[0].findings[0].stack.frames | any(.function == \"main\" and .line == $line)"
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
