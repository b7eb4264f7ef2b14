"""What every other room uses: errors, sizes, hashing, names, the machine. Knows nothing of them."""
