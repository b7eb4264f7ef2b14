"""What each stage states that it takes, beside what it took: cases, how they are measured, and the record."""
