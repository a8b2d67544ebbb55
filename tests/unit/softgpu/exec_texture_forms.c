/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Formats of textures, forms of tex and tld4, txq, istypep, references and handles. */
#include "exec_image.h"

static const struct sample_kernel kernels[] = {
	{"t2d", "tex.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"i1d", "tex.1d.v4.u32.s32 " FLOATS ", [%rd1, {%r0}];"},
	{"u2d", "tex.2d.v4.u32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"offset", "tex.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}], {%r2, %r3};"},
	{"offset1d", "tex.1d.v4.f32.f32 " FLOATS ", [%rd1, {%f0}], %r2;"},
	{"gather_r", "tld4.r.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"gather_a", "tld4.a.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}];"},
	{"gather_layer", "tld4.g.a2d.v4.f32.f32 " FLOATS ", [%rd1, {%r0, %f1, %f2, %f2}];"},
	{"pairs", "tex.2d.v2.f16x2.f32 {%o0, %o1}, [%rd1, {%f0, %f1}];"},
	{"halves", "tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%rd1, {%f0, %f1}]; mov.b32 %o0, {%h0, "
		   "%h1}; mov.b32 %o1, {%h2, %h3};"},
	{"resident", "setp.ne.u32 %p1, %t, %t; tex.2d.v4.f32.f32 {%o0, _, _, _}|%p1, [%rd1, {%f0, "
		     "%f1}]; selp.u32 %o1, 1, 2, %p1;"},
	{"vectors", "mov.b32 %w.x, %f0; mov.b32 %w.y, %f1; tex.2d.v4.f32.f32 %v, [%rd1, %w]; "
		    "mov.b32 %o0, %v.x; mov.b32 %o3, %v.w;"},
	{"query", "txq.width.b32 %o0, [%rd1]; txq.height.b32 %o1, [%rd1]; txq.depth.b32 %o2, "
		  "[%rd1]; txq.array_size.b32 %o3, [%rd1];"},
	{"query2", "txq.level.width.b32 %o0, [%rd1], 1; txq.num_mipmap_levels.b32 %o1, [%rd1]; "
		   "txq.channel_data_type.b32 %o2, [%rd1]; txq.channel_order.b32 %o3, [%rd1];"},
	{"query3", "txq.normalized_coords.b32 %o0, [%rd1]; txq.filter_mode.b32 %o1, [%rd1]; "
		   "txq.addr_mode_1.b32 %o2, [%rd1]; txq.num_samples.b32 %o3, [%rd1];"},
	{"type", "istypep.texref %p1, %rd1; selp.u32 %o0, 1, 0, %p1; istypep.surfref %p1, %rd1; "
		 "selp.u32 %o1, 1, 0, %p1; istypep.samplerref %p1, %rd1; selp.u32 %o2, 1, 0, %p1;"},
};

/* ---- formats --------------------------------------------------------------------------- */

/* Four channels of each integer format, and what they are as integers and as floats. */
TEST("integers are read as they are, or as floats from 0 or -1 to 1")
{
	static const struct {
		uint8_t channel, size;
		int values[4];
		double divisor; /* 0: always integers */
	} formats[] = {
		{SG_CHANNEL_UINT8, 1, {0, 1, 127, 255}, 255},
		{SG_CHANNEL_SINT8, 1, {0, -128, 127, -1}, 127},
		{SG_CHANNEL_UINT16, 2, {0, 1, 32768, 65535}, 65535},
		{SG_CHANNEL_SINT16, 2, {0, -32768, 32767, -1}, 32767},
		{SG_CHANNEL_UINT32, 4, {0, 1, -1, 123456789}, 0},
		{SG_CHANNEL_SINT32, 4, {0, -1, INT32_MIN, INT32_MAX}, 0},
	};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;

	device_open(&device);
	module = load_kernels(&device, kernels);
	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
		struct sg_texture texture = {.image = {.channel = formats[f].channel,
						       .channels = 4,
						       .element = 4 * formats[f].size}};
		char *memory = add_level(&device, &texture.image, 1, 1, 1);

		for (int i = 0; i < 4; i++)
			memcpy(memory + i * formats[f].size, &formats[f].values[i],
			       formats[f].size);
		samples.count = 1;
		run_samples(&device, module, "u2d", add_texture(&device, &texture), &samples);
		for (int i = 0; i < 4; i++)
			CHECK_INT(samples.out[0][i].i, formats[f].values[i]);
		if (formats[f].divisor == 0)
			continue;
		texture.sampler.reads_floats = true;
		run_samples(&device, module, "t2d", add_texture(&device, &texture), &samples);
		for (int i = 0; i < 4; i++)
			CHECK(samples.out[0][i].f ==
			      (float)fmax(formats[f].values[i] / formats[f].divisor, -1));
	}
}

TEST("channels that an image lacks are 0, 0 and 1")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 1, 1, 1);
	samples.count = 1;
	run_samples(&device, module, "t2d", add_texture(&device, &texture), &samples);
	CHECK(samples.out[0][1].f == 0 && samples.out[0][2].f == 0 && samples.out[0][3].f == 1);
	texture.image.channel = SG_CHANNEL_UINT32;
	run_samples(&device, module, "u2d", add_texture(&device, &texture), &samples);
	CHECK(samples.out[0][1].u == 0 && samples.out[0][2].u == 0 && samples.out[0][3].u == 1);
}

TEST("sRGB texels are linear before they are filtered; the fourth channel is linear already")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_UINT8, .channels = 4, .element = 4},
		.sampler = {.reads_floats = true, .is_srgb = true, .is_linear = true}};
	static const uint8_t left[4] = {0, 5, 128, 128}, right[4] = {255, 5, 255, 0};
	char *memory;

	device_open(&device);
	module = load_kernels(&device, kernels);
	memory = add_level(&device, &texture.image, 2, 1, 1);
	memcpy(memory, left, 4);
	memcpy(memory + 4, right, 4);
	memset(texture.sampler.address, SG_ADDRESS_CLAMP, 3);
	samples.count = 1;
	samples.in[0][0].f = 1;
	samples.in[0][1].f = 0.5f;
	run_samples(&device, module, "t2d", add_texture(&device, &texture), &samples);
	check_near((double)samples.out[0][0].f, 0.5, "sRGB", &samples.in[0][0].f);
	check_near((double)samples.out[0][1].f, 5 / 255.0 / 12.92, "sRGB", &samples.in[0][0].f);
	check_near((double)samples.out[0][2].f, 0.5 + pow((128 / 255.0 + 0.055) / 1.055, 2.4) / 2,
		   "sRGB", &samples.in[0][0].f);
	check_near((double)samples.out[0][3].f, 128 / 255.0 / 2, "sRGB", &samples.in[0][0].f);
}

TEST("results of 16 bits, in pairs and single, from floats of 16 bits")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	static const uint16_t halves[4] = {0x3c00, 0xc000, 0x3555, 0x7bff};
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_HALF, .channels = 4, .element = 8}};

	device_open(&device);
	module = load_kernels(&device, kernels);
	memcpy(add_level(&device, &texture.image, 1, 1, 1), halves, sizeof(halves));
	samples.count = 1;
	run_samples(&device, module, "t2d", add_texture(&device, &texture), &samples);
	CHECK(samples.out[0][0].f == 1 && samples.out[0][1].f == -2 &&
	      samples.out[0][3].f == 65504);
	for (int i = 0; i < 2; i++) {
		run_samples(&device, module, i ? "halves" : "pairs", add_texture(&device, &texture),
			    &samples);
		CHECK_INT(samples.out[0][0].u, 0xc0003c00);
		CHECK_INT(samples.out[0][1].u, 0x7bff3555);
	}
}

/* ---- forms ----------------------------------------------------------------------------- */

TEST("an offset moves the texels before the address mode applies")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 8, 8, 1);
	handle = add_texture(&device, &texture);
	samples.count = 1;
	samples.in[0][0].f = 3.5f;
	samples.in[0][1].f = 6.5f;
	samples.in[0][2].i = -2;
	samples.in[0][3].i = 5;
	run_samples(&device, module, "offset", handle, &samples);
	CHECK(samples.out[0][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 7, 0));
	run_samples(&device, module, "offset1d", handle, &samples);
	CHECK(samples.out[0][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 0, 0));
}

TEST("a gather returns one channel of four texels, counter-clockwise from the lower left")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture = {
		.image = {.channel = SG_CHANNEL_FLOAT, .channels = 4, .element = 16},
		.sampler = {.address = {SG_ADDRESS_CLAMP, SG_ADDRESS_CLAMP}}};
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	add_level(&device, &texture.image, 4, 4, 2);
	for (uint32_t i = 0; i < 4 * 4 * 2 * 4; i++)
		((float *)(void *)texel_at(&texture.image, 0, i / 4 % 4, i / 16 % 4,
					   i / 64))[i % 4] = (float)i;
	texture.image.is_layered = true;
	handle = add_texture(&device, &texture);
	samples.count = 2;
	for (int i = 0; i < 2; i++) {
		samples.in[i][0].f = i ? 0 : 2.1f;
		samples.in[i][1].f = i ? 4 : 1.9f;
	}
	run_samples(&device, module, "gather_r", handle, &samples);
	/* Columns 1 and 2, rows 1 and 2. */
	CHECK_INT(samples.out[0][0].f, 4 * (2 * 4 + 1));
	CHECK_INT(samples.out[0][1].f, 4 * (2 * 4 + 2));
	CHECK_INT(samples.out[0][2].f, 4 * (1 * 4 + 2));
	CHECK_INT(samples.out[0][3].f, 4 * (1 * 4 + 1));
	for (int i = 0; i < 4; i++)
		CHECK_INT(samples.out[1][i].f, 4 * (3 * 4));
	run_samples(&device, module, "gather_a", handle, &samples);
	CHECK_INT(samples.out[0][0].f, 4 * (2 * 4 + 1) + 3);
	samples.in[0][0].i = 1;
	samples.in[0][1].f = samples.in[0][2].f = 2;
	run_samples(&device, module, "gather_layer", handle, &samples);
	CHECK_INT(samples.out[0][3].f, 64 + 4 * (1 * 4 + 1) + 1);
}

TEST("a fetch reports resident memory, and takes vector registers")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 3, 3, 1);
	handle = add_texture(&device, &texture);
	samples.count = 40;
	for (uint32_t i = 0; i < samples.count; i++) {
		samples.in[i][0].f = (float)(i % 3);
		samples.in[i][1].f = (float)(i / 3 % 3);
	}
	run_samples(&device, module, "resident", handle, &samples);
	for (uint32_t i = 0; i < samples.count; i++) {
		CHECK(samples.out[i][0].f ==
		      *(float *)(void *)texel_at(&texture.image, 0, i % 3, i / 3 % 3, 0));
		CHECK_INT(samples.out[i][1].u, 1);
	}
	run_samples(&device, module, "vectors", handle, &samples);
	CHECK(samples.out[4][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 1, 0));
	CHECK(samples.out[4][3].f == 1);
}

TEST("queries describe a texture, and handles have a type")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture, surface;
	uint64_t handle, other;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = mipmap(&device);
	surface = float_texture(&device, 9, 7, 5);
	surface.image.is_layered = true;
	handle = add_texture(&device, &surface);
	samples.count = 1;
	run_samples(&device, module, "query", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 9);
	CHECK_INT(samples.out[0][1].u, 7);
	CHECK_INT(samples.out[0][2].u, 1);
	CHECK_INT(samples.out[0][3].u, 5);
	handle = add_texture(&device, &texture);
	run_samples(&device, module, "query2", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 8);
	CHECK_INT(samples.out[0][1].u, 4);
	CHECK_INT(samples.out[0][2].u, 0x20);
	CHECK_INT(samples.out[0][3].u, 1);
	run_samples(&device, module, "query3", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 1);
	CHECK_INT(samples.out[0][1].u, 0);
	CHECK_INT(samples.out[0][2].u, SG_ADDRESS_CLAMP);
	CHECK_INT(samples.out[0][3].u, 1);
	run_samples(&device, module, "type", handle, &samples);
	CHECK(samples.out[0][0].u == 1 && samples.out[0][1].u == 0 && samples.out[0][2].u == 0);
	surface.is_surface = true;
	other = add_texture(&device, &surface);
	run_samples(&device, module, "type", other, &samples);
	CHECK(samples.out[0][0].u == 0 && samples.out[0][1].u == 1 && samples.out[0][2].u == 0);
}

/* ---- linear memory, references, handles ------------------------------------------------ */

TEST("linear memory is read as it is now; outside of it a fetch is 0")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture = {.image = {.channel = SG_CHANNEL_UINT32,
					       .channels = 1,
					       .element = 4,
					       .is_linear = true}};
	struct sg_grid_result result;
	uint32_t *memory;
	uint64_t handle;

	device_open(&device);
	module = load_kernels(&device, kernels);
	memory = (uint32_t *)(void *)add_level(&device, &texture.image, 100, 1, 1);
	handle = add_texture(&device, &texture);
	memory[99] = 17;
	samples.count = 4;
	samples.in[0][0].i = 99;
	samples.in[1][0].i = 100;
	samples.in[2][0].i = -1;
	samples.in[3][0].i = INT32_MIN;
	run_samples(&device, module, "i1d", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 17);
	for (int i = 1; i < 4; i++)
		CHECK_INT(samples.out[i][0].u, 0);
	memory[99] = 18;
	run_samples(&device, module, "i1d", handle, &samples);
	CHECK_INT(samples.out[0][0].u, 18);
	sg_memory_deny(device.machine, address_of(memory), 512);
	CHECK_INT(run_samples_for(&device, module, "i1d", handle, &samples, &result), -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_ILLEGAL_ADDRESS);
}

static void check_fault(struct device *device, struct sg_module *module, uint64_t handle,
			const char *text)
{
	static struct samples samples;
	struct sg_grid_result result;

	samples.count = 1;
	CHECK_INT(run_samples_for(device, module, "t2d", handle, &samples, &result), -EFAULT);
	CHECK_INT(sg_fault_code(result.fault.kind), 700);
	if (strncmp(result.fault.text, text, strlen(text)) != 0)
		TAP_FAIL("the fault is '%s'", result.fault.text);
}

TEST("a handle that is not a texture's is a fault")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	struct sg_texture texture;
	uint64_t handle, other, freed;

	device_open(&device);
	module = load_kernels(&device, kernels);
	texture = float_texture(&device, 3, 3, 1);
	check_fault(&device, module, 0, "invalid texture at 0x0 in kernel t2d");
	check_fault(&device, module, UINT64_MAX, "invalid texture");
	check_fault(&device, module, address_of(device.arena), "invalid texture");
	handle = add_texture(&device, &texture);
	CHECK_INT(sg_texture_remove(device.machine, handle), 0);
	CHECK_INT(sg_texture_remove(device.machine, handle), -ENOENT);
	check_fault(&device, module, handle, "invalid texture");
	other = add_texture(&device, &texture);
	CHECK(other != handle);
	freed = add_texture(&device, &texture);
	check_fault(&device, module, handle, "invalid texture");
	sg_texture_detach(device.machine, texture.image.levels[0].address, 4);
	check_fault(&device, module, freed, "invalid texture");
	texture.is_surface = true;
	check_fault(&device, module, add_texture(&device, &texture), "invalid texture");
}

TEST("lanes of a warp may use different textures")
{
	static const struct sample_kernel each[] = {
		{"each", "ld.u64 %rd3, [%rd0+8]; tex.1d.v4.f32.s32 " FLOATS ", [%rd3, {%r0}];"}};
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	uint64_t handles[8];

	device_open(&device);
	module = load_kernels(&device, each);
	for (uint32_t i = 0; i < 8; i++) {
		struct sg_texture texture = float_texture(&device, 4 + i, 1, 1);

		*(float *)(void *)texel_at(&texture.image, 0, 1, 0, 0) = (float)i;
		handles[i] = add_texture(&device, &texture);
	}
	samples.count = 64;
	for (uint32_t i = 0; i < samples.count; i++) {
		samples.in[i][0].i = 1;
		memcpy(&samples.in[i][2], &handles[i * 5 % 8], 8);
	}
	run_samples(&device, module, "each", 0, &samples);
	for (uint32_t i = 0; i < samples.count; i++)
		CHECK_INT(samples.out[i][0].f, i * 5 % 8);
}

/* One kernel names a reference, the other passes its address. */
static const char references[] =
	PTX_HEADER ".global .texref image;\n.global .surfref other;\n"
		   ".visible .entry named" SAMPLE_KERNEL_INPUTS
		   "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [image, {%f0, %f1}];" SAMPLE_KERNEL_END
		   ".visible .entry address" SAMPLE_KERNEL_INPUTS "mov.u64 %rd3, image;"
		   "tex.2d.v4.f32.f32 {%o0, %o1, %o2, %o3}, [%rd3, {%f0, %f1}];" SAMPLE_KERNEL_END;

TEST("references of a module have images once the host assigns them")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct sg_texture texture;
	struct sg_grid_result result;
	uint64_t handle = 0, none = 0;

	device_open(&device);
	module = device_load(&device, references);
	CHECK_INT(sg_module_reference(module, "image", true, &none), -ENOENT);
	CHECK_INT(sg_module_reference(module, "other", true, &none), 0);
	CHECK_INT(sg_module_reference(module, "image", false, &handle), 0);
	samples.count = 1;
	CHECK_INT(run_samples_for(&device, module, "named", 0, &samples, &result), -EFAULT);
	CHECK_INT(result.fault.kind, SG_FAULT_INVALID_TEXTURE);
	texture = float_texture(&device, 3, 3, 1);
	CHECK_INT(sg_texture_set(device.machine, handle, &texture), 0);
	CHECK_INT(sg_texture_set(device.machine, 12345, &texture), -ENOENT);
	samples.in[0][0].f = samples.in[0][1].f = 1;
	run_samples(&device, module, "named", 0, &samples);
	CHECK(samples.out[0][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 1, 0));
	run_samples(&device, module, "address", 0, &samples);
	CHECK(samples.out[0][0].f == *(float *)(void *)texel_at(&texture.image, 0, 1, 1, 0));
}

/* ---- rejected forms -------------------------------------------------------------------- */

static const struct {
	const char *declarations, *body, *reason;
} rejected[] = {
	{"", "tex.2d.v4.f32.f32 " FLOATS ", [%rd1, {%f0, %f1}], %f2;",
	 "line 20: unsupported comparison of depths by 'tex.2d.v4.f32.f32' in function 'k'"},
	{"", "tex.2dms.v4.f32.s32 " FLOATS ", [%rd1, {%r0, %r1, %r2, %r3}];",
	 "line 20: 'tex.2dms.v4.f32.s32' in function 'k' is not supported by the software device"},
	{".global .samplerref s = { filter_mode = linear };", "",
	 "line 4: samplers ('s') are not supported by the software device (.texmode_independent)"},
	{".global .texref a; .global .texref b;",
	 "tex.2d.v4.f32.f32 " FLOATS ", [a, b, {%f0, %f1}];",
	 "line 20: unsupported separate sampler (.texmode_independent) of 'tex.2d.v4.f32.f32' in "
	 "function 'k'"},
	{".visible .entry other(.param .texref a) { .reg .f32 %f<4>;"
	 " tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [a, {%f0}]; ret; }",
	 "",
	 "line 4: unsupported texture reference parameter 'a' (pass a texture object, .u64) in "
	 "function 'other'"},
};

TEST("forms that the device does not support are rejected with the reason")
{
	auto_device device;

	device_open(&device);
	for (size_t i = 0; i < sizeof(rejected) / sizeof(rejected[0]); i++) {
		gt_auto_strbuf text = GT_STRBUF_INIT;
		struct sg_module *module = NULL;
		struct gt_diag diag = {0};

		gt_strbuf_printf(&text, PTX_HEADER "%s\n.visible .entry k%s%s%s",
				 rejected[i].declarations, SAMPLE_KERNEL_INPUTS, rejected[i].body,
				 SAMPLE_KERNEL_END);
		CHECK(sg_module_load_text(device.machine, gt_strbuf_string(&text), text.length,
					  &module, &diag) < 0);
		CHECK_STR(diag.text, rejected[i].reason);
		sg_module_free(module);
	}
}

/* ---- threads --------------------------------------------------------------------------- */

struct replacer {
	struct device *device;
	struct sg_texture texture;
	uint64_t kept;
	int errors;
};

static void *replace_textures(void *argument)
{
	struct replacer *replacer = argument;
	struct sg_machine *machine = replacer->device->machine;

	for (int i = 0; i < 2000; i++) {
		uint64_t handle = 0;

		replacer->errors += sg_texture_add(machine, &replacer->texture, &handle) != 0;
		replacer->errors +=
			sg_texture_set(machine, replacer->kept, &replacer->texture) != 0;
		replacer->errors += sg_texture_remove(machine, handle) != 0;
	}
	return NULL;
}

TEST("objects are added, replaced and removed while kernels sample")
{
	auto_device device;
	gt_auto(sg_module) struct sg_module *module;
	static struct samples samples;
	struct replacer replacer = {.device = &device};
	pthread_t thread;

	device_open(&device);
	module = load_kernels(&device, kernels);
	replacer.texture = float_texture(&device, 3, 3, 1);
	replacer.kept = add_texture(&device, &replacer.texture);
	samples.count = 256;
	CHECK_INT(pthread_create(&thread, NULL, replace_textures, &replacer), 0);
	for (int i = 0; i < 50; i++) {
		run_samples(&device, module, "t2d", replacer.kept, &samples);
		CHECK(samples.out[255][0].f == 0.25f);
	}
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(replacer.errors, 0);
	CHECK_INT(sg_texture_remove(device.machine, replacer.kept), 0);
}

TEST_MAIN
