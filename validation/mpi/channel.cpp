#include "validation/mpi/channel.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <fstream>
#include <limits>
#include <utility>

#include "validation/mpi/waiting.hpp"

namespace straggler {

namespace {

constexpr std::int64_t millisecond = 1'000'000;
/// MPI takes a message from its place only when its receiver is ready for it, who then tells the sender. Shorter ones it copies at once; if
/// it does not, the sender looks for itself.
constexpr std::size_t long_message = 4096;  // bytes

std::int64_t steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Waits without busy-waiting, unlike a blocking call of MPI.
void wait(MPI_Request& request) {
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    nap(millisecond / 5);
  }
}

/// Ranks with the same number share one kernel, and so one steady clock.
std::uint64_t number_of_this_boot() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string text;
  in >> text;
  return Hasher().add(std::string_view(text)).key().low;
}

}  // namespace

Mpi::Mpi(int& count, char**& arguments) {
  int provided = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  prctl(PR_SET_TIMERSLACK, 1);  // ns: sleeps end when they should
}

Mpi::~Mpi() { MPI_Finalize(); }

Mpi::Verdict Mpi::agree(int code) const {
  constexpr int codes = 256, none = std::numeric_limits<int>::max();
  const int mine = code == 0 ? none : rank_ * codes + code;
  int first = none;
  MPI_Request request;
  MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  wait(request);
  if (first == none) return {};
  return {first / codes, first % codes};
}

struct Channel::Pending {
  std::shared_ptr<const void> keeper;
  bool is_long;
  MPI_Request request;
  Operation* operation;
};

struct Channel::Implementation {
  struct Incoming {
    Bytes bytes;
    LentFloats vector;  // instead
    bool is_long;
    MessageKind kind;
    MPI_Request request;
  };
  MPI_Comm group = MPI_COMM_NULL;
  std::vector<std::deque<Incoming>> incoming;  // [ranks], in the order of sending
  std::size_t arriving = 0;
  SocketWait arrivals;
  Doorbells doorbells;                     // [ranks]; empty: ranks cannot wake each other
  std::vector<std::uint32_t> untold;       // [ranks]: messages sent to it since it was last rung
  std::uint32_t rings = 0, confirmed = 0;  // of this rank's doorbell, when it looked
  std::uint32_t taken = 0;                 // messages received
  bool look = true;                        // though nothing was told

  /// Ranks of one machine, unless its network is divided: then messages come long after their rings.
  void find_doorbells(Rank self) {
    std::array<char, 64> name{};
    bool mine = true;
    if (self == 0) {
      fmt::format_to_n(name.data(), name.size() - 1, "/straggler-{}-{}", getpid(), steady_now());
      mine = doorbells.make(name.data(), untold.size());
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, group);
    struct stat network {};
    mine = mine && (self == 0 || doorbells.open(name.data(), untold.size())) && stat("/proc/self/ns/net", &network) == 0;
    const auto number = static_cast<std::int64_t>(network.st_ino);
    std::array<std::int64_t, 3> least{mine, number, -number};
    MPI_Allreduce(MPI_IN_PLACE, least.data(), static_cast<int>(least.size()), MPI_INT64_T, MPI_MIN, group);
    if (self == 0) Doorbells::forget(name.data());
    if (least[0] == 0 || least[1] != -least[2]) doorbells.close();
  }
  void ring(Rank other) {
    if (!doorbells.empty()) doorbells.ring(index_of(other), std::exchange(untold[index_of(other)], 0));
  }
};

Channel::Channel(const Mpi& mpi, std::optional<Rank> server) : mpi_(std::make_unique<Implementation>()) {
  ranks_ = mpi.size();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, server && rank == 0 ? 2 * *server + 1 : 2 * rank, &mpi_->group);
  MPI_Comm_rank(mpi_->group, &self_);
  mpi_->incoming.resize(static_cast<std::size_t>(ranks_));
  mpi_->untold.resize(static_cast<std::size_t>(ranks_));
  mpi_->find_doorbells(self_);
}

Channel::~Channel() { MPI_Comm_free(&mpi_->group); }

void Channel::send(Rank to, MessageKind kind, std::span<const std::byte> bytes, std::shared_ptr<const void> keeper, Operation* operation) {
  if (bytes.size() > most_bytes)
    throw std::length_error("a message of " + std::to_string(bytes.size()) +
                            " bytes is more than MPI takes at once, 2 GiB; take a smaller model");
  outgoing_.push_back({std::move(keeper), bytes.size() >= long_message, MPI_REQUEST_NULL, operation});
  MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, static_cast<int>(kind), mpi_->group, &outgoing_.back().request);
  ++mpi_->untold[index_of(to)];
  const bool more_follows = kind == MessageKind::vector || kind == MessageKind::part;
  if (!more_follows) mpi_->ring(to);
}

bool Channel::wakes() const { return !mpi_->doorbells.empty(); }

void Channel::wake() const {
  if (wakes()) mpi_->doorbells.ring(index_of(self_));
}

void Channel::await_message(std::int64_t least, std::int64_t most) {
  if (wakes())
    mpi_->look = !mpi_->doorbells.wait(index_of(self_), mpi_->rings, most);
  else
    mpi_->arrivals.wait(least, most);
}

void Channel::forget(const Operation& operation) noexcept {
  for (Pending& pending : outgoing_)
    if (pending.operation == &operation) pending.operation = nullptr;
}

bool Channel::waits_asleep() const { return mpi_->arriving == 0 && !expects() && std::ranges::all_of(outgoing_, &Pending::is_long); }

bool Channel::expects() const { return wakes() && static_cast<std::int32_t>(mpi_->doorbells.messages(index_of(self_)) - mpi_->taken) > 0; }

bool Channel::progress(ChannelUser& user) {
  const bool look = !wakes() || mpi_->look;
  bool left = look;
  if (wakes()) {
    mpi_->rings = mpi_->doorbells.rings(index_of(self_));
    const std::uint32_t confirmed = mpi_->doorbells.confirmed(index_of(self_));
    left = std::exchange(mpi_->confirmed, confirmed) != confirmed || look;
  }
  bool any = test_outgoing(user, left);
  any = probe(user, look) || any;
  return test_incoming(user) || any;
}

bool Channel::test_outgoing(ChannelUser& user, bool long_ones) {
  bool any = false;
  for (std::size_t i = 0; i < outgoing_.size();) {
    int done = 0;
    if (long_ones || !outgoing_[i].is_long) MPI_Test(&outgoing_[i].request, &done, MPI_STATUS_IGNORE);
    if (!done) {
      ++i;
      continue;
    }
    any = true;
    Operation* const operation = outgoing_[i].operation;
    outgoing_.erase(outgoing_.begin() + static_cast<std::ptrdiff_t>(i));
    const auto also_for_it = [&](const Pending& pending) { return pending.operation == operation; };
    if (operation && std::none_of(outgoing_.begin(), outgoing_.end(), also_for_it)) user.left(*operation);
  }
  return any;
}

/// A matched probe and a receive of its own: incoming messages have any length. MPI looks for messages when a probe has found none, so the
/// next one finds them.
bool Channel::probe(ChannelUser& user, bool unexpected) {
  bool any = false;
  for (int misses = wakes() ? 2 : 1; misses > 0 && (unexpected || expects());) {
    int found = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi_->group, &found, &message, &status);
    if (!found) {
      --misses;
      continue;
    }
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    const auto bytes = static_cast<std::size_t>(size);
    auto& from = mpi_->incoming[static_cast<std::size_t>(status.MPI_SOURCE)];
    from.push_back({{}, nullptr, bytes >= long_message, static_cast<MessageKind>(status.MPI_TAG), MPI_REQUEST_NULL});
    Implementation::Incoming& arriving = from.back();
    const bool vector = arriving.kind == MessageKind::vector;
    if (vector)
      arriving.vector = user.place_for(bytes);
    else
      arriving.bytes.resize(bytes);
    void* const place = vector ? static_cast<void*>(arriving.vector.get()) : arriving.bytes.data();
    MPI_Imrecv(place, size, MPI_BYTE, &message, &arriving.request);
    ++mpi_->arriving;
    ++mpi_->taken;
    any = true;
  }
  return any;
}

bool Channel::test_incoming(ChannelUser& user) {
  bool any = false;
  for (std::size_t rank = 0; mpi_->arriving > 0 && rank < mpi_->incoming.size(); ++rank) {
    auto& from = mpi_->incoming[rank];
    while (!from.empty()) {
      int done = 0;
      MPI_Test(&from.front().request, &done, MPI_STATUS_IGNORE);
      if (from.front().is_long && wakes()) mpi_->doorbells.confirm(rank);
      if (!done) break;
      Implementation::Incoming message = std::move(from.front());
      from.pop_front();
      --mpi_->arriving;
      any = true;
      if (message.kind == MessageKind::vector)
        user.arrived(static_cast<Rank>(rank), std::move(message.vector));
      else
        user.arrived(static_cast<Rank>(rank), message.kind, std::move(message.bytes));
    }
  }
  return any;
}

std::vector<Bytes> Channel::gather(const Bytes& mine, Rank root) {
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(ranks_));
  MPI_Request request;
  MPI_Iallgather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, mpi_->group, &request);
  wait(request);
  if (*std::max_element(sizes.begin(), sizes.end()) > most_bytes)  // same decision on all ranks: none waits for one that has thrown
    throw std::length_error("a rank has more to report than MPI takes at once, 2 GiB; take fewer updates");
  std::vector<Bytes> all(self_ == root ? sizes.size() : 0);
  if (self_ != root) {
    MPI_Isend(mine.data(), static_cast<int>(size), MPI_BYTE, root, 0, mpi_->group, &request);
    wait(request);
    return all;
  }
  for (Rank rank = 0; rank < ranks_; ++rank) {
    Bytes& theirs = all[index_of(rank)];
    if (rank == self_) {
      theirs = mine;
      continue;
    }
    theirs.resize(sizes[index_of(rank)]);
    MPI_Irecv(theirs.data(), static_cast<int>(theirs.size()), MPI_BYTE, rank, 0, mpi_->group, &request);
    wait(request);
  }
  return all;
}

Bytes Channel::share(Bytes mine, Rank root) {
  std::uint64_t size = mine.size();
  MPI_Request request;
  MPI_Ibcast(&size, 1, MPI_UINT64_T, root, mpi_->group, &request);
  wait(request);
  mine.resize(size);
  MPI_Ibcast(mine.data(), static_cast<int>(size), MPI_BYTE, root, mpi_->group, &request);
  wait(request);
  return mine;
}

/// Offset from rank 0's clock to this rank's, from the fastest of several round trips (Cristian 1989).
std::int64_t Channel::clock_offset() {
  constexpr int rounds = 30;
  const std::uint64_t boot = number_of_this_boot();
  std::uint64_t first_boot = boot;
  MPI_Bcast(&first_boot, 1, MPI_UINT64_T, 0, mpi_->group);
  const bool other = first_boot != boot;
  std::vector<char> others(static_cast<std::size_t>(ranks_));
  const char mine = other;
  MPI_Gather(&mine, 1, MPI_CHAR, others.data(), 1, MPI_CHAR, 0, mpi_->group);
  std::int64_t offset = 0, best = std::numeric_limits<std::int64_t>::max();
  for (Rank rank = 1; rank < ranks_; ++rank) {
    for (int round = 0; round < rounds; ++round) {
      std::int64_t theirs = 0;
      if (self_ == 0 && others[index_of(rank)] != 0) {
        MPI_Recv(nullptr, 0, MPI_BYTE, rank, 0, mpi_->group, MPI_STATUS_IGNORE);
        theirs = steady_now();
        MPI_Send(&theirs, 1, MPI_INT64_T, rank, 0, mpi_->group);
      } else if (self_ == rank && other) {
        const std::int64_t before = steady_now();
        MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, mpi_->group);
        MPI_Recv(&theirs, 1, MPI_INT64_T, 0, 0, mpi_->group, MPI_STATUS_IGNORE);
        const std::int64_t trip = steady_now() - before;
        if (trip < best) offset = before + trip / 2 - theirs;
        best = std::min(best, trip);
      }
    }
  }
  return offset;
}

std::int64_t Channel::agree_on_start() {
  MPI_Request request;
  MPI_Ibarrier(mpi_->group, &request);
  wait(request);
  const std::int64_t offset = clock_offset();
  std::int64_t start = steady_now() + 20 * millisecond;
  MPI_Bcast(&start, 1, MPI_INT64_T, 0, mpi_->group);
  start += offset;
  if (const std::int64_t left = start - steady_now(); left > 0) nap(left);
  return start;
}

}  // namespace straggler
