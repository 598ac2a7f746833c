/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface between a program and the kernels that attnc makes: status
 * codes, tensors (DLPack's), and the context of a call. C11 and C++.
 * It knows no kernel: each kernel has its own generated header.
 */
#ifndef ATTN_RUNTIME_H
#define ATTN_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

/* DLPack's structures: the user's header where there is one (0.6 or newer),
 * included before this one or found on the include path; otherwise our own,
 * equal in layout. ATTN_OWN_DLPACK keeps the include path out of it. */
#if !defined(DLPACK_DLPACK_H_) && !defined(ATTN_OWN_DLPACK) &&                 \
    defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifdef DLPACK_DLPACK_H_
#if defined(DLPACK_VERSION) && DLPACK_VERSION < 60
#error "attn/runtime.h needs DLPack 0.6 or newer"
#endif
#else
#ifdef __cplusplus
extern "C" {
#endif
/** Where memory lies. */
typedef enum {
  kDLCPU = 1,          /**< ordinary memory */
  kDLCUDA = 2,         /**< memory of a CUDA device */
  kDLCUDAHost = 3,     /**< memory of the host, pinned by CUDA */
  kDLCUDAManaged = 13, /**< memory that CUDA moves on demand */
} DLDeviceType;

/** A device: its type and its number among those of the type. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

/** Kinds of element; attn_dtype_code has those that DLPack 0.6 lacks. */
typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
} DLDataTypeCode;

/** The type of an element: kind, width in bits, and lanes (here always 1). */
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/** A tensor in memory that someone else owns. */
typedef struct {
  void *data;       /**< may be null when there are no elements */
  DLDevice device;  /**< where data lies */
  int32_t ndim;     /**< number of dimensions */
  DLDataType dtype; /**< type of the elements */
  int64_t *shape;   /**< ndim extents */
  int64_t *strides; /**< ndim strides in elements; null: row-major, compact */
  uint64_t byte_offset; /**< from data to the first element, in bytes */
} DLTensor;
#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* DLPACK_DLPACK_H_ */

#ifdef __cplusplus
#define ATTN_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define ATTN_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/** Version of this interface. A kernel serves contexts of its own version. */
#define ATTN_ABI_VERSION 1u

/** A caller's workspace must be aligned to this many bytes. */
#define ATTN_WORKSPACE_ALIGNMENT 64

/** What a kernel returns. Unless it is ATTN_OK, no result was written. */
typedef enum attn_status {
  ATTN_OK = 0,
  /** An argument, the context or the workspace does not fit; see message. */
  ATTN_BAD_ARGUMENT = 1,
  /** The workspace could not be had. */
  ATTN_OUT_OF_MEMORY = 2,
  /** This processor cannot run the kernel, nor can any variant beside it. */
  ATTN_UNSUPPORTED = 3,
  /** A fault of the compiler. Please report it. */
  ATTN_INTERNAL = 4,
} attn_status;

/** Codes of DLDataType.code that DLPack 0.6 lacks, with DLPack's numbers. */
typedef enum attn_dtype_code {
  ATTN_DTYPE_BOOL = 6,           /**< 8 bits, 0 or 1 */
  ATTN_DTYPE_FLOAT8_E4M3 = 8,    /**< with infinities */
  ATTN_DTYPE_FLOAT8_E4M3FN = 10, /**< without infinities; `f8e4m3` in a spec */
  ATTN_DTYPE_FLOAT8_E5M2 = 12,   /**< `f8e5m2` in a spec */
} attn_dtype_code;

struct attn_context;

/** What starts kernels on CUDA devices; see attn/cuda.h. */
struct attn_cuda;

/** A piece of parallel work. `worker` says which worker runs it: two calls that
 * run at the same time have different workers. */
typedef void (*attn_task_fn)(void *data, int64_t task, int32_t worker);

/** Calls body(data, task, worker) once for each task in [0, tasks), with
 * 0 <= worker < context->threads, and returns when all have returned. Lower
 * tasks should start first: they are the heavier ones. */
typedef void (*attn_parallel_for_fn)(struct attn_context *context,
                                     int64_t tasks, attn_task_fn body,
                                     void *data);

/** Returns `bytes` bytes aligned to `align` (a power of two), or null. */
typedef void *(*attn_alloc_fn)(struct attn_context *context, size_t bytes,
                               size_t align);

/** Takes back what an attn_alloc_fn gave. */
typedef void (*attn_free_fn)(struct attn_context *context, void *memory);

/** How a call runs. One context serves any number of calls one after the other;
 * calls at the same time need one each. attn_context_init fills it; a zeroed
 * context with size, version and threads = 1 set is valid too (serial, and the
 * workspace must be given), and then nothing of the runtime library is used. */
typedef struct attn_context {
  uint32_t size;    /**< sizeof(attn_context) where the caller was compiled */
  uint32_t version; /**< ATTN_ABI_VERSION */
  int32_t threads;  /**< workers that parallel_for may use, at least 1 */
  int32_t reserved; /**< 0 */
  attn_parallel_for_fn parallel_for; /**< null: calls run on one thread */
  attn_alloc_fn alloc;    /**< null: workspace must be given; not of CUDA */
  attn_free_fn free;                 /**< null exactly when alloc is */
  void *workspace;        /**< used when not null, and then large enough */
  size_t workspace_bytes; /**< size of workspace; see NAME_workspace */
  void *stream;           /**< CUDA kernels are launched here */
  char *message;          /**< null, or where a failing call explains itself */
  size_t message_size;    /**< size of message; longer texts are cut */
  void *user;             /**< for the hooks; never touched */
  const struct attn_cuda *cuda; /**< starts CUDA kernels; others ignore it */
  /** Null, or 8 bytes that CUDA devices can write. When the stream has come to
   * the end of a call they hold null, or the text of a condition on data in the
   * device's memory that does not hold: then no result was written. */
  const char **fault;
} attn_context;

/** Fills `context`, of which the caller has `size` bytes (write
 * sizeof(attn_context)): every processor through OpenMP, memory from malloc,
 * the CUDA driver, no workspace, no message. */
attn_status attn_context_init(attn_context *context, size_t size);

/** Sets the number of threads for a context of attn_context_init; 0 means all
 * that OpenMP would take. Refuses negative numbers. */
attn_status attn_context_set_threads(attn_context *context, int32_t threads);

/** Columns that lie side by side in a packed weight: a cache line of f32. */
#define ATTN_PACK_COLUMNS 16

/** Lays a weight out as products read it, for a kernel that was compiled with
 * `--packed`. Bit d of `contracted` says that dimension d of `weight` is
 * contracted; the others count columns, row-major, a multiple of
 * ATTN_PACK_COLUMNS. Column c goes to packed[c / 16, ..., c % 16], with the
 * contracted dimensions in the middle. Both are f32 in ordinary memory, of any
 * strides; `packed` overlaps nothing, and kernels are fastest when it is compact
 * and begins at a multiple of 64 bytes. Refuses what does not fit, before
 * anything is written. */
attn_status attn_pack(attn_context *context, const DLTensor *weight,
                      uint64_t contracted, DLTensor *packed);

/** The name of a status, such as "ATTN_OK"; never null. */
const char *attn_status_name(attn_status status);

ATTN_STATIC_ASSERT(sizeof(attn_status) == 4, "a status is 32 bits wide");
ATTN_STATIC_ASSERT(sizeof(DLDataType) == 4, "DLPack's layout");
ATTN_STATIC_ASSERT(sizeof(DLDevice) == 8, "DLPack's layout");
ATTN_STATIC_ASSERT(sizeof(void *) != 8 || sizeof(DLTensor) == 48,
                   "DLPack's layout");
ATTN_STATIC_ASSERT(sizeof(void *) != 8 || sizeof(attn_context) == 104,
                   "version 1 of the context");
ATTN_STATIC_ASSERT(sizeof(void *) != 8 || offsetof(attn_context, fault) == 96,
                   "version 1 of the context");

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* ATTN_RUNTIME_H */
