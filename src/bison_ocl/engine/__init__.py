"""One step of one method: for one run or a stack, eager, captured or compiled."""
