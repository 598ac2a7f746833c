/* Made by attnc from attention.attn. Declared here are the kernels of its object. */
#ifndef ATTN_KERNELS_ATTENTION_ATTN_H
#define ATTN_KERNELS_ATTENTION_ATTN_H

#include "attn/runtime.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * full(
 *     q : f32[B, H, S, E],
 *     k : f32[B, H, T, E],
 *     v : f32[B, H, T, F]
 * ) -> (
 *     o : f32[B, H, S, F]
 * )
 *
 * Axes:
 *     B = dimension 0 of q
 *     H = dimension 1 of q
 *     S = dimension 2 of q
 *     E = dimension 3 of q
 *     T = dimension 2 of k
 *     F = dimension 3 of v
 */
attn_status full(attn_context *context, const DLTensor *q, const DLTensor *k,
                 const DLTensor *v, DLTensor *o);

/** Sets *bytes to the workspace that a call of full with these arguments needs. */
attn_status full_workspace(attn_context *context, const DLTensor *q,
                           const DLTensor *k, const DLTensor *v, DLTensor *o,
                           size_t *bytes);

/**
 * causal(
 *     q : f32[B, H, S, E],
 *     k : f32[B, H, T, E],
 *     v : f32[B, H, T, F]
 * ) -> (
 *     o : f32[B, H, S, F]
 * )
 *
 * Axes:
 *     B = dimension 0 of q
 *     H = dimension 1 of q
 *     S = dimension 2 of q
 *     E = dimension 3 of q
 *     T = dimension 2 of k
 *     F = dimension 3 of v
 */
attn_status causal(attn_context *context, const DLTensor *q, const DLTensor *k,
                   const DLTensor *v, DLTensor *o);

/** Sets *bytes to the workspace that a call of causal with these arguments needs. */
attn_status causal_workspace(attn_context *context, const DLTensor *q,
                             const DLTensor *k, const DLTensor *v, DLTensor *o,
                             size_t *bytes);

/**
 * causal_end(
 *     q : f32[B, H, S, E],
 *     k : f32[B, H, T, E],
 *     v : f32[B, H, T, F]
 * ) -> (
 *     o : f32[B, H, S, F]
 * )
 *
 * Axes:
 *     B = dimension 0 of q
 *     H = dimension 1 of q
 *     S = dimension 2 of q
 *     E = dimension 3 of q
 *     T = dimension 2 of k
 *     F = dimension 3 of v
 */
attn_status causal_end(attn_context *context, const DLTensor *q,
                       const DLTensor *k, const DLTensor *v, DLTensor *o);

/** Sets *bytes to the workspace that a call of causal_end with these arguments needs. */
attn_status causal_end_workspace(attn_context *context, const DLTensor *q,
                                 const DLTensor *k, const DLTensor *v,
                                 DLTensor *o, size_t *bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* ATTN_KERNELS_ATTENTION_ATTN_H */
