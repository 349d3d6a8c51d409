#include "python/interpreter.hpp"

#include <Python.h>

#include <chrono>
#include <thread>

#include "util/work.hpp"

namespace schemagen {

namespace {

// An interpreter that is at its end lets no other thread have its lock: such a thread sleeps until the process is gone,
// for the alternative is to unwind it through code that cannot be unwound.
void take_lock(void* saved) {
    auto sleep = [] {
        while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    };
    try {
        PyEval_RestoreThread(static_cast<PyThreadState*>(saved));
    } catch (...) {  // pthread_exit unwinds the stack
        sleep();
    }
}

}  // namespace

void connect_interpreter(unsigned long main_thread) {
    interpreter = {
        [] { return static_cast<void*>(PyEval_SaveThread()); },
        take_lock,
        [] { return PyErr_CheckSignals() != 0; },
        PyThread_get_thread_ident,
    };
    watch_forks(main_thread);
}

}  // namespace schemagen
