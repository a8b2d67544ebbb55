# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Help, versions, and what is not understood: none of it needs privileges or a GPU.

load helper

# Every command that `gputap help` lists.
commands() {
	"$build/gputap" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

@test "gputap without a command shows its commands" {
	gputap
	expect_status 0
	expect_output_line '^Usage: gputap COMMAND'
	expect_output_line '^  trace +Trace CUDA calls'
	whole=$output
	gputap help
	expect_output "$whole"
	gputap --help
	expect_output "$whole"
}

@test "the version is that of the build files" {
	gputap --version
	expect_status 0
	expect_output "gputap $(sed -n "s/^  version: '\(.*\)',$/\1/p" "$root/meson.build")"
}

@test "every command has help of its own, by either way to ask for it" {
	[ "$(commands | wc -l)" -ge 4 ]
	for command in $(commands); do
		gputap "$command" --help
		expect_status 0
		expect_output_line "^Usage: gputap $command"
		expect_error ''
		whole=$output
		gputap help "$command"
		expect_status 0
		expect_output "$whole"
	done
}

@test "an unknown command is reported with the nearest one" {
	gputap trac
	expect_status 2
	expect_output ''
	expect_error "gputap: unknown command 'trac': did you mean 'trace'? (try 'gputap help')"
	gputap help trac
	expect_status 2
	expect_error "gputap: unknown command 'trac': did you mean 'trace'? (try 'gputap help')"
}

@test "a command that resembles none is reported without a guess" {
	gputap nonsense
	expect_status 2
	expect_error "gputap: unknown command 'nonsense' (try 'gputap help')"
}

@test "an unknown option is reported with the nearest one" {
	gputap trace --jsn
	expect_status 2
	expect_error "gputap: unknown option '--jsn': did you mean '--json'? (try 'gputap trace --help')"
}

@test "an unknown letter is reported for every command" {
	for command in $(commands); do
		gputap "$command" -Z
		expect_status 2
		expect_error "gputap: unknown option '-Z' (try 'gputap $command --help')"
	done
}

@test "an option without its value is reported" {
	gputap trace --ring-size
	expect_status 2
	expect_error "gputap: option --ring-size requires a value: SIZE (try 'gputap trace --help')"
}

@test "-- without a command is rejected: it does not mean all processes" {
	for command in trace kernels leaks copies errors; do
		gputap "$command" --json --
		expect_status 2
		expect_output ''
		expect_error "gputap: no command after -- (try 'gputap $command --help')"
	done
	gputap trace --from --
	expect_status 1
	expect_error "gputap: --: No such file or directory: check the path"
}

@test "an invalid size is reported" {
	gputap trace --ring-size x -- true
	expect_status 2
	expect_error "gputap: invalid value 'x' for --ring-size (a size such as 64K or 16M) (try 'gputap trace --help')"
}

@test "an invalid time is reported" {
	gputap trace --duration 5q -- true
	expect_status 2
	expect_error "gputap: invalid value '5q' for --duration (a duration such as 10s or 500ms) (try 'gputap trace --help')"
}

@test "an invalid choice is reported with the valid ones" {
	gputap trace --time wal -- true
	expect_status 2
	expect_error "gputap: invalid value 'wal' for --time (one of: wall, relative, ns) (try 'gputap trace --help')"
}

@test "a command whose output cannot be written says so and fails" {
	for line in help --version 'trace --help' 'list --functions' doctor 'verify --raw' \
		'verify --raw --json' 'exec --raw' 'exec --raw --json'; do
		for target in '>/dev/full' '>&-'; do
			why='No space left on device'
			[ "$target" = '>/dev/full' ] || why='Bad file descriptor'
			observe bash -c "printf b7000000070000009500000000000000 | $build/gputap $line $target"
			expect_status 1
			expect_error "gputap: cannot write output: $why"
		done
	done
}

@test "closed standard descriptors are not used for other files" {
	mkfifo "$BATS_TEST_TMPDIR/object"
	"$build/gputap" verify "$BATS_TEST_TMPDIR/object" 0<&- >&- 2>&- 3>&- &
	process=$!
	exec 9>"$BATS_TEST_TMPDIR/object" # opens once gputap opens it for reading
	for fd in 0 1 2; do
		target=$(readlink /proc/$process/fd/$fd)
		[ "$target" = /dev/null ] || fail "descriptor $fd is '$target'"
	done
	exec 9>&-
	wait $process || true
}

@test "a command whose reader has left says nothing of it" {
	for line in help 'help --man' 'list --functions' 'list --events'; do
		observe bash -c "set -o pipefail; { sleep 0.1; $build/gputap $line; } | true"
		expect_status 0
		expect_error ''
	done
}

@test "options may stand behind what a command reads, up to --" {
	printf b7000000070000009500000000000000 >"$BATS_TEST_TMPDIR/hex"
	gputap verify "$BATS_TEST_TMPDIR/none" --json
	expect_status 2
	expect_json '.[0].safe == false'
	gputap exec 0a0b --raw --json 0c --show-memory <"$BATS_TEST_TMPDIR/hex"
	expect_status 0
	expect_json '.[0].devices[0].memory == "0a0b0c"'
	gputap list 'cudaMall*' --json
	expect_status 2
	expect_error "gputap: unknown option '--json' (try 'gputap list --help')"
	gputap help list --man
	expect_output_line '^\.SS "gputap trace"$'
	gputap verify -- --json
	expect_status 2
	expect_error_line '^gputap: --json: '
	gputap verify "$BATS_TEST_TMPDIR/none" -- --json
	expect_status 2
	expect_error "gputap: one FILE is needed, or --raw (try 'gputap verify --help')"
	gputap exec "$BATS_TEST_TMPDIR/none" --on gpu -- true --json
	expect_status 2
	expect_error_line '^gputap: a command needs --linux'
	gputap exec "$BATS_TEST_TMPDIR/none" --linux -- true --json
	expect_status 2
	expect_error_line "^gputap: $BATS_TEST_TMPDIR/none: "
	gputap trace true --json --none
	expect_no_error_line 'unknown option'
}

@test "list shows the sources, and the traced functions that a pattern names" {
	gputap list
	expect_status 0
	expect_output_line '^  cuda +calls of the CUDA runtime and driver APIs'
	gputap list 'cudaMall*'
	expect_status 0
	expect_output_line '\bcudaMallocAsync\b'
	expect_no_output_line '\bcudaFree\b'
}

@test "0 is rejected where it would mean the same as no option" {
	for option in --top --stack-depth; do
		gputap copies $option 0 -- true
		expect_status 2
		expect_error "gputap: invalid value '0' for $option (a whole number from 1) (try 'gputap copies --help')"
	done
	gputap trace --max-events 0 -- true
	expect_status 2
	expect_error "gputap: invalid value '0' for --max-events (a whole number from 1) (try 'gputap trace --help')"
	for command in verify compile; do
		for option in --max-insns --max-size; do
			gputap $command $option 0 program.o
			expect_status 2
			expect_error "gputap: invalid value '0' for $option (a whole number from 1) (try 'gputap $command --help')"
		done
	done
	for option in --interval --duration; do
		gputap leaks $option 0s -- true
		expect_status 2
		expect_error "gputap: invalid value '0s' for $option (a duration such as 10s or 500ms) (try 'gputap leaks --help')"
	done
}

@test "no times and a style of times exclude each other" {
	gputap trace -t --time wall -- true
	expect_status 2
	expect_error "gputap: -t and --time cannot be used together (try 'gputap trace --help')"
}

@test "options of recording are rejected for a capture" {
	for option in --gpu=soft --stack=none --stack-depth=3 --kernel-args --attach=perf; do
		gputap errors --from x.gtap $option
		expect_status 2
		expect_error "gputap: ${option%=*} cannot be applied to a capture (--from) (try 'gputap errors --help')"
	done
}

@test "an option given as a command is reported with its option" {
	gputap version
	expect_status 0
	expect_output_line '^gputap [0-9]'
	gputap help version
	expect_status 2
	expect_error "gputap: unknown command 'version': use 'gputap --version'"
	for arguments in completion 'help completion'; do
		# shellcheck disable=SC2086 # two arguments
		gputap $arguments
		expect_status 2
		expect_error "gputap: unknown command 'completion': use 'gputap help --completion bash'"
	done
}

@test "options that have no effect together are an error" {
	for line in "-r --json:-r is for text: it has no effect with --json" \
		"-1 -c:-1 is for text: it has no effect with -c" \
		"-t -o run.gtap:-t is for text: it has no effect with -o FILE.gtap (a capture)" \
		"--time ns --json:--time is for text: it has no effect with --json" \
		"-r -1:-r and -1 cannot be used together" \
		"--from a.gtap --from b.gtap:option --from was given twice" \
		"--stack-depth 128:invalid value '128' for --stack-depth (1 to 127)"; do
		# shellcheck disable=SC2086 # several options
		gputap trace ${line%%:*}
		expect_status 2
		expect_error "gputap: ${line#*:} (try 'gputap trace --help')"
	done
}
