// The same bytes under other dims: nothing runs.
#include "base/error.hpp"
#include "forms/form.hpp"

namespace longshore::forms {
namespace {

Shows shows(const FormSpec&) { return Shows::whole; }

void limits(const FormNode& n, const Unit&, Reasons& out) {
  if (!(n.type(n.data()).quant == n.type(n.result()).quant))
    out.scales(n.graph[n.data()].name, n.graph[n.result()].name);
}

std::vector<Operand> operands(const FormSpec& s) { return {{.input = s.data}}; }

}  // namespace

extern constinit const FormDef form_view = {
    .name = "view",
    .doc = "The same bytes under other dims.",
    .dtypes = {DType::i8, DType::u8, DType::i16},
    .leads = false,
    .shows = shows,
    .limits = limits,
    .operands = operands,
    .examples = {R"((x: i8[1,3,4,5] q(0.1, 3)) {
      a: i8[1,3,4,5] q(0.1, 3) = Relu(x)
      y: i8[1,60] q(0.1, 3) = Flatten(a) return y })",
                 R"((x: i16[1,3,4,5] q(0.001, 0)) {
      a: i16[1,3,4,5] q(0.001, 0) = Relu(x)
      y: i16[1,60] q(0.001, 0) = Flatten(a) return y })"},
};

}  // namespace longshore::forms
