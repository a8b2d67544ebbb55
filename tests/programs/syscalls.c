/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls whose arguments strace and gputap are to print alike. Everything that they get is
 * the same in each run (without address space randomization), but for process ids.
 */
#include <fcntl.h>
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
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Many calls are made to fail. */
static void ignore(long result)
{
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

static void *run_thread(void *unused)
{
	syscall(SYS_getppid);
	return unused;
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
	use_ioctl();
	use_memory();
	use_waits();
	use_signals();
	use_sockets();
	use_processes();
	execl("missing", "missing", NULL);
	execl(arguments[0], "again", "with", "an argument of more than thirty-two bytes", NULL);
	return 1;
}
