#include "cortado/program.hpp"

namespace cortado {
namespace {

/// `whole` = the parts one after another.
void add_concatenation(Contract& contract, const Region& whole, const std::vector<Region>& parts) {
  Bytes offset;
  for (const Region& part : parts) {
    if (part.bytes().value > 0) contract.clauses.push_back({slice(whole, offset, part.bytes()), {part}, DType::u8});
    offset += part.bytes();
  }
}

void add_equal(Contract& contract, const Region& output, const Region& input) {
  if (output.bytes().value > 0) contract.clauses.push_back({output, {input}, DType::u8});
}

}  // namespace

Contract all_gather_contract(const std::vector<Region>& inputs, const std::vector<Region>& outputs) {
  Contract contract{"all-gather", {}};
  contract.clauses.reserve(inputs.size() * outputs.size());
  for (const Region& output : outputs) add_concatenation(contract, output, inputs);
  return contract;
}

Contract all_to_all_contract(const std::vector<std::vector<Region>>& send,
                             const std::vector<std::vector<Region>>& receive) {
  Contract contract{"all-to-all", {}};
  contract.clauses.reserve(send.size() * receive.size());
  for (std::size_t to = 0; to < receive.size(); ++to) {
    for (std::size_t from = 0; from < send.size(); ++from) add_equal(contract, receive[to][from], send[from][to]);
  }
  return contract;
}

Contract reduce_scatter_contract(const std::vector<std::vector<Region>>& blocks, const std::vector<Region>& outputs,
                                 DType dtype) {
  Contract contract{"reduce-scatter", {}};
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) {
    if (outputs[rank].bytes().value == 0) continue;
    Clause clause{outputs[rank], {}, dtype};
    for (const auto& of_rank : blocks) clause.terms.push_back(of_rank[rank]);
    contract.clauses.push_back(std::move(clause));
  }
  return contract;
}

Contract all_reduce_contract(const std::vector<Region>& inputs, const std::vector<Region>& outputs, DType dtype) {
  Contract contract{"all-reduce", {}};
  for (const Region& output : outputs) contract.clauses.push_back({output, inputs, dtype});
  return contract;
}

Contract broadcast_contract(const Region& input, const std::vector<Region>& outputs) {
  Contract contract{"broadcast", {}};
  for (const Region& output : outputs) add_equal(contract, output, input);
  return contract;
}

Contract gather_contract(const std::vector<Region>& inputs, const Region& output) {
  Contract contract{"gather", {}};
  add_concatenation(contract, output, inputs);
  return contract;
}

Contract scatter_contract(const std::vector<Region>& blocks, const std::vector<Region>& outputs) {
  Contract contract{"scatter", {}};
  for (std::size_t rank = 0; rank < outputs.size(); ++rank) add_equal(contract, outputs[rank], blocks[rank]);
  return contract;
}

ProductClause product_clause(const Gemm& gemm) {
  return {gemm.c, {{{gemm.a}, gemm.b}}, gemm.dtype};
}

Contract point_to_point_contract(const Region& input, const Region& output) {
  Contract contract{"point-to-point", {}};
  add_equal(contract, output, input);
  return contract;
}

}  // namespace cortado
