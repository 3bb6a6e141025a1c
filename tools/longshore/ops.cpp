#include <iostream>
#include <memory>

#include "command.hpp"
#include "json.hpp"
#include "say.hpp"
#include "ir/op.hpp"
#include "target/target.hpp"

namespace longshore::commands {
namespace {

const char* name_of(Quant quant) {
  switch (quant) {
    case Quant::none:
      return "";
    case Quant::same:
      return "same scale";
    case Quant::rescale:
      return "rescaled";
    case Quant::join:
      return "one scale or rescaled";
    case Quant::recode:
      return "recoded";
    case Quant::integer:
      return "integer";
    case Quant::table:
      return "table";
  }
  return "";
}

std::string types(const Schema& s) {
  std::string out;
  if (s.inputs.empty()) return out;
  for (int i = 1; i < dtype_count; i++)
    if (s.inputs[0].types.has(static_cast<DType>(i))) {
      if (!out.empty()) out += " ";
      out += name(static_cast<DType>(i));
    }
  return out;
}

/// Operators of ai.onnx first, then by domain; each by name.
std::vector<const OpDef*> ordered() {
  std::vector<const OpDef*> out(ops::all().begin(), ops::all().end());
  std::ranges::sort(out, {}, [](const OpDef* op) { return std::pair(op->domain, op->name); });
  return out;
}

int run(bool json) {
  if (json) {
    Json list = Json::array();
    for (const OpDef* op : ordered())
      list.push_back({{"name", op->name},
                      {"domain", op->domain.empty() ? "ai.onnx" : op->domain},
                      {"opset", op->since},
                      {"doc", op->doc},
                      {"quantised", name_of(op->quant)},
                      {"npu", std::string(form_name(*op))},
                      {"types", types(op->schema)},
                      {"replaced_on_import", op->eval == nullptr}});
    print_json({{"operators", list}, {"warnings", warnings()}});
    return exit_code::yes;
  }
  const auto column = [](std::string text, std::size_t width) {
    return text.resize(std::max(width, text.size() + 1), ' '), text;
  };
  std::size_t width = 10;
  for (const OpDef* op : ordered()) width = std::max(width, qualified_name(*op).size() + 2);
  std::cout << column("operator", width) << column("opset", 7) << column("quantised", 12)
            << column("NPU form", 11) << "meaning\n";
  for (const OpDef* op : ordered()) {
    const std::string row = column(qualified_name(*op), width) +
                            column(std::to_string(op->since), 7) + column(name_of(op->quant), 12) +
                            column(std::string(form_name(*op)), 11);
    std::cout << row << wrapped(op->doc, row.size(), width) << "\n";
  }
  std::cout << ordered().size() << " operators\n";
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "One JSON object on one line");
  return [json] { return run(*json); };
}

}  // namespace

extern constinit const Command command_ops = {
    .name = "ops",
    .doc = "Lists the operators: newest opset understood, quantised form, form on an NPU",
    .setup = setup,
};

}  // namespace longshore::commands
