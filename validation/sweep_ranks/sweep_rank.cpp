#include "validation/sweep_ranks/sweep_rank.hpp"

#include "models/kernels/kernels.hpp"
#include "sim/base/problem_text.hpp"

namespace straggler {

SweepRank::SweepRank(const Mpi& mpi, Options options) : options_(std::move(options)), channel_(mpi, std::nullopt) {}

SweepRank::~SweepRank() {
  for (std::thread& each : threads_) each.join();
}

std::optional<int> SweepRank::run() {
  const auto closed = [this] {
    const std::lock_guard lock(mutex_);
    return closed_;
  };
  heard_ = looked_ = Clock::now();
  std::optional<int> code;
  while (!(code = closed()) || working_ > 0) {
    send_all();
    if (channel_.progress(*this)) patience_.happened();
    tell_rank_0();
    if (deserted()) return std::nullopt;
    rest();
  }
  wait_to_leave();
  return code;
}

/// All ranks leave together: MPI's end waits for each of them, and would wait for ever for one that died after it had heard of the close.
/// If rank 0 is silent, it is lost.
void SweepRank::wait_to_leave() {
  post(message(Talk::bye));
  heard_ = Clock::now();
  while (!left_ && Clock::now() - heard_ <= SweepServer::lost_after) {
    send_all();
    if (channel_.progress(*this)) patience_.happened();
    tell_rank_0();
    rest();
  }
}

/// Sleeps, but sends a worker's messages at once.
void SweepRank::rest() {
  std::unique_lock lock(mutex_);
  if (outbox_.empty()) outgoing_.wait_for(lock, patience_.pause());
}

void SweepRank::send_all() {
  std::deque<Bytes> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(outbox_);
  }
  if (!messages.empty()) patience_.happened();
  for (Bytes& each : messages) channel_.send(0, MessageKind::sweep, std::make_shared<const Bytes>(std::move(each)), nullptr);
}

void SweepRank::tell_rank_0() {
  const Clock::time_point now = Clock::now();
  if (now - looked_ > SweepServer::alive_every) heard_ = now;  // this process itself stood still
  looked_ = now;
  if (!told_interrupt_ && options_.interrupted()) {
    told_interrupt_ = true;
    post(message(Talk::interrupt));
  }
  if (now - told_alive_ < SweepServer::alive_every) return;
  told_alive_ = now;
  post(message(Talk::alive));
}

bool SweepRank::deserted() const { return !threads_.empty() && Clock::now() - heard_ > lost_after; }

void SweepRank::arrived(Rank /*from*/, MessageKind /*kind*/, Bytes bytes) {
  heard_ = Clock::now();
  Unpacker unpacker(bytes);
  const auto what = static_cast<Talk>(unpacker.get<std::uint8_t>());
  if (what == Talk::set_up) return set_up(unpacker);
  const std::lock_guard lock(mutex_);
  switch (what) {
    case Talk::work:
      ended_ = false;  // nothing is handed out before everything was given up
      [[fallthrough]];
    case Talk::found:
    case Talk::promised:
      if (const auto asked = asked_.find(unpacker.get<std::uint64_t>()); asked != asked_.end()) asked->second = std::move(bytes);
      break;
    case Talk::stop:
      ended_ = true;
      break;
    case Talk::close:
      ended_ = true;
      closed_ = unpacker.get<std::int32_t>();
      break;
    case Talk::leave:
      left_ = unpacker.get<std::uint8_t>() != 0;
      return;
    default:  // alive
      return;
  }
  answered_.notify_all();
}

void SweepRank::set_up(Unpacker& from) {
  setup_ = get_setup(from);
  std::string problem;
  try {
    select_kernels(setup_.kernels);
  } catch (const std::invalid_argument& error) {
    problem = "cannot compute as rank 0 does: " + std::string(error.what()) + "; give --kernels with one that all processors have";
  }
  Packer packer = message(Talk::ready);
  packer.put(options_.identity.arguments);
  packer.put(options_.identity.build);
  packer.put_text(problem);
  post(std::move(packer));
  if (!problem.empty()) return;
  const unsigned jobs = setup_.jobs ? setup_.jobs : options_.cores;
  if (setup_.threads == 0) setup_.threads = std::max(1u, options_.cores / jobs);
  working_ = jobs;
  for (unsigned job = 0; job < jobs; ++job) threads_.emplace_back([this] { work(); });
}

void SweepRank::work() {
  try {
    work_at(*this, {setup_.threads, setup_.kernels}, data_);
  } catch (const std::exception& error) {
    Packer packer = message(Talk::broken);
    packer.put_text(problem_text(error));
    post(std::move(packer));
  }
  --working_;
}

void SweepRank::post(Packer message) {
  const std::lock_guard lock(mutex_);
  outbox_.push_back(message.take());
  outgoing_.notify_one();
}

Bytes SweepRank::ask(Talk what, const std::function<void(Packer&)>& rest) {
  Packer packer = message(what);
  std::unique_lock lock(mutex_);
  const std::uint64_t number = next_number_++;
  packer.put(number);
  rest(packer);
  if (closed_) return {};
  const auto mine = asked_.emplace(number, Bytes()).first;
  outbox_.push_back(packer.take());
  outgoing_.notify_one();
  answered_.wait(lock, [&] { return !mine->second.empty() || closed_; });
  Bytes answer = std::move(mine->second);
  asked_.erase(mine);
  return answer;
}

namespace {

/// The content of an answer, after its kind and its question's number.
Unpacker contents(const Bytes& answer) {
  Unpacker unpacker(answer);
  unpacker.get<std::uint8_t>();
  unpacker.get<std::uint64_t>();
  return unpacker;
}

}  // namespace

std::optional<PointWork> SweepRank::next() {
  for (Bytes answer; !(answer = ask(Talk::want, [](Packer&) {})).empty();) {
    Unpacker unpacker = contents(answer);
    const auto ticket = Unpacker(unpacker).get<std::uint64_t>();
    try {
      return get_work(unpacker);
    } catch (const std::exception& error) {
      fail(ticket, problem_text(error));
    }
  }
  return std::nullopt;
}

bool SweepRank::promise(std::uint64_t ticket, const std::vector<Key>& missing) {
  const Bytes answer = ask(Talk::promise, [&](Packer& packer) {
    packer.put(ticket);
    put_keys(packer, missing);
  });
  return !answer.empty() && contents(answer).get<std::uint8_t>() != 0;
}

void SweepRank::finish(std::uint64_t ticket, FinishedPoint point, AskedEvaluations asked) {
  Packer packer = message(Talk::finish);
  packer.put(ticket);
  put_point(packer, point);
  packer.put(asked.all);
  packer.put(asked.known);
  post(std::move(packer));
}

void SweepRank::fail(std::uint64_t ticket, const std::string& what) {
  Packer packer = message(Talk::fail);
  packer.put(ticket);
  packer.put_text(what);
  post(std::move(packer));
}

void SweepRank::give_up(std::uint64_t ticket) {
  Packer packer = message(Talk::give_up);
  packer.put(ticket);
  post(std::move(packer));
}

std::optional<Evaluation> SweepRank::find(const Key& evaluation) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(evaluation); known != known_.end()) return known->second;
  }
  const Bytes answer = ask(Talk::find, [&](Packer& packer) { packer.put(evaluation); });
  if (answer.empty()) return std::nullopt;
  Unpacker unpacker = contents(answer);
  if (unpacker.get<std::uint8_t>() == 0) return std::nullopt;
  const Evaluation value = get_evaluation(unpacker);
  const std::lock_guard lock(mutex_);
  return known_.emplace(evaluation, value).first->second;
}

void SweepRank::keep(const Key& evaluation, const Evaluation& value) {
  {
    const std::lock_guard lock(mutex_);
    if (!known_.emplace(evaluation, value).second) return;
  }
  Packer packer = message(Talk::keep);
  packer.put(evaluation);
  put_evaluation(packer, value);
  post(std::move(packer));
}

}  // namespace straggler
