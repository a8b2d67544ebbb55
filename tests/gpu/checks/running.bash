# shellcheck shell=bash disable=SC2034,SC2154 # what tests/gpu/run sets and uses
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Programs that call the host, that are changed while a kernel runs, and times of launches.

# ---- host calls --------------------------------------------------------------------------------

# Each store of a thread updates a map on the host and prints a line: none may be lost.
calls_host() {
	local number=20000 lines median
	[ "$gpu" = nvidia ] || number=200
	"$gputap" run --gpu "$gpu" --json "$objects/hostcalls.bpf.o" -- "$programs/calls" $number \
		>"$work/with" 2>"$work/with-error" || return
	grep '^{' "$work/with" >"$work/json"
	lines=$(grep -cE '^store [0-9]+$' "$work/with-error")
	if [ "$(values counts) $(values last) $lines" != "$number $number $number" ]; then
		echo "counted $(values counts), last $(values last), $lines lines, not $number"
		return 1
	fi
	median=$(values times | tr ' ' '\n' | sort -n | sed -n "$((number / 2))p")
	awk -v ns="$median" -v n="$number" \
		'BEGIN { printf "%d updates and %d lines; an update takes %.1f µs (median)\n", n, n, ns / 1e3 }'
}

# ---- a session beside a kernel that runs -------------------------------------------------------

session=

# wait_for COMMAND…: until it succeeds; the limit is for hangs.
wait_for() {
	local tries=0
	until "$@" >/dev/null 2>&1; do
		sleep 0.05
		tries=$((tries + 1))
		if [ $tries = 1200 ]; then
			echo "never true: $*"
			return 1
		fi
	done
}

# start_session OPTIONS…: the kernel runs until end_session.
start_session() {
	rm -f "$work/input"
	mkfifo "$work/input" || return
	exec 9<>"$work/input"
	"$gputap" run --gpu "$gpu" --json --interval 20ms "$@" "$objects/persistent.bpf.o" -- \
		"$programs/persistent" <"$work/input" >"$work/with" 2>"$work/with-error" 9>&- &
	session=$!
	wait_for grep -q '^running' "$work/with"
}

end_session() {
	exec 9>&-
	wait "$session" || return
	session=
	grep -q '^stopped' "$work/with" || {
		echo 'the kernel did not end'
		return 1
	}
}

# latest MAP: the value of its first key in the last output; 0 before there is one.
latest() {
	grep '^{.*}$' "$work/with" | tail -n 1 >"$work/json"
	local found
	found=$(values "$1")
	echo "${found:-0}"
}

is_above() {
	[ "$(latest "$1")" -gt "$2" ]
}

grows() {
	wait_for is_above "$1" "$(latest "$1")"
}

count_outputs() {
	grep -c '^{.*}$' "$work/with"
}

has_outputs() {
	[ "$(count_outputs)" -ge "$1" ]
}

# Wait until maps were printed three times more.
pass_intervals() {
	wait_for has_outputs $(($(count_outputs) + 3))
}

# stands_still MAP OTHER: while the other one grows.
stands_still() {
	local before
	pass_intervals || return
	before=$(latest "$1")
	grows "$2" && pass_intervals || return
	[ "$(latest "$1")" = "$before" ] || {
		echo "$1 grows from $before to $(latest "$1")"
		return 1
	}
}

probe() {
	"$gputap" probe "$@" --pid "$session" >"$work/probe" 2>&1 || {
		tail -n 1 "$work/probe"
		return 1
	}
}

# in_session OPTION… -- COMMAND: the command, while the kernel runs.
in_session() {
	local options=() result
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	start_session "${options[@]}" && "$@"
	result=$?
	end_session || result=1
	return $result
}

switch_off_and_on() {
	grows load_counts && grows store_counts && probe off loads &&
		stands_still load_counts store_counts && probe on loads && grows load_counts
}

change_condition() {
	grows load_counts && probe set loads --when 'blockIdx.x==7' &&
		stands_still load_counts store_counts &&
		probe set loads --when 'blockIdx.x==1' --sample 1/3 && grows load_counts
}

switches_programs() {
	in_session --switchable "$@" -- switch_off_and_on || return
	echo "$(count_outputs) intervals; $(latest load_counts) loads"
}

changes_condition() {
	in_session --when 'blockIdx.x>=0' --sample 1 -- change_condition || return
	grep -oE '[0-9]+ runs of programs were skipped' "$work/with-error" || {
		echo 'no run was skipped'
		return 1
	}
}

# ---- times of launches -------------------------------------------------------------------------

# number KEY: the first one of this name in the JSON of the last run.
number() {
	grep -oE "\"$1\":-?[0-9.e+-]+" "$work/json" | head -n 1 | cut -d: -f2
}

# All launches of a program are matched, in the order of cause and effect.
matches_launches() {
	local launches=$1 key
	"$gputap" launchlate --gpu "$gpu" --json -- "$programs/$2" >"$work/with" 2>"$work/with-error" ||
		return
	grep '^{' "$work/with" >"$work/json"
	for key in violations ambiguous failed calls_unmatched grids_unmatched records_lost; do
		[ "$(number $key)" = 0 ] || {
			echo "$key: $(number $key)"
			return 1
		}
	done
	[ "$(grep -o '"first":' "$work/json" | wc -l)" = "$launches" ] || {
		echo "$(grep -o '"first":' "$work/json" | wc -l) launches, not $launches"
		return 1
	}
	awk -v n="$launches" -v error="$(grep -o '"clock":{.*' "$work/json" | grep -oE '"error":[0-9.e+-]+' |
		head -n 1 | cut -d: -f2)" 'BEGIN { printf "%d launches; clocks ± %.1f µs\n", n, error / 1e3 }'
}
