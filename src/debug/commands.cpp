#include "debug/commands.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.hpp"
#include "program/instructions/wait.hpp"
#include "program/print.hpp"

namespace longshore::debug {
namespace {

using Words = std::span<const std::string>;

std::uint64_t number(std::string_view text, const char* what) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    fail(Code::bad_argument, what, " expected, found '", text, "'");
  return n;
}

std::uint64_t number_or(Words words, std::uint64_t otherwise, const char* what) {
  return words.empty() ? otherwise : number(words[0], what);
}

/// SPACE:BYTE[+LENGTH]: sram, sram.1, arena.
Stretch stretch_of(const Session& s, const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string_view space = std::string_view(text).substr(0, colon);
  Stretch out;
  if (colon == std::string::npos || !(space.starts_with("sram") || space == "arena"))
    fail(Code::bad_argument,
         "sram:BYTE, sram.CORE:BYTE or arena:BYTE, +LENGTH perhaps behind, "
         "expected, found '",
         text, "'");
  if (space == "arena")
    out.space = Space::arena;
  else if (space != "sram")
    out.core = static_cast<std::uint32_t>(
        number(space.substr(std::min<std::size_t>(5, space.size())), "the number of a core"));
  const std::string_view rest = std::string_view(text).substr(colon + 1);
  const std::size_t plus = rest.find('+');
  out.begin = number(rest.substr(0, plus), "a byte");
  const std::uint64_t length =
      plus == std::string_view::npos ? 1 : number(rest.substr(plus + 1), "a number of bytes");
  const Machine& m = s.program().machine;
  const std::uint64_t size = out.space == Space::arena ? s.program().arena_bytes : m.sram_bytes;
  if ((out.space == Space::sram && out.core >= m.cores) || length == 0 || out.begin >= size ||
      length > size - out.begin)
    fail(Code::bad_argument, "at least one byte within ", size, " bytes, and one of ", m.cores,
         " cores, expected, found '", text, "'");
  out.end = out.begin + length;
  return out;
}

std::uint32_t tensor_named(const Session& s, const std::string& name) {
  const auto& tensors = s.pieces().tensors;
  for (std::uint32_t t = 0; t < tensors.size(); t++)
    if (tensors[t].name == name) return t;
  std::string some;
  for (std::size_t t = 0; t < std::min<std::size_t>(tensors.size(), 8); t++)
    some += str(t > 0 ? ", " : "", tensors[t].name);
  fail(Code::bad_argument, "a tensor that the program makes expected (", some,
       tensors.size() > 8 ? ", ..." : "", "), found '", name, "'");
}

std::string where(Session& s, Words) {
  if (s.ended()) return str("the program has ended after ", s.now_ns(), " ns\n");
  return str("at ", s.now_ns(), " ns, next: ", s.line_of(s.position()), "\n");
}

std::string step(Session& s, Words words) {
  for (std::uint64_t n = number_or(words, 1, "a number of instructions"); n > 0 && !s.ended(); n--)
    s.step();
  return where(s, {});
}

std::string run(Session& s, Words) {
  const Break* b = s.run();
  return (b ? str("break ", b->id, " (", b->text, "): ") : std::string()) + where(s, {});
}

std::string add_break(Session& s, Words words) {
  Break b;
  for (const std::string& w : words) b.text += (b.text.empty() ? "" : " ") + w;
  if (words.size() == 2 && words[0] == "layer") {
    b.number = s.first_of(words[1]);
    if (b.number == no_index)
      fail(Code::bad_argument, "a layer with instructions of its own expected, found '", words[1],
           "'; list shows the names of layers");
  } else if (words.size() >= 2 && words[0] == "address") {
    b.kind = Break::Kind::address;
    b.stretch = stretch_of(s, words[1]);
    b.reads = words.size() == 3 && words[2] == "read";
    if (words.size() > (b.reads ? 3u : 2u))
      fail(Code::bad_argument, "nothing or 'read' expected behind the address, found '", words[2],
           "'");
  } else if (words.size() == 1) {
    const std::uint64_t n = number(words[0], "the number of an instruction");
    if (n >= s.size())
      fail(Code::bad_argument, "an instruction below ", s.size(), " expected, found '", words[0],
           "'");
    b.number = static_cast<std::uint32_t>(n);
  } else {
    fail(Code::bad_argument,
         "break NUMBER, break layer NAME or break address SPACE:BYTE[+LENGTH] "
         "[read] expected, found 'break ",
         b.text, "'");
  }
  const Break& added = s.add(b);
  return str(
      "break ", added.id, ": ", added.text,
      added.kind == Break::Kind::number ? ", before " + s.name_of(added.number) : std::string(),
      "\n");
}

std::string remove(Session& s, Words words) {
  if (words.size() != 1) fail(Code::bad_argument, "delete takes the number of a break");
  if (!s.remove(static_cast<int>(number(words[0], "the number of a break"))))
    fail(Code::bad_argument, "a break that info breaks lists expected, found '", words[0], "'");
  return str("break ", words[0], " deleted\n");
}

std::string info(Session& s, Words words) {
  if (words.size() != 1 || words[0] != "breaks")
    fail(Code::bad_argument, "info breaks expected, found 'info ",
         words.empty() ? std::string() : words[0], "'");
  std::string out;
  for (const Break& b : s.breaks()) out += str(b.id, "  ", b.text, "\n");
  return out.empty() ? "no breaks\n" : out;
}

std::string list(Session& s, Words words) {
  const std::uint64_t n = number_or(words, 5, "a number of instructions");
  const std::uint32_t at = s.position();
  const auto from = static_cast<std::uint32_t>(at - std::min<std::uint64_t>(n, at));
  std::string out;
  for (std::uint32_t i = from; i < s.size() && i <= at + n; i++)
    out += str(i == at ? "> " : "  ", s.line_of(i), "\n");
  return out;
}

std::string tiles(Session& s, Words) {
  std::vector<Content> sorted = s.contents();
  std::ranges::stable_sort(sorted, {},
                           [](const Content& c) { return std::pair(c.core, c.region.address); });
  std::string out;
  for (const Content& c : sorted)
    out += str("sram.", c.core, ":", c.region.address, "-", c.region.end(), "  ", c.text, ", by ",
               s.name_of(c.writer), c.partly ? ", partly overwritten" : "", "\n");
  return out.empty() ? "nothing was written to SRAM yet\n" : out;
}

std::string coordinates(std::int64_t element, const Shape& shape) {
  Shape at;
  for (int a = 0; a < shape.rank; a++)
    at.push(element / shape.product(a + 1, shape.rank) % shape[a]);
  return print(at);
}

std::string value_text(const Followed& f, const std::byte* bytes, std::int64_t i) {
  const TensorView view{f.dtype, f.shape, bytes, f.quantisation.view()};
  if (f.dtype == DType::f32) {
    float x;
    std::memcpy(&x, bytes + i * 4, 4);
    return str(x);
  }
  if (f.dtype != DType::i8 && f.dtype != DType::u8 && f.dtype != DType::i16 &&
      f.dtype != DType::u16 && f.dtype != DType::i32)
    return str("byte ", static_cast<int>(bytes[static_cast<std::size_t>(i) * size_bytes(f.dtype)]));
  const std::int32_t code = load_code(view, i);
  if (!f.quantisation.present()) return str(code);
  const auto q = static_cast<std::size_t>(quant_index(view.quant, f.shape, i));
  const double real = static_cast<double>(f.quantisation.scale[q]) *
                      (static_cast<double>(code) - f.quantisation.zero_point[q]);
  return str(code, " (", real, ")");
}

/// "0:1,0:8": a range for each axis.
std::vector<std::pair<std::int64_t, std::int64_t>> box_from(const std::string& text,
                                                            const Shape& shape) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  std::string_view rest = text;
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view axis = rest.substr(0, comma);
    const std::size_t colon = axis.find(':');
    const auto from = static_cast<std::int64_t>(number(axis.substr(0, colon), "an index"));
    const auto to = colon == std::string_view::npos
                        ? from + 1
                        : static_cast<std::int64_t>(number(axis.substr(colon + 1), "an index"));
    const auto a = static_cast<int>(out.size());
    if (a >= shape.rank || from < 0 || from >= to || to > shape[a])
      fail(Code::bad_argument, "a box within ", print(shape), " expected, found '", text, "'");
    out.emplace_back(from, to);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (static_cast<int>(out.size()) != shape.rank)
    fail(Code::bad_argument, "a range for each of ", shape.rank, " axes expected, found '", text,
         "'");
  return out;
}

std::string show(Session& s, Words words) {
  constexpr int most = 64;
  if (words.empty() || words.size() > 2)
    fail(Code::bad_argument, "show TENSOR [BOX] or show SPACE:BYTE[+LENGTH] expected");
  std::string out;
  if (words[0].starts_with("sram") || words[0].starts_with("arena:")) {
    const Stretch at = stretch_of(s, words[0]);
    for (const std::byte b : s.memory(at)) out += str(out.empty() ? "" : " ", static_cast<int>(b));
    return out + "\n";
  }
  const std::uint32_t t = tensor_named(s, words[0]);
  const Followed& f = s.pieces().tensors[t];
  const Made& m = s.made(t);
  const auto box = words.size() == 2 ? box_from(words[1], f.shape)
                                     : std::vector<std::pair<std::int64_t, std::int64_t>>();
  int shown = 0;
  for (std::int64_t i = 0; i < f.shape.elements(); i++) {
    bool inside = true;
    for (int a = 0; a < static_cast<int>(box.size()); a++) {
      const std::int64_t x = i / f.shape.product(a + 1, f.shape.rank) % f.shape[a];
      inside = inside && x >= box[static_cast<std::size_t>(a)].first &&
               x < box[static_cast<std::size_t>(a)].second;
    }
    if (!inside) continue;
    if (shown++ == most) return out + "...\n";
    const bool made = m.writers[static_cast<std::size_t>(i) * size_bytes(f.dtype)] != 0;
    out += str(coordinates(i, f.shape), "  ",
               made ? value_text(f, m.bytes.data(), i) : std::string("not made yet"), "\n");
  }
  return out;
}

std::string semaphores(Session& s, Words) {
  std::string out;
  const Program& p = s.program();
  for (std::uint32_t id = 0; id < p.machine.semaphores; id++) {
    std::string waiting;
    for (EngineId e = 0; e <= cpu_engine(p.machine); e++) {
      const std::uint32_t at = s.next_of(e);
      if (at == no_index || s.trace()[at].reached_ns > s.now_ns()) continue;
      const std::uint32_t index = s.trace()[at].what.index;
      const Wait* w = e == cpu_engine(p.machine)
                          ? nullptr
                          : p.queues[e % queue_count][index].operation.get_if<Wait>();
      const bool cpu = e == cpu_engine(p.machine) && p.steps[index].kind == Step::Kind::wait &&
                       p.steps[index].semaphore == id;
      if (cpu || (w != nullptr && w->semaphore == id))
        waiting += str(", ", s.name_of(at), " waits for ", w ? w->count : 1u);
    }
    if (s.semaphore(id) > 0 || !waiting.empty())
      out += str("semaphore ", id, ": ", s.semaphore(id), waiting, "\n");
  }
  return out.empty() ? "all semaphores are 0, and nothing waits\n" : out;
}

std::string engines(Session& s, Words) {
  std::string out;
  const Machine& m = s.program().machine;
  for (EngineId e = 0; e <= cpu_engine(m); e++) {
    const std::uint32_t at = s.next_of(e);
    out += str(engine_name(m, e), ": ", at == no_index ? "done" : s.line_of(at), "\n");
  }
  return out;
}

std::string compare(Session& s, Words words) {
  std::optional<std::uint32_t> only;
  if (!words.empty()) only = tensor_named(s, words[0]);
  std::uint64_t made = 0, tensors = 0;
  for (std::uint32_t t = 0; t < s.pieces().tensors.size(); t++) {
    if ((only && *only != t) || !s.want().contains(s.pieces().tensors[t].name)) continue;
    const auto n = static_cast<std::uint64_t>(
        std::ranges::count_if(s.made(t).writers, [](std::uint32_t w) { return w != 0; }));
    made += n;
    tensors += n > 0;
  }
  const std::optional<Wrong> w = s.wrong(only);
  if (!w) {
    if (made == 0) return "nothing was made yet that the reference has\n";
    return str("equal: ", made, " bytes of ", tensors, " tensors\n");
  }
  const Followed& f = s.pieces().tensors[w->tensor];
  const Tensor& want = s.want().at(f.name);
  return str("different: ", f.name, coordinates(w->element, f.shape), " is ",
             value_text(f, s.made(w->tensor).bytes.data(), w->element), ", the reference has ",
             value_text(f, want.blob->bytes().data(), w->element), "; written by ",
             s.line_of(w->writer), "\n");
}

std::string help(Session&, Words) {
  std::string out;
  for (const DebugCommand& c : debug_commands())
    out += str(c.name, c.arguments.empty() ? "" : " ", c.arguments, ": ", c.doc, "\n");
  return out;
}

std::string quit(Session&, Words) { return {}; }

constexpr DebugCommand table[] = {
    {"step", "[N]", "executes N instructions (1), in the order in which they end", step},
    {"run", "", "goes on to the next break or the end", run},
    {"continue", "", "the same", run},
    {"break", "NUMBER | layer NAME | address SPACE:BYTE[+LENGTH] [read]",
     "stops before that instruction, before the layer's first, or before one that writes there",
     add_break},
    {"delete", "BREAK", "takes a break away", remove},
    {"info", "breaks", "lists the breaks", info},
    {"where", "", "the time, and the instruction that comes next", where},
    {"list", "[N]", "N instructions (5) before and after", list},
    {"tiles", "", "what lies in SRAM: addresses, tensor and box, who wrote it", tiles},
    {"show", "TENSOR [BOX] | SPACE:BYTE[+LENGTH]",
     "codes, and real numbers where there is a scale; at most 64 elements. Or bytes", show},
    {"semaphores", "", "those above 0 and those that something waits for", semaphores},
    {"engines", "", "what each engine does or waits for", engines},
    {"compare", "[TENSOR]", "holds what was made against the reference; names the first bad byte",
     compare},
    {"help", "", "this list", help},
    {"quit", "", "ends", quit},
};

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t begin = command.find_first_not_of(" \t\r", at);
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(command.find_first_of(" \t\r", begin), command.size());
    out.push_back(command.substr(begin, end - begin));
    at = end;
  }
  return out;
}

}  // namespace

std::span<const DebugCommand> debug_commands() { return table; }

std::vector<std::string> commands_in(std::string_view line) {
  std::vector<std::string> out;
  line = line.substr(0, line.find('#'));
  while (true) {
    const std::size_t end = line.find(';');
    std::string command(line.substr(0, end));
    if (command.find_first_not_of(" \t\r") != std::string::npos) out.push_back(std::move(command));
    if (end == std::string_view::npos) return out;
    line.remove_prefix(end + 1);
  }
}

std::string execute(Session& s, const std::string& command) {
  const std::vector<std::string> words = words_of(command);
  if (words.empty()) return {};
  for (const DebugCommand& c : table) {
    if (c.name != words[0]) continue;
    if (c.arguments.empty() && words.size() > 1)
      fail(Code::bad_argument, c.name, " takes nothing, found '", words[1], "'");
    return c.run(s, Words(words).subspan(1));
  }
  std::string names;
  for (const DebugCommand& c : table) names += str(names.empty() ? "" : ", ", c.name);
  fail(Code::bad_argument, "one of ", names, " expected, found '", words[0], "'");
}

bool is_quit(std::string_view command) {
  const std::vector<std::string> words = words_of(std::string(command));
  return !words.empty() && words[0] == "quit";
}

}  // namespace longshore::debug
