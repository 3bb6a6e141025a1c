#include "quantize/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "ir/recode.hpp"
#include "quantize/groups.hpp"
#include "quantize/mixed.hpp"
#include "quantize/output_noise.hpp"
#include "quantize/prepare.hpp"
#include "tensor/quant.hpp"

namespace longshore {
namespace {

/// A value beyond this (a mask's "minus infinity") leaves no codes for the others.
constexpr float largest_sensible = 1e30f;
/// A warning where one sample alone widens a range by more than this part.
constexpr float one_sample_part = 0.2f;
constexpr std::size_t few_samples = 16;
/// 16-bit codes reach so many times as far as what was observed: clipping what no sample showed
/// would cost far more than one of 16 bits does.
constexpr float wide_headroom = 2;
/// Computed weights have zero point 0, which MAC arrays want, unless that would make their steps so
/// many times as coarse: keys and values of attention lie around zero.
constexpr float most_coarser = 1.5f;
/// What is added to scores before a Softmax is a mask if it reaches below this.
constexpr float mask_below = -500;
/// A score so far below another of its row has no part in a Softmax of 8 bits: e^-7 is under half
/// of 1/256.
constexpr float no_part = 7;
/// Samples on which the effect of each value's codes is measured.
constexpr std::size_t most_for_noise = 8;

class Quantiser {
 public:
  Quantiser(const Graph& g, const Calibration& calibration, const QuantizeOptions& options,
            QuantizeReport& report)
      : calibration_(calibration),
        options_(options),
        report_(report),
        calibrator_(calibrator_named(options.calibrator)) {
    const auto check_precision = [](Precision p) {
      if (p != Precision::f32 && !is_integer(p))
        fail(Code::unsupported, "quantize makes integers, not ", name(p));
    };
    check_precision(options.precision);
    for (const NodePrecision& p : options.precisions) check_precision(p.precision);
    in_ = prepare_for_quantisation(g,
                                   [&](const Node& n) { return !excluded(g, n, options.exclude); });
    if (options.equalise && calibration.count > 0)
      in_ = equalise(in_, calibration, report_.equalised);
  }

  Graph run() {
    selection_ = select_nodes(in_, {options_.float_final_probabilities, options_.exclude,
                                    options_.precision, options_.precisions});
    observe();
    find_masks();
    Groups groups = settle();
    note_types();
    choose(groups);
    absorb_clamps();
    if (options_.measure_noise) measure_noise();
    observe_inputs_of_weights();
    Graph out = build();
    warn_of_coarser_weights();
    return out;
  }

 private:
  // ---- ranges
  void observe() {
    std::vector<ValueId> watched;
    for (const auto& [representative, members] : Groups(in_, selection_).members())
      for (ValueId v : members) {
        if (const Tensor* t = in_.constant(v))
          seen_[v].add_sample(t->values<float>());
        else
          watched.push_back(v);
      }
    ObservedRanges ranges = observe_ranges(in_, calibration_, watched);
    seen_.merge(ranges.values);
    report_.samples = ranges.samples;
    report_.unreadable = ranges.unreadable;
    observed_ = std::move(ranges);
    for (ValueId v : watched)
      if (!seen_.contains(v))
        warn(str("value '", in_[v].name, "' was never computed during calibration"));
    if (!report_.unreadable.empty())
      warn(str(report_.unreadable.size(), " of ", calibration_.count,
               " calibration samples cannot be read and were left out"));
  }

  /// Add(scores, mask) that only a Softmax reads: the codes are for the scores, and what is masked
  /// ends at the lowest of them, below all scores. The mask itself need reach no further.
  void find_masks() {
    std::vector<std::vector<const Node*>> users(in_.values.size());
    for (const Node& n : in_.nodes) {
      for (ValueId v : n.inputs)
        if (v != no_value) users[index(v)].push_back(&n);
      for (const Subgraph& s : n.subgraphs)
        for (ValueId v : s.captures) users[index(v)].push_back(&n);
    }
    const auto outside = [&](ValueId v) {
      return std::ranges::find(in_.outputs, v) != in_.outputs.end();
    };
    std::map<ValueId, Range> found;
    for (const Node& n : in_.nodes) {
      if (n.op->channels != Channels::sums || outside(n.outputs[0])) continue;
      const auto& readers = users[index(n.outputs[0])];
      if (readers.size() != 1 || !readers[0]->op->ignores_low) continue;
      for (const std::size_t k : {0u, 1u}) {
        const auto mask = seen_.find(n.inputs[k]), scores = seen_.find(n.inputs[1 - k]);
        if (mask == seen_.end() || scores == seen_.end()) continue;
        const RangeStatistics &m = mask->second, &s = scores->second;
        const bool low = m.minus_infinite > 0 || m.lowest <= mask_below;
        if (!low || m.not_finite > m.minus_infinite || s.not_finite > 0 || s.lowest <= mask_below)
          continue;
        const float above = m.seen() ? std::max(m.highest, 0.0f) : 0;
        found[n.outputs[0]] = {std::min(s.lowest - no_part, 0.0f),
                               std::max(s.highest + above, 0.0f)};
        Range& own = found[n.inputs[k]];
        own.lowest = std::min(own.lowest, s.lowest - s.highest - above - no_part);
        own.highest = std::max(own.highest, above);
        masks_[n.outputs[0]] = n.inputs[k];
      }
    }
    // Where something else reads a mask, all of it is wanted.
    std::erase_if(masks_, [&](const auto& item) {
      return outside(item.second) ||
             !std::ranges::all_of(users[index(item.second)], [&](const Node* user) {
               return user->outputs.size() == 1 && masks_.contains(user->outputs[0]);
             });
    });
    for (const auto& [sum, mask] : masks_)
      for (ValueId v : {sum, mask}) within_.emplace(v, found.at(v));
  }

  /// Groups for the final selection.
  Groups settle() {
    for (std::size_t i = 0; i < in_.nodes.size(); i++) {
      if (!selection_.integer(i)) continue;
      std::vector<ValueId> touched = in_.nodes[i].outputs;
      for (std::size_t k : data_inputs(in_, in_.nodes[i]))
        touched.push_back(in_.nodes[i].inputs[k]);
      for (ValueId v : touched) {
        const auto it = seen_.find(v);
        if (v == no_value || it == seen_.end() || within_.contains(v)) continue;
        const RangeStatistics& s = it->second;
        if (s.not_finite == 0 && s.lowest >= -largest_sensible && s.highest <= largest_sensible)
          continue;
        selection_.precision[i] = Precision::f32;
        selection_.reasons[i] = {
            FloatReason::Kind::found,
            str("'", in_[v].name, "' has infinite or very large elements"),
            str("keep '", in_[v].name, "' within ", largest_sensible, " (a Clip)")};
      }
    }
    Groups groups(in_, selection_);
    for (std::string& w : settle_joins(in_, selection_, groups, seen_)) warn(std::move(w));
    return groups;
  }

  /// In which element types the codes of each value are made or read, and what is multiplied by.
  void note_types() {
    for (std::size_t i = 0; i < in_.nodes.size(); i++) {
      if (!selection_.integer(i)) continue;
      const DType t = selection_.activations(i);
      for (std::size_t k : data_inputs(in_, in_.nodes[i])) types_[in_.nodes[i].inputs[k]].insert(t);
      for (ValueId v : in_.nodes[i].outputs)
        if (v != no_value) types_[v].insert(t), made_[v] = t;
      if (const auto slot = in_.nodes[i].op->schema.weights())
        if (const ValueId v = in_.nodes[i].input(*slot); v != no_value && !in_.constant(v))
          computed_weights_.insert(v);
    }
  }
  DType type_of_node(const Node& n) const {
    return selection_.activations(static_cast<std::size_t>(&n - in_.nodes.data()));
  }

  bool is_input(ValueId v) const { return std::ranges::find(in_.inputs, v) != in_.inputs.end(); }

  /// The range that the definition of the group's operator gives, if all members stay within it and
  /// use a sixteenth of it: four bits of eight are left then, and fewer would be noise.
  std::optional<Range> known_range(const std::vector<ValueId>& members,
                                   const RangeStatistics& s) const {
    const float used = std::max(s.highest, 0.0f) - std::min(s.lowest, 0.0f);
    for (ValueId v : members) {
      const Node* def = in_.def(v);
      if (!def || !(def->op->lowest < def->op->highest) || def->output(0) != v) continue;
      if (16 * used < def->op->highest - def->op->lowest) continue;
      if (s.lowest >= def->op->lowest && s.highest <= def->op->highest)
        return Range{def->op->lowest, def->op->highest};
    }
    return {};
  }

  /// A mask, or a sum with one, that shares its scale with nothing else.
  bool masked(const std::vector<ValueId>& values) const {
    return values.size() == 1 && within_.contains(values.front());
  }

  /// A move's output holds numbers that were counted at its input, unless it reaches further: Pad
  /// fills with a number of its own.
  bool repeats_its_input(ValueId v) const {
    const Node& def = *in_.def(v);
    if (def.op->quant != Quant::same || !selected(def)) return false;
    const auto from = seen_.find(def.inputs[data_inputs(in_, def)[0]]), to = seen_.find(v);
    return from == seen_.end() ||
           (to->second.lowest >= from->second.lowest && to->second.highest <= from->second.highest);
  }

  void choose(const Groups& groups) {
    const auto members = groups.members();
    // The second pass, for those groups whose calibrator wants counts.
    std::map<ValueId, Histogram> histograms;  // by observed value
    std::map<ValueId, Histogram> of_group;    // merged
    for (const auto& [group, values] : members) {
      const RangeStatistics s = joined_statistics(values, seen_);
      const bool fixed = known_range(values, s).has_value() || masked(values) ||
                         !calibrator_.needs_counts ||
                         std::ranges::any_of(values, [&](ValueId v) { return is_input(v); });
      for (ValueId v : values)
        if (!fixed && in_.def(v) && seen_.contains(v) && !repeats_its_input(v))
          histograms.emplace(v, Histogram(s.range()));
    }
    observe_histograms(in_, calibration_, observed_, histograms);
    for (auto& [v, h] : histograms) {
      const auto [it, fresh] = of_group.try_emplace(groups.of(v), h);
      if (!fresh) it->second.merge(h);
    }
    for (const auto& [group, values] : members) {
      std::set<DType> types;
      for (ValueId v : values) types.insert(types_[v].begin(), types_[v].end());
      const auto it = of_group.find(group);
      for (DType t : types) choose(group, values, it == of_group.end() ? nullptr : &it->second, t);
    }
  }

  /// Scale and zero point of a group in codes of one type.
  void choose(ValueId group, const std::vector<ValueId>& values, const Histogram* histogram,
              DType dtype) {
    const RangeStatistics s = joined_statistics(values, seen_);
    const CodeRange codes = code_range(dtype);
    ValueRecord record;
    record.observed = s.range();
    record.dtype = dtype;
    ScaleAndZero q;
    if (const std::optional<Range> known = known_range(values, s)) {
      q = known_range_scale(*known, dtype);
      record.method = "known range";
    } else {
      Range range = masked(values) ? within_.at(values.front())
                    : histogram ? calibrator_.choose(*histogram, codes.highest - codes.lowest + 1)
                                : s.range();
      if (size_bytes(dtype) > 1 && !in_.constant(group))
        range = {range.lowest * wide_headroom, range.highest * wide_headroom};
      record.method = masked(values) ? "additive mask"
                      : histogram    ? std::string(calibrator_.name)
                                     : "min_max";
      const ScaleAndZero around_zero = symmetric_scale(range, dtype);
      const bool weights =
          std::ranges::any_of(values, [&](ValueId v) { return computed_weights_.contains(v); });
      q = activation_scale(range, dtype);
      if (weights && around_zero.scale <= most_coarser * q.scale) q = around_zero;
      if (!in_.constant(group) && !checked_.contains(group)) check_growth(in_[group].name, s);
      checked_.insert(group);
    }
    record.chosen = {dequantise(codes.lowest, q.scale, q.zero_point),
                     dequantise(codes.highest, q.scale, q.zero_point)};
    record.scale = {q.scale};
    record.zero_point = q.zero_point;
    for (ValueId v : values) {
      scales_[{v, dtype}] = q;
      record.name = in_[v].name;
      record.kind = in_.constant(v) ? ValueRecord::Kind::constant : ValueRecord::Kind::activation;
      if (v != values.front()) record.method = "same as " + in_[values.front()].name;
      const auto made = made_.find(v);
      if (made == made_.end() || made->second == dtype) records_[v] = record;
    }
  }

  /// What the codes of each value do to the outputs. Moves only show those of another.
  void measure_noise() {
    std::vector<Rounded> values;
    std::set<ValueId> known;
    const auto wanted = [&](ValueId v, DType t) {
      if (v == no_value || in_.constant(v) || !scales_.contains({v, t})) return;
      if (known.insert(v).second) values.push_back({v, scales_.at({v, t}), t});
    };
    const auto given = [&](ValueId v) { return !in_.def(v) || !selected(*in_.def(v)); };
    for (std::size_t i = 0; i < in_.nodes.size(); i++) {
      const Node& n = in_.nodes[i];
      if (!selection_.integer(i) || n.op->quant == Quant::same || absorbed_.contains(i)) continue;
      wanted(n.outputs[0], type_of_node(n));
      for (std::size_t k : data_inputs(in_, n))
        if (given(n.inputs[k])) wanted(n.inputs[k], type_of_node(n));
    }
    Calibration first = calibration_;
    first.count = std::min(first.count, most_for_noise);
    const std::vector<double> noise = output_noise(in_, first, values);
    for (std::size_t k = 0; k < values.size(); k++)
      report_.noise.push_back({in_[values[k].value].name, noise[k]});
  }

  void check_growth(const std::string& name, const RangeStatistics& s) {
    if (report_.samples < few_samples || s.range().width() <= 0) return;
    const float without = std::max(s.second_highest, 0.0f) - std::min(s.second_lowest, 0.0f);
    const float part = 1 - without / s.range().width();
    if (part > one_sample_part)
      warn(str("one sample alone widens the range of '", name, "' by ", std::lround(part * 100),
               " %: give more samples, or look at that one"));
  }

  // ---- clamps
  bool selected(const Node& n) const {
    return selection_.integer(static_cast<std::size_t>(&n - in_.nodes.data()));
  }

  /// A Relu or Clip whose output range starts and ends at its bounds does nothing that saturation
  /// does not do: the node before it writes the clamped range, and the clamp goes. Found by trying
  /// all codes and numbers between and beyond them, so it holds for every table operator.
  void absorb_clamps() {
    const std::vector<int> uses = use_counts(in_);
    for (std::size_t i = in_.nodes.size(); i-- > 0;) {
      const Node& n = in_.nodes[i];
      if (!selection_.integer(i) || n.op->quant != Quant::table) continue;
      const ValueId from = n.inputs[0], to = n.outputs[0];
      const Node* def = in_.def(from);
      if (!def || !selected(*def) || uses[index(from)] != 1 || def->op->quant == Quant::same)
        continue;
      const DType t = type_of_node(n);
      if (type_of_node(*def) != t || !only_saturates(n, scales_.at({to, t}), t)) continue;
      scales_[{from, t}] = scales_.at({to, t});
      records_.erase(from);
      absorbed_.insert(i);
      report_.absorbed.emplace_back(in_[to].name, in_[from].name);
    }
  }

  /// Whether the function maps each number to the code that the number itself has: within the
  /// codes' range it is the identity, and outside it ends at the code where saturation ends. |x| is
  /// the identity from 0 on, but what lies below does not become 0; Ceil keeps the codes of scale
  /// 1, but what lies between does not become the nearest.
  bool only_saturates(const Node& n, ScaleAndZero q, DType dtype) const {
    const CodeRange codes = code_range(dtype);
    std::vector<float> values;
    const int beyond = 2 * (codes.highest - codes.lowest + 1);
    for (int c = codes.lowest - beyond; c <= codes.highest + beyond; c++)
      for (float between : {-0.4f, -0.2f, 0.0f, 0.2f, 0.4f})
        values.push_back((static_cast<float>(c - q.zero_point) + between) * q.scale);
    for (float x = values.back(); std::isfinite(x); x *= 1.5f) {
      values.push_back(x);
      values.push_back(-x);
    }
    values.push_back(std::numeric_limits<float>::infinity());
    values.push_back(-std::numeric_limits<float>::infinity());
    std::vector<Tensor> inputs = {
        make_floats(Shape{static_cast<std::int64_t>(values.size())}, values)};
    for (std::size_t k = 1; k < n.inputs.size(); k++) {
      if (n.inputs[k] != no_value && !in_.constant(n.inputs[k])) return false;
      inputs.push_back(n.inputs[k] == no_value ? Tensor{} : *in_.constant(n.inputs[k]));
      if (inputs.back().present() && inputs.back().elements() != 1) return false;
    }
    const std::vector<Tensor> out = evaluate_node(in_, n, inputs);
    const auto code = [&](float x) {
      return quantise(x, q.scale, q.zero_point, codes.lowest, codes.highest);
    };
    for (std::size_t i = 0; i < values.size(); i++)
      if (code(out[0].values<float>()[i]) != code(values[i])) return false;
    return true;
  }

  /// Weighted nodes whose bias can be corrected: output channels on axis 0, room for a bias, input
  /// channels on axis 1.
  bool correctable(const Node& n) const {
    const ValueId x = data_of(n), w = weights_of(in_, n);
    return options_.correct_bias && w != no_value && n.op->schema.input_with(InputRole::bias) &&
           n.op->weight_axis({n, in_}) == 0 && !in_.constant(x) &&
           in_.constant(w)->shape.rank >= 2 && in_[x].type.ranked && in_[x].type.rank() >= 2;
  }

  ValueId data_of(const Node& n) const { return n.inputs[data_inputs(in_, n).at(0)]; }

  void observe_inputs_of_weights() {
    std::map<DType, std::map<ValueId, ScaleAndZero>> wanted;
    for (std::size_t i = 0; i < in_.nodes.size(); i++) {
      const Node& n = in_.nodes[i];
      if (!selection_.integer(i) || !correctable(n)) continue;
      const DType t = type_of_node(n);
      wanted[t][data_of(n)] = scales_.at({data_of(n), t});
    }
    for (const auto& [t, scales] : wanted)
      for (auto& [v, means] : observe_means(in_, calibration_, observed_, scales, t))
        means_[{v, t}] = std::move(means);
  }

  // ---- the new graph
  Graph build() {
    out_.name = in_.name;
    out_.numbers = options_.rounding;
    out_.states = in_.states;
    floats_.assign(in_.values.size(), no_value);
    for (ValueId v : in_.inputs) floats_[index(v)] = out_.add_input(in_[v].name, in_[v].type);
    for (ValueId v : in_.captured) floats_[index(v)] = out_.add_captured(in_[v].name, in_[v].type);
    for (std::size_t i = 0; i < in_.nodes.size(); i++) {
      const Node& n = in_.nodes[i];
      report_.nodes[selection_.precision[i]]++;
      if (absorbed_.contains(i)) {
        const DType t = type_of_node(n);
        codes_[{n.outputs[0], t}] = codes_.at({n.inputs[0], t});
        report_.quantised_nodes++;
      } else if (selection_.integer(i)) {
        integer_node(n);
        report_.quantised_nodes++;
      } else {
        float_node(n);
        report_.float_nodes.push_back(
            {n.origin.name, qualified_name(*n.op), selection_.reasons[i]});
      }
    }
    for (ValueId v : in_.outputs) out_.outputs.push_back(as_float(v));
    for (auto& [v, record] : records_) report_.values.push_back(std::move(record));
    Graph done = tidy(out_);
    verify(done);
    return done;
  }

  TensorType coded_type(ValueId v, DType dtype) const {
    TensorType t = in_[v].type;
    const ScaleAndZero& q = scales_.at({v, dtype});
    t.dtype = dtype;
    t.quant.scale = {q.scale};
    t.quant.zero_point = {q.zero_point};
    return t;
  }

  std::string code_name(ValueId v) const {
    const bool keeps =
        std::ranges::find(in_.outputs, v) == in_.outputs.end() && floats_[index(v)] == no_value;
    return keeps ? in_[v].name : in_[v].name + "_q";
  }

  ValueId as_codes(ValueId v, DType dtype) {
    if (const auto it = codes_.find({v, dtype}); it != codes_.end()) return it->second;
    const TensorType type = coded_type(v, dtype);
    const auto other = codes_.lower_bound({v, DType::undefined});
    const bool first = other == codes_.end() || other->first.first != v;
    const auto made = made_.find(v);
    ValueId to = no_value;
    if (const Tensor* t = in_.constant(v)) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(t->elements()) * size_bytes(dtype));
      require(quantise_tensor(t->view(), {dtype, t->shape, bytes.data(), type.quant.view()}),
              in_[v].name);
      to = out_.add_constant(first ? code_name(v) : str(in_[v].name, "_", name(dtype)),
                             {dtype, t->shape, make_blob(std::move(bytes))});
      out_[to].type = type;
    } else if (made != made_.end() && codes_.contains({v, made->second})) {
      to = out_.add_value(str(in_[v].name, "_", name(dtype)), type);
      append(ops::op_longshore_requantize::definition, {codes_.at({v, made->second})}, to);
    } else {
      const ValueId from = as_float(v);
      to = out_.add_value(first ? in_[v].name + "_q" : str(in_[v].name, "_", name(dtype)), type);
      append(ops::op_longshore_quantize::definition, {from}, to);
    }
    codes_[{v, dtype}] = to;
    return to;
  }

  ValueId as_float(ValueId v) {
    if (v == no_value) return v;
    ValueId& to = floats_[index(v)];
    if (to != no_value) return to;
    if (const Tensor* t = in_.constant(v)) {
      to = out_.add_constant(in_[v].name, *t);
      out_[to].type = in_[v].type;
      return to;
    }
    const bool output = std::ranges::find(in_.outputs, v) != in_.outputs.end();
    const auto made = made_.find(v);
    check(made != made_.end() && codes_.contains({v, made->second}),
          "a value is used before it is computed");
    const ValueId from = codes_.at({v, made->second});
    to = out_.add_value(output ? in_[v].name : in_[v].name + "_f", {});
    append(ops::op_longshore_dequantize::definition, {from}, to);
    return to;
  }

  void append(const OpDef& op, std::vector<ValueId> inputs, ValueId output) {
    Node n;
    n.op = &op;
    n.inputs = std::move(inputs);
    n.outputs = {output};
    n.origin.name = out_[output].name;
    out_.add_node(std::move(n));
  }

  void float_node(const Node& n) {
    Node copy = n;
    for (ValueId& v : copy.inputs) v = as_float(v);
    for (Subgraph& s : copy.subgraphs)
      for (ValueId& v : s.captures) v = as_float(v);
    for (ValueId& v : copy.outputs) {
      if (v == no_value) continue;
      const ValueId to = out_.add_value(in_[v].name, in_[v].type);
      floats_[index(v)] = to;
      v = to;
    }
    out_.add_node(std::move(copy), 0);
  }

  void integer_node(const Node& n) {
    Node copy = n;
    const std::vector<std::size_t> data = data_inputs(in_, n);
    const bool weighted = weights_of(in_, n) != no_value;
    if (weighted) weights(n, copy);
    for (std::size_t k = 0; k < n.inputs.size(); k++) {
      const InputRole role = n.op->schema.role(k);
      if (std::ranges::find(data, k) != data.end())
        copy.inputs[k] = as_codes(n.inputs[k], type_of_node(n));
      else if (!weighted || role == InputRole::data || role == InputRole::parameter)
        copy.inputs[k] = as_float(n.inputs[k]);
    }
    for (ValueId& v : copy.outputs) {
      if (v == no_value) continue;
      const DType t = type_of_node(n);
      const ValueId to = out_.add_value(code_name(v), coded_type(v, t));
      codes_[{v, t}] = to;
      v = to;
    }
    out_.add_node(std::move(copy), 0);
  }

  void weights(const Node& n, Node& copy) {
    const std::size_t w_at = *n.op->schema.weights();
    const std::optional<std::size_t> b_at = n.op->schema.input_with(InputRole::bias);
    const ValueId x = data_of(n), w_from = n.inputs[w_at],
                  b_from = b_at ? n.input(*b_at) : no_value;
    const Tensor& w = *in_.constant(w_from);
    const Tensor* b = in_.constant(b_from);
    const int axis = n.op->weight_axis({n, in_});
    const PrecisionTypes& types =
        types_of(selection_.precision[static_cast<std::size_t>(&n - in_.nodes.data())]);
    QuantisedLayer layer =
        quantise_layer(w, axis, b, scales_.at({x, types.activations}), types.activations,
                       options_.least_error_weights, types.weights);
    const bool corrected = correctable(n) && means_.contains({x, types.activations});
    if (corrected) {
      const ChannelMeans& m = means_.at({x, types.activations});
      correct_bias(layer, b,
                   mean_shortfall(w, layer, n.attributes.integer("group", 1), m.real, m.coded));
    }
    const std::string bias_method =
        str("scale of input times weights", corrected ? ", mean corrected" : "");
    const auto add = [&](ValueId from, const Tensor& t, const std::vector<float>& scales, int along,
                         ValueRecord::Kind kind) {
      const ValueId v = out_.add_constant(in_[from].name + "_q", t);
      out_[v].type.quant = {scales, std::vector<std::int32_t>(scales.size()), along};
      const auto [low, high] = std::ranges::minmax(in_.constant(from)->values<float>());
      report_.values.push_back({in_[from].name,
                                kind,
                                t.dtype,
                                {low, high},
                                {low, high},
                                scales,
                                0,
                                kind == ValueRecord::Kind::bias ? bias_method
                                : options_.least_error_weights  ? "least squared error per channel"
                                                                : "largest per channel"});
      return v;
    };
    copy.inputs[w_at] =
        add(w_from, layer.weights, layer.scales, std::max(axis, 0), ValueRecord::Kind::weights);
    if (b) {
      copy.inputs[*b_at] = add(b_from, layer.bias, layer.bias_scales, 0, ValueRecord::Kind::bias);
    } else if (layer.bias.present()) {
      copy.inputs.resize(std::max(copy.inputs.size(), *b_at + 1), no_value);
      copy.inputs[*b_at] = out_.add_constant(in_[w_from].name + "_bias_q", layer.bias);
      out_[copy.inputs[*b_at]].type.quant = {
          layer.bias_scales, std::vector<std::int32_t>(layer.bias_scales.size()), 0};
    }
    if (layer.enlarged > 0)
      coarser_.push_back(str("'", n.origin.name, "' (", layer.enlarged, " of ", layer.scales.size(),
                             " channels)"));
  }

  void warn(std::string text) { report_.warnings.push_back(std::move(text)); }

  /// One line, however many nodes: channels that are almost constant are common.
  void warn_of_coarser_weights() {
    if (coarser_.empty()) return;
    constexpr std::size_t shown = 3;
    std::string text = "for bias and sums to fit in int32, channels got a coarser weight scale in ";
    for (std::size_t i = 0; i < std::min(coarser_.size(), shown); i++)
      text += str(i ? ", " : "", coarser_[i]);
    if (coarser_.size() > shown) text += str(" and ", coarser_.size() - shown, " other nodes");
    warn(std::move(text));
  }

  const Calibration& calibration_;
  const QuantizeOptions& options_;
  QuantizeReport& report_;
  const Calibrator& calibrator_;
  Graph in_, out_;
  Selection selection_;
  ObservedRanges observed_;
  std::map<ValueId, RangeStatistics> seen_;
  using Coded = std::pair<ValueId, DType>;  // a value in codes of one type
  std::map<ValueId, std::set<DType>> types_;
  std::map<ValueId, DType> made_;  // by integer nodes
  std::map<Coded, ScaleAndZero> scales_;
  std::map<ValueId, ValueId> masks_;  // by sum
  std::map<ValueId, Range> within_;   // of masks and sums with one
  std::set<ValueId> checked_;
  std::set<ValueId> computed_weights_;  // second operands of products
  std::map<ValueId, ValueRecord> records_;
  std::vector<std::string> coarser_;  // nodes whose weights gave way to their bias
  std::map<Coded, ChannelMeans> means_;
  std::set<std::size_t> absorbed_;
  std::vector<ValueId> floats_;  // in out_, by value of in_
  std::map<Coded, ValueId> codes_;
};

/// Samples on which a graph with and one without equalisation are compared.
constexpr std::size_t most_for_guard = 32;

/// What equalisation expects of each value's noise is not what the outputs see of it: where they
/// are nearer to float's without it, it is left out.
Graph guarded(const Graph& g, const Calibration& calibration, const QuantizeOptions& options,
              QuantizeReport& report) {
  const QuantizeReport before = report;
  Graph with = Quantiser(g, calibration, options, report).run();
  if (report.equalised.empty()) return with;
  QuantizeOptions plain = options;
  plain.equalise = false;
  QuantizeReport other = before;
  Graph without = Quantiser(g, calibration, plain, other).run();
  Calibration first = calibration;
  first.progress = {};
  first.count = std::min(first.count, most_for_guard);
  const Outputs want = observe_outputs(g, first);
  const double noise_with = nearness(g, want, observe_outputs(with, first)).noise,
               noise_without = nearness(g, want, observe_outputs(without, first)).noise;
  if (noise_with <= noise_without) return with;
  report = std::move(other);
  return without;
}

}  // namespace

Graph quantize(const Graph& g, const Calibration& calibration, const QuantizeOptions& options,
               QuantizeReport* report) {
  QuantizeReport local;
  QuantizeReport& to = report ? *report : local;
  if (options.min_sqnr_db > 0 || options.max_drop > 0)
    return quantize_mixed(g, calibration, options, to);
  return guarded(g, calibration, options, to);
}

}  // namespace longshore
