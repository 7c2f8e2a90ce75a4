/* The C ABI of restride's exchanges: tensors that lie over ranks in one distribution, and must lie in another.
 *
 * C99; link restride_distributed. The rules are those of restride.h: structures start with their own size and are
 * initialised by RESTRIDE_*_INIT, no function lets an exception out, a function that can fail returns a
 * restride_status. The words of a failure are in restride_distributed_last_error(), a thread's own. Distributions are
 * written as restride/distributed.hpp says: "(8192,512) as (block[0],*) over (4)".
 *
 * Example: tests/distributed/c_abi_test.cc
 */
#ifndef RESTRIDE_DISTRIBUTED_H
#define RESTRIDE_DISTRIBUTED_H

#include <stddef.h>
#include <stdint.h>

#include <restride/restride.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the bytes go; the values are those of restride::distributed::Method and never change. */
typedef enum restride_method {
  RESTRIDE_METHOD_AUTO = 0,      /* what the engine prefers */
  RESTRIDE_METHOD_DIRECT = 1,    /* each rank copies what it needs out of the others' memory */
  RESTRIDE_METHOD_MESSAGES = 2,  /* packed, sent, unpacked */
  RESTRIDE_METHOD_ALLTOALLV = 3, /* MPI: all packed, then one MPI_Ialltoallv */
  RESTRIDE_METHOD_ALLTOALLW = 4  /* MPI: one MPI_Ialltoallw of datatypes; one tensor, no cast */
} restride_method;

/* How to plan and run an exchange. NULL instead of options takes all defaults. */
typedef struct restride_exchange_options {
  size_t struct_size;           /* sizeof(restride_exchange_options) */
  int64_t deadline_ms;          /* how long any wait for other ranks may take; > 0 */
  int32_t method;               /* a restride_method, the same on all ranks */
  int32_t check_runs;           /* not 0: each run begins with 64 bytes from every rank */
  int32_t threads;              /* for the copies of one rank; 0: as restride_options.threads says */
  int32_t check_pairs;          /* not 0: bytes of every pair of ranks are compared before anything is sent */
  int64_t most_workspace_bytes; /* with messages: they are cut so that the workspace is at most this; 0: no bound */
  int32_t device;               /* where the memory of all ranks lies: a restride_device. RESTRIDE_DEVICE_AUTO: on GPUs
                                   with ranks of NCCL, else on the host */
  int32_t cuda_device;          /* this rank's GPU: a number, or a RESTRIDE_*_DEVICE */
} restride_exchange_options;

#define RESTRIDE_EXCHANGE_OPTIONS_INIT                                                                 \
  {                                                                                                    \
    sizeof(restride_exchange_options), 600000, RESTRIDE_METHOD_AUTO, 1, 1, 0, 0, RESTRIDE_DEVICE_AUTO, \
        RESTRIDE_CURRENT_DEVICE                                                                        \
  }

/* A tensor on one side of an exchange, as this rank has it. */
typedef struct restride_side {
  size_t struct_size;           /* sizeof(restride_side) */
  const char* distribution;     /* in the notation; the same on all ranks */
  int32_t dtype;                /* a restride_dtype */
  int32_t regions;              /* how many `local` are: as many as this rank has regions, or 0: dense memory */
  int64_t element_bytes;        /* RESTRIDE_BYTES: bytes of one element; others: 0 */
  const restride_tensor* local; /* where each region lies, all from one data pointer (their `data` is not read) */
} restride_side;

#define RESTRIDE_SIDE_INIT \
  { sizeof(restride_side), NULL, RESTRIDE_F32, 0, 0, NULL }

/* The message of the last call of this header that failed on this thread; "" before the first. */
RESTRIDE_API const char* restride_distributed_last_error(void);

/* The ranks of an exchange, as one of them sees them. */
typedef struct restride_comm restride_comm;

/* `count` ranks that are threads of this process: comms[r] is for the thread that is rank r. Each is destroyed by
 * restride_comm_destroy; the last one ends them all. */
RESTRIDE_API restride_status restride_comm_create_threads(restride_comm** comms, int32_t count);
/* The ranks of an MPI communicator: `mpi_comm` points to an MPI_Comm, which is duplicated. Collective over it. Fails
 * with RESTRIDE_UNSUPPORTED where no MPI is in the process, or no module for it beside the library. */
RESTRIDE_API restride_status restride_comm_create_mpi(restride_comm** comm, const void* mpi_comm, int64_t deadline_ms);
/* The ranks of an NCCL communicator, an ncclComm_t, which is split and must live as long. Collective over it. Exchanges
 * are then of memory of GPUs. Fails with RESTRIDE_UNSUPPORTED where no NCCL is in the process, or no module for it. */
RESTRIDE_API restride_status restride_comm_create_nccl(restride_comm** comm, void* nccl_comm, int64_t deadline_ms);

/* A message to or from a rank, in memory of the host. */
typedef struct restride_message {
  int64_t peer; /* a rank */
  void* data;
  int64_t bytes;
} restride_message;

/* Ranks of the caller's own: what restride asks of them, from the thread that calls it. A function returns RESTRIDE_OK,
 * or another status, RESTRIDE_DEADLINE above all, and writes why into the `capacity` bytes of `why`; the communicator
 * is then unusable. None waits for longer than `milliseconds`. */
typedef struct restride_comm_functions {
  size_t struct_size; /* sizeof(restride_comm_functions) */
  void* user;         /* given to every function */
  int32_t rank;
  int32_t size;
  const char* engine; /* its name, for explain; it is copied */
  /* Every rank's `bytes` bytes, in the order of ranks, into `all`. `what` is for messages: "plan", "run". */
  restride_status (*allgather)(void* user, const void* mine, void* all, int64_t bytes, const char* what,
                               int64_t milliseconds, char* why, size_t capacity);
  /* Sends and receives all of them; those of a pair of ranks arrive in their order. */
  restride_status (*exchange)(void* user, const restride_message* sends, int32_t send_count,
                              const restride_message* receives, int32_t receive_count, const char* what,
                              int64_t milliseconds, char* why, size_t capacity);
  /* Makes the waits of all ranks fail with this reason, if it can be done; or NULL. */
  void (*abort)(void* user, const char* reason);
} restride_comm_functions;

/* Nothing is kept of `functions` but what they point to. */
RESTRIDE_API restride_status restride_comm_create(restride_comm** comm, const restride_comm_functions* functions);
RESTRIDE_API void restride_comm_destroy(restride_comm* comm);
/* -1 for NULL. */
RESTRIDE_API int32_t restride_comm_rank(const restride_comm* comm);
RESTRIDE_API int32_t restride_comm_size(const restride_comm* comm);
/* Makes every call of every rank fail from now on, with this reason. */
RESTRIDE_API restride_status restride_comm_abort(restride_comm* comm, const char* reason);

/* One rank's part of an exchange of `tensors` tensors. */
typedef struct restride_exchange restride_exchange;

/* Plans, collectively: every rank of `comm` calls it with its own local layouts and the same of all else. `src` and
 * `dst` are arrays of `tensors`. Nothing is kept of them; `comm` must live as long as the exchange. Fails as
 * restride::distributed::plan: RESTRIDE_AGREEMENT and RESTRIDE_DEADLINE name the ranks. */
RESTRIDE_API restride_status restride_exchange_create(restride_exchange** exchange, const restride_side* dst,
                                                      const restride_side* src, int32_t tensors, restride_comm* comm,
                                                      const restride_exchange_options* options);
/* Runs, collectively. `dst` and `src` are arrays of one pointer a tensor; NULL where this rank has no element of it.
 * When it returns this rank has all that it is to get, and its source may be changed. */
RESTRIDE_API restride_status restride_exchange_run(restride_exchange* exchange, void* const* dst,
                                                   const void* const* src);
/* The same in two parts. */
RESTRIDE_API restride_status restride_exchange_start(restride_exchange* exchange, void* const* dst,
                                                     const void* const* src);
RESTRIDE_API restride_status restride_exchange_wait(restride_exchange* exchange);
/* For memory of GPUs, on a stream of this rank's, a cudaStream_t; NULL: the legacy default stream. As
 * restride::distributed::Plan::run: with NCCL all is enqueued when it returns, and a stream may be captured. */
RESTRIDE_API restride_status restride_exchange_run_on(restride_exchange* exchange, void* const* dst,
                                                      const void* const* src, void* stream);
RESTRIDE_API restride_status restride_exchange_start_on(restride_exchange* exchange, void* const* dst,
                                                        const void* const* src, void* stream);
/* *running: 1 while a stream is in a run of NCCL, or in a replay of one. RESTRIDE_DEADLINE once it was broken off. */
RESTRIDE_API restride_status restride_exchange_status(const restride_exchange* exchange, int32_t* running);
RESTRIDE_API void restride_exchange_destroy(restride_exchange* exchange);
/* Writes the copies of this rank in words, as snprintf would: cut at `capacity`, its whole length in *length. */
RESTRIDE_API restride_status restride_exchange_explain(const restride_exchange* exchange, char* buffer, size_t capacity,
                                                       size_t* length);

/* How many regions `rank` has of a distribution; the extents of one of them (`capacity` of `extents`, as many as the
 * distribution has axes, into *axes). */
RESTRIDE_API restride_status restride_distribution_regions(const char* distribution, int32_t rank, int32_t* regions);
RESTRIDE_API restride_status restride_distribution_shape(const char* distribution, int32_t rank, int32_t region,
                                                         int64_t* extents, int32_t capacity, int32_t* axes);
/* The global indices of one axis of a region, as many as its extent there; `capacity` of `indices` must hold them. */
RESTRIDE_API restride_status restride_distribution_indices(const char* distribution, int32_t rank, int32_t region,
                                                           int32_t axis, int64_t* indices, int64_t capacity);
/* What must move, for any number of ranks, without any: figures in words, and with `rank` >= 0 that rank's messages. */
RESTRIDE_API restride_status restride_distribution_explain(const restride_side* dst, const restride_side* src,
                                                           int32_t rank, char* buffer, size_t capacity, size_t* length);

#ifdef __cplusplus
}
#endif
#endif
