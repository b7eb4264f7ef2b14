"""What a report says of graphs that are split over ranks (Pan, Pearce, Owens 2018, section VI)."""
