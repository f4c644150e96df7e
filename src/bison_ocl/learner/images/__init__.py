"""The caller's images, in any usual form, as bytes [N, 3, H, W]."""
