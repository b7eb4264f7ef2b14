"""Pan, Pearce, Owens, IPDPS 2018: what links take, and divisions of Kronecker graphs nobody has made."""
