// The program's own threads instead of the library's: a pool behind restride::Executor.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include <restride/restride.hpp>

namespace {

class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });  // the caller is one of them
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  /// What an Executor calls: body(arg, i) once for every i, done on return. Callers that come at once have their turns.
  static void parallel(void* self, int tasks, void (*body)(void*, int), void* arg) {
    Pool& pool = *static_cast<Pool*>(self);
    const std::lock_guard turn(pool.turns_);
    std::unique_lock lock(pool.mutex_);
    pool.body_ = body;
    pool.arg_ = arg;
    pool.next_ = 0;
    pool.tasks_ = pool.left_ = tasks;
    pool.wake_.notify_all();
    while (pool.take_one(lock)) {
    }
    pool.done_.wait(lock, [&] { return pool.left_ == 0; });
  }

 private:
  bool take_one(std::unique_lock<std::mutex>& lock) {
    if (next_ == tasks_) return false;
    const int task = next_++;
    lock.unlock();
    body_(arg_, task);
    lock.lock();
    if (--left_ == 0) done_.notify_all();
    return true;
  }
  void work() {
    std::unique_lock lock(mutex_);
    while (!stop_)
      if (!take_one(lock)) wake_.wait(lock);
  }

  std::mutex turns_;  // the pool has one job at a time
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  void (*body_)(void*, int) = nullptr;
  void* arg_ = nullptr;
  int next_ = 0, tasks_ = 0, left_ = 0;
  bool stop_ = false;
};

}  // namespace

int main() {
  using namespace restride;
  Pool pool(3);
  const Executor executor{Pool::parallel, &pool, 3};
  Options options;
  options.executor = &executor;

  const std::int64_t rows = 1000, cols = 700;
  const Layout src = contiguous(DType::kU32, {rows, cols});
  const Layout dst = contiguous(DType::kU32, {cols, rows});
  std::vector<std::uint32_t> in(static_cast<std::size_t>(rows * cols)), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint32_t>(i);

  copy({out.data(), dst}, {in.data(), permute(src, {1, 0})}, options);  // in one call, or
  const Plan plan(dst, permute(src, {1, 0}), options);                  // a plan, which keeps the pool
  std::vector<std::uint32_t> other(out.size());
  std::thread second([&] { plan.run(other.data(), in.data()); });  // from any thread
  plan.run(out.data(), in.data());
  second.join();
  std::printf("%s on %d threads of the program's own\n", std::string(plan.family()).c_str(), plan.threads());

  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c)
      if (out[static_cast<std::size_t>(c * rows + r)] != in[static_cast<std::size_t>(r * cols + c)]) return 1;
  return plan.threads() == 3 && other == out ? 0 : 1;
}
