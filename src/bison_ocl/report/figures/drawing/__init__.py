"""What figures share: panels, grids, bars, colours, names beside points."""
