// nlohmann::json, whose members are compiled in json.cpp alone and not in every file that uses
// them.
#pragma once
#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
