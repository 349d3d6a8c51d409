// JSON values as text: one canonical form per value, so that equality is equality of bytes.
//
// Canonical: no whitespace; members sorted by key; strings with the escapes of json.dumps and raw UTF-8 otherwise;
// numbers as json/number_values.hpp says. 1, 1.0 and 10e-1 are one value.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace schemagen {

// `text` must be a JSON text. May be empty if it is not (this is not a validator).
std::string canonical_json(std::string_view text);

// Views into canonical text: the members of an object (key still quoted), the items of an array; empty for scalars.
struct Member {
    std::string_view key, value;
};
std::vector<Member> members_of(std::string_view canonical);

// UTF-8 as it is between the quotes of a canonical string.
std::string escaped(std::string_view utf8);

// The code points of a canonical string.
std::u32string decode_string(std::string_view canonical);

}  // namespace schemagen
