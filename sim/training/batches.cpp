#include "sim/training/batches.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <tuple>

namespace straggler {

Batches Batches::stated(std::vector<std::uint32_t> of_workers) {
  if (of_workers.empty()) throw std::invalid_argument("stated batches of no workers");
  Batches out;
  out.total_ = std::accumulate(of_workers.begin(), of_workers.end(), std::int64_t{0});
  const auto rank_of = [&](auto at) { return static_cast<Rank>(at - of_workers.begin()); };
  out.smallest_ = rank_of(std::min_element(of_workers.begin(), of_workers.end()));
  out.largest_ = rank_of(std::max_element(of_workers.begin(), of_workers.end()));
  out.stated_ = std::move(of_workers);
  return out;
}

std::int64_t Batches::typical() const {
  return are_stated() ? std::max<std::int64_t>(1, std::llround(mean(static_cast<Rank>(stated_.size())))) : split_.least;
}

double Batches::mean(Rank workers) const {
  if (are_stated()) return static_cast<double>(total_) / static_cast<double>(workers);
  return static_cast<double>(split_.least) + static_cast<double>(split_.larger) / static_cast<double>(workers);
}

namespace {

/// The most samples, at least 1 and at most `most`, that a worker has done by then.
std::int64_t done_by(const AlikeWorkers& kind, double seconds, std::int64_t most) {
  std::int64_t done = 1, not_done = most + 1;
  while (not_done - done > 1) {
    const std::int64_t middle = done + (not_done - done) / 2;
    (kind.seconds(middle) <= seconds ? done : not_done) = middle;
  }
  return done;
}

}  // namespace

std::vector<BatchSplit> batches_by_speed(const std::vector<AlikeWorkers>& kinds, std::int64_t global) {
  std::int64_t workers = 0;
  double latest = 0;  // by then all is done, whoever does it
  for (const AlikeWorkers& kind : kinds) {
    workers += kind.count;
    latest = std::max(latest, kind.seconds(global));
  }
  if (global < workers) throw std::invalid_argument("fewer samples than workers; every worker computes at least one");
  std::vector<BatchSplit> out(kinds.size(), BatchSplit{1, 0});
  const auto done = [&](double seconds) {
    std::int64_t all = 0;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      out[k].least = done_by(kinds[k], seconds, global);
      all += kinds[k].count * out[k].least;
    }
    return all;
  };
  double early = 0, late = latest;  // too few samples are done, or just all of them; too many
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    const double middle = early + (late - early) / 2;
    (done(middle) <= global ? early : late) = middle;
  }
  std::int64_t left = global - done(early);
  // The rest, one by one: (end with one more sample, kind). A kind's workers come in their order.
  std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>, std::greater<>> next;
  const auto offer = [&](std::size_t k) { next.emplace(kinds[k].seconds(out[k].least + 1), k); };
  for (std::size_t k = 0; k < kinds.size(); ++k) offer(k);
  for (; left > 0; --left) {
    const std::size_t k = next.top().second;
    next.pop();
    if (++out[k].larger == kinds[k].count) out[k] = {out[k].least + 1, 0};
    offer(k);
  }
  return out;
}

std::vector<std::uint32_t> rebalanced(const std::vector<TimedBatch>& workers) {
  std::vector<std::uint32_t> out;
  std::vector<std::size_t> free;  // those that are not settled
  std::int64_t left = 0;          // samples of these
  for (const TimedBatch& worker : workers) {
    if (worker.seconds > 0) {
      free.push_back(out.size());
      left += worker.samples;
    }
    out.push_back(static_cast<std::uint32_t>(worker.samples));
  }
  // Whoever would get more than it can take has that; the others divide the rest.
  for (bool settled = false; !settled && !free.empty();) {
    std::vector<AlikeWorkers> kinds;
    for (const std::size_t i : free)
      kinds.push_back({1, [of_sample = workers[i].seconds / static_cast<double>(workers[i].samples)](std::int64_t samples) {
                         return of_sample * static_cast<double>(samples);
                       }});
    const std::vector<BatchSplit> split = batches_by_speed(kinds, left);
    std::vector<std::size_t> others;
    settled = true;
    for (std::size_t k = 0; k < free.size(); ++k) {
      const std::size_t i = free[k];
      const std::int64_t wanted = split[k].size(0), given = std::min(wanted, workers[i].most);
      out[i] = static_cast<std::uint32_t>(given);
      if (wanted < workers[i].most) {
        others.push_back(i);
      } else {
        settled = settled && wanted == workers[i].most;
        left -= given;
      }
    }
    free = std::move(others);
  }
  double latest = 0, now = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    latest = std::max(latest, workers[i].seconds * static_cast<double>(out[i]) / static_cast<double>(workers[i].samples));
    now = std::max(now, workers[i].seconds);
  }
  if (latest < now * (1 - 1e-9)) return out;
  for (std::size_t i = 0; i < workers.size(); ++i) out[i] = static_cast<std::uint32_t>(workers[i].samples);
  return out;
}

}  // namespace straggler
