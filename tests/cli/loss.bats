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
	[ "$(jq -r .schema <<<"$account")" = gputap.account.1 ] || told "no totals: $account"
}

# expect_account CONDITION: a jq expression over the totals.
expect_account() {
	jq --exit-status "$1" <<<"$account" >/dev/null || told "not true of $account: $1"
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

@test "a million calls into a ring of 64 KiB whose reader stands still are all kept or counted" {
	"$build/gputap" trace --gpu nvidia --ring-size 64K -o "$capture" -- "$calls" --wait 300 1000000 \
		3>&- &
	tracer=$!
	sleep 0.6
	kill -STOP $tracer
	sleep 0.3
	kill -CONT $tracer
	wait $tracer
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

@test "100,000 calls a second for ten seconds are recorded without loss, though the sink stalls" {
	"$build/gputap" trace --gpu nvidia -o "$capture" -- "$calls" --wait 300 --rate 100000 1000000 \
		3>&- &
	tracer=$!
	sleep 3
	kill -STOP $tracer
	sleep 0.5
	kill -CONT $tracer
	wait $tracer
	read_account
	expect_account '.complete == 1000000 and .lost == 0'
}

@test "the table, the lines and the JSON of one capture tell the same number of calls" {
	gputap trace --gpu nvidia -o "$capture" -- "$calls" 500
	gputap trace --from "$capture"
	[ "$(grep -c 'cudaGetDevice .*returned=Success' <<<"$output")" = 500 ]
	gputap trace --from "$capture" --json
	expect_json 'map(select(.name == "cudaGetDevice")) | length == 500'
	[ "$(count_calls)" = 500 ]
}
