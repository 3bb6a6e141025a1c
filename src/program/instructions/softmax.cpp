#include "program/instructions/softmax.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr Types codes = types(DType::i8, DType::i16);

constexpr auto fields =
    field_list(LONGSHORE_TILE(Softmax, in, codes), LONGSHORE_TILE(Softmax, out, codes),
               LONGSHORE_FIELD(Softmax, extent, height), LONGSHORE_FIELD(Softmax, extent, width),
               LONGSHORE_FIELD(Softmax, extent, channels), LONGSHORE_FIELD(Softmax, address, table),
               LONGSHORE_LIMITED(Softmax, number, shift, 7),
               LONGSHORE_FIELD(Softmax, scale, out_scale), LONGSHORE_CLAMP(Softmax, out));

void regions(const Softmax& s, Queue, Regions& out) {
  out.add(in_place(tile_region("in", s.in, s.height, s.width, s.channels), s.in == s.out));
  out.add(plain_region("table", s.table,
                       (s.in.dtype == DType::i16 ? 513 : 256) * sizeof(std::uint32_t)));
  out.add(written(tile_region("out", s.out, s.height, s.width, s.channels)));
}

const VectorFunction& function(const Softmax&) { return vector_unit::softmax; }

Status check(const Softmax& s, const Machine&, Queue) {
  if (s.in.dtype == DType::i8 && s.out.dtype != DType::i8)
    return refuse("16-bit outputs of 8-bit inputs");
  return check_clamp(s);
}

bool uses(const Softmax& s, std::string_view f) {
  return f == "shift" ? s.in.dtype == DType::i16 : uses_in_and_out<Softmax>(s, f);
}

}  // namespace

extern constinit const InstructionDef instruction_softmax = {
    .name = "softmax",
    .doc = "Shares of the exponentials of each pixel's channels.",
    .queues = {Queue::vector},
    .operands = operand_struct<Softmax>(),
    .fields = fields,
    .functions = {&vector_unit::softmax},
    .function = erased<function>,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction softmax{"softmax", "per step of elements of a softmax"};
}
