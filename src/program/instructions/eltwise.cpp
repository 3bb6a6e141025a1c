#include "program/instructions/eltwise.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr Types codes = types(DType::i8, DType::i16);

constexpr auto fields = field_list(
    LONGSHORE_LIMITED(Eltwise, flag, function, 2), LONGSHORE_TILE(Eltwise, a, codes),
    LONGSHORE_LIMITED(Eltwise, stride, a_channel_stride, 1), LONGSHORE_TILE(Eltwise, b, codes),
    LONGSHORE_LIMITED(Eltwise, stride, b_channel_stride, 1), LONGSHORE_TILE(Eltwise, out, codes),
    LONGSHORE_FIELD(Eltwise, extent, height), LONGSHORE_FIELD(Eltwise, extent, width),
    LONGSHORE_FIELD(Eltwise, extent, channels), LONGSHORE_FIELD(Eltwise, scale, a_scale),
    LONGSHORE_FIELD(Eltwise, scale, b_scale), LONGSHORE_FIELD(Eltwise, scale, out_scale),
    LONGSHORE_CODE(Eltwise, a_zero, a), LONGSHORE_CODE(Eltwise, b_zero, b),
    LONGSHORE_CLAMP(Eltwise, out));

void regions(const Eltwise& e, Queue, Regions& out) {
  const auto operand = [&](const char* name, const Tile& t, std::uint32_t channel_stride) {
    const Region r = tile_region(name, t, e.height, e.width, channel_stride ? e.channels : 1);
    out.add(in_place(r, channel_stride == 1 && t == e.out));
  };
  operand("a", e.a, e.a_channel_stride);
  operand("b", e.b, e.b_channel_stride);
  out.add(written(tile_region("out", e.out, e.height, e.width, e.channels)));
}

const VectorFunction& function(const Eltwise& e) {
  return e.function == Eltwise::Function::multiply ? vector_unit::multiply : vector_unit::add;
}

Status check(const Eltwise& e, const Machine&, Queue) { return check_clamp(e); }

bool uses(const Eltwise& e, std::string_view f) {
  if (f == "a_channel_stride" || f == "b_channel_stride") return e.channels > 1;
  return !idle_stride(f, "a", e.height, e.width) && !idle_stride(f, "b", e.height, e.width) &&
         !idle_stride(f, "out", e.height, e.width);
}

}  // namespace

extern constinit const InstructionDef instruction_eltwise = {
    .name = "eltwise",
    .doc = "Adds, subtracts or multiplies two tiles with three scales; broadcasts by strides of 0.",
    .queues = {Queue::vector},
    .operands = operand_struct<Eltwise>(),
    .fields = fields,
    .functions = {&vector_unit::add, &vector_unit::multiply},
    .function = erased<function>,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction add{"add", "per step of an addition or subtraction"};
extern constinit const VectorFunction multiply{"multiply", "per step of a product"};
}  // namespace longshore::vector_unit
