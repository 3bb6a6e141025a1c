#include "ops/movement.hpp"

namespace longshore::ops::op_center_crop_pad {
namespace {

/// The axes that `shape` speaks of; default: all.
Status axis_at(const Attributes& a, std::size_t i, int rank, int& axis) noexcept {
  const std::span<const std::int64_t> axes = a.integers("axes");
  const std::int64_t given =
      a.has("axes") && i < axes.size() ? axes[i] : static_cast<std::int64_t>(i);
  axis = resolve_axis(given, rank);
  return axis < 0 ? axis_out_of_range(given, rank) : Status{};
}
Status check_count(const Attributes& a, std::size_t entries, int rank) noexcept {
  const std::size_t wanted =
      a.has("axes") ? a.integers("axes").size() : static_cast<std::size_t>(rank);
  if (entries == wanted) return {};
  return Status::error(Code::bad_argument, "shape has %zu entries, not %zu", entries, wanted);
}

void infer(InferContext& c) {
  TensorType x = c.input(0);
  const std::optional<Ints> wanted = c.integers(1);
  if (!x.ranked) {
    c.output(0, x);
    return;
  }
  const std::size_t entries = wanted                       ? wanted->size()
                              : c.attributes().has("axes") ? c.attributes().integers("axes").size()
                                                           : x.dims.size();
  if (const Status s = check_count(c.attributes(), entries, x.rank()); !s.ok()) c.fail(s.text());
  for (std::size_t i = 0; i < entries; i++) {
    int axis = 0;
    if (const Status s = axis_at(c.attributes(), i, x.rank(), axis); !s.ok()) c.fail(s.text());
    if (wanted && (*wanted)[i] < 0)
      c.fail("its shape has the entry " + std::to_string((*wanted)[i]));
    x.dims[static_cast<std::size_t>(axis)] = wanted ? Dim((*wanted)[i]) : Dim();
  }
  c.output(0, x);
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  IntList wanted;
  LONGSHORE_TRY(read_ints(c.input(1), max_rank, "shape", wanted));
  LONGSHORE_TRY(check_count(c.attributes, static_cast<std::size_t>(wanted.count), x.shape.rank));
  Shape dims = x.shape;
  for (int i = 0; i < wanted.count; i++) {
    int axis = 0;
    LONGSHORE_TRY(axis_at(c.attributes, static_cast<std::size_t>(i), x.shape.rank, axis));
    if (wanted[i] < 0)
      return Status::error(Code::bad_argument, "shape has the entry %lld",
                           static_cast<long long>(wanted[i]));
    dims[axis] = wanted[i];
  }
  MutableView y;
  LONGSHORE_TRY(c.output(0, dims, y));
  if (y.bytes() > 0) std::memset(y.data, 0, y.bytes());
  // An odd rest is at the end, whether it is cut or filled.
  Shape part = x.shape;
  const Shape from = strides_of(x.shape), to = strides_of(dims);
  std::int64_t first_from = 0, first_to = 0;
  for (int i = 0; i < dims.rank; i++) {
    part[i] = std::min(dims[i], x.shape[i]);
    first_from += (x.shape[i] - part[i]) / 2 * from[i];
    first_to += (dims[i] - part[i]) / 2 * to[i];
  }
  const auto size = static_cast<std::int64_t>(size_bytes(x.dtype));
  copy_strided(part, static_cast<std::size_t>(size), x.as<std::byte>() + first_from * size, from,
               y.as<std::byte>() + first_to * size, to);
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "CenterCropPad",
    .doc = "Cuts or fills with zeros on both sides of each axis until it has the size wanted.",
    .since = 18,
    .schema = {.inputs = {{"input_data", type_set::any, "T"}, {"shape", type_set::indices}},
               .outputs = {{"output_data", type_set::any, "T"}},
               .attributes = {{"axes", AttributeKind::integers}}},
    .infer = infer,
    .eval = eval,
    .examples = {"(x: f32[4,N]) { y = CenterCropPad(x, i64[2]{7, 3}) return y }",
                 "(x: u8[2,5,3]) { y = CenterCropPad(x, i64[2]{2, 4}, axes=[-2,2]) return y }"},
};

}  // namespace longshore::ops::op_center_crop_pad
