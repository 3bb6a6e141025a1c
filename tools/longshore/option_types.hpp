// Options whose values are checked while the command line is parsed: a wrong one ends with 64.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace longshore {

/// One argument: a comma list of finite numbers.
CLI::Option* add_numbers(CLI::App&, const std::string& option, std::vector<float>&,
                         const std::string& doc);

/// A path or a text that must not be empty.
const CLI::Validator& not_empty();

/// One of the names; the message lists them.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& option, T& to,
                        const std::vector<std::pair<std::string, T>>& names,
                        const std::string& doc) {
  return app
      .add_option_function<std::string>(
          option,
          [&to, names, option](const std::string& text) {
            std::string all;
            for (const auto& [name, value] : names) {
              if (text == name) return void(to = value);
              all += (all.empty() ? "" : ", ") + name;
            }
            throw CLI::ValidationError(option, "'" + text + "' is none of " + all);
          },
          doc)
      ->type_name("NAME");
}

}  // namespace longshore
