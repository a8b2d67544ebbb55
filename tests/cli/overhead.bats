# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What tracing costs, as gputap measures it, and --max-overhead.

load helper

setup() {
	need_probes
	need_root
	cd "$BATS_TEST_TMPDIR" || return
}

calls=$build/tests/programs/calls
overhead='^Overhead: probes took [0-9.]+ % of the time of a CPU: .* in [0-9]+ runs?.*; gputap used .* of CPU time\.$'

@test "every report states what the probes cost" {
	for report in kernels leaks copies errors report why stat; do
		gputap $report --gpu soft -- "$calls" 1000
		expect_status 0
		expect_error_line "$overhead"
	done
	gputap top -b --interval 100ms --gpu soft -- "$calls" --wait 300 1000
	expect_error_line '^events .*/s, lost 0, interval .*, probes [0-9.]+ % of a CPU$'
	gputap top --json --interval 100ms --gpu soft -o top.json -- "$calls" --wait 300 1000
	jq -es 'any(.overhead | .measured > 0 and .cpu > 0)' top.json || fail "$(<top.json)"
	gputap trace --gpu soft -v -o calls.txt -- "$calls" 1000
	expect_error_line '^gputap: probes took [0-9.]+ % of the time of a CPU: '
}

@test "the page of a report states what the probes cost" {
	command -v chromium >/dev/null || skip "chromium is not installed"
	export HOME=$BATS_TEST_TMPDIR
	gputap report --html page.html --gpu soft -- "$calls" 1000
	expect_status 0
	run -0 --separate-stderr "$root/tests/support/browser" page.html 'gputap.capture.about.overhead'
	expect_output_line '^"probes took [0-9.]+ % of the time of a CPU: .*; gputap used .* of CPU time"$'
}

@test "with the agent a report states what its hooks cost" {
	need_command jq
	need_file "$build/tests/programs/timed" "program of CUDA"
	gputap kernels --via agent --gpu soft -- "$build/tests/programs/timed" threads
	expect_status 0
	expect_error_line '^Overhead: probes took [0-9.]+ % of the time of a CPU: [0-9.]+ .?s in [0-9]+ runs; gputap used .* of CPU time\.$'
	gputap kernels --via agent --gpu soft --json -o kernels.json -- "$build/tests/programs/timed" threads
	# 400 launches of 8 threads: of each thread one in 61 entries and returns is measured.
	jq -e '.overhead | .measured == .elapsed and .probe_runs % 61 == 0 and .probe_runs >= 8 * 61 and
		.probe_runs <= 9 * 61 * 4 and .probe_time > .probe_runs and .traps == 0' kernels.json ||
		fail "$(jq .overhead kernels.json)"
}

@test "runs and traps are those of the calls" {
	# Always measured, and never above the limit.
	gputap stat --gpu soft --max-overhead 1000000% --json -o stat.json -- "$calls" 1000
	expect_status 0
	jq -e '.overhead | .measured == .elapsed and .traps >= 2000 and .probe_runs >= .traps and
		.probe_time > 0 and .trap_time > .traps and .cpu > 0 and
		.share * .elapsed > .probe_time' stat.json || fail "$(cat stat.json)"
	jq -e '.losses | .made >= 1000 and (.incomplete | not)' stat.json
}

# The traps of a program whose runtime calls have driver calls inside them, by an attach method.
traps_by() {
	gputap stat --gpu soft --attach "$1" --max-overhead 1000000% --json -o stat.json -- \
		"$build/examples/vectoradd"
	jq .overhead.traps stat.json
}

@test "by sessions, the return of a driver call inside a runtime call takes no trap" {
	need_file "$build/examples/vectoradd" "example (no clang that makes PTX)"
	gputap trace --gpu soft --attach session -- true
	[[ $stderr != *"no uprobe sessions"* ]] || skip "this kernel has no uprobe sessions"
	[ "$(traps_by session)" -lt "$(traps_by multi)" ]
}

@test "a capture has the overhead of its recording, and merge the sum" {
	gputap trace --gpu soft --max-overhead 1000000% -o calls.gtap -- "$calls" 1000
	gputap kernels --from calls.gtap
	expect_output_line "$overhead"
	gputap kernels --json --from calls.gtap
	traps=$(jq .overhead.traps <<<"$output")
	[ "$traps" -ge 2000 ]
	gputap trace --json --from calls.gtap
	expect_json "[.[] | select(.schema == \"gputap.overhead.1\")] | length == 1 and .[0].overhead.traps == $traps"
	gputap diff calls.gtap calls.gtap
	[ "$(grep -cE '^calls\.gtap: overhead: probes took [0-9.]+ % of the time of a CPU: ' <<<"$output")" -eq 2 ]
	gputap diff --json calls.gtap calls.gtap
	expect_json ".[0] | .overhead_before == .overhead_after and .overhead_before.traps == $traps"
	gputap merge -o both.gtap calls.gtap calls.gtap
	gputap kernels --json --from both.gtap
	[ "$(jq .overhead.traps <<<"$output")" -eq $((2 * traps)) ]
}

@test "calls at full speed are traced a part of the time with a limit, and the run is incomplete" {
	gputap trace -c --gpu soft --max-overhead 0.5% -- "$calls" 3000000
	expect_status 0
	expect_error_line '^gputap: probes take [0-9.]+ % of the time \(--max-overhead 0\.5%\): calls: (traced 1/[0-9]+ of the time|no longer traced)$'
	expect_error_line '^gputap: incomplete: [0-9]+ calls: .* 0 lost; calls may be missing from the times in which calls were not traced \(--max-overhead\)$'
	expect_output_line '^calls: 3000000 calls,'
	made=$(sed -nE 's/^gputap: incomplete: ([0-9]+) calls.*/\1/p' <<<"$stderr")
	((made > 0 && made < 3000000)) || fail "$made calls were traced"
}

@test "the program makes its calls while probes come and go, in threads and for long" {
	gputap trace --gpu soft --max-overhead 20% --json -o calls.json -- "$calls" --threads 4 3000000
	expect_status 0
	expect_output_line '^calls: 3000000 calls,'
	jq -e 'select(.schema == "gputap.account.1") | .lost == 0 and .orphans == 0 and .incomplete and
		(.gaps | length == 1 and .[0].reason == "reduced" and .[0].library == "calls") and
		.made == .complete + .unfinished' calls.json || fail "$(tail -n 2 calls.json)"
	jq -es 'map(select(.schema == "gputap.call.1")) | all(.name == "cudaGetDevice" and
		(.result == "cudaSuccess" or .unfinished))' calls.json >/dev/null
}

# check_steps FILE CALLS: the cost that a run with --max-overhead 2% reports at its end agrees with the steps
# that it printed on standard error. The savings at first are the limit of 1 s.
check_steps() {
	[ "$(jq -s 'map(select(.schema == "gputap.overhead.1")) | length' "$1")" -eq 1 ]
	jq -es --argjson calls "$2" --argjson steps "$(steps)" '
		(map(select(.schema == "gputap.overhead.1"))[0]) as $event |
		(map(select(.schema == "gputap.account.1"))[0]) as $account |
		$event.overhead as $cost |
		($cost.share * $cost.elapsed >= 0.02 * 1e9) and $cost.measured == $cost.elapsed and
		$account.incomplete and $account.made < $calls / 4 and
		($steps | length > 0 and all(.share > 2 and .limit == 2)) and
		($account.gaps | length == 1 and .[0].reason == "reduced" and
			.[0].start > $event.time - $cost.elapsed and .[0].start < $event.time)' "$1" ||
		fail "$(tail -n 2 "$1")"
}

# The steps as JSON: what the probes took, and which part of the time calls are traced from then on.
steps() {
	sed -nE -e 's/^gputap: probes take ([0-9.]+) % of the time \(--max-overhead ([0-9.]+)%\): calls: traced 1\/([0-9]+) .*/{"share":\1,"limit":\2,"part":\3}/p' \
		-e 's/^gputap: probes take ([0-9.]+) % .*\(--max-overhead ([0-9.]+)%\): calls: no longer traced$/{"share":\1,"limit":\2,"part":null}/p' <<<"$stderr" | jq -cs .
}

@test "the cost that is reported at the end agrees with the steps that were taken" {
	gputap trace --gpu soft --max-overhead 2% --json -o calls.json -- "$calls" 30000000
	expect_status 0
	expect_output_line '^calls: 30000000 calls,'
	check_steps calls.json 30000000
	# Calls that were complete took two traps each, also in later windows.
	jq -es '(map(select(.schema == "gputap.account.1"))[0].complete) as $complete |
		map(select(.schema == "gputap.overhead.1"))[0].overhead | .traps >= 2 * $complete and
		.probe_runs >= .traps and .share < 1' calls.json || fail "$(tail -n 2 calls.json)"
	# Each step is the smallest by which the cost is expected to be at 9/10 of the limit: shares are
	# rounded, and a part of them is not of calls.
	jq -e 'reduce .[] as $step ({last: 1, right: true};
		(if $step.part then $step.part / .last else null end) as $factor |
		{last: $step.part, right: (.right and ($factor == null or
			(pow(2; $factor | log2 | round) == $factor and $step.share / $factor < 1.8 * 1.15 and
			 $step.share / ($factor / 2) > 1.8 * 0.85)))}) | .right' <<<"$(steps)" || fail "$(steps)"
}

@test "the cost that is reported at the end agrees with the steps that were taken, with the agent" {
	gputap trace --via agent --gpu soft --max-overhead 2% --json -o calls.json -- "$calls" 50000000
	expect_status 0
	grep -E '"schema":"gputap\.(overhead|account)\.1"' calls.json >end.json
	rm calls.json
	check_steps end.json 50000000
}

@test "other sources are dropped" {
	gputap trace -e syscall --max-overhead 0.01% --json -o out.json -- dd if=/dev/zero of=/dev/null bs=1 count=3000000
	expect_error_line '^gputap: probes take [0-9.]+ % of the time \(--max-overhead 0\.01%\): syscall: no longer traced$'
	jq -e 'select(.schema == "gputap.account.1") | .incomplete and .gaps[0].reason == "reduced" and
		.gaps[0].library == "syscall"' out.json || fail "$(tail -n 1 out.json)"
	gputap record -e syscall --max-overhead 1000000% -o all.gtap -- dd if=/dev/zero of=/dev/null bs=1 count=1000
	gputap stat --from all.gtap
	expect_output_line '^Complete: syscall: '
}

@test "with the agent, calls at full speed are traced a part of the time with a limit" {
	gputap trace --via agent --gpu soft --max-overhead 0.5% --json -o calls.json -- "$calls" 50000000
	expect_status 0
	expect_output_line '^calls: 50000000 calls,'
	expect_error_line '^gputap: probes take [0-9.]+ % of the time \(--max-overhead 0\.5%\): calls: (traced 1/[0-9]+ of the time|no longer traced)$'
	jq -e 'select(.schema == "gputap.account.1") | .incomplete and .orphans == 0 and
		.made > 0 and .made < 50000000 and .made == .complete + .unfinished + .lost and
		(.gaps | length == 1 and .[0].reason == "reduced" and .[0].library == "calls")' <(tail -n 3 calls.json) ||
		fail "$(tail -n 2 calls.json)"
	rm calls.json
}

@test "with the agent, a limit that is never reached drops nothing" {
	gputap trace -c --via agent --gpu soft --max-overhead 1000000% -- "$calls" 100000
	expect_status 0
	expect_no_error_line 'max-overhead'
	expect_error_line '^gputap: 100000 calls via agent: 100000 complete, 0 unfinished, 0 lost$'
}

@test "a limit is a percentage" {
	gputap trace --max-overhead fast -- true
	expect_status 2
	expect_error "gputap: invalid value 'fast' for --max-overhead (a percentage, such as 2%)"
}
