# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # what the tests use; of tests/cli/helper.bash
#
# What tests share that fire events of tests/guest/modules. Load it after helper and tracing.

fire=$build/tests/guest/fire

# need_modules NAME…: load modules, with empty ledgers; skip outside of a guest.
need_modules() {
	local name
	[ -e /run/guest/run ] || skip "needs a guest: tests/guest/run"
	[ -e "/lib/modules/$(uname -r)/extra/$1.ko" ] ||
		skip "the modules of tests/guest/modules do not build for this kernel"
	for name in "$@"; do
		modprobe "$name" || fail "$name cannot be loaded: $(dmesg | tail -n 5)"
	done
	"$fire" reset
}

# as_under_6_12: skip a test under Linux 7 of which gputap's code is the same there as under Linux 6.12, where it
# runs: an emulated machine is slow. With GPUTAP_TEST_ALL it runs.
as_under_6_12() {
	local release
	read -r release </proc/sys/kernel/osrelease
	[ "${release%%.*}" -lt 7 ] || [ -n "${GPUTAP_TEST_ALL:-}" ] ||
		skip "gputap's code is the same as under Linux 6.12"
}

# first_false DEFINITIONS OPTION… -- FILTER…: print the first of these filters of jq that is not true,
# nothing if all are. One jq runs all of them, since each takes long to start in a guest.
first_false() {
	local definitions=$1 options=() list number
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	printf -v list '[(%s)],' "$@"
	number=$(jq "$definitions [${list%,}] | map(.[-1] // false) | index(false)" "${options[@]}") || {
		echo "jq fails on one of: $*"
		return
	}
	[ "$number" = null ] || echo "${*:number+1:1}"
}

# expect_ledger FILTER…: questions about the ledgers whose answers are true.
expect_ledger() {
	local ledger=$BATS_TEST_TMPDIR/ledger.json failed
	"$fire" ledger >"$ledger"
	failed=$(first_false '. |' "$ledger" -- "$@")
	[ -z "$failed" ] || fail "not true of the ledger: $failed: $(cat "$ledger")"
}
