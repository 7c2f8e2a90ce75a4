// A caller opens a post, helpers enter it, the caller closes it when all tasks are claimed and waits for those inside.
//
// Nothing here can end the process: helpers are started by pthread_create, whose refusal leaves the caller with fewer;
// they allocate nothing, throw nothing and use no thread-local data, which the C library would have to find memory for.
// Posts are static, so a helper that comes late looks at a closed post and not at a stack that is gone.
#include "src/cpu/team/helpers.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>

#include "src/base/log.h"
#include "src/cpu/team/stack.h"
#include "src/cpu/team/team.h"

namespace restride::cpu {
namespace {

using Clock = std::chrono::steady_clock;

/// A helper that has nothing to do looks out for the next copy so long before it sleeps; a program that copies in a
/// loop finds it awake. Waking one takes 5 to 50 us, and 2 us of the caller's.
constexpr auto kAwake = std::chrono::microseconds(50);
/// One that was off its core for so long while it looked out is on a machine that has other work: it sleeps at once.
constexpr auto kLostCore = std::chrono::microseconds(15);
/// The caller looks so long for the last helper to end before it gives its core away.
constexpr int kLooks = 2000;
/// A copy with helpers during which its caller was off its core, or waited for them, for longer than this and longer
/// than it worked: another program has the cores, and Linux gives one back after some milliseconds. The next copies are
/// made without helpers, twice as many each time that it happens again, up to kMostAlone, and one less for each copy
/// that goes well; but a copy that works for kLong gains by helpers even then.
constexpr auto kLongWait = std::chrono::microseconds(500);
constexpr auto kLong = std::chrono::milliseconds(20);
constexpr int kMostAlone = 64;

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Where a caller and its helpers meet.
struct alignas(128) Post {
  // Of `state`: how many helpers are inside, how many more may enter. Nobody enters a closed post: it has no room.
  static constexpr std::uint32_t kOne = 1, kInside = 0xffff, kRoom = 1 << 16;

  std::atomic<bool> taken{false};  ///< by a caller
  std::atomic<std::uint32_t> state{0};
  Claims* claims = nullptr;  ///< written before there is room, read inside
};
static_assert(kMostThreads < Post::kInside);

constexpr int kPosts = 32;  // callers beyond so many work alone

constinit Post posts[kPosts];
// What helpers wait on: grows by kOnePost with every post that is opened, and has kStop from the end of the process on.
// One number says both, so nobody can see the one and miss the other.
constinit std::atomic<std::uint32_t> opened{0};
constexpr std::uint32_t kStop = 1, kOnePost = 2;
constinit std::atomic<int> asleep{0};

constinit std::atomic<int> alone{0};           // how many copies are still to be made without helpers
constinit std::atomic<int> next_alone{1};      // and how many when a core is lost again
constinit std::atomic<bool> took_long{false};  // the last copy with helpers took kLongWait: the next is watched

constinit std::atomic<bool> growing{false};  // held by whoever starts or ends helpers
constinit std::atomic<int> started{0};
constinit pthread_t threads[kMostThreads];
constinit std::atomic<pid_t> owner{0};  // the process that started them

/// Wakes two: who comes in by a wake does the same, so many are awake soon and nobody wakes them all.
void wake(std::uint32_t room) noexcept {
  if (asleep.load() == 0) return;
  opened.notify_one();
  if (room > 1) opened.notify_one();
}

/// A post with room, entered; null where there is none. `first` is where to look first.
Post* enter(int first) noexcept {
  for (int i = 0; i < kPosts; ++i) {
    Post& post = posts[(first + i) % kPosts];
    std::uint32_t state = post.state.load(std::memory_order_relaxed);
    while (state >= Post::kRoom)
      if (post.state.compare_exchange_weak(state, state - Post::kRoom + Post::kOne, std::memory_order_acquire)) {
        if (state >= 2 * Post::kRoom) wake(state / Post::kRoom - 1);
        return &post;
      }
  }
  return nullptr;
}

void leave(Post& post) noexcept {
  if (post.state.fetch_sub(Post::kOne, std::memory_order_release) == Post::kOne) post.state.notify_all();
}

/// Waits for a post to open after `seen`: a while awake, then asleep.
void wait_for_post(std::uint32_t seen) noexcept {
  const auto begin = Clock::now();
  for (auto last = begin;;) {
    for (int i = 0; i < 32; ++i) {
      if (opened.load(std::memory_order_relaxed) != seen) return;
      pause();
    }
    const auto now = Clock::now();
    if (now - begin > kAwake || now - last > kLostCore) break;
    last = now;
  }
  ++asleep;
  opened.wait(seen);
  --asleep;
}

void* help(void* number) noexcept {
  const int mine = static_cast<int>(reinterpret_cast<std::uintptr_t>(number));
  for (;;) {
    const std::uint32_t seen = opened.load();
    if ((seen & kStop) != 0) return nullptr;
    if (Post* post = enter(mine)) {
      post->claims->work(mine);
      leave(*post);
    } else {
      wait_for_post(seen);
    }
  }
}

/// A child has none of its parent's threads, and what they held.
void forget_all() noexcept {
  for (Post& post : posts) {
    post.state = 0;
    post.taken = false;
  }
  asleep = 0;
  alone = 0;
  next_alone = 1;
  took_long = false;
  started = 0;
  growing = false;
}

/// Once: every later copy meets the same.
void log_refused(int had, int wanted, int error) noexcept {
  static constinit std::atomic<bool> said{false};
  if (base::log_is_on() && !said.exchange(true))
    base::log(
        "a copy has {} of {} threads, because the system starts no more ({}); raise ulimit -u or the container's limit "
        "of tasks, or set RESTRIDE_NUM_THREADS={}",
        had, wanted, std::strerror(error), had);
}

/// Starts helpers until there are `wanted`, or no more can be had.
void grow(int wanted) noexcept {
  if (growing.exchange(true)) return;  // another copy is at it
  static const bool watched = ::pthread_atfork(nullptr, nullptr, forget_all) == 0;
  pthread_attr_t attributes;
  owner = ::getpid();
  if (watched && (opened.load() & kStop) == 0 && ::pthread_attr_init(&attributes) == 0) {
    if (::pthread_attr_setstacksize(&attributes, kStackBytes) == 0)
      for (int n = started.load(); n < wanted; ++n) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a number, by way of pthread_create
        void* const number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(n) + 1);
        if (const int refused = ::pthread_create(&threads[n], &attributes, help, number); refused != 0) {
          log_refused(n + 1, wanted + 1, refused);
          break;
        }
        started = n + 1;
      }
    ::pthread_attr_destroy(&attributes);
  }
  growing = false;
}

/// Ends the helpers when the library is unloaded, or the process exits: their code may be gone after that. Copies that
/// come later, in other destructors, are one thread's.
struct AtUnload {
  ~AtUnload() {
    if (owner.load() != ::getpid()) return;  // a child whose making forget_all was not told of
    opened |= kStop;
    opened.notify_all();
    while (growing.exchange(true)) pause();
    for (int i = 0; i < started.load(); ++i) ::pthread_join(threads[i], nullptr);
    started = 0;
    growing = false;
  }
};
const AtUnload at_unload;

Post* take_post() noexcept {
  for (Post& post : posts)
    if (!post.taken.load(std::memory_order_relaxed) && !post.taken.exchange(true, std::memory_order_acquire))
      return &post;
  return nullptr;
}

/// Lets nobody in any more, and waits for those inside.
void close(Post& post) noexcept {
  std::uint32_t inside = post.state.fetch_and(Post::kInside, std::memory_order_acquire) & Post::kInside;
  for (int i = 0; inside != 0 && i < kLooks; ++i) {
    pause();
    inside = post.state.load(std::memory_order_acquire);
  }
  while (inside != 0) {
    post.state.wait(inside, std::memory_order_acquire);
    inside = post.state.load(std::memory_order_acquire);
  }
  post.taken.store(false, std::memory_order_release);
}

void work_alone(Claims& claims) noexcept {
  alone.fetch_sub(1, std::memory_order_relaxed);  // several callers may count it below 0, which is as good as 0
  const auto begin = Clock::now();
  claims.work(0);
  if (Clock::now() - begin > kLong) alone.store(0, std::memory_order_relaxed);
}

/// Of the calling thread, without the time off its core. Asking takes half a microsecond.
std::chrono::nanoseconds worked_so_far() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

void remember(std::chrono::nanoseconds worked, std::chrono::nanoseconds took) noexcept {
  const int copies = next_alone.load(std::memory_order_relaxed);
  if (took - worked > std::max<std::chrono::nanoseconds>(worked, kLongWait)) {
    alone.store(copies, std::memory_order_relaxed);
    next_alone.store(std::min(2 * copies, kMostAlone), std::memory_order_relaxed);
  } else if (copies > 1) {
    next_alone.store(copies - 1, std::memory_order_relaxed);
  }
  if (const bool is_long = took > kLongWait; took_long.load(std::memory_order_relaxed) != is_long)
    took_long.store(is_long, std::memory_order_relaxed);
}

}  // namespace

void work_with_helpers(Claims& claims, int helpers) noexcept {
  if (alone.load(std::memory_order_relaxed) > 0) return work_alone(claims);
  if (started.load(std::memory_order_relaxed) < helpers) grow(helpers);
  Post* const post = started.load(std::memory_order_relaxed) > 0 ? take_post() : nullptr;
  if (post == nullptr) {
    if (started.load(std::memory_order_relaxed) > 0)
      base::log("a copy has one thread, because {} others are at work; copy from fewer threads at once", kPosts);
    claims.work(0);
    return;
  }
  const bool watched = took_long.load(std::memory_order_relaxed);
  const auto worked_before = watched ? worked_so_far() : std::chrono::nanoseconds(0);
  const auto begin = Clock::now();
  post->claims = &claims;
  const auto room = static_cast<std::uint32_t>(helpers);
  post->state.store(room * Post::kRoom, std::memory_order_release);
  opened += kOnePost;
  wake(room);
  claims.work(0);
  std::chrono::nanoseconds worked = Clock::now() - begin;
  if (watched) worked = worked_so_far() - worked_before;
  close(*post);
  remember(worked, Clock::now() - begin);
}

int helpers_started() noexcept { return started.load(); }
int calls_alone() noexcept { return std::max(0, alone.load()); }

}  // namespace restride::cpu
