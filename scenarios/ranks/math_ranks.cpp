#include "scenarios/ranks/math_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>

#include "models/kernels/kernels.hpp"
#include "scenarios/ranks/connection.hpp"
#include "scenarios/ranks/rank_peer.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/refusal.hpp"
#include "sim/base/token.hpp"

namespace straggler {
namespace {

using Clock = std::chrono::steady_clock;

/// Of the cores on which ranks of its machine may run, the share of a rank.
unsigned share_of_cores(const std::vector<RankOffer>& offers, const RankOffer& of) {
  std::vector<std::byte> all(of.cores.size());
  unsigned ranks = 0, quota = of.quota;
  for (const RankOffer& each : offers) {
    if (each.machine != of.machine) continue;
    ++ranks;
    quota = std::min(quota, each.quota);
    for (std::size_t i = 0; i < std::min(all.size(), each.cores.size()); ++i) all[i] |= each.cores[i];
  }
  unsigned cores = 0;
  for (const std::byte byte : all) cores += static_cast<unsigned>(std::popcount(static_cast<unsigned char>(byte)));
  return std::max(1u, std::min(cores, quota) / ranks);
}

bool has(const RankOffer& offer, const std::string& kernels) {
  return std::find(offer.kernels.begin(), offer.kernels.end(), kernels) != offer.kernels.end();
}

}  // namespace

MathRanks::MathRanks(Options options) : options_(std::move(options)) {
  offers_.push_back(offer_of_this_process(0, options_.identity));
  let_in();
  try {
    agree();
  } catch (const Refusal& refusal) {
    close(refusal.exit);
    throw;
  }
}

MathRanks::~MathRanks() { close(Exit::cannot_go_on); }

void MathRanks::let_in() {
  const Listener listener(options_.this_machine);
  const std::string token = new_token();
  write_address(options_.file, {listener.port(), token, listener.addresses()});
  struct Removed {
    const std::filesystem::path& file;
    ~Removed() {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
  };
  const Removed removed{options_.file};
  const Clock::time_point end = Clock::now() + options_.patience;
  while (offers_.size() < options_.ranks && Clock::now() < end) {
    if (options_.interrupted()) return;  // the run ends as it begins
    std::unique_ptr<Connection> connection = listener.accept(std::min(end, Clock::now() + std::chrono::milliseconds(100)));
    if (!connection) continue;
    try {
      connection->wait_at_most(std::chrono::seconds(2));
      const Bytes first = connection->receive(1 << 16);
      Unpacker from(first);
      if (static_cast<RankTalk>(from.get<std::uint8_t>()) != RankTalk::offer) continue;
      RankOffer offer = get_offer(from);
      const auto refuse = [&](const std::string& why) {
        Packer packer = message(RankTalk::refused);
        packer.put_text(why);
        connection->send(packer.take());
      };
      const auto is_it = [&](const RankOffer& other) { return other.rank == offer.rank; };
      if (!same_secret(offer.token, token)) {
        refuse("the token is not that of this run; it stands in the file that rank 0 wrote");
      } else if (offer.rank >= options_.ranks || std::any_of(offers_.begin(), offers_.end(), is_it)) {
        refuse(fmt::format("the run has no place for another rank {}", offer.rank));
      } else {
        peers_.push_back(
            std::make_unique<RankPeer>(offer.rank, std::move(connection), RankPeer::Listener{options_.interrupt, options_.warn}));
        offers_.push_back(std::move(offer));
      }
    } catch (const ConnectionLost&) {  // a stranger, or a rank that comes again
    } catch (const std::logic_error&) {
    }
  }
  if (offers_.size() < options_.ranks)
    options_.warn(fmt::format("{} of {} ranks have not come within {} s; the run does without them", options_.ranks - offers_.size(),
                              options_.ranks, options_.patience.count()));
}

void MathRanks::agree() {
  const RankOffer& own = offers_.front();
  for (const RankOffer& each : offers_) {
    const char* wrong = each.identity.build != own.identity.build ? "is another program than rank 0; start the same one on all machines"
                        : each.identity.arguments != own.identity.arguments ? "has other arguments than rank 0; give all ranks the same"
                                                                            : nullptr;
    if (wrong) throw Refusal(fmt::format("rank {} {}", each.rank, wrong));
  }
  kernels_ = options_.kernels == "auto" ? std::string() : std::string(select_kernels(options_.kernels).name);
  for (const std::string& set : own.kernels)
    if (options_.kernels == "auto" && std::all_of(offers_.begin(), offers_.end(), [&](const RankOffer& each) { return has(each, set); }))
      kernels_ = set;  // the last of them is the fastest
  for (const RankOffer& each : offers_)
    if (!has(each, kernels_))
      throw Refusal(
          fmt::format("rank {} cannot compute as rank 0 does: its processor has no kernels '{}', but {}; give --kernels with one that all "
                      "have, or auto",
                      each.rank, kernels_, fmt::join(each.kernels, ", ")));
  const auto threads_of = [&](const RankOffer& each) { return options_.threads > 0 ? options_.threads : share_of_cores(offers_, each); };
  threads_ = threads_of(own);
  for (std::size_t i = 0; i < peers_.size(); ++i) peers_[i]->set_up(kernels_, threads_of(offers_[i + 1]));
}

std::span<RemoteThread* const> MathRanks::begin(const Key& root, std::size_t length) {
  for (const std::unique_ptr<RankPeer>& peer : peers_) {
    const std::optional<RankPeer::Ready> ready = peer->wait_until_ready();
    if (!ready) continue;
    std::string wrong;
    if (!ready->problem.empty())
      wrong = fmt::format("rank {} cannot take part: {}", peer->rank(), ready->problem);
    else if (ready->root != root || ready->length != length)
      wrong = fmt::format("rank {} has another scenario or other data than rank 0; give all machines the same files", peer->rank());
    if (!wrong.empty()) {
      close(Exit::bad_input);
      throw Refusal(wrong);
    }
    const std::vector<RemoteThread*> its = peer->begin();
    all_.insert(all_.end(), its.begin(), its.end());
  }
  return all_;
}

std::string MathRanks::shared() const {
  RankPeer::Done all;
  for (const std::unique_ptr<RankPeer>& peer : peers_) {
    const RankPeer::Done one = peer->done();
    all = {all.gradients + one.gradients, all.lanes + one.lanes, all.chunks + one.chunks, all.sent_bytes + one.sent_bytes,
           all.received_bytes + one.received_bytes};
  }
  return fmt::format(
      "other ranks ({}) computed {} gradients, {} lanes of others and {} chunks of evaluations; {} went to them, {} came back",
      peers_.size(), readable_count(all.gradients), readable_count(all.lanes), readable_count(all.chunks),
      readable_bytes(static_cast<double>(all.sent_bytes)), readable_bytes(static_cast<double>(all.received_bytes)));
}

void MathRanks::close(int code) {
  if (std::exchange(closed_, true)) return;
  for (const std::unique_ptr<RankPeer>& peer : peers_) peer->leave(code);
}

}  // namespace straggler
