# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Exports, read by the viewers that they are made for. None of these is needed otherwise: a test is
# skipped where its viewer is not installed (pprof: Debian's golang; speedscope, @paulirish/trace_engine:
# npm install --global, or in a folder whose node_modules NODE_PATH names).

load helper

synthetic=$build/tests/programs/synthetic

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$BATS_TEST_TMPDIR
	"$synthetic" run.gtap 50
}

# need_package NAME: sets $package to the folder of a package of npm.
need_package() {
	command -v node >/dev/null || skip "node is not installed"
	package=${NODE_PATH:-$(npm root --global 2>/dev/null)}/$1
	[ -d "$package" ] || skip "the package $1 of npm is not installed"
}

export_as() {
	gputap export --format "$1" -o "$2" "${@:3}" run.gtap
	expect_status 0
}

# What speedscope shows of a file: the title, and its profile's weight in ns by frame.
load_into_speedscope() {
	need_package speedscope
	command -v chromium >/dev/null || skip "chromium is not installed"
	printf 'speedscope.loadFileFromBase64("%s", "%s")' "$1" "$(base64 -w 0 "$1")" >profile.js
	run -0 --separate-stderr "$root/tests/support/browser" \
		--hash "localProfilePath=$PWD/profile.js" \
		--ready 'document.title.includes(" - speedscope") && /Time Order/.test(document.body.innerText)' \
		"$package/dist/release/index.html" 'document.title' 'document.body.innerText'
}

@test "pprof shows the weights of a profile by function" {
	local pprof
	if command -v pprof >/dev/null; then
		pprof=(pprof)
	elif command -v go >/dev/null; then
		pprof=(go tool pprof)
	else
		skip "neither pprof nor go is installed"
	fi
	export_as pprof run.pb.gz
	run -0 --separate-stderr "${pprof[@]}" -top -sample_index=launches run.pb.gz
	expect_output_line '^Type: launches$'
	expect_output_line '^ +200 +100% +100% +200 +100%  vectoradd\('
	run -0 --separate-stderr "${pprof[@]}" -top -unit=ns run.pb.gz
	expect_output_line '^ +100000ns .* cudaMalloc$'
}

@test "speedscope's schema accepts profiles" {
	need_package speedscope
	python3 -c 'import jsonschema' 2>/dev/null || skip "the module jsonschema of Python is not installed"
	export_as speedscope run.json
	python3 -W ignore -m jsonschema -i run.json "$package/dist/release/file-format-schema.json"
}

@test "speedscope shows profiles of its own format, of pprof and folded stacks" {
	export_as speedscope run.json
	load_into_speedscope run.json
	[[ ${lines[0]} == '"run.gtap (incomplete: 3 of '*' - speedscope"' ]]
	[[ ${lines[1]} == *'call-time (1/4)'* ]] || fail "${lines[1]}"
	export_as pprof run.pb.gz
	load_into_speedscope run.pb.gz
	[ "${lines[0]}" = '"run.pb.gz - speedscope"' ]
	export_as folded run.folded
	load_into_speedscope run.folded
	[ "${lines[0]}" = '"run.folded - speedscope"' ]
}

@test "the trace engine of Chromium's developer tools has every slice of a Chrome trace" {
	need_package @paulirish/trace_engine
	export_as chrome run.json
	"$root/tests/readers/trace-engine" "$package" run.json | sort >slices
	run -0 cat slices
	expect_output "$(jq -r '.traceEvents | (map(select(.ph == "M" and .name == "thread_name")) |
		map({key: "\(.pid) \(.tid)", value: .args.name}) | from_entries) as $names |
		map(select(.ph == "X")) | group_by([.pid, .tid])[] |
		"\($names["\(.[0].pid) \(.[0].tid)"]): \(length) slices"' run.json | sort)"
}
