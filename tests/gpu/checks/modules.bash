# shellcheck shell=bash disable=SC2034,SC2154 # what tests/gpu/run sets and uses
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Side modules, modules that the driver rejects, registers of patched kernels, and what the agent costs where nothing matches.

# Scenarios of tests/programs/side.c with the sum of their counts, and how many modules have a match.
side_modules() {
	local scenario count modules
	while read -r scenario count modules; do
		"$gputap" run --gpu "$gpu" --json "$objects/side.bpf.o" -- "$programs/side" "$scenario" \
			>"$work/with" 2>"$work/with-error" || {
			echo "$scenario: $(tail -n 1 "$work/with-error")"
			return 1
		}
		grep '^{' "$work/with" >"$work/json"
		grep -q "^$scenario: right$" "$work/with" && [ "$(values counts)" = "$count" ] &&
			grep -q "$modules patched ($modules side, 0 whole)" "$work/with-error" || {
			echo "$scenario: $(values counts), not $count; $(tail -n 1 "$work/with-error")"
			return 1
		}
	done <<-END
		module 64 1
		library 128 1
		origins 256 8
		options 64 2
	END
	echo "4 scenarios; the last: $(grep -oE '[0-9]+ modules?: .*' "$work/with-error" | tail -n 1)"
}

# The driver's library.
driver_file() {
	if [ "$gpu" = soft ]; then
		realpath "$here/lib/gputap/softgpu/libcuda.so.1"
	else
		ldconfig -p | awk '/libcuda\.so\.1 .*x86-64/ { print $NF; exit }' | xargs -r realpath
	fi
}

# Where the driver rejects the patched module (reject.c), the original is loaded.
rejected_modules() {
	local scenario reason='1 module loaded as it is: the driver rejected the patched module (218)'
	mkdir -p "$work/reject"
	cp "$here/lib/reject/libcuda.so.1" "$work/reject/"
	ln -sf "$(driver_file)" "$work/reject/driver"
	for scenario in module library; do
		"$gputap" run --gpu "$gpu" --json "$objects/side.bpf.o" -- \
			env "LD_LIBRARY_PATH=$work/reject" "$programs/side" $scenario >"$work/with" \
			2>"$work/with-error" || return
		grep '^{' "$work/with" >"$work/json"
		grep -q "^$scenario: right$" "$work/with" && [ -z "$(values counts)" ] &&
			grep -qF "$reason" "$work/with-error" || {
			echo "$scenario: $(tail -n 1 "$work/with-error")"
			return 1
		}
	done
	echo "$reason"
}

# Threads of the largest block that there is have 64 registers, nearly all of which a kernel of
# tests/programs/side.c needs; with the tool it needs more. Without a limit its launches fail (701).
large_blocks() {
	"$gputap" memtrace --gpu "$gpu" -- "$programs/side" values >"$work/with" 2>"$work/with-error" ||
		return
	grep -q '^values: right$' "$work/with" && grep -q ' 2 patched' "$work/with-error" || {
		grep '^line' "$work/with" || tail -n 1 "$work/with-error"
		return 1
	}
	grep -oE '[0-9]+ modules?: .*' "$work/with-error" | tail -n 1
}

# costs_of COMMAND…: the median of five runs with the agent and its collector, and without it. Both
# come from one session, whose start would be counted else.
costs_of() {
	"$gputap" run --gpu "$gpu" "$objects/side.bpf.o" -- "$here/checks/pairs" 5 "$@" >"$work/with" \
		2>"$work/with-error" || return
	grep -E '^[0-9.]+ ms, [0-9.]+ ms$' "$work/with"
}

agent_costs() {
	local start load kernels=100
	[ "$gpu" = nvidia ] || kernels=2
	start=$(costs_of "$programs/vectoradd") || return
	load=$(costs_of --printed "$programs/largemodule" $kernels) || return
	echo "vectoradd: $start; a module of $((kernels * 1000)) lines: $load (with, without)"
}
