// The operands of every operation by name and role: printing, encoding, checking and `inject` walk
// this one list.
#pragma once
#include <type_traits>

#include "program/instruction.hpp"

namespace longshore {

/// Calls visit(name, role, member) for each operand in a fixed order, which the bundle relies on:
/// a new operand goes to the end. O is one of the operations, const or not.
template <class O, class Visit>
void each_field(O& o, Visit&& visit) {
  using T = std::remove_const_t<O>;
  const auto tile = [&](const char* address, const char* row, const char* pixel, auto& t) {
    visit(address, Role::address, t.address);
    visit(row, Role::stride, t.row_stride);
    visit(pixel, Role::stride, t.pixel_stride);
  };
  const auto counts = [&] {
    if constexpr (requires { o.run_bytes; }) {
      visit("count_0", Role::extent, o.count[0]);
      visit("count_1", Role::extent, o.count[1]);
      visit("count_2", Role::extent, o.count[2]);
      visit("run_bytes", Role::extent, o.run_bytes);
    }
  };
  const auto windows = [&] {
    if constexpr (requires { o.kernel_h; }) {
      visit("kernel_h", Role::extent, o.kernel_h);
      visit("kernel_w", Role::extent, o.kernel_w);
      visit("stride_h", Role::extent, o.stride_h);
      visit("stride_w", Role::extent, o.stride_w);
      visit("dilation_h", Role::extent, o.dilation_h);
      visit("dilation_w", Role::extent, o.dilation_w);
      visit("pad_top", Role::extent, o.pad_top);
      visit("pad_left", Role::extent, o.pad_left);
      visit("pad_bottom", Role::extent, o.pad_bottom);
      visit("pad_right", Role::extent, o.pad_right);
    }
  };
  const auto codes = [&] {
    if constexpr (requires { o.lowest; }) {
      visit("out_zero", Role::number, o.out_zero);
      visit("lowest", Role::number, o.lowest);
      visit("highest", Role::number, o.highest);
    }
  };
  if constexpr (std::is_same_v<T, Dma>) {
    visit("dram", Role::flag, o.dram);
    visit("dram_address", Role::address, o.dram_address);
    visit("dram_stride_0", Role::stride, o.dram_stride[0]);
    visit("dram_stride_1", Role::stride, o.dram_stride[1]);
    visit("dram_stride_2", Role::stride, o.dram_stride[2]);
    visit("sram_address", Role::address, o.sram_address);
    visit("sram_stride_0", Role::stride, o.sram_stride[0]);
    visit("sram_stride_1", Role::stride, o.sram_stride[1]);
    visit("sram_stride_2", Role::stride, o.sram_stride[2]);
    counts();
  } else if constexpr (std::is_same_v<T, Fill>) {
    visit("address", Role::address, o.address);
    visit("stride_0", Role::stride, o.stride[0]);
    visit("stride_1", Role::stride, o.stride[1]);
    visit("stride_2", Role::stride, o.stride[2]);
    counts();
    visit("value", Role::number, o.value);
  } else if constexpr (std::is_same_v<T, Copy>) {
    visit("from", Role::address, o.from);
    visit("from_stride_0", Role::stride, o.from_stride[0]);
    visit("from_stride_1", Role::stride, o.from_stride[1]);
    visit("from_stride_2", Role::stride, o.from_stride[2]);
    visit("to", Role::address, o.to);
    visit("to_stride_0", Role::stride, o.to_stride[0]);
    visit("to_stride_1", Role::stride, o.to_stride[1]);
    visit("to_stride_2", Role::stride, o.to_stride[2]);
    counts();
  } else if constexpr (std::is_same_v<T, Conv>) {
    visit("depthwise", Role::flag, o.depthwise);
    visit("accumulate", Role::flag, o.accumulate);
    visit("finish", Role::flag, o.finish);
    tile("in", "in_row_stride", "in_pixel_stride", o.in);
    visit("in_h", Role::extent, o.in_h);
    visit("in_w", Role::extent, o.in_w);
    visit("in_c", Role::extent, o.in_c);
    visit("in_zero", Role::number, o.in_zero);
    windows();
    visit("weights", Role::address, o.weights);
    visit("weight_out_stride", Role::stride, o.weight_out_stride);
    visit("weight_tap_stride", Role::stride, o.weight_tap_stride);
    visit("parameters", Role::address, o.parameters);
    tile("accumulators", "accumulator_row_stride", "accumulator_pixel_stride", o.accumulators);
    tile("out", "out_row_stride", "out_pixel_stride", o.out);
    visit("out_h", Role::extent, o.out_h);
    visit("out_w", Role::extent, o.out_w);
    visit("out_c", Role::extent, o.out_c);
    codes();
    visit("rounding", Role::flag, o.rounding);
  } else if constexpr (std::is_same_v<T, Eltwise>) {
    visit("function", Role::flag, o.function);
    tile("a", "a_row_stride", "a_pixel_stride", o.a);
    visit("a_channel_stride", Role::stride, o.a_channel_stride);
    tile("b", "b_row_stride", "b_pixel_stride", o.b);
    visit("b_channel_stride", Role::stride, o.b_channel_stride);
    tile("out", "out_row_stride", "out_pixel_stride", o.out);
    visit("height", Role::extent, o.height);
    visit("width", Role::extent, o.width);
    visit("channels", Role::extent, o.channels);
    visit("a_scale", Role::scale, o.a_scale);
    visit("b_scale", Role::scale, o.b_scale);
    visit("out_scale", Role::scale, o.out_scale);
    visit("a_zero", Role::number, o.a_zero);
    visit("b_zero", Role::number, o.b_zero);
    codes();
  } else if constexpr (std::is_same_v<T, Table>) {
    tile("in", "in_row_stride", "in_pixel_stride", o.in);
    tile("out", "out_row_stride", "out_pixel_stride", o.out);
    visit("height", Role::extent, o.height);
    visit("width", Role::extent, o.width);
    visit("channels", Role::extent, o.channels);
    visit("table", Role::address, o.table);
  } else if constexpr (std::is_same_v<T, Requantise>) {
    tile("in", "in_row_stride", "in_pixel_stride", o.in);
    tile("out", "out_row_stride", "out_pixel_stride", o.out);
    visit("height", Role::extent, o.height);
    visit("width", Role::extent, o.width);
    visit("channels", Role::extent, o.channels);
    visit("in_scale", Role::scale, o.in_scale);
    visit("out_scale", Role::scale, o.out_scale);
    visit("in_zero", Role::number, o.in_zero);
    codes();
  } else if constexpr (std::is_same_v<T, Pool>) {
    visit("function", Role::flag, o.function);
    visit("count_include_pad", Role::flag, o.count_include_pad);
    tile("in", "in_row_stride", "in_pixel_stride", o.in);
    tile("out", "out_row_stride", "out_pixel_stride", o.out);
    visit("in_h", Role::extent, o.in_h);
    visit("in_w", Role::extent, o.in_w);
    visit("channels", Role::extent, o.channels);
    windows();
    visit("out_h", Role::extent, o.out_h);
    visit("out_w", Role::extent, o.out_w);
    visit("in_scale", Role::scale, o.in_scale);
    visit("out_scale", Role::scale, o.out_scale);
    visit("in_zero", Role::number, o.in_zero);
    codes();
    visit("rounding", Role::flag, o.rounding);
  } else if constexpr (std::is_same_v<T, Reduce>) {
    visit("accumulate", Role::flag, o.accumulate);
    visit("finish", Role::flag, o.finish);
    tile("in", "in_row_stride", "in_pixel_stride", o.in);
    visit("height", Role::extent, o.height);
    visit("width", Role::extent, o.width);
    visit("channels", Role::extent, o.channels);
    visit("in_zero", Role::number, o.in_zero);
    visit("accumulators", Role::address, o.accumulators);
    visit("out", Role::address, o.out);
    visit("divisor", Role::number, o.divisor);
    visit("in_scale", Role::scale, o.in_scale);
    visit("out_scale", Role::scale, o.out_scale);
    codes();
    visit("rounding", Role::flag, o.rounding);
  } else if constexpr (std::is_same_v<T, Resize>) {
    tile("in", "in_row_stride", "in_pixel_stride", o.in);
    tile("out", "out_row_stride", "out_pixel_stride", o.out);
    visit("in_h", Role::extent, o.in_h);
    visit("in_w", Role::extent, o.in_w);
    visit("channels", Role::extent, o.channels);
    visit("out_h", Role::extent, o.out_h);
    visit("out_w", Role::extent, o.out_w);
    visit("factor_h", Role::number, o.factor_h);
    visit("factor_w", Role::number, o.factor_w);
    visit("phase_h", Role::number, o.phase_h);
    visit("phase_w", Role::number, o.phase_w);
    visit("rows", Role::address, o.rows);
    visit("columns", Role::address, o.columns);
  } else if constexpr (std::is_same_v<T, Wait> || std::is_same_v<T, Signal>) {
    visit("semaphore", Role::semaphore, o.semaphore);
    visit("count", Role::number, o.count);
  } else if constexpr (std::is_same_v<T, Mark>) {
    visit("begin", Role::flag, o.begin);
  } else {
    static_assert(std::is_same_v<T, End>);
  }
}

}  // namespace longshore
