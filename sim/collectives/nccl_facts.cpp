#include "sim/collectives/nccl_facts.hpp"

namespace straggler::nccl_facts {

const Constants& constants_2_8() {
  static const Constants constants{
      .base = {{4.4, 4.4, 0}, {3.6, 10.0, 8.4}},
      .nvlink = {{0.52, 1.2, 28}, {0.47, 1.9, 3.4}},
      .pcie = {{1.0, 1.9, 28}, {1.0, 2.5, 5.7}},
      .network = {{5.0, 8.5, 50}, {2.7, 4.0, 9.6}},
      .tree_correction = {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1},
                          {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1},
                          {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9}},
      .tree_share = 0.9,
      .tree_ll = 1 / 3.8,
      .tree_ll128_one_host = 7.0 / 9,
      .tree_ll128_hosts = 0.915,
      .ring_ll = 1.0 / 4,
      .ring_ll128 = 0.92,
      .channel_ring_ll128 = {16.7, 16.7, 16.7, 16.7},
      .channel_tree_ll128 = {{no_limit, no_limit, no_limit},
                             {no_limit, no_limit, no_limit},
                             {no_limit, no_limit, no_limit},
                             {no_limit, no_limit, no_limit}},
      .channel_tree = {{no_limit, no_limit, no_limit},
                       {no_limit, no_limit, no_limit},
                       {no_limit, no_limit, no_limit},
                       {no_limit, no_limit, no_limit}},
  };
  return constants;
}

const Constants& constants_2_30() {
  static const Constants constants{
      .base = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}},
      .nvlink = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}},
      .pcie = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}},
      .network = {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}},
      .tree_correction = {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
                          {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
                          {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}},
      .tree_share = 0.92,
      .tree_ll = 1 / 3.8,
      .tree_ll128_one_host = 7.0 / 9,
      .tree_ll128_hosts = 120.0 / 128,
      .ring_ll = 0.5,
      .ring_ll128 = 0.92,
      .channel_ring_ll128 = {20, 20, 36.7, 40},
      .channel_tree_ll128 = {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}},
      .channel_tree = {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}},
  };
  return constants;
}

}  // namespace straggler::nccl_facts
