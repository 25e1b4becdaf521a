// Work split into blocks for threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "sim/base/machine.hpp"

namespace straggler {

/// 0: the number of threads that this process may run at a time.
inline unsigned thread_count(unsigned asked) { return asked > 0 ? asked : usable_cores(); }

/// Calls work(state, block, first, count) for blocks of `size` samples that cover `total`, in any order, on at most `threads` threads with
/// a State each. Rethrows what a block throws. Returns the states.
template <class State, class Work>
std::vector<State> for_blocks(std::size_t total, std::size_t size, unsigned threads, const State& initial, const Work& work) {
  const std::size_t blocks = (total + size - 1) / size;
  std::vector<State> states(std::clamp<std::size_t>(blocks, 1, std::max(threads, 1u)), initial);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](State& state) {
    try {
      for (std::size_t block = next++; block < blocks; block = next++)
        work(state, block, block * size, std::min(size, total - block * size));
    } catch (...) {
      next = blocks;
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < states.size(); ++i) others.emplace_back([&, i] { run(states[i]); });
    run(states[0]);
  }
  if (failure) std::rethrow_exception(failure);
  return states;
}

/// The results of both, run in parallel if there are two threads. Throws the first's exception, otherwise the second's.
template <class First, class Second>
auto both(const First& first, const Second& second, unsigned threads) {
  if (threads < 2) {
    auto one = first();
    return std::pair(std::move(one), second());
  }
  auto other = std::async(std::launch::async, second);
  auto one = first();
  return std::pair(std::move(one), other.get());
}

}  // namespace straggler
