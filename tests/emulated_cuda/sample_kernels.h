// Small correct kernels, by which the emulator is tested. All pointers are device memory.
#pragma once

#include <cuda_runtime.h>

namespace zero {

// to[b] = the sum of x[i] over the elements of block b of 256; n need not be a multiple.
cudaError_t block_sums(float* to, const float* x, int n, cudaStream_t stream);
// to (columns, rows) = the transpose of from (rows, columns).
cudaError_t transpose(float* to, const float* from, int rows, int columns, cudaStream_t stream);
// to[i] = a[i] + b[i].
cudaError_t add(float* to, const float* a, const float* b, int n, cudaStream_t stream);

// to[i] = x[i], moved 16 bytes at a time; n is a multiple of 4.
cudaError_t copy_by_four(float* to, const float* x, int n, cudaStream_t stream);

// For each thread of one block of (x, y, z) threads, and each of `blocks` blocks: its number, as it
// sees itself.
cudaError_t numbers(int* to, dim3 blocks, dim3 block, cudaStream_t stream);

// One block: to[0] = how many of x[0..n) are not zero, to[1] whether any is, to[2] whether all are.
cudaError_t block_votes(int* to, const int* x, int n, cudaStream_t stream);

// One warp: each row of to (8, 32) is what the lanes get: shuffles from lane 5, by xor 6, down by
// 3, up by 3, those within 8 lanes; then ballot, any, all of x != 0.
cudaError_t warp_words(int* to, const int* x, cudaStream_t stream);

// One warp: two groups of lanes meet a different number of times, then all of them.
cudaError_t uneven_groups(int* to, cudaStream_t stream);

// One block of n threads, `rounds` times: each passes its number to the next thread, by shared
// memory and two barriers. to[i] = (i - rounds) modulo n.
cudaError_t pass_round(int* to, int n, int rounds, cudaStream_t stream);

// Two lanes at a time exchange their numbers through shared memory and __syncwarp.
cudaError_t exchange_in_warp(int* to, cudaStream_t stream);

}  // namespace zero
