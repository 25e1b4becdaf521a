#include "scenarios/ranks/rank_peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "models/executor/remote_chain.hpp"

namespace straggler {

class RankPeer::Thread final : public RemoteThread {
 public:
  explicit Thread(RankPeer& of) : of_(of) {}
  bool there() const override { return of_.is_there(); }
  bool holds(const Key& value) const override { return of_.holds(value); }
  bool compute(const RemoteChain& chain) override {
    Asked asked{&chain, nullptr, false};
    return of_.ask(RankTalk::chain, chain.inputs, asked, [&](Packer& packer) { put_chain(packer, chain); });
  }
  bool evaluate(const RemoteValue& weights, EvaluationSet set, std::uint64_t chunk, ChunkSums& sums) override {
    Asked asked{nullptr, &sums, false};
    return of_.ask(RankTalk::chunk, std::span(&weights, 1), asked, [&](Packer& packer) {
      packer.put(weights.key);
      packer.put(static_cast<std::uint8_t>(set));
      packer.put(chunk);
    });
  }

 private:
  RankPeer& of_;
};

RankPeer::RankPeer(unsigned rank, std::unique_ptr<Connection> connection, Listener listener)
    : rank_(rank), connection_(std::move(connection)), listener_(std::move(listener)) {}

/// A rank that was told to leave ends the connection itself, when it has read that.
RankPeer::~RankPeer() {
  if (!leaving_) connection_->cut();
  if (listening_.joinable()) listening_.join();
}

void RankPeer::set_up(const std::string& kernels, unsigned threads) {
  threads_ = threads;
  Packer packer = message(RankTalk::set_up);
  packer.put_text(kernels);
  packer.put(std::uint32_t{threads});
  try {
    connection_->send(packer.take());
  } catch (const ConnectionLost&) {  // listen() sees it
  }
  connection_->wait_at_most(lost_after);
  listening_ = std::thread([this] { listen(); });
}

std::optional<RankPeer::Ready> RankPeer::wait_until_ready() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return ready_ || lost_; });
  return ready_;
}

std::vector<RemoteThread*> RankPeer::begin() {
  std::vector<RemoteThread*> all;
  while (all_.size() < threads_) all.push_back(all_.emplace_back(std::make_unique<Thread>(*this)).get());
  return all;
}

void RankPeer::leave(int code) {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
    if (lost_) return;
  }
  Packer packer = message(RankTalk::leave);
  packer.put(std::int32_t{code});
  try {
    connection_->send(packer.take());
  } catch (const ConnectionLost&) {
  }
}

RankPeer::Done RankPeer::done() const {
  const std::lock_guard lock(mutex_);
  return {gradients_, lanes_, chunks_, connection_->sent_bytes(), connection_->received_bytes()};
}

bool RankPeer::is_there() const {
  const std::lock_guard lock(mutex_);
  return !lost_;
}

bool RankPeer::holds(const Key& value) const {
  const std::lock_guard lock(mutex_);
  return held_.count(value) > 0;
}

bool RankPeer::ask(RankTalk what, std::span<const RemoteValue> needed, Asked& asked, const std::function<void(Packer&)>& put) {
  std::uint64_t number = 0;
  try {
    const std::lock_guard order(asking_);
    bring(needed);
    Packer packer = message(what);
    {
      const std::lock_guard lock(mutex_);
      if (lost_) return false;
      number = next_number_++;
      asked_.emplace(number, &asked);
    }
    packer.put(number);
    put(packer);
    connection_->send(packer.take());
  } catch (const ConnectionLost&) {
    connection_->cut();  // only listen() calls it lost, so that no result is written any more when others learn of it
  }
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return asked.answered || lost_; });
  asked_.erase(number);
  return asked.answered;
}

void RankPeer::bring(std::span<const RemoteValue> needed) {
  std::vector<const RemoteValue*> missing;
  std::vector<Key> drop;
  {
    const std::lock_guard lock(mutex_);
    if (lost_) return;
    for (const RemoteValue& value : needed) {
      if (held_.count(value.key) == 0) missing.push_back(&value);
      note_held(value.key);
    }
    drop.swap(to_drop_);
  }
  if (!drop.empty()) {
    Packer packer = message(RankTalk::drop);
    packer.put(std::uint64_t{drop.size()});
    for (const Key& key : drop) packer.put(key);
    connection_->send(packer.take());
  }
  for (const RemoteValue* value : missing) {
    Packer packer = message(RankTalk::value);
    packer.put(value->key);
    connection_->send(packer.take(), std::as_bytes(std::span(value->floats, length_)));
  }
}

/// The last used; the one that was not used for longest goes. All that a chain needs stays: it has fewer inputs.
void RankPeer::note_held(const Key& value) {
  if (const auto at = held_.find(value); at != held_.end()) {
    recent_.splice(recent_.begin(), recent_, at->second);
    return;
  }
  std::erase(to_drop_, value);  // computed once more
  recent_.push_front(value);
  held_.emplace(value, recent_.begin());
  if (recent_.size() <= most_chain_inputs + 2 * std::size_t{threads_}) return;
  to_drop_.push_back(recent_.back());
  held_.erase(recent_.back());
  recent_.pop_back();
}

void RankPeer::listen() {
  std::string why;
  try {
    for (;;) {
      const Bytes whole = connection_->receive((std::uint64_t{1} << 20) + most_chain_nodes * sizeof(float) * length_);
      Unpacker from(whole);
      hear(from);
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  bool expected = false;
  {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    expected = leaving_ || (ready_ && !ready_->problem.empty());
  }
  connection_->cut();
  news_.notify_all();
  if (expected) return;
  listener_.warn(why == Connection::silent
                     ? fmt::format("rank {} has not responded for {} s; others do its work", rank_, lost_after.count())
                     : fmt::format("rank {} is lost ({}); others do its work", rank_, why));
}

void RankPeer::hear(Unpacker& from) {
  switch (const auto what = static_cast<RankTalk>(from.get<std::uint8_t>())) {
    case RankTalk::alive:
      return connection_->send_if_free(message(RankTalk::alive).take());
    case RankTalk::interrupt:
      return listener_.interrupt();
    case RankTalk::ready:
    case RankTalk::unable: {
      Ready ready;
      if (what == RankTalk::unable) {
        ready.problem = from.get_text();
      } else {
        ready.root = from.get_key();
        ready.length = from.get<std::uint64_t>();
        length_ = ready.length;  // the next message may be a result; begin() refuses another length
      }
      const std::lock_guard lock(mutex_);
      ready_ = ready;
      return news_.notify_all();
    }
    case RankTalk::computed:
    case RankTalk::evaluated:
      return take_result(what, from);
    case RankTalk::failed:
      throw ConnectionLost(from.get_text());
    default:
      throw ConnectionLost("a message that no rank sends");
  }
}

void RankPeer::take_result(RankTalk what, Unpacker& from) {
  const auto number = from.get<std::uint64_t>();
  const std::lock_guard lock(mutex_);
  const auto at = asked_.find(number);
  if (at == asked_.end()) throw ConnectionLost("an answer to no question");
  Asked& asked = *at->second;
  if ((what == RankTalk::computed) != (asked.chain != nullptr)) throw ConnectionLost("an answer to another question");
  if (asked.sums) {
    asked.sums->loss = from.get<double>();
    asked.sums->correct = from.get<std::uint64_t>();
    ++chunks_;
  } else {
    for (const RemoteChain::Output& output : asked.chain->outputs) {
      const std::span<const float> values = from.get_floats(length_);
      std::copy(values.begin(), values.end(), output.floats);
      if (!asked.chain->lane) note_held(output.key);
    }
    lanes_ += asked.chain->lane ? 1 : 0;
    for (const RemoteChain::Node& node : asked.chain->nodes)
      gradients_ += !asked.chain->lane && node.formula->kind == Formula::Kind::gradient;
  }
  if (!from.done()) throw ConnectionLost("an answer that is too long");
  asked.answered = true;
  news_.notify_all();
}

}  // namespace straggler
