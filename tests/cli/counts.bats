# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# `gputap trace -c`: the kernel counts the calls, and no record of a call leaves it.

load helper
load tracing

setup() {
	use_standin
}

# Calls, errors and function of each row, and calls that are unfinished.
rows() {
	awk '$1 == "CALLS" { table = 1; next } /^gputap:/ { table = 0 }
		table { name = $0; sub(/^.*  /, "", name); print $1, $2, name }' <<<"$1" | sort
}

# expect_same_rows PROGRAM [ARGS]: live counts are those of a capture of the same program.
expect_same_rows() {
	local live totals
	trace -c "${options[@]}" -- "$@"
	expect_status 0
	live=$(rows "$stderr")
	totals=${stderr_lines[-1]}
	[ -n "$live" ] || fail "no table: $stderr"
	trace "${options[@]}" -o calls.gtap -- "$@"
	[ "$totals" = "${stderr_lines[-1]}" ] || fail "$*: $totals, but ${stderr_lines[-1]}"
	gputap trace --from calls.gtap -c
	[ "$live" = "$(rows "$output")" ] || fail "$*: $live, but in a capture $(rows "$output")"
}

@test "the kernel counts what records count: nested, abandoned and failed calls, threads, layers" {
	options=()
	expect_same_rows "$callback" nested 5
	expect_same_rows "$callback" longjmp 3
	expect_same_rows "$callback" launch 4
	expect_same_rows "$calls" --forks 3 5
	export LD_LIBRARY_PATH=$softgpu:$programs/libraries
	for options in "--gpu soft" "--gpu soft -e cuda,cublas,nccl" "--gpu soft -v"; do
		read -ra options <<<"$options"
		expect_same_rows "$programs/layers"
	done
}

@test "conditions filter what the kernel counts" {
	options=(--failed)
	expect_same_rows "$callback" longjmp 3
	options=(--when 'depth==1')
	expect_same_rows "$callback" nested 5
	options=(-f cudaMalloc)
	expect_same_rows "$callback" nested 5
}

@test "a table without records loses nothing, however small the ring is" {
	trace -c --ring-size 4K -- "$calls" 200000
	expect_error_line '^ *200000 +0 .* cudaGetDevice$'
	expect_error_line '^gputap: 200000 calls: 200000 complete, 0 unfinished, 0 lost$'
}

@test "abandoned calls are counted in their row" {
	trace -c -- "$callback" longjmp 3
	expect_error_line '^ *6 +0 .* cudaMalloc \(3 unfinished\)$'
}

@test "the quantiles of a row lie between zero and its maximum" {
	trace -c -- "$calls" 1000
	expect_error_line '^ *CALLS +ERRORS +TOTAL +MEAN +P50 +P99 +MAX +FUNCTION$'
	row=$(grep cudaGetDevice <<<"$stderr")
	read -r -a fields <<<"$row"
	ns() { awk -v value="$1" -v unit="$2" 'BEGIN { scale["ns"] = 1; scale["µs"] = 1e3
		scale["ms"] = 1e6; scale["s"] = 1e9; printf "%d", value * scale[unit] }'; }
	p50=$(ns "${fields[6]}" "${fields[7]}")
	p99=$(ns "${fields[8]}" "${fields[9]}")
	max=$(ns "${fields[10]}" "${fields[11]}")
	((0 < p50 && p50 <= p99 && p99 <= max)) || fail "$row"
}
