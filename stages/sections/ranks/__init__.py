"""Sections on graphs that are split over ranks (Pan, Pearce, Owens 2018, section VI)."""
