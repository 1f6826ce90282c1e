"""The mechanisms by which two runs share randomness, each with its guarantee, proof and mismatch probability."""
