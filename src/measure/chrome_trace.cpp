#include "measure/chrome_trace.hpp"

#include <fmt/format.h>

#include "program/print.hpp"

namespace longshore {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

std::string chrome_trace(const Program& program, const Timing& timing) {
  const EngineId cpu = cpu_engine(program.machine);
  std::string out = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  out += "{\"ph\": \"M\", \"pid\": 0, \"name\": \"process_name\", \"args\": {\"name\": " +
         quoted(program.machine.present ? program.machine.name : "cpu") + "}}";
  for (EngineId e = 0; e <= cpu; e++)
    out += fmt::format(
        ",\n{{\"ph\": \"M\", \"pid\": 0, \"tid\": {}, \"name\": \"thread_name\", \"args\": "
        "{{\"name\": {}}}}}",
        e, quoted(engine_name(program.machine, e)));
  for (const Interval& i : timing.intervals) {
    const bool host = i.engine == cpu;
    const std::string listed = host ? print(program.steps[i.index])
                                    : print(program.queues[i.engine % queue_count][i.index]);
    const std::string title =
        i.layer != no_index && i.layer < program.layers.size() ? program.layers[i.layer]
        : host                                                 ? listed
               : name(program.queues[i.engine % queue_count][i.index].operation);
    out += fmt::format(
        ",\n{{\"ph\": \"X\", \"pid\": 0, \"tid\": {}, \"ts\": {:.4f}, \"dur\": {:.4f}, \"cat\": "
        "\"{}\", \"name\": {}, "
        "\"args\": {{\"index\": {}, \"instruction\": {}}}}}",
        i.engine, i.start_ns / 1e3, (i.end_ns - i.start_ns) / 1e3, name(i.activity), quoted(title),
        i.index, quoted(listed));
  }
  return out + "\n]}\n";
}

}  // namespace longshore
