// A facet of automata: those that have a mask engine of their own (masks/mask_engine.hpp).
#pragma once
#include <memory>

namespace schemagen {

class MaskEngine;
class VocabularyTables;

class MaskFactory {
public:
    virtual std::unique_ptr<MaskEngine> make_masks(const VocabularyTables& tables) = 0;

protected:
    ~MaskFactory() = default;
};

}  // namespace schemagen
