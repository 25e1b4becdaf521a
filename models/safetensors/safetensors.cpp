#include "models/safetensors/safetensors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace straggler {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "values are copied to the file as they lie in memory");

constexpr std::uint64_t longest_header = 100'000'000;  // the format's own limit

[[noreturn]] void fail(const fs::path& path, const std::string& sentence) {
  throw DataError(fmt::format("{}: {}", path.string(), sentence));
}

std::size_t elements(const TensorInfo& tensor) {
  std::size_t count = 1;
  for (const std::size_t size : tensor.shape) count *= size;
  return count;
}

/// In the order of their offsets.
std::vector<TensorInfo> in_order(std::vector<TensorInfo> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) { return a.offset < b.offset; });
  return tensors;
}

std::string header_of(const std::vector<TensorInfo>& tensors, std::size_t values, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t at = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.offset != at) throw std::logic_error("tensor '" + tensor.name + "' does not start where the one before it ends");
    if (header.contains(tensor.name) || tensor.name == "__metadata__")
      throw std::logic_error("two tensors are named '" + tensor.name + "'");
    const std::size_t end = at + elements(tensor);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at * sizeof(float), end * sizeof(float)}}};
    at = end;
  }
  if (at != values) throw std::logic_error(fmt::format("the tensors have {} numbers, but there are {} values", at, values));
  // Bytes that are not UTF-8 become replacement characters instead of an exception.
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

/// A file that is removed again unless it is renamed.
class Aside {
 public:
  explicit Aside(const fs::path& path) : path_(path), aside_(path) { aside_ += fmt::format(".{}.part", ::getpid()); }
  ~Aside() {
    std::error_code ignored;
    if (!moved_) fs::remove(aside_, ignored);
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  const fs::path& path() const { return aside_; }
  void move_into_place() {
    std::error_code error;
    fs::rename(aside_, path_, error);
    if (error) fail(path_, fmt::format("cannot be written ({}); give a place that can", error.message()));
    moved_ = true;
  }

 private:
  fs::path path_, aside_;
  bool moved_ = false;
};

/// The number at `json`, which must be an integer from 0.
std::size_t count_at(const fs::path& path, const std::string& name, const Json& json) {
  if (!json.is_number_unsigned())
    fail(path, fmt::format("tensor '{}' has a size or an offset that is not a count; shape and data_offsets are lists of counts", name));
  return json.get<std::size_t>();
}

/// PyTorch counts the batches that a batch norm has seen, as an int64, which nobody needs.
bool is_counter(const std::string& name, const Json& json) {
  return json["dtype"] == "I64" && std::string_view(name).ends_with("num_batches_tracked");
}

/// A counter comes out as two numbers.
TensorInfo tensor_of(const fs::path& path, const std::string& name, const Json& json, std::size_t data_bytes) {
  const auto is_list = [&json](const char* key) { return json.contains(key) && json[key].is_array(); };
  if (!json.is_object() || !json.contains("dtype") || !is_list("shape") || !is_list("data_offsets") || json["data_offsets"].size() != 2)
    fail(path, fmt::format("tensor '{}' lacks dtype, shape or data_offsets; get an undamaged safetensors file", name));
  const bool counter = is_counter(name, json);
  if (json["dtype"] != "F32" && !counter)
    fail(path, fmt::format("tensor '{}' is of type {}; only F32 can be read", name, json["dtype"].dump()));
  TensorInfo tensor;
  tensor.name = name;
  std::size_t count = 1;
  for (const Json& size : json["shape"]) {
    tensor.shape.push_back(count_at(path, name, size));
    if (tensor.shape.back() != 0 && count > data_bytes / tensor.shape.back())
      fail(path, fmt::format("tensor '{}' has shape {}, more than the file holds; get the whole file", name, json["shape"].dump()));
    count *= tensor.shape.back();
  }
  if (counter) {
    tensor.shape.push_back(2);
    count *= 2;
  }
  const std::size_t begin = count_at(path, name, json["data_offsets"][0]), end = count_at(path, name, json["data_offsets"][1]);
  if (begin > end || end > data_bytes)
    fail(path, fmt::format("tensor '{}' lies at bytes {} to {} of {} bytes of data; get the whole file", name, begin, end, data_bytes));
  if (begin % sizeof(float) != 0 || end - begin != count * sizeof(float))
    fail(path, fmt::format("tensor '{}' of shape {} takes {} bytes, not {}; get an undamaged file", name, json["shape"].dump(),
                           count * sizeof(float), end - begin));
  tensor.offset = begin / sizeof(float);
  return tensor;
}

/// Takes the tensors that `unwanted` names out, with their values.
void remove(const std::set<std::string>& unwanted, SafetensorsFile& file) {
  if (unwanted.empty()) return;
  SafetensorsFile kept;
  for (TensorInfo& tensor : file.tensors) {
    if (unwanted.count(tensor.name) > 0) continue;
    const auto from = file.values.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
    tensor.offset = kept.values.size();
    kept.values.insert(kept.values.end(), from, from + static_cast<std::ptrdiff_t>(elements(tensor)));
    kept.tensors.push_back(std::move(tensor));
  }
  file.tensors = std::move(kept.tensors);
  file.values = std::move(kept.values);
}

/// Returns the names of counters.
std::set<std::string> read_header(const fs::path& path, const std::string& text, std::size_t data_bytes, SafetensorsFile& file) {
  std::set<std::string> counters;
  const Json header = Json::parse(text, nullptr, false);
  if (!header.is_object()) fail(path, "its header is not JSON; give a safetensors file");
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") {
      file.tensors.push_back(tensor_of(path, name, json, data_bytes));
      if (is_counter(name, json)) counters.insert(name);
      continue;
    }
    if (!json.is_object()) fail(path, "its __metadata__ is not a map; give a safetensors file");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) fail(path, fmt::format("its metadata '{}' is not text; the format has text only", key));
      file.metadata[key] = value.get<std::string>();
    }
  }
  file.tensors = in_order(std::move(file.tensors));
  std::size_t at = 0;
  for (const TensorInfo& tensor : file.tensors) {
    if (tensor.offset != at)
      fail(path, fmt::format("tensor '{}' overlaps another or leaves a gap before it; get an undamaged file", tensor.name));
    at += elements(tensor);
  }
  if (at * sizeof(float) != data_bytes)
    fail(path,
         fmt::format("its tensors take {} bytes, but {} follow the header; get the whole, undamaged file", at * sizeof(float), data_bytes));
  return counters;
}

}  // namespace

void write_safetensors(const fs::path& path, const std::vector<TensorInfo>& tensors, std::span<const float> values,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(in_order(tensors), values.size(), metadata);
  const std::uint64_t length = header.size();
  Aside aside(path);
  {
    std::ofstream out(aside.path(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    out.close();
    if (!out) fail(path, fmt::format("cannot be written ({}); give a folder that exists and has room", std::strerror(errno)));
  }
  aside.move_into_place();
}

SafetensorsFile read_safetensors(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) fail(path, "no such file; give a safetensors file");
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, fmt::format("cannot be opened ({}); make it readable", std::strerror(errno)));
  std::uint64_t length = 0;
  if (size < sizeof length || !in.read(reinterpret_cast<char*>(&length), sizeof length))
    fail(path, "too short; a safetensors file starts with the 8 bytes of its header's length");
  if (length > longest_header || length > size - sizeof length)
    fail(path, fmt::format("its header would have {} bytes, but the file has {}; give a whole safetensors file", length, size));
  std::string header(length, '\0');
  in.read(header.data(), static_cast<std::streamsize>(length));
  SafetensorsFile file;
  const std::size_t data_bytes = size - sizeof length - length;
  const std::set<std::string> counters = read_header(path, header, data_bytes, file);
  file.values.resize(data_bytes / sizeof(float));
  if (!in.read(reinterpret_cast<char*>(file.values.data()), static_cast<std::streamsize>(data_bytes)))
    fail(path, "reading failed; get a whole, undamaged file");
  remove(counters, file);
  return file;
}

}  // namespace straggler
