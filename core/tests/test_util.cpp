#include <random>

#include "tests/check.hpp"
#include "util/arena.hpp"
#include "util/bits.hpp"
#include "util/hash_index.hpp"
#include "util/key_table.hpp"
#include "util/shown.hpp"

namespace schemagen {

TEST(an_arena_gives_memory_back_down_to_a_mark) {
    Arena arena;
    arena.allocate(100);
    const Arena::Mark mark = arena.mark();
    void* first = arena.allocate(3000);
    arena.allocate(100'000);
    arena.release(mark);
    CHECK(arena.allocate(3000) == first);
}

TEST(an_arena_of_many_chunks_goes_on) {
    Arena arena;
    for (int k = 0; k < 100; ++k) CHECK(arena.allocate(60'000) != nullptr);
}

TEST(bits_are_set_cleared_and_counted) {
    std::vector<uint32_t> words(4, 0);
    for (uint32_t bit : {0u, 31u, 32u, 127u}) set_bit(words.data(), bit);
    CHECK(count_bits(words.data(), words.size()) == 4);
    CHECK(has_bit(words.data(), 32) && !has_bit(words.data(), 33));
    clear_bit(words.data(), 32);
    CHECK(!has_bit(words.data(), 32));
}

TEST(bits_are_told_in_order) {
    std::vector<uint32_t> words(21, 0);
    const std::vector<uint32_t> bits{0, 31, 32, 255, 256, 500, 640, 671};
    for (uint32_t bit : bits) set_bit(words.data(), bit);
    std::vector<uint32_t> told;
    for_each_bit(words.data(), words.size(), [&](uint32_t bit) { told.push_back(bit); });
    CHECK(told == bits);
}

TEST(bits_of_long_words_are_those_of_short_ones) {
    std::vector<uint64_t> words(11, 0);
    const std::vector<uint32_t> bits{0, 31, 32, 63, 64, 500, 640, 703};
    for (uint32_t bit : bits) set_bit(words.data(), bit);
    for (uint32_t bit = 0; bit < 704; ++bit)
        CHECK(has_bit(words.data(), bit) == (std::find(bits.begin(), bits.end(), bit) != bits.end()));
    set_bit(words.data(), 33);
    clear_bit(words.data(), 33);
    std::vector<uint32_t> told;
    for_each_bit(words.data(), words.size(), [&](uint32_t bit) { told.push_back(bit); });
    CHECK(told == bits);
}

TEST(a_key_table_numbers_keys_in_their_order) {
    KeyTable table;
    std::mt19937_64 random(1);
    std::vector<std::vector<uint64_t>> keys;
    keys.reserve(2000);
    for (int k = 0; k < 2000; ++k) keys.emplace_back(random() % 5, random());
    keys.erase(std::remove_if(keys.begin(), keys.end(), [](const auto& key) { return key.empty(); }), keys.end());
    for (uint32_t k = 0; k < keys.size(); ++k) {
        CHECK(table.find(keys[k]) == KeyTable::kNone);
        CHECK(table.add(keys[k]) == k);
    }
    for (uint32_t k = 0; k < keys.size(); ++k) CHECK(table.find(keys[k]) == k);
}

TEST(bytes_are_shown_as_a_reader_writes_them) {
    ByteSet bytes;
    for (uint8_t byte : {'a', '\n', '\''}) bytes.add(byte);
    CHECK(shown_bytes(bytes) == "0x0A, \"'\" or 'a'");
    for (unsigned byte = '0'; byte <= '9'; ++byte) bytes.add(static_cast<uint8_t>(byte));
    CHECK(shown_bytes(bytes).empty());
}

}  // namespace schemagen
