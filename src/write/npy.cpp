#include "write/npy.hpp"

#include "base/error.hpp"
#include "base/file.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

const char* code_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "|b1";
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return "|i1";
    case DType::u8:
    case DType::u4:
    case DType::u2:
      return "|u1";
    case DType::i16:
      return "<i2";
    case DType::u16:
      return "<u2";
    case DType::i32:
      return "<i4";
    case DType::u32:
      return "<u4";
    case DType::i64:
      return "<i8";
    case DType::u64:
      return "<u8";
    case DType::f16:
      return "<f2";
    case DType::f64:
      return "<f8";
    case DType::c64:
      return "<c8";
    case DType::c128:
      return "<c16";
    default:
      return "<f4";
  }
}

/// Floats that NumPy lacks, as float32.
std::vector<float> widened(const Tensor& t) {
  std::vector<float> out;
  visit_type(TypeList<BFloat16, Float8E4M3Fn, Float8E4M3Fnuz, Float8E5M2, Float8E5M2Fnuz,
                      Float8E8M0, Float4E2M1>{},
             t.dtype, [&]<class T>() {
               for (const T& x : t.values<T>()) out.push_back(static_cast<float>(x));
             });
  return out;
}

}  // namespace

void write_npy(const std::string& path, const Tensor& t) {
  if (!t.present() || size_bytes(t.dtype) == 0)
    fail(Code::bad_argument, path, ": there is no tensor to write");
  std::string dims;
  for (const std::int64_t d : t.shape) dims += str(d, ", ");
  if (t.shape.rank > 1)
    dims.resize(dims.size() - 2);
  else if (t.shape.rank == 1)
    dims.pop_back();  // "(3,)"
  std::string header =
      str("{'descr': '", code_of(t.dtype), "', 'fortran_order': False, 'shape': (", dims, "), }");
  constexpr std::size_t prefix = 10;
  header.append(63 - (prefix + header.size()) % 64, ' ');  // data begins at a multiple of 64
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  const std::vector<float> wide = widened(t);
  const std::span<const std::byte> data =
      wide.empty() ? t.blob->bytes().first(t.bytes()) : std::as_bytes(std::span(wide));
  out.append(reinterpret_cast<const char*>(data.data()), data.size());
  require(write_file(path, std::as_bytes(std::span(out))), path);
}

}  // namespace longshore
