/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program with an interpreter in a library, as CPython's own may be. */
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
