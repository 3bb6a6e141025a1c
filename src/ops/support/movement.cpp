#include "ops/movement.hpp"

namespace longshore::ops {

Status read_ints(const TensorView& t, int most, const char* what, IntList& out) noexcept {
  const std::int64_t n = t.elements();
  if (t.shape.rank > 1 || n > most)
    return Status::error(Code::bad_argument, "%s must be a vector of at most %d integers", what,
                         most);
  out.count = static_cast<int>(n);
  for (int i = 0; i < out.count; i++) out.values[i] = int_at(t, i);
  return {};
}

Status axis_out_of_range(std::int64_t axis, int rank) {
  return Status::error(Code::bad_argument, "axis %lld is not in [%d, %d)",
                       static_cast<long long>(axis), -rank, rank);
}

Status index_out_of_range(std::int64_t i, std::int64_t size) {
  return Status::error(Code::bad_argument, "index %lld is not in [-%lld, %lld)",
                       static_cast<long long>(i), static_cast<long long>(size),
                       static_cast<long long>(size));
}

void copy_strided(const Shape& dims, std::size_t size, const void* from, const Shape& from_strides,
                  void* to, const Shape& to_strides) noexcept {
  if (dims.elements() <= 0 || size == 0) return;
  const auto* p = static_cast<const std::byte*>(from);
  auto* q = static_cast<std::byte*>(to);
  // Trailing dimensions that are dense on both sides are one run.
  int outer = dims.rank;
  std::int64_t run = 1;
  while (outer > 0 &&
         (dims[outer - 1] == 1 || (from_strides[outer - 1] == run && to_strides[outer - 1] == run)))
    run *= dims[--outer];
  std::int64_t row = 1, from_step = 0, to_step = 0;
  if (run == 1 && outer > 0) {
    outer--;
    row = dims[outer];
    from_step = from_strides[outer];
    to_step = to_strides[outer];
  }
  Shape counter;
  for (int i = 0; i < outer; i++) counter.push(0);
  Shape limits = dims;
  limits.rank = outer;
  const auto bytes = static_cast<std::int64_t>(size);
  do {
    std::int64_t a = 0, b = 0;
    for (int i = 0; i < outer; i++) {
      a += counter[i] * from_strides[i];
      b += counter[i] * to_strides[i];
    }
    const std::byte* source = p + a * bytes;
    std::byte* target = q + b * bytes;
    if (row == 1)
      std::memcpy(target, source, static_cast<std::size_t>(run * bytes));
    else if (size == 4)
      copy_row<std::uint32_t>(row, source, from_step, target, to_step);
    else if (size == 8)
      copy_row<std::uint64_t>(row, source, from_step, target, to_step);
    else if (size == 2)
      copy_row<std::uint16_t>(row, source, from_step, target, to_step);
    else if (size == 1)
      copy_row<std::uint8_t>(row, source, from_step, target, to_step);
    else
      for (std::int64_t i = 0; i < row; i++)
        std::memcpy(target + i * to_step * bytes, source + i * from_step * bytes, size);
  } while (next_index(counter, limits));
}

Status copy_as(EvalContext& c, const Shape& dims) noexcept {
  const TensorView& x = c.input(0);
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  if (y.bytes() != x.bytes())
    return Status::error(Code::bad_argument, "%lld elements cannot become %lld elements",
                         static_cast<long long>(x.elements()),
                         static_cast<long long>(y.elements()));
  if (x.bytes() > 0) std::memcpy(y.data, x.data, x.bytes());
  return {};
}

TensorType unknown_dims(DType dtype, int rank) {
  return {dtype, Dims(static_cast<std::size_t>(rank))};
}

void tensor_facts(const NodeTypes& n, Facts& facts) {
  const TensorType& x = n.input(0);
  if (!x.ranked) return;
  facts["rank"] = x.rank();
  if (x.rank() > 0 && x.dims[0].known()) facts["batch"] = x.dims[0].value;
  if (x.rank() > 1 && x.dims[1].known()) facts["in_channels"] = x.dims[1].value;
}

}  // namespace longshore::ops
