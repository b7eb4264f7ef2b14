"""Who signed a recipe's record, and whether this user trusts that key."""
