#include "pipeline/kv/transfer.hpp"
cortado::pipeline::KvFetchCost c;
