#include "program/instructions/resize.hpp"

#include "program/check.hpp"
#include "program/instruction_def.hpp"

namespace longshore::instructions {
namespace {

constexpr Types codes = types(DType::i8, DType::i16);

constexpr auto fields =
    field_list(LONGSHORE_TILE(Resize, in, codes), LONGSHORE_TILE(Resize, out, codes),
               LONGSHORE_FIELD(Resize, extent, in_h), LONGSHORE_FIELD(Resize, extent, in_w),
               LONGSHORE_FIELD(Resize, extent, channels), LONGSHORE_FIELD(Resize, extent, out_h),
               LONGSHORE_FIELD(Resize, extent, out_w), LONGSHORE_FIELD(Resize, number, factor_h),
               LONGSHORE_FIELD(Resize, number, factor_w), LONGSHORE_FIELD(Resize, number, phase_h),
               LONGSHORE_FIELD(Resize, number, phase_w), LONGSHORE_FIELD(Resize, address, rows),
               LONGSHORE_FIELD(Resize, address, columns));

void regions(const Resize& r, Queue, Regions& out) {
  out.add(tile_region("in", r.in, r.in_h, r.in_w, r.channels));
  const auto table = [&](const char* name, std::uint32_t address, std::uint64_t entries) {
    out.add(restricted(plain_region(name, address, entries * 2)));
  };
  if (r.factor_h == 0) table("rows", r.rows, r.out_h);
  if (r.factor_w == 0) table("columns", r.columns, r.out_w);
  out.add(written(tile_region("out", r.out, r.out_h, r.out_w, r.channels)));
}

const VectorFunction& function(const Resize&) { return vector_unit::resize; }

Status check_axis(const char* what, std::uint64_t out, std::uint64_t in, std::uint64_t factor,
                  std::uint64_t phase) {
  if (factor > 0 && (out - 1 + phase) / factor >= in)
    return refuse("%s: factor and phase lead past the %llu of the tile", what,
                  static_cast<unsigned long long>(in));
  return {};
}

Status check(const Resize& r, const Machine&, Queue) {
  if (r.in.dtype != r.out.dtype) return refuse("in and out differ in dtype");
  LONGSHORE_TRY(check_axis("rows", r.out_h, r.in_h, r.factor_h, r.phase_h));
  return check_axis("columns", r.out_w, r.in_w, r.factor_w, r.phase_w);
}

bool uses(const Resize& r, std::string_view f) {
  if (f == "rows") return r.factor_h == 0;
  if (f == "columns") return r.factor_w == 0;
  if (f == "phase_h") return r.factor_h > 0;
  if (f == "phase_w") return r.factor_w > 0;
  return !idle_stride(f, "in", r.in_h, r.in_w) && !idle_stride(f, "out", r.out_h, r.out_w);
}

}  // namespace

extern constinit const InstructionDef instruction_resize = {
    .name = "resize",
    .doc = "Nearest neighbour, by factor or by index tables.",
    .queues = {Queue::vector},
    .operands = operand_struct<Resize>(),
    .fields = fields,
    .functions = {&vector_unit::resize},
    .function = erased<function>,
    .regions = erased<regions>,
    .check = erased<check>,
    .uses = erased<uses>,
};

}  // namespace longshore::instructions

namespace longshore::vector_unit {
extern constinit const VectorFunction resize{"resize", "per step of output elements"};
}
