package settings

// These tables list what docs-mcp and other programs name differently, or what only
// docs-mcp has, with the replacement.

// MovedCommands maps commands of docs-mcp, and words that people try first, to what they
// mean in deskhand.
var MovedCommands = map[string]string{
	"build":      "deskhand index DIR -o OUT",
	"validate":   "deskhand index DIR --check",
	"fix":        "deskhand index DIR --fix",
	"run":        "deskhand tasks run PROMPT for an agent; deskhand eval CASES.json to measure search",
	"benchmark":  "deskhand eval CASES.json, with --server for each index",
	"playground": "deskhand serve --http, and /search in the browser",

	"status":    "deskhand doctor for the installation; deskhand tasks ls for the work",
	"check":     "deskhand doctor for the installation; deskhand index DIR --check for docs",
	"ls":        "deskhand tasks ls for tasks; deskhand list for libraries; deskhand ask list for questions",
	"query":     "deskhand search QUERY",
	"find":      "deskhand search QUERY",
	"grep":      "deskhand search QUERY",
	"mcp":       "deskhand serve",
	"server":    "deskhand serve",
	"start":     "deskhand serve for the server; deskhand tasks start TASK for an agent",
	"watch":     "deskhand serve --watch DIR",
	"setup":     "deskhand init",
	"install":   "deskhand init, or deskhand add for a library",
	"upgrade":   "the package manager that installed it; deskhand update builds libraries again",
	"uninstall": "deskhand init --remove, then the package manager that installed it",
	"questions": "deskhand ask list",
	"answer":    "deskhand ask answer ID VALUE",
	"agents":    "deskhand tasks executors",
	"settings":  "deskhand config",
	"man":       "deskhand help TOPIC",
	"manual":    "deskhand docs",
}

const (
	embedding    = "use --embed with builtin, openai:MODEL or another provider, FILE.model, or none"
	embeddingKey = "set the key in an environment variable such as OPENAI_API_KEY, and pass the model with --embed openai:MODEL"
	embeddingURL = "use --embed URL#MODEL"
	ownPace      = "omit it: deskhand chooses the value for each provider"
	noWeights    = "omit it: the ranking has no parameters to set"
	ownBuild     = "omit it: /healthz reports deskhand's own build"
)

// MovedFlags maps docs-mcp flags to advice on using deskhand instead.
var MovedFlags = map[string]string{
	"stateless":         "omit it: clients that use protocol 2026-07-28 are always served without sessions",
	"version":           "omit it: clients receive deskhand's own version, as \"deskhand version\" prints it",
	"git-commit":        ownBuild,
	"build-date":        ownBuild,
	"log-pretty":        "use --log-format text (the default)",
	"custom-tools-json": "omit it: deskhand serves only its own tools",

	"rebuild-cache": "remove the index folder before the build; vectors from providers stay cached in the folder given with --cache",
	"cache-dir":     "omit it: deskhand reuses unchanged parts from the index itself; --cache DIR caches vectors from providers",

	"embedding-provider":         embedding,
	"embedding-model":            embedding,
	"embedding-dimensions":       "use --embed openai:MODEL@N",
	"embedding-api-key":          embeddingKey,
	"embedding-base-url":         embeddingURL,
	"embedding-batch-size":       ownPace,
	"embedding-concurrency":      ownPace,
	"embedding-max-retries":      ownPace,
	"query-embedding-api-key":    embeddingKey,
	"query-embedding-base-url":   embeddingURL,
	"query-embedding-batch-size": ownPace,
	"vector-weight":              noWeights,
	"proximity-weight":           noWeights,
	"phrase-slop":                noWeights,

	"cases":          "pass the case files as arguments: deskhand eval CASES.json",
	"server-command": "use --server 'COMMAND ARGUMENTS'",
	"server-arg":     "use --server 'COMMAND ARGUMENTS'",
	"build-command":  "build the index first: deskhand index DIR",
	"warmup-queries": "use --warmup N",
}
