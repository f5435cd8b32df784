-- Processes that have seen a change end in the crash that loses it.
SELECT 1;
