#include "sim/simulated/background.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/random.hpp"

namespace straggler {

Background::~Background() {
  for (const FlowId flow : on_) world_.network.cancel(flow);
}

void Background::begin() {
  const std::vector<BackgroundTraffic>& all = world_.cluster.background;
  on_.resize(all.size());
  world_.bystanders.timers += all.size();
  for (std::size_t i = 0; i < all.size(); ++i) world_.simulation.spawn(run(all[i], i));
}

Process Background::run(const BackgroundTraffic& traffic, std::size_t number) {
  const std::uint64_t stream = RandomStream::stream_key(world_.cluster.seed, "background/" + std::to_string(number));
  const auto length = [&](Time mean, std::uint64_t draw) {
    if (!traffic.random) return mean;
    RandomStream uniform(stream, draw);
    return world_.queue().span(-std::log1p(-uniform.uniform()) * static_cast<double>(mean.ticks()));
  };
  co_await world_.simulation.delay(traffic.start);
  for (std::uint64_t turn = 0; !world_.only_bystanders(); ++turn) {
    const Time on = length(traffic.on, 2 * turn), off = length(traffic.off, 2 * turn + 1);
    Carriage carriage;
    world_.transport.plan(traffic.from, traffic.to, 1e15, carriage);  // as a message of any size
    double most = std::numeric_limits<double>::infinity(), bursts = 0;
    for (const LinkId link : carriage.links) most = std::min(most, world_.cluster.fabric->bytes_per_second(link));
    for (const TokenBucket& bucket : world_.cluster.token_buckets) bursts = std::max(bursts, bucket.burst_bytes);
    FlowRequest request = carriage.flow(Time());
    request.connection = std::uint64_t{1} << 62 | number;  // not that of the ranks' messages
    if (traffic.most_bytes_per_second > 0)
      request.most_bytes_per_second = std::min(request.most_bytes_per_second, traffic.most_bytes_per_second);
    request.bytes = std::min(most, request.most_bytes_per_second) * on.seconds() * 1.01 + bursts + 1;  // more than can pass
    on_[number] = world_.network.start(request, endless_);
    ++world_.bystanders.flows;
    co_await world_.simulation.delay(on);
    world_.network.cancel(std::exchange(on_[number], 0));
    --world_.bystanders.flows;
    co_await world_.simulation.delay(off);
  }
  --world_.bystanders.timers;
}

}  // namespace straggler
