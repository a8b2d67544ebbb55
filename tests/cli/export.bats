# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Exports of captures, read by programs that are not gputap's.

load helper

synthetic=$build/tests/programs/synthetic
readers=$root/tests/readers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# export_capture FORMAT CAPTURE [OPTION…]: writes out.FORMAT.
export_capture() {
	gputap export --format "$1" -o "out.$1" "${@:3}" "$2"
	expect_status 0
}

@test "the default name of an export is that of the capture, with the format's extension" {
	"$synthetic" run.gtap 2
	gputap export --format csv run.gtap
	expect_status 0
	expect_error_line '^gputap: exported 61 events as csv in [0-9.]+ KiB: run\.csv$'
	[ -s run.csv ]
}

@test "an export prints what it wrote where, unless it is the output itself" {
	"$synthetic" run.gtap 2
	export_capture chrome run.gtap
	expect_error_line '^gputap: exported 61 events as chrome in [0-9.]+ KiB: out\.chrome$'
	gputap export --format chrome -o - run.gtap
	expect_status 0
	expect_no_error_line exported
	gputap export --format chrome -o /dev/null run.gtap
	expect_error_line '^gputap: exported 61 events as chrome: /dev/null$'
}

@test "--quiet prints nothing but losses" {
	"$synthetic" run.gtap 2
	gputap export -q --format csv run.gtap
	expect_status 0
	expect_error 'gputap: incomplete: 23 calls: 20 complete, 0 unfinished, 3 lost (use a larger --ring-size)'
}

@test "losses of the capture are printed" {
	"$synthetic" run.gtap 2
	export_capture csv run.gtap
	expect_error_line '^gputap: incomplete: 23 calls: 20 complete, 0 unfinished, 3 lost \(use a larger --ring-size\)$'
}

@test "invalid command lines of export are rejected" {
	gputap export run.gtap
	expect_status 2
	expect_error "gputap: no format is given: --format FORMAT (try 'gputap export --help')"
	gputap export --format csv
	expect_status 2
	expect_error "gputap: no capture is given (try 'gputap export --help')"
	gputap export --format csv a.gtap b.gtap
	expect_status 2
	expect_error "gputap: only one capture can be exported (try 'gputap export --help')"
	gputap export --format csv --weight bytes a.gtap
	expect_status 2
	expect_error "gputap: --weight has no effect with --format csv (try 'gputap export --help')"
	gputap export --format csv missing.gtap
	expect_status 1
	expect_error "gputap: missing.gtap: No such file or directory: check the path"
}

@test "an export that does not fit the disk is an error, and says nothing wrong of the capture" {
	[ -w /dev/full ] || skip "there is no /dev/full"
	"$synthetic" run.gtap 500
	local format
	for format in csv jsonl chrome perfetto; do
		gputap export --format "$format" -o /dev/full run.gtap
		expect_status 1
		expect_error "gputap: /dev/full: cannot be written: No space left on device: free space, or choose a file on another disk"
	done
	for format in html folded svg pprof speedscope; do
		gputap export --format "$format" -o /dev/full run.gtap
		expect_status 1
		expect_error_line '^gputap: /dev/full: cannot be written: No space left on device: free space, or choose a file on another disk$'
		expect_no_error_line 'truncated'
	done
}

@test "an export into a pipe that is closed early ends without an error" {
	"$synthetic" run.gtap 500
	"$build/gputap" export --format csv -o - run.gtap 2>error | head -n 1 >/dev/null
	[ "${PIPESTATUS[0]}" = 0 ]
	[ ! -s error ] || fail "$(cat error)"
}

# keeps_captures OUTPUT ARGUMENTS…: a command that reads run.gtap does not write to OUTPUT, which is
# another name of it.
keeps_captures() {
	local output_file=$1
	shift
	gputap "$@" "$output_file"
	expect_status 1
	expect_error "gputap: $output_file is a capture that is read: choose another output file"
	cmp run.gtap before || fail "gputap $* changed the capture that it read"
}

@test "no command overwrites a capture that it reads, whatever its path" {
	"$synthetic" run.gtap 2
	"$synthetic" other.gtap 2
	cp run.gtap before
	ln -s run.gtap link.gtap
	ln run.gtap link.txt
	keeps_captures ./run.gtap export --format csv run.gtap -o
	keeps_captures link.gtap trace --from run.gtap -o
	keeps_captures link.txt trace --from run.gtap --json -o
	keeps_captures link.txt kernels --from run.gtap -o
	keeps_captures link.txt report --from run.gtap -o
	keeps_captures link.txt report --from run.gtap --html
	keeps_captures link.txt diff run.gtap other.gtap -o
	keeps_captures link.txt diff other.gtap run.gtap -o
	keeps_captures link.gtap merge other.gtap run.gtap -o
}

@test "the filters of other views of a capture apply to exports" {
	"$synthetic" run.gtap 10
	gputap export --format csv -o - -f cudaMalloc --when 'size>=16KiB' run.gtap
	expect_status 0
	[ "$(grep -c '^call,' <<<"$output")" = 7 ]
	expect_no_output_line '^call,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,[^,]*,cudaFree'
}

@test "a part of a capture by time is exported as it is shown, with the names of what is before it" {
	"$synthetic" run.gtap 1000
	gputap info --json run.gtap
	local half=$(($(jq '.end - .start' <<<"$output") / 2))
	for range in --start --end; do
		gputap trace --from run.gtap --json "$range" "${half}ns"
		local shown=$(grep -c '"schema":"gputap.call.1"' <<<"$output")
		gputap export --format csv -o - "$range" "${half}ns" run.gtap
		expect_status 0
		[ "$shown" -gt 100 ]
		[ "$(grep -c '^call,' <<<"$output")" = "$shown" ]
		expect_no_output_line '^call,[^,]*,[^,]*,[^,]*,,'
	done
}

@test "a CSV export has a row per call, GPU operation and event of a layer" {
	"$synthetic" run.gtap 10
	export_capture csv run.gtap
	run -0 python3 "$readers/csv" out.csv
	expect_output_line '^rows: 100 call, 60 gpu, 31 event$'
	expect_output_line '^calls of GPU operations: 60 of 60$'
	expect_output_line '^kernels: vectoradd\(float const\*, float const\*, float\*, int\)$'
}

@test "JSON lines have the calls of trace --json, and GPU operations that refer to calls" {
	"$synthetic" run.gtap 10
	export_capture jsonl run.gtap
	"$build/gputap" trace --json --from run.gtap 2>/dev/null >trace.json
	grep -v gputap.gpu_operation.1 out.jsonl | cmp - trace.json
	run -0 jq -s 'map(select(.schema == "gputap.gpu_operation.1")) |
		[length, all(.submitted >= .call.time and .duration == 900 and .error == 200)]' out.jsonl
	[ "$(jq -c . <<<"$output")" = '[60,true]' ]
	[ "$(tail -n 1 out.jsonl | jq -r .schema)" = gputap.account.1 ]
}

@test "hostile names are valid CSV and JSON" {
	"$synthetic" run.gtap 3 hostile
	export_capture csv run.gtap
	run -0 python3 "$readers/csv" out.csv
	expect_output_line '^rows: 30 call, 18 gpu, 10 event$'
	export_capture jsonl run.gtap
	jq -e . out.jsonl >/dev/null
}

# Runs Debian's Python, which has its protobuf module.
read_perfetto() {
	run -0 /usr/bin/python3 "$readers/perfetto" "$root/tests/data/export/perfetto.proto" "$@"
}

@test "a Perfetto trace has tracks of threads, streams, rings and counters, with complete flows" {
	"$synthetic" run.gtap 500
	export_capture perfetto run.gtap
	read_perfetto out.perfetto
	expect_output_line '^flows: 3500$' # of submissions, and of the last operation before each wait
	expect_output_line "^track 'train 4711': 3245 slices, 0 values$"
	expect_output_line "^track 'train 4712': 3251 slices, 0 values$"
	expect_output_line "^track 'train/GPU 0/stream 0x555500080010': 1500 slices, 0 values$"
	expect_output_line "^  gpu 'vectoradd\\(float const\\*, float const\\*, float\\*, int\\)': 1000$"
	expect_output_line "^track 'train/GPU 0/queue depth of stream 0x555500080000': 0 slices, 3000 values$"
	expect_output_line "^track 'train/GPU 0/copied bytes/s of stream 0x555500080000': 0 slices, 1000 values$"
	expect_output_line "^track 'train/memory allocated of GPU 0': 0 slices, 1000 values$"
	expect_output_line "^track 'ring gfx of 0000:01:00.0': 495 slices, 0 values$"
	expect_output_line "^track 'system/memory used of GPU 0': 0 slices, 5 values$"
	expect_output_line "^  from 0 to 6, last 0$"
}

@test "a slice of a Perfetto trace has the call's arguments and caller, or the operation's times" {
	"$synthetic" run.gtap 1
	export_capture perfetto run.gtap
	read_perfetto out.perfetto cudaMalloc
	expect_output_line "'start': 1000000600, .*'arguments': 'devPtr=0x7f0c20000000, size=4096', 'bytes': 4096, 'caller': 'step\\(int\\) \\(train.cu:12\\)'} until 1000002600$"
	read_perfetto out.perfetto H2D
	expect_output_line "'operation': 'H2D', 'basis': 'measured', 'bytes': 4096, 'error': 200, 'submitted': 1000002800, 'queued': 8906, 'waited_tid': 4711, .*until 1000012606$"
}

@test "the end of a Perfetto trace has the losses of the capture" {
	"$synthetic" run.gtap 1
	export_capture perfetto run.gtap
	read_perfetto out.perfetto 'end of the capture'
	expect_output_line "'incomplete': 1, 'made': 13, 'complete': 10, 'unfinished': 0, 'lost': 3"
}

@test "a Chrome trace has the slices, flows and counters of the capture" {
	"$synthetic" run.gtap 10
	export_capture chrome run.gtap
	jq -e '.traceEvents | [
		([.[] | select(.ph == "X" and .cat == "cudart")] | length) == 100,
		([.[] | select(.ph == "X" and .cat == "gpu")] | length) == 60,
		([.[] | select(.ph == "s") | .id] | sort) == ([.[] | select(.ph == "f") | .id] | sort),
		([.[] | select(.ph == "s" and .cat == "submission")] | length) == 60,
		([.[] | select(.ph == "s" and .cat == "wait") | .id]) == [range(6; 61; 6)],
		(map(select(.ph == "C")) | any(.name == "memory allocated of GPU 0")),
		(map(select(.ph == "M")) | any(.name == "process_name" and .args.name == "train")),
		(map(select(.ph == "M")) | any(.name == "thread_name" and .args.name == "GPU 0 stream 0x555500080000"))
	] | all' out.chrome
	jq -e '.otherData | .lost == 3 and .made == 103 and .incomplete' out.chrome
	# Each end of a flow lies in a slice of its track.
	jq -e '.traceEvents as $all | [$all[] | select(.ph == "s" or .ph == "f")] | all(. as $flow |
		$all | any(.ph == "X" and .tid == $flow.tid and .ts <= $flow.ts and $flow.ts <= .ts + .dur and
			($flow.cat == "submission" or $flow.ph == "s" or .name == "cudaStreamSynchronize")))' out.chrome
}

@test "hostile names are valid in traces" {
	"$synthetic" run.gtap 3 hostile
	export_capture perfetto run.gtap
	read_perfetto out.perfetto
	expect_output_line '^flows: 21$'
	export_capture chrome run.gtap
	jq -e '[.traceEvents[] | select(.cat == "gpu")] | length == 18' out.chrome
}

@test "every example's capture is exported to a Perfetto trace that is complete" {
	local example arguments
	need_probes
	for example in bench failures leak matmul pipeline reduce streams transpose uneven vectoradd; do
		arguments=()
		[ "$example" != bench ] || arguments=(100)
		"$build/gputap" trace --gpu soft -e cuda,sched,syscall -o "$example.gtap" -- \
			"$examples/$example" "${arguments[@]}" >/dev/null 2>&1 || true
		[ -s "$example.gtap" ] || fail "$example was not recorded"
		gputap export --format perfetto "$example.gtap"
		expect_status 0
		read_perfetto "$example.pftrace"
		expect_output_line "track '$example [0-9]+'"
	done
}

# expect_rows QUERY ROWS: what sqlite3 answers of out.sqlite.
expect_rows() {
	observe sqlite3 out.sqlite "$1"
	expect_status 0
	expect_output "$2"
}

need_sqlite() {
	"$synthetic" empty.gtap 0
	gputap export --format sqlite empty.gtap
	! grep -q 'built without SQLite' <<<"$stderr" || skip "this gputap was built without SQLite"
}

@test "a SQLite database has the tables, indices and views of the documentation" {
	need_sqlite
	"$synthetic" run.gtap 10
	export_capture sqlite run.gtap
	expect_rows 'PRAGMA integrity_check' ok
	sqlite3 out.sqlite "SELECT t.name || ': ' || group_concat(c.name, ', ') FROM sqlite_master t,
		pragma_table_info(t.name) c WHERE t.type IN ('table', 'view') GROUP BY t.name
		ORDER BY t.rowid" >tables
	sed -n 's/^    \([a-z_]*: .*\)/\1/p' "$root/docs/export.md" >documented
	diff tables documented
	expect_rows "SELECT count(*) >= 8 FROM sqlite_master WHERE type = 'index' AND sql NOT NULL" 1
}

@test "a SQLite database answers which operations a call submitted, and from where" {
	need_sqlite
	"$synthetic" run.gtap 10
	export_capture sqlite run.gtap
	expect_rows 'SELECT count(*) FROM calls' 100
	expect_rows 'SELECT operation, count(*), sum(duration) FROM gpu_operations GROUP BY 1 ORDER BY 1' \
		$'D2H|10|9000\nH2D|10|9000\nkernel|40|36000'
	expect_rows "SELECT c.name, c.kernel, count(*) FROM submissions s JOIN calls c ON c.id = s.call
		JOIN gpu_operations o ON o.number = s.number WHERE o.operation = 'kernel' GROUP BY 1, 2" \
		'cudaLaunchKernel|vectoradd(float const*, float const*, float*, int)|40'
	expect_rows "SELECT name, value FROM arguments WHERE call = 2 AND name IN ('count', 'kind')" \
		$'count|4096\nkind|H2D'
	expect_rows "SELECT f.function, f.file, f.line FROM calls c JOIN frames f ON f.stack = c.stack
		WHERE c.id = 1 ORDER BY f.position" $'step(int)|/src/train.cu|12\nmain|/src/train.cu|12'
	expect_rows "SELECT seen, recorded, lost FROM losses WHERE source = 'calls'" '103|100|3'
	expect_rows "SELECT source, name, count(*) FROM events GROUP BY 1, 2 ORDER BY 1, 2" \
		$'drm|done|9\nnvidia|xid|1\nnvml|gpu_sample|1\nsched|off_cpu|10\nsyscall|sched_yield|10'
	expect_rows "SELECT value FROM metadata WHERE key IN ('schema', 'incomplete') ORDER BY key" $'1\ngputap.sqlite.1'
}

@test "a SQLite database of hostile names is valid" {
	need_sqlite
	"$synthetic" run.gtap 3 hostile
	export_capture sqlite run.gtap
	expect_rows 'PRAGMA integrity_check' ok
	expect_rows 'SELECT count(*) FROM events WHERE json_valid(details)' 10
	expect_rows "SELECT count(*) FROM calls WHERE kernel LIKE 'a\"b''c,d;e%'" 12
	gputap export --format sqlite -o - run.gtap
	expect_status 2
	expect_error "gputap: --format sqlite cannot be written to stdout: use -o FILE (try 'gputap export --help')"
}

@test "folded stacks have the weight that is asked for, with kernels and GPU operations as leaves" {
	local callers='train;main;step(int)'
	local kernel='vectoradd(float const*, float const*, float*, int)'
	"$synthetic" run.gtap 500
	gputap export --format folded --weight launches -o - run.gtap
	expect_status 0
	expect_output "$callers;cudaLaunchKernel;$kernel 2000"
	gputap export --format folded --weight gpu-time -o - run.gtap
	expect_output "$callers;cudaLaunchKernel;$kernel 1800000
$callers;cudaMemcpyAsync;H2D 450000
$callers;cudaMemcpyAsync;D2H 450000"
	gputap export --format folded --weight bytes -o - run.gtap
	expect_output "$callers;cudaMalloc 65282048
$callers;cudaMemcpyAsync 130564096"
	gputap export --format folded -o - run.gtap
	expect_output_line ';cudaStreamSynchronize 3500000$'
	gputap export --format folded --weight none -o - run.gtap
	expect_status 2
	expect_error "gputap: invalid value 'none' for --weight (one of: call-time, launches, bytes, gpu-time) (try 'gputap export --help')"
}

@test "the weights of folded stacks are those of the calls, of every example" {
	local example total
	need_probes
	for example in matmul reduce streams vectoradd; do
		"$build/gputap" trace --gpu soft --stack fp -o "$example.gtap" -- "$examples/$example" \
			>/dev/null 2>&1
		gputap export --format folded -o - "$example.gtap"
		expect_status 0
		total=$(awk '{ sum += $NF } END { print sum }' <<<"$output")
		"$build/gputap" trace --json --from "$example.gtap" 2>/dev/null |
			jq -s --argjson total "$total" -e 'map(select(.schema == "gputap.call.1" and
				(.nested | not)) | .duration) | add == $total'
	done
}

@test "a profile for pprof has all weights, by stack" {
	"$synthetic" run.gtap 500
	gputap export --format pprof --weight bytes run.gtap
	run -0 /usr/bin/python3 "$readers/pprof" "$root/tests/data/export/profile.proto" run.pb.gz
	expect_output_line '^types: call-time \(nanoseconds\), launches \(count\), bytes \(bytes\), gpu-time \(nanoseconds\) default: bytes$'
	expect_output_line '^comment: run.gtap$'
	expect_output_line '^time: 1700000000000000000 duration: 9503600$'
	expect_output_line '^sample: train;main \(/src/train.cu:12\);step\(int\) \(/src/train.cu:12\);cudaMemcpyAsync 1000000 0 130564096 0$'
	expect_output_line ';cudaMemcpyAsync;H2D 0 0 0 450000$'
	expect_output_line ';cudaLaunchKernel;vectoradd\(float const\*, float const\*, float\*, int\) 0 2000 0 1800000$'
}

# expect_remarks SENTENCE: what readers of formats of stacks and tables find in exports of run.gtap; "": nothing.
expect_remarks() {
	local format
	for format in csv folded; do
		gputap export --format $format -o out.$format run.gtap
		run ! grep -q incomplete out.$format
		gputap export --format $format --comments -o out.$format run.gtap
	done
	for format in svg pprof speedscope; do
		gputap export --format $format -o out.$format run.gtap
	done
	run -0 /usr/bin/python3 - <<-'END'
		import csv, json
		table = list(csv.reader(open("out.csv", newline="")))
		comments = [row for row in table[1:] if row[0].startswith("#")]
		assert comments in ([], table[-1:]) and all(len(row) == len(table[0]) for row in table[1:] if row not in comments)
		print("csv: " + ",".join(comments[0]) if comments else "csv: ")
		lines = open("out.folded").read().splitlines()
		comments = [line for line in lines if not line.rsplit(" ", 1)[-1].isdigit()]
		assert comments in ([], lines[-1:])
		print("folded: " + "".join(comments))
		print("speedscope: " + json.load(open("out.speedscope"))["name"])
	END
	if [ -z "$1" ]; then
		expect_output $'csv: \nfolded: \nspeedscope: run.gtap'
	else
		expect_output "csv: # incomplete: $1"$'\n'"folded: # incomplete: $1"$'\n'"speedscope: run.gtap (incomplete: $1)"
	fi
	run -0 /usr/bin/python3 "$readers/pprof" "$root/tests/data/export/profile.proto" out.pprof
	[ "$(grep '^comment: ' <<<"$output")" = "comment: run.gtap${1:+$'\n'comment: incomplete: $1}" ] || fail "$output"
	[ "$(xmllint --xpath 'string(/*/*[local-name()="title"])' out.svg)" = "${1:+incomplete: $1}" ]
}

@test "what an incomplete capture lacks is in the files of every format of stacks and tables" {
	"$synthetic" run.gtap 2
	expect_remarks '3 of 23 calls were lost, 0 filtered, 0 unfinished; 0 other events were lost.'
	"$synthetic" run.gtap 5000
	truncate -s 100000 run.gtap
	gputap errors --from run.gtap
	part=$(grep -oE 'corrupt part of the capture \([0-9]+ bytes\)' <<<"$output$stderr" | head -n 1)
	expect_remarks "The capture is truncated: its losses are unknown. Calls may be missing from a $part."
}

@test "of a complete capture the files say nothing of losses" {
	need_file "$examples/leak" "example"
	gputap trace --via agent -o run.gtap -- "$examples/leak"
	expect_remarks ''
}

@test "comments are only for formats that have none otherwise" {
	"$synthetic" run.gtap 2
	gputap export --format svg --comments run.gtap
	expect_status 2
	expect_error "gputap: --comments has no effect with --format svg (try 'gputap export --help')"
}

@test "profiles for speedscope have weights for their samples, and frames that are there" {
	"$synthetic" run.gtap 500
	export_capture speedscope run.gtap --weight gpu-time
	jq -e '(.shared.frames | length) as $frames | .activeProfileIndex == 3 and
		(.profiles | length == 4 and all(.type == "sampled" and
			(.samples | length) == (.weights | length) and
			(.weights | add) == .endValue and all(.samples[][]; . < $frames)))' out.speedscope
	jq -e '.profiles[3] | .name == "gpu-time" and .unit == "nanoseconds" and .endValue == 2700000' \
		out.speedscope
}

@test "a flame graph has a frame per stack with its share, and is valid XML" {
	"$synthetic" run.gtap 500
	export_capture svg run.gtap --weight gpu-time
	xmllint --noout out.svg
	run -0 xmllint --xpath '//*[local-name()="title"]/text()' out.svg
	expect_output_line '^cudaMemcpyAsync: 900 µs, 33.33 %$'
	expect_output_line '^H2D: 450 µs, 16.67 %$'
	expect_output_line '^step\(int\) \(/src/train.cu:12\): 2.70 ms, 100.00 %$'
	# A frame lies in its caller.
	run -0 xmllint --xpath 'string(//*[@data-n="D2H"]/@data-s)' out.svg
	[ "$output" = 450000 ]
}

@test "hostile names are valid in formats of stacks" {
	"$synthetic" run.gtap 3 hostile
	gputap export --format folded -o - run.gtap
	expect_no_output_line '^[^;]* [0-9]+$'
	[ "${#lines[@]}" = 6 ]
	export_capture svg run.gtap
	xmllint --noout out.svg
	export_capture speedscope run.gtap
	jq -e . out.speedscope >/dev/null
	gputap export --format pprof run.gtap
	run -0 /usr/bin/python3 "$readers/pprof" "$root/tests/data/export/profile.proto" run.pb.gz
}
