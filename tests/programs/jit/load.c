/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* load METHOD FILE: loads an image that a compiler wrote, and runs its kernel `add`. */
#include "run.h"

int main(int count, char **words)
{
	if (count != 3)
		return 2;
	start_cuda();
	run_add(load_path(words[1], words[2], "add"));
	return 0;
}
