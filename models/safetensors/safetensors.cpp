#include "models/safetensors/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "models/safetensors/refuse.hpp"
#include "models/safetensors/typed.hpp"
#include "sim/base/aside_file.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "values are copied to the file as they lie in memory");

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

}  // namespace

void write_safetensors(const fs::path& path, const std::vector<TensorInfo>& tensors, std::span<const float> values,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(in_order(tensors), values.size(), metadata);
  const std::uint64_t length = header.size();
  AsideFile aside(path);
  {
    std::ofstream out(aside.path(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out.write(header.data(), static_cast<std::streamsize>(header.size()));
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
    out.close();
    if (!out) refuse(path, fmt::format("cannot be written ({}); give a folder that exists and has room", std::strerror(errno)));
  }
  if (const std::error_code error = aside.put_into_place())
    refuse(path, fmt::format("cannot be written ({}); give a place that can", error.message()));
}

SafetensorsFile read_safetensors(const fs::path& path) {
  TypedFile typed = read_typed_safetensors(path);
  SafetensorsFile file;
  file.metadata = std::move(typed.metadata);
  for (const TypedTensor& tensor : typed.tensors) {
    if (is_counter(tensor)) continue;
    if (tensor.type != NumberType::f32)
      refuse(path, fmt::format("tensor {} has type \"{}\"; only F32 can be read", in_quotes(tensor.name), name_of(tensor.type)));
    file.tensors.push_back({tensor.name, tensor.shape, file.values.size()});
    const std::vector<float> values = tensor.floats();
    file.values.insert(file.values.end(), values.begin(), values.end());
  }
  return file;
}

}  // namespace straggler
