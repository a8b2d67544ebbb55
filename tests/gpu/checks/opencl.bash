# shellcheck shell=bash disable=SC2034,SC2154 # what tests/gpu/run sets and uses
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# OpenCL programs. The bundle brings the loader, and the name of NVIDIA's library for machines whose
# system has no vendors.

# with_opencl COMMAND…: with a loader and vendors, the system's or those of the bundle.
with_opencl() {
	local loader=$here/lib/opencl vendors=()
	! ldconfig -p | grep -q 'libOpenCL\.so\.1 ' || loader=
	[ -n "$(ls /etc/OpenCL/vendors 2>/dev/null)" ] || vendors=("OCL_ICD_VENDORS=$here/lib/opencl/vendors")
	env ${loader:+"LD_LIBRARY_PATH=$loader${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"} "${vendors[@]}" "$@"
}

# opencl_calls METHOD: the calls of a program that adds vectors.
opencl_calls() {
	local calls expected='3 clCreateBuffer 1 clEnqueueNDRangeKernel 1 clEnqueueReadBuffer 2 clEnqueueWriteBuffer'
	with_opencl "$gputap" trace --via "$1" -o "$work/calls" -- "$programs/opencl-vectoradd" \
		>"$work/with" 2>"$work/with-error" || return
	calls=$(awk '/\[EXIT\]/ { print $4 }' "$work/calls" |
		grep -E '^cl(CreateBuffer|Enqueue(NDRangeKernel|ReadBuffer|WriteBuffer))$' | sort | uniq -c | xargs)
	echo "$calls"
	[ "$calls" = "$expected" ]
}

# The device may take no SPIR-V, or there is no compiler to SPIR-V: then its program is as it was.
opencl_same_results() {
	local status program=$1
	with_opencl "$programs/$program" >"$work/plain" 2>"$work/plain-error"
	status=$?
	with_opencl "$gputap" run "$objects/sites.bpf.o" -- "$programs/$program" >"$work/with" \
		2>"$work/with-error"
	[ $? = $status ] && head -n "$(wc -l <"$work/plain")" "$work/with" | cmp -s - "$work/plain" || {
		echo "it prints something else: $(tail -n 1 "$work/with-error")"
		return 1
	}
	grep -oE '[0-9]+ modules?: .*' "$work/with-error" | tail -n 1 | grep .
}

check_opencl_programs() {
	local names=('OpenCL: calls seen by the agent' 'OpenCL: calls seen by the kernel'
		'OpenCL: results of vectoradd' 'OpenCL: results of reduce') reason=
	if [ ! -e "$programs/opencl-vectoradd" ]; then
		reason='the bundle was packed without OpenCL'
	elif ! with_opencl "$programs/opencl-vectoradd" >/dev/null 2>"$work/error"; then
		reason="there is no device that works: $(tail -n 1 "$work/error")"
	fi
	if [ -n "$reason" ]; then
		for name in "${names[@]}"; do
			skip "$name" "$reason"
		done
		return
	fi
	check "${names[0]}" opencl_calls agent
	if grep -q 'no privilege to load BPF' "$work/privileges"; then
		skip "${names[1]}" 'needs root, or CAP_BPF and CAP_PERFMON'
	else
		check "${names[1]}" opencl_calls kernel
	fi
	check "${names[2]}" opencl_same_results opencl-vectoradd
	check "${names[3]}" opencl_same_results opencl-reduce
}
