#include "quantize/equalise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "ir/op.hpp"
#include "tensor/activation.hpp"

namespace longshore {
namespace {

/// Expected noise must fall below this part of what it was, by 6 dB. What clipping and the mean of
/// errors do is not in it: gains of 1 to 4 dB on nets that are balanced came to between +0.1 and
/// -0.8 dB (MLPerf Tiny ResNet8, MobileNetV2 and V3 on CIFAR-10), those of 19 to 34 dB to 12 to 14.
constexpr double worth_it = 0.25;
/// And by 20 dB for a norm that is computed twice: that takes time and memory, and on MiniLM 6 to
/// 13 dB were worth nothing.
constexpr double worth_a_norm = 0.01;
/// Output channels from which the noise of a product is estimated.
constexpr std::int64_t most_rows = 64;
/// Channels are brought nearer to each other, not to a level where there is next to nothing.
constexpr double least_reach = 1e-4;
constexpr int steps = 8;  // of each exponent that is tried

/// A product that reads the channels: weights as [output, channel, each].
struct Reader {
  std::size_t node = 0;
  ValueId data = no_value;
  std::int64_t outputs = 0, channels = 0, each = 1, groups = 1;
  std::vector<double> most;     // by output and channel: the largest of |w|; subsampled outputs
  std::vector<double> squares;  // the same: sums of w * w
  std::vector<double> signal;   // by output: what its squares are about
};

/// Values whose channels are divided alike.
struct Group {
  std::vector<ValueId> values;
  std::vector<std::size_t> makers;  // nodes
  std::vector<Reader> readers;
};

class Equaliser {
 public:
  explicit Equaliser(const Graph& g) : g_(g) {}

  Graph run(const Calibration& calibration, std::vector<Equalised>& told) {
    split_norms();
    parent_.resize(g_.values.size());
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    axis_.assign(g_.values.size(), -1);
    fixed_.assign(g_.values.size(), false);
    connect();
    std::map<std::size_t, Group> groups = gather();
    std::map<ValueId, int> watched;
    for (const auto& [root, group] : groups)
      for (ValueId v : group.values) watched[v] = axis_[index(v)];
    statistics_ = observe_channels(g_, calibration, watched);
    for (auto& [root, group] : groups) {
      std::optional<Equalised> done = equalise(group);
      if (done) told.push_back(std::move(*done));
    }
    unite_norms();
    return tidy(g_);
  }

 private:
  std::size_t root(std::size_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  void join(ValueId a, ValueId b) {
    const std::size_t x = root(index(a)), y = root(index(b));
    const bool fixed = fixed_[x] || fixed_[y];
    parent_[x] = y;
    fixed_[y] = fixed;
  }
  void fix(ValueId v) {
    if (v != no_value) fixed_[root(index(v))] = true;
  }
  /// The channels of a value lie along this axis.
  void along(ValueId v, int axis) {
    int& own = axis_[index(v)];
    if (own >= 0 && own != axis) fix(v);
    own = axis;
  }

  int rank(ValueId v) const { return g_[v].type.ranked ? g_[v].type.rank() : -1; }

  /// The same for x and a multiple of x that is above zero.
  static bool scales(const Activation& a) {
    const bool open = a.high == std::numeric_limits<float>::infinity(),
               zero = a.low == 0 || a.low == -std::numeric_limits<float>::infinity();
    return a.kind == Activation::Kind::none || a.kind == Activation::Kind::leaky_relu ||
           (a.kind == Activation::Kind::clamp && open && zero);
  }

  /// A product with constant weights of rank 2, or a convolution; nothing for others.
  std::optional<Reader> product(std::size_t i) const {
    const Node& n = g_.nodes[i];
    const bool conv = n.op->channels == Channels::convolution;
    if (!conv && n.op->channels != Channels::product) return {};
    const auto slot = n.op->schema.weights();
    const Tensor* w = slot ? g_.constant(n.input(*slot)) : nullptr;
    if (w == nullptr || w->dtype != DType::f32 || n.inputs.empty() || rank(n.inputs[0]) < 2 ||
        *slot != 1)
      return {};
    Reader r;
    r.node = i;
    r.data = n.inputs[0];
    r.groups = conv ? n.attributes.integer("group", 1) : 1;
    const int out_axis = n.op->weight_axis({n, g_});
    if (conv ? w->shape.rank < 3 || out_axis != 0
             : w->shape.rank != 2 || n.attributes.integer("transA", 0) != 0)
      return {};
    r.outputs = w->shape[out_axis];
    r.channels = conv ? w->shape[1] * r.groups : w->shape[1 - out_axis];
    r.each = conv ? w->shape.product(2, w->shape.rank) : 1;
    if (r.groups > 1 && (r.groups != r.channels || r.outputs != r.channels)) return {};
    const Dim& channels = g_[r.data].type.dims[static_cast<std::size_t>(data_axis(n))];
    if (!channels.known() || channels.value != r.channels) return {};
    return r;
  }
  /// Of the data and the result of a product.
  int data_axis(const Node& n) const {
    return n.op->channels == Channels::convolution ? 1 : rank(n.inputs[0]) - 1;
  }

  void connect() {
    for (const std::vector<ValueId>* fixed : {&g_.inputs, &g_.outputs, &g_.captured})
      for (ValueId v : *fixed) fix(v);
    for (std::size_t i = 0; i < g_.nodes.size(); i++) node(i);
  }

  void node(std::size_t i) {
    const Node& n = g_.nodes[i];
    const auto fix_all = [&] {
      std::ranges::for_each(n.inputs, [&](ValueId v) { fix(v); });
      std::ranges::for_each(n.outputs, [&](ValueId v) { fix(v); });
      for (const Subgraph& s : n.subgraphs)
        std::ranges::for_each(s.captures, [&](ValueId v) { fix(v); });
    };
    if (n.outputs.size() != 1 || n.outputs[0] == no_value || !n.subgraphs.empty()) return fix_all();
    const ValueId to = n.outputs[0];
    if (const std::optional<Reader> r = product(i)) {
      Activation a;
      if (!Activation::from(n.attributes, a).ok() || !scales(a) || n.inputs.size() > 3 ||
          rank(to) < 2 || !by_channel(n.input(2), r->outputs))
        fix(to);
      for (const std::string_view factor : {"alpha", "beta"})
        if (n.attributes.has(factor) && n.attributes.real(factor, 1) != 1) fix(to);
      for (std::size_t k = 2; k < n.inputs.size(); k++)
        fix(n.inputs[k]);  // computed, or a residual
      along(r->data, data_axis(n));
      along(to, n.op->channels == Channels::convolution ? 1 : rank(to) - 1);
      return;
    }
    if (n.op->channels == Channels::normalised && rank(to) >= 2) {
      fix(n.inputs[0]);
      const std::int64_t axis = n.attributes.integer("axis", -1);
      const bool last = axis == -1 || axis == rank(to) - 1;
      const Dim& channels = g_[to].type.dims[static_cast<std::size_t>(rank(to) - 1)];
      const bool divisible = n.input(1) != no_value && channels.known() &&
                             by_channel(n.input(1), channels.value) &&
                             by_channel(n.input(2), channels.value);
      if (!last || !divisible) fix(to);
      along(to, rank(to) - 1);
      return;
    }
    if (n.op->channels == Channels::scales) return join(n.inputs[0], to);
    if (n.op->channels == Channels::flattens && pixels_gone(n.inputs[0]) && rank(to) == 2)
      return join(n.inputs[0], to);
    if ((n.op->channels == Channels::sums || n.op->channels == Channels::differences) &&
        alike(n.inputs[0], n.inputs[1]))
      return join(n.inputs[0], to), join(n.inputs[1], to);
    fix_all();
  }

  /// A constant with a number for each channel on its last axis, or nothing.
  bool by_channel(ValueId v, std::int64_t channels) const {
    if (v == no_value) return true;
    const Tensor* t = g_.constant(v);
    return t != nullptr && t->dtype == DType::f32 && t->shape.rank > 0 &&
           t->shape[t->shape.rank - 1] == channels;
  }

  /// [n, c, 1, 1]
  bool pixels_gone(ValueId v) const {
    if (rank(v) < 2) return false;
    for (int i = 2; i < rank(v); i++) {
      const Dim& d = g_[v].type.dims[static_cast<std::size_t>(i)];
      if (!d.known() || d.value != 1) return false;
    }
    return true;
  }
  bool alike(ValueId a, ValueId b) const {
    return !g_.constant(a) && !g_.constant(b) && g_[a].type.shape() && g_[b].type.shape() &&
           *g_[a].type.shape() == *g_[b].type.shape();
  }

  std::map<std::size_t, Group> gather() {
    std::map<std::size_t, Group> all;
    std::map<std::size_t, int> axis;
    for (std::size_t v = 0; v < g_.values.size(); v++) {
      if (g_.values[v].def < 0) continue;
      all[root(v)].values.push_back(ValueId(v));
      if (axis_[v] < 0) continue;
      const auto [at, fresh] = axis.emplace(root(v), axis_[v]);
      if (at->second != axis_[v]) fixed_[root(v)] = true;
    }
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      const Node& n = g_.nodes[i];
      const std::optional<Reader> r = product(i);
      if (r && g_[r->data].def >= 0) all[root(index(r->data))].readers.push_back(*r);
      if ((r || n.op->channels == Channels::normalised) && n.outputs[0] != no_value)
        all[root(index(n.outputs[0]))].makers.push_back(i);
    }
    std::erase_if(all, [&](const auto& item) {
      const Group& group = item.second;
      return fixed_[item.first] || group.makers.empty() || group.readers.empty();
    });
    for (auto& [r, group] : all)
      for (ValueId v : group.values) axis_[index(v)] = axis.at(r);
    return all;
  }

  // ---- norms
  /// A LayerNormalization that products read and a residual sum as well is computed twice, so that
  /// the products have channels of their own: two passes over its input, where the sum fixes all.
  void split_norms() {
    std::vector<std::vector<std::size_t>> products(g_.values.size()), others(g_.values.size());
    for (std::size_t i = 0; i < g_.nodes.size(); i++) {
      const std::optional<Reader> r = product(i);
      for (std::size_t k = 0; k < g_.nodes[i].inputs.size(); k++)
        if (const ValueId v = g_.nodes[i].inputs[k]; v != no_value)
          (r && k == 0 ? products : others)[index(v)].push_back(i);
    }
    const std::size_t count = g_.nodes.size();
    for (std::size_t i = 0; i < count; i++) {
      const Node n = g_.nodes[i];
      if (n.op->channels != Channels::normalised || n.outputs.size() != 1) continue;
      const ValueId v = n.outputs[0];
      const bool output = std::ranges::find(g_.outputs, v) != g_.outputs.end();
      if (products[index(v)].empty() || (others[index(v)].empty() && !output)) continue;
      Node again = n;
      const ValueId to = g_.add_value(str(g_[v].name, "_for_products"), g_[v].type);
      again.outputs = {to};
      g_[to].def = static_cast<int>(g_.nodes.size());
      g_.nodes.push_back(std::move(again));
      for (const std::size_t p : products[index(v)]) g_.nodes[p].inputs[0] = to;
      twice_.push_back({to, v});
    }
    if (!twice_.empty()) sort_nodes(g_);
  }
  /// Those that gained nothing are one again.
  void unite_norms() {
    std::map<ValueId, ValueId> back;
    for (const auto& [to, from] : twice_)
      if (!divided_.contains(to)) back[to] = from;
    for (Node& n : g_.nodes)
      for (ValueId& v : n.inputs)
        if (const auto at = back.find(v); at != back.end()) v = at->second;
  }

  // ---- noise
  void measure(Reader& r) const {
    const Tensor& w = weights(r);
    const std::int64_t per = r.channels / r.groups;
    const std::int64_t step = std::max<std::int64_t>(1, r.groups > 1 ? 1 : r.outputs / most_rows);
    const std::vector<double>& power = statistics_.at(r.data).mean_square;
    for (std::int64_t o = 0; o < r.outputs; o += step) {
      double signal = 0;
      for (std::int64_t c = 0; c < per; c++) {
        double most = 0, squares = 0;
        for (std::int64_t k = 0; k < r.each; k++) {
          const double x = static_cast<double>(w.values<float>()[at(r, o, c, k)]);
          most = std::max(most, std::abs(x));
          squares += x * x;
        }
        r.most.push_back(most);
        r.squares.push_back(squares);
        signal += squares * power[channel_of(r, o, c)];
      }
      r.signal.push_back(signal);
    }
    // Channels where there is next to nothing ask for nothing.
    const double least = least_reach * least_reach * std::ranges::max(r.signal);
    for (double& x : r.signal) x = std::max(x, least);
  }
  const Tensor& weights(const Reader& r) const { return *g_.constant(g_.nodes[r.node].inputs[1]); }
  static std::size_t channel_of(const Reader& r, std::int64_t output, std::int64_t c) {
    return static_cast<std::size_t>(r.groups > 1 ? output : c);
  }
  /// Where a weight lies.
  std::size_t at(const Reader& r, std::int64_t output, std::int64_t c, std::int64_t k) const {
    const Node& n = g_.nodes[r.node];
    const std::int64_t per = r.channels / r.groups;
    return static_cast<std::size_t>(
        n.op->weight_axis({n, g_}) == 0 ? (output * per + c) * r.each + k : c * r.outputs + output);
  }

  /// Expected noise against the signal, the mean over the outputs of each reader, summed over
  /// these, if channels are divided by these: a rounding error is uniform within a step, of the
  /// activations (their range in 255 steps) and of the weights (the largest of an output in 127).
  double noise(const Group& group, std::span<const double> by) const {
    double steps_of_values = 0;
    for (ValueId v : group.values) {
      double low = 0, high = 0;
      const std::vector<Range>& range = statistics_.at(v).range;
      for (std::size_t c = 0; c < by.size(); c++) {
        low = std::min(low, static_cast<double>(range[c].lowest) / by[c]);
        high = std::max(high, static_cast<double>(range[c].highest) / by[c]);
      }
      steps_of_values += std::pow((high - low) / 255, 2);
    }
    double sum = 0;
    for (const Reader& r : group.readers) {
      const std::vector<double>& power = statistics_.at(r.data).mean_square;
      const std::size_t per = static_cast<std::size_t>(r.channels / r.groups);
      for (std::size_t o = 0; o * per < r.most.size(); o++) {
        double most = 0, seen = 0, of_values = 0;
        for (std::size_t i = 0; i < per; i++) {
          const std::size_t c =
              channel_of(r, static_cast<std::int64_t>(o), static_cast<std::int64_t>(i));
          most = std::max(most, r.most[o * per + i] * by[c]);
          of_values += r.squares[o * per + i] * by[c] * by[c];
          seen += power[c] / (by[c] * by[c]);
        }
        const double of_weights = std::pow(most / 127, 2) * seen * static_cast<double>(r.each);
        sum += (of_values * steps_of_values + of_weights) /
               (12 * r.signal[o] * static_cast<double>(r.signal.size()));
      }
    }
    return sum;
  }

  std::optional<Equalised> equalise(Group& group) {
    const std::size_t channels = static_cast<std::size_t>(group.readers.front().channels);
    for (ValueId v : group.values)
      if (!statistics_.contains(v) || statistics_.at(v).range.size() != channels) return {};
    for (Reader& r : group.readers) {
      if (static_cast<std::size_t>(r.channels) != channels) return {};
      measure(r);
      if (!std::ranges::all_of(r.signal, [](double x) { return x > 0 && std::isfinite(x); }))
        return {};
    }
    const std::vector<double> reach = reaches(group, channels),
                              weight = weights_of(group, channels);
    std::vector<double> best(channels, 1);
    const double before = noise(group, best);
    double least = before;
    for (int a = 0; a <= steps; a++)
      for (int b = 0; b <= steps; b++) {
        std::vector<double> by(channels);
        for (std::size_t c = 0; c < channels; c++)
          by[c] = std::pow(reach[c], static_cast<double>(a) / steps) /
                  std::pow(weight[c], static_cast<double>(b) / steps);
        const double now = noise(group, by);
        if (now < least) least = now, best = std::move(by);
      }
    const bool twice = std::ranges::any_of(
        twice_, [&](const auto& norm) { return norm.first == group.values.front(); });
    if (!(least < (twice ? worth_a_norm : worth_it) * before)) return {};
    divide(group, best);
    const auto [low, high] = std::ranges::minmax(best);
    return Equalised{g_[group.values.front()].name, group.values.size(), static_cast<float>(low),
                     static_cast<float>(high), least / before};
  }

  /// How far each channel reaches, in parts of the farthest, in whichever value it does most.
  std::vector<double> reaches(const Group& group, std::size_t channels) const {
    std::vector<double> out(channels, least_reach);
    for (ValueId v : group.values) {
      const std::vector<Range>& range = statistics_.at(v).range;
      double all = 0;
      for (const Range& r : range)
        all = std::max(all, static_cast<double>(std::max(-r.lowest, r.highest)));
      if (all <= 0) continue;
      for (std::size_t c = 0; c < channels; c++)
        out[c] = std::max(out[c],
                          static_cast<double>(std::max(-range[c].lowest, range[c].highest)) / all);
    }
    return out;
  }
  /// How much the weights behind each channel are, in parts of the most.
  std::vector<double> weights_of(const Group& group, std::size_t channels) const {
    std::vector<double> out(channels);
    for (const Reader& r : group.readers) {
      const std::size_t per = static_cast<std::size_t>(r.channels / r.groups);
      for (std::size_t i = 0; i < r.squares.size(); i++)
        out[channel_of(r, static_cast<std::int64_t>(i / per),
                       static_cast<std::int64_t>(i % per))] += r.squares[i] / r.signal[i / per];
    }
    const double most = *std::ranges::max_element(out);
    for (double& x : out) x = std::sqrt(std::max(x / most, least_reach * least_reach));
    return out;
  }

  // ---- weights
  /// Constants may be shared: a changed one is new.
  template <class F>
  void change(ValueId& constant, F&& f) {
    const Tensor& t = *g_.constant(constant);
    std::vector<float> values(t.values<float>().begin(), t.values<float>().end());
    f(values);
    constant = g_.add_constant(g_[constant].name, make_floats(t.shape, values));
  }

  void divide(const Group& group, std::span<const double> by) {
    for (const std::size_t i : group.makers) {
      Node& n = g_.nodes[i];
      const std::optional<Reader> r = product(i);
      for (std::size_t k = 1; k < std::min<std::size_t>(n.inputs.size(), 3); k++) {
        if (n.inputs[k] == no_value) continue;
        change(n.inputs[k], [&](std::vector<float>& values) {
          const std::size_t size = values.size() / by.size();
          const bool rows = k == 1 && r && n.op->weight_axis({n, g_}) == 0;
          for (std::size_t x = 0; x < values.size(); x++)
            values[x] = static_cast<float>(static_cast<double>(values[x]) /
                                           by[rows ? x / size : x % by.size()]);
        });
      }
    }
    for (const Reader& r : group.readers)
      change(g_.nodes[r.node].inputs[1], [&](std::vector<float>& values) {
        for (std::int64_t o = 0; o < r.outputs; o++)
          for (std::int64_t c = 0; c < r.channels / r.groups; c++)
            for (std::int64_t k = 0; k < r.each; k++) {
              float& w = values[at(r, o, c, k)];
              w = static_cast<float>(static_cast<double>(w) * by[channel_of(r, o, c)]);
            }
      });
    divided_.insert(group.values.begin(), group.values.end());
    // Later groups see the channels as they are now.
    for (ValueId v : group.values) {
      ChannelStatistics& s = statistics_.at(v);
      for (std::size_t c = 0; c < by.size(); c++) {
        s.range[c].lowest = static_cast<float>(static_cast<double>(s.range[c].lowest) / by[c]);
        s.range[c].highest = static_cast<float>(static_cast<double>(s.range[c].highest) / by[c]);
        s.mean_square[c] /= by[c] * by[c];
      }
    }
  }

  Graph g_;
  std::vector<std::pair<ValueId, ValueId>> twice_;  // values of norms for products, and the others
  std::set<ValueId> divided_;
  std::vector<std::size_t> parent_;  // by value: those of one group
  std::vector<int> axis_;            // by value: of its channels, -1: nobody said
  std::vector<bool> fixed_;          // by root: cannot be divided
  std::map<ValueId, ChannelStatistics> statistics_;
};

}  // namespace

Graph equalise(const Graph& g, const Calibration& calibration, std::vector<Equalised>& told) {
  return Equaliser(g).run(calibration, told);
}

}  // namespace longshore
