# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# `gputap top`: its tables in batch mode and as JSON, and its screen, in a terminal that tmux emulates.

load helper
load tracing

setup() {
	use_standin
	socket=gputap-top-$BATS_TEST_NUMBER-$$ # a session of tmux for each test
}

teardown() {
	touch go
	tmux -L "$socket" kill-server 2>/dev/null || true
}

top() {
	gputap top --gpu nvidia "$@"
	without_driver_note
}

# start_screen COMMAND: in a terminal of 100 columns and 24 lines; its status is printed at the end.
start_screen() {
	command -v tmux >/dev/null || skip "tmux is not installed"
	LC_ALL=C.UTF-8 tmux -L "$socket" -f /dev/null -u new-session -d -x 100 -y 24 \
		"$1; echo \"status=\$?\"; cat"
}

screen_has() {
	tmux -L "$socket" capture-pane -p | grep -qE -- "$1"
}

press() {
	tmux -L "$socket" send-keys "$@"
}

@test "every call is in the tables of the last refresh" {
	top --json --interval 100ms -o top.json -- "$calls" --forks 4 1000
	expect_status 0
	run -0 jq -s '[.[-1].functions[].calls] | add' top.json
	[ "$output" = 4000 ]
	run -0 jq -es 'all(.[]; .schema == "gputap.top.1" and .lost == 0) and
		(.[-1].sources[] | select(.source == "calls") | .events) == 4000' top.json
}

@test "processes have calls, launches, copied bytes and memory while they run" {
	export LD_LIBRARY_PATH=$softgpu
	gputap top --gpu soft --json --interval 50ms -o top.json -- "$build/examples/pipeline"
	expect_status 0
	run -0 jq -es 'map(.kernels[]) | map(select(.launches == 16)) | length > 0' top.json
	run -0 jq -es 'map(.copies[]) | map(.bytes) | max > 0' top.json
	run -0 jq -es 'map(.processes[]) | all(.[]; .name == "pipeline") and length > 0' top.json
}

@test "batch mode prints the tables that have rows, or the one that is asked for, sorted" {
	top --batch --interval 100ms -- "$calls" 10
	expect_status 0
	[[ $stderr == *$'\nfunctions\n'* && $stderr != *$'\nrings\n'* ]] || fail "tables: $stderr"
	top -b --table functions --sort function --ascending --filter cudaF -- "$callback" launch 4
	expect_status 0
	[[ $stderr == *'FUNCTION▲'* ]] || fail "$stderr"
	[[ $stderr != *cudaLaunchKernel* ]] || fail "not filtered: $stderr"
}

@test "it ends after --iterations, and the command continues to its end" {
	top --json -n 2 --interval 50ms -o top.json -- "$calls" --wait 500 --signal 9 10
	expect_status 137
	[ "$(wc -l <top.json)" = 2 ]
}

@test "options that make no sense are errors" {
	for option in from start end; do
		gputap top "--$option" 1
		expect_status 2
		[[ $stderr == "gputap: unknown option '--$option'"* ]] || fail "$stderr"
	done
	gputap top --help
	expect_no_output_line '^ +--(from|start|end) '
	expect_output_line '^ +--ring-size '
	gputap top --table rings --sort calls
	expect_status 2
	[[ $stderr == *"invalid column 'calls' for --sort (one of: jobs_per_second, jobs,"* ]]
	gputap top --filter "$(printf %100s x)"
	expect_status 2
}

@test "the screen shows tables, filters and freezes them, and the terminal is restored" {
	start_screen "$build/gputap top --gpu nvidia --interval 100ms -- $calls --wait-for go 100"
	wait_for screen_has '\[1 processes\]'
	press 2
	wait_for screen_has '\[2 functions\]'
	press 7
	wait_for screen_has 'EVENTS/S▼ .*SOURCE'
	press /
	press nothing
	wait_for screen_has 'filter: nothing_'
	press Escape
	press h
	wait_for screen_has 'Space +freeze the rows'
	press h
	press Space
	wait_for screen_has 'frozen: Space continues'
	touch go
	wait_for screen_has 'ended: q quits'
	press 2
	wait_for screen_has '100 +0 .* cuda'
	press q
	wait_for screen_has 'status=0'
	wait_for screen_has 'gputap: 100 calls: 100 complete'
	screen_has 'calls took|ns per call|[0-9]+ ns' || fail "$(tmux -L "$socket" capture-pane -p)"
}

@test "q ends the view, and the command continues" {
	start_screen "$build/gputap top --gpu nvidia --interval 100ms -- $calls --wait-for go 100"
	wait_for screen_has '\[1 processes\]'
	press q
	wait_for screen_has 'gputap: .*calls'
	touch go
	wait_for screen_has 'status=0'
}
