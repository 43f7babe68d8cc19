/*
 * classify.c
 *		Which kernel marks the bytes of interest.
 */
#include "scan.h"

#include "kernels.h"

const uint8_t scan_json_by_low[16] = {
	[0x0] = SCAN_JSON_BLANK,
	[0x9] = SCAN_JSON_LINE_SPACE,
	[0xa] = SCAN_JSON_LINE_SPACE | SCAN_JSON_COLON,
	[0xb] = SCAN_JSON_BRACKET,
	[0xc] = SCAN_JSON_COMMA,
	[0xd] = SCAN_JSON_LINE_SPACE | SCAN_JSON_BRACKET
};

const uint8_t scan_json_by_high[16] = {
	[0x0] = SCAN_JSON_LINE_SPACE,
	[0x2] = SCAN_JSON_BLANK | SCAN_JSON_COMMA,
	[0x3] = SCAN_JSON_COLON,
	[0x5] = SCAN_JSON_BRACKET,
	[0x7] = SCAN_JSON_BRACKET
};

const ScanKernel *const scan_kernels[] = {
#if defined(__x86_64__)
	&scan_kernel_avx2,
	&scan_kernel_sse2,
#endif
#if defined(__aarch64__)
	&scan_kernel_neon,
#endif
	&scan_kernel_portable,
	NULL
};

static const ScanKernel *current_kernel = NULL;

const ScanKernel *
scan_kernel(void)
{
	if (current_kernel == NULL)
	{
		const ScanKernel *const *kernel = scan_kernels;

		while (!(*kernel)->supported())
			kernel++;
		current_kernel = *kernel;
	}
	return current_kernel;
}

void
scan_kernel_set(const ScanKernel *kernel)
{
	current_kernel = kernel;
}
