-- The newest event gives the next one its number. This is the least number before it: older
-- versions of the program, which counted in this column, find it no more and give no number twice.
ALTER TABLE feed RENAME COLUMN seq TO floor;
