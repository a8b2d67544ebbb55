/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls whose arguments strace and gputap are to print alike. Everything that they get is
 * the same in each run (without address space randomization), but for process ids.
 */
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "syscalls.h"

/* Many calls are made to fail. */
static void ignore(long result)
{
}

static void use_descriptors(void)
{
	int fd = creat("made", 0600), sealed = memfd_create("sealed", MFD_ALLOW_SEALING);
	int pair[2], here = open(".", O_RDONLY | O_DIRECTORY);

	syscall(SYS_open, "made", O_RDWR | O_APPEND);
	syscall(SYS_open, "other", O_WRONLY | O_CREAT | O_EXCL | O_SYNC, 0444);
	fsync(fd);
	fdatasync(fd);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
	fallocate(fd, 0, 0, 4096);
	flock(fd, LOCK_UN);
	lseek(fd, 3, SEEK_END);
	lseek(fd, -1, SEEK_CUR);
	lseek(fd, 0, SEEK_DATA);
	lseek(fd, 0, 99);
	fcntl(fd, F_DUPFD, 300);
	fcntl(fd, F_GET_SEALS);
	fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	fcntl(sealed, F_GET_SEALS);
	fcntl(fd, 12345, 6);
	syscall(SYS_pipe, pair);
	fcntl(pair[0], F_SETPIPE_SZ, 8192);
	fcntl(pair[0], F_GETPIPE_SZ);
	dup(fd);
	syscall(SYS_close_range, 200, 400, 0);
	syscall(SYS_close_range, 200, ~0U, CLOSE_RANGE_CLOEXEC);
	fchdir(here);
	fchmod(fd, 0640);
}

static void use_names(void)
{
	struct stat status;
	char buffer[64];

	truncate("made", 10);
	syscall(SYS_stat, "made", &status);
	syscall(SYS_lstat, "missing", &status);
	fstatat(AT_FDCWD, "made", &status, AT_SYMLINK_NOFOLLOW);
	fstatat(0, "", &status, AT_EMPTY_PATH);
	ignore(syscall(SYS_faccessat, AT_FDCWD, "made", R_OK | X_OK));
	ignore(syscall(SYS_faccessat2, 77, "made", F_OK, AT_SYMLINK_NOFOLLOW | AT_EACCESS));
	syscall(SYS_mkdir, "first", 0700);
	mkdirat(AT_FDCWD, "second", 01777);
	syscall(SYS_rmdir, "first");
	unlinkat(AT_FDCWD, "second", AT_REMOVEDIR);
	syscall(SYS_link, "made", "hard");
	symlinkat("made", AT_FDCWD, "soft");
	ignore(syscall(SYS_readlink, "soft", buffer, sizeof(buffer)));
	ignore(readlinkat(AT_FDCWD, "soft", buffer, 3));
	renameat(AT_FDCWD, "hard", AT_FDCWD, "other name");
	syscall(SYS_renameat2, AT_FDCWD, "other name", AT_FDCWD, "soft", RENAME_EXCHANGE);
	syscall(SYS_renameat2, AT_FDCWD, "other name", AT_FDCWD, "soft", RENAME_NOREPLACE);
	syscall(SYS_chmod, "made", 04755);
	fchmodat(AT_FDCWD, "made", 0640, 0);
	ignore((long)getcwd(buffer, 1));
	unlink("other name");
	unlink("soft");
	unlink("made");
	unlink("other");
}

static void use_locks(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = 10, .l_len = 20};

	fcntl(fd, F_SETLK, &lock);
	fcntl(fd, F_GETLK, &lock);
	lock.l_type = F_RDLCK;
	lock.l_pid = 0;
	fcntl(fd, F_OFD_GETLK, &lock);
	lock.l_type = F_UNLCK;
	fcntl(fd, F_OFD_SETLK, &lock);
	fcntl(fd, F_OFD_SETLKW, &lock);
	lock = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_END, .l_start = -1};
	fcntl(fd, F_SETLKW, &lock);
	fcntl(fd, F_GETLK, &lock);
	lock.l_type = 77;
	lock.l_whence = 9;
	fcntl(fd, F_SETLK, &lock);
	fcntl(fd, F_SETLK, NULL);
	fcntl(fd, F_SETLK, 1);
}

static void use_states(void)
{
	int fd = open("states", O_RDWR | O_CREAT, 0600);
	struct utsname name;
	struct sysinfo info;
	struct statfs system;
	struct statx status;

	uname(&name);
	uname(NULL);
	sysinfo(&info);
	statfs("/proc", &system);
	statfs("/dev", &system);
	statfs("missing", &system);
	fstatfs(77, &system);
	write(fd, "states", 6);
	statx(AT_FDCWD, "states", 0, STATX_BASIC_STATS, &status);
	statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_ALL, &status);
	statx(AT_FDCWD, "/dev/null", AT_SYMLINK_NOFOLLOW, STATX_SIZE | STATX_MTIME, &status);
	statx(AT_FDCWD, "missing", AT_STATX_DONT_SYNC, 0, &status);
	statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT, 1 << 20, &status);
	use_locks(fd);
	unlink("states");
}

static void use_files(void)
{
	char buffer[64] = "some text\n\"quoted\" \\ \t\1\0012\377 that is longer than 32 bytes";
	struct iovec vectors[] = {
		{(char *)"one", 3}, {(char *)"two and more", 12}, {(char *)"", 0}};
	struct stat status;
	int pair[2];
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	write(fd, buffer, sizeof(buffer));
	pwrite(fd, "short", 5, 100);
	writev(fd, vectors, 3);
	lseek(fd, 0, SEEK_SET);
	read(fd, buffer, 20);
	pread(fd, buffer, sizeof(buffer), 2);
	lseek(fd, 64, SEEK_SET);
	vectors[0].iov_base = buffer;
	vectors[1].iov_base = buffer + 10;
	readv(fd, vectors, 2);
	fstat(fd, &status);
	stat("/dev/null", &status);
	stat("/tmp", &status);
	stat("missing", &status);
	ftruncate(fd, 4096);
	fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 8192);
	flock(fd, LOCK_EX | LOCK_NB);
	fcntl(fd, F_GETFD);
	fcntl(fd, F_SETFD, 0);
	fcntl(fd, F_GETFD);
	fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK);
	close(fcntl(fd, F_DUPFD_CLOEXEC, 100));
	dup2(fd, 200);
	dup3(fd, 201, O_CLOEXEC);
	close(200);
	close(201);
	pipe2(pair, O_CLOEXEC | O_NONBLOCK);
	read(pair[0], buffer, 4);
	write(pair[1], "", 0);
	close(pair[0]);
	close(pair[1]);
	close(fd);
	close(-1);
	close(12345);
	open("missing", O_WRONLY | O_NOFOLLOW | O_DIRECTORY);
	open("/", O_PATH | O_DIRECTORY);
	open(".", O_TMPFILE | O_RDWR, 0600);
	ignore((long)openat(3, "x", O_RDONLY | O_NONBLOCK | O_NOCTTY));
	open((char *)1, O_RDONLY);
	ignore((long)access("file", R_OK | W_OK));
	ignore((long)access("file", F_OK));
	mkdir("folder", 0755);
	rename("file", "folder/file");
	symlink("target", "link");
	ignore((long)readlink("link", buffer, sizeof(buffer)));
	unlink("link");
	unlink("folder/file");
	rmdir("folder");
	chdir(".");
	umask(022);
}

static void use_ioctl(void)
{
	int null = open("/dev/null", O_RDWR);

	ioctl(null, TCGETS, 0);
	ioctl(null, FIOCLEX);
	ioctl(null, _IOWR('F', 0x2a, char[32]), 0x1000);
	ioctl(-1, _IO('z', 1), 0);
	close(null);
}

static void use_memory(void)
{
	char *memory =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(memory, 4096, PROT_READ);
	mprotect(memory, 4096, PROT_NONE);
	madvise(memory, 8192, MADV_DONTNEED);
	madvise(memory, 8192, MADV_HUGEPAGE);
	madvise(memory, 8192, 77);
	msync(memory, 4096, MS_SYNC);
	memory = mremap(memory, 1 << 20, 1 << 21, MREMAP_MAYMOVE);
	munmap(memory, 1 << 21);
	ignore((long)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE, -1, 0));
	ignore((long)mmap(NULL, 0, PROT_NONE, MAP_PRIVATE, 99, 0));
	munmap((void *)1, 4096);
	brk(NULL);
	syscall(SYS_memfd_create, "a name", 3U);
	syscall(SYS_set_mempolicy, 0, NULL, 0);
	syscall(SYS_mbind, memory, 4096, 2, &(unsigned long){1}, 64, 2);
}

static void use_mappings(void)
{
	const int code = PROT_READ | PROT_EXEC;
	char *memory =
		mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY);

	ignore((long)mmap(memory + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 4096));
	ignore((long)mmap(memory, 4096, code, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 4096));
	ignore((long)mmap(NULL, 1 << 21, PROT_READ,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21 << MAP_HUGE_SHIFT), -1,
			  0));
	ignore((long)mmap(NULL, 4096, PROT_WRITE, MAP_SHARED_VALIDATE | MAP_LOCKED | MAP_STACK, fd,
			  0));
	ignore((long)mmap(NULL, 4096, 0x100 | PROT_READ, MAP_PRIVATE | 0x80000000, fd, 0));
	ignore((long)mremap(memory, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, memory + 8192));
	ignore((long)mremap(memory, 4096, 1 << 30, 0));
	mlock(memory, 4096);
	munlock(memory, 4096);
	pkey_mprotect(memory + 4096, 4096, PROT_READ, -1);
	mprotect(memory + 4096, 4096, PROT_READ | PROT_GROWSDOWN);
	msync(memory + 4096, 4096, MS_ASYNC | MS_INVALIDATE);
	madvise(memory + 4096, 4096, MADV_WILLNEED);
	madvise(memory + 4096, 4096, MADV_DONTFORK);
	munmap(memory, 16384);
	munmap(memory, 0);
	close(fd);
}

static void use_polls(void)
{
	struct pollfd polled = {-1, POLLIN | POLLHUP | POLLERR | POLLNVAL | POLLRDHUP, 0};
	struct timespec short_time = {0, 1000000}, no_time = {0}, invalid_time = {1, -1};
	struct epoll_event events[3] = {{EPOLLIN | EPOLLOUT | EPOLLONESHOT, {.u64 = 1}}};
	int pair[2], epoll = (int)syscall(SYS_epoll_create, 10);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	close(pair[1]);
	poll(NULL, 0, 0);
	syscall(SYS_poll, 8, 1, 0);
	poll(&polled, 1, 1);
	ppoll(&polled, 1, &short_time, &set);
	polled.fd = pair[0];
	poll(&polled, 1, -1);
	ppoll(&polled, 1, NULL, NULL);
	ppoll(&polled, 1, &invalid_time, NULL);
	/* Of no time, the same is left in each run. */
	ppoll(&polled, 1, &no_time, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], events);
	epoll_ctl(epoll, EPOLL_CTL_MOD, pair[0], events);
	epoll_ctl(epoll, 9, pair[0], events);
	epoll_pwait(epoll, events, 3, 0, &set);
	epoll_pwait(epoll, events, 3, 0, NULL);
	epoll_wait(epoll, events, 0, 0);
	syscall(SYS_eventfd, 5);
	timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	timerfd_create(77, 0);
	inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	signalfd(-1, &set, SFD_NONBLOCK);
}

static void use_futexes(void)
{
	const int shifted = FUTEX_OP((FUTEX_OP_XOR | FUTEX_OP_OPARG_SHIFT), 3, FUTEX_OP_CMP_GT, 1);
	struct timespec past = {1, 0};
	int word = 1, other = 2;

	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 0x7fffffff);
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, &past);
	syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 5);
	syscall(SYS_futex, &word, FUTEX_REQUEUE_PRIVATE, 1, 2, &other);
	syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 2, &other, 1);
	syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 2, &other, 7);
	syscall(SYS_futex, &word, FUTEX_WAKE_OP_PRIVATE, 1, 2, &other, 0);
	syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 2, &other, shifted);
	syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 3, &past, &other);
	syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, 2, &other, 7);
	word = (int)gettid();
	syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, &past);
	syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE);
	syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI_PRIVATE);
	syscall(SYS_futex, &word, 99, 1, 2, &other, 3);
	syscall(SYS_futex, 8, FUTEX_WAIT, 1, NULL);
	nanosleep(&(struct timespec){0, 2000000000}, NULL);
	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL);
	syscall(SYS_clock_gettime, 99, &past);
}

static void use_waits(void)
{
	struct pollfd polled[] = {{0, POLLIN | POLLPRI, 0}, {-1, POLLIN, 0}, {1, POLLOUT, 0}};
	struct epoll_event event = {EPOLLIN | EPOLLET, {.u64 = 7}};
	struct timespec short_time = {0, 1000000};
	int events = eventfd(3, EFD_CLOEXEC | EFD_NONBLOCK);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int word = 1;

	polled[0].fd = events;
	poll(polled, 3, 0);
	polled[0].events = POLLPRI;
	poll(polled, 2, 1);
	ppoll(polled, 1, &short_time, NULL);
	epoll_ctl(epoll, EPOLL_CTL_ADD, events, &event);
	epoll_wait(epoll, &event, 1, 10);
	epoll_wait(epoll, &event, 1, 0);
	epoll_ctl(epoll, EPOLL_CTL_DEL, events, NULL);
	syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, NULL);
	syscall(SYS_futex, &word, FUTEX_WAIT, 1, &short_time);
	syscall(SYS_futex, &word, FUTEX_WAKE, 100);
	syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &short_time, NULL,
		~0U);
	nanosleep(&short_time, NULL);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL);
	close(events);
	close(epoll);
}

static void on_signal(int number)
{
	(void)number;
}

static void use_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER};
	sigset_t set, old;

	sigaddset(&action.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR1, NULL, &action);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, &old);
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	kill(getpid(), SIGUSR1);
	kill(getpid(), 0);
}

static void use_sockets(void)
{
	struct sockaddr_un local = {AF_UNIX, "missing.socket"};
	struct sockaddr_in inet = {AF_INET, htons(1), {htonl(INADDR_LOOPBACK)}, {0}};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int pair[2];

	ignore((long)connect(fd, (void *)&local, sizeof(local)));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	ignore((long)connect(fd, (void *)&inet, sizeof(inet)));
	close(fd);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	send(pair[0], "message", 7, MSG_NOSIGNAL | MSG_DONTWAIT);
	recv(pair[1], local.sun_path, 100, 0);
	shutdown(pair[0], SHUT_RDWR);
}

/* A datagram, of two buffers or with a descriptor, is received in two buffers. */
static void use_messages(void)
{
	char text[] = "a text of more than thirty-two bytes, which is truncated", first[3],
	     second[100];
	struct iovec sent[] = {{(char *)"hello", 5}, {text, sizeof(text)}};
	struct iovec received[] = {{first, sizeof(first)}, {second, sizeof(second)}};
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	struct sockaddr_un from;
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr header;
	} control = {.header = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr out = {.msg_iov = sent, .msg_iovlen = 2}, in;
	int pair[2], socket_fd = socket(AF_INET, SOCK_DGRAM, 0);

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	memcpy(CMSG_DATA(&control.header), pair, sizeof(pair));
	in = (struct msghdr){&from, sizeof(from), received, 2, NULL, 0, 0};
	ignore(sendmsg(pair[0], &out, MSG_NOSIGNAL));
	ignore(recvmsg(pair[1], &in, 0));
	ignore(recvmsg(pair[1], &in, MSG_DONTWAIT));
	out.msg_iovlen = 1;
	out.msg_control = &control;
	out.msg_controllen = sizeof(control);
	ignore(sendmsg(pair[0], &out, 0));
	in.msg_control = &control;
	in.msg_controllen = sizeof(control);
	ignore(recvmsg(pair[1], &in, MSG_CMSG_CLOEXEC));
	out = (struct msghdr){&address, sizeof(address), sent, 1, NULL, 0, 0};
	ignore(sendmsg(socket_fd, &out, MSG_DONTWAIT));
	ignore(sendmsg(-1, &out, 0));
	ignore(recvmsg(-1, &in, 0));
	out = (struct msghdr){0};
	ignore(sendmsg(pair[0], &out, 0));
	ignore(sendmsg(pair[0], NULL, 0));
	ignore(sendmsg(pair[0], (struct msghdr *)8, 0));
	ignore(recvmsg(pair[1], NULL, 0));
	close(pair[0]);
	close(pair[1]);
	close(socket_fd);
}

static void use_listeners(void)
{
	struct sockaddr_un local = {AF_UNIX, "a.socket"};
	struct sockaddr_in inet = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, {0}};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	ignore((long)bind(fd, (void *)&local, sizeof(local)));
	listen(fd, 5);
	accept(fd, NULL, NULL);
	accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	unlink("a.socket");
	close(fd);
	fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	sendto(fd, "hello", 5, 0, (void *)&inet, sizeof(inet));
	recvfrom(fd, NULL, 0, MSG_DONTWAIT | MSG_PEEK, NULL, NULL);
	close(fd);
	close(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
	shutdown(99, SHUT_RD);
	socket(99, 3, 4);
	send(99, NULL, 0, MSG_MORE | MSG_OOB);
}

static void *run_thread(void *unused)
{
	syscall(SYS_getppid);
	return unused;
}

static int run_child(void *result)
{
	return *(int *)result;
}

static void use_children(void)
{
	static char stack[1 << 16] __attribute__((aligned(16)));
	const int shared = CLONE_VM | CLONE_FILES;
	int result = 7, status;

	clone(run_child, stack + sizeof(stack), shared | SIGCHLD, &result);
	wait4(-1, &status, __WALL, NULL);
	clone(run_child, stack + sizeof(stack), shared | CLONE_VFORK, &result);
	wait4(-1, &status, __WCLONE, NULL);
	clone(run_child, NULL, CLONE_SIGHAND, &result);
	syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS, NULL, NULL, NULL, NULL);
	if (!syscall(SYS_fork))
		syscall(SYS_exit, 4);
	wait4(-1, NULL, 0, NULL);
	if (!vfork())
		_exit(0);
	wait4(-1, NULL, 0, NULL);
	wait4(-1, NULL, WNOHANG | WUNTRACED | WCONTINUED, NULL);
}

static void use_credentials(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	getuid();
	geteuid();
	getgid();
	getegid();
	getpgrp();
	getpgid(0);
	setpgid(0, 0);
	setsid();
	syscall(SYS_getrlimit, RLIMIT_CORE, &limit);
	syscall(SYS_setrlimit, RLIMIT_CORE, &limit);
	syscall(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL);
	sched_get_priority_max(SCHED_FIFO);
	sched_get_priority_min(SCHED_RR);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_GET_DUMPABLE);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_DUMPABLE, 7);
	syscall(SYS_arch_prctl, ARCH_GET_FS, 8);
	syscall(SYS_getrandom, NULL, 0, GRND_NONBLOCK);
	syscall(SYS_rt_sigprocmask, 99, NULL, NULL, 8);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, NULL, NULL, 8);
	syscall(SYS_tkill, -1, SIGTERM);
	kill(-1, 99);
}

static void use_processes(void)
{
	struct rlimit limit;
	pthread_t thread;
	cpu_set_t cpus;
	int status;

	getpid();
	gettid();
	prctl(PR_SET_NAME, "a thread");
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	sched_setaffinity(0, 8, &cpus);
	sched_yield();
	sched_getscheduler(0);
	pthread_create(&thread, NULL, run_thread, NULL);
	pthread_join(thread, NULL);
	if (!fork())
		_exit(3);
	wait4(-1, &status, 0, NULL);
	wait4(-1, &status, WNOHANG, NULL);
	if (!fork())
		raise(SIGKILL);
	wait4(-1, &status, 0, NULL);
}

int main(int count, char **arguments)
{
	if (count > 1) {
		write(1, "", 0);
		return 0;
	}
	use_files();
	use_descriptors();
	use_names();
	use_states();
	use_ioctl();
	use_memory();
	use_mappings();
	use_waits();
	use_polls();
	use_futexes();
	use_signals();
	use_sockets();
	use_messages();
	use_listeners();
	use_processes();
	use_children();
	use_credentials();
	use_results();
	use_arrays();
	execl("missing", "missing", NULL);
	syscall(SYS_execveat, AT_FDCWD, "missing", arguments, (char *[]){(char *)"A=1", NULL},
		AT_SYMLINK_NOFOLLOW);
	execl(arguments[0], "again", "with", "an argument of more than thirty-two bytes", NULL);
	return 1;
}
