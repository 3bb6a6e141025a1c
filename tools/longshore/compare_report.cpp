#include "compare_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "say.hpp"

namespace longshore {
namespace {

std::string decibel(double x) {
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x);
  return text;
}

std::string shortest(double x, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", digits, x);
  return text;
}

/// Worst first: layers that are wrong by the part that is wrong, then by SQNR.
std::vector<const LayerDifference*> worst_first(const std::vector<LayerDifference>& layers) {
  std::vector<const LayerDifference*> out;
  for (const LayerDifference& l : layers) out.push_back(&l);
  const auto part = [](const LayerDifference* l) {
    if (!l->difference.mismatch.empty()) return 2.0;
    return l->bound.exact
               ? static_cast<double>(l->difference.different) /
                     static_cast<double>(std::max<std::int64_t>(l->difference.elements, 1))
           : l->difference.equal() ? 0.0
                                   : 1.0;
  };
  std::ranges::stable_sort(out, [&](const LayerDifference* a, const LayerDifference* b) {
    if (part(a) != part(b)) return part(a) > part(b);
    return a->difference.sqnr_db() < b->difference.sqnr_db();
  });
  return out;
}

/// Nodes that were compared; a node may have several values.
/// Nodes that were compared, or those among them that run on the NPU.
std::size_t nodes_of(const CompareReport& r, bool npu = false) {
  std::set<std::size_t> nodes;
  for (const LayerDifference& l : r.layers)
    if (!npu || r.npu.contains(l.position)) nodes.insert(l.position);
  return nodes.size();
}

/// Bytes are compared on random data as well as on any; what precision costs shows on real data
/// alone.
std::string samples_of(const CompareReport& r) {
  const char* noun = r.samples == 1 ? " sample" : " samples";
  if (r.sample_kind == "random") return str(r.samples, r.exact ? " random" : " RANDOM", noun);
  return str(r.samples, noun, r.sample_kind == "calibration" ? " of the calibration" : "");
}

/// Null where it is not finite: no noise at all, or NaN among the elements.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(); }

Json index_of(const Shape& s) {
  Json out = Json::array();
  for (std::int64_t d : s) out.push_back(d);
  return out;
}

}  // namespace

void show(std::ostream& out, const CompareReport& r, std::size_t rows) {
  const Totals t = total(r.layers);
  out << r.file << ":\n"
      << wrapped(str("  ", r.got, " against ", r.want, ", ", samples_of(r)), 0, 2) << "\n";
  const std::vector<const LayerDifference*> sorted = worst_first(r.layers);
  std::size_t shown = 0;
  for (const LayerDifference* l : sorted) {
    const Difference& d = l->difference;
    if (shown == rows || (r.exact && d.equal() && rows != std::numeric_limits<std::size_t>::max() &&
                          d.sqnr_db() > 1e9))
      break;
    const std::string op = l->op.substr(l->op.rfind('.') + 1), error = shortest(d.max_abs, 4),
                      sqnr = decibel(d.sqnr_db());
    if (r.exact) {
      constexpr auto row = "{:<22} {:<14} {:<4}{:>10}{:>10}{:>10}{:>8}\n";
      if (shown++ == 0)
        out << fmt::format(row, "layer", "operator", "unit", "elements", "different", "max error",
                           "SQNR dB");
      out << fmt::format(row, short_name(l->node, 22), short_name(op, 14),
                         r.npu.contains(l->position) ? "npu" : "cpu", d.elements, d.different,
                         error, sqnr);
    } else {
      constexpr auto row = "{:<26} {:<16}{:>10}{:>10}{:>8}{:>9}\n";
      if (shown++ == 0)
        out << fmt::format(row, "layer", "operator", "largest", "max error", "SQNR dB", "cosine");
      out << fmt::format(row, short_name(l->node, 26), short_name(op, 16), shortest(d.largest, 4),
                         error, sqnr, shortest(d.cosine(), 6));
    }
  }
  if (shown > 0 && shown < sorted.size() && !r.exact)
    out << "(" << sorted.size() - shown << " better layers are not shown: --all)\n";
  for (const NotCompared& m : r.missing)
    out << "not compared: '" << m.value << "'"
        << (m.reason.empty() ? ", which " + r.got + " never gave" : ": " + m.reason) << "\n";
  if (r.layers.empty()) out << "no layer was compared\n";
  if (!r.exact) return;
  out << nodes_of(r) << " layers, " << nodes_of(r, true) << " of them on the NPU; " << t.bytes
      << " bytes compared, " << t.different_bytes << " different\n";
  if (t.first) out << "first difference: " << describe(*t.first) << "\n";
}

Json to_json(const CompareReport& r, bool by_layer) {
  const Totals t = total(r.layers);
  Json first;
  if (t.first) {
    const Difference& d = t.first->difference;
    first = {{"layer", t.first->node},
             {"op", t.first->op},
             {"value", t.first->value},
             {"unit", r.npu.contains(t.first->position) ? "npu" : "cpu"},
             {"text", describe(*t.first)}};
    if (d.first) {
      first["sample"] = d.first->sample;
      first["index"] = index_of(d.first->at);
      first["got"] = number(d.first->got);
      first["want"] = number(d.first->want);
    }
  }
  Json missing = Json::array();
  for (const NotCompared& m : r.missing)
    missing.push_back({{"value", m.value}, {"reason", m.reason}});
  Json j = {{"file", r.file},
            {"got", r.got},
            {"want", r.want},
            {"samples", r.samples},
            {"samples_from", r.sample_kind},
            {"layers", nodes_of(r)},
            {"npu_layers", nodes_of(r, true)},
            {"bytes_compared", t.bytes},
            {"different_bytes", t.different_bytes},
            {"different_layers", t.different_layers},
            {"first_difference", first},
            {"not_compared", missing}};
  if (!by_layer) return j;
  Json list = Json::array();
  for (const LayerDifference& l : r.layers) {
    const Difference& d = l.difference;
    list.push_back({{"layer", l.node},
                    {"op", l.op},
                    {"value", l.value},
                    {"unit", r.npu.contains(l.position) ? "npu" : "cpu"},
                    {"elements", d.elements},
                    {"different", d.different},
                    {"max_abs", number(d.max_abs)},
                    {"max_rel", number(d.max_rel)},
                    {"sqnr_db", number(d.sqnr_db())},
                    {"cosine", number(d.cosine())}});
  }
  j["by_layer"] = list;
  return j;
}

}  // namespace longshore
