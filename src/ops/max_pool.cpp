#include "ops/pool.hpp"

namespace longshore::ops::op_max_pool {
namespace {

/// Index of an element in the tensor as Indices gives it: row-major, or with storage_order the
/// spatial dims column-major.
std::int64_t stored_index(const Window& w, std::int64_t plane, std::int64_t i, bool column_major) {
  if (column_major) {
    const std::int64_t column = i % w.in[2], row = i / w.in[2] % w.in[1],
                       depth = i / w.in[2] / w.in[1];
    i = (column * w.in[1] + row) * w.in[0] + depth;
  }
  return plane * w.in_plane() + i;
}

template <class T>
void run(const TensorView& x, const Window& w, const MutableView& y, const MutableView* indices,
         bool column_major) {
  const std::int64_t planes = x.shape[0] * x.shape[1];
  for (std::int64_t p = 0; p < planes; p++) {
    const T* from = x.as<T>() + p * w.in_plane();
    for_each_window(w, [&](std::int64_t at, const std::int64_t(&o)[3], const IndexRange(&taps)[3]) {
      std::int64_t best = -1;
      Compute<T> most{};
      for_each_tap(w, o, taps, [&](std::int64_t i) {
        const auto v = static_cast<Compute<T>>(from[i]);
        if (best >= 0 && !(v > most) && !(v != v && most == most)) return;  // the first NaN wins
        most = v;
        best = i;
      });
      T& to = y.as<T>()[p * w.out_plane() + at];
      if (best >= 0)
        to = from[best];
      else if constexpr (std::is_integral_v<T>)
        to = std::numeric_limits<T>::lowest();
      else
        to = static_cast<T>(-std::numeric_limits<float>::infinity());
      if (indices)
        indices->as<std::int64_t>()[p * w.out_plane() + at] =
            best < 0 ? -1 : stored_index(w, p, best, column_major);
    });
  }
}

Status eval(EvalContext& c) noexcept {
  const TensorView& x = c.input(0);
  Window w;
  LONGSHORE_TRY(pool_window(c.attributes, x.shape, w));
  MutableView y, indices;
  LONGSHORE_TRY(c.output(0, window_shape(x.shape, x.shape[1], w), y));
  const bool wanted = c.output_count() > 1 && c.wants(1);
  if (wanted) LONGSHORE_TRY(c.output(1, y.shape, indices));
  using Types = TypeList<float, double, Float16, BFloat16, std::int8_t, std::uint8_t, std::int16_t>;
  visit_type(Types{}, x.dtype, [&]<class T>() {
    run<T>(x, w, y, wanted ? &indices : nullptr, c.attributes.integer("storage_order", 0) != 0);
  });
  return {};
}

constexpr Types types_in = pool_types | types(DType::i8, DType::u8);

FormSpec form(const NodeTypes& n) {
  FormSpec s = pool_form(n, "max");
  if (n.node.output(1) != no_value) s.refuse("Indices", "used", "left out");
  return s;
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "MaxPool",
    .doc =
        "The maximum of each window; padding never wins, NaN does. Indices count elements of the "
        "whole input.",
    .since = 22,
    .schema = {.inputs = {{"X", types_in, "T"}},
               .outputs = {{"Y", types_in, "T"},
                           {"Indices", type_set::int64, {}, Presence::optional}},
               .attributes = {{"auto_pad", AttributeKind::text},
                              {"ceil_mode", AttributeKind::integer},
                              {"dilations", AttributeKind::integers},
                              {"kernel_shape", AttributeKind::integers, true},
                              {"pads", AttributeKind::integers},
                              {"storage_order", AttributeKind::integer},
                              {"strides", AttributeKind::integers}}},
    .infer = infer_pool,
    .eval = eval,
    .eval_quantised = eval,
    .facts = pool_facts,
    .quant = Quant::same,
    .channels = Channels::scales,
    .form = form,
    .examples =
        {"(x: f32[N,2,7,5]) { y, i = MaxPool(x, kernel_shape=[3,2], strides=[2,1], pads=[1,0,0,1], "
         "dilations=[2,1], storage_order=1) return y, i }",
         "(x: u8[1,1,6]) { y = MaxPool(x, kernel_shape=[3], strides=[2], ceil_mode=1) return y }",
         "(x: i8[1,2,4,4] q(0.5, -3)) { y: i8[1,2,2,2] q(0.5, -3) = MaxPool(x, kernel_shape=[2,2], "
         "strides=[2,2]) return y }"},
};

}  // namespace longshore::ops::op_max_pool
