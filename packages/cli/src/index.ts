// @xfn/cli: what the commands do, for programs that embed them.
export { ExitCode } from "@xfn/program/exit-code";
export { CliError, type CliErrorCode } from "./errors/cli-error.ts";
export { main } from "./program.ts";
