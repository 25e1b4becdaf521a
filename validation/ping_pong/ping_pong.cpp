// ping-pong: the cost of a message between two MPI processes, by its size. Ranks 0 and 1 measure, others wait.
//   ping_pong  there and back, one message at a time: half of the round trip
//   stream     from rank 0 to rank 1, one after another, until rank 1 confirms: time per message
//   exchange   both ways at once (MPI_Sendrecv): time of the exchange
// Writes CSV: medians over repeats with their interquartile range; rank 0's clock only.
#include <fmt/format.h>
#include <mpi.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace po = boost::program_options;

struct Plan {
  std::vector<std::string> modes;
  std::vector<std::size_t> bytes;
  int warm_up = 0;
  int repeats = 0;
  double seconds = 0;  // most seconds for a size; at least min_repeats are made in any case
  double pause = 0;    // before each measurement, so that a token bucket on the way fills again
  std::vector<std::string> notes;
  std::string out;
};

constexpr int min_repeats = 7;
constexpr int stream_length = 8;

void pause_for(double seconds) {
  if (seconds <= 0) return;
  timespec left{static_cast<time_t>(seconds), static_cast<long>((seconds - std::floor(seconds)) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

// One measurement in seconds; called by ranks 0 and 1 together. The result is rank 0's.
double measure(const std::string& mode, int rank, std::vector<char>& out, std::vector<char>& in, std::size_t size) {
  const int count = static_cast<int>(size);
  const int peer = 1 - rank;
  char token = 0;
  const double start = MPI_Wtime();
  if (mode == "exchange") {
    MPI_Sendrecv(out.data(), count, MPI_CHAR, peer, 0, in.data(), count, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - start;
  }
  if (mode == "ping_pong") {
    if (rank == 0) MPI_Send(out.data(), count, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(in.data(), count, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out.data(), count, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    return (MPI_Wtime() - start) / 2;
  }
  for (int i = 0; i < stream_length; ++i) {
    if (rank == 0)
      MPI_Send(out.data(), count, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    else
      MPI_Recv(in.data(), count, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0)
    MPI_Recv(&token, 1, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(&token, 1, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
  return (MPI_Wtime() - start) / stream_length;
}

// Linear interpolation between order statistics; sorted is not empty.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

// Both ranks must agree on the number of repeats: rank 0 decides after each and tells rank 1.
std::vector<double> measurements(const Plan& plan, const std::string& mode, int rank, std::size_t size, MPI_Comm pair) {
  std::vector<char> out(std::max<std::size_t>(size, 1), 1);
  std::vector<char> in(out.size());
  for (int i = 0; i < plan.warm_up; ++i) measure(mode, rank, out, in, size);
  std::vector<double> seconds;
  const double start = MPI_Wtime();
  for (int more = 1; more != 0;) {
    pause_for(plan.pause);
    MPI_Barrier(pair);
    seconds.push_back(measure(mode, rank, out, in, size));
    const int done = static_cast<int>(seconds.size());
    more = done < plan.repeats && (done < min_repeats || MPI_Wtime() - start < plan.seconds) ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, pair);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

void describe(std::FILE* to, const Plan& plan, const std::string& hosts) {
  utsname system{};
  uname(&system);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string library(version, static_cast<std::size_t>(length));
  library = library.substr(0, library.find(','));
  fmt::print(to, "# machine: {} cores, {} {} {}\n", sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.release, system.machine);
  fmt::print(to, "# MPI: {}; hosts of ranks 0 and 1: {}\n", library, hosts);
  for (const std::string& note : plan.notes) fmt::print(to, "# {}\n", note);
  fmt::print(to, "# seconds: median of `repeats`; iqr_s: their interquartile range; {} s pause before each\n", plan.pause);
  fmt::print(to, "# ping_pong: half of a round trip; stream: per message, {} in a row; exchange: both ways at once\n", stream_length);
  fmt::print(to, "mode,bytes,seconds,repeats,iqr_s\n");
}

std::string host_names(MPI_Comm pair, int rank) {
  char mine[MPI_MAX_PROCESSOR_NAME] = {};
  char both[2][MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(mine, &length);
  MPI_Gather(mine, sizeof mine, MPI_CHAR, both, sizeof mine, MPI_CHAR, 0, pair);
  return rank == 0 ? fmt::format("{} {}", both[0], both[1]) : "";
}

void run(const Plan& plan, int rank, MPI_Comm pair) {
  const std::string hosts = host_names(pair, rank);
  std::FILE* to = stdout;
  int usable = 1;
  if (rank == 0 && !plan.out.empty()) usable = (to = std::fopen(plan.out.c_str(), "w")) != nullptr ? 1 : 0;
  MPI_Bcast(&usable, 1, MPI_INT, 0, pair);
  if (usable == 0) throw std::runtime_error(fmt::format("cannot write {}", plan.out));
  if (rank == 0) describe(to, plan, hosts);
  for (const std::string& mode : plan.modes) {
    for (const std::size_t size : plan.bytes) {
      const std::vector<double> seconds = measurements(plan, mode, rank, size, pair);
      if (rank != 0) continue;
      fmt::print(to, "{},{},{:.9f},{},{:.9f}\n", mode, size, quantile(seconds, 0.5), seconds.size(),
                 quantile(seconds, 0.75) - quantile(seconds, 0.25));
      std::fflush(to);
    }
  }
  if (rank == 0 && to != stdout && std::fclose(to) != 0) throw std::runtime_error(fmt::format("cannot write {}", plan.out));
}

std::vector<std::size_t> powers_of_two(std::size_t from, std::size_t to) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = from; size <= to; size *= 2) sizes.push_back(size);
  return sizes;
}

po::options_description options(Plan& plan) {
  po::options_description known(
      "mpirun -n 2 ping-pong [options]: times of messages between two MPI processes, as CSV.\n"
      "`straggler calibrate` reads the mode ping_pong.\n\nOptions");
  auto add = known.add_options();
  add("help", "this text");
  add("mode", po::value(&plan.modes)->multitoken(), "ping_pong (default), stream, exchange; several may be named");
  add("bytes", po::value(&plan.bytes)->multitoken(), "message sizes (default: powers of two, 1 to 16777216)");
  add("warm-up", po::value(&plan.warm_up)->default_value(2), "messages before measuring, for each size");
  add("repeats", po::value(&plan.repeats)->default_value(51), "measurements of a size, at most");
  add("seconds", po::value(&plan.seconds)->default_value(2.0, "2"), "time that a size may take (but at least 7 measurements)");
  add("pause", po::value(&plan.pause)->default_value(0.0, "0"), "seconds before each measurement: a token bucket fills again");
  add("note", po::value(&plan.notes), "a line about the network for the head of the table; several may be given");
  add("out", po::value(&plan.out), "file to write (default: standard output)");
  return known;
}

void check(Plan& plan) {
  if (plan.modes.empty()) plan.modes = {"ping_pong"};
  if (plan.bytes.empty()) plan.bytes = powers_of_two(1, std::size_t{16} << 20);
  for (const std::string& mode : plan.modes) {
    if (mode != "ping_pong" && mode != "stream" && mode != "exchange")
      throw std::runtime_error(fmt::format("unknown mode '{}'; known: ping_pong, stream, exchange", mode));
  }
  for (const std::size_t size : plan.bytes) {
    if (size > (std::size_t{1} << 30))
      throw std::runtime_error(fmt::format("a message of {} bytes is too large; at most 1073741824", size));
  }
  if (plan.warm_up < 0 || plan.repeats < min_repeats)
    throw std::runtime_error(fmt::format("--warm-up from 0 and --repeats from {} would do", min_repeats));
  if (!(plan.pause >= 0 && plan.pause <= 60 && plan.seconds >= 0 && plan.seconds <= 3600))
    throw std::runtime_error("--pause up to 60 and --seconds up to 3600 would do");
}

// Exit code: 0 done, 2 bad usage.
int command(int argc, char** argv, int rank, int ranks) {
  Plan plan;
  const po::options_description known = options(plan);
  po::variables_map given;
  po::store(po::command_line_parser(argc, argv).options(known).positional({}).run(), given);
  po::notify(given);
  if (given.count("help") != 0) {
    std::string text = (std::ostringstream() << known).str();
    if (rank == 0) fmt::print("{}", text);
    return 0;
  }
  check(plan);
  if (ranks < 2) throw std::runtime_error("needs two processes; start it as mpirun -n 2 ping-pong");
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &pair);
  if (pair == MPI_COMM_NULL) return 0;
  run(plan, rank, pair);
  MPI_Comm_free(&pair);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int code = 0;
  try {
    code = command(argc, argv, rank, ranks);
  } catch (const std::exception& error) {
    if (rank == 0) fmt::print(stderr, "ping-pong: {}\n", error.what());
    code = 2;
  }
  MPI_Finalize();
  return code;
}
