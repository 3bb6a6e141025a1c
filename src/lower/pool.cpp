#include "program/instructions/pool.hpp"
#include "lower/layer.hpp"

namespace longshore::lower {

Operation pool_operation(LayerEmitter& e, Tile in, const plan::TileShape& in_shape, Tile out,
                         const plan::TileShape& shape, const plan::Reach& rows,
                         const plan::Reach& columns) {
  const plan::Window& w = e.layer().window;
  const auto u32 = [](std::int64_t v) { return static_cast<std::uint32_t>(v); };
  Pool o;
  const bool average = e.head().op->name == "AveragePool";
  o.function = average ? Pool::Function::average : Pool::Function::max;
  o.count_include_pad = average && e.head().attributes.integer("count_include_pad", 0) != 0;
  o.in = in, o.out = out;
  o.in_h = u32(in_shape.rows), o.in_w = u32(in_shape.columns), o.channels = u32(in_shape.channels);
  o.kernel_h = u32(w.kernel_h), o.kernel_w = u32(w.kernel_w);
  o.stride_h = u32(w.stride_h), o.stride_w = u32(w.stride_w);
  o.dilation_h = u32(w.dilation_h), o.dilation_w = u32(w.dilation_w);
  o.pad_top = u32(rows.before), o.pad_bottom = u32(rows.after);
  o.pad_left = u32(columns.before), o.pad_right = u32(columns.after);
  o.out_h = u32(shape.rows), o.out_w = u32(shape.columns);
  const Codes x = codes_of(e.input_type()), y = codes_of(e.output_type(0));
  o.in_scale = x.scale, o.out_scale = y.scale;
  o.in_zero = x.zero, o.out_zero = y.zero;
  o.lowest = y.lowest, o.highest = y.highest;
  o.rounding = e.rounding();
  return o;
}

}  // namespace longshore::lower
