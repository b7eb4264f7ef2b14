"""Pan, Pearce, Owens, IPDPS 2018: what links between GPUs take."""
