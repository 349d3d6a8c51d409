#include "notation/dialect_tree.hpp"

namespace schemagen {

bool is_terminal_name(std::string_view name) {
    const size_t at = name.find_first_not_of('_');
    return at != name.npos && name[at] >= 'A' && name[at] <= 'Z';
}

bool DialectNode::is_terminal_name() const { return schemagen::is_terminal_name(text); }

}  // namespace schemagen
