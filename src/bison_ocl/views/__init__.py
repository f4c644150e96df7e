"""Random views of images, which replay methods train on in addition to the originals."""
