# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The end of a trace: with its target, by signals, when nobody reads it. Each time the totals are
# printed, the status is the command's, and no probe remains.

load helper
load tracing

setup() {
	use_standin
}

# Shells start what is in the background with SIGINT and SIGQUIT ignored, and the command would inherit that.
start_in_group() {
	setsid env --default-signal=INT,QUIT "$build/gputap" trace --gpu nvidia "$@" >out 2>err 3>&- &
	tracer=$!
}

has_line() {
	grep -qE -- "$1" err out
}

expect_totals() {
	grep -qxE "gputap: $1" <<<"$stderr" || fail "the totals are not: $1"
}

# The BPF programs and links that a process holds, as commands that show them.
held_by() {
	cat /proc/"$1"/fdinfo/* 2>/dev/null | sed -n -E 's/^(prog|link)_id:[[:blank:]]*/\1 show id /p' | sort -u
}

is_gone() {
	! "$(command -v bpftool || echo /usr/sbin/bpftool)" "$@" >/dev/null 2>&1
}

# The kernel takes them away a moment after the last descriptor was closed.
expect_gone() {
	local show
	[ -n "$1" ] || fail "it held no program and no link"
	while read -r show; do
		# shellcheck disable=SC2086 # three words
		wait_for is_gone $show || fail "it is still there: bpftool $show"
	done <<<"$1"
}

@test "Ctrl-C ends the command and the trace, and the totals are printed" {
	start_in_group -- "$callback" block 2
	wait_for has_line 'callback: in a call that blocks'
	wait_for has_line 'EXIT'
	kill -INT -- -"$tracer"
	end_trace
	expect_status 130
	expect_count "$stderr" '\[EXIT\]   returned=Success' 2
	expect_error_line '\[EXIT\]   unfinished: abandoned without returning \([0-9.]+ (ns|µs|ms|s)\)$'
	expect_error_line "^gputap: $callback was killed by signal 2 \(Interrupt\)$"
	expect_totals '3 calls: 2 complete, 1 unfinished, 0 lost'
}

@test "SIGINT to gputap alone is passed on to the command" {
	start_in_group -- "$callback" block 1
	wait_for has_line 'callback: in a call that blocks'
	kill -INT "$tracer"
	end_trace
	expect_status 130
	expect_totals '2 calls: 1 complete, 1 unfinished, 0 lost'
}

@test "SIGTERM is passed on to the command" {
	start_in_group -- "$callback" block 1
	wait_for has_line 'callback: in a call that blocks'
	kill "$tracer"
	end_trace
	expect_status 143
	expect_totals '2 calls: 1 complete, 1 unfinished, 0 lost'
}

@test "a command that catches Ctrl-C ends on its own, with its own status" {
	# shellcheck disable=SC2016 # expanded by the other shell
	start_in_group -- sh -c 'trap "exit 5" INT; echo ready; while :; do sleep 0.1; done'
	wait_for has_line ready
	kill -INT -- -"$tracer"
	end_trace
	expect_status 5
	expect_totals '0 calls: 0 complete, 0 unfinished, 0 lost'
}

@test "the second Ctrl-C ends the trace of a command that ignores them" {
	start_in_group -- sh -c 'trap "" INT; echo ready; while [ ! -e go ]; do sleep 0.1; done; exit 6'
	wait_for has_line ready
	kill -INT -- -"$tracer"
	wait_for has_taken_interrupt "$tracer"
	kill -INT -- -"$tracer"
	wait_for has_line '0 calls: 0 complete'
	touch go
	end_trace
	expect_status 6
}

has_lines() {
	[ "$(cat err out | grep -cE -- "$2")" -ge "$1" ]
}

@test "every signal is passed on to a command that catches them, until it ends" {
	# shellcheck disable=SC2016 # expanded by the other shell
	start_in_group -- sh -c 'trap "echo interrupted" INT; trap "echo terminated" TERM
		trap "echo left" QUIT; echo ready; while [ ! -e go ]; do sleep 0.1; done; exit 7'
	wait_for has_line ready
	kill -INT "$tracer"
	wait_for has_lines 1 interrupted
	kill -TERM "$tracer"
	wait_for has_lines 1 terminated
	wait_for has_line '^gputap: tracing has ended; waiting for PID [0-9]+ \(sh\), which continues'
	for i in 2 3 4; do
		kill -INT "$tracer"
		wait_for has_lines "$i" interrupted
		wait_for has_lines "$((i - 1))" '^gputap: passed signal 2 \(Interrupt\) on; waiting for PID [0-9]+ \(sh\)$'
	done
	kill -QUIT "$tracer"
	wait_for has_lines 1 left
	touch go
	end_trace
	expect_status 7
}

@test "signals that are only for the command are passed on, and the tracing continues" {
	for other in trace record; do
		: >out # "ready" of the one before
		# shellcheck disable=SC2016 # expanded by the other shell
		setsid "$build/gputap" $other --gpu nvidia -o out.gtap -- bash -c '
			for name in USR1 USR2 ALRM VTALRM PROF IO PWR STKFLT XCPU RTMIN RTMIN+3 RTMAX; do
				trap "echo got $name" $name
			done
			echo ready; while [ ! -e go ]; do sleep 0.1; done; exec "$0" 5' "$calls" >out 2>err 3>&- &
		tracer=$!
		wait_for has_line ready
		for name in USR2 ALRM VTALRM PROF IO PWR STKFLT XCPU RTMIN RTMIN+3 RTMAX USR2; do
			kill -$name "$tracer"
			wait_for has_lines 1 "^got ${name/+/[+]}$"
		done
		wait_for has_lines 2 '^got USR2$'
		# trace prints its totals.
		[ $other = trace ] || { kill -USR1 "$tracer"; wait_for has_lines 1 '^got USR1$'; }
		touch go
		end_trace
		rm go
		expect_status 0
		expect_totals '5 calls: 5 complete, 0 unfinished, 0 lost.*'
	done
}

@test "a command that was started with an ignored signal keeps ignoring it, and gets others" {
	setsid env --ignore-signal=INT --default-signal=QUIT "$build/gputap" trace --gpu nvidia -- \
		sh -c 'echo ready; while :; do sleep 0.1; done' >out 2>err 3>&- &
	tracer=$!
	wait_for has_line ready
	kill -INT "$tracer"
	wait_for has_taken_interrupt "$tracer"
	kill -INT "$tracer"
	wait_for has_line '^gputap: tracing has ended; waiting for PID'
	kill -QUIT "$tracer"
	end_trace
	expect_status 131
}

# bats test_tags=alone
@test "Ctrl-C ends a trace without a command, with status 0" {
	own=calls-$$ # other programs may run on this machine
	cp "$calls" "$own"
	start_trace --comm "$own"
	"./$own" 2 >/dev/null
	kill -INT "$tracer"
	end_trace
	expect_status 0
	expect_error_line '^gputap: 2 calls: 2 complete, 0 unfinished, 0 lost$'
}

@test "Ctrl-C leaves no program and no link behind, nor does the end of the command" {
	need_root
	[ -x /usr/sbin/bpftool ] || need_command bpftool
	for end in INT TERM; do
		start_trace
		held=$(held_by "$tracer")
		kill "-$end" "$tracer"
		end_trace
		expect_gone "$held"
	done
	start_trace -- "$calls" --wait-for go 1
	held=$(held_by "$tracer")
	touch go
	end_trace
	expect_gone "$held"
}

@test "when gputap is killed the command continues, and no probe remains" {
	need_root
	[ -x /usr/sbin/bpftool ] || need_command bpftool
	start_trace -- sh -c "$calls --wait-for go 3 >made"
	held=$(held_by "$tracer")
	kill -KILL "$tracer"
	end_trace
	expect_status 137
	expect_gone "$held"
	touch go
	wait_for grep -q '^calls: 3 calls' made
}

@test "a command does not run where the trace cannot begin" {
	trace -e none -- touch ran
	expect_status 2
	[ ! -e ran ]
}

@test "a call that blocks is visible while it blocks" {
	start_in_group -- "$callback" block 1
	wait_for has_line 'callback: in a call that blocks'
	wait_for sh -c '[ "$(grep -c ENTER err)" = 2 ]'
	[ "$(grep -c EXIT err)" = 1 ]
	kill -INT "$tracer"
	end_trace
}

@test "calls that are running when the tracing ends are counted as unfinished" {
	sh -c "while [ ! -e go ]; do sleep 0.05; done; exec $callback block 1" >made 3>&- &
	target=$!
	start_trace --json -o out.json -d $target
	touch go
	wait_for grep -q 'in a call that blocks' made
	kill -INT "$tracer"
	end_trace
	kill $target
	expect_status 0
	expect_totals '2 calls: 1 complete, 1 unfinished, 0 lost'
	[ "$(jq -c 'select(.name) | [.result, .unfinished]' out.json)" = '["cudaSuccess",null]
[null,true]' ]
}

@test "calls abandoned by longjmp are unfinished, and later ones complete" {
	trace -- "$callback" longjmp 5
	expect_count "$stderr" 'unfinished: abandoned without returning' 5
	expect_count "$stderr" 'returned=Success' 5
	expect_error_line '^gputap: 10 calls: 5 complete, 5 unfinished, 0 lost$'
}

@test "a call in which the process ends is unfinished" {
	trace -- "$callback" exit 3
	expect_status 0
	expect_count "$stderr" 'unfinished: abandoned without returning' 1
	expect_error_line '^gputap: 4 calls: 3 complete, 1 unfinished, 0 lost$'
}

@test "calls that began before the tracing are counted separately" {
	"$callback" block 1 >ready 3>&- &
	target=$!
	wait_for grep -q 'in a call that blocks' ready
	start_trace -d $target
	kill -INT "$tracer"
	end_trace
	kill $target
	expect_totals "incomplete: 0 calls: 0 complete, 0 unfinished, 0 lost; calls may be missing from callback \\($target\\), which ran [0-9.]+ .?s before the probes in libcudart\\.so\\.13 were attached"
}

@test "when nobody reads the lines, the tracing ends and the command continues to its end" {
	{
		"$build/gputap" trace --gpu nvidia -o - -- \
			sh -c "$calls 2000 >/dev/null; sleep 0.3; $calls 2000 >/dev/null; touch done; exit 9" 2>err ||
			echo $? >status
	} | head -n 1 >first
	grep -q '^TIME' first
	[ "$(cat status)" = 9 ]
	[ -e done ]
	! grep -vE '^gputap: ([0-9]+ calls: |no NVIDIA driver found)' err
}

@test "when nobody reads the lines of other processes, the trace ends" {
	"$calls" --rate 1000 100000000 >/dev/null 3>&- &
	target=$!
	timeout 300 "$build/gputap" trace --gpu nvidia -d $target 2>err | head -n 1 >first
	[ "${PIPESTATUS[0]}" = 0 ]
	kill $target
	grep -q '^gputap: incomplete: [0-9]* calls: ' err
}

@test "when the terminal goes, the trace ends" {
	start_trace
	kill -HUP "$tracer"
	end_trace
	expect_status 0
}
