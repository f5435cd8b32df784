package work

// instructions tells a model how to start and follow an attempt.
const instructions = `Tasks for other agents: take a project_id from list_projects and write everything the agent needs into create_task, since it sees nothing of this conversation. With list_repos and list_executors call start_task_attempt, which returns immediately. Follow it with get_attempt_status, or tail_attempt_logs with after_entry_index and wait_ms, instead of polling. When it has ended, read get_attempt_changes, then get_attempt_patch; correct it with follow_up (send, or queue while it runs). Each attempt has its own branch; nothing is merged for you. Pass request_id so that retries start nothing twice.`

// attemptInstructions is for the agent of an attempt.
const attemptInstructions = `You are working on an attempt at a task: get_context returns both. Record further work that you find with create_task instead of doing it here.`

// Instructions returns the instructions for [Tools].
func Instructions(o Options) string { return o.named(instructions) }

// AttemptInstructions returns the instructions for [AttemptTools].
func AttemptInstructions(o Options) string { return o.named(attemptInstructions) }
