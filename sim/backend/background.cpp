#include "sim/backend/background.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/random.hpp"

namespace straggler {

SimulatedBackend::Background::~Background() {
  for (const FlowId flow : on_) backend_.network_.cancel(flow);
}

void SimulatedBackend::Background::begin() {
  const std::vector<BackgroundTraffic>& all = backend_.cluster_.background;
  on_.resize(all.size());
  stories_ = all.size();
  for (std::size_t i = 0; i < all.size(); ++i) backend_.simulation_.spawn(story(all[i], i));
}

Process SimulatedBackend::Background::story(const BackgroundTraffic& traffic, std::size_t number) {
  const std::uint64_t stream = RandomStream::stream_key(backend_.cluster_.seed, "background/" + std::to_string(number));
  const auto length = [&](Time mean, std::uint64_t draw) {
    if (!traffic.random) return mean;
    RandomStream uniform(stream, draw);
    return backend_.simulation_.queue().span(-std::log1p(-uniform.uniform()) * static_cast<double>(mean.ticks()));
  };
  co_await backend_.simulation_.delay(traffic.start);
  for (std::uint64_t turn = 0; !alone(); ++turn) {
    const Time on = length(traffic.on, 2 * turn), off = length(traffic.off, 2 * turn + 1);
    Carriage carriage;
    backend_.transport_.plan(traffic.from, traffic.to, 1e15, carriage);  // as a message of any size
    double most = std::numeric_limits<double>::infinity(), bursts = 0;
    for (const LinkId link : carriage.links) most = std::min(most, backend_.cluster_.fabric->bytes_per_second(link));
    for (const TokenBucket& bucket : backend_.cluster_.token_buckets) bursts = std::max(bursts, bucket.burst_bytes);
    FlowRequest request = carriage.flow(Time());
    if (traffic.most_bytes_per_second > 0)
      request.most_bytes_per_second = std::min(request.most_bytes_per_second, traffic.most_bytes_per_second);
    request.bytes = std::min(most, request.most_bytes_per_second) * on.seconds() * 1.01 + bursts + 1;  // more than can pass
    on_[number] = backend_.network_.start(request, endless_);
    ++flows_;
    co_await backend_.simulation_.delay(on);
    backend_.network_.cancel(std::exchange(on_[number], 0));
    --flows_;
    co_await backend_.simulation_.delay(off);
  }
  --stories_;
}

/// Nothing is going to happen but background traffic and evaluations.
bool SimulatedBackend::Background::alone() const {
  const std::size_t own_timers = stories_ - 1 + (backend_.evaluation_clock_ ? 1 : 0);
  return backend_.simulation_.queue().pending() <= own_timers && backend_.network_.flows() <= flows_;
}

}  // namespace straggler
