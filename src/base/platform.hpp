// What the platform provides. WebAssembly in a browser has memory, a clock and files in memory, but no threads, other
// processes, signals or devices.
#pragma once

#ifdef __wasi__
#define CORTADO_HOSTED 0
#else
#define CORTADO_HOSTED 1
#endif
