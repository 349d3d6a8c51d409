// The cache of masks: which entries go when there is no room, and that the masks of any machine do not depend on it.
#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "automata/mask_cache.hpp"
#include "runtime/matcher.hpp"
#include "tests/brackets.hpp"
#include "tests/check.hpp"

namespace schemagen {

namespace {

using Cache = MaskCache<int, std::string>;

class SmallCaches {
public:
    explicit SmallCaches(size_t bytes) : before_(most_mask_bytes.exchange(bytes)) {}
    ~SmallCaches() { most_mask_bytes = before_; }
    SmallCaches(const SmallCaches&) = delete;
    SmallCaches& operator=(const SmallCaches&) = delete;

private:
    size_t before_;
};

}  // namespace

TEST(an_entry_that_was_asked_for_gets_a_second_chance) {
    const SmallCaches small(3500);
    Cache cache;
    for (int key = 0; key < 3; ++key) cache.add(key, 1000) = std::to_string(key);
    CHECK(cache.find(0) && *cache.find(0) == "0");
    cache.add(3, 1000) = "3";
    CHECK(cache.find(0) && !cache.find(1) && cache.find(2) && cache.find(3));
    // All of them are marked now, so the first of the line goes after a whole turn.
    cache.add(4, 1000) = "4";
    CHECK(cache.find(4) && cache.bytes() <= 3500);
}

TEST(bytes_of_an_entry_may_grow) {
    const SmallCaches small(3500);
    Cache cache;
    cache.add(1, 1000) = "one";
    cache.add(2, 1000) = "two";
    const size_t before = cache.bytes();
    cache.grow(2, 500);
    CHECK(cache.bytes() == before + 500);
    cache.grow(3, 500);  // there is none
    CHECK(cache.bytes() == before + 500 && !cache.find(3));
    cache.grow(2, 1500);
    CHECK(!cache.find(1) && cache.find(2) && *cache.find(2) == "two");
    cache.grow(2, 5000);  // the only one stays, whatever its size
    CHECK(cache.find(2));
}

TEST(a_sweep_leaves_the_entries_that_were_asked_for) {
    Cache cache;
    for (int key = 0; key < 10; ++key) cache.add(key, 10) = std::to_string(key);
    for (int key : {3, 7}) CHECK(cache.find(key));
    cache.sweep();
    std::map<std::string, int> left;
    cache.each([&](const std::string& value) { ++left[value]; });
    CHECK(left == (std::map<std::string, int>{{"3", 1}, {"7", 1}}));
    cache.sweep();
    CHECK(cache.bytes() == 0 && !cache.find(3));
}

// Against a list that does the same by its definition.
TEST(a_cache_of_any_history_holds_what_a_list_would) {
    std::mt19937 random(11);
    const SmallCaches small(2000);
    Cache cache;
    const size_t node = [] {
        Cache one;
        one.add(0, 0);
        return one.bytes();
    }();
    struct Item {
        int key;
        size_t bytes;
        bool asked_for;
    };
    std::vector<Item> line;
    size_t bytes = 0;
    for (int step = 0; step < 3000; ++step) {
        const int key = static_cast<int>(random() % 40);
        const auto known = std::find_if(line.begin(), line.end(), [&](const Item& item) { return item.key == key; });
        CHECK((cache.find(key) != nullptr) == (known != line.end()));
        if (known != line.end()) {
            known->asked_for = true;
            continue;
        }
        const size_t size = random() % 400;
        cache.add(key, size);
        line.push_back({key, size + node, false});
        bytes += size + node;
        while (bytes > 2000 && line.size() > 1) {
            Item first = line.front();
            line.erase(line.begin());
            if (first.key == key || first.asked_for) {
                first.asked_for = false;
                line.push_back(first);
            } else {
                bytes -= first.bytes;
            }
        }
        CHECK(cache.bytes() == bytes);
    }
}

TEST(masks_are_the_same_without_room_for_them) {
    const std::vector<std::string_view> tokens = {"(", ")", "[", "]", "([", ")]", "()()", ""};
    auto tables = std::make_shared<const VocabularyTables>(tokens, std::vector<uint32_t>{7});
    const auto make = [&] {
        return std::make_shared<Constraint>(SharedAutomata::apart(), std::make_shared<Brackets>(), tables, Budget{});
    };
    Matcher roomy(make()), cramped(make());
    std::mt19937 random(12);
    for (int step = 0; step < 200 && !roomy.terminated(); ++step) {
        uint32_t expected = 0, words = 0;
        roomy.fill(&expected);
        {
            const SmallCaches none(0);
            cramped.fill(&words);
        }
        CHECK(words == expected);
        uint32_t token;
        do token = random() % 7;
        while (!(expected >> token & 1));
        CHECK(roomy.accept_token(token) && cramped.accept_token(token));
    }
}

}  // namespace schemagen
