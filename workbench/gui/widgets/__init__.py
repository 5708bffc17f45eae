"""The widgets that several pages use."""
