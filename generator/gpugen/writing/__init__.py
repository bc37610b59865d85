"""The parts of the write stage: files, index, survey, lock, commit and signals."""
