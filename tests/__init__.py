"""A real service on a real database for every test; `world` has the verbs."""
