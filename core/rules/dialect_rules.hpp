// Grammars in the Lark dialect of llguidance and xgrammar, read to rules.
//
// The notation is lark's with more in it (notation/dialect_parser.hpp): JSON Schemas, grammars within the grammar,
// regular operators on terminals, rules that are read as one terminal, rules with a parameter.
//
// Terminals that the parser expects at once are run side by side, and the longest match of any of them is taken; a rule
// with
// `[lazy]`, `stop=` or `suffix=` is a terminal whose first match ends it, and whatever runs beside it
// (competition.hpp). Ignored texts are allowed after every terminal. Where llguidance and xgrammar differ:
//
// - The longest match is the longest in the text. llguidance goes on as long as any match might get longer, and gives
// up
//   where it does not: `/[0-9]+(\.[0-9]+)?/ "."` does not match `1.` there. xgrammar takes any match, and a lazy rule
//   ends itself alone there; only in free text with tools does it end others, too.
// - Ignored texts are allowed after the last terminal, and before `%json`, as in xgrammar.
// - The text of `stop=` is a part of the text. llguidance takes it away again where a rule follows that begins with it.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "notation/dialect_parser.hpp"
#include "regex/kernel.hpp"
#include "rules/dialect_rules_host.hpp"
#include "rules/rule_set.hpp"

namespace schemagen {

// A rule whose texts are captured, or have a temperature.
struct DialectLabels {
    uint32_t rule;
    std::string capture, stop_capture;  // names; empty without
    std::optional<double> temperature;
    // Of a rule that is one terminal: its texts without the end, with a bound if it has one, then the end, then the
    // ignored text after it. Otherwise the labels are around the whole body.
    struct Terminal {
        ExpressionId text;
        TreeId end, ignored;
    };
    std::optional<Terminal> terminal;
};

// A rule of at most some characters that is not one terminal: rules that are regular are to be written out.
struct BoundedRule {
    uint32_t rule;
    uint64_t most;
    std::string name;
    NotationPlace place;  // of max_chars=

    // Says that it is not regular, and why.
    [[noreturn]] void refuse(const std::string& why) const;
};

struct DialectOptions {
    std::string start = "start";
    bool longest = true;  // else any match is taken, and patterns are those of ECMA-262 and not of Rust
};

// One reading of a grammar, from the text to rules over places of terminals, and then over terminals. The functions are
// called in their order, each once but `write_out_bounded`. They throw NotationError, whose places are in the texts.
class DialectReading {
public:
    // Of no rules so far.
    DialectReading(RuleSet& set, DialectHost& parser_host, DialectRulesHost& host);
    ~DialectReading();

    // The texts that were read: the grammar itself, then others as they are asked for. The name of the first is empty.
    const std::deque<std::string>& texts() const;
    const std::vector<std::string>& names() const;

    // Reads the rules. Their terminals are places: terminal p of the set is place p.
    void read(std::string text, const DialectOptions& options);
    // Rules with a bound that are to be written out, before `resolve`, and what became of each: its texts, of which
    // those that are too long are dropped here. The texts of places are those where nothing competes.
    const std::vector<BoundedRule>& bounded() const;
    std::vector<TreeId> languages_of_places() const;
    void write_out_bounded(const BoundedRule& rule, TreeId texts);
    // Replaces the places by terminals as they match beside others. The caller has the kernel, and the host is not
    // asked whether a language is empty. Throws what `items_of` throws.
    void resolve(Kernel& kernel);
    // Of the rules that are still there.
    const std::vector<DialectLabels>& labels() const;

private:
    class Reader;
    std::unique_ptr<Reader> reader_;
};

}  // namespace schemagen
