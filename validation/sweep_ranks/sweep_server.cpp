#include "validation/sweep_ranks/sweep_server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/experiment/experiment.hpp"
#include "validation/mpi/real_run.hpp"
#include "validation/mpi/waiting.hpp"

namespace straggler {
namespace {

Packer answer(Talk what, std::uint64_t number) {
  Packer packer = message(what);
  packer.put(number);
  return packer;
}

}  // namespace

SweepServer::SweepServer(const Mpi& mpi, Options options)
    : options_(std::move(options)), channel_(mpi, std::nullopt), peers_(static_cast<std::size_t>(mpi.size())) {
  for (Peer& each : peers_) each.heard = Clock::now();
}

void SweepServer::serve(PointPool& pool, const RankSetup& setup) {
  if (pool.over()) return;
  struct Served {
    SweepServer& server;
    Served(SweepServer& of, PointPool& pool) : server(of) { server.pool_ = &pool; }
    ~Served() { server.pool_ = nullptr; }
  };
  const Served served(*this, pool);
  looked_at_ = 0;
  look_again_ = {};
  for (Peer& each : peers_) {
    each.heard = Clock::now();  // no rank was heard meanwhile
    each.told_to_stop = false;
    each.tickets.clear();
  }
  looked_ = Clock::now();
  if (!set_up_) set_up(setup);
  while (!pool.over()) {
    step();
    rest();
  }
}

void SweepServer::set_up(const RankSetup& setup) {
  for (Rank rank = 1; rank < channel_.ranks(); ++rank) {
    Packer packer = message(Talk::set_up);
    put_setup(packer, setup);
    send(rank, std::move(packer));
  }
  const auto known = [](const Peer& each) { return each.ready || each.lost; };
  while (!std::all_of(peers_.begin() + 1, peers_.end(), known)) {
    if (channel_.progress(*this)) patience_.happened();
    look_after_ranks();
    rest();
  }
  set_up_ = true;
  for (Rank rank = 1; rank < channel_.ranks(); ++rank)
    if (!peer(rank).problem.empty()) throw Refusal(fmt::format("rank {} {}", rank, peer(rank).problem));
}

void SweepServer::step() {
  if (channel_.progress(*this)) patience_.happened();
  guarded([&] {
    if (pool_->ended()) tell_stop();
  });
  guarded([&] {
    if (hand_out()) patience_.happened();
  });
  look_after_ranks();
}

void SweepServer::rest() { nap(patience_.pause().count()); }

/// A failure ends the pool, which is served until nothing runs.
template <class Body>
bool SweepServer::guarded(const Body& body) {
  try {
    body();
    return true;
  } catch (...) {
    pool_->abandon(std::current_exception());
    return false;
  }
}

void SweepServer::arrived(Rank from, MessageKind /*kind*/, Bytes bytes) {
  Peer& sender = peer(from);
  sender.heard = Clock::now();
  if (sender.lost && !sender.gone) {
    sender.lost = false;
    options_.warn(fmt::format("rank {} responds again", from));
    if (closed_) send_close(from);
  }
  Unpacker unpacker(bytes);
  const auto what = static_cast<Talk>(unpacker.get<std::uint8_t>());
  switch (what) {
    case Talk::ready:
      return note_ready(from, unpacker);
    case Talk::want:
      waiting_.push_back({from, unpacker.get<std::uint64_t>()});
      look_again_ = {};
      return;
    case Talk::find:
      return answer_find(from, unpacker);
    case Talk::promise:
      return answer_promise(from, unpacker);
    case Talk::keep:
      return keep(unpacker);
    case Talk::finish:
    case Talk::fail:
    case Talk::give_up:
      return end_point(from, what, unpacker);
    case Talk::broken:
      if (pool_) pool_->abandon(std::make_exception_ptr(RunFailed(fmt::format("rank {}: {}", from, unpacker.get_text()))));
      return;
    case Talk::interrupt:
      return options_.interrupt();
    case Talk::bye:
      sender.gone = true;
      return;
    default:  // alive
      return;
  }
}

void SweepServer::note_ready(Rank from, Unpacker& message) {
  Peer& sender = peer(from);
  const Key arguments = message.get_key(), build = message.get_key();
  sender.problem = message.get_text();
  sender.ready = true;
  if (build != options_.identity.build)
    sender.problem = "runs another build than rank 0; give all the same program";
  else if (arguments != options_.identity.arguments)
    sender.problem = "has other arguments than rank 0; give all the same, or --alone, with which each process runs by itself";
}

void SweepServer::answer_find(Rank from, Unpacker& message) {
  const auto number = message.get<std::uint64_t>();
  const Key key = message.get_key();
  std::optional<Evaluation> known;
  if (pool_)
    guarded([&] {
      if (TrajectoryStore* const store = pool_->store()) known = store->find(key);
    });
  Packer packer = answer(Talk::found, number);
  packer.put(std::uint8_t{known.has_value()});
  if (known) put_evaluation(packer, *known);
  send(from, std::move(packer));
}

void SweepServer::answer_promise(Rank from, Unpacker& message) {
  const auto number = message.get<std::uint64_t>(), ticket = message.get<std::uint64_t>();
  const std::vector<Key> missing = get_keys(message);
  bool promised = false;
  if (pool_ && peer(from).tickets.contains(ticket)) guarded([&] { promised = pool_->promise(ticket, missing); });
  if (!promised) peer(from).tickets.erase(ticket);
  Packer packer = answer(Talk::promised, number);
  packer.put(std::uint8_t{promised});
  send(from, std::move(packer));
}

void SweepServer::keep(Unpacker& message) {
  const Key key = message.get_key();
  const Evaluation value = get_evaluation(message);
  if (!pool_) return;
  guarded([&] {
    if (TrajectoryStore* const store = pool_->store()) store->keep(key, value);
  });
}

/// Ignores the result of a rank that counted as lost: another rank has its point.
void SweepServer::end_point(Rank from, Talk how, Unpacker& message) {
  const auto ticket = message.get<std::uint64_t>();
  if (!pool_ || peer(from).tickets.erase(ticket) == 0) return;
  const bool taken = guarded([&] {
    if (how == Talk::fail) return pool_->fail(ticket, message.get_text());
    if (how == Talk::give_up) return pool_->give_up(ticket);
    FinishedPoint point = get_point(message);
    const auto all = message.get<std::uint64_t>();
    pool_->finish(ticket, std::move(point), {all, message.get<std::uint64_t>()});
  });
  if (!taken) guarded([&] { pool_->give_up(ticket); });
}

/// True: a point went out. Asks the pool again only when it has changed, or, since other processes may work on the same sweep, after a
/// while.
bool SweepServer::hand_out() {
  constexpr std::chrono::milliseconds again(200);
  const auto next = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& each) { return !peer(each.rank).lost; });
  if (next == waiting_.end()) return false;
  const std::uint64_t changes = pool_->changes();
  const Clock::time_point now = Clock::now();
  if (changes == looked_at_ && now < look_again_) return false;
  std::optional<PointWork> work;
  if (pool_->take(work) != PointPool::Turn::work) {
    looked_at_ = changes;
    look_again_ = now + again;
    return false;
  }
  Packer packer = answer(Talk::work, next->number);
  put_work(packer, *work);
  peer(next->rank).tickets.insert(work->ticket);
  send(next->rank, std::move(packer));
  waiting_.erase(next);
  return true;
}

void SweepServer::tell_stop() {
  for (Rank rank = 1; rank < channel_.ranks(); ++rank) {
    Peer& each = peer(rank);
    if (each.told_to_stop || each.lost) continue;
    send(rank, message(Talk::stop));
    each.told_to_stop = true;
  }
}

/// Says that this rank lives, and sees which others do.
void SweepServer::look_after_ranks() {
  const Clock::time_point now = Clock::now();
  // If this process itself stood still, the other ranks are not lost.
  if (now - looked_ > alive_every)
    for (Peer& each : peers_) each.heard = now;
  looked_ = now;
  if (now - told_alive_ < alive_every) return;
  told_alive_ = now;
  for (Rank rank = 1; rank < channel_.ranks(); ++rank) {
    const Peer& each = peer(rank);
    if (each.lost) continue;
    if (now - each.heard > lost_after)
      lose(rank);
    else
      send(rank, message(Talk::alive));
  }
}

void SweepServer::lose(Rank rank) {
  Peer& lost = peer(rank);
  lost.lost = true;
  options_.warn(fmt::format("rank {} has not responded for {} s{}", rank, lost_after.count(),
                            lost.tickets.empty() ? "" : ": its points are given to other ranks"));
  if (pool_)
    for (const std::uint64_t ticket : lost.tickets) pool_->put_back(ticket);
  lost.tickets.clear();
}

bool SweepServer::close(int code) {
  looked_ = Clock::now();
  for (Peer& each : peers_) each.heard = looked_;
  closed_ = code;
  for (Rank rank = 1; rank < channel_.ranks(); ++rank)
    if (!peer(rank).lost) send_close(rank);
  const auto over = [](const Peer& each) { return each.gone || each.lost; };
  while (!std::all_of(peers_.begin() + 1, peers_.end(), over)) {
    if (channel_.progress(*this)) patience_.happened();
    look_after_ranks();
    rest();
  }
  const bool all_there = std::none_of(peers_.begin(), peers_.end(), [](const Peer& each) { return each.lost; });
  for (Rank rank = 1; rank < channel_.ranks(); ++rank) {
    if (peer(rank).lost) continue;
    Packer packer = message(Talk::leave);
    packer.put(std::uint8_t{all_there});
    send(rank, std::move(packer));
  }
  for (const Clock::time_point since = Clock::now(); !channel_.all_left() && Clock::now() - since < lost_after; rest())
    channel_.progress(*this);
  return all_there;
}

void SweepServer::send_close(Rank to) {
  Packer packer = message(Talk::close);
  packer.put(std::int32_t{*closed_});
  send(to, std::move(packer));
}

void SweepServer::send(Rank to, Packer message) {
  channel_.send(to, MessageKind::sweep, std::make_shared<const Bytes>(message.take()), nullptr);
}

}  // namespace straggler
