// What the reader of lark's notation asks its caller.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace schemagen {

class LarkHost {
public:
    struct Width {
        uint64_t least, most;  // characters
    };

    LarkHost() = default;
    LarkHost(const LarkHost&) = delete;
    LarkHost& operator=(const LarkHost&) = delete;
    virtual ~LarkHost() = default;

    // The text that `path` names in an import, from the place of text `importer` if it is relative. Texts are numbered
    // in the order in which they are asked for, from 1.
    virtual std::string text(const std::vector<std::string>& path, bool is_relative, uint32_t importer) = 0;
    // The lengths of the texts that a pattern of Python's `re` matches, as `re` knows them; an error as text if it is
    // no pattern.
    virtual std::pair<Width, std::string> width(const std::string& pattern) = 0;
    // A literal in capital letters if that is a name; else empty. Asked for literals beyond ASCII.
    virtual std::string name_of(const std::string& literal) = 0;
    // The way to define a name that is missing among those that are defined.
    virtual std::string fix_of_missing(const std::string& name, bool is_term,
                                       const std::vector<std::string>& defined) = 0;
};

}  // namespace schemagen
