// @xfn/cli: what the commands do, for programs that embed them.
export { CliError, type CliErrorCode, ExitCode } from "./errors/cli-error.ts";
export { main } from "./program.ts";
