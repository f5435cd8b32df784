#!/usr/bin/env node
// Runs the program from the package for this platform, which npm installed as an
// optional dependency. Nothing is downloaded here.
"use strict";
const { spawn } = require("node:child_process");

const name = `@deskhand/${process.platform}-${process.arch}`;
const file = `bin/deskhand${process.platform === "win32" ? ".exe" : ""}`;
let program;
try {
  program = require.resolve(`${name}/${file}`);
} catch {
  console.error(`deskhand: the package ${name} is not installed`);
  console.error("hint: install again without --omit=optional; if your platform has no package, use go install github.com/deskhand/deskhand/cmd/deskhand@latest");
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`deskhand: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
