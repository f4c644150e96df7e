"""The replay memory: storage, reservoir update, random retrieval, distances."""
