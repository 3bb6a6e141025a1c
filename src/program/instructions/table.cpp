#include "program/instructions/table.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"
#include "tensor/table_codes.hpp"

namespace longshore::instructions {
namespace {

constexpr Types codes = types(DType::i8, DType::i16);

constexpr auto fields =
    field_list(LONGSHORE_TILE(Table, in, codes), LONGSHORE_TILE(Table, out, codes),
               LONGSHORE_FIELD(Table, extent, height), LONGSHORE_FIELD(Table, extent, width),
               LONGSHORE_FIELD(Table, extent, channels), LONGSHORE_FIELD(Table, address, table));

void regions(const Table& t, Queue, Regions& out) {
  out.add(in_place(tile_region("in", t.in, t.height, t.width, t.channels), t.in == t.out));
  out.add(t.in.dtype == DType::i16 ? plain_region("table", t.table, wide_table_entries * 2, 2)
                                   : plain_region("table", t.table, 256));
  out.add(written(tile_region("out", t.out, t.height, t.width, t.channels)));
}

const VectorFunction& function(const Table&) { return vector_unit::table; }

Status check(const Table& t, const Machine&, Queue) {
  return t.in.dtype == t.out.dtype ? Status() : refuse("in and out differ in dtype");
}

}  // namespace

extern constinit const InstructionDef instruction_table = {
    .name = "table",
    .doc = "Looks up 256 entries, or 513 and the line between two of them: unary activations.",
    .queues = {Queue::vector},
    .operands = operand_struct<Table>(),
    .fields = fields,
    .functions = {&vector_unit::table},
    .function = erased<function>,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses_in_and_out<Table>>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction table{"table", "per step of a lookup"};
}
