#include <unistd.h>

#include <iostream>
#include <memory>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "command.hpp"
#include "command_line.hpp"
#include "compare_bundle.hpp"
#include "debug/commands.hpp"
#include "measure/reference_host.hpp"
#include "model_options.hpp"
#include "sim/inject.hpp"

namespace longshore::commands {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> commands;
  std::string script;
  std::optional<std::uint64_t> inject;
  bool json = false;
};

/// Executes commands; says what they say, or collects it for --json.
class Talk {
 public:
  Talk(debug::Session& session, bool json) : session_(session), json_(json) {}

  /// False: quit. `where` stands before what is wrong.
  bool line(const std::string& text, const std::string& where) {
    for (const std::string& command : debug::commands_in(text)) {
      if (debug::is_quit(command)) return false;
      std::string said;
      try {
        said = debug::execute(session_, command);
      } catch (const Error& e) {
        if (e.code() == Code::internal) throw;
        fail(e.code(), where, ": ", e.what());
      }
      if (!json_) std::cout << said << std::flush;
      answers_.push_back({{"command", command.substr(command.find_first_not_of(" \t"))},
                          {"text", said},
                          {"position", session_.position()},
                          {"ns", session_.now_ns()},
                          {"ended", session_.ended()}});
    }
    return true;
  }
  const Json& answers() const { return answers_; }

 private:
  debug::Session& session_;
  bool json_;
  Json answers_ = Json::array();
};

/// A wrong command of a person is told and forgotten; one of a script ends it.
void from_standard_input(Talk& talk) {
  const bool person = isatty(STDIN_FILENO) != 0;
  std::string text;
  for (int n = 1;; n++) {
    if (person) std::cout << "(longshore) " << std::flush;
    if (!std::getline(std::cin, text)) return;
    try {
      if (!talk.line(text, str("standard input, line ", n))) return;
    } catch (const Error& e) {
      if (!person || e.code() != Code::bad_argument) throw;
      std::cerr << e.what() << "\n";
    }
  }
}

void talk_all(const Options& o, Talk& talk) {
  if (!o.script.empty()) {
    const Result<SharedBlob> file = read_file(o.script);
    require(file.status());
    const auto bytes = (*file)->bytes();
    std::istringstream lines(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    std::string text;
    for (int n = 1; std::getline(lines, text); n++)
      if (!talk.line(text, str(o.script, ", line ", n))) return;
  }
  for (std::size_t i = 0; i < o.commands.size(); i++)
    if (!talk.line(o.commands[i], str("--command ", i + 1))) return;
  if (o.script.empty() && o.commands.empty()) from_standard_input(talk);
}

int run(const Options& o) {
  const ReadResult model = load_model(o.model, o.inputs);
  const ComparedBundle bundle = open_compared(o.model.path);
  if (!bundle.tapped)
    fail(Code::bad_argument, o.model.path,
         ": a bundle with a program of an NPU expected, it was built for the CPU alone");
  const std::vector<Tensor> inputs = make_inputs(model, o.inputs);
  Program program = bundle.program;
  if (o.inject) {
    std::optional<Injection> drawn = inject(program, *o.inject);
    if (!drawn)
      fail(Code::bad_argument, o.model.path,
           ": there is no NPU instruction whose operand could be changed");
    warn("injected: " + drawn->text);
    program = std::move(drawn->program);
  }
  ReferenceHost host(program, bundle.graph);
  host.start(inputs);
  debug::Session session(program, host, debug::pieces_of(*bundle.tapped, bundle.graph),
                         reference_values(bundle.graph, inputs));
  Talk talk(session, o.json);
  talk_all(o, talk);
  if (o.json)
    print_json({{"file", o.model.path}, {"commands", talk.answers()}, {"warnings", warnings()}});
  return exit_code::yes;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  add_model_options(app, o->model);
  add_input_options(app, o->inputs);
  app.add_option("--script", o->script, "A file of commands, one or several with ; on a line");
  app.add_option("--command", o->commands,
                 "Commands, with ; between them; may be given again. Without either: those of "
                 "standard input; help lists all")
      .one_at_a_time();
  app.add_option("--inject", o->inject,
                 "Changes one operand of one instruction, drawn by this seed, as compare does");
  app.add_flag("--json", o->json, "One JSON object on one line");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_debug = {
    .name = "debug",
    .doc = "Steps through a bundle's program on the simulator: breaks, tiles, values, comparison",
    .setup = setup,
};

}  // namespace longshore::commands
