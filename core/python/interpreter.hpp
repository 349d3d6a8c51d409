// Python's lock and signals, as the calls of the core use them (util/work.hpp).
#pragma once

namespace schemagen {

// Called once, when the module is loaded. `main_thread`: the thread that handles signals.
void connect_interpreter(unsigned long main_thread);

}  // namespace schemagen
