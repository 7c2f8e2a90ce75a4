#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <restride/distributed.h>

namespace {

restride_side side(const char* distribution, restride_dtype dtype = RESTRIDE_I32) {
  restride_side s = RESTRIDE_SIDE_INIT;
  s.distribution = distribution;
  s.dtype = dtype;
  return s;
}

const restride_side kRows = side("(4,4) as (block[0],*) over (2)"), kColumns = side("(4,4) as (*,block[0]) over (2)");

TEST(DistributedCAbi, ThreadsExchangeAndStructuresSayWhereMemoryLies) {
  restride_comm* comms[2] = {};
  ASSERT_EQ(restride_comm_create_threads(comms, 2), RESTRIDE_OK);
  EXPECT_EQ(restride_comm_rank(comms[1]), 1);
  EXPECT_EQ(restride_comm_size(comms[0]), 2);
  std::vector<std::thread> threads;
  std::vector<int> right(2, 0);
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      const std::int64_t extents[] = {4, 2}, strides[] = {4, 16};  // the columns one behind the other
      restride_tensor where = RESTRIDE_TENSOR_INIT;
      where.dtype = RESTRIDE_I32;
      where.rank = 2;
      where.extents = extents;
      where.strides_bytes = strides;
      restride_side to = kColumns;
      to.regions = 1;
      to.local = &where;
      std::int32_t in[8], out[8] = {};
      for (int i = 0; i < 8; ++i) in[i] = 8 * rank + i;
      restride_exchange* exchange = nullptr;
      ASSERT_EQ(restride_exchange_create(&exchange, &to, &kRows, 1, comms[rank], nullptr), RESTRIDE_OK)
          << restride_distributed_last_error();
      void* dst = out;
      const void* src = in;
      ASSERT_EQ(restride_exchange_run(exchange, &dst, &src), RESTRIDE_OK) << restride_distributed_last_error();
      right[static_cast<std::size_t>(rank)] = out[0] == 2 * rank && out[3] == 12 + 2 * rank && out[4] == 2 * rank + 1;
      char text[64];
      std::size_t length = 0;
      EXPECT_EQ(restride_exchange_explain(exchange, text, sizeof text, &length), RESTRIDE_OK);
      EXPECT_GT(length, sizeof text);
      EXPECT_EQ(std::strlen(text), sizeof text - 1);
      restride_exchange_destroy(exchange);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, (std::vector<int>{1, 1}));
  restride_comm_destroy(comms[0]);
  EXPECT_EQ(restride_comm_size(comms[1]), 2);
  restride_comm_destroy(comms[1]);
}

TEST(DistributedCAbi, PlansWithoutRanks) {
  int32_t regions = -1, axes = 0;
  int64_t extents[2];
  EXPECT_EQ(restride_distribution_regions("(5,4) as (block[0],*) over (2)", 1, &regions), RESTRIDE_OK);
  EXPECT_EQ(regions, 1);
  EXPECT_EQ(restride_distribution_shape("(5,4) as (block[0],*) over (2)", 1, 0, extents, 2, &axes), RESTRIDE_OK);
  EXPECT_EQ(axes, 2);
  EXPECT_EQ(extents[0], 2);
  int64_t indices[2];
  EXPECT_EQ(restride_distribution_indices("(5,4) as (block[0],*) over (2)", 1, 0, 0, indices, 2), RESTRIDE_OK);
  EXPECT_EQ(indices[0], 3);
  EXPECT_EQ(indices[1], 4);
  EXPECT_EQ(restride_distribution_indices("(5,4) as (block[0],*) over (2)", 1, 0, 1, indices, 2),
            RESTRIDE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(restride_distributed_last_error()).find("capacity"), std::string::npos);
  char text[4096];
  EXPECT_EQ(restride_distribution_regions("(5,4) as (block[0],*) over (2)", -1, &regions), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_STREQ(restride_distributed_last_error(), "rank is negative; ranks count from 0");
  EXPECT_EQ(restride_distribution_explain(&kColumns, &kRows, 0, text, sizeof text, nullptr), RESTRIDE_OK);
  EXPECT_EQ(restride_distribution_explain(&kColumns, &kRows, 2, text, sizeof text, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_STREQ(restride_distributed_last_error(), "rank 2: there are ranks 0 to 1");
  EXPECT_NE(std::string(text).find("32 bytes between ranks, the minimum"), std::string::npos) << text;
}

TEST(DistributedCAbi, AnswersMistakesByAStatusAndWords) {
  restride_comm* comm = nullptr;
  ASSERT_EQ(restride_comm_create_threads(&comm, 1), RESTRIDE_OK);
  restride_exchange* exchange = nullptr;
  const auto create = [&](const restride_side& dst, const restride_side& src,
                          const restride_exchange_options* o = nullptr) {
    return restride_exchange_create(&exchange, &dst, &src, 1, comm, o);
  };
  const restride_side whole = side("(4) as (*) over (1)");
  EXPECT_EQ(create(side("(4) as (*"), whole), RESTRIDE_PARSE);
  EXPECT_NE(std::string(restride_distributed_last_error()).find("column"), std::string::npos);
  EXPECT_EQ(create(side("(5) as (*) over (1)"), whole), RESTRIDE_SHAPE);
  EXPECT_EQ(create(side("(4) as (*) over (2)"), whole), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(create(side("(4) as (*) over (1)", static_cast<restride_dtype>(99)), whole), RESTRIDE_INVALID_ARGUMENT);
  const auto says = [](const char* words) {
    const std::string message = restride_distributed_last_error();
    return message.find(words) != std::string::npos ? "" : message;
  };
  EXPECT_EQ(create(whole, side(nullptr)), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(says("src[0].distribution is NULL"), "");
  restride_side newer = whole;
  newer.struct_size += 8;
  EXPECT_EQ(create(newer, whole), RESTRIDE_UNSUPPORTED);
  EXPECT_EQ(says("dst[0].struct_size"), "");
  restride_side older = whole;
  older.struct_size = 0;
  EXPECT_EQ(create(older, whole), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(says("initialise the structure with RESTRIDE_SIDE_INIT"), "");
  restride_tensor local = RESTRIDE_TENSOR_INIT;
  local.rank = 1;
  restride_side placed = whole;
  placed.regions = 1;
  placed.local = &local;
  EXPECT_EQ(create(placed, whole), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(says("dst[0].local[0].extents is NULL"), "");
  const int64_t huge = INT64_MAX;
  local.extents = &huge;
  EXPECT_EQ(create(placed, whole), RESTRIDE_RANGE);
  EXPECT_EQ(says("dst[0].local[0]: "), "");
  restride_exchange_options options = RESTRIDE_EXCHANGE_OPTIONS_INIT;
  options.deadline_ms = 0;
  EXPECT_EQ(create(whole, whole, &options), RESTRIDE_INVALID_ARGUMENT);
  options = RESTRIDE_EXCHANGE_OPTIONS_INIT;
  options.deadline_ms = INT64_MAX;
  options.method = 7;
  EXPECT_EQ(create(whole, whole, &options), RESTRIDE_INVALID_ARGUMENT);
  options.method = RESTRIDE_METHOD_AUTO;
  EXPECT_EQ(create(whole, whole, &options), RESTRIDE_OK) << restride_distributed_last_error();
  EXPECT_EQ(restride_exchange_run(exchange, nullptr, nullptr), RESTRIDE_INVALID_ARGUMENT);
  void* nothing = nullptr;
  const void* none = nullptr;
  EXPECT_EQ(restride_exchange_run(exchange, &nothing, &none), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_exchange_wait(exchange), RESTRIDE_INVALID_ARGUMENT);
  restride_exchange_destroy(exchange);
  EXPECT_EQ(restride_exchange_create(nullptr, &whole, &whole, 1, comm, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_exchange_create(&exchange, &whole, &whole, 0, comm, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_comm_create_threads(nullptr, 1), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_comm_abort(comm, "enough"), RESTRIDE_OK);
  EXPECT_EQ(create(whole, whole), RESTRIDE_DEADLINE);
  EXPECT_NE(std::string(restride_distributed_last_error()).find("enough"), std::string::npos);
  restride_comm_destroy(comm);
  restride_comm_destroy(nullptr);
  restride_exchange_destroy(nullptr);
  EXPECT_EQ(restride_comm_rank(nullptr), -1);
}

/// Two ranks of a program's own: threads that copy by a table.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  int came = 0, round = 0;
  std::vector<char> bytes;
  std::vector<std::vector<std::string>> letters{2};  ///< to each rank
  std::string reason;
};

struct Own {
  Board* board;
  int rank;
};

restride_status own_allgather(void* user, const void* mine, void* all, std::int64_t bytes, const char* what,
                              std::int64_t milliseconds, char* why, std::size_t capacity) {
  const auto& own = *static_cast<Own*>(user);
  Board& b = *own.board;
  const auto n = static_cast<std::size_t>(bytes);
  std::unique_lock lock(b.mutex);
  const auto meet = [&] {
    const int round = b.round;
    if (++b.came == 2) {
      b.came = 0;
      ++b.round;
      b.changed.notify_all();
      return true;
    }
    return b.changed.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return b.round != round; });
  };
  b.bytes.resize(2 * n);
  if (n > 0) std::memcpy(b.bytes.data() + static_cast<std::size_t>(own.rank) * n, mine, n);
  const bool all_came = meet();
  if (!all_came) {
    std::snprintf(why, capacity, "the other one did not come to %s", what);
    return RESTRIDE_DEADLINE;
  }
  if (n > 0) std::memcpy(all, b.bytes.data(), 2 * n);
  meet();
  return RESTRIDE_OK;
}

restride_status own_exchange(void* user, const restride_message* sends, std::int32_t send_count,
                             const restride_message* receives, std::int32_t receive_count, const char*, std::int64_t,
                             char*, std::size_t) {
  const auto& own = *static_cast<Own*>(user);
  Board& b = *own.board;
  std::unique_lock lock(b.mutex);
  for (std::int32_t i = 0; i < send_count; ++i)
    b.letters[static_cast<std::size_t>(sends[i].peer)].emplace_back(static_cast<const char*>(sends[i].data),
                                                                    static_cast<std::size_t>(sends[i].bytes));
  b.changed.notify_all();
  auto& mine = b.letters[static_cast<std::size_t>(own.rank)];
  for (std::int32_t i = 0; i < receive_count; ++i) {
    b.changed.wait(lock, [&] { return !mine.empty(); });
    std::memcpy(receives[i].data, mine.front().data(), static_cast<std::size_t>(receives[i].bytes));
    mine.erase(mine.begin());
  }
  return RESTRIDE_OK;
}

void own_abort(void* user, const char* reason) { static_cast<Own*>(user)->board->reason = reason; }

TEST(DistributedCAbi, RanksMayBeTheCallersOwn) {
  Board board;
  std::vector<int> right(2, 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      Own own{&board, rank};
      const restride_comm_functions functions = {sizeof functions, &own,          rank,         2,
                                                 "a table",        own_allgather, own_exchange, own_abort};
      restride_comm* comm = nullptr;
      ASSERT_EQ(restride_comm_create(&comm, &functions), RESTRIDE_OK) << restride_distributed_last_error();
      std::int32_t in[8], out[8] = {};
      for (int i = 0; i < 8; ++i) in[i] = 8 * rank + i;
      restride_exchange_options options = RESTRIDE_EXCHANGE_OPTIONS_INIT;
      options.deadline_ms = 200;
      restride_exchange* exchange = nullptr;
      ASSERT_EQ(restride_exchange_create(&exchange, &kColumns, &kRows, 1, comm, &options), RESTRIDE_OK)
          << restride_distributed_last_error();
      void* dst = out;
      const void* src = in;
      EXPECT_EQ(restride_exchange_run_on(exchange, &dst, &src, nullptr), RESTRIDE_OK)
          << restride_distributed_last_error();
      std::int32_t running = 7;
      EXPECT_EQ(restride_exchange_status(exchange, &running), RESTRIDE_OK);
      EXPECT_EQ(running, 0);
      right[static_cast<std::size_t>(rank)] = out[0] == 2 * rank && out[1] == 2 * rank + 1 && out[7] == 13 + 2 * rank;
      if (rank == 1) {
        EXPECT_EQ(restride_exchange_run_on(exchange, &dst, &src, nullptr), RESTRIDE_DEADLINE);
        EXPECT_STREQ(restride_distributed_last_error(), "the other one did not come to run");
        EXPECT_EQ(restride_comm_abort(comm, "enough"), RESTRIDE_OK);  // it is unusable already
      }
      restride_exchange_destroy(exchange);
      restride_comm_destroy(comm);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, std::vector<int>(2, 1));
  EXPECT_EQ(board.reason, "");
}

TEST(DistributedCAbi, OptionsFromBeforeGpusAndWrongRanksOfTheCallersOwn) {
  restride_comm* comm = nullptr;
  ASSERT_EQ(restride_comm_create_threads(&comm, 1), RESTRIDE_OK);
  const restride_side whole = side("(4,4) as (*,*) over (1)");
  restride_exchange_options options = RESTRIDE_EXCHANGE_OPTIONS_INIT;
  restride_exchange* exchange = nullptr;
  options.struct_size = offsetof(restride_exchange_options, device);
  options.device = 77;
  EXPECT_EQ(restride_exchange_create(&exchange, &whole, &whole, 1, comm, &options), RESTRIDE_OK);
  restride_exchange_destroy(exchange);
  options.struct_size = sizeof options;
  EXPECT_EQ(restride_exchange_create(&exchange, &whole, &whole, 1, comm, &options), RESTRIDE_INVALID_ARGUMENT);
  options.device = RESTRIDE_DEVICE_CUDA;
  options.cuda_device = RESTRIDE_MODEL_DEVICE;
  EXPECT_EQ(restride_exchange_create(&exchange, &whole, &whole, 1, comm, &options), RESTRIDE_OK);
  restride_exchange_destroy(exchange);
  restride_comm_destroy(comm);
  restride_comm_functions functions = {sizeof functions, nullptr, 0, 1, "none", nullptr, own_exchange, nullptr};
  EXPECT_EQ(restride_comm_create(&comm, &functions), RESTRIDE_INVALID_ARGUMENT);
  functions.allgather = own_allgather;
  functions.rank = 1;
  EXPECT_EQ(restride_comm_create(&comm, &functions), RESTRIDE_INVALID_ARGUMENT);
  functions.struct_size = 8;
  EXPECT_EQ(restride_comm_create(&comm, &functions), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_comm_create_nccl(&comm, nullptr, 1000), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_comm_create_nccl(&comm, &functions, 1000), RESTRIDE_UNSUPPORTED);  // no NCCL is loaded
}

}  // namespace
