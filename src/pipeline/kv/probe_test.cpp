#include "pipeline/kv/fetch_cost.hpp"
cortado::pipeline::KvFetchCost c;
