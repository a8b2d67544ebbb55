// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The table of sites has a bound, and keeps the first sites. */
#include "patch_probes.h"
#include "run/inject_sites.h"

enum {
	EXITS = 4096, /* of the kernel */
};

TEST("sites beyond the size of the table are not kept, those before it are")
{
	auto_patched patched = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_inject_sites *sites = NULL;
	struct gt_inject_site site = {.line = 0};

	gt_strbuf_puts(&text, ".version 7.8\n.target sm_75\n.address_size 64\n"
			      ".visible .entry k()\n{\n\t.reg .pred %p<2>;\n");
	for (unsigned i = 0; i < EXITS; i++)
		gt_strbuf_printf(&text, "\t@%%p1 exit;\n");
	gt_strbuf_puts(&text, "\tret;\n}\n");
	add_probe(&patched, "gpu/exit/k", NULL);
	if (!patch_text(&patched, gt_strbuf_string(&text), (struct gt_patch_options){0}))
		return;
	CHECK_INT(patched.result.sites.count, EXITS + 1);
	CHECK(!gt_inject_sites_new(&sites));
	for (unsigned i = 0; i <= GT_INJECT_MAX_SITES / EXITS; i++)
		gt_inject_sites_add(sites, patched.module, &patched.result);
	CHECK_INT(gt_inject_sites_kept(sites), GT_INJECT_MAX_SITES);
	CHECK(gt_inject_sites_get(sites, GT_INJECT_MAX_SITES - 1, &site));
	CHECK_STR(site.function, "k");
	CHECK_STR(site.text, "@%p1 exit;");
	CHECK(!gt_inject_sites_get(sites, GT_INJECT_MAX_SITES, &site));
	CHECK(gt_inject_sites_get(sites, EXITS, &site));
	CHECK_STR(site.text, "ret;");
	gt_inject_sites_free(sites);
}

TEST("a long instruction is shortened")
{
	auto_patched patched = {0};
	gt_auto_strbuf text = GT_STRBUF_INIT;
	struct gt_inject_sites *sites = NULL;
	struct gt_inject_site site = {.text = ""};

	gt_strbuf_puts(&text, ".version 7.8\n.target sm_75\n.address_size 64\n"
			      ".visible .entry k(.param .u64 p)\n{\n\t.reg .b64 %r");
	for (unsigned i = 0; i < 200; i++)
		gt_strbuf_putc(&text, 'r');
	gt_strbuf_puts(&text, "<2>;\n\tst.global.u32 [%r");
	for (unsigned i = 0; i < 200; i++)
		gt_strbuf_putc(&text, 'r');
	gt_strbuf_puts(&text, "1], 0;\n\tret;\n}\n");
	add_probe(&patched, "gpu/store", NULL);
	if (!patch_text(&patched, gt_strbuf_string(&text), (struct gt_patch_options){0}))
		return;
	CHECK(!gt_inject_sites_new(&sites));
	gt_inject_sites_add(sites, patched.module, &patched.result);
	CHECK(gt_inject_sites_get(sites, 0, &site));
	CHECK_INT(strlen(site.text), GT_INJECT_MAX_SITE_TEXT);
	CHECK(!strncmp(site.text, "st.global.u32 [%rrr", 19) && strstr(site.text, "rrr..."));
	gt_inject_sites_free(sites);
}

TEST_MAIN
