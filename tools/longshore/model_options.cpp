#include "model_options.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>

#include "base/error.hpp"
#include "compile/samples.hpp"
#include "command_line.hpp"
#include "progress.hpp"
#include "tensor/visit.hpp"

namespace longshore {
namespace {

std::vector<std::string> input_names(const Graph& g) {
  std::vector<std::string> out;
  for (ValueId v : g.inputs) out.push_back(g[v].name);
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += str(out.empty() ? "'" : ", '", n, "'");
  return out;
}

/// "NAME=REST" of an option that must have a name.
std::pair<std::string, std::string> split_at_last(const std::string& option,
                                                  const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    fail(Code::bad_argument, option, " takes NAME=VALUE, not '", text, "'");
  return {text.substr(0, at), text.substr(at + 1)};
}

/// "16000", "1,2,3", "true", "0.5" as elements of the type.
Tensor literal(const std::string& text, DType dtype, const std::string& name) {
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const char *first = part.data(), *last = part.data() + part.size();
    double number = part == "true" ? 1 : 0;
    std::int64_t integer = static_cast<std::int64_t>(number);
    if (part != "true" && part != "false") {
      const auto real = std::from_chars(first, last, number);
      const auto whole = std::from_chars(first, last, integer);
      const bool is_whole = whole.ec == std::errc{} && whole.ptr == last;
      if (real.ec != std::errc{} || real.ptr != last)
        fail(Code::bad_argument, "--input-value ", name,
             ": a number, numbers with commas between, or a .npy file expected, ", "found '", text,
             "'");
      if (!is_whole && !type_set::float_types.has(dtype) && !type_set::float8_types.has(dtype))
        fail(Code::bad_argument, "--input-value ", name, ": the input is ", longshore::name(dtype),
             ", found '", part, "'");
    }
    numbers.push_back(number);
    integers.push_back(integer);
    begin = end + 1;
  }
  const auto n = static_cast<std::int64_t>(numbers.size());
  std::vector<std::byte> bytes(numbers.size() * size_bytes(dtype));
  visit_type(AllTypes{}, dtype, [&]<class T>() {
    T* out = reinterpret_cast<T*>(bytes.data());
    for (std::size_t i = 0; i < numbers.size(); i++) {
      if constexpr (std::is_same_v<T, Bool8>)
        out[i] = T(numbers[i] != 0);
      else if constexpr (std::is_integral_v<T>)
        out[i] = static_cast<T>(integers[i]);
      else if constexpr (std::is_constructible_v<T, std::int64_t> &&
                         !std::is_convertible_v<T, float>)
        out[i] = T(integers[i]);
      else
        out[i] = T(numbers[i]);
    }
  });
  return {dtype, n == 1 && text.find(',') == std::string::npos ? Shape{} : Shape{n},
          make_blob(std::move(bytes))};
}

/// The same elements under the input's dims, where these are known and hold as many.
Tensor shaped(Tensor t, const TensorType& type) {
  if (!type.ranked || t.shape.rank == type.rank()) return t;
  Shape wanted;
  for (const Dim& d : type.dims) wanted.push(d.known() ? d.value : 1);
  if (wanted.elements() == t.elements()) t.shape = wanted;
  return t;
}

}  // namespace

std::pair<std::string, std::string> split_name(const std::string& text,
                                               const std::vector<std::string>& names) {
  // The longest name that fits: names may hold '=' themselves.
  std::pair<std::string, std::string> best{{}, text};
  for (const std::string& n : names)
    if (n.size() > best.first.size() && text.size() > n.size() && text.starts_with(n) &&
        text[n.size()] == '=')
      best = {n, text.substr(n.size() + 1)};
  return best;
}

void add_model_options(CommandLine& app, ModelOptions& o) {
  app.add_option("model", o.path, "ONNX file, graph text or bundle").required().not_empty();
  app.add_option("--dim", o.dims, "NAME=N: gives the dimension called NAME a size").one_at_a_time();
  app.add_option("--shape", o.shapes,
                 "INPUT=N,N,...: gives an input all its dims, where they have no names")
      .one_at_a_time();
  app.add_option("--input-value", o.input_values,
                 "NAME=V: makes input NAME the constant V (numbers, or a .npy file)")
      .one_at_a_time();
}

void add_image_options(CommandLine& app, PictureOptions& o) {
  using Layout = ImageOptions::Layout;
  using Resize = ImageOptions::Resize;
  const char* group = "Pictures";
  app.add_numbers("--mean", o.mean,
                  "Subtracted from pixels (0 to 255): one number, or one for each channel; 0")
      .notes(o.given)
      .group(group);
  app.add_numbers("--std", o.std, "Pixels are then divided by it; 255").notes(o.given).group(group);
  app.add_choice<Layout>(
         "--layout", o.layout,
         {{"auto", Layout::automatic}, {"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}},
         "auto, nchw or nhwc")
      .notes(o.given)
      .group(group);
  const Option bgr = app.add_flag("--bgr", o.bgr, "Channels in the order blue, green, red")
                         .notes(o.given)
                         .group(group);
  app.add_flag("--rgb", "Channels in the order red, green, blue (the default)")
      .excludes(bgr)
      .notes(o.given)
      .group(group);
  app.add_choice<Resize>(
         "--resize", o.resize,
         {{"stretch", Resize::stretch}, {"crop", Resize::crop}, {"letterbox", Resize::letterbox}},
         "stretch, crop or letterbox; always bilinear, antialiased when shrinking")
      .notes(o.given)
      .group(group);
  app.add_option("--crop-fraction", o.crop_fraction, "The part of the crop that is kept; 1")
      .range(0.01, 1.0)
      .notes(o.given)
      .group(group);
}

ImageOptions pictures_for(const ReadResult& model, const PictureOptions& o) {
  warn_of_small_means(o);
  if (!model.pictures) return o.image();
  std::string own = print(*model.pictures);
  std::ranges::replace(own, '\n', ' ');
  own.pop_back();
  if (o.given) {
    warn("options for pictures take the place of the bundle's own: " + own);
    return o.image();
  }
  Progress::clear();
  std::cerr << "longshore: pictures are read as the bundle says: " << own << std::endl;
  return *model.pictures;
}

void warn_of_small_means(const PictureOptions& o) {
  const float most = *std::ranges::max_element(o.mean), least = *std::ranges::min_element(o.mean);
  if (least >= 0 && most > 0 && most < 1)
    warn(str("--mean: ", most,
             " and less are means of pixels from 0 to 1; --mean and --std are for "
             "pixels from 0 to 255: 255 times as large"));
}

void add_input_options(CommandLine& app, InputOptions& o) {
  app.add_option("--input", o.inputs,
                 "[NAME=]FILE: .npy, TensorProto .pb, png or jpg; once for each input")
      .one_at_a_time();
  app.add_option("--seed", o.seed, "Of the random data that stands in where no file is given");
  add_image_options(app, o.image);
}

namespace {

/// A size of --dim or --shape.
std::int64_t size_of(std::string_view text, const std::string& option, const std::string& name) {
  std::int64_t n = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (code != std::errc{} || end != text.data() + text.size() || n < 1)
    fail(Code::bad_argument, option, " ", name, ": a size of 1 or more expected, found '", text,
         "'");
  return n;
}

Shape shape_of(const std::string& text, const std::string& name) {
  Shape out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (out.rank == max_rank)
      fail(Code::unsupported, "--shape ", name, ": at most ", max_rank, " dims are possible");
    out.push(size_of(std::string_view(text).substr(begin, end - begin), "--shape", name));
    begin = end + 1;
  }
  return out;
}

decltype(InferOptions::input_values) constant_inputs(const Graph& g, const ModelOptions& o) {
  decltype(InferOptions::input_values) out;
  for (const std::string& text : o.input_values) {
    const auto [name, value] = split_name(text, input_names(g));
    if (name.empty())
      fail(Code::bad_argument, "--input-value ", text,
           ": NAME=V expected, with an input's name: ", listed(input_names(g)));
    if (out.contains(name))
      fail(Code::bad_argument, "--input-value: input '", name, "' is given twice");
    ValueId v = no_value;
    for (ValueId each : g.inputs)
      if (g[each].name == name) v = each;
    const TensorType& type = g[v].type;
    std::error_code ignored;
    Tensor t = std::filesystem::is_regular_file(value, ignored) ? read_tensor(value)
                                                                : literal(value, type.dtype, name);
    t = shaped(std::move(t), type);
    bool fits = t.dtype == type.dtype && (!type.ranked || type.rank() == t.shape.rank);
    for (int i = 0; fits && type.ranked && i < type.rank(); i++) {
      const Dim& d = type.dims[static_cast<std::size_t>(i)];
      fits = !d.known() || d.value == t.shape[i];
    }
    if (!fits)
      fail(Code::bad_argument, "--input-value: input '", name, "' is ", print(type), ", found ",
           print(TensorType(t.dtype, t.shape)));
    out[name] = std::move(t);
  }
  return out;
}

/// Dims that random data takes as 1.
void warn_of_open_dims(const Graph& g, const std::vector<std::string>& random) {
  std::vector<compile::OpenDim> open = compile::open_dims(g);
  std::erase_if(open, [&](const compile::OpenDim& d) {
    return d.axis == 0 || std::ranges::find(random, d.input) == random.end();
  });
  if (!open.empty())
    warn(str("open dims count as 1 in random data; their sizes: ", compile::dims_to_type(g, open)));
}

}  // namespace

compile::Source source_of(const ModelOptions& o, const InputOptions& inputs) {
  compile::Source out;
  out.path = o.path;
  for (const std::vector<std::string>* list : {&inputs.inputs, &o.input_values})
    for (const std::string& text : *list)
      for (std::size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1))
        out.read.keep_inputs.push_back(text.substr(0, at));  // what is no such input does no harm
  for (const std::string& text : o.dims) {
    const auto [name, value] = split_at_last("--dim", text);
    if (!out.dims.emplace(name, size_of(value, "--dim", name)).second)
      fail(Code::bad_argument, "--dim: '", name, "' is given twice");
  }
  for (const std::string& text : o.shapes) {
    const auto [name, value] = split_at_last("--shape", text);
    if (!out.shapes.emplace(name, shape_of(value, name)).second)
      fail(Code::bad_argument, "--shape: input '", name, "' is given twice");
  }
  if (!o.input_values.empty()) out.values = [o](const Graph& g) { return constant_inputs(g, o); };
  return out;
}

ReadResult load_model(const ModelOptions& o, const InputOptions& inputs) {
  ReadResult model = compile::read(source_of(o, inputs));
  for (const std::string& w : model.warnings) warn(o.path + ": " + w);
  return model;
}

std::vector<Tensor> make_inputs(const ReadResult& model, const InputOptions& o) {
  const Graph& g = model.graph;
  const std::vector<std::string> names = input_names(g);
  std::map<std::string, Tensor> given;
  std::size_t next = 0;
  ImageOptions pictures = o.image.image();
  if (!o.inputs.empty()) pictures = pictures_for(model, o.image);
  for (const std::string& text : o.inputs) {
    auto [name, file] = split_name(text, names);
    std::error_code ignored;
    if (name.empty()) {
      if (text.find('=') != std::string::npos && !std::filesystem::exists(text, ignored))
        fail(Code::bad_argument, "--input ", text, ": the model has no such input; its inputs are ",
             listed(names));
      while (next < names.size() && given.contains(names[next])) next++;
      if (next == names.size())
        fail(Code::bad_argument, "--input ", text, ": more files than inputs; the inputs are ",
             listed(names));
      name = names[next++];
    }
    if (given.contains(name))
      fail(Code::bad_argument, "--input: input '", name, "' is given twice");
    const auto v =
        g.inputs[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
    given[name] = read_input(file, g[v].type, pictures);
  }
  std::vector<Tensor> out;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < names.size(); i++) {
    if (const auto it = given.find(names[i]); it != given.end()) {
      out.push_back(it->second);
    } else if (const auto start = model.defaults.find(names[i]); start != model.defaults.end()) {
      out.push_back(start->second);
    } else {
      missing.push_back(names[i]);
      out.push_back(compile::random_input(g[g.inputs[i]].type, o.seed + i));
    }
  }
  if (!missing.empty() && !o.inputs.empty())
    fail(Code::bad_argument, "no --input for ", listed(missing), "; the inputs are ",
         listed(names));
  if (!missing.empty()) {
    warn(str("no --input: random data for ", listed(missing), ", seed ", o.seed));
    warn_of_open_dims(g, missing);
  }
  return out;
}

}  // namespace longshore
