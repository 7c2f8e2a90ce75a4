/* The C ABI of restride: copy a strided N-d tensor into any other layout at the speed of a plain copy.
 *
 * C99, no dependencies, callable from anything that calls C. Every structure starts with its own size, so that it
 * can grow without breaking callers: initialise with RESTRIDE_TENSOR_INIT / RESTRIDE_OPTIONS_INIT /
 * RESTRIDE_EXECUTOR_INIT and set what you need. No function lets an exception out. Functions that can fail return a
 * restride_status; the words are in restride_last_error(). NULL where a pointer is required, ranks and sizes out of
 * range and unknown enum values are answered by a status, never by a crash; the memory behind valid-looking pointers
 * is the caller's promise. All functions may be called from any number of threads at once.
 *
 * Example: examples/c_example.c
 */
#ifndef RESTRIDE_RESTRIDE_H
#define RESTRIDE_RESTRIDE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RESTRIDE_API __attribute__((visibility("default")))
#else
#define RESTRIDE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. The values are those of restride::ErrorCode and never change. */
typedef enum restride_status {
  RESTRIDE_OK = 0,
  RESTRIDE_INVALID_ARGUMENT = 1, /* a value that no call accepts: NULL, a negative extent, a rank above 64 */
  RESTRIDE_SHAPE = 2,            /* shapes, axes or extents that do not fit each other */
  RESTRIDE_OVERLAP = 3,          /* a destination that writes an element twice, or overlaps its source */
  RESTRIDE_CAST = 4,             /* a conversion that does not exist */
  RESTRIDE_PARSE = 5,            /* text that does not follow its format */
  RESTRIDE_RANGE = 6,            /* sizes whose product does not fit 63 bits, or more than 2^60 bytes */
  RESTRIDE_DEVICE = 7,           /* wrong device, no device, or a device and host mixture */
  RESTRIDE_OUT_OF_MEMORY = 8,
  RESTRIDE_IO = 9,
  RESTRIDE_UNSUPPORTED = 10, /* valid, but not built into this library (also: a newer header than library) */
  RESTRIDE_INTERNAL = 11,    /* a defect in restride: please report it */
  RESTRIDE_AGREEMENT = 12,   /* ranks that called with different arguments (restride/distributed.h) */
  RESTRIDE_DEADLINE = 13     /* a rank that did not come in time */
} restride_status;

/* Element types. The values are those of restride::DType and never change. */
typedef enum restride_dtype {
  RESTRIDE_BOOL = 0,
  RESTRIDE_U8 = 1,
  RESTRIDE_U16 = 2,
  RESTRIDE_U32 = 3,
  RESTRIDE_U64 = 4,
  RESTRIDE_I8 = 5,
  RESTRIDE_I16 = 6,
  RESTRIDE_I32 = 7,
  RESTRIDE_I64 = 8,
  RESTRIDE_F16 = 9,
  RESTRIDE_BF16 = 10,
  RESTRIDE_F32 = 11,
  RESTRIDE_F64 = 12,
  RESTRIDE_F8E4M3 = 13,
  RESTRIDE_F8E5M2 = 14,
  RESTRIDE_C64 = 15,
  RESTRIDE_C128 = 16,
  RESTRIDE_BYTES = 17 /* opaque elements of element_bytes each: they move, they never convert */
} restride_dtype;

typedef enum restride_device {
  RESTRIDE_DEVICE_AUTO = 0, /* found from the pointers */
  RESTRIDE_DEVICE_CPU = 1,
  RESTRIDE_DEVICE_CUDA = 2
} restride_device;

/* Memory and where its elements lie in it. Modes are listed outermost first, as NumPy prints shapes.
 * A source is never written through `data`. Nothing is kept after a call returns: `extents` and `strides_bytes`
 * may live on the caller's stack. */
typedef struct restride_tensor {
  size_t struct_size;           /* sizeof(restride_tensor) */
  void* data;                   /* any alignment; NULL only where there is nothing to copy, or to make a plan */
  int32_t dtype;                /* a restride_dtype */
  int32_t rank;                 /* 0 to 64 */
  const int64_t* extents;       /* `rank` values >= 0 */
  const int64_t* strides_bytes; /* `rank` values in bytes, any sign, 0 in a source only; NULL: contiguous, C order */
  int64_t element_bytes;        /* RESTRIDE_BYTES: bytes of one element; others: 0, or the dtype's own size */
  int64_t offset_bytes;         /* of element (0, ..., 0) from `data`; to copy, at most 2^60 either way */
  int64_t align_bytes;          /* for plans: a power of two that divides every `data` to come; 0: nothing on the CPU,
                                   on CUDA the largest power of two up to 16 that divides the element's size */
} restride_tensor;

#define RESTRIDE_TENSOR_INIT \
  { sizeof(restride_tensor), NULL, RESTRIDE_F32, 0, NULL, NULL, 0, 0, 0 }

/* A tensor with the lists that it points to. The functions below make it, so that nobody works out strides. 1 KiB; on
 * the stack is fine. Pass `&view.tensor` on. An assigned copy still points to the lists of the first. */
typedef struct restride_view {
  size_t struct_size; /* sizeof(restride_view) */
  restride_tensor tensor;
  int64_t extents[64];
  int64_t strides_bytes[64];
} restride_view;

#define RESTRIDE_VIEW_INIT                                  \
  {                                                         \
    sizeof(restride_view), RESTRIDE_TENSOR_INIT, {0}, { 0 } \
  }

/* Which mode of a dense tensor is the fastest. */
typedef enum restride_order {
  RESTRIDE_ROW_MAJOR = 0,   /* the last one, as in C and NumPy */
  RESTRIDE_COLUMN_MAJOR = 1 /* the first one, as in Fortran, Julia, ggml's ne and cuTENSOR */
} restride_order;

/* A thread pool of the caller's. `parallel(context, tasks, body, body_arg)` calls body(body_arg, i) once for every i
 * in [0, tasks), on any threads, and returns when all are done. It must not throw or longjmp. Where several threads
 * copy with one executor, `parallel` is called by all of them at once. A task needs 512 KiB of stack. */
typedef struct restride_executor {
  size_t struct_size; /* sizeof(restride_executor) */
  void (*parallel)(void* context, int tasks, void (*body)(void* body_arg, int task), void* body_arg);
  void* context;
  int threads; /* how many tasks it runs side by side, >= 1; more than 4096 are never asked for */
} restride_executor;

#define RESTRIDE_EXECUTOR_INIT \
  { sizeof(restride_executor), NULL, NULL, 1 }

/* How a copy on the CPU asks the system for pages of a destination that has none yet: for whole pages inside the tensor
 * only. A refusal changes nothing. From 4 MiB on a copy finds out by itself that it writes to such memory, and takes
 * all of its pages at once. */
typedef enum restride_fresh {
  RESTRIDE_FRESH_OFF = 0,     /* nothing more than that */
  RESTRIDE_FRESH_ADVISE = 1,  /* huge pages (MADV_HUGEPAGE) */
  RESTRIDE_FRESH_PREFAULT = 2 /* the same, and all pages before any copy (MADV_POPULATE_WRITE) */
} restride_fresh;

/* When a result will be read, which sets up to which size a CPU leaves it in the caches. */
typedef enum restride_result {
  RESTRIDE_RESULT_UNKNOWN = 0, /* up to a quarter of the cache that a thread may use */
  RESTRIDE_RESULT_SOON = 1,    /* it is read at once: up to half */
  RESTRIDE_RESULT_LATER = 2    /* it is not: only where it is small */
} restride_result;

/* How to plan and to run. NULL instead of options takes all defaults. */
typedef struct restride_options {
  size_t struct_size;                /* sizeof(restride_options) */
  int32_t device;                    /* a restride_device */
  int32_t cuda_device;               /* for a plan, which has no pointers: a number, or a RESTRIDE_*_DEVICE below */
  int32_t threads;                   /* CPU; 0: RESTRIDE_NUM_THREADS, then the cores this process is granted */
  int32_t measure;                   /* not 0: time the candidates once and keep the best (allocates scratch) */
  void* stream;                      /* CUDA: a cudaStream_t; NULL: the legacy default stream */
  const char* family;                /* force a family or a kernel, for tests and measurements; NULL: the planner's */
  const restride_executor* executor; /* CPU: run on the caller's pool; must outlive the run; NULL: ours */
  int32_t reshape;                   /* not 0: shapes may differ, and elements pair in C order as a reshape would */
  int32_t reserved;                  /* 0: the room that alignment leaves, kept for a later option */
  int32_t fresh_destination;         /* CPU: a restride_fresh */
  int32_t result;                    /* CPU: a restride_result */
} restride_options;

/* Options of a program that was built before `reshape` was there have a smaller struct_size, and pair in C order.
 * `reserved` does nothing. Any value but 0 is refused, so that a later version may give it a meaning in which 0 is what
 * happens today, without a larger structure; RESTRIDE_OPTIONS_INIT sets it. */

#define RESTRIDE_CURRENT_DEVICE (-1) /* the calling thread's current device */
#define RESTRIDE_MODEL_DEVICE (-2)   /* a model of an H200: plans without a GPU, to explain; running fails */

#define RESTRIDE_OPTIONS_INIT \
  { sizeof(restride_options), RESTRIDE_DEVICE_AUTO, RESTRIDE_CURRENT_DEVICE, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0 }

/* A decision made once. Immutable: run it from any number of threads at once. */
typedef struct restride_plan restride_plan;

/* The version of the library, "0.1.0". Static storage. */
RESTRIDE_API const char* restride_version(void);

/* "ok", "invalid argument", ...: the words for a status; "unknown status" for other values. Static storage. */
RESTRIDE_API const char* restride_status_name(restride_status status);

/* The message of the last call that failed on this thread, with the remedy; "" before the first.
 * Valid until the next failing call on the same thread; of more than 1023 bytes the middle is left out. */
RESTRIDE_API const char* restride_last_error(void);

/* Sends a log of slow paths to `sink`, each line with what to do about it; NULL turns it off. It is off from the start,
 * or goes to standard error with RESTRIDE_LOG=1 in the environment. Lines end with a NUL and no newline, and come one
 * at a time from any thread; the sink must not throw, longjmp or call restride_set_log. See <restride/log.hpp>. */
RESTRIDE_API void restride_set_log(void (*sink)(void* context, const char* line), void* context);

/* Bytes of one element of `dtype`; 0 for RESTRIDE_BYTES and for values that are no dtype. */
RESTRIDE_API int64_t restride_dtype_size(int32_t dtype);

/* The dtype of a name: the notation's ("f32", "b12"), NumPy's ("float32", "<f4", "|V12"), PyTorch's ("torch.half").
 * *element_bytes (may be NULL) gets the bytes of one element, which RESTRIDE_BYTES needs in a tensor.
 * Errors: RESTRIDE_PARSE, and the message names what may have been meant. */
RESTRIDE_API restride_status restride_dtype_parse(const char* name, int32_t* dtype, int64_t* element_bytes);

/* "f32"; "b" for RESTRIDE_BYTES, "?" for a value that is no dtype. Static storage. */
RESTRIDE_API const char* restride_dtype_name(int32_t dtype);

/* ---- Views. None touches memory: each fills *out, which RESTRIDE_VIEW_INIT has initialised, from `in` and leaves `in`
 * as it is; `in` may be &out->tensor. On failure *out is unchanged. Modes may be negative, from the end.
 * Errors: RESTRIDE_SHAPE and RESTRIDE_INVALID_ARGUMENT, which name the mode. Cost: below a microsecond. ---- */

/* Dense memory of these extents, of which `order` says the fastest mode. `data` is const, so that a source needs no
 * cast; it is written through only where the tensor is the dst of a copy. `element_bytes`: as in restride_tensor.
 * Example: restride_dense(&src, pixels, RESTRIDE_U8, 0, 3, extents, RESTRIDE_ROW_MAJOR) */
RESTRIDE_API restride_status restride_dense(restride_view* out, const void* data, int32_t dtype, int64_t element_bytes,
                                            int32_t rank, const int64_t* extents, int32_t order);

/* The same with strides in bytes of one's own. */
RESTRIDE_API restride_status restride_strided(restride_view* out, const void* data, int32_t dtype,
                                              int64_t element_bytes, int32_t rank, const int64_t* extents,
                                              const int64_t* strides_bytes);

/* Mode j of *out is mode axes[j] of `in`, as numpy.transpose; axes NULL (and count 0): all modes in reverse, which
 * makes row-major lists of those that have the fastest mode first. */
RESTRIDE_API restride_status restride_permute(restride_view* out, const restride_tensor* in, const int64_t* axes,
                                              int32_t count);

/* Python slices between commas, "8:16392,::-1": one a mode, the rest stays whole; a number keeps that index and drops
 * the mode. Errors: RESTRIDE_PARSE, too. */
RESTRIDE_API restride_status restride_slice(restride_view* out, const restride_tensor* in, const char* slices);

/* Reverses a mode. */
RESTRIDE_API restride_status restride_flip(restride_view* out, const restride_tensor* in, int32_t mode);

/* The same elements in C order under other extents; one may be -1, which is the rest. Errors: RESTRIDE_SHAPE where
 * no strides describe it: then the `reshape` of restride_options pairs the two in one copy. */
RESTRIDE_API restride_status restride_reshape(restride_view* out, const restride_tensor* in, const int64_t* extents,
                                              int32_t rank);

/* Repeats modes of extent 1, and new ones in front, as numpy.broadcast_to. For sources. */
RESTRIDE_API restride_status restride_broadcast(restride_view* out, const restride_tensor* in, const int64_t* extents,
                                                int32_t rank);

/* einops notation, "b (h s) c -> b h (s c)", with the sizes that it needs as text, "s=4" or "s=4,t=2" (NULL: none).
 * *source is `in` split and permuted. *result (may be NULL) is the dst of the copy: dense, with the modes of *source;
 * set its data, and its dtype where that is another. *merged (may be NULL) is the same memory as the pattern names it,
 * every parenthesis one mode. Errors: RESTRIDE_PARSE, too. */
RESTRIDE_API restride_status restride_rearrange(restride_view* source, restride_view* result, restride_view* merged,
                                                const restride_tensor* in, const char* pattern, const char* sizes);

/* Copies every element of `src` to the element of `dst` at the same place.
 *
 * Shape: equal, leading modes of extent 1 aside; with options->reshape only the element counts must agree, and elements
 * pair in C order.
 * Strides: bytes, any sign on both sides; zero only in `src`. Pointers need no alignment; without elements they may
 * be anything.
 * Memory: of dst only the elements are written; of src nothing before the first or behind the last is read, but bytes
 * that lie between elements less than 64 bytes apart may be; on a GPU also those next to an element, within 64 bytes.
 * Alias: dst may not overlap src (the identical view is a no-op) and may not write an element twice.
 * Cast: when the elements differ they are converted as docs/casts.md says; equal elements move bits untouched.
 * Stream: on CUDA ordered on options->stream and not synchronised; on the CPU done on return.
 * Errors: as their statuses say; all but RESTRIDE_DEVICE from a failed launch are found before a byte is written.
 * Stack: a copy on the CPU needs 512 KiB of the calling thread's; mind it in threads and fibers with small ones.
 * Threads: helpers of the process's own, with 1 MiB of stack each, started by the first copy that pays for them, asleep
 * between copies, ended with the process. A copy waits for no helper that has not begun, and where none can be started
 * the calling thread does all.
 * Cost: one read and one write of every byte; planning is cached. Source: restride::copy in <restride/copy.hpp>. */
RESTRIDE_API restride_status restride_copy(const restride_tensor* dst, const restride_tensor* src,
                                           const restride_options* options);

/* Makes a plan for these layouts; the `data` of both are ignored. On failure *plan is NULL.
 * Errors: as restride_copy, except overlap of src and dst, which is a matter of pointers.
 * Cost: microseconds. Destroy it with restride_plan_destroy. */
RESTRIDE_API restride_status restride_plan_create(restride_plan** plan, const restride_tensor* dst,
                                                  const restride_tensor* src, const restride_options* options);

/* Runs a plan on memory. Never allocates (but to start threads), prints or synchronises. `options` NULL takes the
 * threads, stream and executor that the plan was made with; otherwise those of `options`.
 * Stack: on the CPU a run needs 512 KiB of the calling thread's.
 * The caller does the checks of restride_copy: alignment as promised, no overlap of dst and src.
 * Errors: RESTRIDE_INVALID_ARGUMENT (NULL), RESTRIDE_DEVICE (the launch failed). */
RESTRIDE_API restride_status restride_plan_run(const restride_plan* plan, void* dst, const void* src,
                                               const restride_options* options);

/* Runs a plan on `count` pairs of memory: dst[i] from src[i]. The two arrays lie on the host and are read before the
 * call returns. Nothing is allocated. On the CPU one team shares all pairs; on CUDA a launch on the stream takes
 * 200 to 8,000 of them, or one, as the kernel allows (docs/cuda.md). No dst may overlap another pair's dst or any src.
 * Errors: RESTRIDE_INVALID_ARGUMENT, before a byte is written (a negative count, an array or a pointer in it that is
 * NULL, a pointer less aligned than promised); RESTRIDE_DEVICE (a launch failed; those before it have been made). */
RESTRIDE_API restride_status restride_plan_run_many(const restride_plan* plan, void* const* dst, const void* const* src,
                                                    int64_t count, const restride_options* options);

/* Frees a plan that no thread is running any more. NULL is fine. */
RESTRIDE_API void restride_plan_destroy(restride_plan* plan);

/* The four functions below write text into `buffer` as snprintf does: at most `capacity` bytes with the ending NUL,
 * cut where it does not fit; *length (may be NULL) gets the length of the whole text without the NUL. `buffer` may be
 * NULL when capacity is 0. */

/* Canonical form, choice, parameters, predicted bytes, sectors and time, and why others lost. */
RESTRIDE_API restride_status restride_plan_explain(const restride_plan* plan, char* buffer, size_t capacity,
                                                   size_t* length);

/* One JSON object; restride_plan_deserialize makes the same plan from it. */
RESTRIDE_API restride_status restride_plan_serialize(const restride_plan* plan, char* buffer, size_t capacity,
                                                     size_t* length);

/* The family of the kernel that won, "tile". */
RESTRIDE_API restride_status restride_plan_family(const restride_plan* plan, char* buffer, size_t capacity,
                                                  size_t* length);
/* The kernel of it, "tile/aligned". */
RESTRIDE_API restride_status restride_plan_kernel(const restride_plan* plan, char* buffer, size_t capacity,
                                                  size_t* length);

/* A tensor's layout in the notation, "f32 (8,64):(64,1)". */
RESTRIDE_API restride_status restride_layout_print(const restride_tensor* tensor, char* buffer, size_t capacity,
                                                   size_t* length);

/* On failure *plan is NULL. Errors: RESTRIDE_PARSE, also of more than 1 MiB, and those of restride_plan_create. */
RESTRIDE_API restride_status restride_plan_deserialize(restride_plan** plan, const char* json);

/* Reads a layout in the notation into *tensor, whose extents and strides_bytes then point to the two arrays given
 * here, of `capacity` values each; `data` and `align_bytes` become NULL and 0.
 * Errors: RESTRIDE_PARSE (the message names the column), RESTRIDE_SHAPE when the rank exceeds `capacity`. */
RESTRIDE_API restride_status restride_layout_parse(const char* text, restride_tensor* tensor, int64_t* extents,
                                                   int64_t* strides_bytes, int32_t capacity);

/* The bytes that a tensor's elements occupy, [*first, *last) relative to its `data`; 0 and 0 when it is empty.
 * Errors: RESTRIDE_RANGE and whatever else is wrong with the layout. */
RESTRIDE_API restride_status restride_byte_range(const restride_tensor* tensor, int64_t* first, int64_t* last);

#ifdef __cplusplus
}
#endif

#endif /* RESTRIDE_RESTRIDE_H */
