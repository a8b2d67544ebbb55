/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* System calls of syscalls.c with arrays of structures, or memory of other processes and of nodes.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "syscalls.h"

static char source[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static char target[64];

static void use_other_memory(void)
{
	struct iovec local[2] = {{target, 8}, {target + 8, 40}};
	struct iovec remote[3] = {{source, 20}, {source + 20, 28}, {source, 0}};
	pid_t own = getpid();

	syscall(SYS_process_vm_readv, own, local, 2L, remote, 2L, 0L);
	syscall(SYS_process_vm_readv, own, local, 2L, remote, 1L, 0L);
	syscall(SYS_process_vm_writev, own, local, 2L, remote, 3L, 0L);
	syscall(SYS_process_vm_writev, own, local, 0L, remote, 0L, 0L);
	syscall(SYS_process_vm_readv, -1, local, 2L, remote, 2L, 0L);
	syscall(SYS_process_vm_readv, own, local, 2L, 8L, 2L, 1L);
	syscall(SYS_process_vm_readv, own, NULL, 1L, NULL, 1L, 0L);
}

static void use_nodes(void)
{
	unsigned long nodes[17] = {1};
	unsigned cpu, node;
	int mode;

	syscall(SYS_get_mempolicy, &mode, nodes, 128L, NULL, 0L);
	syscall(SYS_get_mempolicy, &mode, NULL, 0L, source, (long)MPOL_F_ADDR);
	syscall(SYS_get_mempolicy, NULL, nodes, 1024L, NULL, (long)MPOL_F_MEMS_ALLOWED);
	syscall(SYS_get_mempolicy, NULL, nodes, 1L, NULL, 16L);
	syscall(SYS_set_mempolicy, (long)MPOL_BIND, nodes, 1025L);
	syscall(SYS_set_mempolicy, (long)MPOL_DEFAULT, NULL, 0L);
	syscall(SYS_getcpu, &cpu, &node, NULL);
	syscall(SYS_getcpu, NULL, NULL, NULL);
}

static void use_locks(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	syscall(SYS_mlock2, page, 4096L, 1L);
	syscall(SYS_mlock2, page, 4096L, 8L);
	syscall(SYS_mlockall, (long)(MCL_CURRENT | MCL_ONFAULT));
	munlockall();
	munmap(page, 4096);
}

static void use_rings(void)
{
	struct io_uring_params ring = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 8L, &ring);

	syscall(SYS_io_uring_enter, fd, 0L, 0L, (long)IORING_ENTER_GETEVENTS, NULL, 8L);
	ring.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
	ring.cq_entries = 64;
	ring.sq_thread_cpu = 17;
	ring.sq_thread_idle = 5;
	close((int)syscall(SYS_io_uring_setup, 8L, &ring));
	ring.flags = IORING_SETUP_ATTACH_WQ;
	ring.wq_fd = 99;
	syscall(SYS_io_uring_setup, 8L, &ring);
	syscall(SYS_io_uring_setup, 0L, &ring);
	syscall(SYS_io_uring_setup, 8L, NULL);
	close(fd);
}

static void use_message_arrays(void)
{
	struct sockaddr_un name = {AF_UNIX, "arrays.socket"}, senders[2];
	struct iovec out[3] = {{source, 5}, {source + 5, 40}, {source + 10, 3}};
	struct iovec in[2] = {{target, 20}, {target + 20, 40}};
	struct mmsghdr sent[2] = {{{.msg_iov = out, .msg_iovlen = 1}, 0},
				  {{.msg_iov = out + 1, .msg_iovlen = 2}, 0}};
	struct mmsghdr received[2] = {{{.msg_iov = in, .msg_iovlen = 1}, 0},
				      {{.msg_iov = in + 1, .msg_iovlen = 1}, 0}};
	struct timespec limit = {1, 0};
	int pair[2], named = socket(AF_UNIX, SOCK_DGRAM, 0);

	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	syscall(SYS_sendmmsg, pair[0], sent, 2L, (long)MSG_DONTWAIT);
	syscall(SYS_recvmmsg, pair[1], received, 2L, (long)MSG_DONTWAIT, &limit);
	limit = (struct timespec){1, 0};
	syscall(SYS_recvmmsg, pair[1], received, 2L, (long)MSG_DONTWAIT, &limit);
	syscall(SYS_sendmmsg, pair[0], sent, 1L, 0L);
	(void)bind(named, (void *)&name, sizeof(name));
	sent[0].msg_hdr.msg_name = &name;
	sent[0].msg_hdr.msg_namelen = sizeof(name);
	close(pair[0]);
	close(pair[1]);
	pair[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
	syscall(SYS_sendmmsg, pair[0], sent, 2L, 0L);
	syscall(SYS_sendmmsg, named, sent, 1L, 0L);
	for (int i = 0; i < 2; i++) {
		received[i].msg_hdr.msg_name = &senders[i];
		received[i].msg_hdr.msg_namelen = sizeof(senders[i]);
	}
	syscall(SYS_recvmmsg, named, received, 2L, (long)MSG_DONTWAIT, NULL);
	syscall(SYS_sendmmsg, -1, sent, 2L, 0L);
	syscall(SYS_sendmmsg, -1, NULL, 2L, 0L);
	close(named);
	close(pair[0]);
	unlink("arrays.socket");
}

static void use_offsets(void)
{
	int from = open("arrays", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int to = open("arrays.copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
	loff_t input = 2, output = 4;
	off_t offset = 3;

	write(from, source, sizeof(source));
	syscall(SYS_sendfile, to, from, &offset, 10L);
	syscall(SYS_sendfile, to, from, NULL, 10L);
	syscall(SYS_sendfile, to, -1, &offset, 10L);
	syscall(SYS_copy_file_range, from, &input, to, &output, 10L, 0L);
	syscall(SYS_copy_file_range, from, NULL, to, &output, 10L, 0L);
	close(from);
	close(to);
	unlink("arrays");
	unlink("arrays.copy");
}

static void use_process_descriptors(void)
{
	int process = (int)syscall(SYS_pidfd_open, getpid(), 0L);

	close((int)syscall(SYS_pidfd_open, getpid(), (long)O_NONBLOCK));
	close((int)syscall(SYS_pidfd_getfd, process, 1L, 0L));
	close((int)syscall(SYS_userfaultfd, (long)(O_CLOEXEC | 1)));
	close(process);
}

void use_arrays(void)
{
	use_other_memory();
	use_nodes();
	use_locks();
	use_rings();
	use_message_arrays();
	use_offsets();
	use_process_descriptors();
}
