#include "read/onnx_tensor.hpp"

#include <bit>
#include <charconv>
#include <cstring>

#include "base/error.hpp"
#include "tensor/visit.hpp"

namespace longshore::onnx {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files are little endian, and so must we be");

/// A small file can name a large sparse tensor; no model that we know of comes near.
constexpr std::size_t dense_bytes_limit = std::size_t{1} << 29;

DType element_type(int code, const std::string& what) {
  if (code <= 0 || code >= dtype_count)
    fail(Code::bad_model, what, ": its element type is ", code, "; known are 1 to ",
         dtype_count - 1);
  const auto dtype = static_cast<DType>(code);
  if (dtype == DType::string)
    fail(Code::unsupported, what,
         ": it holds strings; Longshore computes with numbers only, so move text processing "
         "out of the model");
  return dtype;
}

Shape shape_of(const auto& dims, const std::string& what) {
  if (dims.size() > max_rank)
    fail(Code::unsupported, what, ": it has ", dims.size(), " dimensions, at most ", max_rank,
         " are possible");
  Shape shape;
  for (std::int64_t d : dims) {
    if (d < 0) fail(Code::bad_model, what, ": a dimension is ", d);
    shape.push(d);
  }
  return shape;
}

std::int64_t elements_of(const Shape& shape, const Source& source, const std::string& what) {
  const std::int64_t n = checked_elements(shape, source.options.limits.elements);
  if (n < 0)
    fail(Code::exhausted, what, ": it has more than ", source.options.limits.elements, " elements");
  return n;
}

/// Bytes in a file: small types are packed.
std::uint64_t file_bytes(DType dtype, std::int64_t elements) {
  return (static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(file_bits(dtype)) + 7) /
         8;
}

bool packed(DType dtype) { return file_bits(dtype) < 8; }

/// 2- and 4-bit codes, first element in the lowest bits, to one byte each.
std::vector<std::byte> unpack(DType dtype, std::span<const std::byte> from, std::int64_t elements) {
  const int bits = file_bits(dtype), per_byte = 8 / bits;
  const bool is_signed = dtype == DType::i4 || dtype == DType::i2;
  std::vector<std::byte> out(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; i++) {
    const auto byte = static_cast<unsigned>(from[static_cast<std::size_t>(i / per_byte)]);
    unsigned code = byte >> (i % per_byte * bits) & ((1u << bits) - 1);
    if (is_signed && code >> (bits - 1)) code |= 0xffu << bits;
    out[static_cast<std::size_t>(i)] = static_cast<std::byte>(code);
  }
  return out;
}

/// Bytes as they lie in a file to bytes in memory; shares them where they are the same.
SharedBlob from_file_form(DType dtype, std::int64_t elements, SharedBlob bytes) {
  if (packed(dtype)) return make_blob(unpack(dtype, bytes->bytes(), elements));
  const std::size_t alignment = std::min<std::size_t>(size_bytes(dtype), 8);
  if (reinterpret_cast<std::uintptr_t>(bytes->bytes().data()) % alignment != 0)
    return copy_blob(bytes->bytes().data(), bytes->size());
  return bytes;
}

template <class To, class From>
SharedBlob narrowed(const From& from) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(from.size()) * sizeof(To));
  std::size_t at = 0;
  for (const auto x : from) {
    const auto code = static_cast<To>(x);
    std::memcpy(bytes.data() + at, &code, sizeof code);
    at += sizeof code;
  }
  return make_blob(std::move(bytes));
}

void check_count(const std::string& what, const char* field, std::int64_t found,
                 std::int64_t expected) {
  if (found != expected)
    fail(Code::bad_model, what, ": it has ", found, " entries in ", field, ", ", expected,
         " expected");
}

/// From the typed fields.
SharedBlob typed(const TensorProto& t, DType dtype, std::int64_t n, const std::string& what) {
  switch (dtype) {
    case DType::f32:
    case DType::c64:
      check_count(what, "float_data", t.float_data_size(), dtype == DType::c64 ? 2 * n : n);
      return narrowed<float>(t.float_data());
    case DType::f64:
    case DType::c128:
      check_count(what, "double_data", t.double_data_size(), dtype == DType::c128 ? 2 * n : n);
      return narrowed<double>(t.double_data());
    case DType::i64:
      check_count(what, "int64_data", t.int64_data_size(), n);
      return narrowed<std::int64_t>(t.int64_data());
    case DType::u32:
      check_count(what, "uint64_data", t.uint64_data_size(), n);
      return narrowed<std::uint32_t>(t.uint64_data());
    case DType::u64:
      check_count(what, "uint64_data", t.uint64_data_size(), n);
      return narrowed<std::uint64_t>(t.uint64_data());
    case DType::i32:
      check_count(what, "int32_data", t.int32_data_size(), n);
      return narrowed<std::int32_t>(t.int32_data());
    case DType::boolean: {
      check_count(what, "int32_data", t.int32_data_size(), n);
      std::vector<std::byte> bytes;
      for (const std::int32_t x : t.int32_data()) bytes.push_back(static_cast<std::byte>(x != 0));
      return make_blob(std::move(bytes));
    }
    default:
      break;
  }
  if (packed(dtype)) {  // an entry holds one packed byte
    check_count(what, "int32_data", t.int32_data_size(),
                static_cast<std::int64_t>(file_bytes(dtype, n)));
    return make_blob(unpack(dtype, narrowed<std::uint8_t>(t.int32_data())->bytes(), n));
  }
  check_count(what, "int32_data", t.int32_data_size(), n);  // f16 and the like: their bits
  return size_bytes(dtype) == 2 ? narrowed<std::uint16_t>(t.int32_data())
                                : narrowed<std::uint8_t>(t.int32_data());
}

std::uint64_t number(const std::string& text, const char* key, const std::string& what) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size())
    fail(Code::bad_model, what, ": external data: ", key, " is not a number of bytes");
  return value;
}

SharedBlob external(const TensorProto& t, DType dtype, std::int64_t n, Source& source,
                    const std::string& what) {
  std::string location;
  std::uint64_t offset = 0, length = file_bytes(dtype, n);
  for (const StringPair& pair : t.external_data()) {
    if (pair.key() == "location")
      location = pair.value();
    else if (pair.key() == "offset")
      offset = number(pair.value(), "offset", what);
    else if (pair.key() == "length")
      length = number(pair.value(), "length", what);
    else if (pair.key() !=
             "checksum")  // SHA-1 of the file, which proves nothing against an attacker
      fail(Code::bad_model, what, ": external data: there is no key '", pair.key(), "'");
  }
  if (length != file_bytes(dtype, n))
    fail(Code::bad_model, what, ": external data: the length is ", length, " bytes, ",
         file_bytes(dtype, n), " expected");
  return from_file_form(dtype, n, source.external.bytes(location, offset, length, what));
}

}  // namespace

Tensor tensor(TensorProto& t, Source& source, const std::string& what, bool take) {
  const DType dtype = element_type(t.data_type(), what);
  const Shape shape = shape_of(t.dims(), what);
  const std::int64_t n = elements_of(shape, source, what);
  if (t.has_segment()) fail(Code::unsupported, what, ": it is stored in segments");
  if (t.data_location() == 1) return {dtype, shape, external(t, dtype, n, source, what)};
  if (t.data_location() != 0)
    fail(Code::bad_model, what, ": its data location is ", t.data_location());
  const std::uint64_t expected = file_bytes(dtype, n);
  const bool has_typed = t.float_data_size() + t.int32_data_size() + t.int64_data_size() +
                             t.double_data_size() + t.uint64_data_size() >
                         0;
  if (!t.has_raw_data() || (t.raw_data().empty() && has_typed))
    return {dtype, shape, typed(t, dtype, n, what)};
  if (t.raw_data().size() != expected)
    fail(Code::bad_model, what, ": it has ", t.raw_data().size(), " bytes of data, ", expected,
         " expected for ", print(TensorType(dtype, shape)));
  SharedBlob raw;
  if (take && expected >= 256) {
    const std::shared_ptr<const std::string> owner(t.release_raw_data());
    raw = std::make_shared<const Blob>(std::as_bytes(std::span(*owner)), owner);
  } else {
    raw = copy_blob(t.raw_data().data(), t.raw_data().size());
  }
  return {dtype, shape, from_file_form(dtype, n, std::move(raw))};
}

Tensor dense(SparseTensor& s, Source& source, const std::string& what) {
  const Tensor values = tensor(*s.mutable_values(), source, what + ": values", false);
  const Tensor indices = tensor(*s.mutable_indices(), source, what + ": indices", false);
  const Shape shape = shape_of(s.dims(), what);
  const std::int64_t n = elements_of(shape, source, what), count = values.elements();
  const int width = indices.shape.rank == 2 ? static_cast<int>(indices.shape[1]) : 1;
  if (indices.dtype != DType::i64 || values.shape.rank != 1 || indices.shape.rank < 1 ||
      indices.shape.rank > 2 || indices.shape[0] != count ||
      (indices.shape.rank == 2 && width != shape.rank))
    fail(Code::bad_model, what, ": its indices are ",
         print(TensorType(indices.dtype, indices.shape)), " for ", count,
         " values of a tensor of rank ", shape.rank);
  const std::size_t size = size_bytes(values.dtype);
  if (static_cast<std::size_t>(n) > dense_bytes_limit / size)
    fail(Code::exhausted, what, ": dense, it would take more than ", dense_bytes_limit, " bytes");
  std::vector<std::byte> bytes(static_cast<std::size_t>(n) * size);
  const auto list = indices.values<std::int64_t>();
  for (std::int64_t i = 0; i < count; i++) {
    std::int64_t at = 0;
    if (indices.shape.rank == 1) {
      at = list[static_cast<std::size_t>(i)];
      if (at < 0 || at >= n) fail(Code::bad_model, what, ": index ", at, " of ", n, " elements");
    } else {
      for (int axis = 0; axis < shape.rank; axis++) {
        const std::int64_t k = list[static_cast<std::size_t>(i * width + axis)];
        if (k < 0 || k >= shape[axis])
          fail(Code::bad_model, what, ": index ", k, " of ", shape[axis], " on axis ", axis);
        at = at * shape[axis] + k;
      }
    }
    std::memcpy(bytes.data() + static_cast<std::size_t>(at) * size,
                values.blob->bytes().data() + static_cast<std::size_t>(i) * size, size);
  }
  return {values.dtype, shape, make_blob(std::move(bytes))};
}

TensorType type(const TypeProto& t, const std::string& what) {
  switch (t.value_case()) {
    case TypeProto::kTensorType:
      break;
    case TypeProto::kSequenceType:
      fail(Code::unsupported, what,
           ": it is a sequence of tensors; only single tensors are possible");
    case TypeProto::kOptionalType:
      fail(Code::unsupported, what, ": it is an optional type; only tensors are possible");
    case TypeProto::kSparseTensorType:
      fail(Code::unsupported, what, ": it is a sparse tensor; only dense ones are possible");
    case TypeProto::kMapType:
      fail(Code::unsupported, what, ": it is a map; only tensors are possible");
    case TypeProto::kOpaqueType:
      fail(Code::unsupported, what, ": its type is opaque; only tensors are possible");
    case TypeProto::VALUE_NOT_SET:
      fail(Code::bad_model, what, ": it has no type");
  }
  const DType dtype = element_type(t.tensor_type().elem_type(), what);
  if (!t.tensor_type().has_shape()) return TensorType::unranked(dtype);
  const TensorShape& shape = t.tensor_type().shape();
  if (shape.dim_size() > max_rank)
    fail(Code::unsupported, what, ": it has ", shape.dim_size(), " dimensions, at most ", max_rank,
         " are possible");
  TensorType out(dtype, Dims{});
  for (const auto& d : shape.dim()) {
    // A dim of -1 is how some exporters write an unknown one.
    if (d.has_dim_value() && d.dim_value() < -1)
      fail(Code::bad_model, what, ": a dimension is ", d.dim_value());
    if (d.has_dim_value() && d.dim_value() >= 0)
      out.dims.emplace_back(d.dim_value());
    else
      out.dims.push_back(d.has_dim_param() ? Dim::named(d.dim_param()) : Dim());
  }
  return out;
}

}  // namespace longshore::onnx
