// Tables of tests/tables: lines that start with # are remarks, the first other line names the columns; fields may be quoted.
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace straggler {

class Csv {
 public:
  explicit Csv(const std::string& name) : path_(std::string(STRAGGLER_SOURCE_DIR) + "/tests/tables/" + name) {
    std::ifstream in(path_);
    if (!in) throw std::runtime_error("cannot read " + path_);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line[0] != '#') rows_.push_back(split(line));
    }
    if (rows_.empty()) throw std::runtime_error(path_ + " has no rows");
    columns_ = rows_.front();
    rows_.erase(rows_.begin());
  }
  std::size_t rows() const { return rows_.size(); }
  const std::string& text(std::size_t row, const std::string& column) const {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c] == column) return rows_.at(row).at(c);
    throw std::runtime_error(path_ + " has no column " + column);
  }
  double number(std::size_t row, const std::string& column) const { return std::stod(text(row, column)); }

 private:
  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        fields.emplace_back();
      else if (c != '\r')
        fields.back() += c;
    }
    return fields;
  }
  std::string path_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace straggler
