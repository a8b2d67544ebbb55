# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Nothing is lost silently: every call that a program makes is complete, unfinished, or counted
# as lost.

load helper

standin=$build/tests/programs/standin
calls=$build/tests/programs/calls

setup() {
	need_probes
	export LD_LIBRARY_PATH=$standin
	capture=$BATS_TEST_TMPDIR/calls.gtap
}

# The totals at the end of $capture, as a JSON object in $account.
read_account() {
	account=$("$build/gputap" trace --from "$capture" --json -f cudaGetDevice 2>/dev/null | tail -n 1)
	[ "$(jq -r .schema <<<"$account")" = gputap.account.1 ] || fail "no totals: $account"
}

# expect_account CONDITION: a jq expression over the totals.
expect_account() {
	jq --exit-status "$1" <<<"$account" >/dev/null || fail "not true of $account: $1"
}

# trace_calls_while_stopped CALLS OPTION…: records a program whose calls are all made while gputap
# is stopped, and so reads nothing from the ring.
trace_calls_while_stopped() {
	local count=$1
	shift
	cd "$BATS_TEST_TMPDIR" || return
	"$build/gputap" trace --gpu nvidia -v -o "$capture" "$@" -- "$calls" --wait-for go "$count" \
		>out 2>err 3>&- &
	tracer=$!
	wait_for grep -qE '^gputap: attached' err
	kill -STOP $tracer
	touch go
	wait_for grep -q "^calls: $count calls" out
	kill -CONT $tracer
	wait $tracer
}

count_calls() {
	"$build/gputap" trace --from "$capture" -c 2>/dev/null | awk '$NF == "cudaGetDevice" { print $1 }'
}

@test "a million calls at full speed are all kept or counted, with the default ring" {
	gputap trace --gpu nvidia -o "$capture" -- "$calls" 1000000
	expect_status 0
	read_account
	expect_account '.made == 1000000'
	expect_account '.complete + .unfinished + .lost == 1000000'
	[ "$(count_calls)" = "$(jq .complete <<<"$account")" ]
}

@test "a million calls at full speed are all shown once, as text and as JSON" {
	# The ring has room for all of them, so that it does not matter when gputap runs.
	gputap trace --gpu nvidia --ring-size 256M -o "$capture.txt" -- "$calls" 1000000
	expect_error_line '^gputap: 1000000 calls: 1000000 complete, 0 unfinished, 0 lost$'
	[ "$(grep -c 'cudaGetDevice .*\[ENTER\]' "$capture.txt")" = 1000000 ]
	[ "$(grep -c 'cudaGetDevice .*returned=Success' "$capture.txt")" = 1000000 ]
	rm "$capture.txt"
	gputap trace --gpu nvidia --ring-size 256M --json -o "$capture.json" -- "$calls" 1000000
	expect_error_line '^gputap: 1000000 calls: 1000000 complete, 0 unfinished, 0 lost$'
	grep -F '"name":"cudaGetDevice"' "$capture.json" | cut -d: -f3 | cut -d, -f1 >"$capture.times"
	rm "$capture.json"
	sort -n -u -c "$capture.times" # each later than the one before
	[ "$(wc -l <"$capture.times")" = 1000000 ]
}

@test "a million calls into a ring of 64 KiB whose reader stands still are all kept or counted" {
	trace_calls_while_stopped 1000000 --ring-size 64K
	read_account
	expect_account '.lost > 0'
	expect_account '.made == 1000000'
	expect_account '.complete + .unfinished + .lost == 1000000'
	[ "$(count_calls)" = "$(jq .complete <<<"$account")" ]
}

@test "four threads and four processes are counted like one" {
	gputap trace --gpu nvidia -o "$capture" -- "$calls" --threads 4 200000
	read_account
	expect_account '.made == 200000 and .complete + .unfinished + .lost == 200000'
	gputap trace --gpu nvidia -o "$capture" -- "$calls" --forks 4 50000
	read_account
	expect_account '.made == 200000 and .complete + .unfinished + .lost == 200000'
}

# shown_live FILE PATTERN: of the last run, the calls that are complete, unfinished and lost add up to
# what the program made, and FILE has a line with PATTERN for each that is complete.
shown_live() {
	local returns
	[[ ${stderr_lines[-1]} =~ ' '([0-9]+)' calls: '([0-9]+)' complete, '([0-9]+)' unfinished, '([0-9]+)' lost' ]] ||
		fail "no account: ${stderr_lines[-1]}"
	[ "${BASH_REMATCH[1]}" = 200000 ]
	[ $((BASH_REMATCH[2] + BASH_REMATCH[3] + BASH_REMATCH[4])) = 200000 ]
	returns=$(grep -c "$2" "$1")
	[ "$returns" = "${BASH_REMATCH[2]}" ] || fail "$returns returns of ${BASH_REMATCH[2]} calls"
}

@test "live, all calls of threads and processes at full speed are shown or counted as lost, with the default ring" {
	local form pattern
	for form in '' --json; do
		pattern='cudaGetDevice .*returned=Success'
		[ -z "$form" ] || pattern='"name":"cudaGetDevice"'
		# shellcheck disable=SC2086 # no option, or one
		gputap trace --gpu nvidia $form -o "$capture.live" -- "$calls" --threads 4 200000
		shown_live "$capture.live" "$pattern"
		# shellcheck disable=SC2086
		gputap trace --gpu nvidia $form -o "$capture.live" -- "$calls" --forks 4 50000
		shown_live "$capture.live" "$pattern"
	done
	rm "$capture.live"
}

@test "50,000 calls while the reader stands still are recorded without loss, with the default ring" {
	trace_calls_while_stopped 50000
	read_account
	expect_account '.complete == 50000 and .lost == 0'
}

@test "the table, the lines and the JSON of one capture have the same number of calls" {
	gputap trace --gpu nvidia -o "$capture" -- "$calls" 500
	gputap trace --from "$capture"
	[ "$(grep -c 'cudaGetDevice .*returned=Success' <<<"$output")" = 500 ]
	gputap trace --from "$capture" --json
	expect_json 'map(select(.name == "cudaGetDevice")) | length == 500'
	[ "$(count_calls)" = 500 ]
}

@test "nothing is lost while an output takes nothing, and memory is bounded" {
	cd "$BATS_TEST_TMPDIR"
	mkfifo lines
	# 25 MB of records: more than the ring has room for. The pipe is read when all were made.
	# shellcheck disable=SC2016 # the shell of the command expands it
	"$build/gputap" trace --gpu nvidia --json -o lines -- \
		sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "$0" 15000; done; touch made' "$calls" \
		>out 2>err 3>&- &
	tracer=$!
	exec 5<lines
	wait_for test -e made
	[ "$(grep -c cudaGetDevice <&5)" = 180000 ]
	exec 5<&-
	wait $tracer
	grep -qE '^gputap: 180000 calls: 180000 complete, 0 unfinished, 0 lost' err || fail "$(cat err)"
}

@test "when the memory is full, losses are counted" {
	cd "$BATS_TEST_TMPDIR"
	mkfifo lines
	"$build/gputap" trace --gpu nvidia --json --ring-size 64K --buffer-size 1M -o lines -- \
		sh -c '"$0" 100000; touch made' "$calls" >out 2>err 3>&- &
	tracer=$!
	exec 5<lines
	wait_for test -e made
	written=$(grep -c cudaGetDevice <&5)
	exec 5<&-
	wait $tracer
	account=$(grep -oE '[0-9]+ complete, 0 unfinished, [0-9]+ lost' err)
	read -r complete _ _ _ lost _ <<<"$account"
	((written == complete && lost > 0 && complete + lost == 100000)) ||
		fail "$written written, $account"
}
