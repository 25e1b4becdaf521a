// Traces as PyTorch's profiler writes them, of steps that a test makes up. Times are milliseconds.
#pragma once
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace straggler::test {

class TraceWriter {
 public:
  using Json = nlohmann::ordered_json;
  static constexpr int main_thread = 1, backward_thread = 2;

  /// `shift`: of the rank's clock.
  explicit TraceWriter(int rank, int world, double shift = 0) : shift_(shift) {
    top_ = {{"schemaVersion", 1},
            {"deviceProperties", Json::array({{{"id", 0}, {"name", "Test GPU"}}})},
            {"distributedInfo", {{"backend", "nccl"}, {"rank", rank}, {"world_size", world}, {"nccl_version", "2.21.5"}}},
            {"baseTimeNanoseconds", 1760000000000000000}};
  }
  void host(const std::string& category, const std::string& name, double begin, double length, int thread = main_thread,
            Json args = Json::object()) {
    add(category, name, 100, thread, begin, length, std::move(args));
  }
  void mark(const std::string& name, double begin, double length, int thread = main_thread) {
    host("user_annotation", name, begin, length, thread);
  }
  /// Launched by the host at `launch`.
  void kernel(const std::string& name, int stream, double launch, double begin, double length, int thread = main_thread,
              Json args = Json::object()) {
    ++correlation_;
    add("cuda_runtime", "cudaLaunchKernel", 100, thread, launch, 0.005, {{"correlation", correlation_}});
    args["correlation"] = correlation_;
    args["stream"] = stream;
    args["device"] = 0;
    add("kernel", name, 0, stream, begin, length, std::move(args));
  }
  static Json collective(const std::string& name, std::int64_t elements, const std::string& type, int world) {
    return {{"Collective name", name}, {"In msg nelems", elements},      {"Out msg nelems", elements}, {"Group size", world},
            {"dtype", type},           {"Process Group Ranks", "[0, 1]"}};
  }
  std::string text() const {
    Json whole = top_;
    whole["traceEvents"] = events_;
    return whole.dump();
  }
  /// The list alone, without what stands beside it.
  std::string list() const { return events_.dump(); }

 private:
  void add(const std::string& category, const std::string& name, int process, int thread, double begin, double length, Json args) {
    events_.push_back({{"ph", "X"},
                       {"cat", category},
                       {"name", name},
                       {"pid", process},
                       {"tid", thread},
                       {"ts", 1e3 * (begin + shift_)},
                       {"dur", 1e3 * length},
                       {"args", std::move(args)}});
  }
  double shift_;
  std::int64_t correlation_ = 0;
  Json top_, events_ = Json::array();
};

}  // namespace straggler::test
