#include "models/safetensors/typed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "models/kernels/precision.hpp"
#include "models/safetensors/refuse.hpp"
#include "sim/base/json_depth.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in memory");

// 80,000 tensors. The format allows 100 MB, of which a parser makes gigabytes.
constexpr std::uint64_t longest_header = 8 << 20;

struct TypeName {
  NumberType type;
  const char* name;
  std::size_t size;
};
constexpr std::array<TypeName, 7> types = {{{NumberType::f32, "F32", 4},
                                            {NumberType::f16, "F16", 2},
                                            {NumberType::bf16, "BF16", 2},
                                            {NumberType::i8, "I8", 1},
                                            {NumberType::u8, "U8", 1},
                                            {NumberType::i32, "I32", 4},
                                            {NumberType::i64, "I64", 8}}};

const TypeName& entry_of(NumberType type) {
  return *std::find_if(types.begin(), types.end(), [type](const TypeName& each) { return each.type == type; });
}

template <class Number>
TypedTensor made(std::string name, NumberType type, std::vector<std::size_t> shape, std::span<const Number> values) {
  return {std::move(name), type, std::move(shape), {reinterpret_cast<const char*>(values.data()), values.size_bytes()}};
}

/// A tensor of the header, and the location of its bytes.
struct Entry {
  TypedTensor tensor;
  std::size_t begin = 0, end = 0;
};

std::size_t count_at(const fs::path& path, const std::string& name, const Json& json) {
  if (!json.is_number_unsigned())
    refuse(path, fmt::format("tensor {} has a size or an offset that is not a count; shape and data_offsets are lists of counts",
                             in_quotes(name)));
  return json.get<std::size_t>();
}

NumberType type_at(const fs::path& path, const std::string& name, const Json& json) {
  std::string known;
  for (const TypeName& each : types) {
    if (json == each.name) return each.type;
    known += (known.empty() ? "" : ", ") + std::string(each.name);
  }
  refuse(path, fmt::format("tensor {} has type {}; known are {}", in_quotes(name), shortened(json.dump(), 60), known));
}

Entry entry_at(const fs::path& path, const std::string& name, const Json& json, std::size_t data_bytes) {
  const auto is_list = [&json](const char* key) { return json.contains(key) && json[key].is_array(); };
  if (!json.is_object() || !json.contains("dtype") || !is_list("shape") || !is_list("data_offsets") || json["data_offsets"].size() != 2)
    refuse(path, fmt::format("tensor {} lacks dtype, shape or data_offsets; get an undamaged safetensors file", in_quotes(name)));
  Entry entry{{name, type_at(path, name, json["dtype"]), {}, {}}, 0, 0};
  std::size_t count = 1;  // never above the number of bytes: no product below overflows
  for (const Json& size : json["shape"]) {
    entry.tensor.shape.push_back(count_at(path, name, size));
    if (entry.tensor.shape.back() != 0 && count > data_bytes / entry.tensor.shape.back())
      refuse(path, fmt::format("tensor {} has shape {}, more than the file holds; get the whole file", in_quotes(name),
                               shortened(json["shape"].dump(), 60)));
    count *= entry.tensor.shape.back();
  }
  const std::size_t bytes = count * size_of(entry.tensor.type);
  entry.begin = count_at(path, name, json["data_offsets"][0]);
  entry.end = count_at(path, name, json["data_offsets"][1]);
  if (entry.begin > entry.end || entry.end > data_bytes)
    refuse(path, fmt::format("tensor {} lies at bytes {} to {} of {} bytes of data; get the whole file", in_quotes(name), entry.begin,
                             entry.end, data_bytes));
  if (entry.end - entry.begin != bytes)
    refuse(path, fmt::format("tensor {} of shape {} takes {} bytes, not {}; get an undamaged file", in_quotes(name),
                             shortened(json["shape"].dump(), 60), bytes, entry.end - entry.begin));
  return entry;
}

std::vector<Entry> read_header(const fs::path& path, const std::string& text, std::size_t data_bytes, TypedFile& file) {
  if (nests_deeper(text)) refuse(path, "its header nests lists and maps deeper than any tensor's; give a safetensors file");
  const Json header = Json::parse(text, nullptr, false);
  if (!header.is_object()) refuse(path, "its header is not JSON; give a safetensors file");
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") {
      entries.push_back(entry_at(path, name, json, data_bytes));
      continue;
    }
    if (!json.is_object()) refuse(path, "its __metadata__ is not a map; give a safetensors file");
    for (const auto& [key, value] : json.items()) {
      if (!value.is_string()) refuse(path, fmt::format("its metadata {} is not text; the format has text only", in_quotes(key)));
      file.metadata[key] = value.get<std::string>();
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  std::size_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at)
      refuse(path,
             fmt::format("tensor {} overlaps another or leaves a gap before it; get an undamaged file", in_quotes(entry.tensor.name)));
    at = entry.end;
  }
  if (at != data_bytes)
    refuse(path, fmt::format("its tensors take {} bytes, but {} follow the header; get the whole, undamaged file", at, data_bytes));
  return entries;
}

}  // namespace

const char* name_of(NumberType type) { return entry_of(type).name; }
std::size_t size_of(NumberType type) { return entry_of(type).size; }

std::size_t TypedTensor::elements() const {
  std::size_t count = 1;
  for (const std::size_t size : shape) count *= size;
  return count;
}

std::vector<float> TypedTensor::floats() const {
  std::vector<float> values(elements());
  if (type == NumberType::f32) {
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  } else if (type == NumberType::f16 || type == NumberType::bf16) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
      values[i] = type == NumberType::f16 ? from_fp16(bits) : from_bf16(bits);
    }
  } else {
    throw std::logic_error(fmt::format("tensor '{}' holds integers, not floats", name));
  }
  return values;
}

TypedTensor tensor_of(std::string name, std::vector<std::size_t> shape, std::span<const float> values) {
  return made(std::move(name), NumberType::f32, std::move(shape), values);
}
TypedTensor tensor_of(std::string name, std::vector<std::size_t> shape, std::span<const std::int8_t> values) {
  return made(std::move(name), NumberType::i8, std::move(shape), values);
}
TypedTensor tensor_of(std::string name, std::vector<std::size_t> shape, std::span<const std::int32_t> values) {
  return made(std::move(name), NumberType::i32, std::move(shape), values);
}

bool is_counter(const TypedTensor& tensor) { return tensor.type == NumberType::i64 && tensor.name.ends_with("num_batches_tracked"); }

std::string safetensors_bytes(const TypedFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::size_t at = 0;
  std::set<std::string> names{"__metadata__"};
  for (const TypedTensor& tensor : file.tensors) {
    if (tensor.bytes.size() != tensor.elements() * size_of(tensor.type))
      throw std::logic_error(fmt::format("tensor '{}' has {} bytes, which do not fit its shape", tensor.name, tensor.bytes.size()));
    if (!names.insert(tensor.name).second) throw std::logic_error(fmt::format("two tensors are named '{}'", tensor.name));
    header[tensor.name] = {{"dtype", name_of(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  // Bytes that are not UTF-8 become replacement characters instead of an exception.
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += text;
  for (const TypedTensor& tensor : file.tensors) bytes += tensor.bytes;
  return bytes;
}

TypedFile read_typed_safetensors(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) refuse(path, "no such file; give a safetensors file");
  if (!fs::is_regular_file(path, error)) refuse(path, "not a file; give a safetensors file");
  const std::uintmax_t size = fs::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(path, fmt::format("cannot be opened ({}); make it readable", std::strerror(errno)));
  std::uint64_t length = 0;
  if (size < sizeof length || !in.read(reinterpret_cast<char*>(&length), sizeof length))
    refuse(path, "too short; a safetensors file starts with the 8 bytes of its header's length");
  if ((length & 0xffffffff) == 0x04034b50)  // "PK\3\4"
    refuse(path, "a zip archive, as torch.save writes it; write the weights as safetensors (straggler.save_weights in Python)");
  if (length > longest_header && length <= size - sizeof length)
    refuse(path, fmt::format("its header has {} bytes; at most {} can be read", length, longest_header));
  if (length > size - sizeof length)
    refuse(path, fmt::format("its header would have {} bytes, but the file has {}; give a whole safetensors file", length, size));
  std::string header(length, '\0');
  in.read(header.data(), static_cast<std::streamsize>(length));
  TypedFile file;
  for (Entry& entry : read_header(path, header, size - sizeof length - length, file)) {
    entry.tensor.bytes.resize(entry.end - entry.begin);
    if (!in.read(entry.tensor.bytes.data(), static_cast<std::streamsize>(entry.tensor.bytes.size())))
      refuse(path, "reading failed; get a whole, undamaged file");
    file.tensors.push_back(std::move(entry.tensor));
  }
  return file;
}

}  // namespace straggler
