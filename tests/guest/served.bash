# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# In a guest: programs that the machine which emulates it executes (tools/guest --serve), as functions of the
# same names. A file that an argument names is copied; without one, standard input is.

served=/run/guest/served
# Nothing is ever read from it: a pause that needs no process.
exec {never}<> <(:)

# served_call PROGRAM ARGUMENT…
served_call() {
	local call=$served/$BASHPID.$EPOCHREALTIME number file='' text
	for ((number = 2; number <= $#; number++)); do
		[ -f "${!number}" ] || continue
		file=$call.$((number - 1))
		command cat "${!number}" >"$file"
	done
	[ -n "$file" ] || command cat >"$call.input"
	printf '%s\0' "$@" >"$call.words"
	: >"$served/calls/${call##*/}"
	until [ -e "$call.status" ]; do
		read -rt 0.01 <&"$never" || :
	done
	mapfile -d '' -t text <"$call.output"
	printf %s "${text[@]}"
	mapfile -d '' -t text <"$call.error"
	printf %s "${text[@]}" >&2
	return "$(<"$call.status")"
}

define_served() {
	local program
	while read -r program; do
		eval "$program() { served_call $program \"\$@\"; }"
	done <$served/programs
}

[ ! -e $served/programs ] || define_served
