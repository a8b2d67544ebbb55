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

# kernels_take THIRDS [COUNT]: a filter by which kernels last so many thirds of the shortest one: always within their
# calls; the first COUNT of them one third.
kernels_take() {
	local third
	third=$(jq -s 'map(select(.op == "kernel") | .["end"] - .start) | min / 3 | floor' log.json)
	echo "[., inputs] | (map(select(.op == \"kernel\").end) | sort) as \$ends | .[] |
		if .op == \"kernel\" then
			.[\"end\"] as \$stop |
			.start = \$stop - \$third * (if (\$ends | index(\$stop)) < ${2:-0} then 1 else $1 end)
		else . end" | sed "s/\$third/$third/"
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
	expect_output_line '^steps +8 +8 .* faster +<0\.001$'
}

@test "what diff prints of a recording begins with the name of its capture" {
	gputap diff before.gtap before.gtap
	expect_error_line '^gputap: before\.gtap: recorded: no NVIDIA driver found: '
	expect_error_line '^gputap: before\.gtap: [0-9]+ calls: [0-9]+ complete, '
	expect_no_error_line '^gputap: (recorded|[0-9]+ calls)'
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
	expect_output_line '^0 slower, 0 faster, by more than 1000000 % of the median, with P below 0\.01 where both have 6 times or more$'
}

@test "what is noise is the same, though the median differs" {
	times before "$(kernels_take 3 4)"
	times after "$(kernels_take 3 3)"
	gputap diff --json before.gtap after.gtap
	expect_json '.[0].changes[] | select(.part == "kernel") |
		.verdict == "same" and .p > 0.1 and .after.median > 2 * .before.median'
	gputap diff before.gtap after.gtap
	expect_output_line '^steps +8 +8 .* \+[0-9.]+ % +0\.[1-9][0-9]*$'
}

@test "functions that only one capture has are new or gone" {
	gputap trace -o async.gtap -- "$examples/streams"
	gputap diff before.gtap async.gtap
	expect_output_line '^cudaMemcpyAsync +- +16 .* new +-$'
	expect_output_line '^cudaMemcpy +16 +- .* - +gone +-$'
	gputap diff --top 1 before.gtap async.gtap
	expect_output_line '^… and [0-9]+ more \(--top\)$'
}

@test "diff needs two captures that can be read" {
	gputap diff before.gtap
	expect_status 2
	expect_error "gputap: two captures are needed: FILE FILE (try 'gputap diff --help')"
	gputap diff before.gtap missing.gtap
	expect_status 1
	expect_error_line '^gputap: missing\.gtap: No such file or directory: check the path$'
	echo text >text.gtap
	gputap diff text.gtap before.gtap
	expect_status 1
}
