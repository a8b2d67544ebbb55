# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# gputap doctor.

load helper

# Examines the machine once for all tests of the same output.
setup_file() {
	local options
	for options in '' --json; do
		local status=0 file=$BATS_FILE_TMPDIR/doctor$options
		# shellcheck disable=SC2086 # none, or one word
		"$build/gputap" doctor $options >"$file" 2>"$file.errors" || status=$?
		echo "$status" >"$file.status"
	done
}

# examined [--json]: what `gputap doctor` printed in setup_file.
examined() {
	local file=$BATS_FILE_TMPDIR/doctor${1:-}
	observe cat "$file"
	stderr=$(cat "$file.errors")
	status=$(cat "$file.status")
}

@test "doctor has a verdict on the kernel, BTF, BPF, libraries, privileges, GPUs and sources" {
	examined
	for thing in kernel BTF privileges BPF uprobe_multi 'library watch' 'library hold' 'NVIDIA driver' 'software GPU' OpenCL HIP 'Level Zero' \
		'source cuda' 'source process'; do
		expect_output_line "^(ok     |missing|broken )  $thing +[A-Za-z/]"
	done
	expect_error ""
}

@test "doctor succeeds where probes can be attached" {
	need_probes
	examined
	expect_status 0
	expect_no_output_line '^broken'
	expect_output_line '^ok       BPF              programs can be loaded$'
}

@test "doctor loads the programs of calls once for all of their sources" {
	need_probes
	need_command strace
	strace -e trace=bpf -o "$BATS_TEST_TMPDIR/calls" "$build/gputap" doctor >/dev/null
	[ "$(grep -c 'BPF_PROG_LOAD.*prog_name="call_entry"' "$BATS_TEST_TMPDIR/calls")" = 1 ]
}

@test "doctor --json is one object with the documented keys" {
	examined --json
	[ "${#lines[@]}" = 1 ]
	expect_json '.[0] | keys_unsorted == ["schema", "examinations", "verdict"]'
	expect_json '.[0].schema == "gputap.doctor.1"'
	expect_json '.[0].examinations | all(keys_unsorted == ["name", "verdict", "text", "without"])'
	expect_json '.[0].examinations | all(.verdict | IN("ok", "missing", "broken"))'
	expect_json '.[0].examinations | length >= 10'
}

@test "doctor says the same in JSON as in lines" {
	examined
	printed_lines=$output
	examined --json
	[ "$(jq -r '.examinations[] | "\(.verdict) \(.name) \(.text)\(if .without == "" then "" else "; \(.without)" end)"' <<<"$output")" = \
		"$(sed -E 's/ {2,}/ /g' <<<"$printed_lines")" ]
}

@test "without privileges doctor fails and says what to do" {
	need_root
	need_command setpriv
	# Where others may not look, the program is handed over as an open file.
	observe setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
		/proc/self/fd/9 doctor 9<"$build/gputap"
	expect_status 1
	expect_output_line "^broken   privileges       neither root nor CAP_BPF with CAP_PERFMON: only captures can be shown; use sudo, or 'setcap cap_bpf,cap_perfmon,cap_sys_ptrace\+ep' on gputap$"
	expect_output_line '^broken   BPF              no privilege to load BPF programs: run as root \(sudo\), or give gputap CAP_BPF and CAP_PERFMON$'
	expect_output_line '^broken   source cuda      for the same reason as BPF$'
	[ "$(grep -c 'no privilege to load BPF programs' <<<"$output")" = 1 ]
}

@test "doctor says what cannot be traced without CAP_SYS_PTRACE" {
	need_root
	need_command setpriv
	observe setpriv --inh-caps=-all --bounding-set=-all,+bpf,+perfmon "$build/gputap" doctor
	expect_output_line '^missing  privileges       CAP_BPF and CAP_PERFMON without CAP_SYS_PTRACE: processes of other users can be traced only where gputap sees their files at the same paths$'
	observe setpriv --inh-caps=-all --bounding-set=-all,+bpf,+perfmon,+sys_ptrace "$build/gputap" doctor
	expect_output_line '^ok       privileges       CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE$'
}

@test "the libraries of the software GPU are looked for where GPUTAP_SOFTGPU says" {
	export GPUTAP_SOFTGPU=$BATS_TEST_TMPDIR
	gputap doctor
	expect_output_line "^missing  software GPU     the software GPU's libraries were not found: build them with 'make', or set GPUTAP_SOFTGPU to their directory$"
	touch "$BATS_TEST_TMPDIR/libcuda.so.1"
	gputap doctor
	expect_output_line "^ok       software GPU     its libraries are in $BATS_TEST_TMPDIR$"
}

@test "doctor rejects arguments" {
	gputap doctor now
	expect_status 2
	expect_error "gputap: unexpected argument 'now' (try 'gputap doctor --help')"
}

@test "without CAP_SYS_ADMIN doctor says that calls into late libraries may be missed" {
	need_root
	need_command setpriv
	observe setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$build/gputap" doctor
	expect_output_line '^missing  library hold     a seccomp filter requires CAP_SYS_ADMIN \(run gputap as root\): the first calls into libraries that a command opens later may be missed, which the totals say$'
}

@test "doctor lists OpenCL's devices and says whether they are hardware" {
	[ -e /etc/OpenCL/vendors/pocl.icd ] || skip "no OpenCL device of the CPU (pocl-opencl-icd)"
	examined
	expect_output_line '^ok       OpenCL           .*Portable Computing Language: .* \(a CPU, no hardware of its own\)'
}

@test "a driver of OpenCL that crashes or hangs does not harm doctor" {
	need_file "$build/tests/programs/vendors/crash" "stand-in for a broken OpenCL"
	LD_LIBRARY_PATH=$build/tests/programs/vendors/crash gputap doctor
	expect_output_line '^missing  OpenCL           libOpenCL.so.1 crashed: Aborted$'
	expect_output_line 'source cuda'
	LD_LIBRARY_PATH=$build/tests/programs/vendors/hang gputap doctor
	expect_output_line '^missing  OpenCL           libOpenCL.so.1 did not answer within 5 s: its driver hangs$'
	expect_output_line 'source cuda'
}

@test "doctor prints the version of HIP and how many devices it has" {
	need_file "$build/tests/programs/vendors/vendors" "stand-in for HIP"
	LD_LIBRARY_PATH=$build/tests/programs/vendors gputap doctor
	expect_output_line '^ok       HIP              HIP 5\.2: 2 devices$'
	# This one of Level Zero does not initialize.
	expect_output_line '^missing  Level Zero       no hardware: zeInit returned 0x78000001 \(an Intel GPU and libze-intel-gpu1 are needed\)$'
}

@test "doctor prints the packaged runtime of HIP, its version and that it has no hardware" {
	command -v python3 >/dev/null || skip "python3 is not installed"
	python3 -c 'import ctypes; ctypes.CDLL("libamdhip64.so.5")' 2>/dev/null || skip "libamdhip64-5 is not installed"
	[ ! -e /dev/kfd ] || skip "there is an AMD GPU"
	examined
	expect_output_line "^missing  HIP              HIP 5\.2: no hardware: hipGetDeviceCount returned 100 \(an AMD GPU and the kernel's amdgpu driver are needed\)$"
}

@test "doctor counts the drivers of Level Zero, with the version of the API" {
	need_file "$build/tests/programs/level_zero/libze_standin.so" "driver of Level Zero for tests"
	python3 -c 'import ctypes; ctypes.CDLL("libze_loader.so.1")' 2>/dev/null || skip "libze1 is not installed"
	ZE_ENABLE_ALT_DRIVERS=$build/tests/programs/level_zero/libze_standin.so gputap doctor
	expect_output_line '^ok       Level Zero       1 driver, the first with version 1\.[0-9]+ of the API$'
}
