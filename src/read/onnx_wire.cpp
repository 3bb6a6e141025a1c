#include "read/onnx_wire.hpp"

#include <cstdint>

#include "base/error.hpp"

namespace longshore::onnx {
namespace {

enum class Record : std::uint8_t {
  leaf,
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse,
  function,
  value,
  type,
  container,
  tensor_type,
  shape
};

struct Field {
  Record in;
  std::uint32_t number;
  Record is;
};

/// Which fields hold records that hold records.
constexpr Field fields[] = {
    {Record::model, 7, Record::graph},      {Record::model, 25, Record::function},
    {Record::graph, 1, Record::node},       {Record::graph, 5, Record::tensor},
    {Record::graph, 11, Record::value},     {Record::graph, 12, Record::value},
    {Record::graph, 13, Record::value},     {Record::graph, 15, Record::sparse},
    {Record::node, 5, Record::attribute},   {Record::attribute, 5, Record::tensor},
    {Record::attribute, 6, Record::graph},  {Record::attribute, 22, Record::sparse},
    {Record::sparse, 1, Record::tensor},    {Record::sparse, 2, Record::tensor},
    {Record::function, 7, Record::node},    {Record::function, 11, Record::attribute},
    {Record::value, 2, Record::type},       {Record::type, 4, Record::container},
    {Record::type, 9, Record::container},   {Record::container, 1, Record::type},
    {Record::type, 1, Record::tensor_type}, {Record::tensor_type, 2, Record::shape},
};

constexpr const char* name(Record r) {
  constexpr const char* names[] = {"a record",     "the model", "a graph",          "a node",
                                   "an attribute", "a tensor",  "a sparse tensor",  "a function",
                                   "a value",      "a type",    "a container type", "a tensor type",
                                   "a shape"};
  return names[static_cast<int>(r)];
}

/// Protobuf's own limit of nested records is 100.
constexpr int nesting_limit = 98;

class Walker {
 public:
  Walker(std::span<const std::byte> bytes, const std::string& file, const ReadLimits& limits)
      : bytes_(bytes), file_(file), limits_(limits) {}

  void walk(Record record, std::size_t end, int nesting) {
    if (nesting > nesting_limit)
      fail(Code::exhausted, file_, ": byte ", at_, ": records are nested more than ", nesting_limit,
           " deep");
    while (at_ < end) {
      const std::size_t start = at_;
      const std::uint64_t tag = varint(end, record);
      const std::uint64_t number = tag >> 3;
      if (number == 0 || number > 0x1fffffff) broken(start, record, "a field number expected");
      switch (tag & 7) {
        case 0:
          varint(end, record);
          break;
        case 1:
          skip(8, end, record, start);
          break;
        case 5:
          skip(4, end, record, start);
          break;
        case 2:
          length_delimited(record, static_cast<std::uint32_t>(number), end, start, nesting);
          break;
        default:
          broken(start, record, "an unknown kind of field");
      }
    }
  }

 private:
  void length_delimited(Record record, std::uint32_t number, std::size_t end, std::size_t start,
                        int nesting) {
    const std::uint64_t length = varint(end, record);
    if (length > end - at_)
      fail(Code::bad_model, file_, ": the file is damaged or cut: at byte ", start, ", field ",
           number, " of ", name(record), " says ", length, " bytes, ", end - at_, " are left");
    if (++records_ > limits_.records)
      fail(Code::exhausted, file_, ": byte ", start, ": more than ", limits_.records, " records");
    const std::size_t inner_end = at_ + static_cast<std::size_t>(length);
    for (const Field& f : fields)
      if (f.in == record && f.number == number) {
        walk(f.is, inner_end, nesting + 1);
        return;
      }
    at_ = inner_end;
  }

  std::uint64_t varint(std::size_t end, Record record) {
    const std::size_t start = at_;
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ >= end) broken(start, record, "a number that ends");
      const auto byte = static_cast<std::uint64_t>(bytes_[at_++]);
      if (shift < 64) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    broken(start, record, "a number of at most 10 bytes");
  }

  void skip(std::size_t count, std::size_t end, Record record, std::size_t start) {
    if (end - at_ < count) broken(start, record, "more bytes");
    at_ += count;
  }

  [[noreturn]] void broken(std::size_t at, Record record, const char* expected) const {
    fail(Code::bad_model, file_, ": not an ONNX file, or a damaged one: byte ", at, ", in ",
         name(record), ": expected ", expected);
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
  const ReadLimits& limits_;
  std::size_t at_ = 0, records_ = 0;
};

}  // namespace

void check_wire(std::span<const std::byte> model, const std::string& file,
                const ReadLimits& limits) {
  Walker(model, file, limits).walk(Record::model, model.size(), 0);
}

void check_tensor_wire(std::span<const std::byte> tensor, const std::string& file,
                       const ReadLimits& limits) {
  Walker(tensor, file, limits).walk(Record::tensor, tensor.size(), 0);
}

}  // namespace longshore::onnx
