// A state machine a rank, and one object a message under way. Nothing is allocated once the largest number of messages that a rank
// has under way at once has been seen.
#include "sim/collectives/stepwise.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace straggler {

struct StepwiseRun::Inside {
  /// Belongs to its sender for ever.
  struct Message final : Arrival, Event {
    enum class Stage : std::uint8_t { idle, sending, flowing, travelling, receiving };
    Message(Inside& its_run, CollectiveRank sender) : run(its_run), from(sender) {}
    void arrived() override { run.left(*this); }
    void happen() override { run.moved_on(*this); }

    Inside& run;
    CollectiveRank from, to = 0;
    Stage stage = Stage::idle;
    std::uint64_t bytes = 0;
    std::int64_t round = 0;
    FlowId flow = 0;
    Message* next = nullptr;  // idle: of the same sender; waiting: of the same receiver
    // Where all messages to a rank travel alike: the way to `routed_to`.
    std::int64_t routed_to = -1;
    Time latency;  // after its last byte has left
    std::vector<LinkId> links;
  };

  /// As an event: the end of its arithmetic.
  struct Rank final : Event {
    void happen() override { run->enter(id, round + 1); }

    Inside* run = nullptr;
    CollectiveRank id = 0;
    std::int64_t round = -1;      // the one it is in; -1: not yet in any
    std::size_t sending = 0;      // messages of this round that have not arrived
    std::uint32_t receiving = 0;  // the same of those to it
    std::uint64_t reduced_bytes = 0;
    Time processor_free;
    Message* idle = nullptr;
    Message *first_waiting = nullptr, *last_waiting = nullptr;  // to it, until it comes to their round
  };

  /// Ranks that had nothing to do from the start: their end is told from the queue as well.
  struct DoneAtStart final : Event {
    explicit DoneAtStart(Inside& its_run) : run(its_run) {}
    void happen() override {
      for (const CollectiveRank rank : std::exchange(ranks, {})) run.tell_done(rank);
    }
    Inside& run;
    std::vector<CollectiveRank> ranks;
  };

  Inside(Simulation& its_simulation, Network& its_network, Transport& its_transport, std::function<void(CollectiveRank)> when_done)
      : queue(its_simulation.queue()), network(its_network), transport(its_transport), done(std::move(when_done)) {}

  void start(const CollectiveSchedule& what, const CollectiveCosts& its_costs, std::span<const std::uint32_t> its_places) {
    if (running > 0) throw std::logic_error("a collective is started while it runs; wait until all its ranks are done");
    schedule = &what;
    costs = its_costs;
    rounds = static_cast<std::int64_t>(what.rounds());
    plain = transport.plain();
    if (!std::equal(its_places.begin(), its_places.end(), places.begin(), places.end())) {
      places.assign(its_places.begin(), its_places.end());
      for (Message& message : messages) message.routed_to = -1;
    }
    if (count < what.ranks()) {
      if (count > 0) messages.clear();  // their senders' lists go
      count = what.ranks();
      ranks = std::make_unique<Rank[]>(count);
    }
    running = what.ranks();
    for (std::size_t r = 0; r < running; ++r) {
      ranks[r].run = this;
      ranks[r].id = static_cast<CollectiveRank>(r);
      ranks[r].round = -1;
    }
    starting = true;
    for (std::size_t r = 0; r < what.ranks(); ++r) enter(static_cast<CollectiveRank>(r), 0);
    starting = false;
    if (!at_start.ranks.empty()) queue.after(Time(), at_start);
  }

  /// The rank comes to the first round from `round` on in which it has something to do.
  void enter(CollectiveRank id, std::int64_t round) {
    Rank& rank = ranks[id];
    for (;; ++round) {
      if (round == rounds) {
        rank.round = rounds;
        if (!starting) return tell_done(id);
        at_start.ranks.push_back(id);
        return;
      }
      schedule->part(id, static_cast<std::size_t>(round), part);
      if (!part.sends.empty() || part.receives > 0) break;
    }
    rank.round = round;
    rank.sending = part.sends.size();
    rank.receiving = part.receives;
    rank.reduced_bytes = part.reduced_bytes;
    for (const RoundPart::Send& send : part.sends) {
      Message& message = idle_message(rank);
      message.to = send.to;
      message.bytes = send.bytes;
      message.round = round;
      Rank& receiver = ranks[send.to];
      if (receiver.round == round)
        launch(message);
      else
        wait_for(receiver, message);
    }
    if (rank.first_waiting) launch_waiting(rank);
  }

  Message& idle_message(Rank& rank) {
    if (!rank.idle) return messages.emplace_back(*this, rank.id);
    Message& message = *rank.idle;
    rank.idle = std::exchange(message.next, nullptr);
    return message;
  }

  void wait_for(Rank& receiver, Message& message) {
    if (receiver.round > message.round) {
      throw std::logic_error("in round " + std::to_string(message.round) + " rank " + std::to_string(message.from) + " sends to rank " +
                             std::to_string(message.to) + ", which expects nothing");
    }
    (receiver.first_waiting ? receiver.last_waiting->next : receiver.first_waiting) = &message;
    receiver.last_waiting = &message;
  }

  void launch_waiting(Rank& receiver) {
    Message* message = std::exchange(receiver.first_waiting, nullptr);
    receiver.last_waiting = nullptr;
    while (message) {
      Message* const next = std::exchange(message->next, nullptr);
      if (message->round == receiver.round)
        launch(*message);
      else
        wait_for(receiver, *message);
      message = next;
    }
  }

  void launch(Message& message) {
    if (costs.handles())
      process(message, Message::Stage::sending, ranks[message.from]);
    else
      send(message);
  }

  /// A rank's processor takes one message after the other.
  void process(Message& message, Message::Stage stage, Rank& rank) {
    message.stage = stage;
    rank.processor_free = costs.handled(std::max(rank.processor_free, queue.now()), message.bytes);
    queue.at(rank.processor_free, message);
  }
  void moved_on(Message& message) {
    switch (message.stage) {
      case Message::Stage::sending:
        return send(message);
      case Message::Stage::travelling:
        return arrived(message);
      default:
        retire(message);
        return received(message.to);
    }
  }

  void send(Message& message) {
    ++sent;
    message.stage = Message::Stage::flowing;
    if (plain) {
      if (message.routed_to != message.to) find_way(message);
      message.flow = network.start(message.links, static_cast<double>(message.bytes), Time(), message);
      return;
    }
    transport.plan(place(message.from), place(message.to), static_cast<double>(message.bytes), carriage);
    message.latency = carriage.after;
    message.flow = network.start(carriage.flow(carriage.before), message);
  }

  void find_way(Message& message) {
    transport.plan(place(message.from), place(message.to), static_cast<double>(message.bytes), carriage);
    message.routed_to = message.to;
    message.latency = carriage.before + carriage.after;
    message.links.assign(carriage.links.begin(), carriage.links.end());
  }

  /// Bytes first, the latency after.
  void left(Message& message) {
    message.stage = Message::Stage::travelling;
    queue.after(message.latency, message);
  }

  void arrived(Message& message) {
    const CollectiveRank from = message.from, to = message.to;
    if (costs.handles()) {
      process(message, Message::Stage::receiving, ranks[to]);
      delivered(from);
      return;
    }
    retire(message);
    delivered(from);
    received(to);
  }

  void retire(Message& message) {
    message.stage = Message::Stage::idle;
    message.next = std::exchange(ranks[message.from].idle, &message);
  }

  void delivered(CollectiveRank sender) {
    --ranks[sender].sending;
    advance(ranks[sender]);
  }
  void received(CollectiveRank receiver) {
    --ranks[receiver].receiving;
    advance(ranks[receiver]);
  }

  void advance(Rank& rank) {
    if (rank.sending > 0 || rank.receiving > 0) return;
    if (rank.reduced_bytes > 0 && costs.reduce_seconds_per_byte > 0) {
      const Time arithmetic = Time::from_seconds(static_cast<double>(rank.reduced_bytes) * costs.reduce_seconds_per_byte);
      if (arithmetic > Time()) return queue.after(arithmetic, rank);
    }
    enter(rank.id, rank.round + 1);
  }

  /// The last one may start the next collective: nothing is touched after it.
  void tell_done(CollectiveRank rank) {
    --running;
    done(rank);
  }

  std::uint32_t place(CollectiveRank rank) const { return places.empty() ? rank : places[rank]; }

  /// Whatever is under way is given up.
  void stop() {
    for (Message& message : messages) {
      if (message.stage == Message::Stage::flowing) network.cancel(message.flow);
      message.cancel();
    }
    messages.clear();
    ranks.reset();
    at_start.cancel();
    at_start.ranks.clear();
    count = running = 0;
  }

  EventQueue& queue;
  Network& network;
  Transport& transport;
  std::function<void(CollectiveRank)> done;
  std::vector<std::uint32_t> places;  // of the fabric, by rank; empty: the same
  const CollectiveSchedule* schedule = nullptr;
  CollectiveCosts costs;
  std::int64_t rounds = 0;
  bool plain = false, starting = false;
  std::size_t count = 0, running = 0;  // ranks with a place; ranks not done yet
  std::unique_ptr<Rank[]> ranks;
  std::deque<Message> messages;
  DoneAtStart at_start{*this};
  std::uint64_t sent = 0;
  RoundPart part;
  Carriage carriage;
};

StepwiseRun::StepwiseRun(Simulation& simulation, Network& network, Transport& transport, std::function<void(CollectiveRank)> done)
    : inside_(std::make_unique<Inside>(simulation, network, transport, std::move(done))) {}

StepwiseRun::~StepwiseRun() { inside_->stop(); }

void StepwiseRun::start(const CollectiveSchedule& schedule, const CollectiveCosts& costs, std::span<const std::uint32_t> ranks) {
  inside_->start(schedule, costs, ranks);
}
void StepwiseRun::stop() { inside_->stop(); }
bool StepwiseRun::running() const { return inside_->running > 0; }
std::uint64_t StepwiseRun::messages() const { return inside_->sent; }

}  // namespace straggler
