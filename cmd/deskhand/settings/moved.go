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
	embedding    = "use --embed: builtin, openai:MODEL or another provider, FILE.model or none"
	embeddingKey = "put the key into the environment, as OPENAI_API_KEY, and name the model with --embed openai:MODEL"
	embeddingURL = "use --embed URL#MODEL"
	ownPace      = "leave it out: deskhand chooses it for each provider"
	noWeights    = "leave it out: the ranking has nothing to set"
	ownBuild     = "leave it out: /healthz tells the build of deskhand itself"
)

// MovedFlags maps docs-mcp flags to advice on what to do instead.
var MovedFlags = map[string]string{
	"stateless":         "leave it out: clients of protocol 2026-07-28 are served without sessions as it is",
	"version":           "leave it out: clients are told deskhand's own version, which deskhand version prints",
	"git-commit":        ownBuild,
	"build-date":        ownBuild,
	"log-pretty":        "use --log-format text, which is the default",
	"custom-tools-json": "leave it out: only the tools of deskhand are served",

	"rebuild-cache": "remove the folder of the index before the build; vectors of providers are kept in the folder of --cache",
	"cache-dir":     "leave it out, as what did not change is taken from the index itself; --cache DIR is for vectors of providers",

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

	"cases":          "give the case files as arguments: deskhand eval CASES.json",
	"server-command": "use --server 'COMMAND ARGUMENTS'",
	"server-arg":     "use --server 'COMMAND ARGUMENTS'",
	"build-command":  "build first, with deskhand index",
	"warmup-queries": "use --warmup N",
}
