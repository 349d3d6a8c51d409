#include "notation/lark_definitions.hpp"

#include <algorithm>
#include <unordered_set>

#include "util/work.hpp"

namespace schemagen {

namespace {

using Kind = LarkNode::Kind;

template <class Visit>
void for_each_node(LarkNode* node, const Visit& visit) {
    visit(node);
    if (node->kind == Kind::kReference) return;
    for (LarkNode* child : node->children) for_each_node(child, visit);
}

const char* kind_of(bool is_term) { return is_term ? "terminal" : "rule"; }

// --- one text ------------------------------------------------------------------------------------------------------

class LarkText {
public:
    LarkText(LarkReading& reading, uint32_t number, const LarkRenaming* outer)
        : reading_(reading), number_(number), outer_(outer) {}

    LarkDefinitions read() {
        const std::string& source = reading_.texts[number_];
        const std::vector<LarkToken> tokens = lark_tokens(source, number_, NotationLimits::kTokens - reading_.tokens);
        reading_.tokens += tokens.size();
        const LarkRenaming same = [](uint32_t name) { return name; };
        const std::vector<LarkStatement> statements =
            lark_statements(source, number_, tokens, reading_.trees, reading_.names, outer_ ? *outer_ : same);
        import_all(statements);
        for (const LarkStatement& statement : statements) add(statement);
        connect_terminals();
        return std::move(definitions_);
    }

private:
    std::string shown(uint32_t name) const { return "'" + reading_.names[name] + "'"; }

    // --- imports

    void import_all(const std::vector<LarkStatement>& statements) {
        std::vector<LarkImport> imports;  // those of one path together
        for (const LarkStatement& statement : statements) {
            if (statement.kind != LarkStatement::Kind::kImport) continue;
            const LarkImport& import = statement.import;
            const auto same = std::ranges::find(imports, import.path, &LarkImport::path);
            if (same == imports.end()) {
                imports.push_back(import);
                continue;
            }
            if (same->is_relative != import.is_relative)
                refuse(import.place, "the same grammar is imported with and without a '.' before its name",
                       "one of them is a file beside this grammar", "import both in the same way");
            same->names.insert(same->names.end(), import.names.begin(), import.names.end());
        }
        for (const LarkImport& import : imports) load(import);
    }

    void load(const LarkImport& import) {
        if (reading_.texts.size() > NotationLimits::kTexts)
            stop(import.place, "more than " + std::to_string(NotationLimits::kTexts) + " grammars are imported",
                 "each of them may import others, and itself", "write their rules into fewer grammars");
        std::vector<std::string> path;
        std::string prefix, dotted;
        for (uint32_t part : import.path) {
            path.push_back(reading_.names[part]);
            prefix += (prefix.empty() ? "" : "__") + path.back();
            dotted += (dotted.empty() ? "" : ".") + path.back();
        }
        reading_.texts.push_back(text_of(import, path));
        reading_.paths.push_back(dotted);
        std::unordered_map<uint32_t, uint32_t> wanted;
        for (const auto& [there, here, place] : import.names) wanted[there] = here;
        const LarkRenaming renamed = [&](uint32_t name) {
            const auto here = wanted.find(name);
            const uint32_t found = here != wanted.end() ? here->second : prefixed(prefix, name);
            return outer_ ? (*outer_)(found) : found;
        };
        LarkDefinitions imported =
            LarkText(reading_, static_cast<uint32_t>(reading_.texts.size() - 1), &renamed).read();
        std::vector<uint32_t> needed;
        needed.reserve(import.names.size());
        for (const auto& [there, here, place] : import.names) {
            needed.push_back(renamed(there));
            if (!imported.find(needed.back())) reading_.absent.emplace(needed.back(), place);
        }
        keep(imported, std::move(needed), import.place);
    }

    std::string text_of(const LarkImport& import, const std::vector<std::string>& path) {
        try {
            return reading_.host.text(path, import.is_relative, number_);
        } catch (NotationError& error) {
            error.place = import.place;
            throw;
        }
    }

    uint32_t prefixed(const std::string& prefix, uint32_t name) {
        const std::string& own = reading_.names[name];
        return reading_.names.number(own[0] == '_' ? "_" + prefix + "__" + own.substr(1) : prefix + "__" + own);
    }

    // Take over the definitions that are needed, and those that their rules name.
    void keep(LarkDefinitions& imported, std::vector<uint32_t> needed, NotationPlace place) {
        std::unordered_set<uint32_t> seen;
        while (!needed.empty()) {
            const uint32_t name = needed.back();
            needed.pop_back();
            LarkDefinition* definition = seen.insert(name).second ? imported.find(name) : nullptr;
            if (!definition || definition->is_term || !definition->tree) continue;
            for_each_node(definition->tree, [&](const LarkNode* node) {
                const bool is_name = node->kind == Kind::kSymbol || node->kind == Kind::kTemplate;
                if (is_name && !std::ranges::count(definition->parameters, node->name)) needed.push_back(node->name);
            });
        }
        for (auto& [name, definition] : imported) {
            if (!seen.contains(name)) continue;
            if (definitions_.find(name))
                refuse(place, shown(name) + " is imported twice", "", "import it once, or as another name");
            definitions_.put(name, std::move(definition));
        }
    }

    // --- statements

    void add(const LarkStatement& statement) {
        poll();
        switch (statement.kind) {
            case LarkStatement::Kind::kDefine: return define(statement.name, statement.definition, false);
            case LarkStatement::Kind::kOverride: return define(statement.name, statement.definition, true);
            case LarkStatement::Kind::kExtend: return extend(statement.name, statement.definition);
            case LarkStatement::Kind::kDeclare: return declare(statement.symbols);
            case LarkStatement::Kind::kIgnore: return outer_ ? void() : ignore(statement.definition);
            case LarkStatement::Kind::kImport: return;
        }
    }

    void define(uint32_t name, const LarkDefinition& definition, bool overrides) {
        const std::string what = kind_of(definition.is_term) + (" " + shown(name));
        if (!overrides && definitions_.find(name))
            refuse(definition.place, "the " + what + " is defined more than once", "",
                   "write its alternatives into one definition, with '|' between them, or use %extend or %override");
        if (overrides && !definitions_.find(name))
            refuse(definition.place, "the " + what + " is overridden and not defined before", "",
                   "leave %override out, or import it first");
        if (reading_.names[name].starts_with("__"))
            refuse(definition.place, "the name " + shown(name) + " begins with two underscores",
                   "such names are those of rules that lark makes", "rename the grammar that is imported");
        definitions_.put(name, definition);
    }

    void extend(uint32_t name, const LarkDefinition& definition) {
        LarkDefinition* known = definitions_.find(name);
        const std::string what = kind_of(definition.is_term) + (" " + shown(name));
        if (!known || !known->tree)
            refuse(definition.place, "the " + what + " is extended and not defined before", "",
                   "leave %extend out, or import it first");
        if (known->is_term != definition.is_term || known->parameters != definition.parameters)
            refuse(definition.place, "the " + what + " is extended by something of another kind",
                   "a terminal stays one, and a template keeps its parameters", "rename one of them");
        known->tree->children.insert(known->tree->children.begin(), definition.tree);
    }

    void declare(const std::vector<LarkNode*>& symbols) {
        for (const LarkNode* symbol : symbols) {
            LarkDefinition definition;
            definition.is_term = symbol->is_term;
            definition.place = symbol->place;
            define(symbol->name, definition, false);
        }
    }

    void ignore(const LarkDefinition& definition) {
        const LarkNode* alternative = definition.tree->children[0];
        const bool is_single = definition.tree->children.size() == 1 && alternative->kind == Kind::kSequence &&
                               alternative->children.size() == 1;
        const LarkNode* only = is_single ? alternative->children[0] : nullptr;
        if (only && only->kind == Kind::kSymbol && only->is_term) {
            reading_.ignored.emplace_back(only->name, only->place);
            return;
        }
        const uint32_t name = reading_.names.number("__IGNORE_" + std::to_string(reading_.ignored.size()));
        reading_.ignored.emplace_back(name, definition.place);
        definitions_.put(name, definition);
    }

    // --- terminals made of others

    void connect_terminals() {
        for (auto& [name, definition] : definitions_)
            if (definition.is_term && definition.tree)
                for_each_node(definition.tree, [&](LarkNode* node) { connect(node); });
        std::unordered_map<const LarkNode*, uint32_t> heights;
        for (auto& [name, definition] : definitions_)
            if (definition.is_term && definition.tree) check_height(definition.tree, name, 0, heights);
    }

    void connect(LarkNode* node) {
        if (node->kind != Kind::kSymbol) return;
        if (!node->is_term)
            refuse(node->place, "the rule " + shown(node->name) + " in a terminal",
                   "terminals are made of terminals, literals and patterns",
                   "write a terminal in the place of the rule, or a rule in the place of the terminal");
        const LarkDefinition* target = definitions_.find(node->name);
        if (!target || !target->is_term) reading_.refuse_missing(node->name, true, node->place, definitions_);
        if (!target->tree)
            refuse(node->place, "the terminal " + shown(node->name) + " is declared, and part of another one",
                   "%declare leaves its texts to the caller", "define it, or name it in the rules");
        node->kind = Kind::kReference;
        node->children = {target->tree};
    }

    // The nodes below one another. 0 stands for a definition that is being looked at.
    uint32_t check_height(const LarkNode* node, uint32_t name, uint32_t depth,
                          std::unordered_map<const LarkNode*, uint32_t>& heights) {
        if (depth > NotationLimits::kDepth) stop_deep(node, name);
        uint32_t height = 0;
        for (const LarkNode* child : node->children) {
            const bool is_definition = node->kind == Kind::kReference;
            const auto known = is_definition ? heights.find(child) : heights.end();
            if (known != heights.end() && !known->second)
                refuse(node->place, "the terminal " + shown(node->name) + " is made of itself",
                       "only rules may be recursive", "write a rule in the place of the terminal");
            if (is_definition) heights.emplace(child, 0);
            height = std::max(height,
                              known != heights.end() ? known->second : check_height(child, name, depth + 1, heights));
            if (is_definition) heights[child] = height;
        }
        if (height >= NotationLimits::kDepth) stop_deep(node, name);
        return height + 1;
    }

    [[noreturn]] void stop_deep(const LarkNode* node, uint32_t name) const {
        stop(node->place, "the terminal " + shown(name) + " is made of others, and they of others, too deep",
             "the limit is " + std::to_string(NotationLimits::kDepth) + " groups and names inside one another",
             "write some of them as patterns");
    }

    LarkReading& reading_;
    uint32_t number_;
    const LarkRenaming* outer_;
    LarkDefinitions definitions_;
};

// --- all of them ---------------------------------------------------------------------------------------------------

class Validation {
public:
    explicit Validation(LarkReading& reading) : reading_(reading) {}

    void run() {
        for (auto& [name, definition] : reading_.definitions) {
            poll();
            check_parameters(definition);
            if (!definition.tree) continue;
            for_each_node(definition.tree, [&](const LarkNode* node) { check_use(node, definition); });
        }
        for (const auto& [name, place] : reading_.ignored)
            if (!reading_.definitions.find(name)) reading_.refuse_missing(name, true, place, reading_.definitions);
    }

private:
    std::string shown(uint32_t name) const { return "'" + reading_.names[name] + "'"; }

    void check_parameters(const LarkDefinition& definition) {
        const std::vector<uint32_t>& parameters = definition.parameters;
        for (auto at = parameters.begin(); at != parameters.end(); ++at) {
            if (reading_.definitions.find(*at))
                refuse(definition.place, "the parameter " + shown(*at) + " has the name of a rule", "",
                       "rename one of them");
            if (std::find(parameters.begin(), at, *at) != at)
                refuse(definition.place, "two parameters have the name " + shown(*at), "", "rename one of them");
        }
    }

    void check_use(const LarkNode* node, const LarkDefinition& definition) {
        if (node->kind != Kind::kSymbol && node->kind != Kind::kTemplate) return;
        if (std::ranges::count(definition.parameters, node->name)) return;
        const LarkDefinition* used = reading_.definitions.find(node->name);
        if (!used) reading_.refuse_missing(node->name, node->is_term, node->place, reading_.definitions);
        if (node->kind == Kind::kTemplate && used->parameters.size() != node->children.size())
            refuse(node->place,
                   "the template " + shown(node->name) + " with " + std::to_string(node->children.size()) + " values",
                   "it has " + std::to_string(used->parameters.size()) + " parameters", "give one for each");
    }

    LarkReading& reading_;
};

}  // namespace

void LarkReading::refuse_missing(uint32_t name, bool is_term, NotationPlace place, const LarkDefinitions& among) const {
    if (const auto import = absent.find(name); import != absent.end())
        refuse(import->second, "'" + names[name] + "' is imported, and not defined there", "",
               "import a name of a rule or terminal in that grammar");
    std::vector<std::string> defined;
    for (const auto& [each, definition] : among) defined.push_back(names[each]);
    refuse(place, std::string("the ") + kind_of(is_term) + " '" + names[name] + "' is not defined", "",
           host.fix_of_missing(names[name], is_term, defined));
}

void read_definitions(LarkReading& reading, std::string text) {
    reading.texts.push_back(std::move(text));
    reading.paths.emplace_back();
    reading.definitions = LarkText(reading, 0, nullptr).read();
    Validation(reading).run();
}

}  // namespace schemagen
