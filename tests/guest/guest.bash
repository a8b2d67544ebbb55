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

# expect_ledger FILTER: a question about the ledgers whose answer is true.
expect_ledger() {
	"$fire" ledger >"$BATS_TEST_TMPDIR/ledger.json"
	jq --exit-status "$1" "$BATS_TEST_TMPDIR/ledger.json" >/dev/null ||
		fail "not true of the ledger: $1: $(cat "$BATS_TEST_TMPDIR/ledger.json")"
}
