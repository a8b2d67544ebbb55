# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# `gputap merge`: several captures on one axis of time.

load helper

synthetic=$build/tests/programs/synthetic

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# Calls of a capture: machine, process, thread, name, arguments, duration; sorted.
calls_of() {
	"$build/gputap" trace --json --from "$1" 2>/dev/null |
		jq -c 'select(.schema == "gputap.call.1") |
			[.pid, .tid, .name, .arguments, .result, .duration]' | sort
}

@test "the calls of a merged capture are those of its parts, in the order of time" {
	"$synthetic" a.gtap 20
	"$synthetic" b.gtap 30 hostile
	gputap merge -o all.gtap a.gtap b.gtap
	expect_status 0
	expect_error_line '^gputap: a.gtap: machine 0, [0-9]+ events'
	expect_error_line '^gputap: b.gtap: machine 1, [0-9]+ events'
	expect_error_line '^gputap: merged 2 processes: [0-9]+ events in [0-9.]+ KiB \([0-9.]+ bytes each\), of [0-9.]+ .?s: all.gtap$'
	[ "$(calls_of all.gtap)" = "$({ calls_of a.gtap; calls_of b.gtap; } | sort)" ]
	"$build/gputap" trace --json --from all.gtap >all.json 2>/dev/null
	run -0 jq -es 'map(select(.schema == "gputap.call.1")) |
		(map(.pid) | unique | length == 1) and (map(.machine) | unique == [null, 1]) and
		(map(.time + .duration) | . == sort)' all.json
}

@test "--quiet prints nothing but incomplete captures" {
	"$synthetic" a.gtap 20
	"$synthetic" b.gtap 20
	gputap merge --quiet -o all.gtap a.gtap b.gtap
	expect_status 0
	expect_error ''
	truncate -s -100 b.gtap
	gputap merge --quiet -o all.gtap a.gtap b.gtap
	expect_error_line '^gputap: b.gtap: machine .*; incomplete: '
	expect_no_error_line 'a.gtap: machine'
}

@test "totals and losses are the sums" {
	"$synthetic" a.gtap 20
	"$synthetic" b.gtap 30
	gputap merge -o all.gtap a.gtap b.gtap
	gputap trace -c --from all.gtap
	expect_error_line '^gputap: incomplete: 506 calls: 500 complete, 0 unfinished, 6 lost'
}

@test "--offset moves the times of a capture, and --label names its machine" {
	"$synthetic" a.gtap 5
	cp a.gtap b.gtap
	gputap merge -o all.gtap --offset b.gtap=1.5s --label b.gtap=second a.gtap b.gtap
	expect_status 0
	expect_error_line '^gputap: b.gtap: .* times shifted by 1.50 s \(--offset\)$'
	"$build/gputap" export --format jsonl -o all.jsonl all.gtap
	run -0 jq -es 'map(select(.schema == "gputap.call.1" or .schema == "gputap.gpu_operation.1")) |
		group_by(.machine) | (.[1] | map(.time) | min) - (.[0] | map(.time) | min) == 1500000000' all.jsonl
	run -0 jq -es '[.[] | select(.schema == "gputap.gpu_operation.1") | .call != null] | all and length > 0' all.jsonl
}

# A merged capture of two machines, whose processes have the same id.
merge_ranks() {
	"$synthetic" a.gtap 20 rank=0 machine=one
	"$synthetic" b.gtap 20 rank=1 machine=two
	gputap merge -o all.gtap --label a.gtap=left --label b.gtap=right a.gtap b.gtap
	expect_status 0
}

@test "ids of processes and threads are true ones, beside rank and machine, in text" {
	merge_ranks
	gputap trace -t --from all.gtap
	expect_output_line ' 4711 .*cudaMalloc'
	expect_output_line ' 1:4711 .*cudaMalloc'
	gputap report --top 3 all.gtap
	expect_output_line '^4711 train, rank 0 on left: .* of wall time'
	expect_output_line '^1:4711 train, rank 1 on right: .* of wall time'
	gputap info all.gtap
	expect_output_line '^ *1:4711 .*train, rank 1 on right'
	for view in kernels copies leaks errors "why" "report --top 100"; do
		# shellcheck disable=SC2086 # options
		gputap $view --from all.gtap
		expect_no_output_line '1678192[0-9]'
	done
}

@test "ids of processes and threads are true ones, beside rank and machine, in JSON and exports" {
	merge_ranks
	for view in report trace kernels leaks copies errors why; do
		"$build/gputap" "$view" --json --from all.gtap >view 2>/dev/null
		[ -s view ]
		run -1 grep -E '1678192[0-9]' view
	done
	for format in jsonl csv folded; do
		"$build/gputap" export --format "$format" -o view all.gtap 2>/dev/null
		[ -s view ]
		run -1 grep -E '1678192[0-9]' view
	done
	"$build/gputap" report --json --from all.gtap >report.json 2>/dev/null
	run -0 jq -e '.processes | map([.pid, .process, .machine, .rank]) |
		sort == [[4711, "train", null, 0], [4711, "train", 1, 1]]' report.json
	"$build/gputap" trace --json --from all.gtap 2>/dev/null | jq -c 'select(.name == "cudaMalloc") | [.pid, .machine, .rank]' |
		sort -u >calls
	[ "$(xargs <calls)" = '[4711,1,1] [4711,null,0]' ]
	"$build/gputap" trace --json --from all.gtap -d 4711 2>/dev/null |
		jq -s 'map(select(.schema == "gputap.call.1").machine) | unique | length' >machines
	[ "$(cat machines)" -eq 2 ]
	"$build/gputap" export --format chrome -o all.json all.gtap 2>/dev/null
	run -0 jq -e '[.traceEvents[] | select(.name == "process_name") | .args.name] | sort ==
		["train, rank 0 on left", "train, rank 1 on right (pid 4711)"]' all.json
	"$build/gputap" export --format csv -o all.csv all.gtap 2>/dev/null
	[ "$(head -1 all.csv | tr -d "\r" | tr , '\n' | tail -2 | xargs)" = "machine rank" ]
	[ "$(grep cudaMalloc all.csv | sed 's/.*,\([0-9]*,[0-9]*\)\r*$/\1/' | sort -u | xargs)" = "0,0 1,1" ]
	"$build/gputap" export --format folded -o all.folded all.gtap 2>/dev/null
	[ "$(cut -d';' -f1 all.folded | sort -u | wc -l)" -eq 2 ]
}

@test "the drift of the clocks of two machines is corrected by all their clock events" {
	"$synthetic" a.gtap 20000
	"$synthetic" b.gtap 20000 drift=300000
	gputap merge -o all.gtap a.gtap b.gtap
	expect_error_line '^gputap: b.gtap: machine 1, .* \(by CLOCK_REALTIME: .*\), drift of 300 µs corrected$'
	"$build/gputap" trace --json --from all.gtap 2>/dev/null | jq -c 'select(.name == "cudaMalloc") | [.machine, .time]' >calls
	# The same call of both: at once in the beginning, half of the drift in the middle, all of it at the end.
	run -0 jq -es 'group_by(.[0]) | map(map(.[1])) | [.[0], .[1]] | transpose | map(.[1] - .[0]) |
		(.[0] | fabs < 1000) and (.[10000] | . > 149000 and . < 151000) and (last | . > 299000 and . < 301000)' calls
}

@test "a capture without a clock needs an offset, unless another one of its machine has a clock" {
	"$synthetic" a.gtap 20
	"$synthetic" b.gtap 20 no-clock
	gputap merge -o all.gtap a.gtap b.gtap
	expect_status 1
	expect_error "gputap: b.gtap: it does not relate its clock to others; give --offset FILE=TIME"
	[ ! -e all.gtap ]
	gputap merge -o all.gtap --offset b.gtap=0s a.gtap b.gtap
	expect_status 0
	"$synthetic" c.gtap 20 no-clock machine=one
	"$synthetic" d.gtap 20 machine=one
	gputap merge -o all.gtap a.gtap c.gtap
	expect_status 1
	expect_error_line '^gputap: c.gtap: it does not relate its clock'
	gputap merge -o all.gtap a.gtap c.gtap d.gtap
	expect_status 0
	gputap merge -o all.gtap c.gtap d.gtap
	expect_status 0
}

@test "a merge keeps the permissions, the links and the other names of the file that it replaces" {
	"$synthetic" a.gtap 20
	mkdir other
	echo before >other/target.gtap
	chmod 640 other/target.gtap
	ln -s other/target.gtap all.gtap
	observe "$build/gputap" merge -o all.gtap a.gtap missing.gtap
	expect_status 1
	[ "$(cat all.gtap)" = before ]
	gputap merge -o all.gtap a.gtap a.gtap
	expect_status 0
	[ -L all.gtap ]
	[ "$(stat -c %a other/target.gtap)" = 640 ]
	gputap info other/target.gtap
	expect_status 0
	ln other/target.gtap second.gtap
	inode=$(stat -c %i second.gtap)
	"$synthetic" b.gtap 200
	gputap merge -o second.gtap b.gtap b.gtap
	expect_status 0
	[ "$(stat -c %i second.gtap)" = "$inode" ]
	cmp second.gtap other/target.gtap
	[ "$(stat -c %a second.gtap)" = 640 ]
	[ "$(find . -name '*partial*')" = "" ]
}

@test "a process has the rank that its launcher puts into its environment" {
	need_probes
	OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 gputap record --gpu soft -e cuda -o a.gtap -- "$build/examples/vectoradd"
	expect_status 0
	gputap report a.gtap
	expect_output_line '^[0-9]+ vectoradd, rank 3: .* of wall time'
	gputap report --json a.gtap
	expect_json '.[0].processes | map(.rank) == [3]'
}

@test "captures of one machine keep their times and process ids" {
	need_probes
	for name in a b; do
		gputap record --gpu soft -e cuda -o "$name.gtap" -- "$build/examples/vectoradd"
		expect_status 0
	done
	gputap merge -o all.gtap a.gtap b.gtap
	expect_status 0
	expect_no_error_line 'shifted'
	"$build/gputap" trace --json --from all.gtap >all.json 2>/dev/null
	{
		"$build/gputap" trace --json --from a.gtap
		"$build/gputap" trace --json --from b.gtap
	} >both.json 2>/dev/null
	[ "$(jq -c 'select(.schema == "gputap.call.1") | [.time, .pid, .name]' all.json)" = \
		"$(jq -c 'select(.schema == "gputap.call.1") | [.time, .pid, .name]' both.json)" ]
	gputap report --top 3 all.gtap
	expect_status 0
	expect_output_line '^[0-9]+ vectoradd: .* of wall time'
}

@test "machines are known by their boots" {
	need_probes
	need_command unshare
	uuidgen >boot 2>/dev/null || echo 00000000-1111-2222-3333-444444444444 >boot
	gputap record --gpu soft -e cuda -o a.gtap -- "$build/examples/vectoradd"
	# shellcheck disable=SC2016 # the shell that is run reads these
	observe unshare -m sh -c 'mount --bind boot /proc/sys/kernel/random/boot_id && exec "$@"' sh \
		"$build/gputap" record --gpu soft -e cuda -o b.gtap -- "$build/examples/vectoradd"
	expect_status 0
	gputap merge -o all.gtap a.gtap b.gtap
	expect_error_line '^gputap: b.gtap: machine 1, '
	gputap info --json all.gtap
	expect_json '.[0].machines | map(.number) == [0, 1] and map(.label) == ["a.gtap", "b.gtap"]'
}

@test "the result of an incomplete capture is incomplete" {
	"$synthetic" a.gtap 200
	"$synthetic" b.gtap 200
	truncate -s -100 b.gtap
	gputap merge -o all.gtap a.gtap b.gtap
	expect_error_line '^gputap: b.gtap: .*incomplete: corrupt, truncated or without totals$'
	gputap trace -c --from all.gtap
	expect_error_line 'truncated: it has no totals'
}

@test "a merge that fails leaves the file of before, and no other" {
	"$synthetic" a.gtap 2000
	"$synthetic" b.gtap 2000
	echo before >all.gtap
	# shellcheck disable=SC2016 # the shell that is run reads these
	observe bash -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' bash \
		"$build/gputap" merge -o all.gtap a.gtap b.gtap
	expect_status 1
	expect_error_line ': cannot be written: File too large: raise the limit of file sizes \(ulimit -f\)$'
	[ "$(cat all.gtap)" = before ]
	[ "$(echo ./all*)" = ./all.gtap ]
	gputap merge -o all.gtap a.gtap b.gtap
	expect_status 0
	gputap info all.gtap
	expect_status 0
	[ "$(echo ./all*)" = ./all.gtap ]
}

@test "a merge into a folder that does not exist names the file that was asked for" {
	"$synthetic" a.gtap 2
	gputap merge -o nowhere/all.gtap a.gtap a.gtap
	expect_status 1
	expect_error "gputap: nowhere/all.gtap: No such file or directory: create its folder, or choose another file"
}

@test "merge writes to pipes and through symbolic links, too" {
	"$synthetic" a.gtap 20
	"$build/gputap" merge -o - a.gtap a.gtap 2>/dev/null >piped.gtap
	gputap info piped.gtap
	expect_status 0
	ln -s /dev/null null.gtap
	gputap merge -o null.gtap a.gtap a.gtap
	expect_status 0
	[ -L null.gtap ]
}

@test "command lines of merge that make no sense are rejected" {
	"$synthetic" a.gtap 2
	gputap merge a.gtap a.gtap
	expect_status 2
	expect_error "gputap: no file is given to write: -o FILE (try 'gputap merge --help')"
	gputap merge -o all.gtap a.gtap
	expect_status 2
	expect_error "gputap: at least two captures are needed (try 'gputap merge --help')"
	gputap merge -o all.gtap --offset c.gtap=1s a.gtap a.gtap
	expect_status 2
	gputap merge -o all.gtap --offset a.gtap=soon a.gtap a.gtap
	expect_status 2
	gputap merge -o all.gtap a.gtap missing.gtap
	expect_status 1
	expect_error "gputap: missing.gtap: No such file or directory: check the path"
	[ ! -e all.gtap ]
}
