/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A reduction over one device, as NCCL's header declares it: a copy. */
#include <cuda_runtime_api.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, UNHANDLED_CUDA_ERROR = 1, INVALID_ARGUMENT = 4, FLOAT32 = 7 };

EXPORT int ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, int datatype, int op,
			 void *comm, cudaStream_t stream);

int ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, int datatype, int op,
		  void *comm, cudaStream_t stream)
{
	(void)op, (void)comm;
	if (datatype != FLOAT32)
		return INVALID_ARGUMENT;
	return cudaMemcpyAsync(recvbuff, sendbuff, count * sizeof(float), cudaMemcpyDeviceToDevice,
			       stream)
		       ? UNHANDLED_CUDA_ERROR
		       : SUCCESS;
}
