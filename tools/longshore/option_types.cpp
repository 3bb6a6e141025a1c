#include "option_types.hpp"

#include <charconv>
#include <cmath>

namespace longshore {

CLI::Option* add_numbers(CLI::App& app, const std::string& option, std::vector<float>& to,
                         const std::string& doc) {
  return app
      .add_option_function<std::string>(
          option,
          [&to, option](const std::string& text) {
            std::vector<float> out;
            for (std::size_t begin = 0; begin <= text.size();) {
              const std::size_t end = std::min(text.find(',', begin), text.size());
              float x = 0;
              const auto [stop, code] = std::from_chars(text.data() + begin, text.data() + end, x);
              if (code != std::errc{} || stop != text.data() + end || !std::isfinite(x))
                throw CLI::ValidationError(
                    option, "finite numbers with commas between expected, found '" + text + "'");
              out.push_back(x);
              begin = end + 1;
            }
            to = std::move(out);
          },
          doc)
      ->type_name("X,X,...");
}

const CLI::Validator& not_empty() {
  static const CLI::Validator validator(
      [](const std::string& text) {
        return text.empty() ? std::string("a name expected, found nothing") : std::string();
      },
      "");
  return validator;
}

}  // namespace longshore
