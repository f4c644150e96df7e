"""Random views of images: what replay methods show the network beside the originals."""
