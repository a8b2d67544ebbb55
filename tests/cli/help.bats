# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Help, version, names that are mistyped, completion, the manual page.

load helper

commands=(trace doctor list help)

@test "gputap without arguments lists the commands, as gputap help and gputap --help" {
	gputap help
	expect_status 0
	expect_error ""
	[ "${lines[0]}" = "gputap traces GPU programs at every layer with eBPF." ]
	for command in "${commands[@]}"; do
		expect_output_line "^  $command +[A-Z]"
	done
	overview=$output
	for arguments in "" --help -h; do
		# shellcheck disable=SC2086 # none is no argument
		gputap $arguments
		expect_status 0
		expect_output "$overview"
	done
}

@test "gputap --version prints the version of meson.build" {
	gputap --version
	expect_status 0
	expect_output "gputap $(sed -n "s/^  version: '\(.*\)',$/\1/p" "$root/meson.build")"
	gputap -V
	expect_output_line '^gputap [0-9]'
}

@test "every command prints its usage and its options with --help, and so does gputap help" {
	for command in "${commands[@]}"; do
		gputap "$command" --help
		expect_status 0
		expect_error ""
		[[ ${lines[0]} == "Usage: gputap $command"* ]]
		expect_output_line '^  -h, --help +show this help$'
		help=$output
		gputap "$command" -h
		expect_output "$help"
		gputap help "$command"
		expect_status 0
		expect_output "$help"
	done
}

@test "the options of trace have the letters and names that are promised" {
	gputap help trace
	for option in '-p, --path PATH' '-d, --pid PID,…' '-f, --function NAME,…' '-e, --event SOURCE,…' \
		'-o, --output FILE' '-c, --count' '-s, --summary' '-t, --no-time' '-r, --no-returns' \
		'-v, --verbose' '    --comm NAME,…' '    --cgroup PATH,…' '    --uid USER,…' '    --failed' \
		'    --when CONDITION' '    --duration TIME' '    --max-events N' '    --from FILE' \
		'    --json' '    --time STYLE' '    --gpu GPU' '    --ring-size SIZE'; do
		expect_output_line "^  $option  "
	done
}

@test "the help explains the output file, and how to write JSON alone" {
	gputap help trace
	expect_output_line '^      --json +print one JSON object per line; with CMD add -o FILE$'
	for command in kernels leaks copies errors; do
		gputap help "$command"
		expect_output_line "^  -o, --output FILE +write to FILE \('-': stdout; default with CMD: stderr\)$"
		expect_output_line '^      --json +print a JSON object \(docs/analyses.md\); with CMD add -o FILE$'
	done
}

@test "the help of options is in one column, though some letters take several bytes" {
	for command in "${commands[@]}"; do
		gputap help "$command"
		columns=$(grep -E '^  (-.,|   ) --' <<<"$output" | sed -E 's/^(.{25}).*/\1/' | grep -c ' $')
		[ "$columns" = "$(grep -cE '^  (-.,|   ) --' <<<"$output")" ]
	done
}

@test "no line of a command's help is wider than 92 columns, except examples and usage" {
	for command in "${commands[@]}" kernels leaks copies errors verify compile exec; do
		gputap help "$command"
		output=$(sed '/^Usage:/d; /^Examples:/,$d' <<<"$output")
		expect_no_output_line '.{93}'
		expect_no_output_line ' $'
	done
}

@test "a description and an option's help continue in the next line where a word does not fit" {
	gputap help doctor
	expect_output_line "^Each line has a verdict: ok; missing, where something is less good without it; or broken,$"
	expect_output_line "^where nothing can be traced without it\. Exits with 1 if something is broken\.$"
	gputap help trace
	expect_output_line '^      --stack METHOD +callers of each call: none, fp \(frame pointers\), dwarf \(\.eh_frame,$'
	expect_output_line '^ {26}by copies of the stack\), mixed \(\.eh_frame in the kernel, fp where$'
	expect_output_line '^ {26}it has no rule\), or auto: mixed if the command prints callers,$'
	expect_output_line '^ {26}else none \(default: auto\)$'
}

@test "the help of trace has the same sum of calls as the manual page" {
	gputap help trace
	[[ ${output//$'\n'/ } == *"made = complete + unfinished + lost + filtered by a condition."* ]]
	[[ $(tr '\n' ' ' <"$root/man/gputap.1.in") == *"made = complete + unfinished + lost + filtered by a condition."* ]]
}

@test "the manual page has each source, with what it needs" {
	gputap list --sources
	sources=$(sed -n 's/^  \([a-z0-9-]\+\) .*/\1/p' <<<"$output")
	needs=$(sed -n 's/^ *needs //p' <<<"$output")
	[ "$(wc -l <<<"$sources")" -ge 24 ]
	gputap help --man
	section=$(sed -n '/^\.SH SOURCES$/,$p' <<<"$output" | tr -d '\\')
	[ "$(sed -n 's/^fB\([a-z0-9-]*\)fR$/\1/p' <<<"$section")" = "$sources" ]
	[ "$(sed -n 's/^Needs \(.*\)\.$/\1/p' <<<"$section")" = "$(tr -d '\\' <<<"${needs//\'/(aq}")" ]
	grep -qx '.SH SOURCES' "$build/man/gputap.1"
}

@test "an unknown command is reported with the nearest one" {
	gputap trac
	expect_status 2
	expect_output ""
	expect_error "gputap: unknown command 'trac': did you mean 'trace'? (try 'gputap help')"
	gputap hlep
	expect_error "gputap: unknown command 'hlep': did you mean 'help'? (try 'gputap help')"
}

@test "an unknown command that resembles none is reported without a guess" {
	gputap frobnicate
	expect_status 2
	expect_error "gputap: unknown command 'frobnicate' (try 'gputap help')"
}

@test "help of an unknown command is reported like the command" {
	gputap help docter
	expect_status 2
	expect_error "gputap: unknown command 'docter': did you mean 'doctor'? (try 'gputap help')"
}

@test "help of two commands is rejected" {
	gputap help trace list
	expect_status 2
	expect_error "gputap: unexpected argument 'list' (try 'gputap help --help')"
}

@test "an option before the command is reported" {
	gputap --json trace
	expect_status 2
	expect_error "gputap: unknown option '--json' before the command (try 'gputap help')"
}

@test "an unknown option is reported with the nearest one" {
	gputap trace --jsno
	expect_status 2
	expect_output ""
	expect_error "gputap: unknown option '--jsno': did you mean '--json'? (try 'gputap trace --help')"
	gputap list --functoins=x
	expect_error "gputap: unknown option '--functoins': did you mean '--functions'? (try 'gputap list --help')"
}

@test "an unknown letter is reported, also among others" {
	gputap trace -Z
	expect_status 2
	expect_error "gputap: unknown option '-Z' (try 'gputap trace --help')"
	gputap trace --json -Zv
	expect_error "gputap: unknown option '-Z' (try 'gputap trace --help')"
	gputap trace -vZ
	expect_error "gputap: unknown option '-Z' (try 'gputap trace --help')"
}

@test "an option that lacks its value is reported with the kind of value" {
	gputap trace --max-events
	expect_status 2
	expect_error "gputap: option --max-events requires a value: N (try 'gputap trace --help')"
	gputap trace -o
	expect_error "gputap: option -o requires a value: FILE (try 'gputap trace --help')"
}

@test "a value for an option that takes none is rejected" {
	gputap trace --json=yes
	expect_status 2
	expect_error "gputap: option --json takes no value (try 'gputap trace --help')"
	gputap trace --help=all
	expect_error "gputap: option --help takes no value (try 'gputap trace --help')"
}

@test "an abbreviated option is accepted only where it is unique" {
	gputap list --out
	expect_status 0
	expect_output_line '^Outputs:$'
	gputap trace --no
	expect_status 2
	expect_error "gputap: ambiguous option '--no': --no-time, --no-returns (try 'gputap trace --help')"
}

@test "the scripts for bash, zsh and fish name every option of every command" {
	for shell in bash zsh fish; do
		gputap help --completion "$shell"
		expect_status 0
		script=$output
		for command in "${commands[@]}"; do
			gputap help "$command"
			while read -r option; do
				grep -qE -- "(--|-l )${option#--}" <<<"$script" ||
					fail "$shell does not complete $command $option"
			done < <(grep -oE '^  (-.,|   ) --[a-z-]+' <<<"$output" | grep -oE '[-]-[a-z-]+$')
		done
	done
}

@test "completion for an unknown shell is rejected" {
	gputap help --completion tcsh
	expect_status 2
	expect_error "gputap: invalid value 'tcsh' for --completion (one of: bash, zsh, fish) (try 'gputap help --help')"
}

# complete_in_bash WORD…: what bash offers for the last word.
complete_in_bash() {
	# shellcheck disable=SC2016 # it is for the other shell
	run bash --norc -c '
		PATH=$1:$PATH; shift
		source <(gputap help --completion bash)
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_gputap gputap
		printf "%s\n" "${COMPREPLY[@]}"' - "$build" gputap "$@"
}

@test "bash completes commands, options, choices, sources and functions" {
	complete_in_bash tr
	[ "$output" = trace ]
	complete_in_bash trace --ring
	[ "$output" = --ring-size ]
	complete_in_bash trace --time ""
	[ "$output" = $'wall\nrelative\nns' ]
	complete_in_bash trace --time = re
	[ "$output" = relative ]
	complete_in_bash trace -e cu
	[ "$output" = $'cuda\ncublas\ncudnn' ]
	complete_in_bash trace -f cudaFree,cudaMallocMan
	[ "$output" = cudaFree,cudaMallocManaged ]
	complete_in_bash help 'do'
	[ "$output" = doctor ]
}

@test "bash completes the command line of a traced command" {
	cd "$BATS_TEST_TMPDIR"
	touch vectoradd
	complete_in_bash trace -v -- vec
	[ "$output" = vectoradd ]
}

@test "the completion script for bash has no syntax errors" {
	gputap help --completion bash
	bash -n <<<"$output"
}

@test "the completion script for zsh has no syntax errors" {
	need_command zsh
	gputap help --completion zsh
	zsh -n <<<"$output"
}

@test "the completion script for fish has no syntax errors" {
	need_command fish
	gputap help --completion fish
	fish --no-execute <<<"$output"
}

@test "the manual page names every command and option" {
	page=$build/man/gputap.1
	need_file "$page" "manual page: this build is for another machine"
	for command in "${commands[@]}"; do
		grep -qF ".SS \"gputap $command\"" "$page"
		gputap help "$command"
		while read -r option; do
			grep -qF -- "\\fB${option//-/\\-}\\fR" "$page" || fail "no $option of $command"
		done < <(grep -oE '^  (-.,|   ) --[a-z-]+' <<<"$output" | grep -oE '[-]-[a-z-]+$')
	done
	run grep -E '@[A-Z]+@' "$page"
	[ "$status" = 1 ]
}

@test "groff reports nothing about the manual page" {
	page=$build/man/gputap.1
	need_file "$page" "manual page: this build is for another machine"
	need_command groff
	run groff -man -ww -z -Kutf8 -Tutf8 "$page"
	[ -z "$output" ]
}

# Sets $page to the manual page as plain text, a paragraph a line.
read_manual() {
	need_file "$build/man/gputap.1" "manual page: this build is for another machine"
	need_command groff
	page=$(groff -man -Kutf8 -Tascii -P-cbou -rLL=2000n "$build/man/gputap.1")
}

@test "the manual page lists the exit statuses" {
	read_manual
	grep -qF 'The command line is wrong, or the object given to verify, compile or exec is malformed or missing.' <<<"$page"
	grep -qF 'When trace, record, report, why, kernels, leaks, copies, errors or stat runs a command, the exit status is that of the command' <<<"$page"
	gputap verify ./nothing.o
	expect_status 2
	gputap list 'nothing*'
	expect_status 1
}

@test "the manual page names every schema, signal and variable that is there for users" {
	read_manual
	for name in $(grep -ohE 'gputap\.[a-z]+\.1' "$root"/docs/json.md "$root"/src/{output,cli}/*.c | sort -u) \
		gputap.{kernels,leaks,copies,errors}.1 SIGINT SIGTERM SIGHUP SIGUSR1 GPUTAP_SOFTGPU \
		SOFTGPU_{MEMORY,DEVICES,MULTIPROCESSORS,ARCH,WORKERS,TIMEOUT,VERBOSE}; do
		grep -qwF "$name" <<<"$page" || fail "the manual page does not name $name"
	done
}

@test "a build that nobody watches says that it takes long, where it is a new one" {
	cd "$BATS_TEST_TMPDIR"
	mkdir tools bin
	cp "$root/tools/build" tools
	printf '#!/bin/sh\nmkdir -p "$2" && touch "$2/build.ninja"\n' >bin/meson
	printf '#!/bin/sh\n' >bin/ninja
	chmod +x bin/*
	PATH=$PWD/bin:$PATH observe tools/build new
	expect_status 0
	expect_error "building in new: this takes some minutes"
	PATH=$PWD/bin:$PATH observe tools/build new
	expect_error ""
}

@test "a new build takes a warning for an error if its compiler is the gcc of Debian 12" {
	local cflags expected version
	cd "$BATS_TEST_TMPDIR"
	mkdir tools bin
	cp "$root/tools/build" tools
	printf '#!/bin/sh\necho "$*" >>options\n' >bin/meson
	printf '#!/bin/sh\n' >bin/ninja
	printf '#!/bin/sh\necho "cc ($VERSION) 12.2.0"\n' >bin/cc
	chmod +x bin/*
	while IFS=: read -r version cflags expected; do
		unset CC
		VERSION=$version CFLAGS=$cflags PATH=$PWD/bin:$PATH observe tools/build new
		expect_status 0
		echo "setup new$expected" | diff - options || fail "options with $version and '$cflags'"
		rm options
	done <<-'EOF'
		Debian 12.2.0-14+deb12u1:: -Dwerror=true
		Debian 12.2.0-14+deb12u1:-O3:
		Ubuntu 12.3.0-1ubuntu1::
		Debian 14.2.0-19::
	EOF
	VERSION='Debian 12.2.0-14' PATH=$PWD/bin:$PATH observe tools/build new -Dfuzz=enabled
	echo "setup new -Dfuzz=enabled" | diff - options
}

@test "a build without a terminal prints every tenth of its progress, and messages of compilers" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p tools bin new
	touch new/build.ninja
	cp "$root/tools/build" tools
	cat >bin/ninja <<-'EOF'
		#!/bin/bash
		[ "${@: -1}" != build.ninja ] || exit 0
		for ((i = 1; i <= ${STEPS:-200}; i++)); do echo "[$i/${STEPS:-200}] Compiling"; done
		echo "a.c:1: warning: odd"
		exit 3
	EOF
	chmod +x bin/ninja
	PATH=$PWD/bin:$PATH observe tools/build new
	expect_status 3
	expect_output "a.c:1: warning: odd"
	expect_error "$(for i in {20..200..20}; do echo "built $i of 200"; done)"
	STEPS=20 PATH=$PWD/bin:$PATH observe tools/build new
	expect_error ""
}
