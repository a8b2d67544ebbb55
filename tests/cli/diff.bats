# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Two captures compared: gputap diff.

load helper

setup() {
	need_file "$examples/streams" "example (clang for PTX)"
	need_probes
	cd "$BATS_TEST_TMPDIR" || return
	SOFTGPU_LOG=$PWD/log.json gputap trace -o calls.gtap -- "$examples/streams" sync
	expect_status 0
	times before "$(kernels_take 1)"
}

# times NAME [FILTER]: NAME.gtap, with the times of the log as a filter of jq changes them.
times() {
	jq -c "${2:-.}" log.json >"$1.json"
	"$build/tests/programs/gpu_times" calls.gtap "$1.json" "$1.gtap"
}

# kernels_take THIRDS: a filter by which kernels last the last THIRDS thirds of their time: always within their calls.
kernels_take() {
	echo 'if .op == "kernel" then .start = .end - '"$1"' * ((.end - .start) / 3 | floor) else . end'
}

@test "a kernel that takes three times as long is slower, and nothing else on the GPU" {
	times after "$(kernels_take 3)"
	gputap diff --json before.gtap after.gtap
	expect_status 0
	expect_json '[.[0].changes[] | select(.part == "kernel")] | length == 1 and
		(.[0] | .verdict == "slower" and .before.count == 8 and .after.count == 8 and
		 .after.total == 3 * .before.total)'
	expect_json '[.[0].changes[] | select(.part == "copy" or .part == "call")] | all(.verdict == "same" and .before == .after)'
	gputap diff after.gtap before.gtap
	expect_output_line '^steps\(unsigned int\*, int\) +8 +8 .* faster$'
}

@test "a capture does not differ from itself" {
	gputap diff --json --error-exitcode 3 before.gtap before.gtap
	expect_status 0
	expect_json '.[0] | .slower == 0 and .faster == 0 and .wall_before == .wall_after'
}

@test "--error-exitcode is the exit status if something became slower, --threshold by how much" {
	times after "$(kernels_take 3)"
	gputap diff --error-exitcode 3 before.gtap after.gtap
	expect_status 3
	gputap diff --error-exitcode 3 --threshold 1000000 before.gtap after.gtap
	expect_status 0
	expect_output_line '^0 slower, 0 faster, by more than 1000000 % of the median$'
}

@test "functions that only one capture has are new or gone" {
	gputap trace -o async.gtap -- "$examples/streams"
	gputap diff before.gtap async.gtap
	expect_output_line '^cudaMemcpyAsync +- +16 .* new$'
	expect_output_line '^cudaMemcpy +16 +- .* - +gone$'
	gputap diff --top 1 before.gtap async.gtap
	expect_output_line '^… and [0-9]+ more \(--top\)$'
}

@test "diff needs two captures that can be read" {
	gputap diff before.gtap
	expect_status 2
	expect_error "gputap: two captures are needed: FILE FILE (try 'gputap diff --help')"
	gputap diff before.gtap missing.gtap
	expect_status 1
	expect_error_line '^gputap: missing\.gtap: No such file or directory$'
	echo text >text.gtap
	gputap diff text.gtap before.gtap
	expect_status 1
}
