package main

// What docs-mcp calls otherwise or has alone, with what to do instead.

var movedCommands = map[string]string{
	"build":     "deskhand index DIR -o OUT",
	"validate":  "deskhand index DIR --check",
	"fix":       "deskhand index DIR --fix",
	"run":       "deskhand eval CASES.json",
	"benchmark": "deskhand eval CASES.json, with --server for each index",
}

const (
	noEmbeddings = "leave it out: --embed builtin, FILE.model or none says what makes vectors"
	noWeights    = "leave it out: the ranking has nothing to set"
	ownBuild     = "leave it out: /healthz tells the build of deskhand itself"
)

var movedFlags = map[string]string{
	"stateless":         "leave it out: clients of protocol 2026-07-28 are served without sessions as it is",
	"version":           "leave it out: clients are told deskhand's own version, which deskhand version prints",
	"git-commit":        ownBuild,
	"build-date":        ownBuild,
	"log-pretty":        "use --log-format text, which is the default",
	"custom-tools-json": "leave it out: only the tools of deskhand are served",

	"rebuild-cache": "remove the folder of the index before the build; there is no other cache",
	"cache-dir":     "leave it out: what did not change is taken from the index itself",

	"embedding-provider":         noEmbeddings,
	"embedding-model":            noEmbeddings,
	"embedding-dimensions":       noEmbeddings,
	"embedding-api-key":          noEmbeddings,
	"embedding-base-url":         noEmbeddings,
	"embedding-batch-size":       noEmbeddings,
	"embedding-concurrency":      noEmbeddings,
	"embedding-max-retries":      noEmbeddings,
	"query-embedding-api-key":    noEmbeddings,
	"query-embedding-base-url":   noEmbeddings,
	"query-embedding-batch-size": noEmbeddings,
	"vector-weight":              noWeights,
	"proximity-weight":           noWeights,
	"phrase-slop":                noWeights,

	"cases":          "give the case files as arguments: deskhand eval CASES.json",
	"server-command": "use --server 'COMMAND ARGUMENTS'",
	"server-arg":     "use --server 'COMMAND ARGUMENTS'",
	"build-command":  "build first, with deskhand index",
	"warmup-queries": "use --warmup N",
}
