#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <new>
#include <vector>

#include "base/error.hpp"
#include "command.hpp"
#include "compile/near_names.hpp"
#include "cpu/bind.hpp"
#include "progress.hpp"
#include "say.hpp"

namespace {

/// One line, whatever the message holds.
int complain(int code, std::string text) {
  longshore::Progress::clear();
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  std::cerr << "longshore: " << text << std::endl;
  return code;
}

bool is_general_option(std::string_view text) {
  return text == "-h" || text == "--help" || text == "--version";
}

/// LONGSHORE_CPU names instructions that this program does not know or this machine has not; the
/// library would take others in silence.
std::string wrong_environment() {
  using namespace longshore;
  const char* wanted = std::getenv("LONGSHORE_CPU");
  if (!wanted || !*wanted) return {};
  std::vector<std::string> names;
  for (const cpu::Isa isa :
       {cpu::Isa::generic, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::avx512vnni}) {
    names.emplace_back(cpu::name(isa));
    if (names.back() != wanted) continue;
    if (cpu::has_isa(isa)) return {};
    warn("LONGSHORE_CPU=" + names.back() + ": this machine has no such instructions; " +
         cpu::name(cpu::best_isa()) + " is used");
    return {};
  }
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  return "LONGSHORE_CPU=" + std::string(wanted) + ": there is no such instruction set; there are " +
         all + compile::near_names(wanted, names);
}

}  // namespace

// Before a command runs nothing can fail but for want of memory.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  using namespace longshore::exit_code;
  CLI::App app(
      "Takes a trained model to an edge device: reads ONNX, optimises, quantises, runs on the CPU "
      "and on a simulated NPU.",
      "longshore");
  app.set_version_flag("--version", "longshore " LONGSHORE_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands;
  for (const longshore::Command* c : longshore::commands::all()) {
    CLI::App* sub = app.add_subcommand(std::string(c->name), std::string(c->doc));
    commands.emplace_back(sub, c->setup(*sub));
  }
  if (const std::string wrong = wrong_environment(); !wrong.empty())
    return complain(bad_input, wrong);
  if (argc > 1 && argv[1][0] == '-' && !is_general_option(argv[1]))
    return complain(usage, "there is no option '" + std::string(argv[1]) +
                               "' before a command; --help lists the commands");
  if (argc > 1 && argv[1][0] != '-' && std::ranges::none_of(commands, [&](const auto& c) {
        return c.first->get_name() == argv[1];
      })) {
    std::string names;
    for (const auto& [sub, run] : commands) names += (names.empty() ? "" : ", ") + sub->get_name();
    return complain(usage,
                    "there is no command '" + std::string(argv[1]) + "'; there are: " + names);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return complain(usage, std::string(e.what()) + " (--help shows the usage)");
  }
  try {
    for (const auto& [sub, run] : commands)
      if (sub->parsed()) {
        const int code = run();
        std::cout.flush();
        return std::cout ? code : complain(bad_input, "cannot write to the standard output");
      }
    return usage;
  } catch (const longshore::Error& e) {
    return complain(e.code() == longshore::Code::internal ? our_bug : bad_input, e.what());
  } catch (const std::bad_alloc&) {
    return complain(bad_input, "out of memory");
  } catch (const std::exception& e) {
    return complain(our_bug, std::string("this is a bug: ") + e.what());
  }
}
