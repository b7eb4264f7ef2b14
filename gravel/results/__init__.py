"""What searches, measures and runs find, under the ids that the caller's data has."""
