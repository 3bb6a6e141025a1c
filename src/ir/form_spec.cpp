#include "ir/form_spec.hpp"

#include <utility>

namespace longshore {

void FormSpec::refuse(std::string fact, std::string found, std::string wanted) {
  obstacles.push_back({std::move(fact), std::move(found), std::move(wanted)});
}

}  // namespace longshore
