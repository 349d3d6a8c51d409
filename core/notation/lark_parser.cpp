#include "notation/lark_parser.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "util/work.hpp"

namespace schemagen {

namespace {

using Kind = LarkNode::Kind;
using Sign = LarkSign;

class LarkParser {
public:
    LarkParser(std::string_view source, uint32_t text, const std::vector<LarkToken>& tokens, LarkTrees& trees,
               LarkNames& names, const LarkRenaming& renamed)
        : source_(source),
          text_(text),
          first_(tokens.data()),
          token_(first_),
          trees_(trees),
          names_(names),
          renamed_(renamed) {}

    std::vector<LarkStatement> statements() {
        std::vector<LarkStatement> found;
        while (!sees(Sign::kEnd)) {
            poll();
            if (!take(Sign::kNewLine)) found.push_back(statement());
        }
        return found;
    }

private:
    // --- tokens ----------------------------------------------------------------------------------------------------

    bool sees(Sign sign) const { return token_->sign == sign; }
    bool take(Sign sign) {
        if (!sees(sign)) return false;
        ++token_;
        return true;
    }
    std::string_view spelling() const { return source_.substr(token_->begin, token_->end - token_->begin); }
    NotationPlace place() const { return {text_, token_->begin}; }

    std::string_view need(Sign sign, const char* wanted) {
        if (!sees(sign)) unexpected(wanted);
        const std::string_view found = spelling();
        ++token_;
        return found;
    }

    [[noreturn]] void unexpected(const std::string& wanted) const {
        const std::string expected = wanted + " is expected here";
        if (sees(Sign::kNewLine)) refuse(place(), wanted + " is missing", "the line ends here");
        if (sees(Sign::kEnd)) refuse(place(), wanted + " is missing", "the text ends here");
        if (!sees(Sign::kBad))
            refuse(place(), "unexpected '" + std::string(spelling()) + "'", expected,
                   is_mixed_name() ? "write names in small letters for rules, in capital ones for terminals" : "");
        const char first = source_[token_->begin];
        if (first == '"' || first == '/')
            refuse(place(), first == '"' ? "a literal without an end" : "a pattern without an end",
                   "it ends with the sign that it begins with", "write another one, or \\ before one that is meant");
        if (static_cast<uint8_t>(first) < ' ')
            refuse(place(), "unexpected input: the control character " + std::to_string(first), expected);
        size_t length = 1;
        while (token_->begin + length < source_.size() && (source_[token_->begin + length] & 0xC0) == 0x80) ++length;
        refuse(place(), "unexpected input: '" + std::string(source_.substr(token_->begin, length)) + "'", expected,
               first == '\'' ? "write literals in double quotes" : "");
    }

    // Whether a name stands directly after another: `Name` is one of a terminal and one of a rule.
    bool is_mixed_name() const {
        const auto is_name = [](Sign sign) { return sign == Sign::kRule || sign == Sign::kTerminal; };
        return token_ != first_ && is_name(token_->sign) && is_name(token_[-1].sign) && token_[-1].end == token_->begin;
    }

    int32_t number(const char* wanted) {
        const NotationPlace at = place();
        std::string_view digits = need(Sign::kNumber, wanted);
        if (digits[0] == '+') digits.remove_prefix(1);
        const size_t sign = digits[0] == '-' ? 1 : 0;
        const size_t zeros = std::min(digits.find_first_not_of('0', sign), digits.size()) - sign;
        if (digits.size() - sign - zeros > NotationLimits::kDigits)
            stop(at, "a number counts too far: " + std::string(digits.substr(0, 20)) + "...",
                 "it has more than " + std::to_string(NotationLimits::kDigits) + " digits", "use a smaller one");
        int32_t value = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return value;
    }

    // --- statements ------------------------------------------------------------------------------------------------

    LarkStatement statement() {
        LarkStatement found;
        if (take(Sign::kImport))
            import(found);
        else if (take(Sign::kIgnore))
            ignore(found);
        else if (take(Sign::kDeclare))
            declare(found);
        else if (take(Sign::kOverride))
            define(found, LarkStatement::Kind::kOverride);
        else if (take(Sign::kExtend))
            define(found, LarkStatement::Kind::kExtend);
        else
            define(found, LarkStatement::Kind::kDefine);
        need(Sign::kNewLine, "a part, '|' or the end of the line");
        return found;
    }

    void define(LarkStatement& found, LarkStatement::Kind kind) {
        found.kind = kind;
        LarkDefinition& definition = found.definition;
        const bool is_modified = sees(Sign::kModifiers);
        const std::string_view modifiers = is_modified ? need(Sign::kModifiers, "") : "";
        definition.keeps_all = modifiers.find('!') != modifiers.npos;
        definition.place = place();
        definition.is_term = !is_modified && sees(Sign::kTerminal);
        if (!definition.is_term && !sees(Sign::kRule)) unexpected("the name of a rule or terminal, or a statement");
        const std::string_view name = spelling();
        ++token_;
        if (modifiers.find('?') != modifiers.npos && name[0] == '_')
            refuse(definition.place, "the rule '" + std::string(name) + "' is marked with '?'",
                   "its name begins with an underscore, so that trees never have it", "leave one of them out");
        found.name = renamed_(names_.number(name));
        if (!definition.is_term && take(Sign::kOpenBrace)) definition.parameters = parameters();
        if (take(Sign::kDot)) definition.priority = number("a priority");
        colon(name);
        definition.tree = choice();
    }

    std::vector<uint32_t> parameters() {
        std::vector<uint32_t> found;
        do found.push_back(renamed_(names_.number(need(Sign::kRule, "the name of a parameter"))));
        while (take(Sign::kComma));
        need(Sign::kCloseBrace, "'}'");
        return found;
    }

    void colon(std::string_view name) {
        const std::string_view rest = source_.substr(token_->begin);
        for (const std::string_view sign : {"::=", ":=", "="})
            if (rest.starts_with(sign))
                refuse(place(), "unexpected '" + std::string(sign) + "'", "lark writes ':' after a name",
                       "write ':' instead of '" + std::string(sign) + "': " + std::string(name) + ": ...");
        need(Sign::kColon, "':'");
    }

    void ignore(LarkStatement& found) {
        found.kind = LarkStatement::Kind::kIgnore;
        found.definition.is_term = true;
        found.definition.place = place();
        found.definition.tree = choice();
    }

    void declare(LarkStatement& found) {
        found.kind = LarkStatement::Kind::kDeclare;
        do found.symbols.push_back(symbol("the name of a terminal"));
        while (sees(Sign::kRule) || sees(Sign::kTerminal));
    }

    void import(LarkStatement& found) {
        found.kind = LarkStatement::Kind::kImport;
        LarkImport& import = found.import;
        import.place = place();
        import.is_relative = take(Sign::kDot);
        do import.path.push_back(any_name());
        while (take(Sign::kDot));
        if (take(Sign::kOpen)) {
            do {
                const NotationPlace at = place();
                const uint32_t name = any_name();
                import.names.push_back({name, name, at});
            } while (take(Sign::kComma));
            need(Sign::kClose, "')'");
            return;
        }
        const uint32_t name = import.path.back();
        import.path.pop_back();
        if (import.path.empty())
            refuse(import.place, "nothing is imported from '" + names_[name] + "'",
                   "only the last name of an import is that of a rule or terminal",
                   "write %import " + names_[name] + ".NAME");
        import.names.push_back({name, take(Sign::kArrow) ? any_name() : name, import.place});
    }

    uint32_t any_name() {
        if (!sees(Sign::kRule) && !sees(Sign::kTerminal)) unexpected("a name");
        const uint32_t name = names_.number(spelling());
        ++token_;
        return name;
    }

    // --- what a name means ----------------------------------------------------------------------------------------

    LarkNode* choice() {
        LarkNode* node = trees_.make(Kind::kChoice, place());
        do node->children.push_back(alternative());
        while (take(Sign::kBar));
        return node;
    }

    LarkNode* alternative() {
        LarkNode* node = trees_.make(Kind::kSequence, place());
        while (begins_part()) node->children.push_back(part());
        if (!take(Sign::kArrow)) return node;
        LarkNode* alias = trees_.make(Kind::kAlias, place(), {node});
        alias->name = names_.number(need(Sign::kRule, "a name in small letters"));
        return alias;
    }

    bool begins_part() const {
        return sees(Sign::kOpen) || sees(Sign::kOpenSquare) || sees(Sign::kRule) || sees(Sign::kTerminal) ||
               sees(Sign::kLiteral) || sees(Sign::kPattern);
    }

    LarkNode* part() {
        LarkNode* inner = group_or_value();
        if (!sees(Sign::kRepeat) && !sees(Sign::kTilde)) return inner;
        LarkNode* node = trees_.make(Kind::kRepeat, place(), {inner});
        node->sign = spelling()[0];
        if (!take(Sign::kTilde)) {
            ++token_;
            return node;
        }
        node->low = node->high = number("how often it is repeated");
        if (take(Sign::kTwoDots)) {
            node->sign = '-';
            node->high = number("how often it is repeated at most");
        }
        return node;
    }

    LarkNode* group_or_value() {
        if (!sees(Sign::kOpen) && !sees(Sign::kOpenSquare)) return value();
        const NotationPlace at = place();
        const Nested nested(*this);
        const bool is_maybe = sees(Sign::kOpenSquare);
        ++token_;
        LarkNode* node = choice();
        need(is_maybe ? Sign::kCloseSquare : Sign::kClose, is_maybe ? "']'" : "')'");
        return is_maybe ? trees_.make(Kind::kMaybe, at, {node}) : node;
    }

    LarkNode* value() {
        const NotationPlace at = place();
        if (sees(Sign::kRule) && token_[1].sign == Sign::kOpenBrace) return filled_template();
        if (sees(Sign::kRule) || sees(Sign::kTerminal)) return symbol("");
        if (!sees(Sign::kLiteral) && !sees(Sign::kPattern)) unexpected("a name, a literal or a pattern");
        const bool is_pattern = sees(Sign::kPattern);
        LarkNode* node = trees_.make(is_pattern ? Kind::kPattern : Kind::kLiteral, at);
        node->source = spelling();
        ++token_;
        if (is_pattern || !take(Sign::kTwoDots)) return node;
        node->kind = Kind::kRange;
        node->last = need(Sign::kLiteral, "the last character");
        return node;
    }

    LarkNode* filled_template() {
        const Nested nested(*this);
        LarkNode* node = trees_.make(Kind::kTemplate, place());
        node->name = renamed_(names_.number(spelling()));
        token_ += 2;
        do node->children.push_back(value());
        while (take(Sign::kComma));
        need(Sign::kCloseBrace, "'}'");
        return node;
    }

    LarkNode* symbol(const char* wanted) {
        if (!sees(Sign::kRule) && !sees(Sign::kTerminal)) unexpected(wanted);
        const bool is_term = sees(Sign::kTerminal);
        const std::string_view name = spelling();
        LarkNode* node = trees_.symbol(renamed_(names_.number(name)), is_term, is_term && name[0] == '_', place());
        ++token_;
        return node;
    }

    // A group inside of which others may stand.
    class Nested {
    public:
        explicit Nested(LarkParser& parser) : parser_(parser) {
            if (parser.depth_ == NotationLimits::kNesting)
                stop(parser.place(), "groups are nested more than " + std::to_string(parser.depth_) + " deep", "",
                     "give the inner ones names");
            ++parser.depth_;
        }
        ~Nested() { --parser_.depth_; }
        Nested(const Nested&) = delete;
        Nested& operator=(const Nested&) = delete;

    private:
        LarkParser& parser_;
    };

    std::string_view source_;
    uint32_t text_;
    const LarkToken* first_;
    const LarkToken* token_;
    LarkTrees& trees_;
    LarkNames& names_;
    const LarkRenaming& renamed_;
    uint32_t depth_ = 0;
};

}  // namespace

std::vector<LarkStatement> lark_statements(std::string_view source, uint32_t text, const std::vector<LarkToken>& tokens,
                                           LarkTrees& trees, LarkNames& names, const LarkRenaming& renamed) {
    return LarkParser(source, text, tokens, trees, names, renamed).statements();
}

}  // namespace schemagen
