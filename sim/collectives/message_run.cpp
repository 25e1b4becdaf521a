// A state machine for each rank of each collective, and one object a message in progress. Messages are kept and used again, so are
// collectives.
#include "sim/collectives/message_run.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <deque>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/collectives/early_messages.hpp"

namespace straggler {

struct MessageRun::Inside {
  struct Collective;
  struct Connection;

  struct Message final : Arrival, Event {
    /// held: a rendezvous whose receiver has not come; handled: by the sender's processor; waiting: for those before it on its connection;
    /// taken: by the receiver's processor.
    enum class Stage : std::uint8_t { idle, held, handled, waiting, flowing, travelling, taken };
    void arrived() override { collective->run->left(*this); }
    void happen() override { collective->run->moved_on(*this); }

    CollectiveRank from = 0, to = 0;
    Stage stage = Stage::idle;
    bool rendezvous = false;
    Collective* collective = nullptr;
    std::int32_t round = 0;
    std::uint64_t bytes = 0;
    Message* next = nullptr;  // idle; held, of one receiver; waiting, on one connection
    Time latency;             // after its last byte has left
    Connection* connection = nullptr;
    FlowId flow = 0;
  };

  /// From one rank of the fabric to another.
  struct Connection {
    Message *first = nullptr, *last = nullptr;  // the first one's bytes are leaving
    // Where all messages travel alike:
    bool routed = false;
    Time latency;
    boost::container::small_vector<LinkId, 4> links;
  };

  /// As an event: the start of its first round, the end of its arithmetic, or its end if it waits for nothing. The fields that every round
  /// needs are in one cache line.
  struct alignas(64) Rank final : Event {
    void happen() override { collective->run->resumed(*this); }
    CollectiveRank id() const { return static_cast<CollectiveRank>(this - collective->ranks.get()); }
    std::int32_t round = -1;      // the one it is in; -1: it has not begun
    std::uint32_t sending = 0;    // rendezvous of this round that are not over for it
    std::uint32_t receiving = 0;  // messages to it of this round, and of those before, that have not come
    Collective* collective = nullptr;
    Connection* connection = nullptr;  // that it sent on last
    CollectiveRank connected_to = 0;
    bool met_early = false;        // `early` is not empty
    Message* last_held = nullptr;  // held messages to it, until it reaches their rounds: a ring, the last one points to the first
    std::uint64_t reduced_bytes = 0;
    Time library;  // the library's cost of this round, if the schedule has such costs
    EarlyMessages early;
    // Used by schedules that let ranks be ahead:
    std::int32_t in_order = 0;  // the first round whose message has not come; messages of later ones that have
    EarlyMessages overtaking;
  };

  struct Collective {
    Inside* run = nullptr;
    std::uint64_t number = 0;
    const CollectiveSchedule* schedule = nullptr;
    std::span<const std::uint32_t> places;
    std::int32_t rounds = 0;
    std::uint32_t ahead = 0;       // CollectiveSchedule::ahead
    bool has_round_costs = false;  // CollectiveSchedule::ahead: some round costs something beside its messages and arithmetic
    bool scales_latency = false;   // CollectiveSchedule::ahead: some round has another latency than its links'
    std::size_t unfinished = 0;
    std::size_t room = 0;
    std::unique_ptr<Rank[]> ranks;  // [room]
  };

  Inside(Simulation& its_simulation, Network& its_network, Transport& its_transport, const CollectiveCosts& its_costs, Start start,
         std::optional<std::uint64_t> its_eager_most, CollectiveWatch& its_watch)
      : queue(its_simulation.queue()),
        network(its_network),
        transport(its_transport),
        costs(its_costs),
        handles(costs.handles()),
        together(start == Start::together),
        eager_most(its_eager_most),
        watch(its_watch),
        plain(its_transport.plain()),
        watched(its_watch.watches_messages()) {}

  ~Inside() { stop(); }

  void stop() {
    for (Message& message : messages) {
      if (message.stage == Message::Stage::flowing) network.cancel(message.flow);
      message.cancel();
    }
    under_way.clear();
    messages.clear();
    idle = nullptr;
    connections.clear();
    processor_free.clear();
  }

  std::uint64_t open(const CollectiveSchedule& schedule, std::span<const std::uint32_t> places) {
    if (spare.empty()) spare.push_back(std::make_unique<Collective>());
    under_way.push_back(std::move(spare.back()));
    spare.pop_back();
    Collective& collective = *under_way.back();
    collective.run = this;
    collective.number = opened;
    collective.schedule = &schedule;
    collective.places = places;
    collective.rounds = static_cast<std::int32_t>(schedule.rounds());
    collective.ahead = static_cast<std::uint32_t>(schedule.ahead());
    const std::vector<Stretch> stretches = schedule.stretches();
    collective.has_round_costs =
        std::any_of(stretches.begin(), stretches.end(), [&](const Stretch& each) { return schedule.round_cost(each.first) > Time(); });
    collective.scales_latency =
        std::any_of(stretches.begin(), stretches.end(), [&](const Stretch& each) { return schedule.latency_share(each.first) != 1; });
    collective.unfinished = schedule.ranks();
    if (collective.room < schedule.ranks()) {
      collective.room = schedule.ranks();
      collective.ranks = std::make_unique<Rank[]>(collective.room);
    }
    for (std::size_t r = 0; r < schedule.ranks(); ++r) {
      Rank& rank = collective.ranks[r];
      rank.collective = &collective;
      rank.round = -1;
      rank.receiving = 0;
      rank.early.clear();
      rank.met_early = false;
      rank.in_order = 0;
      rank.overtaking.clear();
      rank.connection = nullptr;
    }
    return opened++;
  }

  Collective& to_begin(std::uint64_t number, CollectiveRank id) {
    const auto found = std::find_if(under_way.begin(), under_way.end(), [number](const auto& each) { return each->number == number; });
    if (found == under_way.end() || (*found)->ranks[id].round >= 0 || (*found)->ranks[id].scheduled())
      throw std::logic_error("rank " + std::to_string(id) + " begins its part of a collective that is over, or for a second time");
    return **found;
  }

  void begin(std::uint64_t number, CollectiveRank id) {
    Collective& collective = to_begin(number, id);
    beginning = true;
    launch(collective.ranks[id]);
    beginning = false;
  }

  void begin_all(std::uint64_t number) {
    Collective& collective = to_begin(number, 0);
    beginning = true;
    for (std::size_t rank = 0; rank < collective.schedule->ranks(); ++rank) launch(collective.ranks[rank]);
    beginning = false;
  }

  void launch(Rank& rank) {
    const Time before = costs.before_first_round(*rank.collective->schedule);
    if (before > Time())
      queue.after(before, rank);
    else
      go_on(rank);
  }

  bool waits(const Rank& rank) const {
    const bool last = rank.round + 1 >= rank.collective->rounds;
    return rank.sending > 0 || rank.receiving > (last ? 0 : rank.collective->ahead);
  }

  /// Enters the next round, and continues through all rounds that need not wait.
  void go_on(Rank& rank) {
    while (++rank.round < rank.collective->rounds) {
      rank.collective->schedule->part(rank.id(), static_cast<std::size_t>(rank.round), part);
      const std::uint32_t early = rank.met_early ? take_early(rank) : 0;
      if (early > part.receives) throw_unexpected(rank, rank.round);
      rank.receiving += part.receives - early;
      if (costs.reduce_seconds_per_byte != 0) rank.reduced_bytes = part.reduced_bytes;
      if (rank.collective->has_round_costs) {
        const bool takes_part = !part.sends.empty() || part.receives > 0;
        rank.library = takes_part ? rank.collective->schedule->round_cost(static_cast<std::size_t>(rank.round)) : Time();
      }
      rank.sending = 0;
      for (const RoundPart::Send& send : part.sends) start(rank, send);
      if (rank.last_held) release_held(rank);
      if (waits(rank) || ends_round(rank)) return;
    }
    if (beginning)
      queue.after(Time(), rank);
    else
      finish(rank);
  }

  [[gnu::noinline]] static void keep_early(Rank& rank, std::size_t rounds_ahead) {
    rank.early.add(rounds_ahead);
    rank.met_early = true;
  }
  [[gnu::noinline]] static std::uint32_t take_early(Rank& rank) {
    const std::uint32_t count = rank.early.take();
    rank.met_early = !rank.early.empty();
    return count;
  }

  void start(Rank& rank, const RoundPart::Send& send) {
    Message& message = idle_message();
    message.collective = rank.collective;
    message.from = rank.id();
    message.to = send.to;
    message.bytes = send.bytes;
    message.round = rank.round;
    message.rendezvous = !eager_most || send.bytes > *eager_most;
    if (!message.rendezvous) return handle(message);
    ++rank.sending;
    Rank& receiver = rank.collective->ranks[send.to];
    if (receiver.round - rank.round > static_cast<std::int32_t>(rank.collective->ahead)) throw_unexpected(receiver, rank.round);
    if (receiver.round >= rank.round) return handle(message);
    message.stage = Message::Stage::held;
    hold(receiver, message);
  }

  static void hold(Rank& receiver, Message& message) {
    Message* const last = std::exchange(receiver.last_held, &message);
    message.next = last ? std::exchange(last->next, &message) : &message;
  }

  /// Those of its present round start, in the order of their coming.
  void release_held(Rank& rank) {
    Message* const last = std::exchange(rank.last_held, nullptr);
    Message* message = std::exchange(last->next, nullptr);
    while (message) {
      Message& first = *std::exchange(message, message->next);
      if (first.round == rank.round)
        handle(first);
      else
        hold(rank, first);
    }
  }

  Message& idle_message() {
    if (!idle) return messages.emplace_back();
    return *std::exchange(idle, idle->next);
  }

  static std::uint32_t place(const Message& message, CollectiveRank rank) {
    const std::span<const std::uint32_t> places = message.collective->places;
    return places.empty() ? rank : places[rank];
  }

  // A message's way

  void handle(Message& message) {
    if (!handles) return post(message);
    message.stage = Message::Stage::handled;
    occupy(place(message, message.from), message);
  }

  [[gnu::noinline]] void occupy(std::uint32_t where, Message& message) {
    if (where >= processor_free.size()) processor_free.resize(where + 1);
    Time& free = processor_free[where];
    free = costs.handled(std::max(free, queue.now()), message.bytes);
    queue.at(free, message);
  }

  void post(Message& message) {
    ++posted;
    if (watched) watch.posted(message.collective->number, message.from, message.to, message.bytes);
    Connection& connection = connection_of(message);
    message.connection = &connection;
    if (!in_turn(message)) return let_flow(message);
    message.next = nullptr;
    (connection.first ? connection.last->next : connection.first) = &message;
    connection.last = &message;
    if (connection.first == &message)
      let_flow(message);
    else
      message.stage = Message::Stage::waiting;
  }

  /// Whether it waits for those before it on its connection. Packets of a rank that is ahead wait for one another in the network.
  bool in_turn(const Message& message) const { return !together && (message.collective->ahead == 0 || !network.packets()); }

  Connection& connection_of(const Message& message) {
    Rank& sender = message.collective->ranks[message.from];
    if (!sender.connection || sender.connected_to != message.to) connect(sender, message);
    return *sender.connection;
  }
  [[gnu::noinline]] void connect(Rank& sender, const Message& message) {
    sender.connection = &connections[std::uint64_t{place(message, message.from)} << 32 | place(message, message.to)];
    sender.connected_to = message.to;
  }

  /// Bytes first, the latency after: the next one on the connection waits for the bytes alone.
  void let_flow(Message& message) {
    Connection& connection = *message.connection;
    message.stage = Message::Stage::flowing;
    if (!plain) return let_shaped_flow(message);
    if (!connection.routed) route(connection, message);
    message.latency = message.collective->scales_latency ? shown(connection.latency, message) : connection.latency;
    message.flow = network.start_on_route({connection.links.data(), connection.links.size()}, wire_bytes(message), Time(), message);
  }
  [[gnu::noinline]] void let_shaped_flow(Message& message) {
    plan(message);
    message.latency = shown(carriage.after, message);
    message.flow = network.start(carriage.flow(shown(carriage.before, message)), message);
  }
  [[gnu::noinline]] static Time shown(Time latency, const Message& message) {
    if (!message.collective->scales_latency) return latency;
    const double share = message.collective->schedule->latency_share(static_cast<std::size_t>(message.round));
    return Time::round_up(static_cast<double>(latency.ticks()) * share);
  }
  [[gnu::noinline]] void route(Connection& connection, const Message& message) {
    plan(message);
    connection.routed = true;
    connection.latency = carriage.before + carriage.after;
    connection.links.assign(carriage.links.begin(), carriage.links.end());
  }
  void plan(const Message& message) {
    transport.plan(place(message, message.from), place(message, message.to), wire_bytes(message), carriage);
  }
  static double wire_bytes(const Message& message) {
    return static_cast<double>(message.bytes) * message.collective->schedule->wire_factor(message.from, message.to);
  }

  void left(Message& message) {
    if (in_turn(message)) {
      Connection& connection = *message.connection;
      connection.first = message.next;
      if (connection.first) let_flow(*connection.first);
    }
    message.stage = Message::Stage::travelling;
    queue.after(message.latency, message);
    if (message.rendezvous && !together) over_for_sender(message);
  }

  void over_for_sender(const Message& message) {
    Rank& sender = message.collective->ranks[message.from];
    --sender.sending;
    advance(sender);
  }

  void moved_on(Message& message) {
    switch (message.stage) {
      case Message::Stage::handled:
        return post(message);
      case Message::Stage::travelling:
        return arrived(message);
      case Message::Stage::taken:
        return received(message);
      default:
        throw std::logic_error("an event fired for a message that was not waiting");
    }
  }

  void arrived(Message& message) {
    if (watched) watch.arrived(message.from, message.to, message.bytes);
    if (handles) {
      message.stage = Message::Stage::taken;
      occupy(place(message, message.to), message);
    }
    if (message.rendezvous && together) over_for_sender(message);
    if (!handles) received(message);
  }

  void received(Message& message) {
    Rank& receiver = message.collective->ranks[message.to];
    const std::int32_t round = message.round;
    message.stage = Message::Stage::idle;
    message.next = std::exchange(idle, &message);
    receiver.collective->ahead == 0 ? came(receiver, round) : came_in_order(receiver, round);
  }

  /// A message that overtakes another waits for it, as on one connection: a rank that is ahead passes on what came first.
  void came_in_order(Rank& receiver, std::int32_t round) {
    if (round < receiver.in_order) throw_unexpected(receiver, round);
    if (round > receiver.in_order) return receiver.overtaking.add(static_cast<std::size_t>(round - receiver.in_order - 1));
    bool more = true;
    while (more) {
      more = receiver.overtaking.take() > 0;
      came(receiver, receiver.in_order++);
    }
  }

  void came(Rank& receiver, std::int32_t round) {
    if (round > receiver.round) return keep_early(receiver, static_cast<std::size_t>(round - receiver.round - 1));
    const bool expected = receiver.round - round <= static_cast<std::int32_t>(receiver.collective->ahead) && receiver.receiving > 0;
    if (!expected) throw_unexpected(receiver, round);
    --receiver.receiving;
    if (!receiver.scheduled()) advance(receiver);
  }

  // A rank's way

  void advance(Rank& rank) {
    if (!waits(rank) && !ends_round(rank)) go_on(rank);
  }

  /// Its arithmetic and the library's time; false: both are zero.
  bool ends_round(Rank& rank) {
    Time span = rank.collective->has_round_costs ? rank.library : Time();
    if (costs.reduce_seconds_per_byte != 0 && rank.reduced_bytes != 0)
      span = span + Time::from_seconds(static_cast<double>(rank.reduced_bytes) * costs.reduce_seconds_per_byte);
    if (span == Time()) return false;
    queue.after(span, rank);
    return true;
  }

  void resumed(Rank& rank) {
    if (rank.round == rank.collective->rounds) return finish(rank);
    go_on(rank);
  }

  /// Of a collective that is over nothing is touched after it.
  void finish(Rank& rank) {
    Collective& collective = *rank.collective;
    const std::uint64_t number = collective.number;
    const CollectiveRank id = rank.id();
    if (--collective.unfinished == 0) {
      const auto found = std::find_if(under_way.begin(), under_way.end(), [&](const auto& each) { return each.get() == &collective; });
      spare.push_back(std::move(*found));
      under_way.erase(found);
    }
    watch.done(number, id);
  }

  [[noreturn, gnu::noinline]] static void throw_unexpected(const Rank& receiver, std::int32_t round) {
    throw std::logic_error("a message of round " + std::to_string(round) + " goes to rank " + std::to_string(receiver.id()) +
                           ", which expects nothing more in it");
  }

  EventQueue& queue;
  Network& network;
  Transport& transport;
  const CollectiveCosts costs;
  const bool handles;  // costs.handles()
  const bool together;
  const std::optional<std::uint64_t> eager_most;
  CollectiveWatch& watch;
  const bool plain, watched;
  bool beginning = false;
  std::uint64_t opened = 0, posted = 0;
  std::vector<std::unique_ptr<Collective>> under_way, spare;
  std::deque<Message> messages;
  Message* idle = nullptr;
  std::unordered_map<std::uint64_t, Connection> connections;  // by (from, to) of the fabric
  std::vector<Time> processor_free;                           // [ranks of the fabric]
  RoundPart part;
  Carriage carriage;
};

MessageRun::MessageRun(Simulation& simulation, Network& network, Transport& transport, const CollectiveCosts& costs, Start start,
                       std::optional<std::uint64_t> eager_most, CollectiveWatch& watch)
    : inside_(std::make_unique<Inside>(simulation, network, transport, costs, start, eager_most, watch)) {}

MessageRun::~MessageRun() = default;

std::uint64_t MessageRun::open(const CollectiveSchedule& schedule, std::span<const std::uint32_t> ranks) {
  return inside_->open(schedule, ranks);
}
void MessageRun::begin(std::uint64_t collective, CollectiveRank rank) { inside_->begin(collective, rank); }
void MessageRun::begin_all(std::uint64_t collective) { inside_->begin_all(collective); }
void MessageRun::stop() { inside_->stop(); }
bool MessageRun::running() const { return !inside_->under_way.empty(); }
std::uint64_t MessageRun::messages() const { return inside_->posted; }

}  // namespace straggler
