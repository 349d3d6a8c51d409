// The features of any machine: masks, forced bytes, budgets, token tables; all compared with trying every token.
#include <random>

#include "masks/flat_view.hpp"
#include "runtime/matcher.hpp"
#include "runtime/token_table.hpp"
#include "tests/brackets.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

const std::vector<std::string_view> kTokens = {"(",  ")",   "[",    "]",    "()", "([",   ")]",
                                               "])", "[]]", "((((", "))))", "x",  "()()", ""};
constexpr uint32_t kEos = 13;

// A machine whose identity is as many words as were read, each of them 0.
class Counter final : public Brackets {
public:
    bool identity(const Configuration& config, bool, std::vector<uint64_t>& key) override {
        key.assign(config.count, 0);
        return true;
    }
};

std::shared_ptr<Constraint> brackets() {
    auto tables = std::make_shared<const VocabularyTables>(kTokens, std::vector<uint32_t>{kEos});
    return std::make_shared<Constraint>(SharedAutomata::current(), std::make_shared<Brackets>(), tables, Budget{});
}

uint32_t mask_of(Matcher& matcher, uint32_t budget = UINT32_MAX) {
    uint32_t words = 0;
    if (budget == UINT32_MAX)
        matcher.fill(&words);
    else
        matcher.fill(&words, budget);
    return words;
}

// With a budget: whether `budget` tokens are enough after it, as far as a text of single brackets tells.
uint32_t brute_force(Matcher& matcher, uint32_t budget = UINT32_MAX) {
    uint32_t words = 0;
    for (uint32_t id = 0; id < kTokens.size(); ++id) {
        if (!matcher.accept_token(id)) continue;
        if (budget == UINT32_MAX || id == kEos || matcher.tokens_to_finish() <= budget - 1) words |= 1u << id;
        matcher.rollback(1);
    }
    return words;
}

uint32_t drawn(uint32_t words, std::mt19937& random) {
    std::vector<uint32_t> ids;
    for (uint32_t id = 0; id < kTokens.size(); ++id)
        if (words >> id & 1) ids.push_back(id);
    return ids.empty() ? UINT32_MAX : ids[random() % ids.size()];
}

}  // namespace

TEST(keys_of_masks_are_identities_of_any_length) {
    Counter machine;
    FlatView view(machine);
    Configuration config;
    std::vector<LocalKey> keys;
    for (uint32_t count = 0; count < 20; ++count) {
        config.count = count;
        keys.push_back(view.local_key(config, 1));
        CHECK(keys.back().usable && keys.back() == view.local_key(config, 1));
    }
    for (size_t first = 0; first < keys.size(); ++first)
        for (size_t second = 0; second < first; ++second) CHECK(keys[first] != keys[second]);
    // Equal hashes are not enough.
    LocalKey other = keys[5];
    other.words[4] = 1;
    CHECK(other.a == keys[5].a && other != keys[5]);
}

TEST(masks_of_any_machine_equal_brute_force) {
    auto constraint = brackets();
    std::mt19937 random(7);
    for (int walk = 0; walk < 50; ++walk) {
        Matcher matcher(constraint);
        for (int step = 0; step < 40 && !matcher.terminated(); ++step) {
            const uint32_t mask = mask_of(matcher);
            CHECK(mask != 0);
            CHECK(mask == brute_force(matcher));
            CHECK(matcher.accept_token(drawn(mask, random)));
        }
    }
}

TEST(budgets_of_any_machine_are_kept) {
    auto constraint = brackets();
    std::mt19937 random(8);
    CHECK(Matcher(constraint).tokens_to_finish() == 1);  // "()"
    CHECK(Matcher(constraint).shortest_completion() == "()");
    for (uint32_t budget = 1; budget < 30; ++budget) {
        Matcher matcher(constraint);
        for (uint32_t left = budget; left > 0 && !matcher.terminated(); --left) {
            const uint32_t mask = mask_of(matcher, left);
            CHECK(mask == brute_force(matcher, left));
            CHECK(matcher.accept_token(drawn(mask, random)));
        }
        CHECK(matcher.terminated() || matcher.accepting());
    }
}

TEST(what_follows_without_a_choice_is_forced) {
    Matcher matcher(brackets());
    CHECK(matcher.forced_bytes(10).empty());
    CHECK(matcher.accept_bytes(std::string(Brackets::kMostOpen, '[')));
    CHECK(matcher.forced_bytes(100) == "]");  // after it another one may be opened
    CHECK(matcher.probe(")").second == "60 brackets are open");
}

TEST(the_token_table_of_any_machine_equals_its_masks) {
    auto constraint = brackets();
    TokenTable table(constraint);
    table.expand(200);
    CHECK(!table.is_closed());  // there are as many states as stacks
    std::mt19937 random(9);
    for (int walk = 0; walk < 20; ++walk) {
        Matcher matcher(constraint);
        for (int step = 0; step < 6 && !matcher.terminated(); ++step) {
            const uint32_t state = table.state_of(matcher), mask = mask_of(matcher);
            if (!table.is_ready(state)) table.expand_state(state);
            CHECK(table.masks()[table.mask_of(state)][0] == mask);
            CHECK(matcher.accept_token(drawn(mask, random)));
        }
    }
}

TEST(a_new_epoch_reads_the_text_again) {
    auto constraint = brackets();
    Matcher matcher(constraint);
    CHECK(matcher.accept_bytes("(["));
    const uint32_t before = mask_of(matcher);
    constraint->begin_anew();
    CHECK(mask_of(matcher) == before);
    CHECK(matcher.accept_bytes("])"));
    CHECK(matcher.accepting());
}

}  // namespace schemagen
