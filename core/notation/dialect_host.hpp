// What the reader of the Lark dialect asks its caller: JSON values, which remain the caller's, and what Python knows of
// characters.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace schemagen {

class DialectHost {
public:
    // A JSON value that was read, or why there is none.
    struct Json {
        uint32_t value = 0;  // its number, by which the other methods know it
        uint32_t end = 0;    // where it ends, or where the mistake is: in characters
        std::string fact;    // of the mistake: "no JSON: ..."; empty without
        std::string fix;
        bool is_limit = false;  // the mistake is that it is nested too deep
    };
    struct Option {
        std::string shown;          // its name as Python's `repr` shows it
        std::optional<bool> value;  // none if the value is something else
    };

    DialectHost() = default;
    DialectHost(const DialectHost&) = delete;
    DialectHost& operator=(const DialectHost&) = delete;
    virtual ~DialectHost() = default;

    // Reads the JSON value that begins `at` characters after the start of text number `text`.
    virtual Json json(uint32_t text, uint32_t at) = 0;
    // The members of a value that is an object, none if it is no object.
    virtual std::optional<std::vector<Option>> options(uint32_t value) = 0;
    // The chunks of {"substring_chunks": [...]}, {"substring_words": "..."} or {"substring_chars": "..."}, none if the
    // value is something else. Halves of characters, which JSON may have, are three bytes each, as "surrogatepass"
    // encodes them.
    virtual std::optional<std::vector<std::string>> substring(uint32_t value) = 0;
    // The names and patterns of the library `common`, in the order in which errors list them.
    virtual const std::vector<std::pair<std::string, std::string>>& common() = 0;
    // Whether Python's `\w` matches a character, which is beyond ASCII.
    virtual bool is_word(const std::string& character) = 0;
};

}  // namespace schemagen
