"""Storage of datasets: data folder, downloads, verified caches."""
