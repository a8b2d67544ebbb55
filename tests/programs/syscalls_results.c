/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* System calls of syscalls.c whose results are structures: addresses, options, sets, times. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "syscalls.h"

/* Addresses that calls return, with room for less, as much and more. */
static void use_addresses(void)
{
	struct sockaddr_un local = {AF_UNIX, "results.socket"}, other;
	socklen_t size = sizeof(other), small = 4, none = 0;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	int accepted;

	(void)bind(listener, (void *)&local, sizeof(local));
	listen(listener, 1);
	(void)connect(client, (void *)&local, sizeof(local));
	accepted = accept4(listener, (void *)&other, &size, SOCK_CLOEXEC);
	getsockname(accepted, (void *)&other, &size);
	size = sizeof(other);
	getpeername(client, (void *)&other, &size);
	getpeername(client, (void *)&other, &size);
	getsockname(accepted, (void *)&other, &small);
	getsockname(accepted, (void *)&other, &none);
	getsockname(accepted, NULL, NULL);
	getsockname(accepted, (void *)&other, (void *)8);
	getpeername(listener, (void *)&other, &size);
	(void)connect(accepted, (void *)&local, sizeof(local));
	close(client);
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	(void)connect(client, (void *)&local, sizeof(local));
	accept(listener, NULL, NULL);
	unlink("results.socket");
}

static void use_datagrams(void)
{
	struct sockaddr_un address = {AF_UNIX, "datagrams.socket"}, sender;
	struct sockaddr_storage unbound;
	socklen_t size = sizeof(sender);
	char text[8];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), nameless = socket(AF_UNIX, SOCK_DGRAM, 0);
	int inet = socket(AF_INET, SOCK_DGRAM, 0), inet6 = socket(AF_INET6, SOCK_DGRAM, 0);

	(void)bind(fd, (void *)&address, sizeof(address));
	sendto(fd, "datagram", 8, 0, (void *)&address, sizeof(address));
	recvfrom(fd, text, sizeof(text), 0, (void *)&sender, &size);
	sendto(fd, "again", 5, 0, (void *)&address, sizeof(address));
	recvfrom(fd, text, sizeof(text), 0, (void *)&sender, &size);
	sendto(nameless, "more", 4, 0, (void *)&address, sizeof(address));
	size = 100;
	recvfrom(fd, text, sizeof(text), 0, (void *)&sender, &size);
	recvfrom(fd, text, sizeof(text), MSG_DONTWAIT, (void *)&sender, &size);
	size = sizeof(unbound);
	getsockname(inet, (void *)&unbound, &size);
	size = sizeof(unbound);
	getsockname(inet6, (void *)&unbound, &size);
	unlink("datagrams.socket");
	close(fd);
	close(nameless);
	close(inet);
	close(inet6);
}

static void use_options(void)
{
	struct linger linger = {1, 30};
	struct timeval limit = {1, 500000};
	struct ucred credentials;
	socklen_t size = sizeof(int);
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2], value = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof(value));
	setsockopt(fd, IPPROTO_IP, IP_TTL, &value, sizeof(value));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &value, sizeof(value));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, (void *)8, sizeof(value));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, NULL, 0);
	getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, &size);
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &size);
	getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size);
	size = sizeof(linger);
	getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size);
	size = sizeof(limit);
	getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size);
	getsockopt(-1, SOL_SOCKET, SO_ERROR, &value, &size);
	close(fd);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	size = sizeof(credentials);
	getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &credentials, &size);
	close(pair[0]);
	close(pair[1]);
}

static void use_credential_messages(void)
{
	struct ucred own = {getpid(), getuid(), getgid()};
	char data = 'x', control[64];
	struct iovec vector = {&data, 1};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control};
	struct cmsghdr *header = (struct cmsghdr *)control;
	int pair[2], one = 1;

	memset(control, 0, sizeof(control));
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	*header = (struct cmsghdr){CMSG_LEN(sizeof(own)), SOL_SOCKET, SCM_CREDENTIALS};
	memcpy(CMSG_DATA(header), &own, sizeof(own));
	message.msg_controllen = CMSG_SPACE(sizeof(own));
	sendmsg(pair[0], &message, 0);
	message.msg_controllen = sizeof(control);
	(void)recvmsg(pair[1], &message, 0);
	close(pair[0]);
	close(pair[1]);
}

static void use_sets(void)
{
	struct timeval limit = {60, 0}, none = {0, 0};
	struct timespec nanoseconds = {60, 0}, nothing = {0, 0};
	sigset_t signals;
	fd_set reads, writes, exceptions;
	int ends[2];

	pipe(ends);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	FD_ZERO(&reads);
	FD_ZERO(&writes);
	FD_ZERO(&exceptions);
	FD_SET(ends[0], &reads);
	FD_SET(ends[1], &writes);
	syscall(SYS_select, ends[1] + 1, &reads, &writes, NULL, &limit);
	FD_SET(ends[0], &reads);
	syscall(SYS_select, ends[0] + 1, &reads, NULL, NULL, &none);
	FD_SET(ends[0], &reads);
	write(ends[1], "x", 1);
	pselect(ends[1] + 1, &reads, &writes, &exceptions, &nanoseconds, &signals);
	FD_ZERO(&reads);
	FD_SET(ends[0], &reads);
	select(ends[0] + 1, &reads, NULL, NULL, NULL);
	pselect(0, NULL, NULL, NULL, &nothing, NULL);
	FD_SET(ends[0], &reads);
	close(ends[0]);
	syscall(SYS_select, ends[0] + 1, &reads, NULL, NULL, &none);
	syscall(SYS_select, ends[0] + 1, 8, NULL, NULL, &none);
	syscall(SYS_select, -1, &reads, NULL, NULL, &none);
	close(ends[1]);
}

static void use_timers(void)
{
	struct itimerspec timer = {{0, 0}, {1000, 500}}, past = {{0, 0}, {1, 500}}, old;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	timerfd_settime(fd, 0, &timer, NULL);
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &past, &old);
	timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &past, NULL);
	timerfd_gettime(fd, &old);
	timerfd_settime(fd, 0, (void *)8, NULL);
	timerfd_gettime(-1, &old);
	close(fd);
}

static void use_usage(void)
{
	struct rusage usage;
	struct sched_param parameters = {0};
	char buffer[4096];
	DIR *here = opendir(".");

	getrusage(RUSAGE_SELF, &usage);
	getrusage(RUSAGE_CHILDREN, &usage);
	getrusage(77, &usage);
	if (!fork())
		_exit(0);
	wait4(-1, NULL, 0, &usage);
	syscall(SYS_getdents64, dirfd(here), buffer, sizeof(buffer));
	syscall(SYS_getdents64, dirfd(here), buffer, sizeof(buffer));
	syscall(SYS_getdents64, -1, buffer, sizeof(buffer));
	closedir(here);
	syscall(SYS_sched_getparam, 0, &parameters);
	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &parameters);
	syscall(SYS_gettimeofday, NULL, NULL);
}

static void use_open_how(void)
{
	struct open_how how = {.flags = O_RDWR | O_CREAT | O_CLOEXEC,
			       .mode = 0640,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

	syscall(SYS_openat2, AT_FDCWD, "how", &how, sizeof(how));
	how = (struct open_how){.flags = O_PATH};
	syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));
	how.resolve = 0x1000;
	syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));
	syscall(SYS_openat2, AT_FDCWD, ".", &how, 8);
	syscall(SYS_openat2, AT_FDCWD, ".", NULL, sizeof(how));
}

static void use_attributes(void)
{
	char value[64];
	int fd = open("how", O_RDONLY);

	setxattr("how", "user.one", "some value", 10, XATTR_CREATE);
	fsetxattr(fd, "user.two", "a value of more than thirty-two bytes", 37, 0);
	lsetxattr("missing", "user.one", "", 0, XATTR_CREATE | XATTR_REPLACE);
	getxattr("how", "user.one", value, sizeof(value));
	getxattr("how", "user.one", value, 4);
	getxattr("how", "user.one", NULL, 0);
	lgetxattr("how", "user.three", value, sizeof(value));
	fgetxattr(fd, "user.two", value, sizeof(value));
	listxattr("how", value, sizeof(value));
	llistxattr("missing", value, sizeof(value));
	flistxattr(fd, NULL, 0);
	removexattr("how", "user.one");
	lremovexattr("how", "user.one");
	fremovexattr(fd, "user.two");
	close(fd);
	unlink("how");
}

static void use_child_states(void)
{
	struct rusage usage;
	siginfo_t state;
	int pair[2];
	pid_t child = fork();

	if (!child)
		_exit(3);
	waitid(P_PID, child, &state, WEXITED);
	pipe(pair);
	child = fork();
	if (!child) {
		close(pair[1]);
		read(pair[0], &state, 1); /* until the parent closes it */
		syscall(SYS_tgkill, getpid(), gettid(), SIGKILL);
	}
	close(pair[0]);
	waitid(P_ALL, 0, &state, WEXITED | WNOHANG);
	close(pair[1]);
	waitid(P_PID, child, &state, WEXITED | WNOWAIT);
	syscall(SYS_waitid, P_PID, child, NULL, WEXITED, &usage);
	waitid(P_PGID, 77, &state, WEXITED | WSTOPPED);
	syscall(SYS_waitid, 9, 0, &state, WEXITED, NULL);
}

static void use_times(void)
{
	struct timezone zone;
	struct timeval now;
	struct tms times;

	syscall(SYS_times, &times);
	syscall(SYS_times, NULL);
	syscall(SYS_gettimeofday, &now, &zone);
	syscall(SYS_gettimeofday, &now, NULL);
}

void use_results(void)
{
	use_addresses();
	use_datagrams();
	use_options();
	use_credential_messages();
	use_sets();
	use_timers();
	use_usage();
	use_open_how();
	use_attributes();
	use_child_states();
	use_times();
}
