"""OCM, and its contrast of rotated images."""
