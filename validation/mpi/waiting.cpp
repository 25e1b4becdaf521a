#include "validation/mpi/waiting.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
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

Doorbell::Doorbell() : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
  // Linux gives a socket that is bound to no path a name of its own in the abstract namespace: a zero byte and five digits.
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  socklen_t length = sizeof(sa_family_t);
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  if (socket_ < 0 || bind(socket_, address, length) != 0) return;
  length = sizeof own;
  if (getsockname(socket_, address, &length) != 0) return;
  const std::size_t characters = length - offsetof(sockaddr_un, sun_path);
  if (characters < 2 || characters >= name_.size() || own.sun_path[0] != 0) return;
  std::copy_n(own.sun_path, characters, name_.begin());
}

Doorbell::~Doorbell() {
  if (socket_ >= 0) close(socket_);
}

bool Doorbell::ring(const Name& other) const {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::copy(other.begin(), other.end(), to.sun_path);
  const auto characters = static_cast<socklen_t>(std::find(other.begin() + 1, other.end(), '\0') - other.begin());
  if (characters < 2) return false;
  const auto* const address = reinterpret_cast<const sockaddr*>(&to);
  return sendto(socket_, nullptr, 0, 0, address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path)) + characters) == 0 ||
         errno == EAGAIN;  // it has been rung often
}

bool Doorbell::wait(std::int64_t nanoseconds) const {
  pollfd own{socket_, POLLIN, 0};
  const timespec span = timespec_of(nanoseconds);
  if (ppoll(&own, 1, &span, nullptr) <= 0) return false;
  char none = 0;
  while (recv(socket_, &none, sizeof none, 0) >= 0) continue;
  return true;
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
