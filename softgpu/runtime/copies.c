/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies and memsets. */
#include <string.h>

#include "runtime/runtime.h"

static CUdeviceptr address_of(const void *pointer)
{
	return (uintptr_t)pointer;
}

/* ---- plain copies ---------------------------------------------------------------------- */

/*
 * The driver's synchronous calls take no stream: the per-thread-stream variant makes an
 * asynchronous one and waits for it.
 */
static cudaError_t copy_in_stream(void *target, const void *source, size_t size,
				  enum cudaMemcpyKind kind, CUstream stream)
{
	cudaError_t error = sg_copy_async(target, source, size, kind, stream);

	if (!error && kind != cudaMemcpyDeviceToDevice)
		error = sg_error(sg_driver.cuStreamSynchronize(stream));
	return error;
}

cudaError_t sg_copy(void *target, const void *source, size_t size, enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return sg_error(sg_driver.cuMemcpyHtoD(address_of(target), source, size));
	case cudaMemcpyDeviceToHost:
		return sg_error(sg_driver.cuMemcpyDtoH(target, address_of(source), size));
	case cudaMemcpyDeviceToDevice:
		return sg_error(
			sg_driver.cuMemcpyDtoD(address_of(target), address_of(source), size));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return sg_error(sg_driver.cuMemcpy(address_of(target), address_of(source), size));
	default:
		return cudaErrorInvalidMemcpyDirection;
	}
}

cudaError_t sg_copy_async(void *target, const void *source, size_t size, enum cudaMemcpyKind kind,
			  CUstream stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return sg_error(
			sg_driver.cuMemcpyHtoDAsync(address_of(target), source, size, stream));
	case cudaMemcpyDeviceToHost:
		return sg_error(
			sg_driver.cuMemcpyDtoHAsync(target, address_of(source), size, stream));
	case cudaMemcpyDeviceToDevice:
		return sg_error(sg_driver.cuMemcpyDtoDAsync(address_of(target), address_of(source),
							    size, stream));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return sg_error(sg_driver.cuMemcpyAsync(address_of(target), address_of(source),
							size, stream));
	default:
		return cudaErrorInvalidMemcpyDirection;
	}
}

static cudaError_t copy_linear(void *target, const void *source, size_t size,
			       enum cudaMemcpyKind kind, CUstream zero)
{
	cudaError_t error = sg_enter();

	if (!error && size)
		error = zero ? copy_in_stream(target, source, size, kind, zero)
			     : sg_copy(target, source, size, kind);
	return sg_finish(error);
}

static cudaError_t copy_linear_async(void *target, const void *source, size_t size,
				     enum cudaMemcpyKind kind, CUstream stream)
{
	cudaError_t error = sg_enter();

	if (!error && size)
		error = sg_copy_async(target, source, size, kind, stream);
	return sg_finish(error);
}

SG_STREAM_VARIANTS(cudaMemcpy, cudaMemcpy_ptds,
		   (void *target, const void *source, size_t size, enum cudaMemcpyKind kind),
		   copy_linear(target, source, size, kind, (CUstream)zero))
SG_STREAM_VARIANTS(cudaMemcpyAsync, cudaMemcpyAsync_ptsz,
		   (void *target, const void *source, size_t size, enum cudaMemcpyKind kind,
		    cudaStream_t stream),
		   copy_linear_async(target, source, size, kind, ZERO(stream)))

/* All devices share their address space: a copy between two is one within it. */
SG_API cudaError_t cudaMemcpyPeer(void *target, int target_device, const void *source,
				  int source_device, size_t size)
{
	return copy_linear(target, source, size, cudaMemcpyDeviceToDevice, NULL);
}

SG_API cudaError_t cudaMemcpyPeerAsync(void *target, int target_device, const void *source,
				       int source_device, size_t size, cudaStream_t stream)
{
	return copy_linear_async(target, source, size, cudaMemcpyDeviceToDevice, stream);
}

SG_STREAM_VARIANTS(cudaMemcpyBatchAsync, cudaMemcpyBatchAsync_ptsz,
		   (void *const *targets, const void *const *sources, const size_t *sizes,
		    size_t count, struct cudaMemcpyAttributes *attributes,
		    size_t *attribute_indices, size_t attribute_count, cudaStream_t stream),
		   SG_CALL(cuMemcpyBatchAsync, (CUdeviceptr *)(uintptr_t)targets,
			   (CUdeviceptr *)(uintptr_t)sources, (size_t *)(uintptr_t)sizes, count,
			   (CUmemcpyAttributes *)attributes, attribute_indices, attribute_count,
			   ZERO(stream)))

/* ---- symbols --------------------------------------------------------------------------- */

cudaError_t sg_find_piece(const void *symbol, size_t offset, size_t size, void **ret_address)
{
	CUdeviceptr address;
	size_t whole;
	cudaError_t error = sg_enter();

	if (!error)
		error = sg_find_symbol(symbol, &address, &whole);
	if (!error && (offset > whole || size > whole - offset))
		error = cudaErrorInvalidValue;
	if (!error)
		*ret_address = (void *)(uintptr_t)(address + offset);
	return error;
}

/* Find a variable that is the device side of a copy; `host`: the kind of copies from or to the
 * host. */
static cudaError_t find_symbol_side(const void *symbol, size_t offset, size_t size,
				    enum cudaMemcpyKind kind, enum cudaMemcpyKind host,
				    void **ret_address)
{
	cudaError_t error = sg_find_piece(symbol, offset, size, ret_address);

	if (!error && kind != host && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
		error = cudaErrorInvalidMemcpyDirection;
	return error;
}

static cudaError_t to_symbol(const void *symbol, const void *source, size_t size, size_t offset,
			     enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
	void *target;
	cudaError_t error =
		find_symbol_side(symbol, offset, size, kind, cudaMemcpyHostToDevice, &target);

	if (error)
		return sg_finish(error);
	return wait ? copy_linear(target, source, size, kind, stream)
		    : copy_linear_async(target, source, size, kind, stream);
}

static cudaError_t from_symbol(void *target, const void *symbol, size_t size, size_t offset,
			       enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
	void *source;
	cudaError_t error =
		find_symbol_side(symbol, offset, size, kind, cudaMemcpyDeviceToHost, &source);

	if (error)
		return sg_finish(error);
	return wait ? copy_linear(target, source, size, kind, stream)
		    : copy_linear_async(target, source, size, kind, stream);
}

SG_STREAM_VARIANTS(cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds,
		   (const void *symbol, const void *source, size_t size, size_t offset,
		    enum cudaMemcpyKind kind),
		   to_symbol(symbol, source, size, offset, kind, (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds,
		   (void *target, const void *symbol, size_t size, size_t offset,
		    enum cudaMemcpyKind kind),
		   from_symbol(target, symbol, size, offset, kind, (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz,
		   (const void *symbol, const void *source, size_t size, size_t offset,
		    enum cudaMemcpyKind kind, cudaStream_t stream),
		   to_symbol(symbol, source, size, offset, kind, ZERO(stream), false))
SG_STREAM_VARIANTS(cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz,
		   (void *target, const void *symbol, size_t size, size_t offset,
		    enum cudaMemcpyKind kind, cudaStream_t stream),
		   from_symbol(target, symbol, size, offset, kind, ZERO(stream), false))

/* ---- copies of several rows ------------------------------------------------------------ */

static cudaError_t set_types(CUDA_MEMCPY3D *copy_parameters, enum cudaMemcpyKind kind)
{
	static const struct {
		CUmemorytype target, source;
	} types[] = {
		[cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
		[cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
		[cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
		[cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
		[cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
	};

	if ((unsigned int)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	copy_parameters->dstMemoryType = types[kind].target;
	copy_parameters->srcMemoryType = types[kind].source;
	return cudaSuccess;
}

static void set_target(CUDA_MEMCPY3D *copy_parameters, const void *target, size_t pitch)
{
	copy_parameters->dstHost = (void *)(uintptr_t)target;
	copy_parameters->dstDevice = address_of(target);
	copy_parameters->dstPitch = pitch;
}

static void set_source(CUDA_MEMCPY3D *copy_parameters, const void *source, size_t pitch)
{
	copy_parameters->srcHost = source;
	copy_parameters->srcDevice = address_of(source);
	copy_parameters->srcPitch = pitch;
}

static void set_target_array(CUDA_MEMCPY3D *copy_parameters, cudaArray_const_t array)
{
	copy_parameters->dstMemoryType = CU_MEMORYTYPE_ARRAY;
	copy_parameters->dstArray = (CUarray)(uintptr_t)array;
}

static void set_source_array(CUDA_MEMCPY3D *copy_parameters, cudaArray_const_t array)
{
	copy_parameters->srcMemoryType = CU_MEMORYTYPE_ARRAY;
	copy_parameters->srcArray = (CUarray)(uintptr_t)array;
}

/* Runs a copy; `wait`: as the synchronous calls do. */
static cudaError_t run_copy(const CUDA_MEMCPY3D *copy_parameters, CUstream stream, bool wait)
{
	cudaError_t error;

	if (!copy_parameters->WidthInBytes || !copy_parameters->Height || !copy_parameters->Depth)
		return cudaSuccess;
	if (wait && !stream)
		return sg_error(sg_driver.cuMemcpy3D(copy_parameters));
	error = sg_error(sg_driver.cuMemcpy3DAsync(copy_parameters, stream));
	if (!error && wait)
		error = sg_error(sg_driver.cuStreamSynchronize(stream));
	return error;
}

static cudaError_t copy_2d(void *target, size_t target_pitch, const void *source,
			   size_t source_pitch, size_t width, size_t height,
			   enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
	CUDA_MEMCPY3D parameters = {.WidthInBytes = width, .Height = height, .Depth = 1};
	cudaError_t error = sg_enter();

	if (!error)
		error = set_types(&parameters, kind);
	if (!error && (width > target_pitch || width > source_pitch))
		error = cudaErrorInvalidPitchValue;
	set_target(&parameters, target, target_pitch);
	set_source(&parameters, source, source_pitch);
	return sg_finish(error ? error : run_copy(&parameters, stream, wait));
}

SG_STREAM_VARIANTS(cudaMemcpy2D, cudaMemcpy2D_ptds,
		   (void *target, size_t target_pitch, const void *source, size_t source_pitch,
		    size_t width, size_t height, enum cudaMemcpyKind kind),
		   copy_2d(target, target_pitch, source, source_pitch, width, height, kind,
			   (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz,
		   (void *target, size_t target_pitch, const void *source, size_t source_pitch,
		    size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
		   copy_2d(target, target_pitch, source, source_pitch, width, height, kind,
			   ZERO(stream), false))

cudaError_t sg_convert_copy(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *ret_copy)
{
	size_t element = 1;
	CUDA_MEMCPY3D all = {0};
	cudaError_t error;

	if (!parameters)
		return cudaErrorInvalidValue;
	error = set_types(&all, parameters->kind);
	if (error)
		return error;
	set_target(&all, parameters->dstPtr.ptr, parameters->dstPtr.pitch);
	set_source(&all, parameters->srcPtr.ptr, parameters->srcPtr.pitch);
	all.dstHeight = parameters->dstPtr.ysize;
	all.srcHeight = parameters->srcPtr.ysize;
	all.dstXInBytes = parameters->dstPos.x;
	all.srcXInBytes = parameters->srcPos.x;
	/* With an array, the extent and the positions in arrays are counted in its elements. */
	if (parameters->srcArray) {
		element = sg_element_size(parameters->srcArray);
		set_source_array(&all, parameters->srcArray);
		all.srcXInBytes *= element;
	}
	if (parameters->dstArray) {
		element = sg_element_size(parameters->dstArray);
		set_target_array(&all, parameters->dstArray);
		all.dstXInBytes *= element;
	}
	if (!element)
		return cudaErrorInvalidResourceHandle;
	all.dstY = parameters->dstPos.y;
	all.dstZ = parameters->dstPos.z;
	all.srcY = parameters->srcPos.y;
	all.srcZ = parameters->srcPos.z;
	all.WidthInBytes = parameters->extent.width * element;
	all.Height = parameters->extent.height;
	all.Depth = parameters->extent.depth;
	*ret_copy = all;
	return cudaSuccess;
}

static enum cudaMemcpyKind kind_of(const CUDA_MEMCPY3D *all)
{
	bool to_host = all->dstMemoryType == CU_MEMORYTYPE_HOST;
	bool from_host = all->srcMemoryType == CU_MEMORYTYPE_HOST;

	if (all->dstMemoryType == CU_MEMORYTYPE_UNIFIED ||
	    all->srcMemoryType == CU_MEMORYTYPE_UNIFIED)
		return cudaMemcpyDefault;
	if (from_host)
		return to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
	return to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

static void *pointer_of(CUmemorytype type, const void *host, CUdeviceptr device)
{
	return (void *)(uintptr_t)(type == CU_MEMORYTYPE_HOST ? address_of(host) : device);
}

void sg_restore_copy(const CUDA_MEMCPY3D *all, struct cudaMemcpy3DParms *ret_parameters)
{
	struct cudaMemcpy3DParms parameters = {
		.srcPos = {all->srcXInBytes, all->srcY, all->srcZ},
		.dstPos = {all->dstXInBytes, all->dstY, all->dstZ},
		.extent = {all->WidthInBytes, all->Height, all->Depth},
		.kind = kind_of(all),
	};
	size_t element = 1;

	if (all->srcMemoryType == CU_MEMORYTYPE_ARRAY) {
		parameters.srcArray = (cudaArray_t)all->srcArray;
		element = sg_element_size(parameters.srcArray);
		parameters.srcPos.x /= element ? element : 1;
	} else {
		parameters.srcPtr.ptr =
			pointer_of(all->srcMemoryType, all->srcHost, all->srcDevice);
		parameters.srcPtr.pitch = all->srcPitch;
		parameters.srcPtr.xsize = all->srcPitch;
		parameters.srcPtr.ysize = all->srcHeight;
	}
	if (all->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
		parameters.dstArray = (cudaArray_t)all->dstArray;
		element = sg_element_size(parameters.dstArray);
		parameters.dstPos.x /= element ? element : 1;
	} else {
		parameters.dstPtr.ptr =
			pointer_of(all->dstMemoryType, all->dstHost, all->dstDevice);
		parameters.dstPtr.pitch = all->dstPitch;
		parameters.dstPtr.xsize = all->dstPitch;
		parameters.dstPtr.ysize = all->dstHeight;
	}
	parameters.extent.width /= element ? element : 1;
	*ret_parameters = parameters;
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *parameters, CUstream stream, bool wait)
{
	CUDA_MEMCPY3D all;
	cudaError_t error = sg_enter();

	if (!error)
		error = sg_convert_copy(parameters, &all);
	return sg_finish(error ? error : run_copy(&all, stream, wait));
}

SG_STREAM_VARIANTS(cudaMemcpy3D, cudaMemcpy3D_ptds, (const struct cudaMemcpy3DParms *parameters),
		   copy_3d(parameters, (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz,
		   (const struct cudaMemcpy3DParms *parameters, cudaStream_t stream),
		   copy_3d(parameters, ZERO(stream), false))

static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *peer, CUstream stream,
				bool wait)
{
	struct cudaMemcpy3DParms parameters = {.kind = cudaMemcpyDeviceToDevice};

	if (!peer)
		return sg_finish(cudaErrorInvalidValue);
	parameters.srcArray = peer->srcArray;
	parameters.srcPos = peer->srcPos;
	parameters.srcPtr = peer->srcPtr;
	parameters.dstArray = peer->dstArray;
	parameters.dstPos = peer->dstPos;
	parameters.dstPtr = peer->dstPtr;
	parameters.extent = peer->extent;
	return copy_3d(&parameters, stream, wait);
}

SG_STREAM_VARIANTS(cudaMemcpy3DPeer, cudaMemcpy3DPeer_ptds,
		   (const struct cudaMemcpy3DPeerParms *parameters),
		   copy_3d_peer(parameters, (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpy3DPeerAsync, cudaMemcpy3DPeerAsync_ptsz,
		   (const struct cudaMemcpy3DPeerParms *parameters, cudaStream_t stream),
		   copy_3d_peer(parameters, ZERO(stream), false))
SG_STREAM_VARIANTS(cudaMemcpy3DBatchAsync, cudaMemcpy3DBatchAsync_ptsz,
		   (size_t count, struct cudaMemcpy3DBatchOp *operations, unsigned long long flags,
		    cudaStream_t stream),
		   SG_CALL(cuMemcpy3DBatchAsync, count, (CUDA_MEMCPY3D_BATCH_OP *)operations, flags,
			   ZERO(stream)))

/* ---- arrays ---------------------------------------------------------------------------- */

/* One side of a copy of a rectangle: in an array at (x, y), or in memory. */
struct rectangle_side {
	cudaArray_const_t array;
	size_t x, y; /* bytes, rows */
	const void *memory;
	size_t pitch;
};

#define IN_ARRAY(handle, column, row)                                                              \
	((struct rectangle_side){.array = (handle), .x = (column), .y = (row)})
#define IN_MEMORY(pointer, bytes) ((struct rectangle_side){.memory = (pointer), .pitch = (bytes)})

static cudaError_t copy_rectangle(struct rectangle_side target, struct rectangle_side source,
				  size_t width, size_t height, enum cudaMemcpyKind kind,
				  CUstream stream, bool wait)
{
	CUDA_MEMCPY3D parameters = {
		.WidthInBytes = width,
		.Height = height,
		.Depth = 1,
		.dstXInBytes = target.x,
		.dstY = target.y,
		.srcXInBytes = source.x,
		.srcY = source.y,
	};
	cudaError_t error = sg_enter();

	if (!error)
		error = set_types(&parameters, kind);
	if (target.array)
		set_target_array(&parameters, target.array);
	else
		set_target(&parameters, target.memory, target.pitch);
	if (source.array)
		set_source_array(&parameters, source.array);
	else
		set_source(&parameters, source.memory, source.pitch);
	return sg_finish(error ? error : run_copy(&parameters, stream, wait));
}

SG_STREAM_VARIANTS(cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds,
		   (cudaArray_t target, size_t x, size_t y, const void *source, size_t pitch,
		    size_t width, size_t height, enum cudaMemcpyKind kind),
		   copy_rectangle(IN_ARRAY(target, x, y), IN_MEMORY(source, pitch), width, height,
				  kind, (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpy2DToArrayAsync, cudaMemcpy2DToArrayAsync_ptsz,
		   (cudaArray_t target, size_t x, size_t y, const void *source, size_t pitch,
		    size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
		   copy_rectangle(IN_ARRAY(target, x, y), IN_MEMORY(source, pitch), width, height,
				  kind, ZERO(stream), false))
SG_STREAM_VARIANTS(cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds,
		   (void *target, size_t pitch, cudaArray_const_t source, size_t x, size_t y,
		    size_t width, size_t height, enum cudaMemcpyKind kind),
		   copy_rectangle(IN_MEMORY(target, pitch), IN_ARRAY(source, x, y), width, height,
				  kind, (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpy2DFromArrayAsync, cudaMemcpy2DFromArrayAsync_ptsz,
		   (void *target, size_t pitch, cudaArray_const_t source, size_t x, size_t y,
		    size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
		   copy_rectangle(IN_MEMORY(target, pitch), IN_ARRAY(source, x, y), width, height,
				  kind, ZERO(stream), false))
SG_STREAM_VARIANTS(cudaMemcpy2DArrayToArray, cudaMemcpy2DArrayToArray_ptds,
		   (cudaArray_t target, size_t target_x, size_t target_y, cudaArray_const_t source,
		    size_t source_x, size_t source_y, size_t width, size_t height,
		    enum cudaMemcpyKind kind),
		   copy_rectangle(IN_ARRAY(target, target_x, target_y),
				  IN_ARRAY(source, source_x, source_y), width, height,
				  cudaMemcpyDeviceToDevice, (CUstream)zero, true))
/* Return the bytes until the end of a row of an array; of memory, all. */
static size_t rest_of_row(const struct rectangle_side *side, size_t size)
{
	size_t row = side->array ? sg_row_size(side->array) : 0;

	return side->array && side->x < row ? row - side->x : size;
}

static void advance_side(struct rectangle_side *side, size_t bytes)
{
	size_t row;

	if (!side->array) {
		side->memory = (const char *)side->memory + bytes;
		return;
	}
	row = sg_row_size(side->array);
	side->x += bytes;
	if (side->x == row) {
		side->x = 0;
		side->y++;
	}
}

/* Copy bytes that continue in the next row of an array: row by row. */
static cudaError_t copy_span(struct rectangle_side target, struct rectangle_side source,
			     size_t size, enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
	cudaError_t error = sg_enter();

	while (!error && size) {
		size_t to = rest_of_row(&target, size), from = rest_of_row(&source, size);
		size_t piece = to < from ? to : from;

		piece = piece < size ? piece : size;
		error = copy_rectangle(target, source, piece, 1, kind, stream, wait);
		advance_side(&target, piece);
		advance_side(&source, piece);
		size -= piece;
	}
	return sg_finish(error);
}

SG_STREAM_VARIANTS(cudaMemcpyToArray, cudaMemcpyToArray_ptds,
		   (cudaArray_t target, size_t x, size_t y, const void *source, size_t size,
		    enum cudaMemcpyKind kind),
		   copy_span(IN_ARRAY(target, x, y), IN_MEMORY(source, size), size, kind,
			     (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpyToArrayAsync, cudaMemcpyToArrayAsync_ptsz,
		   (cudaArray_t target, size_t x, size_t y, const void *source, size_t size,
		    enum cudaMemcpyKind kind, cudaStream_t stream),
		   copy_span(IN_ARRAY(target, x, y), IN_MEMORY(source, size), size, kind,
			     ZERO(stream), false))
SG_STREAM_VARIANTS(cudaMemcpyFromArray, cudaMemcpyFromArray_ptds,
		   (void *target, cudaArray_const_t source, size_t x, size_t y, size_t size,
		    enum cudaMemcpyKind kind),
		   copy_span(IN_MEMORY(target, size), IN_ARRAY(source, x, y), size, kind,
			     (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemcpyFromArrayAsync, cudaMemcpyFromArrayAsync_ptsz,
		   (void *target, cudaArray_const_t source, size_t x, size_t y, size_t size,
		    enum cudaMemcpyKind kind, cudaStream_t stream),
		   copy_span(IN_MEMORY(target, size), IN_ARRAY(source, x, y), size, kind,
			     ZERO(stream), false))
SG_STREAM_VARIANTS(cudaMemcpyArrayToArray, cudaMemcpyArrayToArray_ptds,
		   (cudaArray_t target, size_t target_x, size_t target_y, cudaArray_const_t source,
		    size_t source_x, size_t source_y, size_t size, enum cudaMemcpyKind kind),
		   copy_span(IN_ARRAY(target, target_x, target_y),
			     IN_ARRAY(source, source_x, source_y), size, cudaMemcpyDeviceToDevice,
			     (CUstream)zero, true))

/* ---- memsets --------------------------------------------------------------------------- */

static cudaError_t set_memory(void *pointer, int value, size_t size, CUstream stream)
{
	cudaError_t error = sg_enter();

	if (!error && size)
		error = sg_error(sg_driver.cuMemsetD8Async(address_of(pointer),
							   (unsigned char)value, size, stream));
	return sg_finish(error);
}

/* Synchronous calls wait if the host may read the memory next. */
static cudaError_t wait_for_set(const void *pointer, CUstream stream)
{
	unsigned int type = 0;
	bool managed = false;
	CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_IS_MANAGED};
	void *places[] = {&type, &managed};
	cudaError_t error =
		sg_error(sg_driver.cuPointerGetAttributes(2, wanted, places, address_of(pointer)));

	if (error || (type != CU_MEMORYTYPE_HOST && !managed))
		return error;
	return sg_error(sg_driver.cuStreamSynchronize(stream));
}

static cudaError_t set_memory_synchronous(void *pointer, int value, size_t size, CUstream zero)
{
	cudaError_t error;

	if (zero) {
		error = set_memory(pointer, value, size, zero);
		return sg_finish(error ? error : wait_for_set(pointer, zero));
	}
	error = sg_enter();
	if (!error && size)
		error = sg_error(
			sg_driver.cuMemsetD8(address_of(pointer), (unsigned char)value, size));
	return sg_finish(error);
}

SG_STREAM_VARIANTS(cudaMemset, cudaMemset_ptds, (void *pointer, int value, size_t size),
		   set_memory_synchronous(pointer, value, size, (CUstream)zero))
SG_STREAM_VARIANTS(cudaMemsetAsync, cudaMemsetAsync_ptsz,
		   (void *pointer, int value, size_t size, cudaStream_t stream),
		   set_memory(pointer, value, size, ZERO(stream)))

static cudaError_t set_rows(void *pointer, size_t pitch, int value, size_t width, size_t height,
			    CUstream stream)
{
	if (!width || !height)
		return cudaSuccess;
	return sg_error(sg_driver.cuMemsetD2D8Async(address_of(pointer), pitch,
						    (unsigned char)value, width, height, stream));
}

static cudaError_t set_2d(void *pointer, size_t pitch, int value, size_t width, size_t height,
			  CUstream stream, bool wait)
{
	cudaError_t error = sg_enter();

	if (!error)
		error = set_rows(pointer, pitch, value, width, height, stream);
	if (!error && wait && width && height)
		error = wait_for_set(pointer, stream);
	return sg_finish(error);
}

SG_STREAM_VARIANTS(cudaMemset2D, cudaMemset2D_ptds,
		   (void *pointer, size_t pitch, int value, size_t width, size_t height),
		   set_2d(pointer, pitch, value, width, height, (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemset2DAsync, cudaMemset2DAsync_ptsz,
		   (void *pointer, size_t pitch, int value, size_t width, size_t height,
		    cudaStream_t stream),
		   set_2d(pointer, pitch, value, width, height, ZERO(stream), false))

static cudaError_t set_3d(struct cudaPitchedPtr pitched, int value, struct cudaExtent extent,
			  CUstream stream, bool wait)
{
	cudaError_t error = sg_enter();

	if (!extent.width || !extent.height)
		extent.depth = 0;
	for (size_t z = 0; z < extent.depth && !error; z++)
		error = set_rows((char *)pitched.ptr + z * pitched.pitch * pitched.ysize,
				 pitched.pitch, value, extent.width, extent.height, stream);
	if (!error && wait && extent.depth)
		error = wait_for_set(pitched.ptr, stream);
	return sg_finish(error);
}

SG_STREAM_VARIANTS(cudaMemset3D, cudaMemset3D_ptds,
		   (struct cudaPitchedPtr pitched, int value, struct cudaExtent extent),
		   set_3d(pitched, value, extent, (CUstream)zero, true))
SG_STREAM_VARIANTS(cudaMemset3DAsync, cudaMemset3DAsync_ptsz,
		   (struct cudaPitchedPtr pitched, int value, struct cudaExtent extent,
		    cudaStream_t stream),
		   set_3d(pitched, value, extent, ZERO(stream), false))
