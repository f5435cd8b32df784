-- A request ID belongs to what was asked for, and not to the tool that asked.
UPDATE once SET scope = 'start' WHERE scope = 'start_task_attempt';
UPDATE once SET scope = 'follow-up' WHERE scope = 'follow_up';
UPDATE once SET scope = 'task' WHERE scope = 'create_task';
