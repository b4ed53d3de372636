"""Features -> q(s | x), q(d | x); the priors p(s) and p(d_t | d_<t)."""
