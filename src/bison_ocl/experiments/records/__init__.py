"""Records of finished runs: identity, contents, file, and earlier versions."""
