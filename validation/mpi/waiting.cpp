#include "validation/mpi/waiting.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace straggler {

namespace {

timespec timespec_of(std::int64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
}

int option_of(int socket, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(socket, SOL_SOCKET, name, &value, &length) == 0 ? value : -1;
}

bool is_tcp_connection(int descriptor) {
  const int domain = option_of(descriptor, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && option_of(descriptor, SO_TYPE) == SOCK_STREAM &&
         option_of(descriptor, SO_ACCEPTCONN) == 0;
}

}  // namespace

void nap(std::int64_t nanoseconds) {
  const timespec span = timespec_of(nanoseconds);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
}

void go_behind_messages() {
  constexpr int nicer = 10, nicest = 19;
  const auto self = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, self, std::min(getpriority(PRIO_PROCESS, self) + nicer, nicest));
}

bool SocketWait::wait(std::int64_t least, std::int64_t most) {
  constexpr std::uint64_t waits_between_looks = 4096;  // at most: MPI connects two ranks at their first message
  if (waits_++ == next_look_) {
    find_connections();
    next_look_ += std::min(waits_, waits_between_looks);
  }
  nap(std::min(least, most));
  if (most <= least) return false;
  const timespec rest = timespec_of(most - least);
  return ppoll(connections_.data(), connections_.size(), &rest, nullptr) > 0;
}

Doorbells::~Doorbells() { close(); }

bool Doorbells::open(const std::string& name, std::size_t ranks, bool make) {
  const int file = shm_open(name.c_str(), make ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, S_IRUSR | S_IWUSR);
  if (file < 0) return false;
  const std::size_t bytes = ranks * sizeof(Bell);
  void* const memory = make && ftruncate(file, static_cast<off_t>(bytes)) != 0
                           ? MAP_FAILED
                           : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) return false;
  auto* const first = static_cast<Bell*>(memory);
  if (make) std::uninitialized_value_construct_n(first, ranks);
  bells_ = {first, ranks};
  return true;
}

void Doorbells::close() {
  if (!empty()) munmap(bells_.data(), bells_.size_bytes());
  bells_ = {};
}

void Doorbells::forget(const std::string& name) { shm_unlink(name.c_str()); }

void Doorbells::ring(std::size_t rank, std::uint32_t messages) const {
  Bell& bell = bells_[rank];
  bell.messages += messages;
  ++bell.rings;
  // In one order of all: either this thread sees that the rank is asleep, or the rank sees the ring before it sleeps.
  if (bell.asleep != 0) syscall(SYS_futex, &bell.rings, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void Doorbells::confirm(std::size_t rank) const {
  ++bells_[rank].confirmed;
  ring(rank);
}

bool Doorbells::wait(std::size_t rank, std::uint32_t rings, std::int64_t nanoseconds) const {
  Bell& bell = bells_[rank];
  const timespec span = timespec_of(nanoseconds);
  bell.asleep = 1;
  if (bell.rings == rings) syscall(SYS_futex, &bell.rings, FUTEX_WAIT, rings, &span, nullptr, 0);
  bell.asleep = 0;
  return bell.rings != rings;
}

void SocketWait::find_connections() {
  connections_.clear();
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), &closedir);
  if (!folder) return;
  while (const dirent* entry = readdir(folder.get()))
    if (const int descriptor = std::atoi(entry->d_name); descriptor > 0 && is_tcp_connection(descriptor))
      connections_.push_back({descriptor, POLLIN, 0});
}

}  // namespace straggler
