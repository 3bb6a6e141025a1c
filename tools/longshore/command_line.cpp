#include "command_line.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <CLI/CLI.hpp>

#include "command.hpp"

namespace longshore {

const Option& Option::required() const { return option_->required(), *this; }

const Option& Option::group(const std::string& heading) const {
  return option_->group(heading), *this;
}

const Option& Option::one_of(const std::vector<std::string>& names) const {
  return option_->check(CLI::IsMember(names)), *this;
}

const Option& Option::positive() const { return option_->check(CLI::PositiveNumber), *this; }

const Option& Option::not_empty() const {
  return option_->check(CLI::Validator(
             [](const std::string& text) {
               return text.empty() ? std::string("a name expected, found nothing") : std::string();
             },
             "")),
         *this;
}

const Option& Option::excludes(const Option& other) const {
  return option_->excludes(other.option_), *this;
}

const Option& Option::notes(bool& given) const {
  return option_->each([&given](const std::string&) { given = true; }), *this;
}

const Option& Option::show_default() const { return option_->capture_default_str(), *this; }

const Option& Option::one_at_a_time() const { return option_->allow_extra_args(false), *this; }

const Option& Option::real_range(double low, double high) const {
  return option_->check(CLI::Range(low, high)), *this;
}

const Option& Option::whole_range(std::int64_t low, std::int64_t high) const {
  return option_->check(CLI::Range(low, high)), *this;
}

Option CommandLine::add_flag(const std::string& names, bool& value, const std::string& doc) {
  return Option(app_.add_flag(names, value, doc));
}

Option CommandLine::add_flag(const std::string& names, const std::string& doc) {
  return Option(app_.add_flag_callback(
      names, [] {}, doc));
}

Option CommandLine::add_option(const std::string& names, std::string& value,
                               const std::string& doc) {
  return Option(app_.add_option(names, value, doc));
}

Option CommandLine::add_option(const std::string& names, std::vector<std::string>& value,
                               const std::string& doc) {
  return Option(app_.add_option(names, value, doc));
}

Option CommandLine::add_numbers(const std::string& name, std::vector<float>& value,
                                const std::string& doc) {
  const auto read = [&value, name](const std::string& text) {
    std::vector<float> out;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      float x = 0;
      const auto [stop, code] = std::from_chars(text.data() + begin, text.data() + end, x);
      if (code != std::errc{} || stop != text.data() + end || !std::isfinite(x))
        throw CLI::ValidationError(
            name, "finite numbers with commas between expected, found '" + text + "'");
      out.push_back(x);
      begin = end + 1;
    }
    value = std::move(out);
  };
  return Option(app_.add_option_function<std::string>(name, read, doc)->type_name("X,X,..."));
}

Option CommandLine::add_option(const std::string& names, int& value, const std::string& doc) {
  return Option(app_.add_option(names, value, doc));
}

Option CommandLine::add_option(const std::string& names, unsigned& value, const std::string& doc) {
  return Option(app_.add_option(names, value, doc));
}

Option CommandLine::add_option(const std::string& names, std::uint64_t& value,
                               const std::string& doc) {
  return Option(app_.add_option(names, value, doc));
}

Option CommandLine::add_option(const std::string& names, std::optional<std::uint64_t>& value,
                               const std::string& doc) {
  return Option(app_.add_option(names, value, doc));
}

Option CommandLine::add_option(const std::string& names, float& value, const std::string& doc) {
  return Option(app_.add_option(names, value, doc));
}

Option CommandLine::add_option(const std::string& names, double& value, const std::string& doc) {
  return Option(app_.add_option(names, value, doc));
}

Option CommandLine::add_name(const std::string& name, std::vector<std::string> allowed,
                             std::function<void(std::size_t)> chosen, const std::string& doc) {
  const auto choose = [name, allowed = std::move(allowed),
                       chosen = std::move(chosen)](const std::string& text) {
    const auto at = std::ranges::find(allowed, text);
    if (at != allowed.end()) return chosen(static_cast<std::size_t>(at - allowed.begin()));
    std::string all;
    for (const std::string& each : allowed) all += (all.empty() ? "" : ", ") + each;
    throw CLI::ValidationError(name, "'" + text + "' is none of " + all);
  };
  return Option(app_.add_option_function<std::string>(name, choose, doc)->type_name("NAME"));
}

Request read_arguments(int argc, char** argv) {
  CLI::App app(
      "Takes a trained model to an edge device: reads ONNX, optimises, quantises, runs on the CPU "
      "and on a simulated NPU.",
      "longshore");
  app.set_version_flag("--version", "longshore " LONGSHORE_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::function<int()>>> commands;
  std::string names;
  for (const Command* c : commands::all()) {
    CLI::App* sub = app.add_subcommand(std::string(c->name), std::string(c->doc));
    CommandLine line(*sub);
    commands.emplace_back(sub, c->setup(line));
    names += (names.empty() ? "" : ", ") + sub->get_name();
  }
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.starts_with("-") && first != "-h" && first != "--help" && first != "--version")
    return {{},
            exit_code::usage,
            "there is no option '" + first + "' before a command; --help lists the commands"};
  const auto is_first = [&](const auto& c) { return c.first->get_name() == first; };
  if (argc > 1 && !first.starts_with("-") && std::ranges::none_of(commands, is_first))
    return {{}, exit_code::usage, "there is no command '" + first + "'; there are: " + names};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return {{}, app.exit(e), {}};  // --help, --version
    return {{}, exit_code::usage, std::string(e.what()) + " (--help shows the usage)"};
  }
  for (auto& [sub, run] : commands)
    if (sub->parsed()) return {std::move(run), exit_code::yes, {}};
  return {{}, exit_code::usage, {}};
}

}  // namespace longshore
