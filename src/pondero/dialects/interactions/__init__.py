"""Google's Interactions API: steps in and out, each with its own signature."""
