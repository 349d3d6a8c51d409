// The statements of a text in lark's notation.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "notation/lark_scanner.hpp"
#include "notation/lark_tree.hpp"

namespace schemagen {

// A rule, template or terminal.
struct LarkDefinition {
    bool is_term = false;
    bool keeps_all = false;            // trees leave out no terminal of it
    int32_t priority = 0;              // of a terminal
    LarkNode* tree = nullptr;          // a kChoice; none if it is only declared
    std::vector<uint32_t> parameters;  // of a template
    NotationPlace place;
};

struct LarkImport {
    struct Name {
        uint32_t there, here;
        NotationPlace place;
    };
    std::vector<uint32_t> path;
    bool is_relative = false;
    std::vector<Name> names;
    NotationPlace place;
};

struct LarkStatement {
    enum class Kind : uint8_t { kDefine, kOverride, kExtend, kIgnore, kDeclare, kImport };
    Kind kind = Kind::kDefine;
    uint32_t name = 0;               // of the definition
    LarkDefinition definition;       // kIgnore: its tree
    std::vector<LarkNode*> symbols;  // kDeclare
    LarkImport import;
};

// What a name in the text becomes: names of imported texts get a prefix.
using LarkRenaming = std::function<uint32_t(uint32_t)>;

// Reads text number `text`, of which `tokens` are the tokens. Names of `import` statements, and of ways to name a tree
// (`->`), are those of the text; all others are renamed.
std::vector<LarkStatement> lark_statements(std::string_view source, uint32_t text, const std::vector<LarkToken>& tokens,
                                           LarkTrees& trees, LarkNames& names, const LarkRenaming& renamed);

}  // namespace schemagen
