#include "runtime/token_table.hpp"

#include <algorithm>
#include <unordered_map>

#include "automata/token_walk.hpp"
#include "util/hash.hpp"

namespace schemagen {

namespace {

constexpr uint32_t kNever = 0, kEnd = 1;  // classes: tokens that no state takes; EOS
constexpr uint32_t kNoGroup = UINT32_MAX;

}  // namespace

TokenTable::TokenTable(std::shared_ptr<Constraint> constraint) : constraint_(std::move(constraint)) {
    const VocabularyTables& tables = *constraint_->tables;
    class_of_.assign(tables.size(), kNever);
    for (uint32_t id : tables.eos()) class_of_[id] = kEnd;
    origin_ = {kNever, kEnd};
    members_ = {tables.size() - static_cast<uint32_t>(tables.eos().size()), static_cast<uint32_t>(tables.eos().size())};
    states_.resize(kFirst);
    for (uint32_t special = 0; special < kFirst; ++special)
        states_[special].row.assign(2, special), states_[special].ready = true;
    masks_.emplace_back(tables.words(), 0);
    start_ = state_of(Matcher(constraint_));
}

template <class Task>
auto TokenTable::at_work(const Task& task) {
    return constraint_->work(
        false,
        [&] {
            drop_unfinished();
            sync();
        },
        task);
}

void TokenTable::drop_unfinished() {
    if (states_.size() == whole_) return;
    keys_.truncate(whole_ - kFirst);
    states_.resize(whole_);
}

bool TokenTable::read(std::string_view bytes, Configuration& config, Arena& arena) {
    poll();
    for (char byte : bytes)
        if (!constraint_->automaton().step(config, static_cast<uint8_t>(byte), arena)) return false;
    return true;
}

// Find the configurations of all states again. A state that has no identity any more, or that of another one, keeps its
// number: texts come to it by the rows that lead there.
void TokenTable::sync() {
    if (epoch_ == constraint_->epoch()) return;
    Automaton& automaton = constraint_->automaton();
    Arena arena;
    KeyTable keys;
    std::vector<Configuration> leaves(states_.size());
    for (uint32_t id = kFirst; id < states_.size(); ++id) {
        const State& state = states_[id];
        Configuration config = state.parent == kHost ? automaton.start() : leaves[state.parent];
        if (!read(state.parent == kHost ? std::string_view(texts_.at(id)) : tables().token(state.token), config, arena))
            throw std::logic_error("a text that was accepted is not accepted any more");
        leaves[id] = config;
        scratch_.clear();
        if (!automaton.identity(config, true, scratch_) || keys.find(scratch_) != KeyTable::kNone)
            scratch_.assign({UINT64_MAX, UINT64_MAX, id});
        keys.add(scratch_);
    }
    for (uint32_t id = kFirst; id < states_.size(); ++id) states_[id].config = leaves[id];
    arena_ = std::move(arena);
    keys_ = std::move(keys);
    epoch_ = constraint_->epoch();
}

uint32_t TokenTable::intern(const Configuration& config, bool& fresh) {
    fresh = false;
    scratch_.clear();
    if (!constraint_->automaton().identity(config, true, scratch_)) return kHost;
    const uint32_t known = keys_.find(scratch_);
    if (known != KeyTable::kNone) return known + kFirst;
    keys_.add(scratch_);
    states_.emplace_back();
    fresh = true;
    return static_cast<uint32_t>(states_.size() - 1);
}

uint32_t TokenTable::state_of(const Matcher& matcher) {
    return at_work([&] {
        const Arena::Mark mark = arena_.mark();
        Configuration config;
        if (const Configuration* known = matcher.config_in(epoch_)) {
            config = *known;
        } else {
            config = constraint_->automaton().start();
            if (!read(matcher.text(), config, arena_))
                throw std::logic_error("a text that was accepted is not accepted any more");
            if (ContainerView* view = constraint_->automaton().facets().containers) view->settle(config, arena_);
        }
        bool fresh = false;
        const uint32_t state = intern(config, fresh);
        if (fresh) {
            states_[state].config = guide_of(constraint_->automaton()).keep(config, arena_);
            states_[state].needed = constraint_->completions().tokens(states_[state].config, arena_);
            texts_[state] = matcher.text();
            whole_ = states_.size();
        } else {
            arena_.release(mark);
        }
        return state;
    });
}

size_t TokenTable::expand(size_t most) {
    size_t done = 0;
    Work::release();
    for (; done < most && pending_ < states_.size(); ++pending_) {
        if (states_[pending_].ready) continue;
        fill_row(static_cast<uint32_t>(pending_));
        ++done;
    }
    while (pending_ < states_.size() && states_[pending_].ready) ++pending_;
    return done;
}

void TokenTable::expand_state(uint32_t state) {
    if (!states_[state].ready) fill_row(state);
    while (pending_ < states_.size() && states_[pending_].ready) ++pending_;
}

uint32_t TokenTable::intern_mask(std::vector<uint32_t> words) {
    uint64_t hash = 1;
    for (uint32_t word : words) hash = mix(hash, word);
    uint32_t known = mask_index_.find(hash, [&](uint32_t id) { return masks_[id] == words; });
    if (known != HashIndex::kNone) return known;
    mask_index_.insert(hash, static_cast<uint32_t>(masks_.size()));
    masks_.push_back(std::move(words));
    return static_cast<uint32_t>(masks_.size() - 1);
}

// A row stopped by a limit leaves no trace: the new states on the way have no configuration yet, and go (`whole_`).
void TokenTable::fill_row(uint32_t id) {
    at_work([&] {
        const Arena::Mark mark = arena_.mark();
        try {
            read_row(id);
        } catch (...) {
            arena_.release(mark);
            throw;
        }
        whole_ = states_.size();
    });
}

void TokenTable::read_row(uint32_t id) {
    Automaton& automaton = constraint_->automaton();
    const Configuration config = states_[id].config;
    std::vector<uint32_t> words(constraint_->tables->words());
    Arena::Mark mark = arena_.mark();
    constraint_->masks().fill(config, words.data(), arena_);
    states_[id].mask = intern_mask(std::move(words));
    std::vector<Found> found;
    const std::vector<std::pair<uint32_t, uint32_t>> targets = follow_tokens(config, found);
    arena_.release(mark);
    // The walk has given its frames back: the states to keep are read once more.
    for (auto [state, token] : found) {
        Configuration next = config;
        for (char byte : constraint_->tables->token(token)) automaton.step(next, static_cast<uint8_t>(byte), arena_);
        states_[state].config = next;
        states_[state].parent = id;
        states_[state].token = token;
    }
    std::vector<uint32_t> row;
    split_classes(targets, row);
    // An EOS id that is named ends the text as any other does.
    const auto ends = [&](const auto& way) { return class_of_[way.first] == kEnd; };
    row[kEnd] = automaton.accepting(config) || std::any_of(targets.begin(), targets.end(), ends) ? kOver : kDead;
    states_[id].row = std::move(row);
    states_[id].ready = true;
}

// (token, state) for each token that can be read, and the first token to each state that is new.
std::vector<std::pair<uint32_t, uint32_t>> TokenTable::follow_tokens(const Configuration& config,
                                                                     std::vector<Found>& found) {
    const Trie& trie = constraint_->tables->all();
    std::vector<std::pair<uint32_t, uint32_t>> targets;
    Configuration last;
    uint32_t target = kDead;
    walk_tokens(constraint_->automaton(), trie, config, arena_, [&](uint32_t node, const Configuration& next) {
        if (target == kDead || next.frame != config.frame || !same_place(last, next)) {
            bool fresh;
            target = intern(next, fresh);
            if (fresh) {
                found.push_back({target, trie.tokens_at(node).front()});
                states_[target].needed = constraint_->completions().tokens(next, arena_);
            }
            leads_out_ |= target == kHost;
        }
        for (uint32_t token : trie.tokens_at(node)) targets.emplace_back(token, target);
        last = next;
        if (next.frame != config.frame) target = kDead;  // its frames go with the next step
    });
    return targets;
}

// The class of each group of tokens: their common class, if the group is all of it, or else a new one.
std::vector<uint32_t> TokenTable::classes_of_groups(const std::vector<std::pair<uint32_t, uint32_t>>& ways,
                                                    const std::vector<uint32_t>& sizes) {
    std::vector<uint32_t> classes;
    for (size_t g = 0; g < ways.size(); ++g) {
        const uint32_t old = ways[g].first;
        if (old != kNever && sizes[g] == members_[old]) {
            classes.push_back(old);
            continue;
        }
        classes.push_back(static_cast<uint32_t>(origin_.size()));
        origin_.push_back(old);
        members_.push_back(sizes[g]);
        members_[old] -= sizes[g];
    }
    return classes;
}

// Make all tokens of a class agree on where they lead, and note where.
void TokenTable::split_classes(const std::vector<std::pair<uint32_t, uint32_t>>& targets, std::vector<uint32_t>& row) {
    std::vector<std::pair<uint32_t, uint32_t>> ways;  // [group] class and target
    std::vector<uint32_t> group_of(targets.size(), kNoGroup), sizes;
    std::unordered_map<uint32_t, std::vector<uint32_t>> groups;  // target -> [class]
    std::vector<uint32_t>* row_of_target = nullptr;
    uint32_t last = 0;
    for (size_t k = 0; k < targets.size(); ++k) {
        auto [token, target] = targets[k];
        if (class_of_[token] == kEnd) continue;
        if (!row_of_target || target != last) {
            row_of_target = &groups.try_emplace(last = target, origin_.size(), kNoGroup).first->second;
        }
        uint32_t& group = (*row_of_target)[class_of_[token]];
        if (group == kNoGroup) {
            group = static_cast<uint32_t>(ways.size());
            ways.emplace_back(class_of_[token], target);
            sizes.push_back(0);
        }
        group_of[k] = group;
        ++sizes[group];
    }
    const std::vector<uint32_t> class_of_group = classes_of_groups(ways, sizes);
    for (size_t k = 0; k < targets.size(); ++k)
        if (group_of[k] != kNoGroup) class_of_[targets[k].first] = class_of_group[group_of[k]];
    row.assign(origin_.size(), kDead);
    for (size_t g = 0; g < ways.size(); ++g) row[class_of_group[g]] = ways[g].second;
}

void TokenTable::classes(int32_t* out) const {
    for (size_t token = 0; token < class_of_.size(); ++token) out[token] = static_cast<int32_t>(class_of_[token]);
}

void TokenTable::transitions(const std::vector<uint32_t>& states, int32_t* out) const {
    const size_t width = origin_.size();
    for (uint32_t id : states) {
        const State& state = states_[id];
        for (size_t c = 0; c < width; ++c) {
            uint32_t at = static_cast<uint32_t>(c);
            if (!state.ready) {
                out[c] = kHost;
                continue;
            }
            while (at >= state.row.size()) at = origin_[at];
            out[c] = static_cast<int32_t>(state.row[at]);
        }
        out += width;
    }
}

size_t TokenTable::memory_bytes() const {
    size_t bytes = class_of_.size() * 4 + masks_.size() * tables().words() * 4;
    for (const State& state : states_) bytes += sizeof(State) + state.row.size() * 4;
    return bytes;
}

}  // namespace schemagen
