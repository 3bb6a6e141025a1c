#include "program/instructions/resize.hpp"

#include <cstring>

#include "sim/execution.hpp"

namespace longshore::executions {
namespace {

Status execute(const Resize& o, Execution& on) {
  const auto source = [&](std::uint32_t i, std::uint32_t factor, std::uint32_t phase,
                          std::uint32_t entries) {
    if (factor > 0) return static_cast<std::uint32_t>((std::uint64_t{i} + phase) / factor);
    const auto* at =
        reinterpret_cast<const unsigned char*>(on.sram) + entries + std::uint64_t{i} * 2;
    return static_cast<std::uint32_t>(at[0] | at[1] << 8);
  };
  for (std::uint32_t y = 0; y < o.out_h; y++) {
    const std::uint32_t in_y = source(y, o.factor_h, o.phase_h, o.rows);
    if (in_y >= o.in_h)
      return Status::error(Code::bad_model, "resize: row table leads to row %u of %u", in_y,
                           o.in_h);
    for (std::uint32_t x = 0; x < o.out_w; x++) {
      const std::uint32_t in_x = source(x, o.factor_w, o.phase_w, o.columns);
      if (in_x >= o.in_w)
        return Status::error(Code::bad_model, "resize: column table leads to column %u of %u", in_x,
                             o.in_w);
      std::memcpy(pixel(on.sram, o.out, y, x), pixel(on.sram, o.in, in_y, in_x),
                  o.channels * size_bytes(o.in.dtype));
    }
  }
  return {};
}

double cycles(const Resize& o, const Machine& m) {
  return vector_cycles(m, vector_unit::resize,
                       std::uint64_t{o.out_h} * o.out_w * o.channels * lanes_of(o.in));
}

}  // namespace

extern constinit const ExecutionDef execution_resize = {
    .instruction = &Resize::def,
    .cycles = erased<cycles>,
    .execute = erased<execute>,
};

}  // namespace longshore::executions
