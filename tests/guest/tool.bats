# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# tools/guest itself, tests/guest/suite, and tools/kernel-support on guests that fail.

load ../cli/helper

need_guest() {
	observe "$root/tools/guest"
	[ "$status" != 77 ] || skip "${stderr##*guest: }"
	expect_status 0
}

@test "output, error and status of a command in the guest are its own" {
	need_guest
	cd "$BATS_TEST_TMPDIR"
	observe "$root/tools/guest" -- sh -c 'uname -r; pwd; echo "it fails" >&2; id -u; exit 7'
	expect_status 7
	[[ ${lines[0]} == 6.1.* ]]
	[ "${lines[1]} ${lines[2]}" = "$BATS_TEST_TMPDIR 0" ]
	expect_error "it fails"
}

@test "a command in the guest reads this machine's files, and what it writes stays there" {
	need_guest
	cd "$BATS_TEST_TMPDIR"
	echo before >file
	observe "$root/tools/guest" -- sh -c 'cat file; echo after >file; cat file; mkdir other'
	expect_status 0
	expect_output $'before\nafter'
	[ "$(cat file)" = before ]
	[ ! -e other ]
}

@test "a program that is served is executed here, with the guest's files that its arguments name, or its input" {
	need_guest
	cd "$BATS_TEST_TMPDIR"
	boot_id='cat /proc/sys/kernel/random/boot_id'
	cat >script <<-END
		source "$root/tests/guest/served.bash"
		sh -c "$boot_id"
		echo 'echo "\$1 of a file"' >there
		sh there 'two  words'
		sh ./there there
		echo 'echo of input; echo of error >&2; exit 5' | sh || echo \$?
		served_call true || echo \$?
		$boot_id
	END
	observe "$root/tools/guest" --serve sh -- bash script
	expect_status 0
	[ "${lines[0]}" = "$($boot_id)" ]
	[ "${lines[6]}" != "${lines[0]}" ]
	[ "$(sed '1d; $d' <<<"$output")" = $'two  words of a file\nthere of a file\nof input\n5\n126' ]
	expect_error $'of error\nit is not served'
	observe "$root/tools/guest" --serve no-program -- true
	expect_status 77
	expect_error "guest: there is no no-program to serve"
}

@test "a guest is killed after its time limit, and nothing of it stays" {
	need_guest
	observe "$root/tools/guest" --timeout 1 -- sleep 60
	expect_status 124
	expect_error "guest: not done after 1 s"
}

@test "a guest that breaks down is reported with its console from the kernel panic on" {
	need_guest
	observe "$root/tools/guest" -- sh -c 'echo c >/proc/sysrq-trigger; sleep 60'
	expect_status 125
	expect_error_line '^guest: it ended before the command did; the end of its console:$'
	[[ ${stderr_lines[1]} == *'Kernel panic - not syncing: sysrq triggered crash' ]]
}

@test "a module of a guest has no signature, and the names of functions alone" {
	need_command cc
	need_command readelf
	cd "$BATS_TEST_TMPDIR"
	echo 'extern int other(int); int table[4] = {1}; int __pfx_sum(void) { return 1; }
		int sum(int i) { return other(i) + table[i]; }' | cc -x c -c -o module.o -
	{
		cat module.o
		# struct module_signature with a signature of 9 bytes.
		printf 'SIGNATURE\0\0\2\0\0\0\0\0\0\0\0\11~Module signature appended~\n'
	} >signed.o
	PYTHONPATH=$root/tools python3 -B -c 'import guest_kernels, pathlib
module = guest_kernels.without_signature(pathlib.Path("signed.o").read_bytes())
pathlib.Path("unsigned.o").write_bytes(module)
pathlib.Path("short.o").write_bytes(guest_kernels.with_names_of_functions(module))'
	cmp module.o unsigned.o
	observe readelf --symbols --wide short.o
	expect_no_output_line '(table|__pfx_sum)$'
	expect_output_line ' FUNC +GLOBAL .* sum$'
	expect_output_line ' UND other$'
}

@test "without QEMU, or without apt to fetch a kernel, the reason is reported" {
	python=$(python3 -c 'import sys; print(sys.executable)')
	cd "$BATS_TEST_TMPDIR"
	mkdir empty
	observe env PATH="$PWD/empty" "$python" "$root/tools/guest" -- true
	expect_status 77
	expect_error "guest: there is no qemu-system-x86_64: install qemu-system-x86"
	need_command qemu-system-x86_64
	need_command busybox
	ln -s "$(command -v qemu-system-x86_64)" "$(command -v busybox)" empty/
	observe env PATH="$PWD/empty" "$python" "$root/tools/guest" --keep "$BATS_TEST_TMPDIR/none" -- true
	expect_status 77
	expect_error "guest: kernels are fetched with apt-get, and there is none"
}

# TEST, TAG and NOT stand for what would be taken for a test, a tag and a negation of this file.
write_tests() {
	sed 's/^TEST /@test /; s/^TAG /# bats test_tags=/; s/NOT /! /' >tests.bats
}

# Tests that pass, that fail in each way, and that skip.
write_all_kinds() {
	echo 'has() { grep -q "$1" "$BATS_FILE_TMPDIR/made"; }' >shared.bash
	write_tests <<-'END'
		load shared
		setup_file() {
			echo "ok 1 no result"
			echo word >"$BATS_FILE_TMPDIR/made"
		}
		setup() { cd "$BATS_TEST_TMPDIR"; }
		teardown() { [ ! -e forbidden ]; }
		TEST "a command passes" {
			touch here
			has word
		}
		TEST "a command fails" {
			echo before
			false
			echo after
		}
		TEST "a function that is loaded fails" {
			[ ! -e here ]
			has other
		}
		TEST "it skips with a reason" {
			skip "there is no time"
			false
		}
		TEST "it skips without" {
			skip
		}
		TEST "teardown fails" {
			touch forbidden
		}
		TEST "teardown fails where it skips" {
			touch forbidden
			skip
		}
		TEST "a negation fails at the end" {
			NOT true
		}
		TEST "a negation fails before" {
			NOT true
			true
		}
		TEST "a condition fails" {
			false || true
			if false; then :; fi
			[ "$(false; echo on)" = on ]
		}
		TEST "run sets status, output and lines" {
			run sh -c 'echo one; echo; echo " two"; echo three >&2; exit 3'
			[ "$status" = 3 ]
			[ "$output" = $'one\n\n two\nthree' ]
			[ "${#lines[@]} ${lines[1]}" = '3  two' ]
		}
		TEST "run separates the error" {
			run --separate-stderr sh -c 'echo one; echo two >&2; echo three >&2'
			[ "$output $stderr ${stderr_lines[1]}" = $'one two\nthree three' ]
		}
		TEST "run expects a status" {
			run -3 sh -c 'exit 3'
			run -0 sh -c 'echo reason; exit 4'
		}
		TEST "it exits" {
			exit 0
		}
		TEST "run expects a failure" {
			run ! false
			run ! true
			true
		}
		TEST "a \"sentence\" with quotes, of the test with a number" {
			[ "$BATS_TEST_NUMBER" = 16 ]
			sh -c '[ -d "$BATS_TEST_TMPDIR" ]'
		}
		TAG other
		TEST "it has a tag" {
			[ "$BATS_TEST_NUMBER" != 16 ]
		}
		TEST "it has the names that the suite has" {
			result=none failure=() number=1 sentence=x files=() directory=/ status=0
			false
		}
	END
}

@test "the suite has the results that bats has" {
	cd "$BATS_TEST_TMPDIR"
	write_all_kinds
	run env -u BATS_TEST_FILTER bats --formatter tap tests.bats
	expected=$(sed -nE '/^not ok/s/ # skip$//; /^(1\.\.|ok|not ok)/p' <<<"$output")
	observe "$root/tests/guest/suite" tests.bats
	expect_status 1
	[ "$(grep -E '^(1\.\.|ok|not ok)' <<<"$output")" = "$expected" ] || fail "bats: $expected"
	[ "$(grep -c '^not ok' <<<"$output")" = 9 ]
}

@test "the suite runs the tests that have a tag, or the others, and a filter, before or after the file" {
	local tag
	cd "$BATS_TEST_TMPDIR"
	write_all_kinds
	for tag in other '!other'; do
		run env -u BATS_TEST_FILTER bats --formatter tap --filter-tags "$tag" tests.bats -f 'it '
		expected=$(sed -nE '/^not ok/s/ # skip$//; /^(1\.\.|ok|not ok)/p' <<<"$output")
		observe "$root/tests/guest/suite" --filter-tags "$tag" tests.bats -f 'it '
		[ "$(grep -E '^(1\.\.|ok|not ok)' <<<"$output")" = "$expected" ] || fail "bats: $expected"
	done
	observe "$root/tests/guest/suite" --nothing tests.bats
	expect_status 2
	expect_error "suite: invalid option '--nothing'"
}

@test "the suite shows where a test failed, the command and the output" {
	cd "$BATS_TEST_TMPDIR"
	write_all_kinds
	observe "$root/tests/guest/suite" -f '^a (command|function).* fails$' tests.bats
	expect_status 1
	expect_output "1..2
not ok 1 a command fails
# \`false' failed with status 1
#   at tests.bats:14
# before
not ok 2 a function that is loaded fails
# \`grep -q \"\$1\" \"\$BATS_FILE_TMPDIR/made\"' failed with status 1
#   at $PWD/shared.bash:1
#   at tests.bats:19"
	observe "$root/tests/guest/suite" -f 'run expects' tests.bats
	expect_output_line '^# the status is 4, not 0: sh -c'
	expect_output_line '^# reason$'
}

@test "the suite prints the time of each test and of each file with --timing" {
	cd "$BATS_TEST_TMPDIR"
	write_tests <<-'END'
		TEST "it waits" {
			sleep 0.2
		}
	END
	observe "$root/tests/guest/suite" --timing tests.bats
	expect_status 0
	[[ $output =~ ^1\.\.1$'\n'"ok 1 it waits"$'\n'"# "([0-9.]+)" s: it waits"$'\n'"# "([0-9.]+)" s: tests.bats"$ ]] ||
		fail "the times are wrong"
	((10#${BASH_REMATCH[1]/./} >= 2 && 10#${BASH_REMATCH[2]/./} >= 10#${BASH_REMATCH[1]/./})) ||
		fail "the times are too short"
}

@test "the suite reports a test that is killed, and a file that fails before its tests" {
	cd "$BATS_TEST_TMPDIR"
	write_tests <<-'END'
		TEST "it is killed" {
			kill -KILL $BASHPID
		}
		TEST "the next one passes" {
			:
		}
	END
	observe "$root/tests/guest/suite" tests.bats
	expect_status 1
	expect_output $'1..2\nnot ok 1 it is killed\n# its shell was killed\nok 2 the next one passes'
	write_tests <<-'END'
		setup_file() { false; }
		TEST "it does not run" {
			:
		}
	END
	observe "$root/tests/guest/suite" tests.bats
	expect_status 1
	expect_output $'1..1\nBail out! tests.bats: it fails before its first test'
}

# rejected ERROR: the suite runs no test of standard input, and reports this error.
rejected() {
	write_tests
	observe "$root/tests/guest/suite" tests.bats
	[ "$status" != 0 ] || fail "it accepts the file"
	expect_no_output_line '^(not )?ok'
	[[ $stderr == *"$1"* ]] || fail "the error is not: $1"
}

@test "the suite rejects what it does not know of bats, instead of leaving tests out" {
	local sentence use
	cd "$BATS_TEST_TMPDIR"
	for sentence in "'a' {" 'word {' '"a" { # b' '"a" { :; }' '"a"' '"a $b" {' '"a `b`" {' '"a \\" {' '"a" b" {' '"" {'; do
		rejected 'suite: tests.bats:3: invalid test (valid: @test "SENTENCE" {)' <<-END
			TEST "it is valid" {
			}
			TEST $sentence
			}
		END
		sed -i 's/^@test/  &/' tests.bats
		observe "$root/tests/guest/suite" tests.bats
		expect_error_line '^suite: tests.bats:1: invalid test'
	done
	for use in a,b A 'a b' ''; do
		rejected 'suite: tests.bats:1: invalid tag (valid: # bats test_tags=TAG)' <<<"TAG $use"
	done
	rejected 'suite: tests.bats:1: invalid tag' <<<'# bats file_tags=a'
	rejected 'suite: tests.bats:2: a tag precedes no test' <<<$'TAG a\n\nTEST "it has no tag" {\n}'
	rejected 'suite: tests.bats:3: a second test with this sentence' <<<$'TEST "it runs" {\n}\nTEST "it runs" {\n}'
	rejected 'suite: tests.bats:0: an empty file is among these' </dev/null
	for use in '$'BATS_RUN_TMPDIR '${#'BATS_TEST_NAME} '${'BATS_TEST_TMPDIRS:-}; do
		rejected $'suite: unknown variables of bats:\ntests.bats:2:' <<<$'TEST "it uses" {\n\techo '"$use"$'\n}'
	done
	for use in setup_suite teardown_suite teardown_file; do
		rejected "suite: tests.bats: unknown function: $use" <<<"$use() { :; }"$'\nTEST "it runs" {\n\t:\n}'
	done
	rejected 'BATS_TEST_NUMBER: unbound variable' <<<$'number=$BATS_TEST_NUMBER\nTEST "it runs" {\n\t:\n}'
	echo 'echo "$'BATS_TEST_NAME'"' >shared.bash
	rejected $'suite: unknown variables of bats:\n'"$PWD/shared.bash:1:" <<<$'load shared\nTEST "it runs" {\n\t:\n}'
	rejected 'bats_load_library: command not found' <<<$'bats_load_library none\nTEST "it runs" {\n\t:\n}'
}

@test "what a test of the suite calls with run sees the variables of the test" {
	cd "$BATS_TEST_TMPDIR"
	write_tests <<-'END'
		TEST "it sees them" {
			local expected=a errors=b options=c
			show() { echo "$expected$errors$options"; }
			run -0 --separate-stderr show
			[ "$output" = abc ]
		}
	END
	observe "$root/tests/guest/suite" tests.bats
	expect_output $'1..1\nok 1 it sees them'
}

# support_with SCRIPT: tools/kernel-support where this script is tools/guest.
support_with() {
	mkdir -p tree/tools tree/docs build
	cp "$root/tools/kernel-support" "$root/tools/guest_kernels.py" tree/tools/
	printf '#!/bin/sh\n%s\n' "$1" >tree/tools/guest
	chmod +x tree/tools/guest
	observe env BUILD="$PWD/build" tree/tools/kernel-support
	expect_status 1
	[ ! -e tree/docs/kernel-support.md ]
}

@test "a table of kernels that cannot be written is reported with the kernel and the reason" {
	cd "$BATS_TEST_TMPDIR"
	support_with 'exit 0'
	expect_error "kernel-support: there is no $PWD/build/gputap: build it (tools/build build), or set BUILD"
	touch build/gputap
	chmod +x build/gputap
	support_with 'echo "guest: no network" >&2; exit 77'
	expect_error $'guest: no network\nkernel-support: Linux 6.1: this machine cannot run the guest (its messages are above)'
	support_with 'exit 124'
	expect_error "kernel-support: Linux 6.1: the guest exceeded its time limit (its messages are above)"
	support_with 'echo "half a report"; exit 3'
	expect_error "kernel-support: Linux 6.1: exit status 3 of the guest's command, after the output: half a report (its messages are above)"
	support_with 'echo; echo "no JSON"'
	expect_error_line '^kernel-support: Linux 6\.1: gputap doctor printed no report \(JSONDecodeError.*\): no JSON$'
	support_with 'echo; echo "{\"examinations\": []}"'
	expect_error_line '^kernel-support: Linux 6\.1: gputap doctor reports no kernel: '
}

@test "what the tests observe is what run would set, in bats and in the suite, and is no failure" {
	local output_of_both
	cd "$BATS_TEST_TMPDIR"
	ln -s "$root/tests/cli/helper.bash" helper.bash
	write_tests <<-'END'
		load helper
		TEST "it observes" {
			command=(sh -c 'echo; echo one; echo; echo " two "; echo " three" >&2; echo >&2; exit 3')
			observe "${command[@]}"
			declare -p status output lines stderr stderr_lines >observed
			run --separate-stderr "${command[@]}"
			declare -p status output lines stderr stderr_lines >expected
			diff expected observed
		}
		TEST "it fails after it has observed a failure" {
			observe sh -c 'exit 3'
			[ "$status" = 4 ]
		}
	END
	observe env -u BATS_TEST_FILTER bats --formatter tap tests.bats
	output_of_both=$output
	observe "$root/tests/guest/suite" tests.bats
	output=$output_of_both$'\n'$output
	[ "$(grep -cE '^ok 1 it observes' <<<"$output")" = 2 ] || fail "it observes something else"
	[ "$(grep -cF '`[ "$status" = 4 ]'"' failed" <<<"$output")" = 2 ] || fail "another command failed"
}
