// .npy: "\x93NUMPY", version, header length, a Python dictionary as text, data.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.hpp"
#include "read/read.hpp"

namespace longshore {
namespace {

struct Header {
  std::string type;
  bool fortran = false;
  Shape shape;
};

/// Reads the dictionary that numpy writes: three known keys, in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Header run() {
    Header h;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') fail(Code::unsupported, file_, ": it holds records, not one tensor");
        h.type = quoted();
        has_type = true;
      } else if (key == "fortran_order") {
        h.fortran = truth();
        has_order = true;
      } else if (key == "shape") {
        h.shape = shape();
        has_shape = true;
      } else {
        error("descr, fortran_order or shape");
      }
      take(',');
    }
    if (!has_type || !has_order || !has_shape) error("descr, fortran_order and shape");
    return h;
  }

 private:
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      at_++;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    at_++;
    return true;
  }
  void expect(char c) {
    if (!take(c)) error(std::string(1, c));
  }
  [[noreturn]] void error(const std::string& expected) const {
    fail(Code::bad_model, file_, ": the header of the .npy file, character ", at_, ": expected ",
         expected);
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') error("a quoted word");
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) error("a closing quote");
    std::string out(text_.substr(at_, end - at_));
    at_ = end + 1;
    return out;
  }
  bool truth() {
    peek();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    error("True or False");
  }
  Shape shape() {
    Shape out;
    expect('(');
    while (!take(')')) {
      peek();
      std::int64_t d = 0;
      const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), d);
      if (code != std::errc{} || d < 0) error("a dimension");
      at_ = static_cast<std::size_t>(end - text_.data());
      take('L');  // Python 2
      if (out.rank == max_rank)
        fail(Code::unsupported, file_, ": it has more than ", max_rank, " dimensions");
      out.push(d);
      take(',');
    }
    return out;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

DType dtype_of(const std::string& type, const std::string& file, bool& swapped) {
  struct Row {
    std::string_view code;
    DType dtype;
  };
  constexpr Row rows[] = {{"b1", DType::boolean}, {"i1", DType::i8},   {"i2", DType::i16},
                          {"i4", DType::i32},     {"i8", DType::i64},  {"u1", DType::u8},
                          {"u2", DType::u16},     {"u4", DType::u32},  {"u8", DType::u64},
                          {"f2", DType::f16},     {"f4", DType::f32},  {"f8", DType::f64},
                          {"c8", DType::c64},     {"c16", DType::c128}};
  const std::string_view text = type;
  if (text.size() > 1)
    for (const Row& row : rows)
      if (text.substr(1) == row.code &&
          std::string_view("<>=|").find(text[0]) != std::string_view::npos) {
        swapped = text[0] == '>';
        return row.dtype;
      }
  fail(Code::unsupported, file, ": its element type is '", type,
       "'; bool, integers, float16, float32 and float64 are possible");
}

/// Reverses the order of the axes of the data: fortran order to C order.
std::vector<std::byte> transposed(std::span<const std::byte> from, const Shape& shape,
                                  std::size_t size) {
  std::vector<std::byte> out(from.size());
  Shape index = shape;
  for (std::int64_t& i : index) i = 0;
  for (std::size_t at = 0; at < out.size(); at += size) {
    std::int64_t source = 0;
    for (int axis = shape.rank; axis-- > 0;) source = source * shape[axis] + index[axis];
    std::memcpy(out.data() + at, from.data() + static_cast<std::size_t>(source) * size, size);
    for (int axis = shape.rank; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

}  // namespace

Tensor read_npy(const SharedBlob& file, const std::string& name) {
  const std::span<const std::byte> bytes = file->bytes();
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(bytes[i]); };
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    fail(Code::bad_model, name, ": not a .npy file");
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    fail(Code::unsupported, name, ": version ", version, " of .npy; 1 to 3 are known");
  const std::size_t start = version == 1 ? 10 : 12;
  const std::size_t length =
      byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > bytes.size() - start)
    fail(Code::bad_model, name, ": the header has ", length, " bytes, ", bytes.size() - start,
         " are left");
  const Header h =
      HeaderParser({reinterpret_cast<const char*>(bytes.data()) + start, length}, name).run();
  bool swapped = false;
  const DType dtype = dtype_of(h.type, name, swapped);
  const std::size_t size = size_bytes(dtype);
  const std::int64_t elements = checked_elements(h.shape, std::int64_t{1} << 40);
  const std::span<const std::byte> data = bytes.subspan(start + length);
  if (elements < 0 || static_cast<std::uint64_t>(elements) * size != data.size())
    fail(Code::bad_model, name, ": it holds ", data.size(), " bytes of data, the header says ",
         print(TensorType(dtype, h.shape)));
  const bool turn = h.fortran && h.shape.rank > 1;
  if (turn || (swapped && size > 1)) {
    std::vector<std::byte> out =
        turn ? transposed(data, h.shape, size) : std::vector(data.begin(), data.end());
    const std::size_t part = dtype == DType::c64 || dtype == DType::c128 ? size / 2 : size;
    for (std::size_t at = 0; swapped && at + part <= out.size(); at += part)
      std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at),
                   out.begin() + static_cast<std::ptrdiff_t>(at + part));
    return {dtype, h.shape, make_blob(std::move(out))};
  }
  if (reinterpret_cast<std::uintptr_t>(data.data()) % std::min<std::size_t>(size, 8) != 0)
    return {dtype, h.shape, copy_blob(data.data(), data.size())};
  return {dtype, h.shape, std::make_shared<const Blob>(data, file)};
}

}  // namespace longshore
