"""What several policies are made of, and no policy itself."""
