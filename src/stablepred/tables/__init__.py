"""Tables as users have them: read, typed, encoded, counted."""
