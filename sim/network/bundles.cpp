// Messages whose bytes several connections share.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/network/packets.hpp"

namespace straggler::packets {

namespace {
constexpr int first_bit = 54;  // of a connection's key: which of the pair's, by ranks below 2^22
}  // namespace

/// Equal parts of at least one packet, each on a connection of its own.
FlowId Queues::start_bundle(const FlowRequest& request, Arrival& arrival) {
  const double parts = std::min(static_cast<double>(sizes_.connections), std::ceil(request.bytes / sizes_.packet));
  if (request.connection != FlowRequest::own_connection && request.connection >> first_bit & 127)
    throw std::length_error("connections: there are more than 2^22 ranks; leave it at 1");
  if (vacant_bundles_.empty()) {
    vacant_bundles_.push_back(static_cast<Index>(bundles_.size()));
    bundles_.emplace_back(*this, vacant_bundles_.back());
  }
  Bundle& bundle = bundles_[vacant_bundles_.back()];
  vacant_bundles_.pop_back();
  bundle.owner = &arrival;
  bundle.left = static_cast<std::size_t>(parts);
  bundle.parts.clear();
  FlowRequest part = request;
  part.bytes = request.bytes / parts;
  for (std::uint64_t k = 0; k < bundle.left; ++k) {
    if (request.connection != FlowRequest::own_connection) part.connection = request.connection | k << first_bit;
    bundle.parts.push_back(start_message(part, bundle));
  }
  return mark | FlowId{bundle.generation} << 32 | bundle_bit | bundle.place;
}

bool Queues::cancel_bundle(FlowId name) noexcept {
  const auto place = static_cast<Index>(name);
  if (!(place & bundle_bit)) return false;
  Bundle& bundle = bundles_[place & ~bundle_bit];
  if ((name >> 32 & ~bundle_bit) != bundle.generation) return true;
  for (const FlowId part : bundle.parts) cancel(part);
  release(bundle);
  return true;
}

/// The call to the owner comes last: it may start messages.
void Queues::part_arrived(Index place) {
  Bundle& bundle = bundles_[place];
  if (--bundle.left > 0) return;
  Arrival* const owner = bundle.owner;
  release(bundle);
  owner->arrived();
}

void Queues::release(Bundle& bundle) {
  bundle.generation = (bundle.generation + 1) & ~bundle_bit;
  vacant_bundles_.push_back(bundle.place);
}

}  // namespace straggler::packets
