# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# probe: programs of running sessions are listed and changed, also in kernels that do not end.

load helper

setup() {
	persistent=$build/tests/programs/persistent
	need_file "$persistent" "program (no clang that makes PTX)"
	printf '%s\n' '#include <gputap/bpf.h>' \
		'GPUTAP_ARRAY(counts, unsigned long long, 8);' \
		'SEC("gpu/load") int loads(void *ctx) {' \
		'	unsigned int key = 0; bpf_map_add(&counts, &key, 1); return 0; }' \
		'SEC("gpu/store.warp/spin*") int stores(void *ctx) {' \
		'	unsigned int key = 1; bpf_map_add(&counts, &key, 1); return 0; }' \
		'char LICENSE[] SEC("license") = "GPL";' >"$BATS_TEST_TMPDIR/program.c"
	clang -g -O2 -target bpf -I "$root/include" -c "$BATS_TEST_TMPDIR/program.c" \
		-o "$BATS_TEST_TMPDIR/program.o"
	mkfifo "$BATS_TEST_TMPDIR/input"
}

teardown() {
	exec 9>&-
	[ -z "${session:-}" ] || wait "$session" || true
}

# Wait until a command succeeds; the limit is for hangs.
wait_until() {
	local tries=0
	until "$@" >/dev/null 2>&1; do
		sleep 0.02
		tries=$((tries + 1))
		[ $tries -lt 3000 ] || fail "never true: $*"
	done
}

# start OPTIONS…: a session whose kernel runs until `stop`; $session is its process.
start() {
	exec 9<>"$BATS_TEST_TMPDIR/input"
	"$build/gputap" run --gpu soft --json --interval 20ms "$@" "$BATS_TEST_TMPDIR/program.o" -- \
		"$persistent" <"$BATS_TEST_TMPDIR/input" >"$BATS_TEST_TMPDIR/output" \
		2>"$BATS_TEST_TMPDIR/error" 9>&- 3>&- &
	session=$!
	wait_until grep -q '^running' "$BATS_TEST_TMPDIR/output"
}

stop() {
	exec 9>&-
	wait "$session"
	session=
	grep -q '^stopped' "$BATS_TEST_TMPDIR/output"
}

# counts SLOT: the latest value that the session has printed; 0 before the first interval.
counts() {
	{
		echo '{"maps": [{"entries": []}]}'
		grep '^{.*}$' "$BATS_TEST_TMPDIR/output"
	} | tail -n 1 | jq --argjson n "$1" \
		'.maps[0].entries | [.[] | select(.key == $n) | .value][0] // 0'
}

grows() {
	local before
	before=$(counts "$1")
	wait_until is_above "$1" "$before"
}

is_above() {
	[ "$(counts "$1")" -gt "$2" ]
}

# Wait until the session has printed N more intervals.
intervals() {
	local before
	before=$(grep -c '^{' "$BATS_TEST_TMPDIR/output" || true)
	wait_until has_lines $((before + $1))
}

has_lines() {
	[ "$(grep -c '^{' "$BATS_TEST_TMPDIR/output")" -ge "$1" ]
}

@test "probe switches a program of a kernel that runs for ever off and on again" {
	start --switchable
	grows 0
	grows 1
	gputap probe off --pid "$session" loads
	expect_status 0
	expect_output_line "^ *$session  off .* loads +gpu/load$"
	expect_no_output_line stores
	intervals 3
	before=$(counts 0)
	grows 1
	intervals 3
	[ "$(counts 0)" = "$before" ]
	gputap probe on --pid "$session" 'lo*'
	expect_status 0
	grows 0
	stop
}

@test "probe changes the condition and the sampling of a program while its kernel runs" {
	start --when 'blockIdx.x>=0' --sample 1
	grows 0
	gputap probe set loads --pid "$session" --when 'blockIdx.x==7'
	expect_status 0
	expect_output_line 'loads .* block_x == 7$'
	intervals 3
	before=$(counts 0)
	grows 1
	intervals 3
	[ "$(counts 0)" = "$before" ]
	gputap probe set loads --pid "$session" --when 'blockIdx.x==1' --sample 1/3
	expect_status 0
	grows 0
	gputap probe list loads --json --pid "$session"
	expect_json '.[0][0] | .when == "block_x == 1" and .sample == 3 and .skipped > 0'
	gputap probe set loads --pid "$session" --when 'lane==1'
	expect_status 1
	expect_error "gputap: the session of process $session: it was started with fewer comparisons of 'lane' in --when"
	stop
}

@test "a session can start with its programs switched off" {
	start --start-off
	intervals 3
	[ "$(counts 0)" = 0 ]
	[ "$(counts 1)" = 0 ]
	gputap probe on --all --pid "$session"
	expect_status 0
	grows 0
	grows 1
	gputap probe off --all --json --pid "$session"
	expect_json '.[0] | map(.state) == ["off", "off"] and map(.program) == ["loads", "stores"]'
	stop
}

@test "probe lists the programs of a session with their sites" {
	start --switchable
	gputap probe list --json --pid "$session"
	expect_status 0
	expect_json ".[0] == [
		{pid: $session, program: \"loads\", section: \"gpu/load\", state: \"on\",
		 sites: 2, kernels: 1},
		{pid: $session, program: \"stores\", section: \"gpu/store.warp/spin*\", state: \"on\",
		 sites: 1, kernels: 1}]"
	gputap probe list --pid "$session" stores
	[ "${#lines[@]}" = 2 ]
	stop
}

@test "programs of a session without --switchable are listed and cannot be switched" {
	start
	gputap probe list --pid "$session"
	expect_output_line "^ *$session  always "
	gputap probe off loads --pid "$session"
	expect_status 1
	expect_error "gputap: the session of process $session: it was started without --switchable, which is needed from the start"
	grows 0
	stop
}

@test "another user neither sees nor switches a session" {
	[ "$EUID" = 0 ] || skip "needs root"
	start --switchable
	observe setpriv --reuid 65534 --regid 65534 --clear-groups "$build/gputap" probe off --all \
		--pid "$session"
	[ "$status" -ne 126 ] || skip "the build cannot be read by other users"
	expect_status 1
	expect_error "gputap: process $session runs no session that you may control; 'gputap probe list' lists them"
	grows 0
	stop
}

@test "probe names what is missing or wrong" {
	gputap probe
	expect_status 2
	expect_error "gputap: an action is needed: list, on, off or set (try 'gputap probe --help')"
	gputap probe toggle x
	expect_error "gputap: invalid action 'toggle' (one of: list, on, off, set) (try 'gputap probe --help')"
	gputap probe on
	expect_error "gputap: the name of a program is needed, or --all (try 'gputap probe --help')"
	gputap probe set a
	expect_error "gputap: 'set' needs --when or --sample (try 'gputap probe --help')"
	gputap probe on a --sample 1/2
	expect_error "gputap: --when and --sample are for 'set' (try 'gputap probe --help')"
	gputap probe on a b
	expect_error "gputap: unexpected argument 'b' (try 'gputap probe --help')"
	gputap probe list --pid $$
	expect_status 1
	expect_error "gputap: process $$ runs no session that you may control; 'gputap probe list' lists them"
	start --switchable
	gputap probe on nothing --pid "$session"
	expect_status 1
	expect_error "gputap: no program matches 'nothing'; 'gputap probe list' lists them"
	gputap probe set loads --pid "$session" --sample 1/2
	expect_status 1
	expect_error "gputap: the session of process $session: it was started without --when and --sample: one of them is needed from the start, such as --sample 1/1"
	stop
}

@test "probe list says on stderr that there is no session, or none with programs" {
	"$build/gputap" trace --via agent --gpu soft -o "$BATS_TEST_TMPDIR/trace" -- \
		sh -c 'echo running; read -r line' <"$BATS_TEST_TMPDIR/input" \
		>"$BATS_TEST_TMPDIR/output" 2>/dev/null 3>&- &
	session=$!
	exec 9>"$BATS_TEST_TMPDIR/input"
	wait_until grep -q '^running' "$BATS_TEST_TMPDIR/output"
	gputap probe list --pid "$session"
	expect_status 0
	expect_output ''
	expect_error 'gputap: no GPU programs: the sessions that run have none'
	gputap probe list --json --pid "$session"
	expect_status 0
	expect_output '[]'
	expect_error ''
	exec 9>&-
	unshare --map-root-user --net true 2>/dev/null || skip "no network namespace of its own"
	observe unshare --map-root-user --net "$build/gputap" probe list
	expect_status 0
	expect_output ''
	expect_error 'gputap: no session runs that you may control'
}

@test "a process that still runs when the command of run has ended is noted, and counted in JSON" {
	exec 9<>"$BATS_TEST_TMPDIR/input"
	cd "$BATS_TEST_TMPDIR"
	# shellcheck disable=SC2016 # expanded by the command
	gputap run --gpu soft --json program.o -- bash -c '"$1" <input >daemon 2>&1 3>&- 9>&- &
		until grep -q ^running daemon; do sleep 0.05; done' bash "$persistent"
	exec 9>&-
	wait_until grep -q '^stopped' daemon
	expect_status 0
	expect_error_line '^gputap: 1 process of the command still runs: what its kernels record from here on is not read$'
	expect_json '.[-1].still_running == 1'
	gputap run --gpu soft --json program.o -- true
	expect_json '.[-1].still_running == 0'
}
