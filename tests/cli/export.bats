# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Exports of captures, read by programs that are not gputap's.

load helper

synthetic=$build/tests/programs/synthetic
readers=$root/tests/readers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# export_capture FORMAT CAPTURE [OPTION…]: writes out.FORMAT.
export_capture() {
	gputap export --format "$1" -o "out.$1" "${@:3}" "$2"
	expect_status 0
}

@test "the default name of an export is that of the capture, with the format's extension" {
	"$synthetic" run.gtap 2
	gputap export --format csv run.gtap
	expect_status 0
	expect_error_line '^gputap: wrote run.csv$'
	[ -s run.csv ]
}

@test "losses of the capture are printed" {
	"$synthetic" run.gtap 2
	export_capture csv run.gtap
	expect_error "gputap: incomplete: 23 calls: 20 complete, 0 unfinished, 3 lost (use a larger --ring-size)"
}

@test "invalid command lines of export are rejected" {
	gputap export run.gtap
	expect_status 2
	expect_error "gputap: no format is given: --format FORMAT (try 'gputap export --help')"
	gputap export --format csv
	expect_status 2
	expect_error "gputap: no capture is given (try 'gputap export --help')"
	gputap export --format csv a.gtap b.gtap
	expect_status 2
	expect_error "gputap: only one capture can be exported (try 'gputap export --help')"
	gputap export --format csv --weight bytes a.gtap
	expect_status 2
	expect_error "gputap: --weight has no effect with --format csv (try 'gputap export --help')"
	gputap export --format csv missing.gtap
	expect_status 1
	expect_error "gputap: missing.gtap: No such file or directory"
}

@test "a capture is not overwritten by its own export" {
	"$synthetic" run.gtap 2
	cp run.gtap before
	gputap export --format csv -o ./run.gtap run.gtap
	expect_status 1
	expect_error "gputap: ./run.gtap is the capture itself: choose another file with -o"
	cmp run.gtap before
}

@test "the filters of other views of a capture apply to exports" {
	"$synthetic" run.gtap 10
	gputap export --format csv -o - -f cudaMalloc --when 'size>=16KiB' run.gtap
	expect_status 0
	[ "$(grep -c '^call,' <<<"$output")" = 7 ]
	expect_no_output_line '^call,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,cudaFree'
}

@test "a CSV export has a row per call, GPU operation and event of a layer" {
	"$synthetic" run.gtap 10
	export_capture csv run.gtap
	run -0 python3 "$readers/csv" out.csv
	expect_output_line '^rows: 100 call, 60 gpu, 31 event$'
	expect_output_line '^calls of GPU operations: 60 of 60$'
	expect_output_line '^kernels: vectoradd\(float const\*, float const\*, float\*, int\)$'
}

@test "JSON lines have the calls of trace --json, and GPU operations that refer to calls" {
	"$synthetic" run.gtap 10
	export_capture jsonl run.gtap
	"$build/gputap" trace --json --from run.gtap 2>/dev/null >trace.json
	grep -v gputap.gpu_operation.1 out.jsonl | cmp - trace.json
	run -0 jq -s 'map(select(.schema == "gputap.gpu_operation.1")) |
		[length, all(.submitted >= .call.time and .duration == 900 and .error == 200)]' out.jsonl
	[ "$(jq -c . <<<"$output")" = '[60,true]' ]
	[ "$(tail -n 1 out.jsonl | jq -r .schema)" = gputap.account.1 ]
}

@test "hostile names are valid CSV and JSON" {
	"$synthetic" run.gtap 3 hostile
	export_capture csv run.gtap
	run -0 python3 "$readers/csv" out.csv
	expect_output_line '^rows: 30 call, 18 gpu, 10 event$'
	export_capture jsonl run.gtap
	jq -e . out.jsonl >/dev/null
}
