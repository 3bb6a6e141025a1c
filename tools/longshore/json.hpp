// nlohmann::json, whose members are compiled in json.cpp alone: in every file that uses them they
// took half the time.
#pragma once
#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
