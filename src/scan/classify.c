/*
 * classify.c
 *		Which kernel marks the bytes of interest.
 */
#include "scan.h"

#include "kernels.h"

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
