# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What gputap shows agrees with what the modules of tests/guest/modules really did.

load ../cli/helper
load guest

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# trace OPTION… -- COMMAND…: trace to trace.json, with the ledger of the time in ledger.json.
trace() {
	"$fire" reset
	timeout 300 "$build/gputap" trace --json -o trace.json -e "$@" >out 2>error || fail "$(cat error)"
	"$fire" ledger >ledger.json
}

# expect_agreement FILTER…: each is true of $events (an array of the trace's objects) and $ledger.
expect_agreement() {
	local failed
	failed=$(first_false 'map(select(.schema == "gputap.event.1")) as $events | $ledgers[0] as $ledger |
		map(select(.schema == "gputap.totals.1"))[0] as $totals |' --slurp --slurpfile ledgers ledger.json \
		trace.json -- "$@")
	[ -z "$failed" ] ||
		fail "not true of the trace: $failed: $(head -c 3000 ledger.json) $(head -c 5000 trace.json)"
}

# The stamps of the ledger around an event, by the event's name.
in_stamps='def within($step; $job): .time >= $job[$step][0] and .time <= $job[$step][1];'

@test "jobs: count, order, ring and process agree exactly, 95 % of times lie between the stamps" {
	need_modules fakegpu
	trace drm -- sh -c '"$1" submit 0 100 30 & "$1" submit 1 60 20; wait; "$1" chain 10 1000' \
		sh "$fire"
	filters=('$totals.lost == 0 and ($ledger.jobs | length) == 180')
	for step in queue run done; do
		filters+=("[\$events[] | select(.name == \"$step\") |
			[.context, .seqno, .ring, .pid]] | sort ==
			([\$ledger.jobs[] | [.context, .seqno, .ring, .pid]] | sort)")
		# The order in each queue; in the ledger, jobs are in the order of their submission.
		filters+=("[\$events[] | select(.name == \"$step\")] | group_by(.context) |
			map(map(.seqno)) | all(. == sort)")
		filters+=("$in_stamps"' ($ledger.jobs |
			map({key: "\(.context) \(.seqno)", value: .}) | from_entries) as $jobs |
			[$events[] | select(.name == "'"$step"'") |
				within("'"$step"'"; $jobs["\(.context) \(.seqno)"])] |
			(map(select(.)) | length) >= 0.95 * length')
	done
	expect_agreement "${filters[@]}"
}

@test "jobs: two sessions at once show the same" {
	need_modules fakegpu
	# The trace events of the second one are called before its raw tracepoints.
	timeout 300 "$build/gputap" trace --json -o outer.json -e drm -- "$build/gputap" trace --json \
		-o trace.json -e drm -- sh -c '"$1" submit 0 40 30 & "$1" submit 1 30 20; wait' sh "$fire" 2>error
	"$fire" ledger >ledger.json
	for file in trace.json outer.json; do
		[ $file = trace.json ] || mv $file trace.json
		expect_agreement '$totals.lost == 0 and ($ledger.jobs | length) == 70'
		jq -c 'select(.name == ("queue", "run", "done") and .source == "drm") |
			[.name, .context, .seqno, .ring, .pid, .device]' trace.json | sort >shown
		jq -c '.jobs[] | . as $job | ("queue", "run", "done") |
			[., $job.context, $job.seqno, $job.ring, $job.pid, "fakegpu"]' ledger.json | sort >happened
		diff happened shown || fail "$file: $(wc -l <shown) events, $(cat error)"
	done
}

@test "jobs: each dependency is reported, and who was blocked by whom" {
	as_under_6_12
	need_modules fakegpu
	trace drm -- "$fire" blocked 5 300
	expect_agreement '[$ledger.jobs[] | . as $job | .dependencies[] |
		[$job.context, $job.seqno, .[0], .[1]]] | length == 5 and sort ==
		([$events[] | select(.on_context) | [.context, .seqno, .on_context, .on_seqno]] | unique)' \
		'[$events[] | select(.name == "blocked")] | length == 5'
}

@test "jobs: a timeout is reported, with the error of the job" {
	as_under_6_12
	need_modules fakegpu
	trace drm -- "$fire" hang 0
	expect_agreement '[$ledger.jobs[] | select(.timeout > 0) | [.context, .seqno]] as $hung |
		[$events[] | select(.name == "timeout") | [.context, .seqno]] == $hung and
		[$events[] | select(.name == "done" and .error == "ETIME") | [.context, .seqno]] == $hung'
}

@test "fences: every one is shown, with the waits, and the names of the driver" {
	need_modules fakegpu
	trace fence -- sh -c '"$1" fences 500 0; "$1" fences 50 1' sh "$fire"
	expect_agreement '[$events[] | select(.timeline == "flood" and .driver == "fakegpu")] as $flood |
		($ledger.fences[] | select(.timelines == "flood")) as $fired |
		[("init", "enable_signal", "signaled", "destroy") as $name |
			$flood | map(select(.name == $name)) | length] ==
		[$fired.created, $fired.enabled, $fired.signaled, $fired.released]' \
		'[$events[] | select(.name == "wait_end")] | length == 50'
}

@test "vertical blanks: those delivered are of the sequence numbers that happened" {
	as_under_6_12
	need_modules fakegpu
	trace vblank -- "$fire" vblank 4
	expect_agreement '[$events[] | select(.name == "vblank_delivered") | .sequence] as $delivered |
		($delivered | length) == 4 and ($delivered - [$ledger.vblanks[].sequence]) == []'
}

@test "one program under every source at once: each but nvlink shows its part, and nothing is lost" {
	need_modules fakegpu nvidia nvidia-uvm
	trace all -- sh -c '"$1" submit 0 3 200; "$1" cuda 3; "$1" nvidia "memcpy 100"' sh "$fire"
	expect_agreement '[$events[] | select(.source == "drm" and .name == "done")] | length == 3' \
		'[$events[].source] | unique | index("drm") and index("fence") and index("syscall") and (index("nvlink") | not)'
	run -0 jq -c 'select(.schema == "gputap.totals.1" and .lost > 0) | [.source, .recorded, .lost]' trace.json
	[ -z "$output" ] || fail "lost: $output"
}
