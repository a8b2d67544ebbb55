# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# TAP for the checks that are shell scripts: `check SENTENCE COMMAND…` for each, `plan` at the end.

# The tree may belong to another user, root in a container for example.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'

tap_number=0
tap_failures=0

# The test passes if the command does; the output of a failing one is shown.
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

# skip SENTENCE REASON: a test that cannot run here.
skip() {
	tap_number=$((tap_number + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_number" "$1" "$2"
}

# check_with COMMAND SENTENCE ARGUMENT…: as check, or a skip where the command does not exist.
check_with() {
	local tool=$1
	shift
	if command -v "$tool" >/dev/null; then
		check "$@"
	else
		skip "$1" "$tool is not installed; \`make deps\` installs it"
	fi
}

plan() {
	printf '1..%d\n' "$tap_number"
	exit $((tap_failures > 0))
}

# For checks of tracked files.
need_git() {
	git rev-parse --git-dir >/dev/null 2>&1 || {
		echo '1..0 # SKIP this is not a git checkout, so no file is known to be tracked'
		exit
	}
}

# For a command that lists findings: fails if it printed anything.
prints_nothing() {
	local output
	output=$("$@") || [ $? -eq 1 ] || return
	[ -z "$output" ] || {
		printf '%s\n' "$output"
		return 1
	}
}
