// All-reduces of Gloo over TCP. Rank 0 prints the milliseconds of each, on one line.
//
//   all_reduce RANK RANKS BYTES REPEATS FOLDER     addresses: 10.9.0.(rank+1); FOLDER: empty, where ranks find each other
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "gloo/allreduce.h"
#include "gloo/barrier.h"
#include "gloo/math.h"
#include "gloo/rendezvous/context.h"
#include "gloo/rendezvous/file_store.h"
#include "gloo/transport/tcp/device.h"

int main(int count, char** words) {
  if (count != 6) {
    std::fprintf(stderr, "usage: all_reduce RANK RANKS BYTES REPEATS FOLDER\n");
    return 2;
  }
  const int rank = std::atoi(words[1]), ranks = std::atoi(words[2]), repeats = std::atoi(words[4]);
  gloo::transport::tcp::attr address;
  address.hostname = "10.9.0." + std::to_string(rank + 1);
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(address);
  const auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->setTimeout(std::chrono::seconds(200));
  context->connectFullMesh(std::make_shared<gloo::rendezvous::FileStore>(words[5]), device);
  std::vector<float> numbers(std::strtoul(words[3], nullptr, 10) / sizeof(float), 1);
  const auto meet = [&](int tag) {
    gloo::BarrierOptions barrier(context);
    barrier.setTag(static_cast<uint32_t>(tag));
    gloo::barrier(barrier);
  };
  for (int repeat = 0; repeat < repeats; ++repeat) {
    meet(repeats + repeat);
    const auto start = std::chrono::steady_clock::now();
    gloo::AllreduceOptions options(context);
    options.setOutput(numbers.data(), numbers.size());
    options.setTag(static_cast<uint32_t>(repeat));
    void (*const sum)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;
    options.setReduceFunction(sum);
    gloo::allreduce(options);
    if (rank == 0) std::printf("%.2f ", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() * 1e3);
  }
  meet(3 * repeats);
  if (rank == 0) std::printf("\n");
}
