// The family channels: its bids, and the arguments of its kernels.
#pragma once

#include "src/cpu/bid.h"
#include "src/cpu/channels/args.h"

namespace restride::cpu {

/// channels/split, channels/join.
void bid_channels(const Question& q, Bid* bids);
ChannelsArgs prepare_channels_split(const layout::Canonical& c, const plan::Candidate& k, int threads);
ChannelsArgs prepare_channels_join(const layout::Canonical& c, const plan::Candidate& k, int threads);

}  // namespace restride::cpu
