/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies and memsets. */
#include "device/copy.h"

#include <string.h>

#include "device/array.h"
#include "driver/api.h"

static uint64_t address_of(const void *pointer)
{
	return (uintptr_t)pointer;
}

/* ---- plain copies ---------------------------------------------------------------------- */

static CUresult copy_linear(uint64_t target, uint64_t source, size_t size,
			    enum sg_direction direction, CUstream handle, CUstream zero,
			    bool synchronous)
{
	struct sg_work work;
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (!result)
		result = sg_copy_prepare(target, source, size, direction, &work);
	return result ? result : sg_copy_submit(stream, &work, synchronous);
}

SG_STREAM_VARIANTS(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr target, CUdeviceptr source, size_t size),
		   copy_linear(target, source, size, SG_COPY_ANY, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds,
		   (CUdeviceptr target, const void *source, size_t size),
		   copy_linear(target, address_of(source), size, SG_COPY_HOST_TO_DEVICE, NULL, zero,
			       true))
SG_STREAM_VARIANTS(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds,
		   (void *target, CUdeviceptr source, size_t size),
		   copy_linear(address_of(target), source, size, SG_COPY_DEVICE_TO_HOST, NULL, zero,
			       true))
SG_STREAM_VARIANTS(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds,
		   (CUdeviceptr target, CUdeviceptr source, size_t size),
		   copy_linear(target, source, size, SG_COPY_DEVICE_TO_DEVICE, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpyAsync, cuMemcpyAsync_ptsz,
		   (CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream),
		   copy_linear(target, source, size, SG_COPY_ANY, stream, zero, false))
SG_STREAM_VARIANTS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz,
		   (CUdeviceptr target, const void *source, size_t size, CUstream stream),
		   copy_linear(target, address_of(source), size, SG_COPY_HOST_TO_DEVICE, stream,
			       zero, false))
SG_STREAM_VARIANTS(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz,
		   (void *target, CUdeviceptr source, size_t size, CUstream stream),
		   copy_linear(address_of(target), source, size, SG_COPY_DEVICE_TO_HOST, stream,
			       zero, false))
SG_STREAM_VARIANTS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz,
		   (CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream),
		   copy_linear(target, source, size, SG_COPY_DEVICE_TO_DEVICE, stream, zero, false))

static CUresult copy_peer(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
			  CUcontext source_context, size_t size, CUstream stream, CUstream zero,
			  bool synchronous)
{
	if (!sg_handle_is(target_context, SG_HANDLE_CONTEXT) ||
	    !sg_handle_is(source_context, SG_HANDLE_CONTEXT))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy_linear(target, source, size, SG_COPY_DEVICE_TO_DEVICE, stream, zero,
			   synchronous);
}

SG_STREAM_VARIANTS(cuMemcpyPeer, cuMemcpyPeer_ptds,
		   (CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
		    CUcontext source_context, size_t size),
		   copy_peer(target, target_context, source, source_context, size, NULL, zero,
			     true))
SG_STREAM_VARIANTS(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz,
		   (CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
		    CUcontext source_context, size_t size, CUstream stream),
		   copy_peer(target, target_context, source, source_context, size, stream, zero,
			     false))

static CUresult copy_batch(const CUdeviceptr *targets, const CUdeviceptr *sources,
			   const size_t *sizes, size_t count, CUstream stream, CUstream zero)
{
	CUresult result = CUDA_SUCCESS;

	if (!count || !targets || !sources || !sizes)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++)
		result = copy_linear(targets[i], sources[i], sizes[i], SG_COPY_ANY, stream, zero,
				     false);
	return result;
}

SG_STREAM_VARIANTS(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz,
		   (CUdeviceptr * targets, CUdeviceptr *sources, size_t *sizes, size_t count,
		    CUmemcpyAttributes *attributes, size_t *attribute_indices,
		    size_t attribute_count, CUstream stream),
		   copy_batch(targets, sources, sizes, count, stream, zero))

/* ---- copies of several rows ------------------------------------------------------------ */

static CUresult copy_3d(const CUDA_MEMCPY3D *parameters, CUstream handle, CUstream zero,
			bool synchronous)
{
	struct sg_work work;
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (!result && !parameters)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = sg_copy_prepare_3d(parameters, &work);
	return result ? result : sg_copy_submit(stream, &work, synchronous);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *flat, CUstream stream, CUstream zero, bool synchronous)
{
	CUDA_MEMCPY3D full = {0};

	if (!flat)
		return CUDA_ERROR_INVALID_VALUE;
	full.srcXInBytes = flat->srcXInBytes;
	full.srcY = flat->srcY;
	full.srcMemoryType = flat->srcMemoryType;
	full.srcHost = flat->srcHost;
	full.srcDevice = flat->srcDevice;
	full.srcArray = flat->srcArray;
	full.srcPitch = flat->srcPitch;
	full.dstXInBytes = flat->dstXInBytes;
	full.dstY = flat->dstY;
	full.dstMemoryType = flat->dstMemoryType;
	full.dstHost = flat->dstHost;
	full.dstDevice = flat->dstDevice;
	full.dstArray = flat->dstArray;
	full.dstPitch = flat->dstPitch;
	full.WidthInBytes = flat->WidthInBytes;
	full.Height = flat->Height;
	full.Depth = 1;
	return copy_3d(&full, stream, zero, synchronous);
}

SG_STREAM_VARIANTS(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D *parameters),
		   copy_2d(parameters, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds,
		   (const CUDA_MEMCPY2D *parameters), copy_2d(parameters, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz,
		   (const CUDA_MEMCPY2D *parameters, CUstream stream),
		   copy_2d(parameters, stream, zero, false))
SG_STREAM_VARIANTS(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, (const CUDA_MEMCPY3D *parameters),
		   copy_3d(parameters, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz,
		   (const CUDA_MEMCPY3D *parameters, CUstream stream),
		   copy_3d(parameters, stream, zero, false))

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *peer, CUstream stream, CUstream zero,
			     bool synchronous)
{
	CUDA_MEMCPY3D full;

	if (!peer)
		return CUDA_ERROR_INVALID_VALUE;
	/* The two differ only in their reserved members, which are contexts in one. */
	_Static_assert(sizeof(full) == sizeof(*peer), "the layouts agree");
	memcpy(&full, peer, sizeof(full));
	full.reserved0 = full.reserved1 = NULL;
	return copy_3d(&full, stream, zero, synchronous);
}

SG_STREAM_VARIANTS(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, (const CUDA_MEMCPY3D_PEER *parameters),
		   copy_3d_peer(parameters, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz,
		   (const CUDA_MEMCPY3D_PEER *parameters, CUstream stream),
		   copy_3d_peer(parameters, stream, zero, false))

static void set_source(CUDA_MEMCPY3D *full, const CUmemcpy3DOperand *operand)
{
	if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		full->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		full->srcArray = operand->op.array.array;
		full->srcY = operand->op.array.offset.y;
		full->srcZ = operand->op.array.offset.z;
	} else {
		full->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
		full->srcDevice = operand->op.ptr.ptr;
		full->srcPitch = operand->op.ptr.rowLength;
		full->srcHeight = operand->op.ptr.layerHeight;
	}
}

static void set_target(CUDA_MEMCPY3D *full, const CUmemcpy3DOperand *operand)
{
	if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		full->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		full->dstArray = operand->op.array.array;
		full->dstY = operand->op.array.offset.y;
		full->dstZ = operand->op.array.offset.z;
	} else {
		full->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
		full->dstDevice = operand->op.ptr.ptr;
		full->dstPitch = operand->op.ptr.rowLength;
		full->dstHeight = operand->op.ptr.layerHeight;
	}
}

/* Return the size of the elements in which extents are counted: those of an array, else 1. */
static size_t element_size(const CUDA_MEMCPY3D_BATCH_OP *operation)
{
	const CUmemcpy3DOperand *sides[] = {&operation->src, &operation->dst};

	for (size_t i = 0; i < 2; i++) {
		if (sides[i]->type == CU_MEMCPY_OPERAND_TYPE_ARRAY &&
		    sg_handle_is(sides[i]->op.array.array, SG_HANDLE_ARRAY))
			return sides[i]->op.array.array->element_size;
	}
	return 1;
}

static CUresult copy_3d_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *operations,
			      CUstream stream, CUstream zero)
{
	CUresult result = CUDA_SUCCESS;

	if (!count || !operations)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && !result; i++) {
		const CUDA_MEMCPY3D_BATCH_OP *operation = &operations[i];
		size_t element = element_size(operation);
		CUDA_MEMCPY3D full = {
			.WidthInBytes = operation->extent.width * element,
			.Height = operation->extent.height,
			.Depth = operation->extent.depth,
		};

		set_source(&full, &operation->src);
		set_target(&full, &operation->dst);
		full.srcPitch *= element;
		full.dstPitch *= element;
		if (operation->src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
			full.srcXInBytes = operation->src.op.array.offset.x * element;
		if (operation->dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
			full.dstXInBytes = operation->dst.op.array.offset.x * element;
		result = copy_3d(&full, stream, zero, false);
	}
	return result;
}

SG_STREAM_VARIANTS(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz,
		   (size_t count, CUDA_MEMCPY3D_BATCH_OP *operations, unsigned long long flags,
		    CUstream stream),
		   copy_3d_batch(count, operations, stream, zero))

/* ---- arrays in one row ----------------------------------------------------------------- */

/* One side of a linear copy, which may span rows of an array. */
struct linear_side {
	CUarray array;    /* or NULL, then: */
	uint64_t address; /* of the device or, with is_host, of the host */
	bool is_host;
	size_t offset; /* bytes into the array */
};

static CUresult array_address(const struct linear_side *side, size_t size, uint64_t *ret_address)
{
	struct sg_copy_side rows_of_array;
	uint64_t rows;

	*ret_address = side->address;
	if (!side->array)
		return CUDA_SUCCESS;
	if (!sg_array_side(side->array, &rows_of_array, &rows))
		return CUDA_ERROR_INVALID_HANDLE;
	if (side->offset > side->array->size || size > side->array->size - side->offset)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = rows_of_array.address + side->offset;
	return CUDA_SUCCESS;
}

static CUresult copy_array(struct linear_side target, struct linear_side source, size_t size,
			   CUstream stream, CUstream zero, bool synchronous)
{
	enum sg_direction direction = SG_COPY_DEVICE_TO_DEVICE;
	uint64_t to, from;
	CUresult result = array_address(&target, size, &to);

	if (!result)
		result = array_address(&source, size, &from);
	if (target.is_host)
		direction = SG_COPY_DEVICE_TO_HOST;
	if (source.is_host)
		direction = SG_COPY_HOST_TO_DEVICE;
	return result ? result : copy_linear(to, from, size, direction, stream, zero, synchronous);
}

#define ARRAY(handle, bytes) ((struct linear_side){.array = (handle), .offset = (bytes)})
#define DEVICE(pointer) ((struct linear_side){.address = (pointer)})
#define HOST(pointer) ((struct linear_side){.address = address_of(pointer), .is_host = true})

SG_STREAM_VARIANTS(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds,
		   (CUarray target, size_t offset, CUdeviceptr source, size_t size),
		   copy_array(ARRAY(target, offset), DEVICE(source), size, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds,
		   (CUdeviceptr target, CUarray source, size_t offset, size_t size),
		   copy_array(DEVICE(target), ARRAY(source, offset), size, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds,
		   (CUarray target, size_t offset, const void *source, size_t size),
		   copy_array(ARRAY(target, offset), HOST(source), size, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds,
		   (void *target, CUarray source, size_t offset, size_t size),
		   copy_array(HOST(target), ARRAY(source, offset), size, NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds,
		   (CUarray target, size_t target_offset, CUarray source, size_t source_offset,
		    size_t size),
		   copy_array(ARRAY(target, target_offset), ARRAY(source, source_offset), size,
			      NULL, zero, true))
SG_STREAM_VARIANTS(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_ptsz,
		   (CUarray target, size_t offset, const void *source, size_t size,
		    CUstream stream),
		   copy_array(ARRAY(target, offset), HOST(source), size, stream, zero, false))
SG_STREAM_VARIANTS(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz,
		   (void *target, CUarray source, size_t offset, size_t size, CUstream stream),
		   copy_array(HOST(target), ARRAY(source, offset), size, stream, zero, false))

/* ---- memsets --------------------------------------------------------------------------- */

/* Synchronous ones, too, return before they are done if only the device can read the memory. */
static CUresult set_memory(CUdeviceptr address, size_t pitch, uint32_t value, uint32_t element_size,
			   size_t width, size_t height, CUstream handle, CUstream zero,
			   bool synchronous)
{
	struct sg_work work;
	CUstream stream;
	CUresult result = sg_use_stream(handle, zero, &stream);

	if (!result)
		result = sg_set_prepare(address, pitch, value, element_size, width, height, &work);
	if (!result && !(width && height) && !sg_stream_is_captured(stream))
		return CUDA_SUCCESS;
	if (result)
		return result;
	return sg_stream_submit(stream, &work, synchronous && work.set.host_sees);
}

#define SET_VARIANTS(name, per_thread, type, bytes)                                                \
	SG_STREAM_VARIANTS(name, per_thread, (CUdeviceptr address, type value, size_t count),      \
			   set_memory(address, 0, value, bytes, count, 1, NULL, zero, true))
#define SET_ASYNC_VARIANTS(name, per_thread, type, bytes)                                          \
	SG_STREAM_VARIANTS(name, per_thread,                                                       \
			   (CUdeviceptr address, type value, size_t count, CUstream stream),       \
			   set_memory(address, 0, value, bytes, count, 1, stream, zero, false))
#define SET_2D_VARIANTS(name, per_thread, type, bytes)                                             \
	SG_STREAM_VARIANTS(                                                                        \
		name, per_thread,                                                                  \
		(CUdeviceptr address, size_t pitch, type value, size_t width, size_t height),      \
		set_memory(address, pitch, value, bytes, width, height, NULL, zero, true))
#define SET_2D_ASYNC_VARIANTS(name, per_thread, type, bytes)                                       \
	SG_STREAM_VARIANTS(                                                                        \
		name, per_thread,                                                                  \
		(CUdeviceptr address, size_t pitch, type value, size_t width, size_t height,       \
		 CUstream stream),                                                                 \
		set_memory(address, pitch, value, bytes, width, height, stream, zero, false))

SET_VARIANTS(cuMemsetD8_v2, cuMemsetD8_v2_ptds, unsigned char, 1)
SET_VARIANTS(cuMemsetD16_v2, cuMemsetD16_v2_ptds, unsigned short, 2)
SET_VARIANTS(cuMemsetD32_v2, cuMemsetD32_v2_ptds, unsigned int, 4)
SET_ASYNC_VARIANTS(cuMemsetD8Async, cuMemsetD8Async_ptsz, unsigned char, 1)
SET_ASYNC_VARIANTS(cuMemsetD16Async, cuMemsetD16Async_ptsz, unsigned short, 2)
SET_ASYNC_VARIANTS(cuMemsetD32Async, cuMemsetD32Async_ptsz, unsigned int, 4)
SET_2D_VARIANTS(cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds, unsigned char, 1)
SET_2D_VARIANTS(cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds, unsigned short, 2)
SET_2D_VARIANTS(cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, unsigned int, 4)
SET_2D_ASYNC_VARIANTS(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz, unsigned char, 1)
SET_2D_ASYNC_VARIANTS(cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz, unsigned short, 2)
SET_2D_ASYNC_VARIANTS(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz, unsigned int, 4)
