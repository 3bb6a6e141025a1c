// A target file is TOML. Whatever is not known here is an error, so that a misspelt key cannot
// silently leave a default in force.
#include <algorithm>
#include <filesystem>
#include <map>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "target/change.hpp"

namespace longshore {

Target::Target() = default;
Target::Target(const Target&) = default;
Target::Target(Target&&) noexcept = default;
Target& Target::operator=(const Target&) = default;
Target& Target::operator=(Target&&) noexcept = default;
Target::~Target() = default;

namespace {

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

/// Keys that the file or one that it inherits from gives, and where: "file:line".
using Given = std::map<std::string, std::string, std::less<>>;

std::string show(const toml::node& n) {
  std::ostringstream out;
  n.visit([&](const auto& v) {
    if constexpr (toml::is_table<decltype(v)>)
      out << "a table";
    else
      out << v;
  });
  return out.str();
}

class Reader {
 public:
  Reader(const std::string& file, Target& target, Given& given)
      : file_(file), t_(target), given_(given) {}

  void read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      if (key == "name")
        t_.name = text(node, "name");
      else if (key == "doc")
        t_.doc = text(node, "doc");
      else if (key == "like")
        continue;
      else if (key == "npu")
        npu(table(node, "npu"));
      else if (key == "forms")
        forms(table(node, "forms"));
      else if (key == "ops")
        operators(table(node, "ops"));
      else if (key == "cpu")
        cpu(table(node, "cpu"));
      else if (key == "error")
        error(table(node, "error"), line(node));
      else
        unknown(key, node, {"name", "doc", "like", "npu", "forms", "ops", "cpu", "error"});
    }
  }

  std::string where(const toml::node& n) const {
    if (one_line()) return file_;
    return str(std::filesystem::path(file_).filename().string(), ":", n.source().begin.line);
  }

 private:
  /// What is read is no file but a `--set`.
  bool one_line() const { return file_.starts_with("--set "); }
  std::string line(const toml::source_region& at) const {
    return one_line() ? file_ : str(file_, ":", at.begin.line);
  }
  std::string line(const toml::node& n) const { return line(n.source()); }
  [[noreturn]] void bad(const toml::node& n, std::string_view key,
                        std::string_view expected) const {
    fail(Code::bad_model, line(n), ": ", key, ": expected ", expected, ", found ", show(n));
  }
  [[noreturn]] void unknown(const toml::key& key, const toml::node&,
                            const std::vector<std::string>& known,
                            std::string_view table = {}) const {
    fail(Code::bad_model, line(key.source()), ": unknown key '", table, table.empty() ? "" : ".",
         key.str(), "'; expected one of: ", join(known));
  }
  const toml::table& table(const toml::node& n, std::string_view key) const {
    if (!n.is_table()) bad(n, key, "a table");
    return *n.as_table();
  }
  std::string text(const toml::node& n, std::string_view key) const {
    if (!n.is_string()) bad(n, key, "a string");
    return n.as_string()->get();
  }
  double number(const toml::node& n, std::string_view key, double lowest, double highest,
                bool integer) const {
    const std::string range =
        str(integer ? "an integer" : "a number", " from ", lowest, " to ", highest);
    double v = 0;
    if (n.is_integer())
      v = static_cast<double>(n.as_integer()->get());
    else if (n.is_floating_point() && !integer)
      v = n.as_floating_point()->get();
    else
      bad(n, key, range);
    if (!(v >= lowest && v <= highest)) bad(n, key, range);
    return v;
  }
  std::vector<std::string> words(const toml::node& n, std::string_view key) const {
    if (!n.is_array()) bad(n, key, "a list of strings");
    std::vector<std::string> out;
    for (const toml::node& item : *n.as_array()) {
      if (!item.is_string()) bad(item, key, "a list of strings");
      out.push_back(item.as_string()->get());
    }
    return out;
  }

  void npu(const toml::table& npu) {
    t_.machine.present = true;
    for (const auto& [key, node] : npu) {
      if (key == "rounding") {
        rounding(node);
      } else if (key == "dtypes") {
        dtypes(node);
      } else if (node.is_table()) {
        for (const auto& [inner, value] : *node.as_table())
          field(str(key.str(), ".", inner.str()), inner, value);
      } else {
        field(std::string(key.str()), key, node);
      }
    }
  }

  void field(const std::string& path, const toml::key& key, const toml::node& node) {
    for (const MachineField& f : machine_fields()) {
      if (f.key != path) continue;
      set_machine_number(t_.machine, path, field_value(f, node, "npu." + path));
      given_[path] = line(node);
      return;
    }
    std::vector<std::string> known = {"rounding"};
    const std::string section = path.substr(0, path.find('.') + 1);
    for (const MachineField& f : machine_fields())
      if (f.key.starts_with(section)) known.emplace_back(f.key);
    known.emplace_back("dtypes");
    fail(Code::bad_model, line(key.source()), ": unknown key 'npu.", path,
         "'; expected one of: ", join(known));
  }

  double field_value(const MachineField& f, const toml::node& node, const std::string& path) const {
    if (f.kind == MachineField::Kind::flag) {
      if (!node.is_boolean()) bad(node, path, "true or false");
      return node.as_boolean()->get() ? 1 : 0;
    }
    if (f.kind == MachineField::Kind::dataflow) {
      for (int i = 0; i <= static_cast<int>(f.highest); i++)
        if (node.is_string() && node.as_string()->get() == name(Dataflow(i))) return i;
      bad(node, path,
          "\"weight_stationary\", \"output_stationary\", \"input_stationary\", \"block\" or "
          "\"micro_block\"");
    }
    const double v = number(node, path, f.lowest, f.highest, f.kind == MachineField::Kind::integer);
    const bool power = f.key.ends_with(".alignment") || f.key.ends_with(".line_bytes");
    if (const auto n = static_cast<std::uint64_t>(v); power && (n & (n - 1)) != 0)
      bad(node, path, str("a power of two from ", f.lowest, " to ", f.highest));
    return v;
  }

  /// Of codes in tiles; sums are int32, or int64 of 16-bit codes.
  void dtypes(const toml::node& node) {
    t_.machine.dtypes = types(DType::i32);
    for (const std::string& w : words(node, "npu.dtypes")) {
      const DType dtype = dtype_named(w);
      if (dtype == DType::undefined) bad(node, "npu.dtypes", "element types such as \"i8\"");
      t_.machine.dtypes = t_.machine.dtypes | types(dtype);
    }
    if (t_.machine.dtypes.has(DType::i16))
      t_.machine.dtypes = t_.machine.dtypes | types(DType::i64);
    if (!t_.machine.dtypes.has(DType::i8)) bad(node, "npu.dtypes", "\"i8\" among them");
  }

  void rounding(const toml::node& node) {
    t_.machine.roundings = 0;
    for (const std::string& w : words(node, "npu.rounding")) {
      const std::optional<Rounding> mode = rounding_named(w);
      if (!mode) bad(node, "npu.rounding", "a list of f32_even, fixed31_single, fixed31_double");
      t_.machine.roundings =
          static_cast<std::uint8_t>(t_.machine.roundings | 1u << static_cast<int>(*mode));
    }
    if (t_.machine.roundings == 0) bad(node, "npu.rounding", "at least one rounding mode");
    t_.rounding_where = where(node);
    given_["rounding"] = line(node);
  }

  void forms(const toml::table& forms) {
    for (const auto& [key, node] : forms) {
      const auto names = form_names();
      const auto form = std::ranges::find(names, key.str(), &FormName::name);
      if (form == names.end()) {
        std::vector<std::string> known;
        for (const FormName& f : names) known.emplace_back(f.name);
        unknown(key, node, known, "forms");
      }
      rule(table(node, key.str()), str("forms.", key.str()), fact_names(*form),
           t_.forms[std::string(key.str())]);
    }
  }

  void operators(const toml::table& ops) {
    for (const auto& [key, node] : ops) {
      const std::string op(key.str());
      try {
        op_named(op);
      } catch (const Error& e) {
        fail(Code::bad_model, line(key.source()), ": ops: ", e.what());
      }
      rule(table(node, op), str("ops.", op), fact_names(op_named(op)), t_.ops[op]);
    }
  }

  void rule(const toml::table& from, const std::string& path, const std::vector<std::string>& facts,
            Rule& to) {
    to.where = where(from);
    for (const auto& [key, node] : from) {
      const std::string name = str(path, ".", key.str());
      if (key == "supported") {
        if (!node.is_boolean()) bad(node, name, "true or false");
        to.supported = node.as_boolean()->get();
        to.supported_where = where(node);
      } else if (key == "dtypes") {
        to.dtypes = words(node, name);
        for (const std::string& w : to.dtypes)
          if (dtype_named(w) == DType::undefined) bad(node, name, "element types such as \"i8\"");
        to.dtypes_where = where(node);
      } else if (key == "activations") {
        to.activations = words(node, name);
        to.any_activation = false;
        to.activations_where = where(node);
      } else if (std::ranges::find(facts, key.str()) != facts.end()) {
        limit(key, node, name, to);
      } else {
        std::vector<std::string> known = {"supported", "dtypes", "activations"};
        known.insert(known.end(), facts.begin(), facts.end());
        unknown(key, node, known, path);
      }
    }
  }

  void limit(const toml::key& key, const toml::node& node, const std::string& name, Rule& to) {
    const toml::array* range = node.as_array();
    const bool pair =
        range && range->size() == 2 && range->get(0)->is_integer() && range->get(1)->is_integer();
    if (!pair) bad(node, name, "a range [lowest, highest] of integers");
    FactLimit limit{std::string(key.str()), range->get(0)->as_integer()->get(),
                    range->get(1)->as_integer()->get(), where(node)};
    if (limit.lowest > limit.highest)
      bad(node, name, "a range whose lowest is not above its highest");
    std::erase_if(to.limits, [&](const FactLimit& l) { return l.fact == limit.fact; });
    to.limits.push_back(std::move(limit));
    std::ranges::sort(to.limits, {}, &FactLimit::fact);
  }

  void cpu(const toml::table& cpu) {
    for (const auto& [key, node] : cpu) {
      const std::string path = str("cpu.", key.str());
      given_[path] = line(node);
      HostCpu& c = t_.cpu;
      if (key == "name")
        c.name = text(node, path);
      else if (key == "cores")
        c.cores = static_cast<int>(number(node, path, 1, 1024, true));
      else if (key == "ghz")
        c.ghz = number(node, path, 0.001, 100, false);
      else if (key == "efficiency")
        c.efficiency = number(node, path, 0.01, 1, false);
      else if (key == "bandwidth_gbs")
        c.bandwidth_gbs = number(node, path, 0.001, 1e5, false);
      else if (key == "step_us")
        c.step_us = number(node, path, 0, 1e6, false);
      else if (key == "macs_per_cycle") {
        for (const auto& [dtype, value] : table(node, path)) {
          const std::string name = str(path, ".", dtype.str());
          if (dtype_named(dtype.str()) == DType::undefined)
            bad(value, name, "a key that is an element type");
          c.macs_per_cycle[std::string(dtype.str())] = number(value, name, 0.001, 1e6, false);
        }
      } else if (key == "ns_per_element") {
        for (const auto& [op, value] : table(node, path)) {
          const std::string name = str(path, ".", op.str());
          if (op != "default") {
            try {
              op_named(op.str());
            } catch (const Error& e) {
              fail(Code::bad_model, line(op.source()), ": cpu.ns_per_element: ", e.what());
            }
          }
          c.ns_per_element[std::string(op.str())] = number(value, name, 0, 1e6, false);
        }
      } else {
        unknown(key, node,
                {"name", "cores", "ghz", "efficiency", "bandwidth_gbs", "step_us", "macs_per_cycle",
                 "ns_per_element"},
                "cpu");
      }
    }
  }

  void error(const toml::table& from, const std::string& where) {
    PredictionError e;
    for (const auto& [key, node] : from) {
      const std::string path = str("error.", key.str());
      if (key == "against")
        e.against = text(node, path);
      else if (key == "nets")
        e.nets = static_cast<int>(number(node, path, 1, 1e6, true));
      else if (key == "median_percent")
        e.median_percent = number(node, path, 0, 1e4, false);
      else if (key == "most_percent")
        e.most_percent = number(node, path, 0, 1e4, false);
      else
        unknown(key, node, {"against", "nets", "median_percent", "most_percent"}, "error");
    }
    for (std::string_view key : {"against", "nets", "median_percent", "most_percent"})
      if (!from.contains(key)) fail(Code::bad_model, where, ": error: missing key '", key, "'");
    if (e.median_percent > e.most_percent)
      fail(Code::bad_model, where, ": error.median_percent: expected at most error.most_percent (",
           e.most_percent, "), found ", e.median_percent);
    t_.error = e;
  }

  const std::string& file_;
  Target& t_;
  Given& given_;
};

void read(std::string_view source, const std::string& file, Target& target, Given& given,
          int depth);

void read_base(const std::string& like, const std::string& where, const std::string& file,
               Target& target, Given& given, int depth) {
  if (depth > 8)
    fail(Code::bad_model, where,
         ": like: expected at most 8 files that inherit, found a cycle or more");
  if (like == "cpu")
    fail(Code::bad_model, where, ": like: expected a target with an NPU, found 'cpu'");
  const std::filesystem::path beside = std::filesystem::path(file).parent_path() / (like + ".toml");
  std::string base;
  std::error_code error;
  if (std::filesystem::exists(beside, error))
    base = beside.string();
  else
    for (const TargetName& t : target_names())
      if (t.name == like) base = t.file;
  if (base.empty())
    fail(Code::bad_model, where, ": like: expected the name of a target, found '", like, "'");
  const Result<SharedBlob> blob = read_file(base, std::size_t{1} << 20);
  if (!blob.ok()) fail(blob.status().code(), where, ": like: ", base, ": ", blob.status().text());
  const std::span<const std::byte> bytes = (*blob)->bytes();
  read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, base, target, given, depth + 1);
  // How far predictions were off, and what a chip burns, was measured on that chip: it says nothing
  // about another one.
  target.error.reset();
  for (const MachineField& f : machine_fields())
    if (f.key.starts_with("energy.") || f.key.starts_with("thermal.")) {
      set_machine_number(target.machine, f.key, 0);
      given.erase(std::string(f.key));
    }
}

/// Numbers that are possible each by itself, but not together.
void check_together(const Target& t, const Given& given) {
  const Machine& m = t.machine;
  if (m.stripe_min > m.stripe_max)
    fail(Code::bad_model, given.at("mac.stripe_min"), ": npu.mac.stripe_min: expected at most ",
         "npu.mac.stripe_max (", m.stripe_max, ") of ", given.at("mac.stripe_max"), ", found ",
         m.stripe_min);
  const auto grain_within = [&](const char* grain_key, const char* lanes_key) {
    const double grain = machine_number(m, grain_key), lanes = machine_number(m, lanes_key);
    if (grain > lanes)
      fail(Code::bad_model, given.at(grain_key), ": npu.", grain_key, ": expected at most npu.",
           lanes_key, " (", lanes, ") of ", given.at(lanes_key), ", found ", grain);
  };
  grain_within("mac.input_grain", "mac.rows");
  grain_within("mac.output_grain", "mac.columns");
}

/// All at once, so that one try is enough.
[[noreturn]] void miss(const std::string& file, const std::vector<std::string>& keys) {
  fail(Code::bad_model, file, ": missing key", keys.size() == 1 ? " " : "s ", join(keys),
       "; `like = \"NAME\"` takes what is not given from another target");
}

void read(std::string_view source, const std::string& file, Target& target, Given& given,
          int depth) {
  try {
    const toml::table root = toml::parse(source, file);
    if (const toml::node* like = root.get("like")) {
      if (!like->is_string())
        fail(Code::bad_model, file, ":", like->source().begin.line, ": like: expected a string");
      read_base(like->as_string()->get(), str(file, ":", like->source().begin.line), file, target,
                given, depth);
    }
    Reader(file, target, given).read(root);
  } catch (const toml::parse_error& e) {
    fail(Code::bad_model, file, ":", e.source().begin.line, ": not TOML: ", e.description());
  }
}

/// Applies a `--set`.
void change(const TargetChange& c, Target& target, Given& given) {
  if (c.of_npu && !target.machine.present)
    fail(Code::bad_argument, c.where, ": expected a target with an NPU, found ", target.file);
  try {
    const toml::table line = toml::parse(c.toml, c.where);
    Reader(c.where, target, given).read(line);
  } catch (const toml::parse_error& e) {
    fail(Code::bad_argument, c.where, ": expected a value of TOML: ", e.description());
  }
  target.changes.emplace_back(c.key, c.value);
  target.error.reset();  // it was measured without the change
}

}  // namespace

Target parse_target(std::string_view toml, const std::string& file,
                    std::span<const std::string> texts) {
  const std::vector<TargetChange> changes = target_changes(texts);
  Target target;
  target.file = file;
  std::ranges::fill(target.machine.vector_cycles, 0);  // a unit does what has a price
  Given given;
  read(toml, file, target, given, 0);
  for (const TargetChange& c : changes) change(c, target, given);
  std::vector<std::string> missing;
  if (target.name.empty()) missing.emplace_back("'name'");
  for (std::string_view key : {"cores", "ghz", "macs_per_cycle", "bandwidth_gbs", "ns_per_element"})
    if (!given.contains(str("cpu.", key))) missing.push_back(str("'cpu.", key, "'"));
  if (given.contains("cpu.ns_per_element") && !target.cpu.ns_per_element.contains("default"))
    missing.emplace_back("'cpu.ns_per_element.default'");
  if (target.machine.present) {
    target.machine.name = target.name;
    for (const MachineField& f : machine_fields())
      if (f.required && !given.contains(f.key))
        missing.push_back(str("'npu.", f.key, "' (", f.doc, ")"));
    if (!given.contains("rounding")) missing.emplace_back("'npu.rounding'");
  }
  if (!missing.empty()) miss(file, missing);
  if (target.machine.present) check_together(target, given);
  return target;
}

}  // namespace longshore
