# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Copies by direction, of programs that know what they copy.

load helper

mix=$build/tests/programs/mix

setup() {
	need_probes
	need_file "$examples/streams" "example (clang for PTX)"
	cd "$BATS_TEST_TMPDIR" || return
}

copies() {
	gputap copies --json -o copies.json "$@"
	expect_status 0
	output=$(cat copies.json)
}

@test "asynchronous copies have no bandwidth, and all are matched to the waits for their streams" {
	copies -- "$examples/streams"
	expect_json '.[0].copies | map(.direction) | sort == ["D2H", "H2D"]'
	expect_json '.[0].copies | all(.count == 8 and .bytes == 2097152 and .asynchronous.count == 8)'
	expect_json '.[0].copies | all(.waited == {count: 0, bytes: 0, time: 0, behind_work: 0, bytes_per_second: null})'
	expect_json '.[0].copies | all(.upper_bound.count == 8 and .upper_bound.mean > 0)'
	expect_json '.[0].copies | all(.pinned.count == 8 and .sizes == [{from: 262144, count: 8}])'
	expect_json '.[0] | .in_flight == 0 and .evicted == 0 and .pinning == []'
}

@test "synchronous copies have a bandwidth, and pageable ones a word on pinning" {
	copies -- "$examples/vectoradd"
	expect_json '.[0].copies | map(select(.waited.count > 0)) | length > 0 and all(.waited.bytes_per_second > 0)'
	expect_json '.[0].pinning | length == 2 and all(.compared_bytes == 0 and .pinned_time == null)'
	gputap copies -o copies.txt -- "$examples/vectoradd"
	grep -qxF 'H2D: most bytes are in pageable memory. The gain of pinning is unknown: no synchronous copy of such a size used pinned memory.' copies.txt ||
		fail "$(cat copies.txt)"
}

@test "copies beyond --max-copies are given up and counted" {
	copies --max-copies 2 -- "$examples/streams"
	expect_json '.[0].evicted == 14 and (.[0].copies | map(.upper_bound.count) | add == 2)'
}

@test "what eight threads of four processes copy is counted as they count it" {
	need_file "$mix" "program of CUDA (clang for PTX)"
	gputap copies --by process --json -o copies.json -- "$mix" 500 8 4
	expected=$(jq -cS --slurp '[.[] | . as $of | ("H2H", "H2D", "D2H") | {pid: $of.pid, direction: .,
		waited: $of.waiting[.], asynchronous: $of.asynchronous[.], pinned: $of.pinned[.], pageable: $of.pageable[.]}] |
		sort_by([.pid, .direction])' <<<"$output")
	found=$(jq -cS 'def part: [.count, .bytes]; [.copies[] | select(.direction != "D2D") |
		{pid, direction, waited: (.waited | part), asynchronous: (.asynchronous | part),
		pinned: (.pinned | part), pageable: (.pageable | part)}] | sort_by([.pid, .direction])' copies.json)
	[ "$found" = "$expected" ] || fail "found $found, not $expected"
	# Within the device no call waits.
	expected=$(jq -cS --slurp '[.[] | {pid, count: (.waiting.D2D[0] + .asynchronous.D2D[0]),
		bytes: (.waiting.D2D[1] + .asynchronous.D2D[1])}] | sort_by(.pid)' <<<"$output")
	found=$(jq -cS '[.copies[] | select(.direction == "D2D") | {pid, count: .asynchronous.count,
		bytes: .asynchronous.bytes}] | sort_by(.pid)' copies.json)
	[ "$found" = "$expected" ] || fail "found $found, not $expected"
	jq -e '.in_flight == 0' copies.json
}

@test "copies of graphs are counted where the graph is launched, and no asynchronous ones are in flight" {
	need_file "$build/tests/programs/graphs" "program of CUDA (clang for PTX)"
	copies -- "$build/tests/programs/graphs" 5
	expect_json '.[0].copies | map([.direction, .count, .by_graphs]) | sort == [
		["D2H", 0, {count: 5, bytes: 5120}], ["H2D", 0, {count: 15, bytes: 21980}]]'
	expect_json '.[0] | .in_flight == 0 and .unknown_graphs == 0'
	gputap copies -o copies.txt -- "$build/tests/programs/graphs" 5
	[ "$(awk 'NR == 1 { print $(NF - 2), $(NF - 1), $NF }' copies.txt)" = 'GRAPHS GRAPH BYTES' ]
	grep -qE '^H2D +0 +0 B .* 15 +21\.5 KiB$' copies.txt
	grep -qE '^D2H +0 +0 B .* 5 +5\.00 KiB$' copies.txt
}

@test "a rate that includes the wait for kernels before the copies says so" {
	gputap copies -o copies.txt -- "$examples/vectoradd"
	grep -qxE '[1-9][0-9]* of [0-9]+ waiting cop(y|ies) began while earlier work could still run: TIME and RATE include the wait for it\.' copies.txt
	copies -- "$examples/vectoradd"
	expect_json '.[0].copies | map(.waited.behind_work) | add > 0'
}
