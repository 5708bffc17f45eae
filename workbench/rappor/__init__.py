"""RAPPOR's analysis half: files in the published formats, candidate maps, decoding and simulation."""
