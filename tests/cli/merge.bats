# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# `gputap merge`: several captures on one axis of time.

load helper

synthetic=$build/tests/programs/synthetic

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# Calls of a capture: machine, process, thread, name, arguments, duration; sorted.
calls_of() {
	"$build/gputap" trace --json --from "$1" 2>/dev/null |
		jq -c 'select(.schema == "gputap.call.1") |
			[.pid % 16777216, .tid % 16777216, .name, .arguments, .result, .duration]' | sort
}

@test "the calls of a merged capture are those of its parts, in the order of time" {
	"$synthetic" a.gtap 20
	"$synthetic" b.gtap 30 hostile
	gputap merge -o all.gtap a.gtap b.gtap
	expect_status 0
	expect_error_line '^gputap: a.gtap: machine 0, [0-9]+ events'
	expect_error_line '^gputap: b.gtap: machine 1, [0-9]+ events'
	[ "$(calls_of all.gtap)" = "$({ calls_of a.gtap; calls_of b.gtap; } | sort)" ]
	"$build/gputap" trace --json --from all.gtap >all.json 2>/dev/null
	run -0 jq -es 'map(select(.schema == "gputap.call.1")) |
		(map(.pid) | unique | length == 2) and (map(.pid / 16777216 | floor) | unique == [0, 1]) and
		(map(.time + .duration) | . == sort)' all.json
}

@test "totals and losses are the sums" {
	"$synthetic" a.gtap 20
	"$synthetic" b.gtap 30
	gputap merge -o all.gtap a.gtap b.gtap
	gputap trace -c --from all.gtap
	expect_error_line '^gputap: incomplete: 506 calls: 500 complete, 0 unfinished, 6 lost'
}

@test "--offset moves the times of a capture, and --label names its machine" {
	"$synthetic" a.gtap 5
	cp a.gtap b.gtap
	gputap merge -o all.gtap --offset b.gtap=1.5s --label b.gtap=second a.gtap b.gtap
	expect_status 0
	expect_error_line '^gputap: b.gtap: .* times shifted by 1.50 s \(--offset\)$'
	"$build/gputap" export --format jsonl -o all.jsonl all.gtap
	run -0 jq -es 'map(select(.schema == "gputap.call.1" or .schema == "gputap.gpu_operation.1")) |
		group_by(.pid) | (.[1] | map(.time) | min) - (.[0] | map(.time) | min) == 1500000000' all.jsonl
	run -0 jq -es '[.[] | select(.schema == "gputap.gpu_operation.1") | .call != null] | all and length > 0' all.jsonl
}

@test "captures of one machine keep their times and process ids" {
	need_probes
	for name in a b; do
		gputap record --gpu soft -e cuda -o "$name.gtap" -- "$build/examples/vectoradd"
		expect_status 0
	done
	gputap merge -o all.gtap a.gtap b.gtap
	expect_status 0
	expect_no_error_line 'shifted'
	"$build/gputap" trace --json --from all.gtap >all.json 2>/dev/null
	{
		"$build/gputap" trace --json --from a.gtap
		"$build/gputap" trace --json --from b.gtap
	} >both.json 2>/dev/null
	[ "$(jq -c 'select(.schema == "gputap.call.1") | [.time, .pid, .name]' all.json)" = \
		"$(jq -c 'select(.schema == "gputap.call.1") | [.time, .pid, .name]' both.json)" ]
	gputap report --top 3 all.gtap
	expect_status 0
	expect_output_line '^[0-9]+ vectoradd: .* of wall time'
}

@test "machines are known by their boots" {
	need_probes
	need_command unshare
	uuidgen >boot 2>/dev/null || echo 00000000-1111-2222-3333-444444444444 >boot
	gputap record --gpu soft -e cuda -o a.gtap -- "$build/examples/vectoradd"
	# shellcheck disable=SC2016 # the shell that is run reads these
	observe unshare -m sh -c 'mount --bind boot /proc/sys/kernel/random/boot_id && exec "$@"' sh \
		"$build/gputap" record --gpu soft -e cuda -o b.gtap -- "$build/examples/vectoradd"
	expect_status 0
	gputap merge -o all.gtap a.gtap b.gtap
	expect_error_line '^gputap: b.gtap: machine 1, '
	gputap info --json all.gtap
	expect_json '.[0].machines | map(.number) == [0, 1] and map(.label) == ["a.gtap", "b.gtap"]'
}

@test "the result of an incomplete capture is incomplete" {
	"$synthetic" a.gtap 200
	"$synthetic" b.gtap 200
	truncate -s -100 b.gtap
	gputap merge -o all.gtap a.gtap b.gtap
	expect_error_line '^gputap: b.gtap: .*incomplete: corrupt, truncated or without totals$'
	gputap trace -c --from all.gtap
	expect_error_line 'truncated: it has no totals'
}

@test "a merge that fails leaves the file of before, and no other" {
	"$synthetic" a.gtap 2000
	"$synthetic" b.gtap 2000
	echo before >all.gtap
	# shellcheck disable=SC2016 # the shell that is run reads these
	observe bash -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' bash \
		"$build/gputap" merge -o all.gtap a.gtap b.gtap
	expect_status 1
	expect_error_line 'cannot be written: File too large$'
	[ "$(cat all.gtap)" = before ]
	[ "$(echo ./all*)" = ./all.gtap ]
	gputap merge -o all.gtap a.gtap b.gtap
	expect_status 0
	gputap info all.gtap
	expect_status 0
	[ "$(echo ./all*)" = ./all.gtap ]
}

@test "merge writes to pipes and through symbolic links, too" {
	"$synthetic" a.gtap 20
	"$build/gputap" merge -o - a.gtap a.gtap 2>/dev/null >piped.gtap
	gputap info piped.gtap
	expect_status 0
	ln -s /dev/null null.gtap
	gputap merge -o null.gtap a.gtap a.gtap
	expect_status 0
	[ -L null.gtap ]
}

@test "command lines of merge that make no sense are rejected" {
	"$synthetic" a.gtap 2
	gputap merge a.gtap a.gtap
	expect_status 2
	expect_error "gputap: no file is given to write: -o FILE (try 'gputap merge --help')"
	gputap merge -o all.gtap a.gtap
	expect_status 2
	expect_error "gputap: at least two captures are needed (try 'gputap merge --help')"
	gputap merge -o ./a.gtap a.gtap a.gtap
	expect_status 2
	gputap merge -o all.gtap --offset c.gtap=1s a.gtap a.gtap
	expect_status 2
	gputap merge -o all.gtap --offset a.gtap=soon a.gtap a.gtap
	expect_status 2
	gputap merge -o all.gtap a.gtap missing.gtap
	expect_status 1
	expect_error "gputap: missing.gtap: No such file or directory"
	[ ! -e all.gtap ]
}
