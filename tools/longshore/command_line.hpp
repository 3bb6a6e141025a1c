// The options of commands, and reading the arguments: a wrong value ends with 64. The library
// behind it is all inline functions: a file that includes it takes 18 s to compile, so only
// command_line.cpp does.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace longshore {

/// What is said of an option beside its name; each returns the option again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  const Option& required() const;
  const Option& group(const std::string&) const;  // its heading in the help
  const Option& one_of(const std::vector<std::string>&) const;
  const Option& positive() const;
  const Option& not_empty() const;
  const Option& excludes(const Option&) const;
  const Option& show_default() const;
  /// `given` becomes true where the option is there.
  const Option& notes(bool& given) const;
  /// May be given several times, with one value each: what follows the value is no second one.
  const Option& one_at_a_time() const;
  template <class Number>
  const Option& range(Number low, Number high) const {
    if constexpr (std::is_floating_point_v<Number>)
      return real_range(low, high);
    else
      return whole_range(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  }

 private:
  const Option& real_range(double low, double high) const;
  const Option& whole_range(std::int64_t low, std::int64_t high) const;

  CLI::Option* option_;
};

/// The arguments of one command. Names are `--long`, `-s,--long`, `--yes,!--no`, or a word for a
/// positional.
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(app) {}

  Option add_flag(const std::string& names, bool&, const std::string& doc);
  /// A flag that says what is so anyhow.
  Option add_flag(const std::string& names, const std::string& doc);
  Option add_option(const std::string& names, std::string&, const std::string& doc);
  Option add_option(const std::string& names, std::vector<std::string>&, const std::string& doc);
  /// One argument: a comma list of finite numbers.
  Option add_numbers(const std::string& name, std::vector<float>&, const std::string& doc);
  Option add_option(const std::string& names, int&, const std::string& doc);
  Option add_option(const std::string& names, unsigned&, const std::string& doc);
  Option add_option(const std::string& names, std::uint64_t&, const std::string& doc);
  Option add_option(const std::string& names, std::optional<std::uint64_t>&,
                    const std::string& doc);
  Option add_option(const std::string& names, float&, const std::string& doc);
  Option add_option(const std::string& names, double&, const std::string& doc);

  /// One of several names, each with its value; the message lists them.
  template <class T>
  Option add_choice(const std::string& name, T& value,
                    std::vector<std::pair<std::string, T>> choices, const std::string& doc) {
    std::vector<std::string> allowed;
    for (const auto& choice : choices) allowed.push_back(choice.first);
    return add_name(
        name, std::move(allowed),
        [&value, choices = std::move(choices)](std::size_t i) { value = choices[i].second; }, doc);
  }

 private:
  Option add_name(const std::string& name, std::vector<std::string> allowed,
                  std::function<void(std::size_t)> chosen, const std::string& doc);

  CLI::App& app_;
};

/// What the arguments ask for: a command to run; or, without one, an exit code and perhaps a
/// complaint.
struct Request {
  std::function<int()> run;
  int code = 0;
  std::string complaint;
};

Request read_arguments(int argc, char** argv);

}  // namespace longshore
