#include "scenarios/ranks/math_work.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "models/executor/chain_work.hpp"
#include "scenarios/experiment/math_plane.hpp"
#include "scenarios/ranks/connection.hpp"
#include "scenarios/ranks/rank_messages.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/problem_text.hpp"

namespace straggler {
namespace {

using Clock = std::chrono::steady_clock;
using Floats = std::shared_ptr<float[]>;

struct SetUp {
  std::string kernels;
  unsigned threads = 1;
  std::optional<int> over;  // the run ends before it begins, with this code
};

/// Tells rank 0 every second that this process lives.
class Heartbeat {
 public:
  Heartbeat(Connection& connection, const std::function<bool()>& interrupted)
      : thread_([this, &connection, &interrupted] { beat(connection, interrupted); }) {}
  ~Heartbeat() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    stop_.notify_one();
    thread_.join();
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void beat(Connection& connection, const std::function<bool()>& interrupted) {
    bool told = false;
    std::unique_lock lock(mutex_);
    try {
      while (!stop_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) {
        connection.send_if_free(message(RankTalk::alive).take());
        if (!told && interrupted()) connection.send(message(RankTalk::interrupt).take());
        told = interrupted();
      }
    } catch (const ConnectionLost&) {  // the other thread sees it, too
    }
  }

  std::mutex mutex_;
  std::condition_variable stop_;
  bool over_ = false;
  std::thread thread_;
};

/// Values, and work for threads that each have an executor.
class Workshop {
 public:
  Workshop(const MathPlane& math, const Key& root, std::size_t length, unsigned threads, Connection& connection)
      : math_(math), root_(root), length_(length), share_(usable_memory() / 4 * 3 / threads), connection_(connection) {
    for (unsigned thread = 0; thread < threads; ++thread) threads_.emplace_back([this] { work(); });
  }
  ~Workshop() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    news_.notify_all();
    for (std::thread& each : threads_) each.join();
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  void take_value(Unpacker& from) {
    const Key key = from.get_key();
    const Floats floats(new float[length_]);
    const std::span<const std::byte> bytes = from.get_bytes(length_ * sizeof(float));
    std::memcpy(floats.get(), bytes.data(), bytes.size());
    const std::lock_guard lock(mutex_);
    values_[key] = floats;
  }
  void drop(Unpacker& from) {
    const std::lock_guard lock(mutex_);
    for (auto count = from.get_count(sizeof(Key)); count > 0; --count) values_.erase(from.get_key());
  }
  void take_work(RankTalk what, Unpacker& from) {
    Work work;
    work.number = from.get<std::uint64_t>();
    if (what == RankTalk::chain) {
      work.chain = get_chain(from, rules_);
    } else {
      work.chain.chain.inputs.push_back({from.get_key(), nullptr});
      work.set = static_cast<EvaluationSet>(from.get<std::uint8_t>());
      work.chunk = from.get<std::uint64_t>();
    }
    {
      const std::lock_guard lock(mutex_);
      // Now: a value may be dropped as soon as the work that needs it has been sent.
      for (RemoteValue& input : work.chain.chain.inputs) {
        const auto at = values_.find(input.key);
        if (at == values_.end()) throw std::logic_error("a value is needed that rank 0 has not sent");
        input.floats = work.held.emplace_back(at->second).get();
      }
      waiting_.push_back(std::move(work));
    }
    news_.notify_one();
  }

 private:
  struct Work {
    std::uint64_t number = 0;
    ReceivedChain chain;
    std::optional<EvaluationSet> set;  // of an evaluation
    std::uint64_t chunk = 0;
    std::vector<Floats> held;  // inputs
  };

  void work() {
    try {
      Lineage lineage(Math::lazy, root_);
      ExecutorOptions options;
      options.threads = 1;
      options.memory_budget = share_;
      const std::unique_ptr<Executor> executor = math_.executor(lineage, options);
      while (std::optional<Work> next = take())
        connection_.send(next->set ? evaluate(*executor, *next) : compute(lineage, *executor, *next));
    } catch (const ConnectionLost&) {
    } catch (const std::exception& error) {
      Packer packer = message(RankTalk::failed);
      packer.put_text(problem_text(error));
      try {
        connection_.send(packer.take());
      } catch (const ConnectionLost&) {
      }
    }
  }

  std::optional<Work> take() {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return over_ || !waiting_.empty(); });
    if (over_) return std::nullopt;
    std::optional<Work> next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }

  Bytes evaluate(Executor& executor, const Work& work) {
    const ChunkSums sums = executor.evaluate_chunk({work.held.front().get(), length_}, *work.set, work.chunk);
    Packer packer = message(RankTalk::evaluated);
    packer.put(work.number);
    packer.put(sums.loss);
    packer.put(sums.correct);
    return packer.take();
  }

  Bytes compute(Lineage& lineage, Executor& executor, Work& work) {
    RemoteChain& chain = work.chain.chain;
    std::vector<Floats> outputs;
    for (RemoteChain::Output& output : chain.outputs) output.floats = outputs.emplace_back(new float[length_]).get();
    compute_chain(lineage, executor, chain);
    Packer packer = message(RankTalk::computed);
    packer.reserve(64 + outputs.size() * length_ * sizeof(float));
    packer.put(work.number);
    for (const Floats& output : outputs) packer.put_floats({output.get(), length_});
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < outputs.size() && !chain.lane; ++i) values_[chain.outputs[i].key] = outputs[i];
    return packer.take();
  }

  const MathPlane& math_;
  const Key root_;
  const std::size_t length_, share_;
  Connection& connection_;
  std::map<std::string, Rule> rules_;  // of the thread that takes work; others only read those that they were given

  // All below: under mutex_.
  std::mutex mutex_;
  std::condition_variable news_;
  std::unordered_map<Key, Floats, KeyHash> values_;
  std::deque<Work> waiting_;
  bool over_ = false;

  std::vector<std::thread> threads_;
};

/// Rank 0's words, in turn.
class Conversation {
 public:
  explicit Conversation(Connection& connection) : connection_(connection) {}
  /// The next message that is not a sign of life.
  RankTalk next(std::uint64_t most) {
    do {
      message_ = connection_.receive(most);
      from_.emplace(message_);
      what_ = static_cast<RankTalk>(from_->get<std::uint8_t>());
    } while (what_ == RankTalk::alive);
    return what_;
  }
  Unpacker& from() { return *from_; }

 private:
  Connection& connection_;
  Bytes message_;
  std::optional<Unpacker> from_;
  RankTalk what_ = RankTalk::alive;
};

constexpr std::uint64_t most_words = 1 << 20;

/// Set up by rank 0, which answers when all ranks have come. Null: it is not there, or it is another run's.
std::unique_ptr<Connection> introduce(const MathWork& work, SetUp& set_up, std::string& refused) {
  const std::optional<RankAddress> there = read_address(work.file);
  if (!there) return nullptr;
  RankOffer offer = offer_of_this_process(work.rank, work.identity);
  offer.token = there->token;
  for (const std::string& address : there->addresses) {
    std::unique_ptr<Connection> connection = connect_to(address, there->port, std::chrono::seconds(2));
    if (!connection) continue;
    try {
      Packer packer = message(RankTalk::offer);
      put_offer(packer, offer);
      connection->send(packer.take());
      connection->wait_at_most(rank_0_lost_after);
      Conversation rank_0(*connection);
      switch (rank_0.next(most_words)) {
        case RankTalk::set_up:
          set_up.kernels = rank_0.from().get_text();
          set_up.threads = rank_0.from().get<std::uint32_t>();
          return connection;
        case RankTalk::leave:
          set_up.over = rank_0.from().get<std::int32_t>();
          return connection;
        case RankTalk::refused:
          refused = rank_0.from().get_text();
          break;
        default:
          break;
      }
    } catch (const ConnectionLost&) {
    } catch (const std::logic_error&) {
    }
  }
  return nullptr;
}

int serve(const MathPlane& math, const Key& root, const SetUp& set_up, Connection& connection) {
  const std::size_t length = math.blueprint.model->length() + math.blueprint.numerics.registers();
  Packer packer = message(RankTalk::ready);
  packer.put(root);
  packer.put(std::uint64_t{length});
  connection.send(packer.take());
  Workshop shop(math, root, length, set_up.threads, connection);
  Conversation rank_0(connection);
  for (;;) switch (const RankTalk what = rank_0.next((std::uint64_t{1} << 26) + length * sizeof(float))) {
      case RankTalk::value:
        shop.take_value(rank_0.from());
        break;
      case RankTalk::drop:
        shop.drop(rank_0.from());
        break;
      case RankTalk::chain:
      case RankTalk::chunk:
        shop.take_work(what, rank_0.from());
        break;
      case RankTalk::leave:
        connection.cut();  // rank 0 need not wait until work that nobody needs any more is done
        return rank_0.from().get<std::int32_t>();
      default:
        throw std::logic_error("rank 0 sent a message that is not for a rank that computes");
    }
}

/// Rank 0 says what is wrong, and how the run ends.
int decline(const std::string& problem, Connection& connection) {
  Packer packer = message(RankTalk::unable);
  packer.put_text(problem);
  connection.send(packer.take());
  Conversation rank_0(connection);
  while (rank_0.next(most_words) != RankTalk::leave) {
  }
  return rank_0.from().get<std::int32_t>();
}

}  // namespace

int compute_for_rank_0(const Scenario& scenario, const MathWork& work) {
  SetUp set_up;
  std::string refused;
  std::unique_ptr<Connection> connection;
  const Clock::time_point end = Clock::now() + work.patience;
  while (!(connection = introduce(work, set_up, refused))) {
    if (work.interrupted()) return Exit::interrupted;
    if (Clock::now() > end) {
      work.warn(refused.empty() ? fmt::format("rank {} takes no part: it has not found rank 0 by {} within {} s; start all ranks together, "
                                              "with a folder of results that all see, or give --alone, with which each runs by itself",
                                              work.rank, work.file.string(), work.patience.count())
                                : fmt::format("rank {} takes no part: {}", work.rank, refused));
      return Exit::done;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (set_up.over) return *set_up.over;
  try {
    const Heartbeat heartbeat(*connection, work.interrupted);
    std::optional<WorkloadBlueprint> blueprint;
    std::optional<MathPlane> math;
    std::optional<Key> root;
    try {
      blueprint.emplace(scenario, set_up.kernels);
      math.emplace(*blueprint, scenario, set_up.threads);
      root = blueprint->root_key(scenario, blueprint->data_content(scenario));
    } catch (const std::exception& error) {
      return decline(problem_text(error), *connection);
    }
    return serve(*math, *root, set_up, *connection);
  } catch (const ConnectionLost&) {
    work.warn(fmt::format("rank {} ends: it is no longer connected to rank 0", work.rank));
    return Exit::done;  // perhaps it only stood still: mpirun would end the run at an error
  }
}

}  // namespace straggler
