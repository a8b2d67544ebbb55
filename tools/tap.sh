# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# TAP for the checks that are shell scripts: `check SENTENCE COMMAND…` for each, `plan` at the end.

# The tree may belong to another user than the one who checks it: root in a container, say.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'

tap_number=0
tap_failures=0

# The test passes if the command does; what a failing one printed is shown.
check() {
	local sentence=$1 output
	shift
	tap_number=$((tap_number + 1))
	if output=$("$@" 2>&1 </dev/null); then
		printf 'ok %d - %s\n' "$tap_number" "$sentence"
	else
		tap_failures=$((tap_failures + 1))
		sed 's/^/# /' <<<"$output"
		printf 'not ok %d - %s\n' "$tap_number" "$sentence"
	fi
}

# check_with COMMAND SENTENCE ARGUMENT…: as check, or a skip where the command does not exist.
check_with() {
	local tool=$1
	shift
	if command -v "$tool" >/dev/null; then
		check "$@"
	else
		tap_number=$((tap_number + 1))
		printf 'ok %d - %s # SKIP %s is not installed; `make deps` installs it\n' \
			"$tap_number" "$1" "$tool"
	fi
}

plan() {
	printf '1..%d\n' "$tap_number"
	exit $((tap_failures > 0))
}

# For checks of tracked files.
need_git() {
	git rev-parse --git-dir >/dev/null 2>&1 || {
		echo '1..0 # SKIP this is no git checkout, so no file is known to be tracked'
		exit
	}
}

# For a command that lists what is wrong: fails if it printed anything.
prints_nothing() {
	local output
	output=$("$@") || [ $? -eq 1 ] || return
	[ -z "$output" ] || {
		printf '%s\n' "$output"
		return 1
	}
}
