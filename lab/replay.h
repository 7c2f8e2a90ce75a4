// Runs a rung's map on the CPU: is every element moved once, in bounds, to the right place; and what does
// it cost in sectors and bank conflicts. The functions called are those that the kernel calls.
//
// What a map offers (all constexpr; `tile` counts the units of work, steps count a thread's instructions):
//   kElementBytes, kThreads, kLoads, kStores, tiles(), load(tile, thread, step), store(tile, thread, step)
// and, when the tile goes through shared memory (kStageBytes > 0):
//   kGets, kPutBytes, kGetBytes, put(thread, step), get(thread, step)       bytes within the stage
// and where they differ from the plain case:
//   kDstElementBytes         of a destination element, for casts
//   kEngineLoads             the copy engine loads: no warp requests, no shared stores to count
//   store_of_get(step)       the store that a shared load belongs to (else: the same step)
//   stage_of(thread, store step, elem)   where an element of a store lies (else: at get(thread, step))
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/maps/access.h"
#include "lab/traffic.h"
#include "src/plan/trace.h"

namespace restride::lab {

template <class Map>
constexpr int dst_element_bytes() {
  if constexpr (requires { Map::kDstElementBytes; }) {
    return Map::kDstElementBytes;
  } else {
    return Map::kElementBytes;
  }
}

template <class Map>
constexpr bool engine_loads() {
  return requires { Map::kEngineLoads; };
}

template <class Map>
constexpr int store_of_get(int step) {
  if constexpr (requires { Map::store_of_get(step); }) {
    return Map::store_of_get(step);
  } else {
    return step;
  }
}

/// Which source byte each destination element received. Throws std::runtime_error, naming the place, when an
/// access leaves `src_bytes` or `dst_elements`, a store takes what no load put down, or an element is
/// written twice. Elements never written read -1.
template <class Map>
std::vector<std::int64_t> replay(const Map& map, std::int64_t src_bytes, std::int64_t dst_elements) {
  constexpr int kSrc = Map::kElementBytes, kDst = dst_element_bytes<Map>();
  std::vector<std::int64_t> out(static_cast<std::size_t>(dst_elements), -1);
  std::vector<std::int64_t> stage(std::max(1, Map::kStageBytes));
  for (std::int64_t tile = 0; tile < map.tiles(); ++tile) {
    const int t = static_cast<int>(tile);
    const auto fail = [&](const char* what, int thread, int step) {
      throw std::runtime_error(std::string(what) + " (tile " + std::to_string(t) + ", thread " +
                               std::to_string(thread) + ", step " + std::to_string(step) + ")");
    };
    std::fill(stage.begin(), stage.end(), -1);
    if constexpr (Map::kStageBytes > 0) {
      for (int thread = 0; thread < Map::kThreads; ++thread)
        for (int step = 0; step < Map::kLoads; ++step) {
          const Access from = map.load(t, thread, step);
          if (from.elems == 0) continue;
          if (from.byte < 0 || from.byte + from.elems * kSrc > src_bytes) fail("load out of bounds", thread, step);
          const int put = map.put(thread, step);
          if (put < 0 || put + Map::kPutBytes > Map::kStageBytes) fail("put outside the stage", thread, step);
          for (int e = 0; e < from.elems; ++e) stage[put + e * kSrc] = from.byte + e * kSrc;
        }
    }
    for (int thread = 0; thread < Map::kThreads; ++thread)
      for (int step = 0; step < Map::kStores; ++step) {
        const Access to = map.store(t, thread, step);
        if (to.elems == 0) continue;
        if (to.byte < 0 || to.byte % kDst != 0 || to.byte / kDst + to.elems > dst_elements)
          fail("store out of bounds", thread, step);
        for (int e = 0; e < to.elems; ++e) {
          std::int64_t from = -1;
          if constexpr (Map::kStageBytes == 0) {
            const Access load = map.load(t, thread, step);
            if (load.byte < 0 || load.byte + load.elems * kSrc > src_bytes) fail("load out of bounds", thread, step);
            if (e < load.elems) from = load.byte + e * kSrc;
          } else if constexpr (requires { map.stage_of(thread, step, e); }) {
            from = stage.at(map.stage_of(thread, step, e));
          } else {
            from = stage.at(map.get(thread, step));
          }
          if (from < 0) fail("store of an element nobody loaded", thread, step);
          std::int64_t& slot = out[to.byte / kDst + e];
          if (slot >= 0) fail("element written twice", thread, step);
          slot = from;
        }
      }
  }
  return out;
}

/// Counts what the warps of up to `max_tiles` tiles, spread evenly, ask of memory.
template <class Map>
Traffic count_traffic(const Map& map, std::int64_t max_tiles = 256) {
  constexpr int kSrc = Map::kElementBytes, kDst = dst_element_bytes<Map>();
  TrafficCounter loads, stores, puts, gets;
  const std::int64_t count = std::min(map.tiles(), max_tiles);
  for (std::int64_t i = 0; i < count; ++i) {
    const int tile = static_cast<int>(i * map.tiles() / count);
    for (int warp = 0; warp < Map::kThreads; warp += kWarp) {
      for (int step = 0; step < Map::kLoads; ++step) {
        WarpAccess global, shared;
        for (int thread = warp; thread < warp + kWarp; ++thread) {
          const Access a = map.load(tile, thread, step);
          if (a.elems == 0) continue;
          global.add(a.byte, a.elems * kSrc);
          if constexpr (Map::kStageBytes > 0) shared.add(map.put(thread, step), Map::kPutBytes);
        }
        if (engine_loads<Map>()) continue;
        loads.add_sectors(global);
        if constexpr (Map::kStageBytes > 0) puts.add_wavefronts(shared);
      }
      for (int step = 0; step < Map::kStores; ++step) {
        WarpAccess global;
        for (int thread = warp; thread < warp + kWarp; ++thread) {
          const Access a = map.store(tile, thread, step);
          if (a.elems > 0) global.add(a.byte, a.elems * kDst);
        }
        stores.add_sectors(global);
      }
      if constexpr (Map::kStageBytes > 0) {
        for (int step = 0; step < Map::kGets; ++step) {
          WarpAccess shared;
          for (int thread = warp; thread < warp + kWarp; ++thread)
            if (map.store(tile, thread, store_of_get<Map>(step)).elems > 0)
              shared.add(map.get(thread, step), Map::kGetBytes);
          gets.add_wavefronts(shared);
        }
      }
    }
  }
  return {loads.mean(), stores.mean(), puts.mean(), gets.mean(), puts.degree(), gets.degree()};
}

/// What the threads do to one tile, access by access, for drawings.
template <class Map>
plan::Trace trace_tile(const Map& map, std::int64_t tile) {
  constexpr int kSrc = Map::kElementBytes, kDst = dst_element_bytes<Map>();
  plan::Trace out;
  out.piece = std::min(tile, map.tiles() - 1);
  out.pieces = out.blocks = map.tiles();
  out.threads = Map::kThreads;
  out.src_unit = kSrc;
  out.dst_unit = kDst;
  const int t = static_cast<int>(out.piece);
  for (int step = 0; step < Map::kLoads; ++step)
    for (int thread = 0; thread < Map::kThreads; ++thread) {
      const Access a = map.load(t, thread, step);
      const int who = engine_loads<Map>() ? plan::kEngine : thread;
      if (a.elems == 0) continue;
      if constexpr (Map::kStageBytes > 0)
        out.load_staged(step, who, a.byte, a.elems * kSrc, map.put(thread, step));
      else
        out.load(step, who, a.byte, a.elems * kSrc);
    }
  if constexpr (Map::kStageBytes > 0)
    for (int step = 0; step < Map::kGets; ++step)
      for (int thread = 0; thread < Map::kThreads; ++thread)
        if (map.store(t, thread, store_of_get<Map>(step)).elems > 0)
          out.take(step, thread, map.get(thread, step), Map::kGetBytes);
  for (int step = 0; step < Map::kStores; ++step)
    for (int thread = 0; thread < Map::kThreads; ++thread) {
      const Access to = map.store(t, thread, step);
      if (to.elems == 0) continue;
      out.store(step, thread, to.byte, to.elems * kDst);
      for (int e = 0; e < to.elems; ++e) {
        if constexpr (Map::kStageBytes == 0)
          out.unit(thread, to.byte + e * kDst, map.load(t, thread, step).byte + e * kSrc);
        else if constexpr (requires { map.stage_of(thread, step, e); })
          out.unit_staged(thread, to.byte + e * kDst, map.stage_of(thread, step, e));
        else
          out.unit_staged(thread, to.byte + e * kDst, map.get(thread, step));
      }
    }
  out.units_of_piece = static_cast<std::int64_t>(out.units.size());
  return out;
}

}  // namespace restride::lab
