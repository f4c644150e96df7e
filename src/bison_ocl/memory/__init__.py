"""The memory of past images: what it holds, what enters, what is replayed, class means over it."""
