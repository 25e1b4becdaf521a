// Far links between network namespaces, in user space: what a host sends waits in one queue, leaves at a rate, and arrives a delay later.
// Nothing is lost. For machines whose kernel has no netem.
//
//   far_links HOSTS BITS_PER_SECOND MILLISECONDS     makes the tun devices far0, far1, …; what is for 10.9.0.(i+1) comes out of far<i>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

struct Packet {
  Clock::time_point arrives;
  std::vector<unsigned char> data;
};

class Host {
 public:
  explicit Host(std::size_t number) : device_(open("/dev/net/tun", O_RDWR)) {
    ifreq request{};
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "far%zu", number);
    if (device_ >= 0 && ioctl(device_, TUNSETIFF, &request) == 0) return;
    std::perror("far_links: /dev/net/tun");
    std::exit(1);
  }

  void send(double bits_per_second, nanoseconds delay) {
    std::vector<unsigned char> buffer(65536);
    Clock::time_point free = Clock::now();
    for (;;) {
      const ssize_t bytes = read(device_, buffer.data(), buffer.size());
      if (bytes <= 0) continue;
      free = std::max(free, Clock::now()) + nanoseconds(static_cast<long>(static_cast<double>(bytes) * 8e9 / bits_per_second));
      const std::lock_guard lock(guard_);
      way_.push_back({free + delay, {buffer.begin(), buffer.begin() + bytes}});
      filled_.notify_one();
    }
  }

  void deliver(const std::vector<Host*>& hosts) {
    constexpr std::size_t last_of_destination = 19;
    for (;;) {
      Packet packet;
      {
        std::unique_lock lock(guard_);
        filled_.wait(lock, [&] { return !way_.empty(); });
        packet = std::move(way_.front());
        way_.pop_front();
      }
      std::this_thread::sleep_until(packet.arrives);
      const bool version_4 = packet.data.size() > last_of_destination && packet.data[0] >> 4 == 4;
      const std::size_t to = version_4 ? packet.data[last_of_destination] - 1u : hosts.size();
      if (to < hosts.size() && write(hosts[to]->device_, packet.data.data(), packet.data.size()) < 0) std::perror("far_links: write");
    }
  }

 private:
  int device_;
  std::mutex guard_;
  std::condition_variable filled_;
  std::deque<Packet> way_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: far_links HOSTS BITS_PER_SECOND MILLISECONDS\n");
    return 2;
  }
  const double rate = std::atof(words[2]);
  const nanoseconds delay(static_cast<long>(std::atof(words[3]) * 1e6));
  std::vector<Host*> hosts;  // they last as long as the program
  for (int host = 0; host < std::atoi(words[1]); ++host) hosts.push_back(new Host(hosts.size()));
  std::vector<std::thread> threads;
  for (Host* const host : hosts) {
    threads.emplace_back([=] { host->send(rate, delay); });
    threads.emplace_back([=, &hosts] { host->deliver(hosts); });
  }
  for (std::thread& thread : threads) thread.join();
}
