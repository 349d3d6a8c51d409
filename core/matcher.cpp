#include "matcher.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace schemagen {

Matcher::Matcher(std::shared_ptr<Constraint> constraint) : constraint_(std::move(constraint)), arena_(std::make_shared<Arena>()) {
    std::lock_guard lock(constraint_->mutex);
    history_.push_back(constraint_->automaton->start());
}

// Depth-first over the trie; a configuration per depth, a rejected byte skips its subtree (llguidance, docs/toktrie.md,
// describes the same idea).
void Matcher::walk(const Trie& trie, const Leaf& from, uint32_t* words) {
    if (stack_.size() < trie.max_depth + 1) stack_.resize(trie.max_depth + 1);
    stack_[0] = from;
    Automaton& automaton = *constraint_->automaton;
    const size_t size = trie.size();
    for (size_t k = 0; k < size;) {
        uint16_t depth = trie.depth[k];
        Leaf& next = stack_[depth + 1u];
        next = stack_[depth];
        if (!automaton.step(next, trie.byte[k], *arena_)) {
            k = trie.skip[k];
            continue;
        }
        for (uint32_t t = trie.first_token[k]; t < trie.first_token[k + 1]; ++t) words[trie.tokens[t] >> 5] |= 1u << (trie.tokens[t] & 31);
        ++k;
    }
}

// The tails that may follow a closing quote, as a bitmask: one walk over their trie.
std::vector<uint32_t> Matcher::tails_behind(const Leaf& behind) {
    const VocabularyTables& tables = *constraint_->tables;
    std::vector<uint32_t> words(tables.tail_count() / 32 + 1, 0);
    walk(tables.tails(), behind, words.data());
    return words;
}

void Matcher::fill_string(const StringBody& body, const Leaf& from, uint32_t* words) {
    const VocabularyTables& tables = *constraint_->tables;
    Automaton& automaton = *constraint_->automaton;
    const StringMask& mask = constraint_->strings.get(body.state, body.counting, automaton.dfa(), tables);
    // 1) Tokens that stay inside.
    const bool tight = body.counting && body.room < tables.longest_token();
    std::memcpy(words, tight ? tables.plain_up_to(body.room) : mask.inner.data(), tables.words() * sizeof(uint32_t));
    if (tight)
        for (auto [chars, token] : mask.counted)
            if (chars <= body.room) words[token >> 5] |= 1u << (token & 31);
    // 2) Tokens that leave it: what may follow is found once for all closings that are alike.
    std::vector<std::pair<uint64_t, std::vector<uint32_t>>> known;
    const bool used_keys = automaton.has_used_keys(from);
    for (const StringExit& exit : mask.exits) {
        Leaf behind = from;
        uint64_t alike = 0;
        if (!automaton.close_string(behind, exit.state, exit.chars, *arena_, alike)) continue;
        auto it = std::find_if(known.begin(), known.end(), [&](const auto& pair) { return pair.first == alike; });
        if (it == known.end()) it = known.insert(known.end(), {alike, tails_behind(behind)});
        for (auto [tail, token] : exit.tails) {
            std::string_view after = tables.tail_text(tail), text = tables.token(token);
            if (!after.empty() && !(it->second[tail >> 5] >> (tail & 31) & 1)) continue;
            if (used_keys && automaton.key_used(from, text.substr(0, text.size() - after.size() - 1))) continue;
            words[token >> 5] |= 1u << (token & 31);
        }
    }
    // 3) Declared keys.
    if (body.key) {
        Leaf declared = from;
        declared.state = 0;
        walk(tables.all(), declared, words);
    }
}

uint32_t Matcher::fill(uint32_t* words) {
    std::lock_guard lock(constraint_->mutex);
    const VocabularyTables& tables = *constraint_->tables;
    const Leaf from = leaf();
    Arena::Mark mark = arena_->mark();
    StringBody body = constraint_->automaton->string_body(from);
    if (body.state) {
        fill_string(body, from, words);
    } else {
        std::memset(words, 0, tables.words() * sizeof(uint32_t));
        walk(tables.all(), from, words);
    }
    arena_->release(mark);
    if (constraint_->automaton->accepting(from))
        for (uint32_t id : tables.eos()) words[id >> 5] |= 1u << (id & 31);
    uint32_t allowed = 0;
    for (uint32_t w = 0; w < tables.words(); ++w) allowed += static_cast<uint32_t>(std::popcount(words[w]));
    return allowed;
}

bool Matcher::advance(std::string_view bytes) {
    Leaf next = leaf();
    Arena::Mark mark = arena_->mark();
    for (char c : bytes) {
        if (!constraint_->automaton->step(next, static_cast<uint8_t>(c), *arena_)) {
            arena_->release(mark);
            return false;
        }
    }
    history_.push_back(next);
    return true;
}

bool Matcher::accept_token(uint32_t id) {
    std::lock_guard lock(constraint_->mutex);
    const VocabularyTables& tables = *constraint_->tables;
    if (terminated_ || id >= tables.size()) return false;
    if (std::find(tables.eos().begin(), tables.eos().end(), id) != tables.eos().end()) {
        if (!constraint_->automaton->accepting(leaf())) return false;
        history_.push_back(leaf());
        return terminated_ = true;
    }
    return !tables.token(id).empty() && advance(tables.token(id));
}

bool Matcher::accept_bytes(std::string_view bytes) {
    std::lock_guard lock(constraint_->mutex);
    return !terminated_ && advance(bytes);
}

bool Matcher::accepting() {
    std::lock_guard lock(constraint_->mutex);
    return constraint_->automaton->accepting(leaf());
}

void Matcher::rollback(size_t count) {
    if (count > steps()) throw std::out_of_range("more steps than were accepted");
    if (count == 0) return;
    history_.resize(history_.size() - count);
    terminated_ = false;  // EOS is always the last step
}

void Matcher::reset() {
    history_.resize(1);
    terminated_ = false;
    shared_.clear();
    arena_ = std::make_shared<Arena>();
}

Matcher Matcher::fork() const {
    Matcher copy(*this);
    copy.shared_.push_back(arena_);
    copy.arena_ = std::make_shared<Arena>();
    return copy;
}

std::pair<size_t, std::string> Matcher::probe(std::string_view bytes) {
    std::lock_guard lock(constraint_->mutex);
    Leaf at = leaf();
    Arena::Mark mark = arena_->mark();
    size_t read = 0;
    std::string expected = constraint_->automaton->describe(at);
    for (; read < bytes.size(); ++read) {
        Leaf next = at;
        if (!constraint_->automaton->step(next, static_cast<uint8_t>(bytes[read]), *arena_)) break;
        at = next;
        expected = constraint_->automaton->describe(at);
    }
    arena_->release(mark);
    return {read, expected};
}

}  // namespace schemagen
