# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What kernels, leaks, copies and errors have in common: their options, captures, docs/analyses.md.

load helper

programs=$build/tests/programs
mix=$programs/mix

setup_file() {
	load helper
	export captured=$BATS_FILE_TMPDIR/mix.gtap
	[ -x "$build/tests/programs/mix" ] || return 0
	[ -e /sys/kernel/btf/vmlinux ] || return 0
	"$build/gputap" trace -o "$captured" --stack fp -- "$build/tests/programs/mix" 60 2 2 \
		>"$BATS_FILE_TMPDIR/mix.json" 2>/dev/null || true
}

setup() {
	need_probes
	need_file "$mix" "program of CUDA (clang for PTX)"
	[ -e "$captured" ] || fail "nothing was captured"
	cd "$BATS_TEST_TMPDIR" || return
}

analyses=(kernels leaks copies errors)

# section NAME: the part of docs/analyses.md about its object, and about all objects.
section() {
	sed -n '/^## Common keys/,/^## gputap/p' "$root/docs/analyses.md"
	sed -n "/^## gputap\.$1\.1/,/^## /p" "$root/docs/analyses.md"
}

# documented NAME PATH: its keys in the docs.
documented() {
	section "$1" | awk -v path="### \`$2\`" '
		/^##/ { here = ($0 == path) }
		here && /^\| `/ { gsub("`", "", $2); print $2 }' | sort -u
}

# The keys that every row may have because of --by.
by_keys='device|uuid|context|age|size|stream|stack|tid'

@test "docs/analyses.md lists exactly the keys that the objects have" {
	for name in "${analyses[@]}" report why; do
		gputap "$name" --from "$captured" --json
		expect_status 0
		while read -r path; do
			printed=$(jq -r "[$path | objects | keys[]] | unique[]" <<<"$output")
			[ -n "$printed" ] || fail "$name has nothing at $path"
			[[ "$name $path" =~ ^(.*\ \.(findings\[\]|totals)|report\ .*|why\ .*)$ ]] || printed=$(grep -vxE "$by_keys" <<<"$printed")
			[ "$printed" = "$(documented "$name" "$path")" ] ||
				fail "$name $path: $(diff <(echo "$printed") <(documented "$name" "$path"))"
		done < <(section "$name" | sed -n 's/^### `\(.*\)`$/\1/p' | sort -u)
	done
}

@test "docs/analyses.md lists all findings with their thresholds" {
	expected=$(sed -n 's/^FINDING(\([a-z_]*\), \([0-9]*\),.*/\1 \2/p' "$root/src/analysis/findings.def" | sort)
	[ -n "$expected" ]
	[ "$(sed -n 's/^| `\([a-z_]*\)` | \([0-9]*\) | .*/\1 \2/p' "$root/docs/analyses.md" | sort)" = \
		"$expected" ] || fail "the tables differ"
}

@test "an analysis of a capture is repeated word by word" {
	for name in "${analyses[@]}"; do
		gputap "$name" --from "$captured"
		expect_status 0
		whole=$output
		gputap "$name" --from "$captured" -o again.txt
		expect_output ''
		[ "$(cat again.txt)" = "$whole" ]
		[ "$(grep -c ' $' again.txt)" = 0 ] || fail "a line ends in spaces"
	done
}

@test "the tables of a capture agree with the program's own count" {
	log=$BATS_FILE_TMPDIR/mix.json
	[ "$(jq -s length "$log")" = 2 ]
	for name in "${analyses[@]}"; do
		gputap "$name" --from "$captured" --by process --json -o "$name.json"
	done
	[ "$(jq -cS '[.kernels[] | {pid, launches, failed}] | sort_by(.pid)' kernels.json)" = \
		"$(jq -cS --slurp '[.[] | {pid, launches, failed: .failed_launches}] | sort_by(.pid)' "$log")" ]
	[ "$(jq -cS '[.processes[] | {pid, failed, live: (.memory | map({key: .memory, value: (.allocations - .frees)}) | from_entries)}] |
		sort_by(.pid)' leaks.json)" = \
		"$(jq -cS --slurp '[.[] | {pid, failed: .failed_allocations, live: (.memory | map_values(.live))}] | sort_by(.pid)' "$log")" ]
	[ "$(jq -cS '[.copies | group_by(.pid)[] | {pid: .[0].pid, count: (map(.count) | add), bytes: (map(.bytes) | add)}]' copies.json)" = \
		"$(jq -cS --slurp 'def total(part): [.waiting, .asynchronous | .[][part]] | add;
			map({pid, count: total(0), bytes: total(1)}) | sort_by(.pid)' "$log")" ]
	[ "$(jq '[.errors[].count] | add' errors.json)" = \
		"$(jq -s 'map(.failed_launches + .failed_allocations + .foreign_frees) | add' "$log")" ]
}

@test "every table says that nothing was lost" {
	for name in "${analyses[@]}"; do
		gputap "$name" --from "$captured"
		expect_output_line '^Complete: [0-9]+ calls, none lost\.$'
		gputap "$name" --from "$captured" --json
		expect_json '.[0] | .final and .losses.lost == 0 and .losses.made > 0'
	done
}

@test "a table that is read at once has the totals, and does not repeat them" {
	gputap errors --from "$captured"
	expect_output_line '^Complete: [0-9]+ calls, none lost\.$'
	[[ "$stderr" != *' calls: '* ]] || fail "$stderr"
	gputap errors --from "$captured" -o errors.txt
	expect_error_line '^gputap: [0-9]+ calls: [0-9]+ complete, 0 unfinished, 0 lost$'
	gputap errors --from "$captured" --json
	expect_error_line '^gputap: [0-9]+ calls: [0-9]+ complete, 0 unfinished, 0 lost$'
}

@test "every table says what was lost" {
	LD_LIBRARY_PATH=$programs/standin gputap trace --gpu nvidia --ring-size 4K -o lossy.gtap -- \
		"$programs/calls" 500000
	for name in "${analyses[@]}"; do
		gputap "$name" --from lossy.gtap
		expect_error_line '^gputap: incomplete: [0-9]+ calls: .* lost'
		expect_output_line '^Incomplete: [1-9][0-9]* of [0-9]+ calls were lost, 0 filtered, 0 unfinished; [0-9]+ other events were lost\.$'
		gputap "$name" --from lossy.gtap --json
		expect_json '.[0].losses.lost > 0'
	done
}

@test "a capture that was broken off says that it does not know what it lost" {
	head -c "$(($(stat -c %s "$captured") / 2))" "$captured" >half.gtap
	gputap leaks --from half.gtap
	expect_output_line '^The capture is truncated: its losses are unknown\.$'
	gputap leaks --from half.gtap --json
	expect_json '.[0].losses == null'
}

@test "--top cuts the tables and says how much" {
	gputap leaks --from "$captured" --top 1
	expect_output_line '^… and [0-9]+ more \(--top\)$'
	gputap leaks --from "$captured" --top 1 --json
	expect_json '.[0].leaks | length == 1'
}

@test "--by splits the rows, and an invalid one is reported with the valid ones" {
	for by in stack thread stream process device context; do
		gputap kernels --from "$captured" --by $by --json
		expect_status 0
		expect_json ".[0] | .by == \"$by\" and (.kernels | length > 0)"
	done
	expect_json '.[0].kernels | all(has("context"))'
	for name in kernels leaks copies errors; do
		gputap "$name" --from "$captured" --by device --json
		expect_json ".[0].$name | all(has(\"device\") and has(\"uuid\"))"
	done
	gputap kernels --from "$captured" --by thread --json
	expect_json '.[0].kernels | length == 4 and all(.tid > 0 and .process == "mix")'
	gputap copies --from "$captured" --by stream --json
	# A thread's stream may have the handle of one that was destroyed before.
	expect_json '.[0].copies | map([.pid, .stream]) | unique | length >= 4 and length <= 6'
	expect_json '.[0].copies | map(select(.stream == "0x0") | .pid) | unique | length == 2'
	for by in stack size age process device context; do
		gputap leaks --from "$captured" --by $by --json
		expect_json ".[0] | .by == \"$by\" and (.leaks | length > 0)"
	done
	gputap leaks --by nonsense
	expect_status 2
	expect_error "gputap: invalid value 'nonsense' for --by (one of: stack, size, age, process, device, context) (try 'gputap leaks --help')"
}

@test "--interval shows reports in between, each of what came before" {
	gputap leaks --from "$captured" --interval 2ms --json
	expect_json 'length > 2 and (.[:-1] | all(.final | not)) and .[-1].final'
	expect_json '[.[] | .processes | map(.memory | map(.allocations) | add) | add // 0] | . == sort'
	expect_json '[.[].time] | . == sort'
	gputap leaks --from "$captured" --interval 2ms
	expect_output_line '^After [0-9]+\.[0-9]{3} s:$'
	[ "$(grep -E '^(After .*|At the end):$' <<<"$output" | tail -n 1)" = 'At the end:' ]
	[ "$(grep -c '^At the end:$' <<<"$output")" = 1 ]
	gputap leaks --from "$captured"
	[ "$(grep -c '^At the end:$' <<<"$output")" = 0 ]
}

@test "rows by stack without stacks say how to take them" {
	gputap leaks --by stack --stack none -o leaks.txt -- "$mix" 60 1 1
	grep -qxF 'Callers are unknown: no stacks were recorded (use --stack mixed).' leaks.txt
}

@test "SIGUSR1 shows a report at once" {
	"$build/gputap" leaks -d $$ -o out.txt 3>&- 2>err.txt &
	tracer=$!
	wait_for [ -e out.txt ]
	kill -USR1 $tracer
	wait_for grep -q '^After ' out.txt
	kill -INT $tracer
	wait $tracer || true
}

@test "a command's own output, input and exit status are its own" {
	gputap leaks -o leaks.txt -- bash -c 'cat; exit 7' <<<"from the input"
	expect_status 7
	expect_output 'from the input'
	grep -q '^No allocation was seen\.$' leaks.txt
}

@test "live and from a capture made of the same run, the functions that are needed are enough" {
	gputap leaks --json -o live.json -- "$mix" 60 1 1
	printed=$output
	expect_status 0
	jq -se '.[0].processes[0].memory | map(.allocations) | add > 0' live.json
	[ "$(jq '.memory.device.allocations' <<<"$printed")" = \
		"$(jq '.processes[0].memory[] | select(.memory == "device").allocations' live.json)" ]
}

@test "calls of the driver inside of the runtime's are not recorded" {
	for pair in kernels:1 leaks:6 copies:10; do
		gputap "${pair%:*}" --gpu soft --json -o out.json -- "$examples/vectoradd"
		[ "$(jq -c .losses.made out.json)" = "${pair#*:}" ] || fail "$pair: $(cat out.json)"
	done
}
