/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What standard output receives of a command, write by write: each is a message of a socket. */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cli/cli.h"
#include "tap.h"

enum { LINES = 3000, LIMIT = 4096 };

/* A child prints with `print`, its standard output being a socket. */
static int begin_printing(void (*print)(void), pid_t *ret_child)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	fflush(stdout);
	*ret_child = fork();
	if (!*ret_child) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		if (gt_cli_begin_output())
			_exit(99);
		print();
		_exit(gt_cli_finish_output(7));
	}
	close(ends[1]);
	return ends[0];
}

/* Receive all writes. `see` gets each; `all` is what they add up to. */
static void receive(void (*print)(void), void (*see)(const char *data, size_t size),
		    struct gt_strbuf *all)
{
	static char message[1 << 20];
	int status = 0;
	pid_t child = -1;
	int socket = begin_printing(print, &child);
	ssize_t size;

	CHECK(socket >= 0 && child > 0);
	while ((size = recv(socket, message, sizeof(message), 0)) > 0) {
		if (see)
			see(message, (size_t)size);
		gt_strbuf_add(all, message, (size_t)size);
	}
	close(socket);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 7);
}

static size_t writes;

static void see_whole_lines(const char *data, size_t size)
{
	writes++;
	CHECK(data[size - 1] == '\n');
	CHECK(size <= LIMIT);
}

static void see_any(const char *data, size_t size)
{
	(void)data;
	(void)size;
	writes++;
}

static void put_lines(struct gt_strbuf *text)
{
	for (int i = 0; i < LINES; i++)
		gt_strbuf_printf(text, "{\"line\":%d,\"more\":\"%.*s\"}\n", i, i % 61,
				 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi");
}

static void print_by_words(void)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_lines(&text);
	for (char *word = strtok(text.data, ","); word; word = strtok(NULL, ","))
		printf("%s%s", word == text.data ? "" : ",", word);
}

static void print_as_block(void)
{
	gt_auto_strbuf text = GT_STRBUF_INIT;

	put_lines(&text);
	fputs(gt_strbuf_string(&text), stdout);
	gt_cli_flush_output();
}

TEST("standard output receives whole lines, however they are printed")
{
	void (*const printers[])(void) = {print_by_words, print_as_block};
	gt_auto_strbuf expected = GT_STRBUF_INIT;

	put_lines(&expected);
	for (size_t i = 0; i < gt_countof(printers); i++) {
		gt_auto_strbuf all = GT_STRBUF_INIT;

		writes = 0;
		receive(printers[i], see_whole_lines, &all);
		CHECK_STR(gt_strbuf_string(&all), expected.data);
		CHECK(writes > expected.length / LIMIT);
		CHECK(writes < expected.length / LIMIT * 2);
	}
}

static void print_parts(void)
{
	fputs("whole\nfirst half, ", stdout);
	fflush(stdout);
	puts("second half");
	fputs("a question? ", stdout);
	gt_cli_flush_output();
	fputs("no end", stdout);
}

static struct gt_strbuf messages;

static void keep_message(const char *data, size_t size)
{
	gt_strbuf_add(&messages, data, size);
	gt_strbuf_putc(&messages, '|');
}

TEST("a line without an end is written when the output is flushed, and at the end")
{
	gt_auto_strbuf all = GT_STRBUF_INIT;

	receive(print_parts, keep_message, &all);
	CHECK_STR(gt_strbuf_string(&messages),
		  "whole\n|first half, second half\n|a question? |no end|");
	gt_strbuf_free(&messages);
}

enum { LONG_LINE = 30000, ENDLESS_LINE = 300000 };

static void print_long_line(void)
{
	for (int i = 0; i < LONG_LINE; i++)
		putchar('x');
	putchar('\n');
}

static void print_bytes(void)
{
	for (int i = 0; i < ENDLESS_LINE; i++)
		putchar(i % 251 == '\n' ? 'n' : i % 251);
}

TEST("a line that is longer than a buffer is written at once, an endless one in pieces")
{
	gt_auto_strbuf line = GT_STRBUF_INIT, bytes = GT_STRBUF_INIT;
	bool same = true;

	writes = 0;
	receive(print_long_line, see_any, &line);
	CHECK_INT(writes, 1);
	CHECK_INT(line.length, LONG_LINE + 1);
	writes = 0;
	receive(print_bytes, see_any, &bytes);
	CHECK(writes > 1);
	CHECK_INT(bytes.length, ENDLESS_LINE);
	for (size_t i = 0; i < bytes.length; i++)
		same &= bytes.data[i] == (char)(i % 251 == '\n' ? 'n' : i % 251);
	CHECK(same);
}

TEST_MAIN
